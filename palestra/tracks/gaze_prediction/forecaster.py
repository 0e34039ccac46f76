"""Where an eye will look at its next five samples, whatever it does, whatever records it: `forecast`.

    from palestra.tracks.gaze_prediction import forecast
    ahead = forecast(past, hz=120)                          # (n, 50, 2) yaw and pitch in degrees → (n, 5, 2)
    ahead, radius = forecast(past, hz=120, interval=True)   # the eye is within radius (n, 5) in four cases of five

The network (train/gaze_forecaster.py) sees each window laid flat around its last sample: great circles through that
sample stay straight, and distances from it stay as they are. So a window that is turned on the sphere has the same
answer, turned as well: where the eye looks does not matter, nor does the direction in which it goes.
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
_TINY = 1e-12  # radians: shorter ways have no direction worth keeping


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
        flat, about = _laid_flat(windows[some])
        given = {"past": flat.astype(np.float32), "hz": np.full(len(flat), hz, np.float32)}
        told, radius[some] = session.run(None, given)
        ahead[some] = _turned_back(told, about)
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
    there = ~np.isnan(windows).any(axis=2)
    if not there.any(axis=1).all():
        empty = int(np.flatnonzero(~there.any(axis=1))[0])
        raise PalestraError(say("Window {number} has no sample that is not NaN; leave it out.", number=empty))
    windows = windows.copy()
    index = np.arange(GIVEN)
    for row in np.flatnonzero(~there.all(axis=1)):
        seen = there[row]
        windows[row] = np.stack([np.interp(index, index[seen], axis[seen]) for axis in windows[row].T], axis=1)
    return windows


def _laid_flat(windows: Array) -> tuple[Array, Array]:
    """Each sample's way from the last one, to its right and up, in degrees; and where the last one is, radians (n, 2).

    The map keeps distances from the last sample and their directions (azimuthal equidistant).
    """
    radians = np.radians(windows)
    about = radians[:, -1]
    yaw, pitch = radians[..., 0] - about[:, :1], radians[..., 1]
    sine, cosine = np.sin(pitch), np.cos(pitch)
    low, level = np.sin(about[:, 1:]), np.cos(about[:, 1:])
    facing = cosine * np.cos(yaw)
    right, up, ahead = cosine * np.sin(yaw), sine * level - facing * low, sine * low + facing * level
    way = np.hypot(right, up)
    stretch = np.degrees(np.arctan2(way, ahead)) / np.maximum(way, _TINY)
    return np.stack([right * stretch, up * stretch], axis=2), about


def _turned_back(flat: NDArray[np.float32], about: Array) -> Array:
    """Yaw and pitch in degrees of places in the plane around `about`."""
    ways = np.radians(flat.astype(np.float64))
    away = np.hypot(ways[..., 0], ways[..., 1])
    share = np.sin(away) / np.maximum(away, _TINY)
    right, up, ahead = ways[..., 0] * share, ways[..., 1] * share, np.cos(away)
    low, level = np.sin(about[:, 1:]), np.cos(about[:, 1:])
    yaw = about[:, :1] + np.arctan2(right, ahead * level - up * low)
    pitch = np.arcsin(np.clip(ahead * low + up * level, -1, 1))
    return np.degrees(np.stack([yaw, pitch], axis=2))
