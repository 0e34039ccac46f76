"""How `forecast` does beside the simple rules, on the windows of train/gaze_windows.py.

The table has four noise levels and three rates, each over all eccentricities and speeds. Below it stands the worst of
all bins: there, and in every other one, the forecaster is compared with whichever rule is best.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palestra import console, model_cards
from palestra.tracks.gaze_prediction import forecast
from train.gaze_windows import NOISES_DEG, Kind, errors_deg, kinds, rules, windows
from train.tables_page import markdown

Array = NDArray[np.float64]

SHOWN_HZ = (60.0, 250.0, 1000.0)
COUNT = 2000  # windows of a bin
NETWORK = "gaze_forecaster"
TITLES = {"hold": "hold the last", "line": "line through 3", "mean": "mean of 5"}


@dataclass(frozen=True)
class Bin:
    """Mean angles over the windows of a kind and the five steps, against what is measured and against the truth."""

    kind: Kind
    ours_deg: tuple[float, float]
    rules_deg: dict[str, tuple[float, float]]
    held: float  # share of what is measured that lies within the radius

    @property
    def worst(self) -> float:
        """Ours over the best rule, whichever of both is asked for."""
        return max(
            ours / min(each)
            for ours, each in zip(self.ours_deg, zip(*self.rules_deg.values(), strict=True), strict=True)
        )


def judged(kind: Kind, count: int) -> Bin:
    seen = windows(kind, count)
    ahead, radius = forecast(seen.past, kind.rate_hz, interval=True)
    asked = seen.measured, seen.true

    def both(found: Array) -> tuple[float, float]:
        one, other = (float(errors_deg(found, true).mean()) for true in asked)
        return one, other

    held = float((errors_deg(ahead, seen.measured) <= radius).mean())
    return Bin(kind, both(ahead), {name: both(found) for name, found in rules(seen.past).items()}, held)


def bins(of: Sequence[Kind], count: int = COUNT, done: Callable[[int], None] = lambda _: None) -> Iterator[Bin]:
    for kind in of:
        yield judged(kind, count)
        done(1)


def tables(work: Path, size: str) -> dict[str, str]:
    if not model_cards.is_there(NETWORK):
        return {"forecast": "No weights of the forecaster are here."}
    every = kinds()
    with console.progress("forecasts", len(every)) as advance:
        found = list(bins(every, done=advance))
    rows = [
        row([one for one in found if (one.kind.noise_deg, one.kind.rate_hz) == (noise, rate)])
        for noise in NOISES_DEG
        for rate in SHOWN_HZ
    ]
    head = ["noise, rate", *TITLES.values(), "`forecast`", "less than the best rule by", "within the radius"]
    return {"forecast": markdown(head, rows) + "\n\n" + told(found)}


def row(some: Sequence[Bin]) -> list[str]:
    """Of one noise and rate: means over bins, against what is measured."""
    kind = some[0].kind
    by_rule = {name: float(np.mean([one.rules_deg[name][0] for one in some])) for name in TITLES}
    ours = float(np.mean([one.ours_deg[0] for one in some]))
    gain = 1 - ours / min(by_rule.values())
    held = float(np.mean([one.held for one in some]))
    cells = [f"{value:.3f}°" for value in (*by_rule.values(), ours)]
    return [f"{kind.noise_deg:g}°, {kind.rate_hz:.0f} Hz", *cells, f"{gain:.0%}", f"{held:.0%}"]


def told(found: Sequence[Bin]) -> str:
    worst = max(found, key=lambda one: one.worst)
    kind = worst.kind
    return (
        f"In all {len(found)} bins of noise × eccentricity × speed × rate, {COUNT:,} windows each, against what is "
        f"measured and against the truth, its error is at most {worst.worst:.3f} times that of the best rule there "
        f"({kind.noise_deg:g}° of noise, {kind.eccentricity_deg[0]:.0f}–{kind.eccentricity_deg[1]:.0f}° off centre, "
        f"{kind.speed_deg_s[0]:.0f}–{kind.speed_deg_s[1]:.0f}°/s, {kind.rate_hz:.0f} Hz); the median over bins is "
        f"{np.median([one.worst for one in found]):.2f}."
    )
