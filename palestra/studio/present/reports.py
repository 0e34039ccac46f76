"""What the page says to the server, and the server to the page."""

from typing import Annotated, Literal

import msgspec

Short = Annotated[str, msgspec.Meta(max_length=2000)]
Value = float | bool | None | Short
Kind = Literal[
    "screen",  # size in pixels, whether full screen, the frames' length
    "clock",  # offset of the page's clock to the server's, and the round trip that measured it
    "started",  # a block, or what is left of it
    "onset",
    "ended",  # what does not end by time alone
    "answer",
    "shifted",  # an event was late: what follows comes as much later
    "dropped",  # frames
    "paused",
    "resumed",
    "aborted",
    "finished",
    "trouble",  # such as a film that does not play
]


class Report(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="type", tag="report"
):
    """One thing that happened on the page. `page` and `seq` name it, so that it is logged once."""

    page: Annotated[str, msgspec.Meta(min_length=8, max_length=64)]
    seq: Annotated[int, msgspec.Meta(ge=0, le=2**53)]
    kind: Kind
    at_ms: float  # on the page's clock
    event: int | None = None
    block: int | None = None
    planned_ms: float | None = None
    frame_ms: float | None = None  # the time of the frame that showed it
    frame: int | None = None
    values: Annotated[dict[Annotated[str, msgspec.Meta(max_length=60)], Value], msgspec.Meta(max_length=100)] = {}


class Ping(msgspec.Struct, frozen=True, tag_field="type", tag="ping"):
    """Measures the round trip and the offset of the clocks."""

    at_ms: float


class Where(msgspec.Struct, frozen=True, tag_field="type", tag="where"):
    """Asks where the run goes on. It comes after all that an earlier page could not send."""


MESSAGE = msgspec.json.Decoder(Report | Ping | Where)
LARGEST = 64 * 1024  # bytes of one message
