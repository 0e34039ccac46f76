"""What pictures show of a board; pictures that cannot be used are refused in words."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.studio.calibrate.boards import Board, Found, other_boards
from palestra.studio.calibrate.pictures import Picture
from palestra.studio.capture.source import Image
from palestra.text import Text, say

Floats = NDArray[np.float64]

LEAST_VIEWS = 6
LEAST_ANGLE_DEG = 15.0  # between the two views that differ most
LEAST_COVERED = 0.4  # of the picture, in sixteen parts
PARTS = 4
TRIED = 2  # pictures in which another board is looked for


@dataclass(frozen=True)
class Views:
    """Views of one board by one camera."""

    board: Board
    names: list[str]
    found: list[Found]
    size: tuple[int, int]  # width, height
    unseen: list[str]  # pictures that do not show the board

    def points(self, index: int) -> Floats:
        return self.board.points[self.found[index].ids]

    def without(self, left_out: set[int]) -> "Views":
        keep = [index for index in range(len(self.found)) if index not in left_out]
        return Views(
            self.board, [self.names[i] for i in keep], [self.found[i] for i in keep], self.size, self.unseen
        )  # fmt: skip


def find_views(place: Path, pictures: Iterable[Picture], board: Board) -> Views:
    """The board in each picture."""
    names, found, unseen, size, tried = [], [], [], SameSize(place), list[Image]()
    for picture in pictures:
        size.check(picture)
        corners = board.find(picture.image)
        if corners is None:
            unseen.append(picture.name)
            tried = (tried + [picture.image])[:TRIED]
        else:
            names.append(picture.name)
            found.append(corners)
    if not found:
        refuse_unseen(place, board, unseen, tried)
    if len(found) < LEAST_VIEWS:
        refuse_few(place, len(found), len(found) + len(unseen))
    return Views(board, names, found, size.size, unseen)


class SameSize:
    """All pictures of a camera have one size."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._first = ""
        self.size = (0, 0)

    def check(self, picture: Picture) -> None:
        size = (picture.image.shape[1], picture.image.shape[0])
        if not self._first:
            self._first, self.size = picture.name, size
        elif size != self.size:
            raise PalestraError(
                say("{place}: pictures of different sizes: {first!r} is {one} and {name!r} is {other}. Calibrate with "
                    "pictures of one size, the one that you record with.", place=self._place, first=self._first,
                    one=f"{self.size[0]}×{self.size[1]}", name=picture.name, other=f"{size[0]}×{size[1]}")
            )  # fmt: skip


def refuse_unseen(place: Path, board: Board, unseen: list[str], tried: list[Image]) -> None:
    other = other_boards(board, tried)
    hint: Text = say("All of it must be in the picture, flat, sharp and evenly lit, with a white margin around it.")
    if other:
        hint = say("But one of {other} inner corners was found: count where four squares meet, not the squares, and "
                   "say --board chessboard:{other}:{mm:g}.", other=other, mm=board.square_mm)  # fmt: skip
    wide, high = board.inner
    raise PalestraError(
        say("{place}: a {kind} of {wide} × {high} inner corners was found in none of {count} pictures. {hint}",
            place=place, kind=board.kind, wide=wide, high=high, count=len(unseen), hint=hint)
    )  # fmt: skip


def refuse_few(place: Path, found: int, count: int) -> None:
    raise PalestraError(
        say("{place}: too few views: the board was found in {found} of {count} pictures, at least {least} are needed "
            "(20 are good). Take more, tilted differently, all over the picture.",
            place=place, found=found, count=count, least=LEAST_VIEWS)
    )  # fmt: skip


def check_tilts(place: Path, rotations: list[Floats]) -> float:
    """Refuse views at one angle, which cannot tell a long lens far away from a short one nearby; the widest angle."""
    normals = np.array([rotation[:, 2] for rotation in rotations])
    widest = float(np.degrees(np.arccos(np.clip(normals @ normals.T, -1, 1)).max()))
    if widest < LEAST_ANGLE_DEG:
        refuse_one_angle(place, widest)
    return widest


def refuse_one_angle(place: Path, widest: float) -> None:
    raise PalestraError(
        say("{place}: all views are at the same angle (within {widest:.0f}°, at least {least:.0f}° are needed), which "
            "tells no focal length. Tilt the board by 30° to 45°: left, right, up and down.",
            place=place, widest=widest, least=LEAST_ANGLE_DEG)
    )  # fmt: skip


def covered(views: Views) -> float:
    """The share of the picture's parts in which there are corners."""
    corners = np.concatenate([one.corners for one in views.found])
    parts = np.clip((corners / views.size * PARTS).astype(int), 0, PARTS - 1)
    return len(np.unique(parts, axis=0)) / PARTS**2
