"""A person before a colour camera and a depth camera, with a ball on a thread and a hand that comes in between.

The head is a field of distances from a union of bodies (a nose that overhangs, ears, glasses, a knot of hair), which
is no map of distances from an axis as the trackers' own heads are. The ball and the hand are met by rays exactly. Depth
has noise and steps that grow with the square of distance, is lost where skin is aslant and in the projector's shadow.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from palestra.metrics.transforms import KINECT_TO_WORLD, Camera, Head, Pose, World

Floats = NDArray[np.float64]
Map = NDArray[np.float32]

WALL_M, FAR_M = 2.4, 9.0
STEP_M = 0.002  # of the grid that a head is kept in
CORNER_M, SIDES = np.array([-0.11, -0.15, -0.13]), (111, 146, 131)
LEVELS_M = 0.00285  # a step of depth at one metre
NOISE_LEVELS = 0.4
BALL_M = 0.02
EYE_M, LID_M = 0.012, 0.0013

WALL, SKIN, SHIRT, BALL, HAND, THING, LARGE = range(7)
COLOURS = np.array([[150, 150, 140], [140, 165, 205], [90, 60, 50], [40, 120, 240], [130, 150, 195], [40, 120, 240],
                    [40, 120, 240]], np.float32)  # fmt: skip


def camera(focal: float, place: Sequence[float], turn_deg: Sequence[float] = (0, 0, 0)) -> Camera:
    turn = cv2.Rodrigues(np.radians(np.array(turn_deg, float)))[0]
    intrinsics = np.array([[focal, 0, 319.5], [0, focal, 239.5], [0, 0, 1]])
    return Camera(640, 480, intrinsics, Pose(KINECT_TO_WORLD.rotation @ turn, np.array(place, float)))


COLOUR_CAMERA = camera(525.0, (0.0, 0.0, 1.0))
DEPTH_CAMERA = camera(580.0, (-0.025, 0.001, 1.001), (0.2, -0.3, 0.1))


@dataclass(frozen=True)
class Person:
    """Who sits there. Lengths in metres, in a frame whose middle is that of the skull."""

    seed: int = 0

    @cached_property
    def eyes(self) -> Floats:
        """(2, 3) eyeball centres, left and right."""
        rng = np.random.default_rng([self.seed, 1])
        half, high, front = 0.0315 + rng.normal(0, 0.0012), 0.002 + rng.normal(0, 0.0015), 0.069 + rng.normal(0, 0.001)
        return np.array([[half, high, front], [-half, high, front]])

    @cached_property
    def field(self) -> Map:
        """The distance from the skin on a grid, x before y before z."""
        axes = [CORNER_M[a] + STEP_M * np.arange(SIDES[a]) for a in range(3)]
        x, y, z = (part.astype(np.float32) for part in np.meshgrid(*axes, indexing="ij"))
        return _head(np.stack([x, y, z], axis=-1), self.eyes, np.random.default_rng([self.seed, 2]))


def _head(p: Map, eyes: Floats, rng: np.random.Generator) -> Map:
    wide, long, deep = 1 + rng.normal(0, [0.03, 0.025, 0.025])
    out, low = rng.normal(0, 0.0015), rng.normal(0, 0.002)
    skull = _ellipsoid(p, (0, 0.030, -0.010), (0.074 * wide, 0.095 * long, 0.094 * deep))
    face = _ellipsoid(p, (0, -0.035, 0.022), (0.062 * wide, 0.085 * long, 0.066 * deep))
    head = _joined(skull, face, 0.02)
    head = _joined(head, _capsule(p, (-0.03, 0.021, 0.075), (0.03, 0.021, 0.075), 0.010), 0.012)
    for side in (-1, 1):
        head = _joined(head, _ball(p, (side * 0.043 * wide, -0.026, 0.056), 0.021), 0.012)
        head = _joined(head, _ellipsoid(p, (side * 0.078 * wide, -0.004, -0.008), (0.007, 0.030, 0.017)), 0.005)
        head = _joined(head, _ball(p, (side * 0.012, -0.034 + low, 0.091 + out), 0.008), 0.004)
    for eye in eyes:
        head = _cut(head, _ellipsoid(p, eye + [0, 0.001, 0.026], (0.019, 0.011, 0.013)), 0.006)
        head = _joined(head, _ball(p, eye, EYE_M + LID_M), 0.002)
    head = _joined(head, _capsule(p, (0, 0.006, 0.083), (0, -0.033 + low, 0.103 + out), 0.008), 0.007)
    head = _joined(head, _ball(p, (0, -0.036 + low, 0.103 + out), 0.011), 0.005)
    head = _joined(head, _capsule(p, (-0.018, -0.062, 0.076), (0.018, -0.062, 0.076), 0.008), 0.006)
    head = _joined(head, _capsule(p, (-0.015, -0.072, 0.076), (0.015, -0.072, 0.076), 0.007), 0.004)
    head = _joined(head, _ball(p, (0, -0.098 * long, 0.066 + rng.normal(0, 0.002)), 0.019), 0.014)
    hair = np.maximum(
        _ellipsoid(p, (0, 0.036, -0.016), (0.082 * wide, 0.100 * long, 0.098 * deep)), -(p[..., 1] - 0.03)
    )
    hair = np.maximum(hair, p[..., 2] - 0.062)
    head = _joined(head, hair, 0.006)
    head = np.minimum(head, _ball(p, (0.02, 0.075, -0.085), 0.034))  # a knot
    if rng.random() < 0.5:
        head = np.minimum(head, _glasses(p, eyes))
    return head.astype(np.float32)


def _glasses(p: Map, eyes: Floats) -> Map:
    frames = [_capsule(p, (-0.010, 0.008, 0.098), (0.010, 0.008, 0.098), 0.0025)]
    for eye in eyes:
        ring = np.hypot(np.hypot(p[..., 0] - eye[0], 1.2 * (p[..., 1] - eye[1])) - 0.023, p[..., 2] - 0.094) - 0.0025
        hinge = np.sign(eye[0]) * 0.060
        frames += [ring, _capsule(p, (hinge, 0.010, 0.088), (np.sign(eye[0]) * 0.079, 0.010, 0.0), 0.0025)]
    return np.minimum.reduce(frames)


def _ball(p: Map, middle: Sequence[float] | Floats, radius: float) -> Map:
    return np.linalg.norm(p - np.asarray(middle, np.float32), axis=-1) - np.float32(radius)


def _ellipsoid(p: Map, middle: Sequence[float] | Floats, half: Sequence[float]) -> Map:
    q = (p - np.asarray(middle, np.float32)) / np.asarray(half, np.float32)
    near = np.linalg.norm(q, axis=-1)
    slope = np.linalg.norm(q / np.asarray(half, np.float32), axis=-1)
    return near * (near - 1) / np.maximum(slope, 1e-6)


def _capsule(p: Map, a: Sequence[float], b: Sequence[float], radius: float) -> Map:
    start, way = np.asarray(a, np.float32), np.asarray(b, np.float32) - np.asarray(a, np.float32)
    along = np.clip(((p - start) @ way) / (way @ way), 0, 1)
    return np.linalg.norm(p - start - along[..., None] * way, axis=-1) - np.float32(radius)


def _joined(a: Map, b: Map, wide: float) -> Map:
    share = np.clip(0.5 + 0.5 * (b - a) / wide, 0, 1)
    return b + share * (a - b) - wide * share * (1 - share)


def _cut(a: Map, b: Map, wide: float) -> Map:
    return -_joined(-a, b, wide)


# --- what is where


@dataclass(frozen=True)
class Look:
    """One moment. Ellipsoids are (middle, half axes, label)."""

    head: Pose[Head, World] | None = None
    ball: Floats | None = None
    things: tuple[tuple[Floats, Floats, int], ...] = ()
    shoulders: Floats | None = None  # the neck's place, which does not move


@lru_cache(maxsize=4)
def _ways(focal: float, corner: tuple[float, ...]) -> Map:
    for one in (COLOUR_CAMERA, DEPTH_CAMERA):
        if one.intrinsics[0, 0] == focal:
            x, y = np.meshgrid(np.arange(640.0), np.arange(480.0))
            return np.asarray(one.directions(np.stack([x, y], axis=-1)), np.float32)
    raise ValueError(f"no camera of {focal} pixels")


@dataclass
class Scene:
    """A person, as two cameras see them."""

    person: Person
    noise: float = 1.0
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def seen(self, by: Camera, look: Look) -> tuple[Map, NDArray[np.int8]]:
        """Metres along the camera's axis, and whose surface it is."""
        ways = _ways(float(by.intrinsics[0, 0]), ())
        origin = by.pose.translation
        far = np.full(ways.shape[:2], WALL_M, np.float32)
        label = np.zeros(far.shape, np.int8)
        bodies: list[tuple[Floats, Floats, int]] = list(look.things)
        if look.shoulders is not None:
            neck = look.shoulders
            bodies += [(neck + [0, -0.05, -0.02], np.array([0.055, 0.13, 0.055]), SKIN),
                       (neck + [0, -0.22, -0.03], np.array([0.22, 0.10, 0.09]), SHIRT),
                       (neck + [0, -0.45, -0.01], np.array([0.19, 0.30, 0.12]), SHIRT)]  # fmt: skip
        if look.ball is not None:
            bodies.append((look.ball, np.full(3, BALL_M), BALL))
        for middle, half, name in bodies:
            _nearer(far, label, _met(ways, origin - middle, half), name)
        if look.head is not None:
            self._put_head(far, label, by, ways, look.head)
        return far, label

    def _put_head(self, far: Map, label: NDArray[np.int8], by: Camera, ways: Map, head: Pose[Head, World]) -> None:
        sight = by.project(World(head.translation[None]))[0]
        away = float((by.pose.back()(World(head.translation)))[2])
        size = 0.2 * by.intrinsics[0, 0] / max(away, 0.3)
        if not np.isfinite(sight).all():
            return
        top, bottom = (int(np.clip(sight[1] + s * size, 0, 480)) for s in (-1, 1))
        left, right = (int(np.clip(sight[0] + s * size, 0, 640)) for s in (-1, 1))
        if bottom <= top or right <= left:
            return
        part = slice(top, bottom), slice(left, right)
        back = head.back()
        rays = (ways[part].reshape(-1, 3) @ back.rotation.T).astype(np.float32)
        start = back(World(by.pose.translation)).astype(np.float32)
        pace = 1 / np.linalg.norm(rays, axis=1)
        at = np.full(len(rays), away - 0.17, np.float32)
        alive = np.arange(len(rays))
        hit = np.zeros(len(rays), bool)
        for _ in range(40):
            gap = self._distance(start + at[alive, None] * rays[alive])
            hit[alive[gap < 2e-4]] = True
            at[alive] += 0.9 * gap * pace[alive]
            alive = alive[(gap >= 2e-4) & (at[alive] < away + 0.2)]
            if not len(alive):
                break
        found = np.where(hit, at, FAR_M).reshape(bottom - top, right - left)
        _nearer(far[part], label[part], found, SKIN)

    def _distance(self, places: Map) -> Map:
        grid = ((places - CORNER_M) / STEP_M).T
        inside = map_coordinates(self.person.field, grid, order=1, mode="nearest")
        over = np.linalg.norm(np.maximum(np.maximum(-grid, grid - (np.array(SIDES) - 1)[:, None]), 0), axis=0) * STEP_M
        return np.asarray(np.where(over > 0, np.maximum(over, inside), inside), np.float32)

    def depth(self, look: Look) -> NDArray[np.uint16]:
        """(h, w) millimetres, as a sensor gives them."""
        far, _ = self.seen(DEPTH_CAMERA, look)
        level = 1 / (LEVELS_M * far) + self.noise * NOISE_LEVELS * self.rng.standard_normal(far.shape)
        given = 1 / (LEVELS_M * np.rint(level))
        across, down = np.gradient(far, axis=1), np.gradient(far, axis=0)
        aslant = np.hypot(across, down) * 580 / far > 4
        shadow = np.arange(640) - 580 * 0.075 / far
        hidden = shadow > np.minimum.accumulate(shadow[:, ::-1], axis=1)[:, ::-1] + 0.75
        blobs = cv2.GaussianBlur(self.rng.standard_normal((60, 80)).astype(np.float32), (0, 0), 1.0)
        holes = cv2.resize(blobs, (640, 480)) > 1.1
        return np.where(
            (aslant & (self.rng.random(far.shape) < 0.5)) | hidden | holes, 0, np.rint(1000 * given)
        ).astype(np.uint16)

    def colour(self, look: Look, light: float = 1.0) -> NDArray[np.uint8]:
        """(h, w, 3) blue, green, red."""
        far, label = self.seen(COLOUR_CAMERA, look)
        slope = np.gradient(far, axis=1) * 525 / far
        shade = light * (0.75 + 0.25 * np.clip(1 - np.abs(slope - 0.3), 0, 1))
        drawn = COLOURS[label] * shade[..., None] + 3.0 * self.rng.standard_normal((*far.shape, 3))
        return np.clip(cv2.GaussianBlur(drawn, (0, 0), 0.6), 0, 255).astype(np.uint8)


def _nearer(far: Map, label: NDArray[np.int8], other: Map, name: int) -> None:
    nearer = other < far
    far[nearer], label[nearer] = other[nearer], name


def _met(ways: Map, start: Floats, half: Floats) -> Map:
    """Where rays meet an ellipsoid about the origin."""
    way, begin = ways / half.astype(np.float32), (start / half).astype(np.float32)
    a, b = np.einsum("ijk,ijk->ij", way, way), way @ begin
    under = b * b - a * (begin @ begin - 1)
    return np.asarray(np.where(under > 0, (-b - np.sqrt(np.maximum(under, 0))) / a, FAR_M), np.float32)


def rotation(yaw_deg: float, pitch_deg: float, roll_deg: float = 0.0) -> Floats:
    """Of a face that looks along yaw (towards +x) and pitch (up), rolled."""
    turns = [np.array([0, yaw_deg, 0.0]), np.array([-pitch_deg, 0, 0.0]), np.array([0, 0, roll_deg])]
    y, x, z = (cv2.Rodrigues(np.radians(turn))[0] for turn in turns)
    return np.asarray(y @ x @ z)


def moving_head(
    frames: int, seat: Sequence[float] = (0.0, 0.0, 0.1), most_deg: float = 30.0
) -> list[Pose[Head, World]]:
    """A head that turns and sways at the pace of people who were asked to."""
    at = np.arange(frames) / 30
    yaw, pitch = most_deg * np.sin(1.9 * at), 0.45 * most_deg * np.sin(1.3 * at + 0.5) - 3
    roll = 6 * np.sin(1.1 * at)
    sway = np.stack([0.03 * np.sin(0.9 * at), 0.008 * np.sin(1.7 * at), 0.02 * np.sin(0.7 * at)], axis=1)
    return [Pose(rotation(y, p, r), np.array(seat) + s) for y, p, r, s in zip(yaw, pitch, roll, sway, strict=True)]


def hand_before(head: Pose[Head, World], aside_m: float) -> tuple[Floats, Floats, int]:
    """A hand held between the camera and a face, so far to the side."""
    return head.translation + np.array([aside_m, -0.01, 0.22]), np.array([0.075, 0.10, 0.02]), HAND
