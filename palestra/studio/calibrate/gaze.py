"""A person's gaze from what the eye's picture shows, fitted to points that the person was asked to look at.

What the picture shows is two numbers for each frame, such as the vector from a glint to the pupil's centre. Gaze is a
polynomial of them: with three terms or six, whichever does better on points that it was not fitted to.
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from palestra.errors import PalestraError
from palestra.formats import read_bytes, write_bytes
from palestra.studio.calibrate import charts
from palestra.studio.calibrate.report import Report, poor
from palestra.studio.calibrate.robust import inliers
from palestra.studio.calibrate.tables import read_table
from palestra.text import say

Floats = NDArray[np.float64]

LEAST_POINTS = 5
POINTS_FOR_SIX = 9  # terms are fitted only to so many points
LEAST_DEG = 0.5  # what is no further off stays in anyway
MOST_DEG = 2.0  # median on points that were not fitted to
LEAST_SHARE = 0.6
THIN = 0.05
MAX_BYTES = 16_000_000


class Gaze(msgspec.Struct, frozen=True):
    """Of one person: yaw and pitch in degrees, as a polynomial of two numbers."""

    middle: list[float]  # of the two numbers
    spread: list[float]
    terms: list[list[float]]  # of yaw and pitch: 1 x y, or 1 x y x² xy y²
    error_deg: float  # median on points that it was not fitted to

    def angles(self, seen: Floats) -> Floats:
        """(n, 2) degrees."""
        terms = np.array(self.terms)
        return np.asarray(_powers((seen - self.middle) / self.spread, terms.shape[1]) @ terms.T)


class GazeFile(msgspec.Struct, frozen=True):
    """gaze.json."""

    people: dict[str, Gaze]


def read_gaze(file: Path) -> GazeFile:
    try:
        return msgspec.json.decode(read_bytes(file, MAX_BYTES), type=GazeFile)
    except msgspec.DecodeError as error:
        raise PalestraError(
            say("{file} was not written by `palestra studio calibrate gaze` ({error}).", file=file, error=error)
        ) from None


@dataclass(frozen=True)
class Fit:
    """A person's gaze, and what it leaves over."""

    gaze: Gaze
    points: Floats  # (n, 2) degrees: asked for
    found: Floats  # (n, 2)
    kept: NDArray[np.bool_]


def fit_gaze(person: str, seen: Floats, points: Floats) -> Fit:
    """Fit to (n, 2) numbers seen while (n, 2) points were looked at."""
    places, which = np.unique(points, axis=0, return_inverse=True)
    which = which.ravel()
    if len(places) < LEAST_POINTS:
        raise PalestraError(
            say("{person} looked at {count} points, at least {least} are needed (9 are good).", person=person,
                count=len(places), least=LEAST_POINTS)
        )  # fmt: skip
    for what, of in ((say("points"), places), (say("numbers seen (x, y)"), _medians(seen, which))):
        spread = np.linalg.svd(of - of.mean(axis=0), compute_uv=False)
        if spread[1] < THIN * spread[0] or spread[0] == 0:
            raise PalestraError(
                say("{person}: the {what} lie in one line, which tells nothing across it. Show points all over the "
                    "screen, and look at how the eye is found in the pictures.", person=person, what=what)
            )  # fmt: skip
    sizes = [3, 6] if len(places) >= POINTS_FOR_SIX else [3]
    errors = [_held_out(seen, points, which, size) for size in sizes]
    size = sizes[int(np.argmin(errors))]
    middle, spread_of, terms, kept = _fitted(seen, points, size)
    gaze = Gaze(middle.tolist(), spread_of.tolist(), terms.tolist(), min(errors))
    return Fit(gaze, points, gaze.angles(seen), kept)


def _medians(seen: Floats, which: NDArray[np.int64]) -> Floats:
    return np.array([np.median(seen[which == point], axis=0) for point in range(which.max() + 1)])


def _powers(x: Floats, size: int) -> Floats:
    a, b = x.T
    all_terms = [np.ones_like(a), a, b, a * a, a * b, b * b]
    return np.stack(all_terms[:size], axis=1)


def _fitted(seen: Floats, points: Floats, size: int) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
    """The terms, without frames that do not belong: blinks, and glances elsewhere."""
    middle = np.median(seen, axis=0)
    spread = np.maximum(np.percentile(np.abs(seen - middle), 75, axis=0), 1e-9)
    x = _powers(np.clip((seen - middle) / spread, -1e3, 1e3), size)
    terms = np.array([_robust(x, wanted) for wanted in points.T])
    kept = np.ones(len(x), bool)
    for _ in range(5):
        now = inliers(np.linalg.norm(x @ terms.T - points, axis=1), 2, LEAST_DEG)
        if (now == kept).all() or now.sum() < 2 * size:
            break
        kept = now
        terms = np.linalg.lstsq(x[kept], points[kept], rcond=None)[0].T
    return middle, spread, terms, kept


def _robust(x: Floats, wanted: Floats) -> Floats:
    start = np.zeros(x.shape[1])
    start[0] = np.median(wanted)
    return np.asarray(least_squares(lambda c: x @ c - wanted, start, lambda _: x, loss="cauchy").x)


def _held_out(seen: Floats, points: Floats, which: NDArray[np.int64], size: int) -> float:
    """The median error on points that were left out one after the other."""
    errors = []
    for point in range(which.max() + 1):
        here = which == point
        middle, spread, terms, _ = _fitted(seen[~here], points[~here], size)
        found = _powers((np.median(seen[here], axis=0)[None] - middle) / spread, size) @ terms.T
        errors.append(float(np.linalg.norm(found[0] - points[here][0])))
    return float(np.median(errors))


def calibrate_gaze(file: Path, out: Path) -> Report:
    """Everybody's gaze, from a table of what was seen while they looked at points."""
    table = read_table(file, ("x", "y", "yaw_deg", "pitch_deg"), ("person",))
    seen, points = table.numbers("x", "y"), table.numbers("yaw_deg", "pitch_deg")
    who = np.array(table.texts["person"])
    fits = {name: fit_gaze(name, seen[who == name], points[who == name]) for name in dict.fromkeys(who.tolist())}
    picture = draw(fits, out / "gaze.png")
    report = Report()
    for name, fit in fits.items():
        _check(name, fit, picture)
        report.measured(f"{name}: off by on points not fitted to, median", fit.gaze.error_deg, "deg")
        report.measured(f"{name}: terms", len(fit.gaze.terms[0]))
        report.measured(f"{name}: frames left out", 100 * float((~fit.kept).mean()), "%")
    ours = out / "gaze.json"
    people = GazeFile({name: fit.gaze for name, fit in fits.items()})
    write_bytes(ours, msgspec.json.format(msgspec.json.encode(people), indent=1) + b"\n")
    report.files = [ours, picture]
    return report


def _check(person: str, fit: Fit, picture: Path) -> None:
    if fit.gaze.error_deg > MOST_DEG or fit.kept.mean() < LEAST_SHARE:
        raise poor(
            picture,
            say("{person}: gaze is off by {error:.1f}° on points that it was not fitted to, with {share:.0%} of the "
                "frames; at most {most:.0f}° and at least {least:.0%} are good enough.", person=person,
                error=fit.gaze.error_deg, share=fit.kept.mean(), most=MOST_DEG, least=LEAST_SHARE),
            say("Show the points again, longer; leave out the first half second of each, when the eye still moves."),
        )  # fmt: skip


def draw(fits: dict[str, Fit], file: Path) -> Path:
    figure, (where, around, each) = charts.sheet(say("Gaze from known points"), 3)
    points, found = (np.concatenate([getattr(fit, name) for fit in fits.values()]) for name in ("points", "found"))
    kept = np.concatenate([fit.kept for fit in fits.values()])
    where.plot(*found[kept].T, ".", color=charts.FITS, markersize=3, alpha=0.5)
    where.plot(*points.T, "+", color="black", markersize=9)
    where.set_aspect("equal", adjustable="datalim")
    charts.named(where, say("points (+) and gaze"), say("yaw (°)"), say("pitch (°)"))
    charts.cloud(around, found - points, kept, say("yaw (°)"), say("pitch (°)"), say("residuals of frames"))
    errors = np.array([fit.gaze.error_deg for fit in fits.values()])
    charts.bars(each, list(fits), errors, np.ones(len(errors), bool), say("points not fitted to"), say("median (°)"))
    return charts.save(figure, file)
