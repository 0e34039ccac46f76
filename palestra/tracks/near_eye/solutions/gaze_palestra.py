"""Ours: a network finds the pupil, and five frames tell where this eye looks when its pupil is there.

Both eyes answer, each by what is known of it (calibration.py), and the surer counts for more. `answers` also answers
without the five frames, as if nothing were known of the eye and how the headset sits: what they are worth.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.eyes.pupil import Image, read_grey
from palestra.text import say
from palestra.tracks.near_eye import format as on_disk
from palestra.tracks.near_eye.solutions import networks
from palestra.tracks.near_eye.solutions.calibration import (
    Anybody,
    Array,
    Frames,
    Usual,
    fit_anybody,
    fit_own,
    fit_usual,
)

MOST_TRAINING_FRAMES = 4000
FEWEST = 24  # of a training group
SIDES = np.array([[-1.0, 1.0], [1.0, 1.0]])  # to points as left eyes count them, right ones in a mirror
LEAST_FRAMES = 60  # of training eyes that can be read


@dataclass(frozen=True)
class Model:
    """What was learnt from the training groups."""

    plane: float  # how far it is
    anybody: Anybody
    usual: Usual


@dataclass(frozen=True)
class Seen:
    """Frames of one group: what was seen of both eyes (n, 2, columns), and which frames' points (m, 2) are known."""

    rows: Array
    known: NDArray[np.int64]
    points: Array


def fit(data: Path, options: Mapping[str, str]) -> Model:
    plane = on_disk.read_plane_distance(data)
    frames = sampled(on_disk.read_points(data, "train"))
    seen = see(data, "train", frames.select(on_disk.KEY).rows())
    group = frames.select(pl.struct("person", "group").rank("dense").cast(pl.Int64)).to_series().to_numpy() - 1
    points = frames.select("x", "y").to_numpy()[:, None] * SIDES / plane
    eyes = np.stack([group, group + group.max() + 1], axis=1)
    clear = readable(seen)
    if clear.sum() < LEAST_FRAMES:
        raise PalestraError(
            say(
                "{value}: found {sum} eyes that can be read in {number} training frames, expected "
                "{least_frames} or more to learn from. `palestra annotate FOLDER` says what is wrong "
                "with pictures.",
                value=data / "train",
                sum=clear.sum(),
                number=len(seen),
                least_frames=LEAST_FRAMES,
            )
        )
    known = networks.frames(seen[clear])
    _, eye_of = np.unique(eyes[clear], return_inverse=True)  # an eye that was never read is none
    return Model(plane, fit_anybody(known, points[clear]), fit_usual(known, points[clear], eye_of))


def sampled(frames: pl.DataFrame) -> pl.DataFrame:
    """So many frames of every group that all together can be looked at, the same ones every time."""
    groups = frames.partition_by("person", "group", maintain_order=True)
    most, rng = max(MOST_TRAINING_FRAMES // len(groups), FEWEST), np.random.default_rng(0)
    chosen = [np.sort(rng.permutation(group.height)[:most]) for group in groups]
    return pl.concat([group[rows] for group, rows in zip(groups, chosen, strict=True)])


def see(data: Path, part: str, keys: Sequence[tuple[str, ...]]) -> Array:
    """(n, 2, columns) of both eyes in frames."""
    found = [networks.rows(_picture(data, part, key, eye) for key in keys) for eye in on_disk.EYES]
    return np.stack(found, axis=1)


def _picture(data: Path, part: str, key: tuple[str, ...], eye: str) -> Image:
    return networks.as_left(read_grey(on_disk.image_file(data, part, key, eye)), eye)


def seen_of(data: Path, trials: pl.DataFrame) -> Seen:
    """A group as `answers` takes it."""
    keys = trials.select(on_disk.KEY)
    person, group = trials.select("person", "group").row(0)
    file = data / "test" / person / group / "calibration.csv"
    known = keys.with_row_index("row").join(on_disk.read_points_of([(person, group, file)]), on=on_disk.KEY)
    rows = known["row"].to_numpy().astype(np.int64)
    return Seen(see(data, "test", keys.rows()), rows, known.select("x", "y").to_numpy())


def readable(rows: Array) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(rows).all(axis=-1))


def answers(model: Model, seen: Seen, calibrated: bool = True) -> Array:
    """Points (n, 2) of one group's frames, straight ahead where neither eye can be read."""
    told, trust = np.zeros((len(seen.rows), 2)), np.zeros((len(seen.rows), 2))
    for eye, side in enumerate(SIDES):
        rows = seen.rows[:, eye]
        clear = readable(rows)
        teaching = seen.known[clear[seen.known]] if calibrated else seen.known[:0]
        points = seen.points[clear[seen.known]][: len(teaching)] * side / model.plane
        frames, known = (networks.frames(rows[which]) for which in (clear, teaching))
        found, variance = _looked_at(model, frames, known, points)
        told[clear] += side * found / variance
        trust[clear] += 1 / variance
    return np.asarray(model.plane * told / np.maximum(trust, 1e-12))


def _looked_at(model: Model, frames: Frames, teaching: Frames, points: Array) -> tuple[Array, Array]:
    own = fit_own(model.usual, teaching, points)
    return (own or model.anybody)(frames)


def predict(data: Path, trials: pl.DataFrame, model: Model) -> pl.DataFrame:
    found = answers(model, seen_of(data, trials))
    return trials.select("trial").with_columns(x=found[:, 0], y=found[:, 1])
