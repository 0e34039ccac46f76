"""The ball that hangs in the air: likely by its colour, near enough by its depth, round by its shape."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.studio.track.ball_colour import BallColour, Picture
from palestra.studio.track.head_start import Reach
from palestra.studio.track.rig import Depth, Rig
from palestra.studio.track.sphere import Sphere, fit_sphere, free_radius

Floats = NDArray[np.float64]
Map = NDArray[np.float32]

STEP = 2  # pixels of depth, where candidates are looked for
LIKELY = 0.5
APART_M = 0.018  # between neighbours: what lies further apart is not of one ball
MOST = 6  # candidates that are looked at
LEAST_SHARE = 0.2  # of a ball's disc that a candidate covers
NOISE_M = 0.0028  # of depth, at a distance of one metre; it grows with its square
SEEN = 0.4  # share of a ball's disc that lies on the sphere, at least
THROUGH = 0.15  # share of its inner disc where depth lies behind it, at most
AROUND, JOINED = (
    (1.25, 1.6),
    0.4,
)  # radii; share of what is about it that may be as near: a ball hangs free, a nose does not
LIKELIHOOD = 0.5  # mean of its disc, at least
ROUND = (0.78, 1.28)  # of the ball's radius: what points of it may have where the radius is free
SPREAD_M = 0.0015  # how uncertain the centre may be
INNER = 0.7  # radii
JUMP_M = 0.15  # from frame to frame, where two could be it


@dataclass(frozen=True)
class Ball:
    """Where its middle is, in the world, and why that is believed."""

    centre: Floats
    likelihood: float
    seen: float
    rms_m: float


class BallTracker:
    """Frames in, centres out; None for a frame in which the ball is not surely there."""

    def __init__(self, colour: BallColour, rig: Rig, radius_m: float, reach: Reach) -> None:
        self._colour, self._rig, self.radius_m, self._reach = colour, rig, radius_m, reach
        self._last: Floats | None = None

    def find(self, picture: Picture, depth: Depth) -> Ball | None:
        likely = self._colour.likelihood(picture)
        found: list[Ball] = []
        for front in self._candidates(likely, depth):
            ball = self._laid(front, likely, depth)
            if ball is not None and all(np.linalg.norm(ball.centre - one.centre) > self.radius_m for one in found):
                found.append(ball)
        chosen = self._chosen(found)
        self._last = None if chosen is None else chosen.centre
        return chosen

    def _chosen(self, found: list[Ball]) -> Ball | None:
        """Of two that look alike the one that was followed; where none was, neither."""
        if len(found) < 2 or self._last is None:
            return found[0] if len(found) == 1 else None
        away = sorted((float(np.linalg.norm(one.centre - self._last)), number) for number, one in enumerate(found))
        return found[away[0][1]] if away[0][0] < JUMP_M < away[1][0] else None

    def _candidates(self, likely: Map, depth: Depth) -> list[Floats]:
        """The middle of the front of each thing of the ball's colour, the likeliest first."""
        rows, columns = slice(0, self._rig.depth.height, STEP), slice(0, self._rig.depth.width, STEP)
        far = self._rig.unit.metres(depth[rows, columns], (rows, columns))
        inside = (far > self._reach.near_m) & (far < self._reach.far_m)
        points = self._rig.ways[rows, columns][inside] * far[inside][:, None] + self._rig.eye
        share = np.zeros(far.shape, np.float32)
        share[inside] = self._looked_up(likely, points)
        mask = cv2.morphologyEx((share > LIKELY).astype(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
        mask[~inside] = 0
        edge = cv2.dilate(np.where(mask > 0, far, 0), np.ones((3, 3))) - cv2.erode(
            np.where(mask > 0, far, 99), np.ones((3, 3))
        )
        whole = np.where(edge > APART_M, 0, mask).astype(np.uint8)
        _, labels, stats, _ = cv2.connectedComponentsWithStats(whole, connectivity=4)
        focal = float(self._rig.depth.intrinsics[0, 0])
        found: list[tuple[float, Floats]] = []
        for label in np.argsort(-stats[1:, cv2.CC_STAT_AREA])[: 2 * MOST] + 1:
            mine = labels == label
            away = float(np.median(far[mine]))
            disc = np.pi * (focal * self.radius_m / away / STEP) ** 2
            count = int(stats[label, cv2.CC_STAT_AREA])
            if count < LEAST_SHARE * disc:
                continue
            ways = self._rig.ways[rows, columns][mine]
            near = float(np.percentile(far[mine], 10))
            found.append((float(share[mine].mean()) * min(count / disc, 1.0), ways.mean(axis=0) * near + self._rig.eye))
        return [place for _, place in sorted(found, key=lambda one: -one[0])[:MOST]]

    def _looked_up(self, likely: Map, points: Map) -> Map:
        """The likelihood where the colour camera sees points; 0 where it does not."""
        pixels, away = self._rig.colour_pixels(points)
        columns, rows = np.rint(np.nan_to_num(pixels, nan=-1.0, posinf=-1.0, neginf=-1.0)).astype(np.int32).T
        good = (columns >= 0) & (columns < likely.shape[1]) & (rows >= 0) & (rows < likely.shape[0]) & (away > 0)
        return np.where(good, likely[np.where(good, rows, 0), np.where(good, columns, 0)], np.float32(0))

    def _laid(self, front: Floats, likely: Map, depth: Depth) -> Ball | None:
        """The sphere laid on what is seen there, if it is one."""
        ray = front - self._rig.eye
        away = float(np.linalg.norm(ray))
        start = front + ray / away * self.radius_m
        window = self._rig.window(start, 2.2 * self.radius_m)
        if window is None:
            return None
        points = self._rig.points(depth, window)[0].astype(np.float64)
        noise = max(NOISE_M * away**2, 0.0012)
        sphere = fit_sphere(points[_near(points, start, 2 * self.radius_m)], start, self.radius_m, 2.5 * noise)
        if sphere is None or sphere.spread_m > SPREAD_M or sphere.rms_m > 1.3 * noise:
            return None
        return self._believed(sphere, points, noise, likely, depth)

    def _believed(self, sphere: Sphere, points: Floats, noise: float, likely: Map, depth: Depth) -> Ball | None:
        gap = np.linalg.norm(points - sphere.centre, axis=1) - self.radius_m
        on_it = points[np.abs(gap) < 2.5 * noise]
        seen, through, joined = self._covered(sphere.centre, noise, depth)
        if seen < SEEN or through > THROUGH or joined > JOINED or len(on_it) < 12:
            return None
        share = float(self._looked_up(likely, on_it.astype(np.float32)).mean())
        free = free_radius(on_it, sphere.centre, self.radius_m) / self.radius_m
        if share < LIKELIHOOD or not ROUND[0] < free < ROUND[1]:
            return None
        return Ball(sphere.centre, share, seen, sphere.rms_m)

    def _covered(self, centre: Floats, noise: float, depth: Depth) -> tuple[float, float, float]:
        """Which shares of the ball's disc lie on it, and behind it, and of what is about it are as near as it."""
        window = self._rig.window(centre, 1.7 * self.radius_m)
        if window is None:
            return 0.0, 1.0, 1.0
        ways = self._rig.ways[window].astype(np.float64)
        length = np.linalg.norm(ways, axis=2)
        along = (ways @ (centre - self._rig.eye)) / length
        aside = np.sqrt(np.maximum(np.sum((centre - self._rig.eye) ** 2) - along**2, 0)) / self.radius_m
        surface = (along - self.radius_m * np.sqrt(np.clip(1 - aside**2, 0, 1))) / length
        far = self._rig.unit.metres(depth[window], window)
        disc, inner, known = aside < 0.95, aside < INNER, far > 0
        on_it = known & (np.abs(far - surface) < 3 * noise + 0.15 * self.radius_m * (aside > INNER))
        behind = known & (far - surface > self.radius_m + 2 * noise)
        about = (aside > AROUND[0]) & (aside < AROUND[1])
        if not inner.any() or not about.any():
            return 0.0, 1.0, 1.0
        as_near = known & (np.abs(far - along / length) < 1.2 * self.radius_m)
        shares = [
            float((part & of).sum() / of.sum()) for part, of in ((on_it, disc), (behind, inner), (as_near, about))
        ]
        return shares[0], shares[1], shares[2]


def _near(points: Floats, place: Floats, radius_m: float) -> NDArray[np.bool_]:
    return np.asarray(np.einsum("ij,ij->i", points - place, points - place) < radius_m**2)
