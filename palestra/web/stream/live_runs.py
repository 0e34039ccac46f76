"""What live runs have said so far, read from where they write it."""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Engine, select

from palestra.contest.storage import live, reading

KEPT = 2_000  # notes of one run in memory: more than a curve can show


class Note(msgspec.Struct, frozen=True):
    """One thing that a run said."""

    id: int
    run: str
    at: int
    body: dict[str, Any]


class Runs:
    """The notes of the newest runs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._notes: dict[str, list[Note]] = {}
        self.newest = 0  # id of the newest note

    def catch_up(self) -> Sequence[Note]:
        """Read what is new."""
        with reading(self._engine) as connection:
            rows = connection.execute(select(live).where(live.c.id > self.newest).order_by(live.c.id)).all()
        notes = [Note(row.id, row.run, row.at, msgspec.json.decode(row.body)) for row in rows]
        for note in notes:
            kept = self._notes.setdefault(note.run, [])
            kept.append(note)
            del kept[1:-KEPT]  # the first one says who takes part
            self.newest = note.id
        return notes

    def of(self, run: str) -> list[Note]:
        return self._notes.get(run, [])
