"""Holding: a track whose parts never end, for tests of commands that are stopped in the middle.

HOLD_AT names what holds: make, predict, score or draw. Whoever does says so in the named pipe HOLD, with its process.
"""

import os
import signal
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.formats import read_table, replacing, write_table
from palestra.records import Dataset, Display, FileAnswers, Metric, Order, Part, Plan, Solution, Track
from palestra.reduce import mean_of

NAMES = ("a", "b", "c")


def hold(stage: str) -> None:
    if os.environ.get("HOLD_AT") == stage:
        pipe = os.open(os.environ["HOLD"], os.O_WRONLY)
        os.write(pipe, b"%d\n" % os.getpid())
        while True:
            signal.pause()


def write_part(name: str, folder: Path) -> None:
    with replacing(folder / f"{name}.txt") as fresh:
        fresh.write_text(name)  # half of it
        hold("make")


def write_sample(folder: Path) -> None:
    (folder / "sample.txt").write_text("x")


def finish(folder: Path) -> None:
    (folder / "truth").mkdir(exist_ok=True)


def make(order: Order) -> Plan:
    return Plan([Part(name, 1, partial(write_part, name)) for name in NAMES], Part("sample", 1, write_sample), finish)


def trials(data: Path) -> pl.DataFrame:
    return pl.DataFrame({"trial": NAMES})


def truth(data: Path) -> pl.DataFrame:
    return pl.DataFrame({"trial": NAMES, "truth_number": [1, 2, 3]})


def answers(file: Path, trials: pl.DataFrame) -> pl.DataFrame:
    return read_table(file, key="trial", columns={"number": pl.Int64}, expected=trials)


def score(rows: pl.DataFrame) -> pl.DataFrame:
    hold("score")
    return rows.with_columns(error=(pl.col("number") - pl.col("truth_number")).abs())


def picture(data: Path, row: Mapping[str, Any]) -> NDArray[np.uint8]:
    hold("draw")
    return np.zeros((8, 8, 3), np.uint8)


def fit(data: Path, options: Mapping[str, str]) -> None:
    return None


def predict(data: Path, trials: pl.DataFrame, model: None) -> pl.DataFrame:
    hold("predict")
    return trials.select("trial", number=pl.lit(1))


TRACK = Track(
    id="holding-v1",
    title="Holding",
    trials=trials,
    truth=truth,
    blank=lambda trials: trials.select("trial", number=pl.lit(0)),
    score=score,
    metrics=(Metric("mean_error", unit="", better="lower", reduce=mean_of("error")),),
    missing={"error": 9},
    files=FileAnswers(answers, write_table),
    dataset=Dataset(make),
    display=Display(picture=picture),
)
SOLVER = SimpleNamespace(fit=fit, predict=predict)
SOLUTIONS = [Solution("holding-v1", "slow", "Never ends", solves="holding_v1:SOLVER", parts_by=("trial",))]
