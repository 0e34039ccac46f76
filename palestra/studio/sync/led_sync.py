"""Two videos of the same LEDs: where the code is in one when it is there in the other."""

import numpy as np

from palestra.errors import PalestraError
from palestra.studio.sync.alignment import Alignment, drift_notes, require_overlap
from palestra.studio.sync.led_clock import SHORTEST_ROUNDS, LedClock
from palestra.text import Text, say

SAME_STEP = 0.02  # share by which the steps of both may differ
LOCKED = 0.01  # frames that a step may be off a whole number of frames, where steps say little of fractions


def align_clocks(a: LedClock, b: LedClock, near_s: float | None) -> Alignment:
    """The offset and drift between two videos; `near_s` is where B begins in A, roughly."""
    _require_same_leds(a, b)
    first = _offset(a, b)
    about, notes = _about(a, b, near_s)
    offset_s = first + a.round_s * round((about - first) / a.round_s)
    scale = b.line.rate / a.line.rate
    low = max(a.on_s[0], offset_s + scale * b.on_s[0])
    high = min(a.on_s[1], offset_s + scale * b.on_s[1])
    require_overlap(a.name, b.name, (low, high), SHORTEST_ROUNDS * a.round_s)
    # Fitted to what both saw, so that what the LEDs' own clock does falls out.
    a, b = a.within(low, high), b.within((low - offset_s) / scale, (high - offset_s) / scale)
    fine = _offset(a, b)
    offset_s = fine + a.round_s * round((offset_s - fine) / a.round_s)
    drift_ppm = (b.line.rate / a.line.rate - 1) * 1e6
    at_sd = np.hypot(np.sqrt(a.line.cov[0, 0]) / a.line.rate, np.sqrt(b.line.cov[0, 0]) / b.line.rate)
    rate_sd = np.hypot(np.sqrt(a.line.cov[1, 1]) / a.line.rate, np.sqrt(b.line.cov[1, 1]) / b.line.rate)
    return Alignment(
        offset_s=offset_s,
        drift_ppm=drift_ppm,
        offset_sd_s=float(at_sd),
        drift_sd_ppm=float(rate_sd) * 1e6,
        overlap_s=(low, high),
        confidence=a.confidence * b.confidence,
        matched=int((high - low) * a.line.rate),
        notes=(*notes, *drift_notes(drift_ppm), *_locked(a), *_locked(b)),
    )


def _offset(a: LedClock, b: LedClock) -> float:
    """Where B's first frame is in A, up to whole rounds of the code."""
    ahead = float(b.line.place(np.zeros(1))[0]) - a.line.at_middle
    return a.line.middle_s + ahead / a.line.rate


def _about(a: LedClock, b: LedClock, near_s: float | None) -> tuple[float, tuple[Text, ...]]:
    """Where B begins in A, to less than half a round: by what the caller says, or by the LEDs being switched on."""
    if near_s is not None:
        return near_s, ()
    scale = b.line.rate / a.line.rate
    if a.began_s is not None and b.began_s is not None:
        return a.began_s - scale * b.began_s, ()
    if a.ended_s is not None and b.ended_s is not None:
        return a.ended_s - scale * b.ended_s, ()
    return 0.0, (
        say(
            "The code repeats each {round:.1f} s, and neither file shows when the LEDs were switched on: it is taken "
            "that both began within {half:.1f} s of each other. If they did not, say with --near where the second one "
            "begins in the first.",
            round=a.round_s,
            half=a.round_s / 2,
        ),
    )


def _require_same_leds(a: LedClock, b: LedClock) -> None:
    if a.codes.shape[1] != b.codes.shape[1]:
        raise PalestraError(say("Name as many LEDs for one video as for the other."))
    if abs(b.line.rate / a.line.rate - 1) > SAME_STEP:
        raise PalestraError(
            say(
                "The LEDs step every {a_ms:.1f} ms in {a} and every {b_ms:.1f} ms in {b}: these are not the same LEDs, "
                "or one of the files says a wrong frame rate.",
                a=a.name,
                b=b.name,
                a_ms=1e3 * a.step_s,
                b_ms=1e3 * b.step_s,
            )
        )


def _locked(clock: LedClock) -> tuple[Text, ...]:
    period_s = float(np.median(np.diff(clock.at_s)))
    frames = clock.step_s / period_s
    if abs(frames - round(frames)) > LOCKED:
        return ()
    return (
        say(
            "{name}: the LEDs step every {frames} frames exactly, so that nothing finer than a frame is seen. Let them "
            "step every 107 ms, say.",
            name=clock.name,
            frames=round(frames),
        ),
    )
