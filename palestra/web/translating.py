"""What is said in English alone, in Chinese: sentences that the log keeps, faults of files, errors of other parts.

Such a text is looked up among templates (phrases.py). One that is not there stays as it is: English that says what is
wrong is better than Chinese that does not.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from string import Formatter
from typing import TypeVar

from msgspec.structs import replace

from palestra.errors import Told
from palestra.web import desk_views as dv
from palestra.web import live_views as lv
from palestra.web import views as v
from palestra.web.phrases import PHRASES, SENTENCES

T = TypeVar("T")
Template = tuple[re.Pattern[str], str]
QUOTED = r"'[^\n]*'|\"[^\n]*\""
CHOICES = re.compile(r'"[^"\n]+"((, | or )"[^"\n]+")+')  # ours: what somebody wrote is quoted once, as a whole
NUMBERS = ("n", "m", "k")
WITH_LINES = ("output", "Faults")  # placeholders for what may have several


def told(error: Exception, language: str) -> str:
    """What an error says, in a language."""
    return error.in_language(language) if isinstance(error, Told) else sentence(str(error), language)


def sentence(text: str, language: str) -> str:
    """A sentence of ours, which was made in English."""
    return _in_chinese(text) if language == "zh" else text


@lru_cache(maxsize=4096)
def _in_chinese(text: str) -> str:
    """The Chinese of one or several English lines; what has none stays as it is."""
    found = _looked_up(text, _sentences())
    return found if found is not None else "\n".join(map(_in_chinese, text.split("\n"))) if "\n" in text else text


def _looked_up(text: str, templates: Iterable[Template]) -> str | None:
    for pattern, chinese in templates:
        if found := pattern.fullmatch(text):
            return chinese.format(**dict(_values(found)))
    return None


def _values(found: re.Match[str]) -> Iterator[tuple[str, str]]:
    """What stands in the placeholders; one with a capital letter is a phrase itself."""
    for name, value in found.groupdict().items():
        yield name, phrase(value) if name[0].isupper() else value


def phrase(text: str) -> str:
    """A part of a sentence. What is quoted was written by somebody else."""
    if CHOICES.fullmatch(text):
        return text.replace('", "', '"、"').replace('" or "', '" 或 "')
    if re.fullmatch(f"b?({QUOTED})", text):
        return text
    found = _looked_up(text, _phrases())
    return found if found is not None else _in_chinese(text)


@lru_cache
def _sentences() -> tuple[Template, ...]:
    return tuple(_compiled(SENTENCES))


@lru_cache
def _phrases() -> tuple[Template, ...]:
    return tuple(_compiled(PHRASES))


def _compiled(table: Mapping[str, str]) -> Iterator[Template]:
    return ((re.compile(expression(english)), chinese) for english, chinese in table.items())


def expression(english: str) -> str:
    """A template as a regular expression: `line {n}` finds `line 1,024`."""
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


# Pages


def shown(view: T, language: str) -> T:
    """What a page or a program is given, with what the log says in English told in its language."""
    return _shown(view) if language == "zh" else view  # type: ignore[return-value]


def _shown(view: object) -> object:
    match view:
        case v.SubmissionPage():
            said, attempts = tuple(map(_in_chinese, view.faults)), tuple(map(_with_message, view.attempts))
            return replace(view, faults=said, attempts=attempts, message=_in_chinese(view.message))
        case dv.DeskPage():
            jobs, faults = tuple(map(_with_message, view.jobs)), tuple(map(_with_message, view.faults))
            return replace(view, jobs=jobs, faults=faults)
        case dv.PromotionPage():  # what the organiser wrote stays: the form sends it back
            rows = [row if row.by_hand else replace(row, reason=_in_chinese(row.reason)) for row in view.rows]
            return replace(view, rows=tuple(rows))
        case dv.RescoringPage():
            return replace(view, changes=tuple(replace(one, failed=_in_chinese(one.failed)) for one in view.changes))
        case dv.VerificationPage():
            return _with_message(view)
        case lv.LivePage():
            return _with_message(view)
    return view


M = TypeVar("M", v.Attempt, dv.Job, dv.FaultRow, dv.VerificationPage, lv.LivePage)


def _with_message(record: M) -> M:
    return replace(record, message=_in_chinese(record.message))
