"""Holding: a track whose parts never end, for tests of commands that are stopped in the middle.

HOLD_AT names what holds: make, predict, score, draw, fit or rehearse. Whoever does says so in the named pipe HOLD,
with its process.
"""

import hashlib
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

from palestra.contest import Attempt
from palestra.contest.match import Case, CaseSet, Goal, Group, Sheet, SimulatedCase, SimulatedGoal, Thing
from palestra.evaluation import leave_one_out
from palestra.formats import read_table, replacing, write_table
from palestra.records import (
    Dataset,
    Display,
    FileAnswers,
    Material,
    Metric,
    Order,
    Part,
    Plan,
    RefereedMatch,
    Solution,
    Study,
    Track,
)
from palestra.reduce import mean_of
from palestra.text import Words

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


class Learner:
    """Trained anew in each fold, and never done."""

    def fit(self, training: Material) -> None:
        hold("fit")

    def predict(self, test: Material) -> pl.DataFrame:
        return test.rows.select("trial", number=pl.lit(1))


def sheet(data: Path, cases: CaseSet) -> Sheet:
    digest = hashlib.sha256(b"a").hexdigest()
    case = Case("a", Words("Stack."), (Goal("tall", Words("It is tall.")),), (1,), digest)
    return Sheet((Group("stack", Words("Stack"), (case,)),), (Thing(1, Words("block")),), {digest: b"a"})


def rehearse(data: Path, attempt: Attempt) -> SimulatedCase:
    hold("rehearse")
    return SimulatedCase(attempt.case, {"tall": SimulatedGoal(False, None)}, 2.0)


class Nobody:
    """A program that is never asked."""

    def reset(self, world: object) -> None: ...

    def act(self) -> None: ...


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
    study=Study(
        pieces=lambda data: [{"piece": name} for name in NAMES],
        samples=lambda data, names: truth(data).filter(pl.col("trial").is_in(names)).with_columns(piece="trial"),
        protocols=(leave_one_out("piece"),),
    ),
    match=RefereedMatch(judged=score, sheet=sheet, rehearse=rehearse),
)
SOLVER = SimpleNamespace(fit=fit, predict=predict)
SOLUTIONS = [
    Solution("holding-v1", "slow", "Never ends", solves="holding_v1:SOLVER", parts_by=("trial",)),
    Solution("holding-v1", "learner", "Never learns", learns="holding_v1:Learner"),
    Solution("holding-v1", "nobody", "Never asked", knows="holding_v1:Nobody"),
]
