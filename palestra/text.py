"""Small pieces of text that every room writes: a text in both languages, numbers, sizes, lengths of time."""

import math
import tomllib
from functools import cache
from pathlib import Path
from typing import Self

import msgspec

NONE = "–"  # in the place of a number
COUNTED = ("points", "blinks", "s")  # units of which there are whole ones


class Words(msgspec.Struct, frozen=True):
    """A text in the languages that pages are shown in; where one is missing, the other stands for it."""

    en: str = ""
    zh: str = ""

    @classmethod
    def same(cls, name: str) -> Self:
        """What is not translated, whatever it says: a name that somebody chose."""
        return cls(name, name)

    def in_language(self, language: str) -> str:
        return (self.zh or self.en) if language == "zh" else (self.en or self.zh)


def printable(text: str) -> str:
    """Text without what steers a terminal or breaks a line."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def clipped(words: str, most: int = 28) -> str:
    """Words of at most so many letters, the last of them an ellipsis where some were cut."""
    return words if len(words) <= most else f"{words[: most - 1]}…"


def number(value: float | None, unit: str = "") -> str:
    """A number as reports write it: 3.078°, 0.9512, 12.500 ms; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return NONE
    if unit == "deg":
        return f"{value:,.3f}°"
    if unit == "" and abs(value) <= 1:
        return f"{value:.4f}"
    counted = unit in COUNTED and value == round(value)
    return (f"{value:,.0f}" if counted else f"{value:,.3f}") + (f" {unit}" if unit else "")


def milliseconds(seconds: float) -> str:
    """A latency in milliseconds, to three digits."""
    return f"{1e3 * seconds:,.3g}\u00a0ms" if seconds < 1 else f"{1e3 * seconds:,.0f}\u00a0ms"


def duration(seconds: float) -> str:
    """A length of time as people say it."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def human_bytes(n: int) -> str:
    """A size as people write it: 999 bytes, 1.5 MB."""
    if n < 1000:
        return f"{n} byte{'' if n == 1 else 's'}"
    size, units = n / 1000, ["kB", "MB", "GB", "TB"]
    while size >= 999.95 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.1f} {units[0]}"


@cache
def read_phrases(file: Path) -> dict[str, str]:
    """English texts or templates and their Chinese, from a file such as a challenge's zh.toml."""
    return tomllib.loads(file.read_text(encoding="utf-8"))
