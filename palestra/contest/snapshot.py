"""The snapshot of a contest's state, kept beside the log for a fast start: a copy, which the log can rebuild."""

import msgspec
from sqlalchemy import Connection, select, text

from palestra.contest.log import VERSION, State, chain, fold, unpacked
from palestra.contest.storage import events as event_table
from palestra.contest.storage import snapshots

SLICE = 8 << 20  # bytes of a snapshot that PostgreSQL sends at a time
SLICES = text(
    "SELECT length(state), start, substr(state, start, :slice)"
    " FROM snapshots, generate_series(1, length(state), :slice) AS start WHERE seq = :seq"
)


class Snapshot(msgspec.Struct):
    """What is kept beside the log for a fast start."""

    state: msgspec.Raw
    beside: dict[str, bytes]  # what others keep that is computed from the state


def read_packed(connection: Connection, seq: int) -> bytes | bytearray:
    """A snapshot's bytes; none where another one has taken its place. PostgreSQL and its driver hold a large value ten
    times over while it is sent, and all workers may start at once: it comes in slices, of one statement."""
    if connection.dialect.name == "sqlite":  # it reads the whole value for each slice
        return connection.execute(select(snapshots.c.state).where(snapshots.c.seq == seq)).scalar() or b""
    packed = bytearray()
    found = connection.execute(SLICES, {"seq": seq, "slice": SLICE}, execution_options={"yield_per": 1})
    for whole, start, part in found:
        packed = packed or bytearray(whole)
        packed[start - 1 : start - 1 + len(part)] = part
    return packed


def unpack(packed: bytes | bytearray) -> tuple[State, dict[str, bytes]] | None:
    """Nothing where it is damaged: a snapshot is a copy of what the log says."""
    try:
        snapshot = msgspec.msgpack.decode(packed, type=Snapshot)
        return unpacked(snapshot.state), snapshot.beside
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def snapshot_fits(connection: Connection) -> bool:
    """Whether the snapshot says what the log says. Who can edit a database can edit this copy, and leave the log."""
    newest = select(snapshots.c.seq, snapshots.c.hash, snapshots.c.code).order_by(snapshots.c.seq.desc()).limit(1)
    row = connection.execute(newest).first()
    if row is None or row.code != VERSION or hash_at(connection, row.seq) != row.hash:
        return True  # nobody will use it
    state, kept = fold(chain.read(connection, upto=row.seq)), unpack(read_packed(connection, row.seq))
    state.hash = row.hash
    return kept is None or _opened(kept[0]) == state


def _opened(state: State) -> State:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=State)


def hash_at(connection: Connection, seq: int) -> str:
    """Nothing where there is no such event."""
    return str(connection.execute(select(event_table.c.hash).where(event_table.c.seq == seq)).scalar() or "")
