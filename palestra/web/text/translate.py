"""What is said in English alone, in Chinese: sentences that the log keeps, faults of files, errors of other parts.

Such a text is looked up among templates (log_phrases.py). One that is not there stays as it is: English that says what
is wrong is better than Chinese that does not.
"""

from typing import TypeVar

from msgspec.structs import replace

from palestra.errors import Told
from palestra.i18n import Phrasebook
from palestra.web.models import desk as dv
from palestra.web.models import live as lv
from palestra.web.models import public as v
from palestra.web.text.log_phrases import PHRASES, SENTENCES

T = TypeVar("T")
_BOOK = Phrasebook(SENTENCES, PHRASES)
phrase = _BOOK.phrase
_in_chinese = _BOOK.sentence


def told(error: Exception, language: str) -> str:
    """What an error says, in a language."""
    return error.in_language(language) if isinstance(error, Told) else sentence(str(error), language)


def sentence(text: str, language: str) -> str:
    """A sentence of ours, which was made in English."""
    return _in_chinese(text) if language == "zh" else text


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
