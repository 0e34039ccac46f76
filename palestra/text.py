"""Text that every room writes: in both languages (`say`), and numbers, sizes and lengths of time.

    raise PalestraError(say("Team {name!r} is full.", name=team.name))

English stands in the code and the templates; its Chinese in the catalogues (i18n/zh.po, tracks/*/zh.po), which
`make texts` keeps in step with both.
"""

import gettext
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Self

import msgspec

LANGUAGES = ("en", "zh")
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

    def cut(self, most: int) -> Self:
        """So many letters of each language."""
        return type(self)(self.en[:most], self.zh[:most])

    def __str__(self) -> str:
        return self.en or self.zh

    def __bool__(self) -> bool:
        return bool(self.en or self.zh)


COMMA, OR = Words(", ", "、"), Words(" or ", " 或 ")  # of lists
Text = str | Words  # what is no Words is the same in every language: a name, a number, what a stranger wrote


class Message(msgspec.Struct, frozen=True):
    """A text that is to be said later, with its values. The context tells apart what English calls by one name."""

    text: str
    context: str = ""


def message(text: str, context: str = "") -> Message:
    return Message(text, context)


def say(text: str | Message, /, **values: object) -> Words:
    """A text of ours with its {placeholders} filled in. Values that are Words are told in each language."""
    return Words(*(said(language, text, **values) for language in LANGUAGES))


def say_as(context: str, text: str, /, **values: object) -> Words:
    """`say`, where the same English means several things."""
    return say(Message(text, context), **values)


def say_count(one: str, many: str, count: int, /, **values: object) -> Words:
    """`say` for so many, with {count}."""
    return Words(*(said_count(language, one, many, count, **values) for language in LANGUAGES))


def said(language: str, text: str | Message, /, **values: object) -> str:
    """What `say` says, in one language."""
    known = text if isinstance(text, Message) else Message(text)
    return _filled(language, _translated(known) if language == "zh" else known.text, values)


def said_count(language: str, one: str, many: str, count: int, /, **values: object) -> str:
    english = one if count == 1 else many
    template = _catalogue().ngettext(one, many, count) if language == "zh" else english
    return _filled(language, template, {"count": f"{count:,}", **values})


def in_language(text: Text, language: str) -> str:
    return text.in_language(language) if isinstance(text, Words) else text


def words_of(text: Text) -> Words:
    return text if isinstance(text, Words) else Words.same(text)


def joined(texts: Iterable[Text], between: Text = COMMA) -> Words:
    """Texts one after the other, as each language writes a list."""
    given = list(texts)
    return Words(*(in_language(between, name).join(in_language(one, name) for one in given) for name in LANGUAGES))


def sentences(*texts: Text) -> Words:
    """Sentences that follow each other; those that are empty are left out."""
    given = [words_of(one) for one in texts if one]
    return Words(" ".join(one.in_language("en") for one in given), "".join(one.in_language("zh") for one in given))


def _filled(language: str, template: str, values: dict[str, object]) -> str:
    return template.format(
        **{name: one.in_language(language) if isinstance(one, Words) else one for name, one in values.items()}
    )


def _translated(known: Message) -> str:
    catalogue = _catalogue()
    return catalogue.pgettext(known.context, known.text) if known.context else catalogue.gettext(known.text)


@cache
def _catalogue() -> gettext.NullTranslations:
    """The Chinese of the house, then that of each challenge: deleted with its folder."""
    package = Path(__file__).parent
    known = gettext.NullTranslations()
    for file in reversed([package / "i18n" / "zh.mo", *sorted(package.glob("tracks/*/zh.mo"))]):
        with file.open("rb") as compiled:
            found = gettext.GNUTranslations(compiled)
        found.add_fallback(known)
        known = found
    return known


def printable(text: str) -> str:
    """Text without what steers a terminal or breaks a line."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def clipped(words: str, most: int = 28) -> str:
    """Words of at most so many letters, the last of them an ellipsis where some were cut."""
    return words if len(words) <= most else f"{words[: most - 1]}…"


def number(value: float | None, unit: str = "", step: Any = None) -> str:
    """A number as reports write it: 3.078°, 0.9512, 12.500 ms; a dash where there is none. One that is rounded to a
    step has no digits beyond it."""
    if value is None or not math.isfinite(value):
        return NONE
    if isinstance(step, float) and step > 0:
        return to_step(value, unit, step)
    if unit == "deg":
        return f"{value:,.3f}°"
    if unit == "" and abs(value) <= 1:
        return f"{value:.4f}"
    counted = unit in COUNTED and value == round(value)
    return (f"{value:,.0f}" if counted else f"{value:,.3f}") + (f" {unit}" if unit else "")


def to_step(value: float, unit: str, step: float) -> str:
    """A number that is known to a step: 2.5°, 0.94, 12 ms."""
    shown = f"{value:,.{max(-math.floor(math.log10(step) + 1e-9), 0)}f}"
    return f"{shown}°" if unit == "deg" else f"{shown} {unit}".rstrip()


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
