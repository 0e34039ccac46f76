"""The centre of the cornea from reflections of two or more lights, whichever light each is of.

The cornea is taken for a ball. Whoever knows its centre knows where it mirrors each light; the centre is the one whose
reflections lie where the picture has them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palestra.studio.gaze.rig import Array, Rig, unit

DEPTHS_MM = np.arange(20.0, 76.0, 4.0)  # from the camera, that are tried
NEAR_PX = 12.0  # that a reflection may be from where a first guess has it
CLOSE_PX = 2.5  # and from where the cornea that was found has it
STEPS = 8
NUDGE_MM = 1e-3
LEAST = 2  # reflections
FURTHEST_PX = 60.0  # from the pupil to a guess of the cornea's centre, as the picture has it


@dataclass(frozen=True)
class Cornea:
    """Where it is, and what tells so."""

    centre_mm: Array
    lights: NDArray[np.int64]  # which light each reflection that was used is of
    glints: NDArray[np.int64]  # which of the given ones those are
    off_px: float  # root mean square


def mirrored_px(centres_mm: Array, radius_mm: float, rig: Rig) -> Array:
    """Where balls (…, 3) mirror each light: (…, lights, 2) pixels."""
    centres = centres_mm[..., None, :]
    towards = unit(rig.position_mm - centres)
    for _ in range(8):  # the normal halves the angle between light and camera; each step comes far closer
        point = centres + radius_mm * towards
        towards = unit(unit(rig.lights_mm - point) + unit(rig.position_mm - point))
    return rig.project(centres + radius_mm * towards)


def find_cornea(glints_px: Array, pupil_px: Array, rig: Rig, radius_mm: float) -> Cornea | None:
    """The cornea that explains the most reflections; None where fewer than two agree."""
    glints = np.asarray(glints_px, np.float64).reshape(-1, 2)
    if len(glints) < LEAST:
        return None
    guess = _best_guess(glints, np.asarray(pupil_px), rig, radius_mm)
    for within_px in (NEAR_PX, CLOSE_PX * 2, CLOSE_PX):
        pairs = _matched(mirrored_px(guess, radius_mm, rig), glints, within_px)
        if len(pairs) < LEAST:
            return None
        guess = _refined(guess, glints[pairs[:, 1]], pairs[:, 0], rig, radius_mm)
    pairs = _matched(mirrored_px(guess, radius_mm, rig), glints, CLOSE_PX)
    if len(pairs) < LEAST:
        return None
    off = mirrored_px(guess, radius_mm, rig)[pairs[:, 0]] - glints[pairs[:, 1]]
    return Cornea(guess, pairs[:, 0], pairs[:, 1], float(np.sqrt((off**2).sum(-1).mean())))


def _best_guess(glints: Array, pupil_px: Array, rig: Rig, radius_mm: float) -> Array:
    """Of each depth, reflection and light: the cornea that mirrors that light there. The one that others agree with."""
    behind = rig.position_mm + rig.rays(pupil_px) * DEPTHS_MM[:, None]  # (depths, 3)
    seen = mirrored_px(behind, radius_mm, rig)  # (depths, lights, 2)
    moved = glints[None, None] - seen[:, :, None]  # (depths, lights, glints, 2): by which the ball must move
    depth = DEPTHS_MM[:, None, None, None]
    shift = (moved[..., :1] * rig.rotation[0] + moved[..., 1:] * rig.rotation[1]) * depth / rig.focal_px
    guesses = (behind[:, None, None] + shift).reshape(-1, 3)
    reach = np.linalg.norm(rig.project(guesses) - pupil_px, axis=-1)
    guesses = guesses[reach < np.maximum(FURTHEST_PX, 1.2 * np.min(reach))]
    off = np.linalg.norm(mirrored_px(guesses, radius_mm, rig)[:, :, None] - glints[None, None], axis=-1)
    nearest = off.min(1)  # of each reflection, to any light's
    worth = np.exp(-((nearest / (NEAR_PX / 3)) ** 2)).sum(-1)
    return np.asarray(guesses[int(np.argmax(worth))])


def _matched(seen: Array, glints: Array, within_px: float) -> NDArray[np.int64]:
    """Pairs (light, reflection) that are each other's nearest."""
    off = np.linalg.norm(seen[:, None] - glints[None], axis=-1)
    of_light, of_glint = off.argmin(1), off.argmin(0)
    pairs = [
        (light, glint)
        for light, glint in enumerate(of_light.tolist())
        if of_glint[glint] == light and off[light, glint] <= within_px
    ]
    return np.array(pairs, np.int64).reshape(-1, 2)


def _refined(start: Array, wanted: Array, lights: NDArray[np.int64], rig: Rig, radius_mm: float) -> Array:
    """Gauss and Newton's steps to the least squares."""
    centre = start
    nudges = np.vstack([np.zeros(3), NUDGE_MM * np.eye(3)])
    for _ in range(STEPS):
        seen = mirrored_px(centre + nudges, radius_mm, rig)[:, lights].reshape(4, -1)
        jacobian = (seen[1:] - seen[0]).T / NUDGE_MM
        step = np.linalg.lstsq(jacobian, wanted.ravel() - seen[0], rcond=1e-4)[0]
        centre = centre + np.clip(step, -5, 5)
        if np.abs(step).max() < 1e-5:
            break
    return np.asarray(centre)
