"""The 28 films of the emotion paradigm: number, length, valence and emotion, as the contest's table has them."""

from typing import Annotated, Literal

import msgspec

Valence = Literal["negative", "neutral", "positive"]


class Film(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One film that is to be shown. Its number is its trigger."""

    number: Annotated[int, msgspec.Meta(ge=1, le=239)]
    length_s: Annotated[float, msgspec.Meta(ge=1, le=3600)]
    valence: Valence
    emotion: str = ""


_LENGTHS_S: tuple[tuple[Valence, str, tuple[int, ...]], ...] = (
    ("negative", "anger", (81, 63, 73)),
    ("negative", "disgust", (78, 69, 90)),
    ("negative", "fear", (56, 60, 81)),
    ("negative", "sadness", (45, 60, 81)),
    ("neutral", "neutral", (35, 44, 38, 43)),
    ("positive", "amusement", (55, 69, 73)),
    ("positive", "inspiration", (129, 77, 83)),
    ("positive", "joy", (34, 37, 67)),
    ("positive", "tenderness", (63, 83, 77)),
)


def _table() -> tuple[Film, ...]:
    rows = [(length, valence, emotion) for valence, emotion, lengths in _LENGTHS_S for length in lengths]
    return tuple(Film(number, length, valence, emotion) for number, (length, valence, emotion) in enumerate(rows, 1))


FILMS = _table()
