"""Finds the Chinese of an English text among templates: `line {n}` finds `line 1,024`.

`{n}`, `{m}` and `{k}` stand for numbers, other small letters for what is taken over as it is, a capital letter for a
phrase of its own. The first template that fits is taken. A text that has none stays as it is: English that says what is
wrong is better than Chinese that does not.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from string import Formatter

QUOTED = r"'[^\n]*'|\"[^\n]*\""
CHOICES = re.compile(r'"[^"\n]+"((, | or )"[^"\n]+")+')  # ours: what somebody wrote is quoted once, as a whole
NUMBERS = ("n", "m", "k")
WITH_LINES = ("output", "Faults")  # placeholders for what may have several


class Phrasebook:
    """Sentences that stand for themselves, and phrases that stand in them: the latter may hold the former too."""

    def __init__(self, sentences: Mapping[str, str], phrases: Mapping[str, str]) -> None:
        self._sentences, self._phrases = _Templates(sentences), _Templates(phrases)
        self.sentence = lru_cache(maxsize=4096)(self._sentence)

    def _sentence(self, text: str) -> str:
        """The Chinese of one or several English lines; what has none stays as it is."""
        found = self._looked_up(text, self._sentences)
        if found is None and "\n" in text:
            return "\n".join(map(self.sentence, text.split("\n")))
        return text if found is None else found

    def phrase(self, text: str) -> str:
        """A part of a sentence. What is quoted was written by somebody else."""
        if CHOICES.fullmatch(text):
            return text.replace('", "', '"、"').replace('" or "', '" 或 "')
        if re.fullmatch(f"b?({QUOTED})", text):
            return text
        found = self._looked_up(text, self._phrases)
        return found if found is not None else self.sentence(text)

    def _looked_up(self, text: str, templates: "_Templates") -> str | None:
        found = templates.find(text)
        if found is None:
            return None
        match, chinese = found
        return chinese.format(**dict(self._values(match))) if match else chinese

    def _values(self, found: re.Match[str]) -> Iterator[tuple[str, str]]:
        """What stands in the placeholders; one with a capital letter is a phrase itself."""
        for name, value in found.groupdict().items():
            yield name, self.phrase(value) if name[0].isupper() else value


class _Templates:
    """Templates; those without a placeholder are looked up, the others tried one after the other."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._open = {english: chinese for english, chinese in table.items() if _placeholders(english)}
        self._fixed = {english.format(): table[english].format() for english in table.keys() - self._open.keys()}

    def find(self, text: str) -> tuple[re.Match[str] | None, str] | None:
        if text in self._fixed:
            return None, self._fixed[text]
        for english, chinese in self._open.items():
            if match := _compiled(english).fullmatch(text):
                return match, chinese
        return None


@cache  # of our own templates alone
def _compiled(english: str) -> re.Pattern[str]:
    return re.compile(expression(english))


def _placeholders(english: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(english) if name]


def expression(english: str) -> str:
    """A template as a regular expression."""
    parts = []
    for literal, name, _, _ in Formatter().parse(english):
        parts.append(re.escape(literal))
        if name:
            parts.append(f"(?P<{name}>{_kind(name)})")
    return "".join(parts)


def _kind(name: str) -> str:
    if name in NUMBERS:
        return r"[-\d,.]+"
    return QUOTED if name == "quoted" else r"[\s\S]+?" if name in WITH_LINES else ".+?"
