"""What programs send and are given that no page shows. Clients read these too, so nothing of the server is needed."""

from typing import Annotated, Literal

import msgspec

from palestra.web.models.public import HomePage


class Me(msgspec.Struct, frozen=True):
    """Who the token or the session belongs to."""

    account: str
    name: str
    role: str
    team: str
    scopes: list[str] | None  # of the token; null: all that the account may


class Contest(msgspec.Struct, frozen=True):
    """A contest at a glance."""

    id: str
    now: int  # by the server's clock, ms
    home: HomePage


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is answered where something was refused or failed."""

    status: int
    error: str
    faults: list[str] = []
    reference: str = ""  # what to tell the organiser
    received: int | None = None  # of an upload


# Uploads


class Begin(msgspec.Struct, frozen=True):
    """What is about to be uploaded."""

    phase: Annotated[str, msgspec.Meta(max_length=100)]
    name: Annotated[str, msgspec.Meta(max_length=1_000)]
    bytes: int
    purpose: Literal["answers", "bundle"] = "answers"


class Progress(msgspec.Struct, frozen=True):
    """How far an upload has come."""

    upload: str
    received: int
    bytes: int
    submission: str = ""


class Submitted(msgspec.Struct, frozen=True):
    """What an upload became."""

    submission: str
