"""Example, live: five samples come every second, and half a second is left to say: was there a pulse in them?"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from palestra.records import Dataset, Metric, Sitting, StreamAnswers, Tick, Track
from palestra.reduce import mean_of


def samples(data: Path) -> pl.DataFrame:  # a row per second; they are sent, and never given out as a file
    return pl.read_csv(data / "test/samples.csv", schema_overrides={"trial": pl.String})


def sittings(data: Path) -> list[Sitting]:  # one person after another, each on a clock that begins at 0
    people = samples(data).partition_by("unit", maintain_order=True)
    return [Sitting(one["unit"][0], partial(ticks, one), len(one), len(one), float(len(one))) for one in people]


def ticks(person: pl.DataFrame) -> Iterator[Tick]:
    for second, (trial, _, *values) in enumerate(person.rows(), start=1):
        yield Tick(float(second), {"samples": np.array(values, np.float32)}, trial, deadline_s=0.5)


def hear(answer: object) -> dict[str, int]:  # anything may come from a stranger's program
    if type(answer) is not int or answer not in (0, 1):
        raise ValueError(f"returned {answer!r:.60}, expected 0 or 1")
    return {"pulse": answer}


def score(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(error=(pl.col("pulse") - pl.col("truth_pulse")).abs())


TRACK = Track(
    id="example-v1",
    title="Example",
    trials=lambda data: samples(data).select("trial", "unit"),
    truth=lambda data: pl.read_csv(data / "truth/pulses.csv", schema_overrides={"trial": pl.String}),
    blank=lambda trials: trials.select("trial", pulse=pl.lit(0, pl.Int64)),
    score=score,
    metrics=(Metric("error_rate", unit="", better="lower", reduce=mean_of("error")),),
    missing={"error": 1},  # what no answer costs
    stream=StreamAnswers(sittings, hear),
    dataset=Dataset(hidden=("truth", "test")),  # what contestants never get
)
