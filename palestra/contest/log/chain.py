"""The log of a contest: events, one after the other, each with a hash over itself and all before it."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from sqlalchemy import Connection, func, select

from palestra.contest.log import events
from palestra.contest.log.events import Body, Event
from palestra.contest.storage import events as table
from palestra.contest.storage import settings
from palestra.errors import PalestraError
from palestra.text import say

NOTHING = "0" * 64  # the hash before the first event
HEAD = "head"  # the setting that says how far the log goes: so a missing end is found as well
AT_ONCE = 10_000  # rows that are read at a time
Row = tuple[int, int, str, str, str]  # an event as it is kept: seq, at, by, body, hash
_HEAD = re.compile(r"[0-9]{1,18}:[0-9a-f]{64}")


class Head(msgspec.Struct, frozen=True):
    """The end of the log. Kept outside, it proves later that nothing before it was changed."""

    seq: int = 0
    hash: str = NOTHING
    at: int = 0

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


def parse_head(text: str) -> Head:
    """A head as it was printed: 1042:9f3c…"""
    if not _HEAD.fullmatch(text):
        raise PalestraError(
            say("{text!r} is no head of a log; expected NUMBER:HASH, as verify-log and backups print it.", text=text)
        )
    number, _, digest = text.partition(":")
    return Head(int(number), digest)


def linked(before: str, seq: int, at: int, by: str, body: str) -> str:
    """The hash of an event: over the hash before it and all that is kept of it."""
    return hashlib.sha256(f"{before}\n{seq}\n{at}\n{by}\n{body}".encode()).hexdigest()


def head(connection: Connection) -> Head:
    row = connection.execute(
        select(table.c.seq, table.c.hash, table.c.at).order_by(table.c.seq.desc()).limit(1)
    ).first()
    return Head(row.seq, row.hash, row.at) if row else Head()


def last_seq(connection: Connection) -> int:
    return int(connection.execute(select(func.max(table.c.seq))).scalar() or 0)


def append(connection: Connection, bodies: Sequence[Body], by: str, now: int) -> list[Event]:
    """Add events. The connection is that of the only writer (`database.writing`)."""
    if not bodies:
        return []
    end = head(connection)
    at = max(now, end.at)  # a clock that was set back does not reorder what happened
    added, rows = [], []
    for body in bodies:
        text, seq = _readable(body), end.seq + 1
        end = Head(seq, linked(end.hash, seq, at, by, text), at)
        added.append(Event(seq, at, by, body))
        rows.append({"seq": seq, "at": at, "by": by, "body": text, "hash": end.hash})
    connection.execute(table.insert(), rows)
    _keep_head(connection, end)
    return added


def _readable(body: Body) -> str:
    """An event as it is kept. JSON knows no NaN: one in the log would keep all of it from ever being read again."""
    text = events.encode(body)
    try:
        events.decode(text)
    except msgspec.MsgspecError as error:
        raise ValueError(f"{events.kind_of(body)} could not be read again, so it is not written: {error}") from None
    return text


def _keep_head(connection: Connection, end: Head) -> None:
    changed = connection.execute(settings.update().where(settings.c.name == HEAD).values(value=str(end)))
    if changed.rowcount == 0:
        connection.execute(settings.insert().values(name=HEAD, value=str(end)))


def read(connection: Connection, after: int = 0, upto: int | None = None) -> Iterator[Event]:
    """Events in order, a few thousand at a time."""
    for seq, at, by, body, _ in rows(connection, after, upto):
        yield Event(seq, at, by, events.decode(body))


def rows(connection: Connection, after: int = 0, upto: int | None = None) -> Iterator[Row]:
    """Events as they are kept."""
    while True:
        query = select(table).where(table.c.seq > after).order_by(table.c.seq).limit(AT_ONCE)
        if upto is not None:
            query = query.where(table.c.seq <= upto)
        found = connection.execute(query).all()
        yield from found
        if len(found) < AT_ONCE:
            return
        after = found[-1].seq


class Verdict(msgspec.Struct, frozen=True):
    """What a look at the whole log found."""

    ok: bool
    head: Head
    faults: list[str]  # the first ones, in words


MOST_FAULTS = 20


def verify(connection: Connection, known: Sequence[Head] = (), advance: Callable[[int], None] | None = None) -> Verdict:
    """Go through the log and compute every hash again; `known` are heads that were kept elsewhere."""
    verdict = verify_rows(rows(connection), [*known, _kept_head(connection)], advance)
    kept = _kept_head(connection)  # again: others may have written meanwhile
    if verdict.head.seq > kept.seq:
        fault = f"The log goes on to event {verdict.head.seq}; what was written ended with {kept.seq}."
        return Verdict(False, verdict.head, [*verdict.faults[: MOST_FAULTS - 1], fault])
    return verdict


def _kept_head(connection: Connection) -> Head:
    """How far the log was written; nothing where that note was taken away or made unreadable."""
    kept = connection.execute(select(settings.c.value).where(settings.c.name == HEAD)).scalar() or ""
    return parse_head(kept) if _HEAD.fullmatch(kept) else Head()


def verify_rows(
    found: Iterable[Row], known: Sequence[Head] = (), advance: Callable[[int], None] | None = None
) -> Verdict:
    faults: list[str] = []
    end = Head()
    wanted: dict[int, set[str]] = {}
    for one in known:
        wanted.setdefault(one.seq, set()).add(one.hash)
    for row in found:
        faults += _faults_of(end, row, wanted)
        seq, at, _, _, digest = row
        end = Head(seq, digest, at if isinstance(at, int) else end.at)
        if advance and seq % AT_ONCE == 0:
            advance(AT_ONCE)
    for seq in sorted(wanted):
        if seq > end.seq:
            faults.append(f"The log ends with event {end.seq}; it had {seq}: the end is missing.")
    return Verdict(not faults, end, faults[:MOST_FAULTS])


def _faults_of(end: Head, row: Row, wanted: dict[int, set[str]]) -> Iterator[str]:
    seq, at, by, body, digest = row
    if seq != end.seq + 1:
        yield f"After event {end.seq} comes event {seq}: {_what_is_missing(end.seq, seq)}."
    if not isinstance(at, int):  # SQLite keeps whatever it is given
        yield f"Event {seq} has no time but {at!r}: it was edited."
    elif at < end.at:
        yield f"Event {seq} is older than the one before it: events were reordered or edited."
    if digest != linked(end.hash, seq, at, by, body):
        yield f"Event {seq} does not fit its hash: it, or the one before it, was edited, moved or put in."
    if wanted.get(seq, set()) - {digest}:
        yield f"Event {seq} has another hash than the head that was kept: the log was rewritten before it."
    try:
        events.decode(body)
    except msgspec.MsgspecError as error:
        yield f"Event {seq} cannot be read: {error}."


def _what_is_missing(before: int, seq: int) -> str:
    between = seq - before - 1
    return f"{between} in between {'is' if between == 1 else 'are'} missing" if between > 0 else "it is there twice"
