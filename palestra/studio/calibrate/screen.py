"""Where the screen stands before a camera that cannot see it: by the mirror method, as EYEDIAP's report describes it.

A mirror shows the screen to the depth camera. Each target on the screen is seen where it is not, behind the mirror;
reflected by the mirror's plane it is where it is. A screen's pixel s lies at p = R̂·(k̂x·sx, k̂y·sy, 0) + t̂, which is
linear in s. That gives a first answer, from draws of three targets, so that wrong ones stay out. Then all is fitted
together: the screen, and each mirror's plane as far as its markers leave it open, to what was measured: where in the
picture a target is seen (which is known well) and its depth (which is not).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from palestra.errors import PalestraError
from palestra.studio.calibrate.mirror import Mirror, noise_of, reflect
from palestra.studio.calibrate.robust import Mask, inliers, rms, scale
from palestra.studio.calibrate.turns import matrix_of, vector_of
from palestra.text import say

Floats = NDArray[np.float64]

TRIES = 500
NEAR_M = 0.03  # a target this near to where a draw puts it speaks for it: mirrors tilt more than cameras err
LEAST_TARGETS = 8
LEAST_SHARE = 0.6  # of the targets that must fit
MOST_ROUNDS = 10
RAY_SIGMA = 5e-4  # a quarter of a Kinect's pixel, to begin with
LEAST_RAY_SIGMA = 1e-6
STRETCH = 1.3  # pixels that are so much wider than high, or the other way round, are a mistake


@dataclass(frozen=True)
class Seen:
    """Targets behind mirrors, as the camera sees them."""

    mirror: NDArray[np.int64]  # (n,): which
    pixels: Floats  # (n, 2): where on the screen each was shown
    points: Floats  # (n, 3): where it seems to be, in the camera's metres


@dataclass(frozen=True)
class Screen:
    """The screen before the camera, and how well it is known."""

    rotation: Floats  # R̂
    translation: Floats  # t̂, metres
    metres_per_pixel: Floats  # k̂
    kept: Mask
    off: Floats  # (n, 3): where targets are after reflection, less where the screen has them, in the screen's axes
    place_sd_m: float  # standard error of the middle of the screen
    turn_sd_deg: float  # and of how it is turned

    def points(self, pixels: Floats) -> Floats:
        """Where pixels are before the camera."""
        return _placed(self.rotation, self.translation, self.metres_per_pixel, pixels)


def fit_screen(seen: Seen, mirrors: Sequence[Mirror]) -> Screen:
    """Solve for the screen. What is left over says how good it is; whether that is good enough, others say."""
    _check(seen)
    planes = np.array([one.m for one in mirrors])
    real = _reflected(planes, seen.mirror, seen.points)
    start, kept = _drawn(seen.pixels, real)
    noise = np.array([RAY_SIGMA, RAY_SIGMA, noise_of(list(mirrors))])
    values = np.concatenate([_start_values(start), planes.ravel()])
    for _ in range(MOST_ROUNDS):
        fitted = least_squares(
            _residuals, values, loss="soft_l1", args=(seen, mirrors, kept, noise), x_scale="jac", method="trf"
        )
        values = fitted.x
        off = _misses(values, seen)
        noise = np.array([*2 * [max(scale(np.hypot(*off[kept, :2].T), 2), LEAST_RAY_SIGMA)],
                          max(scale(np.abs(off[kept, 2]), 1), noise[2] / 2)])  # fmt: skip
        now = inliers(np.linalg.norm(off / noise, axis=1), 3, 3.0)
        if (now == kept).all():
            break
        kept = now
    if kept.mean() < LEAST_SHARE:
        raise PalestraError(
            say("Only {share:.0%} of the targets fit one flat screen. Was the screen or the camera moved, or a mirror "
                "given another one's name? Record all targets again, and leave everything but the mirror as it is.",
                share=kept.mean())
        )  # fmt: skip
    last = least_squares(_residuals, values, args=(seen, mirrors, kept, noise), x_scale="jac", method="trf")
    return _screen(last.x, last.jac, seen, kept)


def _check(seen: Seen) -> None:
    distinct = np.unique(seen.pixels, axis=0)
    if len(distinct) < LEAST_TARGETS:
        raise PalestraError(
            say("Targets at {count} places of the screen, at least {least} are needed. Show them all over it, "
                "corners included.", count=len(distinct), least=LEAST_TARGETS)
        )  # fmt: skip
    spread = np.linalg.svd(distinct - distinct.mean(axis=0), compute_uv=False)
    if spread[1] < 0.1 * spread[0]:
        raise PalestraError(say("All targets lie in one line of the screen. Show them all over it, corners included."))


def _reflected(planes: Floats, mirror: NDArray[np.int64], points: Floats) -> Floats:
    """Each point by its own mirror."""
    out = np.empty_like(points)
    for index, m in enumerate(planes):
        out[mirror == index] = reflect(m, points[mirror == index])
    return out


def _drawn(pixels: Floats, real: Floats) -> tuple[Floats, Mask]:
    """p = M·(sx, sy, 1) through three targets that most others agree with, and who these are."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([pixels, np.ones(len(pixels))])
    wide = np.ptp(pixels, axis=0).prod()
    best = np.zeros(len(rows), bool)
    for _ in range(TRIES):
        three = rng.choice(len(rows), 3, replace=False)
        if abs(np.linalg.det(rows[three])) < 0.05 * wide:  # too thin a triangle to speak for the rest
            continue
        found: Floats = np.asarray(np.linalg.solve(rows[three], real[three]), float)
        near = np.linalg.norm(rows @ found - real, axis=1) < NEAR_M
        if near.sum() > best.sum() and _is_screen(found):
            best = near
    if best.mean() < LEAST_SHARE:
        raise PalestraError(
            say("Only {share:.0%} of the targets fit one flat screen. Was the screen or the camera moved, or a mirror "
                "given another one's name? Record all targets again, and leave everything but the mirror as it is.",
                share=best.mean())
        )  # fmt: skip
    return np.asarray(np.linalg.lstsq(rows[best], real[best], rcond=None)[0], float), np.asarray(best, bool)


def _is_screen(found: Floats) -> bool:
    """Whether a screen's rows and columns would be at right angles, of pixels that are about square."""
    x, y = np.linalg.norm(found[:2], axis=1)
    square = abs(found[0] @ found[1]) < 0.2 * x * y
    return bool(x > 0 and y > 0 and square and 1 / STRETCH < x / y < STRETCH)


def _start_values(found: Floats) -> Floats:
    """Turn, place and sizes of pixels, from a linear solution: the rotation that is nearest to it."""
    sizes = np.linalg.norm(found[:2], axis=1)
    u, _, vt = np.linalg.svd((found[:2] / sizes[:, None]).T, full_matrices=False)
    x, y = (u @ vt).T
    turn = vector_of(np.stack([x, y, np.cross(x, y)], axis=1))
    return np.concatenate([turn, found[2], np.log(sizes)])


def _placed(rotation: Floats, translation: Floats, sizes: Floats, pixels: Floats) -> Floats:
    return np.asarray((pixels * sizes) @ rotation[:, :2].T + translation)


def _unpacked(values: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    return matrix_of(values[:3]), values[3:6], np.exp(values[6:8]), values[8:].reshape(-1, 3)


def _misses(values: Floats, seen: Seen) -> Floats:
    """(n, 3): where the camera sees targets, less where it should: across the ray (x/z, y/z) and in depth."""
    rotation, translation, sizes, planes = _unpacked(values)
    expected = _reflected(planes, seen.mirror, _placed(rotation, translation, sizes, seen.pixels))
    across = seen.points[:, :2] / seen.points[:, 2:] - expected[:, :2] / expected[:, 2:]
    return np.column_stack([across, seen.points[:, 2] - expected[:, 2]])


def _residuals(values: Floats, seen: Seen, mirrors: Sequence[Mirror], kept: Mask, noise: Floats) -> Floats:
    """In standard deviations: of targets that fit, and of planes from what their markers say."""
    planes = values[8:].reshape(-1, 3)
    known = [
        np.linalg.cholesky(mirror.information).T @ (m - mirror.m) for mirror, m in zip(mirrors, planes, strict=True)
    ]
    return np.concatenate([(_misses(values, seen)[kept] / noise).ravel(), *known])


def _screen(values: Floats, jacobian: Floats, seen: Seen, kept: Mask) -> Screen:
    rotation, translation, sizes, planes = _unpacked(values)
    covariance = np.linalg.pinv(jacobian.T @ jacobian, hermitian=True)
    off = _reflected(planes, seen.mirror, seen.points) - _placed(rotation, translation, sizes, seen.pixels)
    middle = (seen.pixels.min(axis=0) + seen.pixels.max(axis=0)) / 2
    moved = _slopes(values, middle)
    place = float(np.sqrt(np.trace(moved @ covariance[:8, :8] @ moved.T)))
    turn = float(np.degrees(np.sqrt(np.trace(covariance[:3, :3]))))
    return Screen(rotation, translation, sizes, kept, off @ rotation, place, turn)


def _slopes(values: Floats, pixel: Floats, step: float = 1e-6) -> Floats:
    """(3, 8): how the place of a pixel moves with the screen's eight numbers."""
    sides = []
    for index in range(8):
        ends = []
        for sign in (1, -1):
            moved = values.copy()
            moved[index] += sign * step
            rotation, translation, sizes, _ = _unpacked(moved)
            ends.append(_placed(rotation, translation, sizes, pixel))
        sides.append((ends[0] - ends[1]) / (2 * step))
    return np.stack(sides, axis=1)


def misfit_m(screen: Screen) -> float:
    """How far off the targets are that fit, altogether."""
    return rms(np.linalg.norm(screen.off[screen.kept], axis=1))
