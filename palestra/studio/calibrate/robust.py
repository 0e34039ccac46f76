"""What belongs to a measurement and what does not: scales that a tenth of wrong values does not move."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SHARE = 0.999  # of what is measured rightly stays in


def scale(distances: Floats, axes: int) -> float:
    """The spread along each axis, from the median of how far off things are in so many axes."""
    return float(np.median(distances) / np.sqrt(chi2.ppf(0.5, axes))) if len(distances) else 0.0


def inliers(distances: Floats, axes: int, least: float = 0.0) -> Mask:
    """Which of these are as far off as their own spread explains; what is below `least` is in anyway."""
    mask: Mask = distances <= max(np.sqrt(chi2.ppf(SHARE, axes)) * scale(distances, axes), least)
    return mask


def rms(values: Floats) -> float:
    """Root mean square of distances."""
    return float(np.sqrt(np.mean(np.square(values)))) if len(values) else 0.0
