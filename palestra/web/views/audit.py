"""The log as pages show it: all of it to organisers; to everybody else, that there is an event, and its hash.

A log may have a million events, so a page reads a stretch of it by its numbers, and never the whole.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, get_args
from urllib.parse import urlencode

import msgspec
from sqlalchemy import Connection, Engine, Row, select

from palestra.contest import Viewer
from palestra.contest.log import Head, State, chain
from palestra.contest.log import events as e
from palestra.contest.storage import events as table
from palestra.contest.storage import reading
from palestra.web.models import public as v
from palestra.web.site import Site

ROWS = 100  # on a page
LOOKED_THROUGH = 50_000  # events in which a page looks for those of a kind; the next page goes on from there
CHECKED = 5_000  # newest events whose hashes are computed again
CHECK_EVERY_MS = 60_000  # however many look
PEOPLE = 200  # whom one can choose from
NOBODYS = ("system", "worker")
KINDS = tuple(sorted(str(body.__struct_config__.tag) for body in get_args(e.Body)))


class Asked(msgspec.Struct, frozen=True):
    """Which part of the log somebody wants to see."""

    kind: str = ""
    by: str = ""  # a person's name, "system" or "worker"
    before: int | None = None  # events older than this one
    after: int | None = None  # events newer than this one


def audit(site: Site, viewer: Viewer, asked: Asked) -> v.AuditPage:
    """A page of the log, newest first."""
    whole = viewer.is_organiser
    if not whole:  # who did what is not for all, so it cannot be asked for either
        asked = msgspec.structs.replace(asked, by="")
    engine = site.contest.engine
    with reading(engine) as connection:
        head = chain.head(connection)
        low, high = _stretch(asked, head)
        found = _found(connection, site.state, asked, low, high)
    fault = checked(engine, head, site.now // CHECK_EVERY_MS)
    return v.AuditPage(
        rows=tuple(_row(site.state, row, whole) for row in found),
        kinds=KINDS,
        kind=asked.kind,
        by=asked.by,
        people=_people(site.state) if whole else (),
        count=head.seq,
        verified=not fault,
        verified_at=site.now,
        verified_from=max(head.seq - CHECKED, 0) + 1,
        fault=fault,
        redacted=not whole,
        newer=_newer(asked, found, high, head),
        older=_older(asked, found, low),
    )


# Which events


def _stretch(asked: Asked, head: Head) -> tuple[int, int]:
    """The first and the last event that are looked at."""
    if asked.after is not None:
        low = max(asked.after, 0) + 1
        return low, min(low + LOOKED_THROUGH - 1, head.seq)
    high = head.seq if asked.before is None else min(asked.before - 1, head.seq)
    return max(high - LOOKED_THROUGH + 1, 1), high


def _found(connection: Connection, state: State, asked: Asked, low: int, high: int) -> Sequence[Row[Any]]:
    query = select(table).where(table.c.seq >= low, table.c.seq <= high).limit(ROWS)
    if asked.kind:
        query = query.where(table.c.body.startswith(f'{{"kind":"{asked.kind}"', autoescape=True))
    if asked.by == "worker":
        query = query.where(table.c.by.startswith("worker:", autoescape=True))
    elif asked.by:
        query = query.where(table.c.by == state.names.get(asked.by.lower(), asked.by))
    if asked.after is not None:
        return connection.execute(query.order_by(table.c.seq)).all()[::-1]
    return connection.execute(query.order_by(table.c.seq.desc())).all()


def _row(state: State, row: Row[Any], whole: bool) -> v.AuditRow:
    kind = msgspec.json.decode(row.body, type=_Kind).kind
    return v.AuditRow(
        seq=row.seq,
        at=row.at,
        by=_name(state, row.by) if whole else "",
        kind=kind,
        body=row.body if whole else "",
        hash=row.hash,
    )


class _Kind(msgspec.Struct):
    kind: str


def _name(state: State, by: str) -> str:
    account = state.accounts.get(by)
    return account.name if account else by


def _people(state: State) -> tuple[str, ...]:
    """Whom one can choose from: organisers and referees first. Others are found by writing their name."""
    accounts = sorted(state.accounts.values(), key=lambda one: (one.role in ("member", "viewer"), one.name))
    return (*NOBODYS, *(one.name for one in accounts[:PEOPLE]))


# Addresses of the pages before and after


def _older(asked: Asked, found: Sequence[Row[Any]], low: int) -> str:
    if asked.after is not None:
        oldest = found[-1].seq if found else asked.after + 1
        return _address(asked, before=oldest) if oldest > 1 else ""
    oldest = found[-1].seq if len(found) == ROWS else low
    return _address(asked, before=oldest) if oldest > 1 else ""


def _newer(asked: Asked, found: Sequence[Row[Any]], high: int, head: Head) -> str:
    if asked.after is not None:
        newest = found[0].seq if len(found) == ROWS else high
    else:
        newest = found[0].seq if found and asked.before is not None else high
    return _address(asked, after=newest) if newest < head.seq else ""


def _address(asked: Asked, **place: int) -> str:
    chosen = {"kind": asked.kind, "by": asked.by, **place}
    return "/audit?" + urlencode({name: value for name, value in chosen.items() if value != ""})


# Whether it is whole


@lru_cache(maxsize=4)
def checked(engine: Engine, head: Head, _: int) -> str:
    """What is wrong with the newest events, in words; empty: nothing. The last argument makes an answer old."""
    with reading(engine) as connection:
        first = max(head.seq - CHECKED, 0)
        rows = chain.rows(connection, max(first - 1, 0), head.seq)
        before = next(rows)[4] if first else chain.NOTHING  # the hash that the first of them builds on
        for wanted, (seq, at, by, body, digest) in enumerate(rows, first + 1):
            if seq != wanted:
                return f"After event {wanted - 1} comes event {seq}."
            if digest != chain.linked(before, seq, at, by, body):
                return f"Event {seq} does not fit its hash: it, or the one before it, was edited, moved or put in."
            before = digest
    return "" if before == head.hash else f"Event {head.seq} has another hash than a moment ago."
