"""Three ways to compute hidden points from the numbers that a team is shown of its own submissions.

All of them know the scorer, which is public, where the display is, and who is on the shown part. They differ in what
they send in; what they conclude is the same for all: the points under which every number that was seen is likeliest,
with a rounded number taken as known to its step.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from benchmarks.oracle_contest import DISTANCE_MM, HEIGHT_MM, WIDTH_MM, Hidden, Points, Seen, Team
from palestra.metrics.angles import angles_deg_columns
from palestra.metrics.quantiles import position

Floats = NDArray[np.float64]
NEAR_MM, FAR_MM = 1_000.0, 100_000.0  # how far off a probe is put: what is taken, and what is not where it is looked at
EXACT_DEG = 1e-3  # to which a number is believed that has all its digits
SLOPE_MM = 0.01  # over which the slope of an angle is taken
STARTS, FEW = 30, 12  # searches for the likeliest points, where there are few; one where there are many
SOLVED = 3.0  # half the sum of squares for each unknown, below which everything that was seen fits


class Number(NamedTuple):
    """One number that was seen."""

    sent: int  # with which submission
    rows: NDArray[np.int64]  # which of the shown points it is about
    name: str
    value: float
    sigma: float  # how well it is known


@dataclass
class Knowledge:
    """What an attacker knows: the prior, and every number that it was shown."""

    hidden: Hidden  # its names alone are looked at
    rows: NDArray[np.int64]  # of the shown part
    mean: Points  # where each point is thought to be before anything is sent in
    spread: Points  # how well that is known
    sent: list[Points] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    refused: int = 0

    def take_in(self, answers: Points, seen: Seen) -> None:
        """Every number of a submission that says something of the hidden points."""
        if not seen.result:
            self.refused += 1
            return
        self.sent.append(answers[self.rows])
        for rows, name, value, step in self._read(seen):
            self.numbers.append(Number(len(self.sent) - 1, rows, name, value, max(step / 12**0.5, EXACT_DEG)))

    def _read(self, seen: Seen) -> Iterator[tuple[NDArray[np.int64], str, float, float]]:
        everything = np.arange(len(self.rows))
        for name, one in seen.result["metrics"].items():
            yield everything, name, one["value"], one.get("rounded_to", 0.0)
        for column, table in seen.result["by"].items():
            for row in table:
                rows = self._rows_of(column, row[column])
                for name in seen.result["metrics"] if len(rows) else ():
                    yield rows, name, row[name], 0.0

    def _rows_of(self, column: str, value: Any) -> NDArray[np.int64]:
        """Which shown points a row of a table is about; none where that is not known."""
        kinds: Mapping[str, Callable[[tuple[str, str, str]], str]] = {
            "person": lambda name: name[0],
            "group": lambda name: f"{name[0]}/{name[1]}",
        }
        kind = kinds.get(column)
        return np.flatnonzero([kind is not None and kind(self.hidden.names[row]) == value for row in self.rows])


def conclude(known: Knowledge, seed: int = 0, starts: int = STARTS) -> Points:
    """The likeliest points, of the shown part: for each of the smallest groups that there are numbers of, by itself."""
    found, rng = known.mean.copy(), np.random.default_rng(seed)
    for rows in _parts(known):
        numbers = [one for one in known.numbers if np.isin(one.rows, rows).all()]
        found[rows] = _likeliest(known, rows, numbers, rng, starts if len(rows) < FEW else 1)
    return found


def _parts(known: Knowledge) -> list[NDArray[np.int64]]:
    least = min((len(one.rows) for one in known.numbers), default=0)
    finest = {one.rows.tobytes(): one.rows for one in known.numbers if len(one.rows) == least}
    return list(finest.values())


def _likeliest(
    known: Knowledge, rows: NDArray[np.int64], numbers: list[Number], rng: np.random.Generator, starts: int
) -> Points:
    """The best of several searches, each from other points that the prior allows."""
    mean, spread = known.mean[rows], known.spread[rows]
    task = _Task([sent[rows] for sent in known.sent], numbers, mean, spread)
    best, cost = mean, np.inf
    for start in range(starts):
        begin = mean + (start > 0) * spread * rng.normal(size=mean.shape)
        one = least_squares(task.misfit, begin.ravel(), jac=task.slopes, max_nfev=60)
        if one.cost < cost:
            best, cost = one.x.reshape(-1, 2), one.cost
        if cost < SOLVED * mean.size:  # all that was seen fits, so there is nothing better to find
            break
    return best


class _Task:
    """How far points are from what was seen and from the prior, in standard deviations, with its slopes."""

    def __init__(self, sent: list[Points], numbers: list[Number], mean: Points, spread: Points) -> None:
        self._sent, self._numbers, self._mean, self._spread = sent, numbers, mean, spread

    def misfit(self, flat: Floats) -> Floats:
        points = flat.reshape(-1, 2)
        errors = [_angles(sent, points) for sent in self._sent]
        seen = [(_shares(one.name, errors[one.sent]) @ errors[one.sent] - one.value) / one.sigma
                for one in self._numbers]  # fmt: skip
        return np.concatenate([seen, ((points - self._mean) / self._spread).ravel()])

    def slopes(self, flat: Floats) -> Floats:
        points = flat.reshape(-1, 2)
        errors = [_angles(sent, points) for sent in self._sent]
        along = [_slopes(sent, points) for sent in self._sent]
        seen = np.array([
            (_shares(one.name, errors[one.sent])[:, None] * along[one.sent] / one.sigma).ravel()
            for one in self._numbers
        ])  # fmt: skip
        return np.vstack([seen, np.diag(1 / self._spread.ravel())])


def _shares(name: str, errors: Floats) -> Floats:
    """How much each error counts in a number: the mean, or order statistics."""
    if name == "mean_deg":
        return np.full(len(errors), 1 / len(errors))
    wanted = {"pe_deg": ("0.5", "0.95"), "p50_deg": ("0.5",), "p95_deg": ("0.95",)}[name]
    order, shares = np.argsort(errors), np.zeros(len(errors))
    for share in wanted:
        shares[order[position(share, len(errors)) - 1]] += 1 / len(wanted)
    return shares


def _angles(one: Points, other: Points) -> Floats:
    return angles_deg_columns(one[:, 0], one[:, 1], DISTANCE_MM, other[:, 0], other[:, 1], DISTANCE_MM)


def _slopes(sent: Points, points: Points) -> Floats:
    steps = np.array([[SLOPE_MM, 0.0], [0.0, SLOPE_MM]])
    return np.column_stack(
        [(_angles(sent, points + step) - _angles(sent, points - step)) / (2 * SLOPE_MM) for step in steps]
    )


# What is sent in


Attack = Callable[[Knowledge, Team, int, np.random.Generator], None]


def least_squares_attack(known: Knowledge, team: Team, count: int, rng: np.random.Generator) -> None:
    """Random answers around what is thought, so that no two points look alike in any number."""
    for _ in range(count):
        _send(known, team, known.mean + 1.5 * known.spread * rng.normal(size=known.mean.shape))


def probes(known: Knowledge, team: Team, count: int, rng: np.random.Generator) -> None:
    """One point at a time, far to the right and then far up, in every group of which there are numbers."""
    _send(known, team, known.mean)
    finest = _parts(known)
    far = FAR_MM
    for number in range(1, count):
        point, side = divmod(number - 1, 2)
        answers = known.mean.copy()
        for rows in finest:
            answers[rows[point % len(rows)], side] = far
        before = known.refused
        _send(known, team, answers)
        far = NEAR_MM if known.refused > before else far


def pinned_median(known: Knowledge, team: Team, count: int, rng: np.random.Generator) -> None:
    """Our own: nearly half of the answers as good as they can be made, the others far off, and one point alone in
    between. It is the median then, so that half of PE is its own error. From three sides, a point is known; what is
    learnt makes the next answers better."""
    middle, order = position("0.5", len(known.rows)) - 1, rng.permutation(len(known.rows))
    best = known.mean
    for number in range(count):
        target, side = order[(number // 3) % len(order)], 2 * np.pi * (number % 3) / 3
        best = conclude(known, starts=1) if number % 3 == 0 else best
        others = [i for i in order[::-1] if i != target]
        doubt = float(known.spread.mean())
        answers = best.copy()
        answers[others[middle:], 0] += np.where(best[others[middle:], 0] > 0, -1, 1) * min(6 * doubt, NEAR_MM)
        answers[target] += 3 * doubt * np.array([np.cos(side), np.sin(side)])
        _send(known, team, answers)


def _send(known: Knowledge, team: Team, shown: Points) -> None:
    """Answers for the shown part; what is not shown is answered straight ahead."""
    answers = np.zeros((len(known.hidden.names), 2))
    answers[known.rows] = shown
    known.take_in(answers, team.submit(known.hidden.names, answers))


ATTACKS: Mapping[str, Attack] = {
    "least squares": least_squares_attack,
    "one-point probes": probes,
    "pinned median": pinned_median,
}


# What is known before, and after


def begin(hidden: Hidden, people: set[str], program_mm: float, rng: np.random.Generator) -> Knowledge:
    """Knowing where the display is; or, with a program that is right to so many mm on each axis, what that says."""
    rows = hidden.rows(people)
    if not program_mm:
        spread = np.tile(np.array([WIDTH_MM, HEIGHT_MM]) / 12**0.5, (len(rows), 1))
        return Knowledge(hidden, rows, np.zeros((len(rows), 2)), spread)
    mean = hidden.points[rows] + rng.normal(0, program_mm, (len(rows), 2))
    return Knowledge(hidden, rows, mean, np.full((len(rows), 2), program_mm))


def share_known(known: Knowledge, points: Points, within_deg: float = 0.5) -> float:
    """The share of the shown points that are known so well."""
    return float((_angles(points, known.hidden.points[known.rows]) <= within_deg).mean())


def attacked(
    attack: Attack, hidden: Hidden, people: set[str], team: Team, count: int, program_mm: float, seed: int
) -> tuple[float, float]:
    """The share of the points that are known after so many submissions, and that which was known before."""
    rng = np.random.default_rng(seed)
    known = begin(hidden, people, program_mm, rng)
    attack(known, team, count, rng)
    return share_known(known, conclude(known, seed)), share_known(known, known.mean)
