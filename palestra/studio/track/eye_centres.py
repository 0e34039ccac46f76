"""Where a person's eyeballs are in their head: found in the fitted shape, and carried with the head by Eq. 4."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from palestra.metrics.transforms import Head, World
from palestra.studio.track.head_icp import HeadPose
from palestra.studio.track.head_shape import EYE_M, NAMES
from palestra.studio.track.head_template import Template

Floats = NDArray[np.float64]

LIDS_M = 0.0133  # from an eyeball's centre to the skin of its lids: a radius of 12 mm, and 1.3 mm of lid
PATCH_M = (0.011, 0.0065)  # half axes of what the lids show of the ball
REACH_M, STEP_M = (0.006, 0.006), 0.001  # about where the family's eyes are
SIDES = (1.0, -1.0)  # left, right


def eye_centres(template: Template) -> Head:
    """(2, 3): the left and the right eyeball in the head's frame.

    The lids lie round the balls. Both are looked for at once, as far from the middle on either side, where the skin is
    most like two balls of that size; how deep they are is then each one's own.
    """
    middle = EYE_M[0] + template.values[NAMES["eyes_apart"]], EYE_M[1] + template.values[NAMES["eyes_high"]]
    best, place = np.inf, middle
    for aside in np.arange(-REACH_M[0], REACH_M[0] + STEP_M / 2, STEP_M):
        for up in np.arange(-REACH_M[1], REACH_M[1] + STEP_M / 2, STEP_M):
            tried = middle[0] + aside, middle[1] + up
            usual = (aside / 0.004) ** 2 + (up / 0.004) ** 2
            misfit = sum(_ball(template, side, tried)[1] for side in SIDES) / 0.0005**2 + usual
            if misfit < best:
                best, place = misfit, tried
    return Head(np.array([[side * place[0], place[1], _ball(template, side, place)[0]] for side in SIDES]))


def carried(pose: HeadPose, eyes: Head) -> World:
    """Eq. 4: R·õ + t."""
    return pose(eyes)


def _ball(template: Template, side: float, place: Sequence[float]) -> tuple[float, float]:
    """How far forward a ball there is whose front is the skin's, and the mean square by which it is not."""
    across, up = np.meshgrid(np.linspace(-PATCH_M[0], PATCH_M[0], 9), np.linspace(-PATCH_M[1], PATCH_M[1], 7))
    inside = (across / PATCH_M[0]) ** 2 + (up / PATCH_M[1]) ** 2 <= 1
    x, y = side * place[0] + across[inside], place[1] + up[inside]
    front = skin_m(template, x, y)
    bulge = np.sqrt(LIDS_M**2 - across[inside] ** 2 - up[inside] ** 2)
    middle = float(np.median(front - bulge))
    off = np.clip(front - bulge - middle, -0.004, 0.004)
    return middle, float((off**2).mean())


def skin_m(template: Template, x: Floats, y: Floats) -> Floats:
    """How far forward the skin is at places seen from the front: the map has it by direction, so by going round."""
    z = np.full_like(x, 0.08)
    for _ in range(8):
        points = np.stack([x, y, z], axis=1).astype(np.float32)
        near = template.at(points)
        z = z - near.gap_m * np.clip(near.normal[:, 2], 0.3, 1)
    return z
