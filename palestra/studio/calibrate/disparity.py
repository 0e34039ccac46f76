"""What a Kinect's disparities mean: d_k = d + beta(u, v)·exp(a0 − a1·d), and z = 1 / (c1·d_k + c0), as Herrera has it.

c0 and c1 hold for all pixels. Beta is how far off each pixel is; it fades with disparity, which a1 tells. All three are
found in turn, each with the others as they are, until nothing changes; wrong pixels are left out.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares, minimize_scalar

from palestra.studio.calibrate.robust import inliers, rms

Floats = NDArray[np.float64]

LEVELS = 2048  # disparities of 11 bits
NO_RETURN = (0, LEVELS - 1)
MOST_FADE = 0.02  # a1: e-fold within 50 steps
SMOOTH_PX = 6.0  # of beta; lenses and speckle bend smoothly
ROUNDS = 4
SAMPLES = 40_000
LEAST_STEPS = 1.0  # what is no further off stays in anyway
GROSS_STEPS = 40.0
COARSE_PX = 160  # across: one number for all pixels does not take them all


@dataclass(frozen=True)
class DepthFit:
    """A depth camera's model, and what it leaves over in steps of disparity."""

    k: tuple[float, float]  # c0, c1
    alpha: tuple[float, float]  # a0, a1
    beta: Floats  # (height, width)
    residuals: Floats  # (n, height, width): of the disparity; not a number where none was expected
    kept: NDArray[np.bool_]  # of the same shape
    plain_rms: float  # with c0 and c1 alone

    @property
    def rms_steps(self) -> float:
        return rms(self.residuals[self.kept])

    def depth_m(self, disparities: NDArray[np.uint16]) -> Floats:
        """Metres along the camera's axis."""
        d = disparities.astype(float)
        corrected = d + self.beta * np.exp(self.alpha[0] - self.alpha[1] * d)
        with np.errstate(divide="ignore"):
            return np.asarray(1 / (self.k[1] * corrected + self.k[0]))


def fit_depth(disparities: NDArray[np.uint16], depths_m: Floats) -> DepthFit:
    """Fit to pictures (n, height, width) of surfaces whose depth is known where it is a number."""
    d = disparities.astype(np.float64)
    known = np.isfinite(depths_m) & (depths_m > 0) & ~np.isin(disparities, NO_RETURN)
    inverse = np.where(known, 1 / np.where(known, depths_m, 1.0), np.nan)
    middle = float(np.median(d[known]))
    c0, c1 = _robust_line(d[known], inverse[known])
    kept = known & (np.abs((inverse - c0) / c1 - d) < GROSS_STEPS)
    plain = (0.0, 0.0)
    beta, fade = np.zeros(d.shape[1:]), 0.0
    for _ in range(ROUNDS):
        c1, c0 = np.polyfit((d + beta * np.exp(-fade * (d - middle)))[kept], inverse[kept], 1)
        if plain == (0.0, 0.0):
            plain = (c0, c1)
        off = np.where(kept, (inverse - c0) / c1 - d, 0.0)
        coarse = (slice(None), *2 * [slice(None, None, max(d.shape[2] // COARSE_PX, 1))])
        fitted = minimize_scalar(
            _left, args=(off[coarse], d[coarse], middle, kept[coarse]), bounds=(0, MOST_FADE), method="bounded"
        )
        fade = float(fitted.x)
        beta = _beta(off, np.where(kept, np.exp(-fade * (d - middle)), 0.0))
        residuals = (inverse - c0) / c1 - d - beta * np.exp(-fade * (d - middle))
        kept = known & (np.abs(residuals) < GROSS_STEPS)
        kept[kept] = inliers(np.abs(residuals[kept]), 1, LEAST_STEPS)
    plain_off = (inverse - plain[0]) / plain[1] - d
    return DepthFit(
        (float(c0), float(c1)), (fade * middle, fade), beta, residuals, kept, rms(plain_off[kept])
    )  # fmt: skip


def _robust_line(d: Floats, inverse: Floats) -> tuple[float, float]:
    """1 / z = c0 + c1·d, in spite of wrong pixels; the middle half of a spread-out sample to start with."""
    step = max(len(d) // SAMPLES, 1)
    x, y = d[::step], inverse[::step]
    slope, start = np.polyfit(x, y, 1)
    scale = abs(slope) or 1e-6
    found = least_squares(lambda c: (c[0] + c[1] * (x - x.mean()) / x.std() - y) / scale,
                          [start + slope * x.mean(), slope * x.std()], loss="cauchy").x  # fmt: skip
    c1 = found[1] / x.std()
    return float(found[0] - c1 * x.mean()), float(c1)


def _beta(off: Floats, weights: Floats) -> Floats:
    """Each pixel's share, by least squares over all pictures, with its neighbours' help."""
    above, below = (off * weights).sum(axis=0), (weights**2).sum(axis=0)
    above, below = (cv2.GaussianBlur(one, (0, 0), SMOOTH_PX) for one in (above, below))
    return np.asarray(np.where(below > 1e-3, above / np.maximum(below, 1e-3), 0.0), float)


def _left(fade: float, off: Floats, d: Floats, middle: float, kept: NDArray[np.bool_]) -> float:
    weights = np.where(kept, np.exp(-fade * (d - middle)), 0.0)
    return float(np.square(off - _beta(off, weights) * weights).sum())
