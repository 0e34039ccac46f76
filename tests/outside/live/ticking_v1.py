"""Ticking: a live track of a few numbers, for tests of whole runs. Each packet tells its number and the right answer.

plan.json           the sittings, how many ticks each has, when they are due, how long an answer counts
truth/labels.csv    what is right
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from palestra.errors import clip
from palestra.records import Display, Metric, Sitting, StreamAnswers, Tick, Track
from palestra.reduce import mean_of

ASK_EVERY = 5  # ticks, as in emotion-eeg-v1
SHORT = 9  # the packet whose answer may have a deadline of its own


def write_data(
    folder: Path,
    sittings: int = 2,
    ticks: int = 20,
    every_s: float = 100.0,
    deadline_s: float | None = 30.0,
    short_s: float | None = None,
    window_s: float = 0.0,
    cells: int = 2,
) -> Path:
    """A data set. In virtual time a tick every 100 s costs nothing, and leaves whoever died time to load again.

    `short_s` is how long the answer to packet 9 counts, where that is to differ. Packets have so many cells in a row.
    """
    (folder / "truth").mkdir(parents=True)
    names = [f"person{number}" for number in range(1, sittings + 1)]
    plan = {
        "sittings": names, "ticks": ticks, "every_s": every_s, "deadline_s": deadline_s, "window_s": window_s,
        "short_s": deadline_s if short_s is None else short_s, "cells": cells,
    }  # fmt: skip
    (folder / "plan.json").write_text(json.dumps(plan))
    rows = [(trial, tick * 7 % 9) for tick, trial in _asked(plan).items()]
    pl.DataFrame(rows, schema=["trial", "truth_label"], orient="row").write_csv(folder / "truth" / "labels.csv")
    return folder


def _plan(data: Path) -> dict[str, Any]:
    return dict(json.loads((data / "plan.json").read_text()))


def _asked(plan: dict[str, Any]) -> dict[int, str]:
    """The ticks that ask something, counted over all sittings, and what is decided on them."""
    numbers = range(ASK_EVERY - 1, plan["ticks"] * len(plan["sittings"]), ASK_EVERY)
    return {number: f"{plan['sittings'][number // plan['ticks']]}/{number:03d}" for number in numbers}


def trials(data: Path) -> pl.DataFrame:
    names = list(_asked(_plan(data)).values())
    return pl.DataFrame({"trial": names, "person": [name.partition("/")[0] for name in names]})


def truth(data: Path) -> pl.DataFrame:
    return pl.read_csv(data / "truth" / "labels.csv")


def stream(data: Path) -> list[Sitting]:
    plan = _plan(data)
    ticks, asks = plan["ticks"], plan["ticks"] // ASK_EVERY
    seconds = (ticks - 1) * plan["every_s"]
    return [
        Sitting(name, partial(_ticks, plan, number), ticks, asks, seconds, plan["window_s"])
        for number, name in enumerate(plan["sittings"])
    ]


def _ticks(plan: dict[str, Any], sitting: int) -> Iterator[Tick]:
    asked, first = _asked(plan), sitting * plan["ticks"]
    last = plan["ticks"] * len(plan["sittings"]) - 1
    for number in range(first, first + plan["ticks"]):
        x = np.zeros((2, plan["cells"]), np.float32)
        x[:, 0] = number, number * 7 % 9
        about = {"person": sitting + 1, "start": number, "last": number == last}
        trial, deadline_s = asked.get(number), plan["short_s" if number == SHORT else "deadline_s"]
        yield Tick((number - first) * plan["every_s"], {"x": x}, trial, deadline_s if trial else None, about)


def hear(answer: Any) -> dict[str, int]:
    if type(answer) is not int or not 0 <= answer < 9:
        raise ValueError(f"returned {clip(answer)}, expected a whole number from 0 to 8")
    return {"label": answer}


def score(rows: pl.DataFrame) -> pl.DataFrame:
    right = pl.col("label") == pl.col("truth_label")
    return rows.with_columns(right=right.cast(pl.Int32), wrong=(~right).cast(pl.Int32))


TRACK = Track(
    id="ticking-v1",
    title="Ticking",
    trials=trials,
    truth=truth,
    score=score,
    metrics=(Metric("accuracy", "", "higher", mean_of("right"), "accuracy"),),
    missing={"right": 0, "wrong": 1},
    blank=lambda trials: trials.select("trial", label=pl.lit(0, pl.Int64)),
    units=("person",),
    stream=StreamAnswers(
        sittings=stream,
        hear=hear,
    ),
    display=Display(
        error="wrong",
    ),
)
