"""Finds LEDs that run a Gray code in a video: the spots that blink at rates of which each is half of the one before."""

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.formats import write_bytes
from palestra.studio.sync.emissions import Emissions
from palestra.studio.sync.gray_code import FEWEST, MOST, rounds_per_step
from palestra.studio.sync.led_places import Place, Places
from palestra.studio.sync.step_rate import FASTEST, SLOWEST, spectra
from palestra.studio.sync.video import Grey, shots
from palestra.text import say

Floats = NDArray[np.float64]
LOOKED_S, MOST_FRAMES = 40.0, 1500
CELLS, SPOTS = 60_000, 250  # of a picture; of them, those that change most
APART = 30  # LEDs that would stand side by side across the picture, at least
SPAN = 12.0  # grey levels from dark to lit
SHARE = 0.02  # of all that a spot does is blinking at its rate
TURN = 0.25  # of a round, by which the last LED follows the one before it


def find_leds(path: Path, count: int, from_s: float = 0.0) -> tuple[Places, Grey]:
    """The places of the LEDs, that which changes most often first, and a picture of the video."""
    if not FEWEST <= count <= MOST:
        raise PalestraError(
            say("Found {count} LEDs, expected {fewest} to {most}.", count=count, fewest=FEWEST, most=MOST)
        )
    at_s, cells, side, middle, span = _look(path, from_s)
    spots = _spots(span)
    frames, row = len(at_s), cells.shape[2]
    series = cells.reshape(frames, -1)[:, [y * row + x for y, x in spots]].astype(np.float64)
    period_s = float(np.median(np.diff(at_s)))
    lit = Emissions.of(series, period_s).lit
    power, resolution = spectra(lit, at_s, period_s)
    rates = np.arange(SLOWEST / (at_s[-1] - at_s[0]), FASTEST / period_s, 2 * resolution)
    share = rounds_per_step(count)
    bins = np.minimum(np.rint(rates[:, None] * share[None, :] / resolution).astype(int), len(power) - 1)
    best = np.sort(power, axis=1)
    score = best[bins[:, :-1], -1].sum(axis=1) + best[bins[:, -1], -2]
    at = bins[int(np.argmax(score))]
    chosen = [int(np.argmax(power[one])) for one in at[:-2]]
    chosen += [int(one) for one in np.argsort(power[at[-1]])[-2:]]
    weak = [float(power[one, spot]) < SHARE for one, spot in zip(at, chosen, strict=True)]
    if any(weak) or len(set(chosen)) < count:
        raise PalestraError(
            say(
                "{path}: no {count} lights were found that run a Gray code. See that all of them are in sight, sharp "
                "and not too bright, and that they run; with --from, look at a later part.",
                path=path,
                count=count,
            )
        )
    chosen = _in_turn(lit, at_s, at[-1] * resolution, chosen)
    size = middle.shape[1], middle.shape[0]
    places = tuple(Place(*_centre(spots[spot], span, side, size)) for spot in chosen)
    return Places(places, size), middle


def write_marked(file: Path, picture: Grey, places: Places) -> None:
    """Write the picture with the LEDs ringed and numbered."""
    found = cv2.cvtColor(np.ascontiguousarray(picture), cv2.COLOR_GRAY2BGR)
    radius = max(6, picture.shape[1] // 100)
    for number, (x, y) in enumerate(places.places, 1):
        cv2.circle(found, (x, y), radius, (0, 220, 255), 1, cv2.LINE_AA)
        corner = (x - radius // 2, max(y - radius - 4, 12))
        cv2.putText(found, str(number), corner, cv2.FONT_HERSHEY_SIMPLEX, 0.5, (0, 220, 255), 1, cv2.LINE_AA)
    written, data = cv2.imencode(".png", found)
    if not written or file.suffix.lower() != ".png":
        raise PalestraError(say("{file}: expected a name that ends in .png.", file=file))
    write_bytes(file, data.tobytes())


def _look(path: Path, from_s: float) -> tuple[Floats, NDArray[np.uint8], int, Grey, Floats]:
    """Times; the picture in cells, each as bright as its brightest pixel; a cell's side; one picture; how much each
    cell changes."""
    at_s: list[float] = []
    cells: list[NDArray[np.uint8]] = []
    side, kept = 1, None
    for shot in shots(path):
        if shot.at_s < from_s:
            continue
        if shot.at_s > from_s + LOOKED_S or len(cells) >= MOST_FRAMES:
            break
        if not cells:
            side = max(1, int(np.ceil(np.sqrt(shot.grey.size / CELLS))))
        height, width = (length // side * side for length in shot.grey.shape)
        cut = shot.grey[:height, :width].reshape(height // side, side, width // side, side)
        cells.append(cut.max(axis=(1, 3)))
        at_s.append(shot.at_s)
        kept = shot.grey.copy() if kept is None or len(cells) == 60 else kept
    if kept is None or len(cells) < 100:
        raise PalestraError(say("{path}: too few frames to find LEDs in, from {at:g} s on.", path=path, at=from_s))
    stack = np.stack(cells)
    low, high = np.percentile(stack, [10, 90], axis=0)
    return np.array(at_s), stack, side, kept, high - low


def _spots(span: Floats) -> list[tuple[int, int]]:
    """The cells that change most, none beside another."""
    apart = max(3, span.shape[1] // APART)
    peaks = cv2.dilate(span, np.ones((2 * apart + 1, 2 * apart + 1))) == span
    rows, columns = np.nonzero(peaks & (span >= SPAN))
    order = np.argsort(-span[rows, columns], kind="stable")[:SPOTS]
    found: list[tuple[int, int]] = []
    for y, x in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
        if all(max(abs(y - other), abs(x - one)) > apart for other, one in found):
            found.append((y, x))
    if len(found) < FEWEST:
        raise PalestraError(say("Nothing in this video blinks: the LEDs are out of sight, or off."))
    return found


def _in_turn(lit: Floats, at_s: Floats, rate_hz: float, chosen: list[int]) -> list[int]:
    """The last two blink equally fast: the last one follows a quarter of a round later."""
    wave = np.exp(-2j * np.pi * rate_hz * at_s)
    first, second = ((lit[:, spot] - lit[:, spot].mean()) @ wave for spot in chosen[-2:])
    later = -np.angle(second / first) / (2 * np.pi) % 1
    is_right = abs(later - TURN) < TURN
    return chosen if is_right else [*chosen[:-2], chosen[-1], chosen[-2]]


def _centre(spot: tuple[int, int], span: Floats, side: int, size: tuple[int, int]) -> tuple[int, int]:
    """The middle of what changes, in pixels."""
    y, x = spot
    rows = np.arange(max(y - 1, 0), min(y + 2, span.shape[0]))
    columns = np.arange(max(x - 1, 0), min(x + 2, span.shape[1]))
    weight = span[np.ix_(rows, columns)]
    weight = np.where(weight > 0.5 * weight.max(), weight, 0)
    row = (weight.sum(axis=1) * rows).sum() / weight.sum()
    column = (weight.sum(axis=0) * columns).sum() / weight.sum()
    return min(int((column + 0.5) * side), size[0] - 1), min(int((row + 0.5) * side), size[1] - 1)
