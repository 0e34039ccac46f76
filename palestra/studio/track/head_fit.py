"""A template of one person's head, from pictures of depth: the family's modes first, then what they cannot say."""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.studio.track.head_icp import HeadPose, align
from palestra.studio.track.head_shape import (
    DEGREES,
    LOW_M,
    MODES,
    MOST_DEG,
    SHAPE,
    STEP_DEG,
    STEP_M,
    fitted_values,
    surface,
)
from palestra.studio.track.head_start import Reach, starts
from palestra.studio.track.head_template import Template
from palestra.studio.track.rig import Depth, Rig

Floats = NDArray[np.float64]
Map = NDArray[np.float32]

GATES_M = (0.025, 0.02, 0.016, 0.012, 0.012, 0.012, 0.012, 0.012)
GATHERED_M = 0.02  # from the skin as it is known so far
FACING = 0.35
ROUNDS = 4  # with the family's modes alone
RINGS_DEG, TIMES = (0.0, 7.0, 12.0, 17.0, 22.0, 28.0, 35.0, 45.0), 2  # about the picture that faces the camera most
CLEAR = 0.65  # share of a face that must be as it is thought to be, for a shape to be learned from it
PLAIN, BARE = 0.4, 0.02  # sureness of places that nobody saw: as to modes, as to details
SMOOTH = 0.9  # cells


@dataclass(frozen=True)
class Seen:
    """One picture, and where the head was thought to be in it."""

    points: Map
    pose: HeadPose


def mean_template() -> Template:
    """The head of nobody, by which people are found."""
    values = np.zeros(len(MODES))
    return Template(surface(values), _sureness(np.zeros(SHAPE), PLAIN), values)


def fit(rig: Rig, pictures: Sequence[Depth], reach: Reach) -> Template | None:
    """The person of these pictures; None where nobody is in them."""
    template = mean_template()
    found = {at: one for at, depth in enumerate(pictures) if (one := _found(template, rig, depth, reach))}
    if not found:
        return None
    template = refined(template, rig, list(found.values()))
    # Whom the mean head did not fit well enough is looked for again by their own.
    more = {
        at: one for at, depth in enumerate(pictures) if at not in found and (one := _found(template, rig, depth, reach))
    }
    return refined(template, rig, [*found.values(), *more.values()]) if more else template


def refined(template: Template, rig: Rig, seen: list[Seen]) -> Template:
    """First the family's modes on all pictures, then the details, from one picture outwards.

    Were details gathered from all pictures at once, a face that was turned too far in each would fit itself. So those
    of one picture, which are true to scale, are laid on its neighbours, and so on as far as heads turned.
    """
    for _ in range(ROUNDS):
        seen = [Seen(one.points, _again(template, rig, one)) for one in seen]
        radius, weight = gathered(template, rig, seen)
        values = fitted_values(radius, np.minimum(weight, 20.0), template.values)
        template = Template(surface(values), _sureness(weight, PLAIN), values)
    facing = np.array([one.pose.rotation[:, 2] @ _unit(rig.eye - one.pose.translation) for one in seen])
    first = seen[int(np.argmax(facing))]
    away = [_apart_deg(first.pose, one.pose) for one in seen]
    last = -1.0
    for ring in (*RINGS_DEG, max(away)):
        inside = [number for number, angle in enumerate(away) if angle <= ring]
        for _ in range(TIMES if ring > last else 0):
            if last >= 0:
                for number in inside:
                    seen[number] = Seen(seen[number].points, _again(template, rig, seen[number]))
            radius, weight = gathered(template, rig, [seen[number] for number in inside])
            template = _with_details(template.values, radius, weight)
            last = ring
    return template


def _unit(vector: Floats | Map) -> Floats:
    return np.asarray(vector / np.linalg.norm(vector), np.float64)


def _apart_deg(one: HeadPose, other: HeadPose) -> float:
    return float(np.degrees(np.arccos(np.clip((np.trace(one.rotation.T @ other.rotation) - 1) / 2, -1, 1))))


def gathered(template: Template, rig: Rig, seen: Sequence[Seen]) -> tuple[Floats, Floats]:
    """How far from the axis the skin was seen in each cell of the map, and how often."""
    total, count = np.zeros(SHAPE[0] * SHAPE[1]), np.zeros(SHAPE[0] * SHAPE[1])
    for one in seen:
        back = one.pose.back()
        here = one.points @ back.rotation.T.astype(np.float32) + back.translation.astype(np.float32)
        near = template.at(here)
        eye = (back.rotation @ rig.eye + back.translation).astype(np.float32)
        sight = eye - here
        facing = np.einsum("ij,ij->i", near.normal, sight) / np.linalg.norm(sight, axis=1)
        kept = (np.abs(near.gap_m) < GATHERED_M) & (facing > FACING) & (near.sure > 0)
        x, y, z = here[kept].T
        column = (np.degrees(np.arctan2(x, z)) + MOST_DEG) / STEP_DEG
        row = (y - LOW_M) / STEP_M
        # The template's own slope brings each point to the middle of its cell.
        column_at, row_at = np.rint(column).astype(int), np.rint(row).astype(int)
        maps = template.maps[row_at, column_at]
        radius = np.hypot(x, z)
        radius += maps[:, 1] * np.radians(STEP_DEG) * (column_at - column) + maps[:, 2] * STEP_M * (row_at - row)
        cell = row_at * SHAPE[1] + column_at
        share = facing[kept] ** 2
        total += np.bincount(cell, radius * share, minlength=total.size)
        count += np.bincount(cell, share, minlength=count.size)
    mean = np.where(count > 0, total / np.maximum(count, 1e-9), template.radius.ravel())
    return mean.reshape(SHAPE), count.reshape(SHAPE)


def _found(template: Template, rig: Rig, depth: Depth, reach: Reach) -> Seen | None:
    found = starts(template, rig, depth, reach)
    if not found or found[0][1].explained < CLEAR or found[0][1].seen_through > 0.05:
        return None
    pose = found[0][0].pose
    window = rig.window(pose.translation, 0.18)
    return None if window is None else Seen(rig.points(depth, window)[0], pose)


def _again(template: Template, rig: Rig, one: Seen) -> HeadPose:
    thinned = one.points[:: max(1, len(one.points) // 3000)]
    aligned = align(template, thinned, rig.eye, one.pose, GATES_M)
    return one.pose if aligned is None else aligned.pose


def _with_details(values: Floats, radius: Floats, weight: Floats) -> Template:
    """What was seen beside the family's nearest head, smoothed; where nothing was seen, that head."""
    plain = surface(values)
    usual = np.minimum(weight, 30.0)
    near = cv2.GaussianBlur(usual * (radius - plain), (0, 0), SMOOTH)
    far = cv2.GaussianBlur(usual * (radius - plain), (0, 0), 4 * SMOOTH)
    # Where little was seen a wider neighbourhood speaks, and where none was, nothing.
    over = cv2.GaussianBlur(usual, (0, 0), SMOOTH) + 0.2 * cv2.GaussianBlur(usual, (0, 0), 4 * SMOOTH) + 0.3
    return Template(plain + (near + 0.2 * far) / over, _sureness(weight, BARE), values)


def _sureness(weight: Floats, plain: float) -> Floats:
    """Less for what moves by itself (the jaw) and for what is not skin (ears, hair far behind)."""
    seen = cv2.GaussianBlur(np.minimum(weight, 3.0) / 3.0, (0, 0), 1.5)
    rows = np.clip((np.arange(SHAPE[0]) * STEP_M - 0.005) / 0.03, 0.1, 1)[:, None]
    side = np.clip((105 - np.abs(DEGREES)) / 20, 0, 1)[None, :]
    return np.asarray((plain + (1 - plain) * seen) * rows * side)
