"""Example: where on the screen did the person look, in cm from its middle? One row per look, two eyes to tell it by."""

from pathlib import Path

import polars as pl

from palestra.formats import read_table, write_table
from palestra.records import FileAnswers, Metric, Track
from palestra.reduce import mean_of


def trials(data: Path) -> pl.DataFrame:  # what contestants may know
    return pl.read_csv(data / "trials.csv", schema_overrides={"trial": pl.String})


def truth(data: Path) -> pl.DataFrame:  # what they are to find out; they never get the folder truth/
    return pl.read_csv(data / "truth/trials.csv", schema_overrides={"trial": pl.String})


def answers(file: Path, trials: pl.DataFrame) -> pl.DataFrame:  # a submission, complete or refused
    return read_table(file, key="trial", columns={"x_cm": pl.Float64}, expected=trials)


def score(rows: pl.DataFrame) -> pl.DataFrame:  # truth and answers side by side
    return rows.with_columns(error=(pl.col("x_cm") - pl.col("truth_x_cm")).abs())


TRACK = Track(
    id="example-v1",
    title="Example",
    trials=trials,
    truth=truth,
    blank=lambda trials: trials.select("trial", x_cm=pl.lit(0.0)),
    score=score,
    metrics=(Metric("mean_error", unit="cm", better="lower", reduce=mean_of("error")),),
    missing={"error": 50},  # what no answer costs
    files=FileAnswers(answers, write_table),
)
