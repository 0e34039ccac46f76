"""The snapshot of a contest's state, kept beside the log for a fast start: a copy, which the log can rebuild."""

import msgspec
from sqlalchemy import Connection, select

from palestra.contest.log import VERSION, State, chain, fold, unpacked
from palestra.contest.storage import events as event_table
from palestra.contest.storage import snapshots


class Snapshot(msgspec.Struct):
    """What is kept beside the log for a fast start."""

    state: msgspec.Raw
    beside: dict[str, bytes]  # what others keep that is computed from the state


def unpack(packed: bytes) -> tuple[State, dict[str, bytes]] | None:
    """Nothing where it is damaged: a snapshot is a copy of what the log says."""
    try:
        snapshot = msgspec.msgpack.decode(packed, type=Snapshot)
        return unpacked(snapshot.state), snapshot.beside
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def snapshot_fits(connection: Connection) -> bool:
    """Whether the snapshot says what the log says. Who can edit a database can edit this copy, and leave the log."""
    row = connection.execute(select(snapshots).order_by(snapshots.c.seq.desc()).limit(1)).first()
    if row is None or row.code != VERSION or hash_at(connection, row.seq) != row.hash:
        return True  # nobody will use it
    state, kept = fold(chain.read(connection, upto=row.seq)), unpack(row.state)
    state.hash = row.hash
    return kept is None or _opened(kept[0]) == state


def _opened(state: State) -> State:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=State)


def hash_at(connection: Connection, seq: int) -> str:
    """Nothing where there is no such event."""
    return str(connection.execute(select(event_table.c.hash).where(event_table.c.seq == seq)).scalar() or "")
