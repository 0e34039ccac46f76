"""Blink counting: how often did the person blink? One row per clip. A track that lives outside the package."""

from pathlib import Path

import polars as pl

from palestra.formats import read_table, write_table
from palestra.records import FileAnswers, Metric, Track
from palestra.reduce import mean_of


def trials(data: Path) -> pl.DataFrame:
    return pl.read_csv(data / "clips.csv", schema_overrides={"trial": pl.String})


def truth(data: Path) -> pl.DataFrame:
    return pl.read_csv(data / "truth/clips.csv", schema_overrides={"trial": pl.String})


def answers(file: Path, trials: pl.DataFrame) -> pl.DataFrame:
    return read_table(file, key="trial", columns={"blinks": pl.Int64}, expected=trials)


def score(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(error=(pl.col("blinks") - pl.col("truth_blinks")).abs())


TRACK = Track(
    id="blink-count-v1",
    title="Blink counting",
    trials=trials,
    truth=truth,
    blank=lambda trials: trials.select("trial", blinks=pl.lit(0)),
    score=score,
    metrics=(Metric("mean_error", unit="blinks", better="lower", reduce=mean_of("error")),),
    missing={"error": 60},  # what no answer costs
    files=FileAnswers(answers, write_table),
)
