"""Texts that people must give: a reason where something is changed."""

from palestra.errors import PalestraError, clean
from palestra.text import say


def require_reason(reason: str) -> str:
    """Why something was done, for whoever reads the log later."""
    found = clean(reason)
    if len(found) < 3:
        raise PalestraError(say("Say why, in a few words: the reason is kept in the log."))
    return found
