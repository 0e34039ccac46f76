"""Pupil light reflex, live: has the light gone on in the newest second? Then the pupil narrows.

test/p01.npy    traces, seconds × samples        truth/p01.csv    in which seconds the light went on
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from palestra.datasets import rng_for
from palestra.errors import clip
from palestra.records import Dataset, Metric, Order, Sitting, StreamAnswers, Tick, Track
from palestra.reduce import mean_of
from palestra_pupils.size_v1 import truth
from palestra_pupils.traces import CLIPS, RATE_HZ, measured, plan


def trials(data: Path) -> pl.DataFrame:
    names = [trial for sitting in sittings(data) for trial in names_of(sitting.name, sitting.count)]
    return pl.DataFrame({"trial": names, "unit": [name.partition("/")[0] for name in names]})


def names_of(person: str, count: int) -> list[str]:
    return [f"{person}/{i:02d}" for i in range(count)]


def sittings(data: Path) -> list[Sitting]:
    counts = {file: len(np.load(file, mmap_mode="r")) for file in sorted((data / "test").glob("*.npy"))}
    return [Sitting(file.stem, partial(ticks, file), n, decisions=n, seconds=float(n)) for file, n in counts.items()]


def ticks(file: Path) -> Iterator[Tick]:
    seconds = np.load(file)
    for i, (name, mm) in enumerate(zip(names_of(file.stem, len(seconds)), seconds, strict=True)):
        yield Tick(due_s=i + 1.0, payload={"mm": mm}, trial=name, deadline_s=0.5)


def hear(answer: Any) -> dict[str, int]:
    if type(answer) is not int or answer not in (0, 1):
        raise ValueError(f"returned {clip(answer)}, expected 1 where the light went on, else 0")
    return {"light": answer}


def score(rows: pl.DataFrame) -> pl.DataFrame:
    right = pl.col("light") == pl.col("truth_light")
    return rows.with_columns(right=right.cast(pl.Int32), error=(~right).cast(pl.Int32))


def write_person(order: Order, person: str, folder: Path) -> None:
    rng = rng_for(order, person)
    light = rng.integers(0, 2, CLIPS[order.size])
    narrower = np.linspace(0.0, 1.5, RATE_HZ)
    for name in ("test", "truth"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    np.save(folder / f"test/{person}.npy", np.stack([measured(5.0 - on * narrower, rng) for on in light]))
    rows = {"trial": names_of(person, len(light)), "truth_light": light}
    pl.DataFrame(rows).write_csv(folder / f"truth/{person}.csv")


TRACK = Track(
    id="pupil-light-v1",
    title="Pupil light reflex, live",
    trials=trials,
    truth=truth,
    blank=lambda trials: trials.select("trial", light=pl.lit(0, pl.Int64)),
    score=score,
    metrics=(Metric("accuracy", unit="", better="higher", reduce=mean_of("right")),),
    missing={"right": 0, "error": 1},
    stream=StreamAnswers(sittings, hear),
    dataset=Dataset(make=lambda order: plan(order, "pupil-light-v1", write_person), hidden=("truth", "test")),
)
