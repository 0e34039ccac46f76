"""What is not there, or not for whoever asks: the same words wherever it is asked for."""

from typing import TypeVar

from palestra.errors import Missing
from palestra.text import Words, say

T = TypeVar("T")
BOARD = say("There is no board to be seen here.")
FINAL = say("There is no final standing to be seen.")
RUN = say("There is no such run to be seen.")
SUBMISSION = say("There is no such submission.")
REPORT = say("There is no such report.")
BUNDLE = say("There is no such bundle.")
RESCORING = say("There is no such set of scores.")
AWARD = say("There is no such award.")


def there(found: T | None, what: Words) -> T:
    """What was found; else it is said that it is missing."""
    if found is None:
        raise Missing(what)
    return found
