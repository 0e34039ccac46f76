"""What runs wrote down in English alone: notes on answers, how programs ended, why a run does not count."""

from functools import cache

from palestra.i18n.phrasebook import Phrasebook
from palestra.i18n.phrases import PHRASES, SENTENCES
from palestra.text import Text, Words


@cache
def _book() -> Phrasebook:
    return Phrasebook(SENTENCES, PHRASES)


def recorded_text(text: Text) -> Words:
    """A recorded text in both languages. One that is Words already tells both itself."""
    return text if isinstance(text, Words) else Words(text, _book().sentence(text))
