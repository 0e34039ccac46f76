"""How one recording's clock stands to another's: an offset and a drift, with their errors, and how sure that is."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.text import Text, say

Floats = NDArray[np.float64]
WRONG_RATE_PPM = 2000.0  # no two crystals differ by so much


@dataclass(frozen=True)
class Alignment:
    """Time in A = offset_s + (1 + drift_ppm / 1e6) × time in B."""

    offset_s: float  # where the first frame of B, or its time 0, is in A
    drift_ppm: float
    offset_sd_s: float  # in the middle of what both saw
    drift_sd_ppm: float
    overlap_s: tuple[float, float]  # what both saw, in A
    confidence: float  # that it is this offset and no other
    matched: int  # steps of the code, or events, that both saw
    notes: tuple[Text, ...] = ()

    @property
    def scale(self) -> float:
        return 1 + self.drift_ppm * 1e-6

    def in_a(self, b_s: Floats) -> Floats:
        return self.offset_s + self.scale * b_s

    def in_b(self, a_s: Floats) -> Floats:
        return (a_s - self.offset_s) / self.scale


def require_overlap(name_a: str, name_b: str, overlap_s: tuple[float, float], least_s: float) -> None:
    """Both saw the same for long enough."""
    length_s = overlap_s[1] - overlap_s[0]
    if length_s >= least_s:
        return
    raise PalestraError(
        say(
            "{a} and {b} overlap for {length:.1f} s, expected at least {least:.1f} s. Name recordings of the same "
            "session; if these are, say with --near where the second one begins in the first.",
            a=name_a,
            b=name_b,
            length=max(length_s, 0.0),
            least=least_s,
        )
    )


def drift_notes(drift_ppm: float) -> tuple[Text, ...]:
    """What a drift says that no clock has."""
    if abs(drift_ppm) < WRONG_RATE_PPM:
        return ()
    return (
        say(
            "No clock drifts by {drift:+,.0f} ppm: one of the files says a wrong frame rate. The alignment holds "
            "all the same.",
            drift=drift_ppm,
        ),
    )
