"""Pupil size: how wide is the pupil in this second? One row per clip; a blink hides some of it.

people/p01.npy    traces, clips × samples        truth/p01.csv    how wide the pupil was in each
"""

from pathlib import Path

import numpy as np
import polars as pl

from palestra.datasets import rng_for
from palestra.formats import read_table, write_table
from palestra.records import Dataset, FileAnswers, Metric, Order, Track
from palestra.reduce import mean_of
from palestra_pupils.traces import CLIPS, RATE_HZ, measured, plan


def trials(data: Path) -> pl.DataFrame:
    counts = {file.stem: len(np.load(file, mmap_mode="r")) for file in sorted((data / "people").glob("*.npy"))}
    rows = [(f"{person}/{i:02d}", person, i) for person, count in counts.items() for i in range(count)]
    return pl.DataFrame(rows, schema=["trial", "unit", "clip"], orient="row")


def truth(data: Path) -> pl.DataFrame:
    return pl.concat(pl.read_csv(file) for file in sorted((data / "truth").glob("*.csv")))


def answers(file: Path, trials: pl.DataFrame) -> pl.DataFrame:
    return read_table(file, key="trial", columns={"mm": pl.Float64}, expected=trials)


def score(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(error=(pl.col("mm") - pl.col("truth_mm")).abs())


def write_person(order: Order, person: str, folder: Path) -> None:
    rng = rng_for(order, person)
    widths = rng.uniform(2.0, 7.0, CLIPS[order.size]).round(3)
    for name in ("people", "truth"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    np.save(folder / f"people/{person}.npy", np.stack([measured(np.full(RATE_HZ, width), rng) for width in widths]))
    rows = {"trial": [f"{person}/{i:02d}" for i in range(len(widths))], "truth_mm": widths}
    pl.DataFrame(rows).write_csv(folder / f"truth/{person}.csv")


TRACK = Track(
    id="pupil-size-v1",
    title="Pupil size",
    trials=trials,
    truth=truth,
    blank=lambda trials: trials.select("trial", mm=pl.lit(4.0)),
    score=score,
    metrics=(Metric("mean_error_mm", unit="mm", better="lower", reduce=mean_of("error")),),
    missing={"error": 8.0},
    files=FileAnswers(answers, write_table),
    dataset=Dataset(make=lambda order: plan(order, "pupil-size-v1", write_person)),
)
