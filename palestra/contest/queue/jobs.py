"""What is to be done, and who does it: jobs in SQL, which workers lease for a while. Times are ms since 1970.

A job is leased for LEASE_MS and kept by beats. A worker that is lost beats no more, so its job is free again within a
minute. A job counts as done once: `finish` and `give_up` say False to whoever has lost the lease meanwhile, and then
nothing may be written down. A job is ours while it is leased to the same worker for the same attempt.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Engine, Row, and_, delete, func, insert, or_, select, update

from palestra.contest.storage import jobs as table
from palestra.contest.storage import reading, writing
from palestra.contest.storage import workers as worker_table
from palestra.text import Words, say, say_as

LEASE_MS = 30_000
BEAT_MS = 10_000
MOST_ATTEMPTS = 3  # as long as it is the platform that fails
BACKOFF_MS = 5_000  # before the second attempt; four times as long before each one after
FORGET_MS = 86_400_000  # a worker that was not seen for so long is shown no more


class Job(msgspec.Struct, frozen=True):
    """One thing to do, as the worker that leased it sees it."""

    id: int
    key: str  # what is to be done, so that it is queued once
    kind: str
    body: str  # JSON
    attempt: int  # 1, 2, 3, …
    worker: str


class Listed(msgspec.Struct, frozen=True):
    """A job as the organiser's desk shows it."""

    id: int
    key: str
    kind: str
    body: str
    state: str  # queued, leased, done, failed, cancelled
    attempt: int
    not_before: int
    worker: str
    lease_until: int
    queued_at: int
    message: Words  # why the last attempt ended


class Seen(msgspec.Struct, frozen=True):
    """A worker, as it was when it last said so."""

    id: str
    kinds: str  # with commas
    executor: str
    started_at: int
    seen_at: int
    busy: int  # jobs that it runs


_JOB = tuple(table.c[name] for name in Job.__struct_fields__)
_LISTED = tuple(table.c[name] for name in Listed.__struct_fields__)


def queue(connection: Connection, key: str, kind: str, body: str, now: int, not_before: int = 0) -> bool:
    """Put a job at the end of the queue, in a `writing` transaction; False when its key was there already."""
    if connection.execute(select(table.c.id).where(table.c.key == key)).first() is not None:
        return False
    job = {"key": key, "kind": kind, "body": body, "state": "queued", "queued_at": now, "not_before": not_before}
    connection.execute(insert(table).values(job))
    return True


def requeue(connection: Connection, key: str, now: int) -> bool:
    """Let a job that failed or was cancelled be tried once more; False when it is in another state."""
    ended = and_(table.c.key == key, table.c.state.in_(("failed", "cancelled")))
    return _change(connection, ended, state="queued", queued_at=now, not_before=now)


def lease(engine: Engine, worker: str, kinds: Collection[str], now: int, lease_ms: int = LEASE_MS) -> Job | None:
    """The oldest job that is free, now leased to this worker; None when there is none."""
    free = (
        select(*_JOB)
        .where(table.c.kind.in_(kinds), or_(_waiting(now), _run_out(now) & (table.c.attempt < MOST_ATTEMPTS)))
        .order_by(table.c.id)
        .limit(1)
    )
    with reading(engine) as connection:  # whoever looks in vain, as most do, must not hold up a writer
        if connection.execute(free).first() is None:
            return None
    with _beside_the_log(engine) as connection:
        row = connection.execute(free.with_for_update(skip_locked=True)).first()
        if row is None:  # others were faster
            return None
        job = msgspec.structs.replace(_job(row), attempt=row.attempt + 1, worker=worker)
        leased = {"state": "leased", "worker": worker, "attempt": job.attempt, "lease_until": now + lease_ms}
        _change(connection, table.c.id == job.id, **leased)
    return job


def beat(engine: Engine, jobs: Sequence[Job], now: int, lease_ms: int = LEASE_MS) -> list[Job]:
    """Keep these jobs for another while; those that are still ours."""
    kept = []
    for job in jobs:  # one transaction each: holding two rows at once could make a deadlock
        with _beside_the_log(engine) as connection:
            if _change(connection, _ours(job), lease_until=now + lease_ms):
                kept.append(job)
    return kept


def still_ours(engine: Engine, jobs: Sequence[Job]) -> list[Job]:
    """Those of these jobs that nobody cancelled and no other worker took."""
    if not jobs:
        return []
    with reading(engine) as connection:
        leased = select(*_JOB).where(table.c.id.in_([job.id for job in jobs]), table.c.state == "leased")
        found = {(row.id, row.worker, row.attempt) for row in connection.execute(leased)}
    return [job for job in jobs if (job.id, job.worker, job.attempt) in found]


def is_ours(connection: Connection, job: Job) -> bool:
    """Whether a job is still ours, in a transaction that writes down what follows from it."""
    return connection.execute(select(table.c.id).where(_ours(job))).first() is not None


def finish(connection: Connection, job: Job, now: int) -> bool:
    """Mark as done; False when the job is no longer ours: then nothing that came of it may count."""
    return _change(connection, _ours(job), state="done", lease_until=now, message="")


def give_up(connection: Connection, job: Job, message: Words, now: int, retry_at: int | None) -> bool:
    """End an attempt: queued again for `retry_at`, or failed for good; False when the job is no longer ours."""
    if retry_at is None:
        return _change(connection, _ours(job), state="failed", lease_until=now, message=_kept(message))
    return _change(connection, _ours(job), state="queued", not_before=retry_at, lease_until=now, message=_kept(message))


def hand_back(engine: Engine, job: Job, now: int) -> bool:
    """Queue again as if it had never been leased: its worker stops, which is nobody's fault."""
    with _beside_the_log(engine) as connection:
        why = _kept(say("its worker was stopped"))
        back = {"state": "queued", "attempt": job.attempt - 1, "lease_until": now, "message": why}
        return _change(connection, _ours(job), **back)


def retry_at(job: Job, now: int) -> int | None:
    """When a job that failed by the platform's fault is tried again; None when it has been tried often enough."""
    return None if job.attempt >= MOST_ATTEMPTS else now + BACKOFF_MS * 4 ** (job.attempt - 1)


def cancel(connection: Connection, key: str, now: int) -> bool:
    """Stop a job that is not at its end; a worker that runs it ends its process. False when there was none."""
    active = and_(table.c.key == key, table.c.state.in_(("queued", "leased")))
    return _change(connection, active, state="cancelled", lease_until=now, message=_kept(say_as("job", "cancelled")))


def expired(engine: Engine, kinds: Collection[str], now: int) -> list[Job]:
    """Jobs that lost their worker at the last attempt they had: nobody leases them, so they must be given up."""
    with reading(engine) as connection:
        lost = select(*_JOB).where(table.c.kind.in_(kinds), _run_out(now), table.c.attempt >= MOST_ATTEMPTS)
        return [_job(row) for row in connection.execute(lost.order_by(table.c.id))]


def counts(engine: Engine) -> dict[str, dict[str, int]]:
    """How many jobs of each kind are in each state."""
    found: dict[str, dict[str, int]] = {}
    grouped = select(table.c.kind, table.c.state, func.count()).group_by(table.c.kind, table.c.state)
    with reading(engine) as connection:
        for kind, state, count in connection.execute(grouped):
            found.setdefault(kind, {})[state] = count
    return found


def listed(
    engine: Engine,
    states: Collection[str] = (),
    kinds: Collection[str] = (),
    before: int | None = None,
    limit: int = 100,
) -> list[Listed]:
    """Jobs, newest first; of these states and kinds where some are named, and older than the id `before`."""
    asked = select(*_LISTED).order_by(table.c.id.desc()).limit(limit)
    if states:
        asked = asked.where(table.c.state.in_(states))
    if kinds:
        asked = asked.where(table.c.kind.in_(kinds))
    if before is not None:
        asked = asked.where(table.c.id < before)
    with reading(engine) as connection:
        return [Listed(**{**row._mapping, "message": _told(row.message)}) for row in connection.execute(asked)]


def _kept(message: Words) -> str:
    """Both languages in one column."""
    return msgspec.json.encode(message).decode()


def _told(kept: str) -> Words:
    try:
        return msgspec.json.decode(kept, type=Words)
    except msgspec.MsgspecError:  # of a job from before, which has its English alone
        return Words.same(kept)


def seen(engine: Engine, worker: Seen) -> None:
    """Note that a worker is there, and forget those that have long been gone."""
    values = msgspec.structs.asdict(worker)
    mine = worker_table.c.id == worker.id
    with _beside_the_log(engine) as connection:
        if not connection.execute(update(worker_table).where(mine).values(values)).rowcount:
            connection.execute(delete(worker_table).where(worker_table.c.seen_at < worker.seen_at - FORGET_MS))
            connection.execute(insert(worker_table).values(values))


def left(engine: Engine, worker: str) -> None:
    """Note that a worker has stopped in good order."""
    with _beside_the_log(engine) as connection:
        connection.execute(delete(worker_table).where(worker_table.c.id == worker))


def workers(engine: Engine, now: int) -> list[tuple[Seen, bool]]:
    """Each worker that was there of late, and whether it still is."""
    with reading(engine) as connection:
        known = select(worker_table).where(worker_table.c.seen_at >= now - FORGET_MS).order_by(worker_table.c.id)
        found = [Seen(**row._mapping) for row in connection.execute(known)]
    return [(worker, now - worker.seen_at < LEASE_MS) for worker in found]


@contextmanager
def _beside_the_log(engine: Engine) -> Iterator[Connection]:
    """A transaction that changes one job. On PostgreSQL its row is lock enough: the log's writer is not waited for."""
    with writing(engine) if engine.dialect.name == "sqlite" else engine.begin() as connection:
        yield connection


def _change(connection: Connection, which: ColumnElement[bool], **values: Any) -> bool:
    return connection.execute(update(table).where(which).values(values)).rowcount > 0


def _ours(job: Job) -> ColumnElement[bool]:
    same = and_(table.c.id == job.id, table.c.worker == job.worker, table.c.attempt == job.attempt)
    return and_(same, table.c.state == "leased")


def _waiting(now: int) -> ColumnElement[bool]:
    return and_(table.c.state == "queued", table.c.not_before <= now)


def _run_out(now: int) -> ColumnElement[bool]:
    return and_(table.c.state == "leased", table.c.lease_until <= now)


def _job(row: Row[Any]) -> Job:
    return Job(**row._mapping)
