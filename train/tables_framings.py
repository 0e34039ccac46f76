"""Whether `palestra annotate` reads eyes however they are framed: 2,000 pictures of drawn strangers.

The iris is 0.15 to 0.85 of the picture's width; what lies beyond what was drawn is its outermost pixels, black or grey.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from palestra import console
from palestra.executors import in_processes
from palestra.eyes.reader.read_eye import estimate
from palestra.eyes.reader.settings import Settings
from train.certainty import gross, measured, right
from train.eye_pictures import FILLS, Placing, Rng, drawn, placed
from train.tables_page import markdown
from train.tables_people import stranger

GROUP = 8  # of strangers whom nothing else has
MANY = 500  # of each framing
PUPIL = 1  # among the quantities


def _fill(rng: Rng) -> dict[str, float]:
    return {"fill": FILLS[int(rng.random() < 0.5)], "level": float(rng.choice((0.0, 110.0)))}


def _portrait(rng: Rng, iris_px: float) -> Placing:
    share = rng.uniform(0.25, 0.6)
    return Placing(400, 640, share * 400 / iris_px, rng.uniform(0.4, 0.6), rng.uniform(0.3, 0.65), **_fill(rng))  # type: ignore[arg-type]


def _close(rng: Rng, iris_px: float) -> Placing:
    width, height = ((400, 400), (640, 400), (200, 200))[int(rng.integers(3))]
    share = rng.uniform(0.45, 0.85)
    return Placing(
        width, height, share * width / iris_px, rng.uniform(0.42, 0.58), rng.uniform(0.42, 0.58), **_fill(rng)
    )  # type: ignore[arg-type]


def _tiny(rng: Rng, iris_px: float) -> Placing:
    width, height = ((160, 100), (192, 192), (120, 90))[int(rng.integers(3))]
    return Placing(width, height, rng.uniform(0.22, 0.45) * width / iris_px, 0.5, 0.5, **_fill(rng))  # type: ignore[arg-type]


def _turned(rng: Rng, iris_px: float) -> Placing:
    share = rng.uniform(0.15, 0.45)
    return Placing(
        640, 400, share * 640 / iris_px, rng.uniform(0.35, 0.65), 0.5, rng.uniform(-20, 20), bool(rng.random() < 0.5),
        **_fill(rng),  # type: ignore[arg-type]
    )  # fmt: skip


FRAMINGS: dict[str, Callable[[Rng, float], Placing]] = {
    "portrait, 400 × 640": _portrait,
    "close-up, the iris 0.45 to 0.85 of the width": _close,
    "tiny, 120 × 90 to 192 × 192": _tiny,
    "turned by up to 20°, the iris 0.15 to 0.45 of the width": _turned,
}


@dataclass(frozen=True)
class Tried:
    sure: bool
    right: bool
    far: bool


def tried(name: str, number: int) -> Tried:
    """One stranger with open eyes, framed like that."""
    at = list(FRAMINGS).index(name)
    rng = stranger(GROUP, at, number)
    one = drawn(rng, (0.6, 1.0))
    assert one.iris
    truth = placed(one, FRAMINGS[name](rng, one.iris.long))
    reading = estimate(truth.image, Settings(upside_down=False))
    measures = np.array([measured(reading, truth)])
    return Tried(reading.is_sure("pupil"), bool(right(measures)[0, PUPIL]), bool(gross(measures)[0, PUPIL]))


def tables(work: Path, size: str) -> dict[str, str]:
    many, rows = MANY if size == "paper" else 2, []
    with console.progress("framings", many * len(FRAMINGS)) as advance:
        for name in FRAMINGS:
            found = []
            for _, one in in_processes(partial(tried, name), range(many)):
                found.append(one)
                advance(1)
            sure = [one for one in found if one.sure]
            hit = f"{sum(one.right for one in sure) / max(len(sure), 1):.1%}"
            rows.append([name, str(many), f"{len(sure) / many:.0%}", hit, str(sum(one.far for one in sure))])
    head = ["framing", "how many", "sure of the pupil", "right among these", "far off among these"]
    return {"framings": markdown(head, rows)}
