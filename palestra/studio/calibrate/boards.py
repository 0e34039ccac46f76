"""Boards that cameras are shown: chessboards and ChArUco boards, found in pictures and drawn for printing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.formats import write_bytes
from palestra.studio.calibrate.charts import png_or_pdf
from palestra.studio.calibrate.pictures import grey
from palestra.studio.capture.source import Image
from palestra.text import say

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SPEC = re.compile(
    r"(chessboard):(\d{1,2})x(\d{1,2}):(\d+(?:\.\d+)?)|(charuco):(\d{1,2})x(\d{1,2}):(\d+(?:\.\d+)?):(\d+(?:\.\d+)?)"
)
DICTIONARY = cv2.aruco.DICT_5X5_250  # other than the markers of mirrors
MM_PER_INCH = 25.4
PAGE_MM = {"A4": (297, 210), "A3": (420, 297), "A2": (594, 420), "A1": (841, 594), "A0": (1189, 841)}
MARGIN_MM = 10.0
LEAST_CORNERS = 6  # of a ChArUco board that is partly hidden


@dataclass(frozen=True)
class Found:
    """The corners of a board that a picture shows."""

    ids: Ints  # (n,)
    corners: Floats  # (n, 2) pixels


@dataclass(frozen=True)
class Board:
    """A flat board with corners at known places."""

    kind: str
    columns: int  # of inner corners; of squares for ChArUco
    rows: int
    square_mm: float
    marker_mm: float = 0.0

    @cached_property
    def points(self) -> Floats:
        """(n, 3) metres: all corners, by their number."""
        wide, high = self.inner
        x, y = np.meshgrid(np.arange(wide), np.arange(high))
        places = np.column_stack([x.ravel(), y.ravel(), np.zeros(wide * high)])
        return np.asarray(places * self.square_mm / 1000, float)

    @property
    def inner(self) -> tuple[int, int]:
        """Inner corners across and down."""
        off = 0 if self.kind == "chessboard" else 1
        return self.columns - off, self.rows - off

    @property
    def looks_alike(self) -> bool:
        """Whether it looks the same upside down, so that nobody knows which corner is which."""
        return self.kind == "chessboard" and (self.columns % 2) == (self.rows % 2)

    def find(self, image: Image) -> Found | None:
        """Its corners, to a fraction of a pixel; none where it is not seen."""
        return self._find_squares(grey(image)) if self.kind == "chessboard" else self._find_markers(grey(image))

    def _find_squares(self, image: Image) -> Found | None:
        for flags in (
            cv2.CALIB_CB_ACCURACY,
            cv2.CALIB_CB_NORMALIZE_IMAGE,
        ):  # the latter for uneven light: half as exact
            is_found, corners = cv2.findChessboardCornersSB(image, self.inner, flags=flags)
            if is_found:
                break
        else:
            return None
        return Found(np.arange(len(self.points)), np.asarray(corners, float).reshape(-1, 2))

    def _find_markers(self, image: Image) -> Found | None:
        corners, ids, _, _ = cv2.aruco.CharucoDetector(self._charuco).detectBoard(image)
        if ids is None or len(ids) < LEAST_CORNERS:
            return None
        places = np.asarray(ids, int).ravel()
        xy = np.asarray(corners, float).reshape(-1, 2)
        if np.linalg.svd(self.points[places, :2] - self.points[places, :2].mean(axis=0))[1][1] < 1e-6:
            return None  # in one line
        return Found(places, xy)

    @cached_property
    def _charuco(self) -> cv2.aruco.CharucoBoard:
        size = (self.columns, self.rows)
        dictionary = cv2.aruco.getPredefinedDictionary(DICTIONARY)
        return cv2.aruco.CharucoBoard(size, self.square_mm / 1000, self.marker_mm / 1000, dictionary)

    def drawn(self, square_px: int) -> NDArray[np.uint8]:
        """The board with so many pixels to a square, and half a square of white around it."""
        margin = square_px // 2
        if self.kind == "charuco":
            size = (self.columns * square_px, self.rows * square_px)
            inside = np.asarray(self._charuco.generateImage(size), np.uint8)
        else:
            y, x = np.indices((self.rows + 1, self.columns + 1))
            inside = np.kron((x + y) % 2 * 255, np.ones((square_px, square_px))).astype(np.uint8)
        return np.pad(inside, margin, constant_values=255)


def board_of(spec: str) -> Board:
    """The board that is named: chessboard:9x6:25 or charuco:8x6:30:22."""
    found = SPEC.fullmatch(spec)
    if found is None:
        raise PalestraError(
            say("{spec!r} is no board; expected chessboard:9x6:25 (inner corners across and down, mm of a square) or "
                "charuco:8x6:30:22 (squares across and down, mm of a square, mm of a marker).", spec=spec)
        )  # fmt: skip
    kind, *numbers = [part for part in found.groups() if part is not None]
    board = Board(kind, int(numbers[0]), int(numbers[1]), *(float(part) for part in numbers[2:]))
    fits = board.kind == "chessboard" or (1 <= board.marker_mm < board.square_mm and board.columns * board.rows <= 500)
    if not (fits and min(board.inner) >= 2 and max(board.inner) <= 40 and board.square_mm >= 1):
        raise PalestraError(
            say("{spec!r}: expected 2 to 40 inner corners each way, squares of at least 1 mm, and markers that are "
                "smaller than squares.", spec=spec)
        )  # fmt: skip
    return board


def print_board(spec: str, file: Path) -> str:
    """Draw a board at its true size, as PDF or PNG; the size of the paper that it takes."""
    board = board_of(spec)
    image = board.drawn(100)
    wide, high = (side / 100 * board.square_mm for side in (image.shape[1], image.shape[0]))
    label = f"palestra {spec}   print at 100 %, then measure: 5 squares = {5 * board.square_mm:g} mm"
    write_bytes(file, png_or_pdf(image, (wide / MM_PER_INCH, high / MM_PER_INCH), label, file))
    return next(
        (name for name, (w, h) in PAGE_MM.items() if wide + MARGIN_MM <= w and high + MARGIN_MM <= h),
        f"{wide:.0f} × {high:.0f} mm",
    )


def other_boards(board: Board, images: Sequence[Image]) -> str:
    """A board of another count that one of these pictures shows: squares were counted for corners, mostly."""
    if board.kind != "chessboard":
        return ""
    for wide, high in ((-1, -1), (1, 1), (-1, 0), (0, -1)):
        inner = (board.columns + wide, board.rows + high)
        other = Board(board.kind, *inner, board.square_mm)
        if min(inner) > 2 and any(other.find(image) is not None for image in images):
            return f"{inner[0]}x{inner[1]}"
    return ""
