"""What a published pack is made of: sections of prose, points, tables, code and drawings, in both languages."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from palestra.text import Words

Cell = Words | str  # a text that has no language is one: a number, a name in code


class Prose(msgspec.Struct, frozen=True):
    kind: ClassVar[str] = "prose"
    text: Words


class Points(msgspec.Struct, frozen=True):
    """A list; numbered where the order matters."""

    kind: ClassVar[str] = "points"
    points: tuple[Words, ...]
    numbered: bool = False


class Grid(msgspec.Struct, frozen=True):
    """A table. Columns whose number is in `figures` hold numbers."""

    kind: ClassVar[str] = "grid"
    head: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    figures: tuple[int, ...] = ()
    caption: Words = Words()


class Code(msgspec.Struct, frozen=True):
    kind: ClassVar[str] = "code"
    text: str
    caption: Words = Words()


class Drawing(msgspec.Struct, frozen=True):
    """An SVG of ours, which is put into the page as it is."""

    kind: ClassVar[str] = "drawing"
    svg: str
    caption: Words


class Heading(msgspec.Struct, frozen=True):
    kind: ClassVar[str] = "heading"
    text: Words


Block = Prose | Points | Grid | Code | Drawing | Heading


class Section(msgspec.Struct, frozen=True):
    id: str
    title: Words
    blocks: tuple[Block, ...]


class Amendment(msgspec.Struct, frozen=True):
    """A version of the rules."""

    number: int
    announced_at: int
    counts_from: int
    reason: str


class Pack(msgspec.Struct, frozen=True):
    """All that is published before a match."""

    contest: Words
    phase: Words
    organiser: Words
    zone: str
    number: int  # of the rules' version; 0: not announced yet
    digest: str  # of the rules
    amendments: tuple[Amendment, ...]  # newest first
    sections: tuple[Section, ...]
    id: str = ""  # of the phase
