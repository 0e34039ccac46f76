"""Where the LEDs are in a picture: "120,40 140,40 160,40@640x480", the one that changes most often first or last."""

import re
from typing import NamedTuple, Self

from palestra.errors import PalestraError
from palestra.studio.sync.gray_code import FEWEST, MOST
from palestra.text import say

PLACE = re.compile(r"(\d{1,5}),(\d{1,5})")
SIZE = re.compile(r"(\d{1,5})[x×](\d{1,5})")
NEAREST_PX = 2  # between two LEDs


class Place(NamedTuple):
    """A pixel."""

    x: int
    y: int

    def __str__(self) -> str:
        return f"{self.x},{self.y}"


class Places(NamedTuple):
    """Pixels of a picture, and the size of the picture that they were measured in, where it is known."""

    places: tuple[Place, ...]
    size: tuple[int, int] | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what a person wrote; LEDs are parted by blanks."""
        body, _, size_text = text.strip().partition("@")
        size = SIZE.fullmatch(size_text.strip()) if size_text else None
        found = [PLACE.fullmatch(word) for word in body.split()]
        if not found or not all(found) or (size_text and not size):
            raise PalestraError(
                say(
                    "{text!r} names no places in a picture: expected x,y of each, parted by blanks, as "
                    '"120,40 140,40 160,40" or "120,40 140,40 160,40@640x480".',
                    text=text,
                )
            )
        places = tuple(Place(int(one[1]), int(one[2])) for one in found if one)
        return cls(places, (int(size[1]), int(size[2])) if size else None)

    def __str__(self) -> str:
        at = "@{}x{}".format(*self.size) if self.size else ""
        return " ".join(map(str, self.places)) + at

    def require_code(self) -> None:
        """So many LEDs can run a code, and no two are the same."""
        if not FEWEST <= len(self.places) <= MOST:
            raise PalestraError(
                say(
                    "Found {count} LEDs, expected {fewest} to {most}: the place of each LED of the code, in order.",
                    count=len(self.places),
                    fewest=FEWEST,
                    most=MOST,
                )
            )
        for number, one in enumerate(self.places):
            for other in self.places[:number]:
                if max(abs(one.x - other.x), abs(one.y - other.y)) < NEAREST_PX:
                    raise PalestraError(say("Two LEDs are at {place}. Give each its own place.", place=one))

    def require_within(self, name: str, size: tuple[int, int]) -> None:
        """All of them are in a picture of this size."""
        shown = "{}×{}".format(*size)
        if self.size and self.size != size:
            raise PalestraError(
                say(
                    "{name} is a video of {shown}, but the places were measured in pictures of {size}. Measure them in "
                    "this video: `palestra studio leds` finds them.",
                    name=name,
                    shown=shown,
                    size="{}×{}".format(*self.size),
                )
            )
        for one in self.places:
            if one.x >= size[0] or one.y >= size[1]:
                raise PalestraError(
                    say(
                        "{place} is out of sight: pictures of {name} are {shown}. Measure the places in this video, or "
                        "let `palestra studio leds` find them.",
                        place=one,
                        name=name,
                        shown=shown,
                    )
                )
