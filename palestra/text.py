"""Small pieces of text that every room writes: a text in both languages, sizes, lengths of time."""

from typing import Self

import msgspec


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
