"""Where an eye will look at its next five samples, whatever it does, whatever records it: `forecast`.

    from palestra.tracks.gaze_prediction import forecast
    ahead = forecast(past, hz=120)                          # (n, 50, 2) yaw and pitch in degrees → (n, 5, 2)
    ahead, radius = forecast(past, hz=120, interval=True)   # the eye is within radius (n, 5) in four cases of five

The network (train/gaze_forecaster.py) sees each window as ways from its last sample, to the right and up, in degrees as
they are there: a degree of yaw is shorter where the eye looks up or down. So where the eye looks does not matter, nor
does the direction in which it goes. A straight line in yaw and pitch stays one, as while the head turns about an
upright axis.
"""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palestra import model_cards
from palestra.errors import PalestraError
from palestra.text import say

Array = NDArray[np.float64]

NETWORK = "gaze_forecaster"
GIVEN, STEPS = 50, 5  # samples
CHUNK = 8192  # windows at a time: memory stays small however many there are
SLOWEST_HZ, FASTEST_HZ = 60.0, 1000.0
_NARROWEST = 0.05  # of what a degree of yaw is worth, near straight up and down


@overload
def forecast(past: ArrayLike, hz: float, interval: Literal[False] = False) -> Array: ...
@overload
def forecast(past: ArrayLike, hz: float, interval: Literal[True]) -> tuple[Array, Array]: ...
def forecast(past: ArrayLike, hz: float, interval: bool = False) -> Array | tuple[Array, Array]:
    """Yaw and pitch at the next five samples (n, 5, 2), from the last 50 (n, 50, 2), all in degrees.

    One window (50, 2) gives (5, 2). `hz` is the rate of the samples, 60 to 1000. With `interval=True` also the radius
    (n, 5) in degrees that holds the measured gaze in 80 of 100 cases.

    Samples that are NaN count as missing: they lie on a straight line between their neighbours, or stay where the
    nearest one is at either end. A window needs at least one sample that is there.
    """
    windows = _checked(past, hz)
    session = model_cards.session(NETWORK)
    ahead, radius = np.empty((len(windows), STEPS, 2)), np.empty((len(windows), STEPS))
    for start in range(0, len(windows), CHUNK):
        some = slice(start, start + CHUNK)
        last = windows[some, -1:]
        narrow = np.maximum(np.cos(np.radians(last[..., 1])), _NARROWEST)  # (n, 1)
        ways = windows[some] - last
        ways[..., 0] -= 360 * np.round(ways[..., 0] / 360)
        ways[..., 0] *= narrow
        given = {"past": ways.astype(np.float32), "hz": np.full(len(ways), hz, np.float32)}
        found, radius[some] = session.run(None, given)
        ahead[some] = last + found
        ahead[some, :, 0] += found[..., 0] * (1 / narrow - 1)
    if np.ndim(past) == 2:
        ahead, radius = ahead[0], radius[0]
    return (ahead, radius) if interval else ahead


def _checked(past: ArrayLike, hz: float) -> Array:
    """(n, 50, 2), without gaps."""
    windows = np.asarray(past, np.float64)
    if windows.ndim == 2:
        windows = windows[None]
    if windows.ndim != 3 or windows.shape[1:] != (GIVEN, 2):
        raise PalestraError(
            say(
                "The past gaze has the shape {shape}; expected (n, 50, 2): for each window 50 samples, oldest "
                "first, of yaw and pitch in degrees.",
                shape=np.shape(past),
            )
        )
    if not SLOWEST_HZ <= hz <= FASTEST_HZ:
        raise PalestraError(
            say(
                "The sampling rate is {hz} Hz; forecasts are made for {low:.0f} to {high:.0f} Hz. Of a faster "
                "recording, give every second or third sample, and the rate of those.",
                hz=hz,
                low=SLOWEST_HZ,
                high=FASTEST_HZ,
            )
        )
    return windows if np.isfinite(windows).all() else _bridged(windows)


def _bridged(windows: Array) -> Array:
    """With missing samples filled in."""
    if np.isinf(windows).any():
        raise PalestraError(say("The past gaze has infinite values; mark missing samples as NaN."))
    there: NDArray[np.bool_] = ~np.any(np.isnan(windows), axis=2)
    empty = np.flatnonzero(~np.any(there, axis=1))
    if len(empty):
        raise PalestraError(say("Window {number} has no sample that is not NaN; leave it out.", number=int(empty[0])))
    windows = windows.copy()
    index = np.arange(GIVEN)
    for row in np.flatnonzero(~np.all(there, axis=1)):
        seen = there[row]
        windows[row] = np.stack([np.interp(index, index[seen], axis[seen]) for axis in windows[row].T], axis=1)
    return windows
