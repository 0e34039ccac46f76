"""A mirror before a depth camera: its plane from markers on it, whether it is flat, and what it reflects.

A depth camera is wrong along its rays. So a plane is fitted to what it measures, the depth along each ray, and not to
distances at right angles to the plane. A plane n·p = d is kept as m = n / d: the depth along the ray (x, y, 1) is then
1 / (m·ray), and no camera stands in its own mirror's plane.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from palestra.errors import PalestraError
from palestra.studio.calibrate.robust import inliers, scale
from palestra.text import Text, say

Floats = NDArray[np.float64]

TRIES = 300  # triples of points: with a third of them wrong, a bad draw each time has a chance of 1e-46
NEAR_M = 0.02  # a point this near a drawn plane speaks for it
GROSS_M = 0.03  # what is so far off is no part of a mirror, flat or not
SAG_M = 0.001  # how far its middle may bulge
TILT_DEG = 0.5  # how well its tilt must be known
LEAST_POINTS = 12
LEAST_SHARE = 0.6  # of the points that must be on the plane
SURE = 4.0  # standard errors
LEAST_SIGMA_M = 1e-5  # of drawn data, which have no noise


@dataclass(frozen=True)
class Mirror:
    """A plane that was fitted, and how well it is known."""

    m: Floats  # (3,): n / d
    information: Floats  # (3, 3): the inverse of m's covariance
    sigma_m: float  # noise of one depth
    residuals: Floats  # (n,) metres along the rays
    kept: NDArray[np.bool_]
    sag_m: float  # how far its middle bulges, as fitted
    sag_sd_m: float  # and how well that is known
    points: Floats  # (n, 3)


def depth_on(m: Floats, rays: Floats) -> Floats:
    """How deep a plane lies along rays (x, y, 1)."""
    return np.asarray(1 / (rays @ m))


def reflect(m: Floats, points: Floats) -> Floats:
    """Points behind the mirror where they really are, and the other way round."""
    size = np.linalg.norm(m)
    normal, distance = m / size, 1 / size
    return np.asarray(points - 2 * (points @ normal - distance)[..., None] * normal)


def fit_mirror(name: Text, points: Floats) -> Mirror:
    """The plane of a mirror from points, without those that are not on it. A mirror that is not flat is refused."""
    if len(points) < LEAST_POINTS:
        raise PalestraError(
            say("Mirror {name}: {count} points of its markers have depth, at least {least} are needed. Stick paper "
                "markers to its rim, and hold it where the depth camera sees them (0.6 to 1.2 m).",
                name=name, count=len(points), least=LEAST_POINTS)
        )  # fmt: skip
    if not (points[:, 2] > 0).all():
        raise PalestraError(say("Mirror {name}: some of its points are not before the camera (z must be above 0, in "
                                "metres).", name=name))  # fmt: skip
    rays, depths = points / points[:, 2:], points[:, 2]
    kept = np.abs(depths - depth_on(_drawn(name, points), rays)) < GROSS_M
    for _ in range(5):
        m = _fitted(rays[kept], depths[kept])
        residuals = depths - depth_on(m, rays)
        now = inliers(np.abs(residuals), 1, LEAST_SIGMA_M) & (np.abs(residuals) < GROSS_M)
        if (now == kept).all():
            break
        kept = now
    if kept.mean() < LEAST_SHARE:
        raise PalestraError(
            say("Mirror {name}: only {share:.0%} of its points lie on one plane. It is bent, it moved, or its markers "
                "stand off its surface: use a flat mirror of thick glass, and stick the markers to the glass.",
                name=name, share=kept.mean())
        )  # fmt: skip
    sigma = max(float(np.std(residuals[kept])), LEAST_SIGMA_M)
    jacobian = -rays[kept] * (depth_on(m, rays[kept]) ** 2)[:, None]
    information = jacobian.T @ jacobian / sigma**2
    _check_tilt(name, m, information)
    sag, sag_sd = _check_flat(name, m, rays, residuals, sigma)
    return Mirror(m, information, sigma, residuals, kept, sag, sag_sd, points)


def _drawn(name: Text, points: Floats) -> Floats:
    """The plane through three of the points that most of them are near."""
    rng = np.random.default_rng(0)
    rays = points / points[:, 2:]
    best, most = np.zeros(3), -1
    for _ in range(TRIES):
        three = points[rng.choice(len(points), 3, replace=False)]
        if abs(np.linalg.det(three)) < 1e-9:  # in one line, or with the camera in the plane
            continue
        m: Floats = np.asarray(np.linalg.solve(three, np.ones(3)), float)
        with np.errstate(divide="ignore"):
            near = int((np.abs(points[:, 2] - depth_on(m, rays)) < NEAR_M).sum())
        if near > most:
            best, most = m, near
    if most < LEAST_POINTS:
        raise PalestraError(
            say("Mirror {name}: its markers lie in one line, which does not tell how it is tilted. Put markers at all "
                "four corners.", name=name)
        )  # fmt: skip
    return best


def _fitted(rays: Floats, depths: Floats) -> Floats:
    """Least squares in depth; to start with, in its inverse, which is linear."""
    start: Floats = np.asarray(np.linalg.lstsq(rays, 1 / depths, rcond=None)[0], float)
    found = least_squares(
        lambda m: depth_on(m, rays) - depths, start, lambda m: -rays * (depth_on(m, rays) ** 2)[:, None], method="lm"
    )
    return np.asarray(found.x)


def _check_tilt(name: Text, m: Floats, information: Floats) -> None:
    """Refuse markers that lie in a line, or so near each other that the mirror's tilt is anybody's guess."""
    normal = m / np.linalg.norm(m)
    off = np.eye(3) - np.outer(normal, normal)
    covariance = off @ np.linalg.pinv(information, hermitian=True) @ off / (m @ m)
    tilt = float(np.degrees(np.sqrt(np.linalg.eigvalsh(covariance)[-1])))
    if np.linalg.cond(information) > 1e12 or tilt > TILT_DEG:
        raise PalestraError(
            say("Mirror {name}: its markers do not tell how it is tilted (uncertain by {tilt:.2f}°, at most {most}° is "
                "good enough). Put markers at all four corners, not in a line.", name=name, tilt=tilt, most=TILT_DEG)
        )  # fmt: skip


def _check_flat(name: Text, m: Floats, rays: Floats, residuals: Floats, sigma: float) -> tuple[float, float]:
    """How far the middle of a mirror bulges; refused where that is more than noise and more than does no harm."""
    near = np.abs(residuals) < min(6 * scale(np.abs(residuals), 1) + LEAST_SIGMA_M, GROSS_M)
    middle = np.median(rays[near, :2], axis=0)
    away = np.abs(rays[:, :2] - middle)
    half = np.percentile(away[near], 95, axis=0)
    on = near & (away < 1.2 * half).all(axis=1)  # what is far from all else, wrong or not, would bend the surface alone
    a, b = ((rays[on, :2] - middle) / half).T
    terms = np.stack([np.ones_like(a), a, b, a * a, a * b, b * b], axis=1)
    found = least_squares(lambda c: (terms @ c - residuals[on]) / sigma, np.zeros(6), loss="soft_l1").x
    fits = inliers(np.abs(residuals[on] - terms @ found), 1, LEAST_SIGMA_M)
    found = np.linalg.lstsq(terms[fits], residuals[on][fits], rcond=None)[0]
    bends, ways = np.linalg.eigh(np.array([[found[3], found[4] / 2], [found[4] / 2, found[5]]]))
    most = int(np.argmax(np.abs(bends)))
    x, y = ways[:, most]
    slope = np.array([0, 0, 0, x * x, x * y, y * y])
    across = float(m[:2] @ middle + m[2]) / float(np.linalg.norm(m))  # from depth to off the plane
    sag = across * float(abs(bends[most]))
    error = across * sigma * float(np.sqrt(slope @ np.linalg.pinv(terms[fits].T @ terms[fits], rcond=1e-12) @ slope))
    if sag > max(SAG_M, SURE * error):
        raise PalestraError(
            say("Mirror {name} is not flat: it bulges by {sag:.1f} mm, at most {most:.0f} mm is good enough. Use a "
                "mirror of thick glass and do not press on it; acrylic and foil bend.",
                name=name, sag=1e3 * sag, most=1e3 * SAG_M)
        )  # fmt: skip
    return sag, error


def noise_of(mirrors: list[Mirror]) -> float:
    """The noise of one depth, from all mirrors."""
    return max(scale(np.abs(np.concatenate([one.residuals for one in mirrors])), 1), LEAST_SIGMA_M)
