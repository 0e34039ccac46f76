"""Where somebody looks, from a few pictures of which that is known: the eye's axis brought to their own angles.

What is known of a picture is either yaw and pitch in degrees, or a place x, y on a screen with its distance, all in one
unit, x to the right and y up from the point straight ahead. Learnt is a small ridge regression from what was read: the
eye's axis, the pupil in the iris, and the pupil beside its reflections where there are some. Of the features that are
there, those are taken that tell left-out points best; what is told of the error is of left-out points alone.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palestra.annotation.jobs import Job
from palestra.annotation.labels import number_in, rows_of
from palestra.annotation.table import CALIBRATED, Row
from palestra.errors import PalestraError, refuse
from palestra.metrics.angles import to_vectors
from palestra.text import say

LEAST = 3  # points: two numbers and a turn
QUADRATIC = 9  # points from which on squares are learnt as well
MOST_DEG = 75.0
PENALTY = 0.05  # of the features' spread, for everything but the constant
SPREAD_PX = 0.12  # of the iris's width, over which one reflection is looked for from picture to picture
Floats = NDArray[np.float64]
Angles = tuple[float, float]


@dataclass(frozen=True)
class Calibrated:
    """What it came to: on how many points, by which features, how far off."""

    points: int
    used: int  # of them, those whose eye was read
    features: str
    before_deg: float  # mean angle between the axis as read and the points
    constant_deg: float  # of left-out points, with a constant offset alone
    left_out_deg: float  # and with what was learnt


def read_points(file: Path, jobs: Sequence[Job]) -> dict[str, Angles]:
    """Picture → yaw and pitch in degrees."""
    names = {job.name: job for job in jobs}
    found = {}
    for where, row in rows_of(file, ("file",), names):
        if "yaw" in row and "pitch" in row:
            yaw, pitch = (number_in(row, column, where) for column in ("yaw", "pitch"))
        elif {"x", "y", "distance"} <= row.keys():
            x, y, distance = (number_in(row, column, where) for column in ("x", "y", "distance"))
            if distance <= 0:
                refuse(where, say("the distance {distance:g}", distance=distance), say("more than 0"))
            yaw, pitch = math.degrees(math.atan2(x, distance)), math.degrees(math.atan2(y, math.hypot(x, distance)))
        else:
            refuse(where, say("neither yaw and pitch nor x, y and distance"), say("one of both in each row"))
        if max(abs(yaw), abs(pitch)) > MOST_DEG:
            refuse(
                where, say("{yaw:.0f}°, {pitch:.0f}°", yaw=yaw, pitch=pitch), say("at most {most:.0f}°", most=MOST_DEG)
            )
        found[row["file"]] = (yaw, pitch)
    if len(found) < LEAST:
        raise PalestraError(
            say("{file} has {count} points, and at least {least} are needed.", file=file, count=len(found), least=LEAST)
        )
    return found


def calibrate(rows: Sequence[Row], points: Mapping[str, Angles]) -> tuple[list[Row], Calibrated]:
    """The rows with calibrated angles wherever the eye was read."""
    known = [row for row in rows if row["file"] in points and _axis(row) is not None]
    if len(known) < LEAST:
        raise PalestraError(
            say(
                "Of {count} points, the gaze was read for sure in {used} pictures, and at least {least} are needed.",
                count=len(points),
                used=len(known),
                least=LEAST,
            )
        )
    true = np.array([points[row["file"]] for row in known])
    best, error, kind = None, math.inf, ""
    for name, features in _kinds(rows, known):
        design = np.array([features[row["file"]] for row in known])
        off = _left_out(design, true)
        if off < error:
            best, error, kind = features, off, name
    assert best is not None
    told: dict[str, Floats] = {}
    for features in (_kinds(rows, known)[0][1], best):  # a picture without the best ones has those of the axis
        weights = _fitted(np.array([features[row["file"]] for row in known]), true)
        told |= {name: _applied(np.array([some]), weights)[0] for name, some in features.items()}
    axes = np.array([_axis(row) for row in known])
    offset = np.array([true[np.arange(len(true)) != at].mean(axis=0) - axes[np.arange(len(true)) != at].mean(axis=0)
                       for at in range(len(true))])  # fmt: skip
    result = Calibrated(len(points), len(known), kind, _apart(axes, true), _apart(axes + offset, true), error)
    return [_with_angles(row, told.get(row["file"])) for row in rows], result


def _with_angles(row: Row, angles: Floats | None) -> Row:
    texts = ("", "") if angles is None else (f"{angles[0]:.2f}", f"{angles[1]:.2f}")
    return {**row, **dict(zip(CALIBRATED, texts, strict=True))}


# ── Features ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _kinds(rows: Sequence[Row], known: Sequence[Row]) -> list[tuple[str, dict[str, Floats]]]:
    """Sets of features by name; each has every point, and as many other pictures as can be told by it."""
    axis = {row["file"]: np.array(found) for row in rows if (found := _axis(row))}
    kinds = [("axis", axis)]
    place = {row["file"]: np.array(found) for row in rows if (found := _pupil_place(row))}
    if all(row["file"] in place for row in known):
        kinds.append(("pupil", place))
        kinds.append(("axis and pupil", {name: np.append(axis[name], place[name]) for name in axis if name in place}))
    glints = _beside_glints(rows)
    if all(row["file"] in glints for row in known):
        kinds.append(("pupil and reflections", glints))
        kinds.append(
            ("axis and reflections", {name: np.append(axis[name], glints[name]) for name in axis if name in glints})
        )
    if len(known) >= QUADRATIC:
        kinds += [
            (f"{name}, squared too", {key: _squared(some) for key, some in found.items()}) for name, found in kinds
        ]
    return kinds


def _axis(row: Row) -> Angles | None:
    return (float(row["gaze_yaw_deg"]), float(row["gaze_pitch_deg"])) if row["gaze_yaw_deg"] else None


def _pupil_place(row: Row) -> Angles | None:
    """In the picture, in iris widths: as good as an axis, as long as the headset does not slip."""
    if not row["pupil_x"] or not row["iris_long"]:
        return None
    wide = float(row["iris_long"])
    return 10 * float(row["pupil_x"]) / wide, 10 * float(row["pupil_y"]) / wide


def _beside_glints(rows: Sequence[Row]) -> dict[str, Floats]:
    """The pupil as seen from the middle of its reflections, in tenths of iris widths: slips move both alike.

    A device has several lights, of which a lid may hide some. Each picture's reflections are laid over those of the
    picture that has most, and the shift that fits best says where all of them would be.
    """
    found = {row["file"]: _glints(row) for row in rows if row["pupil_x"] and row["iris_long"] and row["glints"]}
    if not found:
        return {}
    wide = {row["file"]: float(row["iris_long"]) for row in rows if row["file"] in found}
    pupil = {
        row["file"]: np.array([float(row["pupil_x"]), float(row["pupil_y"])]) for row in rows if row["file"] in found
    }
    usual = float(np.median(list(wide.values())))
    pattern = max(found.values(), key=len)
    told = {}
    for name, glints in found.items():
        shift = _shift(glints, pattern, SPREAD_PX * usual)
        if shift is not None:
            told[name] = 10 * (pupil[name] - pattern.mean(axis=0) - shift) / usual
    return told


def _glints(row: Row) -> Floats:
    return np.array([[float(part) for part in glint.split()] for glint in row["glints"].split("; ")])


def _shift(glints: Floats, pattern: Floats, reach: float) -> Floats | None:
    """By how much a pattern must be moved so that most of these reflections have one of its own nearby."""
    moves = (glints[:, None] - pattern[None]).reshape(-1, 2)
    fits = []
    for move in moves:
        apart = np.linalg.norm(glints[:, None] - pattern[None] - move, axis=2)
        near = apart.min(axis=1)
        fits.append(float(np.minimum(near, reach / 4).sum()) + 1e-3 * float(np.linalg.norm(move)))
    best = moves[int(np.argmin(fits))]
    apart = glints[:, None] - pattern[None] - best
    nearest = np.linalg.norm(apart, axis=2).argmin(axis=1)
    off = apart[np.arange(len(glints)), nearest]
    close = np.linalg.norm(off, axis=1) < reach / 4
    return np.asarray(best + off[close].mean(axis=0)) if close.any() else None


def _squared(features: Floats) -> Floats:
    upper = np.triu_indices(2)
    return np.append(features, 0.1 * (features[:2, None] * features[None, :2])[upper])


# ── Regression ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _fitted(design: Floats, true: Floats) -> tuple[Floats, Floats, Floats]:
    """Middle and spread of the features, and weights; features are held to the axis as it was read."""
    middle, spread = design.mean(axis=0), design.std(axis=0) + 1e-6
    scaled = np.hstack([np.ones((len(design), 1)), (design - middle) / spread])
    pull = np.diag([0.0, *[PENALTY * len(design)] * design.shape[1]])
    return middle, spread, np.linalg.solve(scaled.T @ scaled + pull, scaled.T @ true)


def _applied(design: Floats, fit: tuple[Floats, Floats, Floats]) -> Floats:
    middle, spread, weights = fit
    scaled = np.clip((design - middle) / spread, -4, 4)
    return np.asarray(np.hstack([np.ones((len(design), 1)), scaled]) @ weights)


def _left_out(design: Floats, true: Floats) -> float:
    """Mean angle of points that were not learnt from."""
    told = []
    for at in range(len(true)):
        rest = np.arange(len(true)) != at
        told.append(_applied(design[at : at + 1], _fitted(design[rest], true[rest]))[0])
    return _apart(np.array(told), true)


def _apart(told: Floats, true: Floats) -> float:
    a, b = (to_vectors(angles[:, 0], angles[:, 1]) for angles in (told, true))
    return float(np.degrees(np.arccos(np.clip((a * b).sum(axis=1), -1, 1))).mean())
