"""A contest that runs: its log, the state after it, its files. Every change goes through `act`."""

import gc
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec
from sqlalchemy import Connection, Engine, delete, func, select, text
from sqlalchemy.exc import DBAPIError

from palestra.contest.log import VERSION, Body, Event, Now, State, apply, chain, for_writing, wall_clock
from palestra.contest.queue import queue, tasks_after
from palestra.contest.snapshot import Snapshot, hash_at, read_packed, unpack
from palestra.contest.storage import Files, reading, snapshots, writing

_told = logging.getLogger("palestra.contest")
SNAPSHOT_EVERY = 2_000  # events that may have to be folded again when a server starts
LOG_CHANNEL, LIVE_CHANNEL = "palestra_log", "palestra_live"  # of PostgreSQL's notifications


# What is to happen, from what is so and the time; raises an error in words where it may not.
Decide = Callable[[State, int], Sequence[Body]]
Also = Callable[[Connection, Sequence[Event]], object]


def notify(connection: Connection, channel: str) -> None:
    """Wake the processes that listen, once this is committed. SQLite has no such thing; there they look themselves."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_notify(:channel, '')"), {"channel": channel})


class Contest:
    """One contest's log and files, opened by one process. Others may write to the same log at the same time."""

    def __init__(self, engine: Engine, files: Files, now: Now = wall_clock) -> None:
        self.engine, self.files, self.now = engine, files, now
        self.lock = threading.RLock()  # of the state: held while it is changed or read in several steps
        self._writing = threading.Lock()
        self._listeners: list[Callable[[Sequence[Event]], None]] = []
        # Who calls what changes the state, and waits for it: a server lets its event loop do so, between two requests.
        self.hand_over: Callable[[Callable[[], None]], None] = lambda change: change()
        self.state = State()
        self._snapshot_seq = 0
        self.keepers: dict[str, Callable[[], bytes]] = {}  # of what else a snapshot has in it
        self.kept: dict[str, bytes] = {}  # what the last snapshot had of that
        self.since_kept: list[Event] = []
        self._load()

    def listen(self, listener: Callable[[Sequence[Event]], None]) -> None:
        """Call this with events as they are taken in, whoever wrote them."""
        self._listeners.append(listener)

    def act(self, by: str, decide: Decide, also: Also | None = None) -> list[Event]:
        """Decide on the newest state and append what is to happen; what follows from it is queued with it.

        `also` writes in the same transaction; when it returns False, nothing is written at all.
        """
        with self._writing:
            with writing(self.engine) as connection:
                self._take_in(list(chain.read(connection, after=self.state.seq)), chain.head(connection).hash)
                # To a clock that is behind the log, quotas would look unused.
                now = max(for_writing(self.now), self.state.at)
                events = chain.append(connection, decide(self.state, now), by, now)
                for event in events:
                    for task in tasks_after(event.body, self.state):
                        queue(connection, task.key, task.kind, msgspec.json.encode(task.order).decode(), now)
                if also and also(connection, events) is False:
                    connection.rollback()
                    return []
                notify(connection, LOG_CHANNEL)
                digest = chain.head(connection).hash
            self._take_in(events, digest)
        self._keep_snapshot()
        return events

    def catch_up(self) -> list[Event]:
        """Take in what other processes wrote."""
        with self._writing, reading(self.engine) as connection:
            if chain.last_seq(connection) <= self.state.seq:
                return []
            events = list(chain.read(connection, after=self.state.seq))
            self._take_in(events, hash_at(connection, events[-1].seq))
        return events

    def _take_in(self, events: Sequence[Event], digest: str) -> None:
        """`digest`: of the last one, so that pages can say which log they were made from."""
        if not events:
            return
        self.hand_over(lambda: self._apply(events, digest))

    def _apply(self, events: Sequence[Event], digest: str) -> None:
        with self.lock:
            for event in events:
                apply(self.state, event)
            self.state.hash = digest
            for listener in self._listeners:
                listener(events)

    def _load(self) -> None:
        """The newest snapshot that this version can read and that fits the log, and the events after it."""
        with reading(self.engine) as connection, _uncollected():
            fits = select(snapshots.c.seq, snapshots.c.hash).where(snapshots.c.code == VERSION)
            row = connection.execute(fits.order_by(snapshots.c.seq.desc()).limit(1)).first()
            whole = row is not None and hash_at(connection, row.seq) == row.hash
            kept = unpack(read_packed(connection, row.seq)) if row and whole else None
            if kept:
                self.state, self.kept = kept
                self._snapshot_seq = self.state.seq
            for event in chain.read(connection, after=self.state.seq):
                apply(self.state, event)
                self.since_kept.append(event)
            self.state.hash = hash_at(connection, self.state.seq)
        if not self.kept:
            self.since_kept.clear()
        self._keep_snapshot()

    def rebuild(self) -> None:
        """Throw away what is kept beside the log, and make it anew from the log alone."""
        with writing(self.engine) as connection:
            connection.execute(delete(snapshots))
        self.state, self.kept, self._snapshot_seq = State(), {}, 0
        self._load()

    def close(self) -> None:
        """Leave a snapshot of how things stand, so that the next start is fast."""
        if self.state.seq > self._snapshot_seq:
            self._write_snapshot()
        self.engine.dispose()

    def _keep_snapshot(self) -> None:
        """Now and then, so that a start stays fast. It costs as much as the state is large, so large ones are rare."""
        if self._is_kept():
            return
        try:
            if not self.keepers:  # what another process kept is as good
                with reading(self.engine) as connection:
                    newest = connection.execute(select(func.max(snapshots.c.seq)).where(snapshots.c.code == VERSION))
                    self._snapshot_seq = max(self._snapshot_seq, newest.scalar() or 0)
            if not self._is_kept():
                self._write_snapshot()
        except DBAPIError as error:  # what was to happen is in the log; a snapshot only makes the next start faster
            _told.warning("no snapshot was kept: %s", error)

    def _is_kept(self) -> bool:
        return self.state.seq - self._snapshot_seq < max(SNAPSHOT_EVERY, self.state.seq // 100)

    def _write_snapshot(self) -> None:
        with self._writing, self.lock:
            seq, packed = self.state.seq, msgspec.msgpack.encode(self.state)
            beside = {name: keep() for name, keep in self.keepers.items()}
        packed = msgspec.msgpack.encode(Snapshot(msgspec.Raw(packed), beside))
        with writing(self.engine) as connection:
            connection.execute(delete(snapshots))
            digest = hash_at(connection, seq)
            connection.execute(snapshots.insert().values(seq=seq, hash=digest, code=VERSION, state=packed))
        self._snapshot_seq = seq


@contextmanager
def _uncollected() -> Iterator[None]:
    """Millions of new objects, none of them garbage: looking for some in between takes longer than making them."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
