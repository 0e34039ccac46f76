"""What people can do on the site, each declared once: what it needs to be told, who may do it, what it does.

The API serves each at `POST /api/actions/NAME` with JSON, and pages send the same as forms to `/do/NAME`.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, get_type_hints

import msgspec

from palestra.errors import clip, refuse
from palestra.text import say
from palestra.web.auth import Caller
from palestra.web.site import Site


class Done(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of an action."""

    id: str = ""  # of what was made
    secret: str = ""  # shown once
    session: str = ""  # of who has just signed in: kept in a cookie, never in an answer's body
    signed_out: bool = False
    go: str = ""  # the page to show next


LONGEST = 200_000  # characters of one field: the longest is a whole contest file
Do = Callable[[Site, Caller, Any], Awaitable[Done]]
F = TypeVar("F", bound=Do)


@dataclass(frozen=True)
class Action:
    """One thing that can be done."""

    name: str
    takes: type[msgspec.Struct]
    needs: str | None  # the scope of a token; null: one need not be signed in
    desk: bool  # only for organisers
    do: Do
    about: str


ACTIONS: dict[str, Action] = {}


def action(name: str, needs: str | None, desk: bool = False) -> Callable[[F], F]:
    """Declare an action. Its third argument says what it takes."""

    def declare(do: F) -> F:
        takes = get_type_hints(do)["data"]
        about = (do.__doc__ or "").strip()
        ACTIONS[name] = Action(name, takes, needs, desk, do, about)
        return do

    return declare


def require_plain(data: msgspec.Struct) -> None:
    """Refuse texts that no table holds: a letter that databases do not take, or far more than anybody writes."""
    for text in _texts(msgspec.to_builtins(data)):
        if len(text) > LONGEST:
            refuse(say("a field"), say("{count:,} characters", count=len(text)), say("at most {most:,}", most=LONGEST))
        if "\0" in text:
            refuse(say("a field"), clip(text), say("letters that can be printed"))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in (*value.keys(), *value.values()):
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


class Nothing(msgspec.Struct, frozen=True):
    """Takes nothing."""
