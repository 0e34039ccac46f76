"""Where in a picture the one eye is, and the window that shows it best.

An eye that touches the edge of its window, or of the picture, is looked at again with room around it; the look that is
worth more is kept.
"""

import numpy as np
from numpy.typing import NDArray

from palestra.eyes.reader.ellipses import APART, IRIS, irises_apart
from palestra.eyes.reader.image_input import (
    Grey,
    Window,
    closer_windows,
    first_windows,
    laid_back,
    window_around,
    with_margin,
)
from palestra.eyes.reader.network import Seen, look
from palestra.eyes.reader.settings import Settings

IRIS_OF_WINDOW = 0.3  # the width at which the network learnt most irises
FITTING = (0.75, 1.35)  # of that: beyond, a nearer or a farther look is taken
ONE_EYE = 0.7  # from here on a window may hold an eye
WORTH = 0.85  # and from here on it may hold one of two
NARROW = 0.18  # lids that are open no further are closed
ROOM = (1.0, 1.4)  # of a window whose edge the eye touches, how wide the ones are that are tried instead
TOUCHING = 0.03  # of an edge, how much of it an eye covers that touches it
BETTER = 1.02  # how much more another look must be worth: looks alike differ by chance


def find(picture: Grey, settings: Settings) -> tuple[Seen | None, str]:
    """The window that shows an eye best, or why there is none."""
    shape = picture.shape[0], picture.shape[1]
    wholes, parts = first_windows(shape)
    first = look(picture, wholes, settings)
    whole = first[0]
    if not any(_is_likely(one) and one.worth >= WORTH for one in first):
        first += look(picture, parts, settings)
    closer = look(picture, closer_windows(shape), settings)  # a second eye may hide from whoever sees the whole
    likely = [one for one in [*first, *closer] if _is_likely(one)]
    if irises_apart(_inside(whole, picture)) or _apart(likely, picture) or (likely and _hidden(whole, closer)):
        return None, "two eyes"
    in_sight = [one for one in first if one in likely] or [one for one in closer[-1:] if one in likely]
    if not likely:  # it may fill the picture
        in_sight = [one for one in look(picture, with_margin(shape), settings) if _is_likely(one)]
    best = max(in_sight, key=lambda one: one.worth, default=None)
    if best is not None:
        return _with_room(picture, _nearer(picture, best, settings), settings), ""
    if likely:  # neither in the whole nor in its middle: what else is in it, nobody knows
        return None, "too small"
    closed = max(first, key=lambda one: one.one_eye)  # a closed eye has no iris
    return (closed, "") if closed.one_eye >= ONE_EYE else (None, "no eye found")


def _is_likely(seen: Seen) -> bool:
    return seen.one_eye >= ONE_EYE and seen.middle() is not None


def _inside(seen: Seen, picture: Grey) -> NDArray[np.bool_]:
    """Irises in the picture itself, without what its mirror images show beyond its border."""
    shape = picture.shape[0], picture.shape[1]
    return np.asarray(laid_back(seen.shares[IRIS:].sum(axis=0)[None], seen.window, shape)[0] > 0.5)


def _apart(likely: list[Seen], picture: Grey) -> bool:
    """Whether irises were seen for sure at places in the picture that cannot be one eye."""
    height, width = picture.shape
    middles = [middle for one in likely if one.worth >= WORTH and (middle := one.middle())]
    places = [place for place in middles if 0 <= place[0] < width and 0 <= place[1] < height]
    return any(np.hypot(a[0] - b[0], a[1] - b[1]) > APART * max(a[2], b[2]) for a in places for b in places)


def _hidden(whole: Seen, closer: list[Seen]) -> bool:
    """Whether a part shows an eye, though not its iris, in a picture that shows no single eye."""
    unclear = [one for one in closer if one.one_eye >= ONE_EYE and one.middle() is None]
    return whole.one_eye < ONE_EYE and bool(unclear)


def _nearer(picture: Grey, seen: Seen, settings: Settings) -> Seen:
    """The eye in the size in which the network knows eyes best, where it is far from it."""
    middle = seen.middle()
    if middle is None or seen.opening < NARROW:
        return seen
    x, y, width = middle
    if FITTING[0] < width / (IRIS_OF_WINDOW * seen.window.width) < FITTING[1]:
        return seen
    fitting = window_around(x, y, width / IRIS_OF_WINDOW)
    windows = [fitting, fitting.wider(1.0)] if fitting.reaches_beyond(picture.shape) else [fitting]
    again = max(look(picture, windows, settings), key=lambda one: one.worth)
    return again if again.worth > 0.9 * seen.worth else seen


def _with_room(picture: Grey, seen: Seen, settings: Settings) -> Seen:
    """The same eye with room around it, where it touches an edge and that look is worth more."""
    if not touches_edge(seen, picture.shape):
        return seen
    windows = [seen.window.wider(factor) for factor in ROOM]
    again = max(look(picture, windows, settings), key=lambda one: one.worth)
    return again if again.worth > BETTER * seen.worth and again.middle() is not None else seen


def touches_edge(seen: Seen, shape: tuple[int, ...]) -> bool:
    """Whether what was taken for the eye goes on to the edge of its window, or of the picture in it."""
    rows, columns = seen.eye.shape
    across, down = seen.window.width / columns, seen.window.height / rows
    top, left = (max(round(-start / size), 0) for start, size in ((seen.window.top, down), (seen.window.left, across)))
    bottom = min(round((shape[0] - seen.window.top) / down), rows)
    right = min(round((shape[1] - seen.window.left) / across), columns)
    eye = seen.eye[top:bottom, left:right]
    if eye.size == 0:
        return True
    return any(float(edge.mean()) > TOUCHING for edge in (eye[0], eye[-1], eye[:, 0], eye[:, -1]))


def farther(window: Window, factor: float) -> Window:
    """A wider window around the same middle, filled beyond the picture as this one is."""
    x, y = window.left + window.width / 2, window.top + window.height / 2
    return window_around(x, y, factor * window.width, window.smeared)
