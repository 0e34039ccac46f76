"""How far an eye's picture is to be trusted: whether its iris stands out as it usually does in a recording."""

import numpy as np

from palestra.solutions.remote_iris import IRIS, find_irises
from palestra.solutions.remote_seen import Look, Seen
from palestra.solutions.remote_view import Floats

IRISES = Look("irises 1", IRIS, find_irises)  # (2, 3): mm to the temple and up, and the contrast
HALF = 0.45  # of the usual contrast: an eye that is open so far is half trusted
STEEP = 12.0


def trust_in_eyes(irises: Seen) -> Floats:
    """(n, 2) near 1 where an eye is open, near 0 in a blink."""
    contrast = irises.found[..., 2].astype(np.float64)
    usual = np.array([np.median(contrast[irises.camera_of == at], axis=0) for at in range(len(irises.cameras))])
    share = contrast / np.maximum(usual[irises.camera_of], 1e-3)
    return np.asarray(1 / (1 + np.exp(-np.clip(STEEP * (share - HALF), -30, 30))))
