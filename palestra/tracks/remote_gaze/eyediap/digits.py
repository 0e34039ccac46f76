"""The number of a frame, drawn into its top left corner, so that anybody can see whether videos and files agree."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

# Digits of five by seven cells, row by row.
_SHAPES = (
    "01110 10001 10011 10101 11001 10001 01110", "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00010 00100 01000 11111", "11111 00010 00100 00010 00001 10001 01110",
    "00010 00110 01010 10010 11111 00010 00010", "11111 10000 11110 00001 00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110", "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110", "01110 10001 10001 01111 00001 00010 01100",
)  # fmt: skip
DIGITS = 6  # places for them: two hours have fewer frames
HEIGHT, WIDTH, PITCH, EDGE = 7, 5, 6, 1  # cells of a digit, to the next one, and around the number
ROWS, COLUMNS = HEIGHT + 2 * EDGE, PITCH * DIGITS - 1 + 2 * EDGE
MOST_WRONG = 2  # cells that a lossy codec may have spoilt: the digits differ in six at least

Picture = NDArray[np.uint8]


@cache
def _glyphs() -> NDArray[np.bool_]:
    """(10, HEIGHT, WIDTH): which cells are bright."""
    return np.array([[[bit == "1" for bit in row] for row in shape.split()] for shape in _SHAPES])


def _side(height: int) -> int:
    """Pixels of a cell: two in VGA, more in HD."""
    return max(2, round(height / 240))


def _cells(index: int) -> NDArray[np.bool_]:
    """A number in the grid that has room for the longest."""
    cells = np.zeros((ROWS, COLUMNS), bool)
    for place, digit in enumerate(str(index)):
        left = EDGE + PITCH * place
        cells[EDGE : EDGE + HEIGHT, left : left + WIDTH] = _glyphs()[int(digit)]
    return cells


def draw_index(picture: Picture, index: int, *, on_black: bool) -> None:
    """Draw a frame's number in white: on black in colour pictures; in depth, where black says 0, on what is there."""
    side = _side(picture.shape[0])
    corner = picture[: ROWS * side, : COLUMNS * side]
    bright = np.kron(_cells(index), np.ones((side, side), bool))[: corner.shape[0], : corner.shape[1]]
    if on_black:
        corner[:] = 0
    corner[bright] = 255


def drawn_index(picture: Picture) -> int | None:
    """The number in a picture's corner; None where there is none that was drawn as here. Red shows it in depth too."""
    side = _side(picture.shape[0])
    red = picture[: ROWS * side, : COLUMNS * side, 0]
    if red.shape != (ROWS * side, COLUMNS * side):
        return None
    cells = red.reshape(ROWS, side, COLUMNS, side).mean(axis=(1, 3)) > 127
    digits = ""
    for place in range(DIGITS):
        left = EDGE + PITCH * place
        wrong = (cells[EDGE : EDGE + HEIGHT, left : left + WIDTH] != _glyphs()).sum(axis=(1, 2))
        if wrong.min() > MOST_WRONG:
            break
        digits += str(int(wrong.argmin()))
    return int(digits) if digits else None
