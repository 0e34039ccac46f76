"""A head from frame to frame: where it was last is where it is looked for; once it is lost, everywhere."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palestra.studio.track.head_check import Verdict, check
from palestra.studio.track.head_icp import Aligned, HeadPose, align
from palestra.studio.track.head_start import Reach, starts
from palestra.studio.track.head_template import Template
from palestra.studio.track.rig import Depth, Rig

Floats = NDArray[np.float64]

GATES_M = (0.03, 0.022, 0.016, 0.012, 0.012, 0.012, 0.012)
ABOUT_M = 0.17  # of a head's middle, where its points are taken from
POINTS = 3500
EXPLAINED, SEEN_THROUGH = 0.40, 0.10  # of the skin that faces the camera: at least, at most
RMS_M = (0.0018, 0.0012)  # of points that count: at most so much, and so much more for each square metre of distance
UNSURE_DEG, UNSURE_M = 1.0, 0.003  # of a pose, by the points that it was made from
PARTS = 3  # of all guesses, one is tried in each frame after a loss, so that frames keep their pace
ALIKE = 6.0  # points that err together, as what one spot of light spreads over


@dataclass(frozen=True)
class Found:
    """Where the head is, and why that is believed."""

    pose: HeadPose
    verdict: Verdict
    rms_m: float


class HeadTracker:
    """Frames in, poses out; None for a frame in which the head is not surely there."""

    def __init__(self, template: Template, rig: Rig, reach: Reach) -> None:
        self._template, self._rig, self._reach = template, rig, reach
        self._last: HeadPose | None = None
        self._searches = 0

    def find(self, depth: Depth) -> Found | None:
        found = self._near(depth, self._last) if self._last is not None else None
        if found is None:
            found = self._anywhere(depth)
        if found is not None:
            self._last = found.pose
        return found

    def _near(self, depth: Depth, start: HeadPose) -> Found | None:
        window = self._rig.window(start.translation, ABOUT_M)
        if window is None:
            return None
        rows, columns = window
        step = max(1, int(np.sqrt((rows.stop - rows.start) * (columns.stop - columns.start) / (2 * POINTS))))
        points, far = self._rig.points(depth, window, step)
        middle = self._rig.pixels(start.translation[None].astype(np.float32))[1]
        aligned = align(self._template, points[np.abs(far - middle) < ABOUT_M], self._rig.eye, start, GATES_M)
        return None if aligned is None else self._believed(aligned, depth)

    def _anywhere(self, depth: Depth) -> Found | None:
        part = (0, 1) if self._last is None else (self._searches % PARTS, PARTS)
        self._searches += 1
        for aligned, _ in starts(self._template, self._rig, depth, self._reach, part):
            found = self._near(depth, aligned.pose)
            if found is not None:
                return found
        return None

    def _believed(self, aligned: Aligned, depth: Depth) -> Found | None:
        verdict = check(self._template, aligned.pose, self._rig, depth)
        if verdict.explained < EXPLAINED or verdict.seen_through > SEEN_THROUGH:
            return None
        away = float(np.linalg.norm(aligned.pose.translation - self._rig.eye))
        if aligned.rms_m > RMS_M[0] + RMS_M[1] * away**2 or not _is_sure(aligned):
            return None
        return Found(aligned.pose, verdict, aligned.rms_m)


def _is_sure(aligned: Aligned) -> bool:
    """Whether the points hold the head fast in all six ways: a few on a cheek would let it slide."""
    spread = np.linalg.pinv(aligned.information) * aligned.rms_m**2 * ALIKE
    turns, shifts = np.linalg.eigvalsh(spread[:3, :3]).max(), np.linalg.eigvalsh(spread[3:, 3:]).max()
    return bool(np.degrees(np.sqrt(max(turns, 0))) < UNSURE_DEG and np.sqrt(max(shifts, 0)) < UNSURE_M)
