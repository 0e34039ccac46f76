"""EYEDIAP's 94 recordings: who, in which conditions, looking at what, with a head that rests or moves; their files."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from palestra.errors import UnknownName, refuse
from palestra.formats import folder, folders_in
from palestra.text import say

TARGETS = ("DS", "CS", "FT")  # a point that jumps on a screen, one that glides, a ball in the air
HEADS = ("S", "M")  # rests, moves
RATE_HZ = 30

Which = Literal["rgb_vga", "rgb_hd", "depth"]
VIDEOS: tuple[Which, ...] = ("rgb_vga", "rgb_hd", "depth")

# The report calls some files otherwise than the release does: theirs first, which is what we write.
SPELLINGS = {
    "eye_tracking.txt": ("eye_tracking.txt", "eyes_tracking.txt"),
    **{f"{which}_calibration.txt": (f"{which}_calibration.txt", f"calibration_{which}.txt") for which in VIDEOS},
}


class Name(msgspec.Struct, frozen=True):
    """Which recording, such as 1_A_DS_S. Names sort as the release numbers them."""

    person: int  # 1 to 16
    condition: str  # A or B: another day, other light, another distance
    target: str  # of TARGETS
    head: str  # of HEADS

    def __str__(self) -> str:
        return f"{self.person}_{self.condition}_{self.target}_{self.head}"

    def __lt__(self, other: Name) -> bool:
        return self.index < other.index

    @property
    def index(self) -> int:
        """Its number in the release, 0 to 93."""
        return INDEX[self]

    @property
    def on_screen(self) -> bool:
        """Whether the person looks at a screen, and not at the ball."""
        return self.target != "FT"


def _recorded(person: int) -> list[Name]:
    """Table 1: 12 and 13 came for the ball in conditions B alone; 14 to 16 came for everything."""
    first = [] if person in (12, 13) else [Name(person, "A", target, head) for target in TARGETS for head in HEADS]
    again = [Name(person, "B", "FT", head) for head in HEADS] if person >= 12 else []
    return first + again


ALL = tuple(name for person in range(1, 17) for name in _recorded(person))
INDEX = {name: index for index, name in enumerate(ALL)}
BY_TEXT = {str(name): name for name in ALL}


def name_of(text: str) -> Name:
    """The recording that a text names; of all that could be written like one, 94 exist."""
    if text not in BY_TEXT:
        raise UnknownName(say("session"), text, BY_TEXT)
    return BY_TEXT[text]


def sessions(data: Path) -> list[Name]:
    """The recordings that a data set has, in the release's order."""
    found = sorted(name_of(place.name) for place in folders_in(data / "Data"))
    if not found:
        refuse(str(data / "Data"), say("no recordings"), say("folders such as 1_A_DS_S"))
    return found


def session_folder(data: Path, name: Name) -> Path:
    """Where a recording's files are."""
    return folder(data / "Data" / str(name))


def session_file(data: Path, name: Name, file: str) -> Path | None:
    """One of a recording's files, however it is spelt, if it is there."""
    places = [data / "Data" / str(name) / spelling for spelling in SPELLINGS.get(file, (file,))]
    return next((place for place in places if place.is_file()), None)


def existing_file(data: Path, name: Name, file: str) -> Path:
    """One of a recording's files, which must be there."""
    found = session_file(data, name, file)
    if found is None:
        spellings = " or ".join(SPELLINGS.get(file, (file,)))
        refuse(
            str(session_folder(data, name)), say("no {file}", file=file), say("a file {spellings}", spellings=spellings)
        )
    return found


def has_video(data: Path, name: Name, which: Which) -> bool:
    """Whether a recording has a video; some have none in HD."""
    return session_file(data, name, f"{which}.mov") is not None
