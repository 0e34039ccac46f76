"""What a live run says while it is under way, written into the database from a thread of its own.

Nothing here holds up a run: a note is queued and that is all. When the database does not keep up, notes give way to
newer ones; when it does not answer, they are tried again. The same thread looks whether the run was ended meanwhile.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Engine, select, text
from sqlalchemy.exc import SQLAlchemyError

from palestra.contest.log import events as e
from palestra.contest.log import last_seq
from palestra.contest.storage import events, live, reading, writing
from palestra.contest.workers.score import Entrant
from palestra.contest.workers.stage_versions import StageVersions
from palestra.errors import clean
from palestra.live import Keep, Moment, Standing
from palestra.records import Sitting, Track
from palestra.text import Text, Words

CHANNEL = "palestra_live"  # on which PostgreSQL tells listeners that there is something new
MOST_WAITING = 1000  # notes: four minutes of the busiest run
LOOK_S = 0.5  # between two looks whether the run was ended
RETRY_S = 1.0  # after the database did not answer
CLOSE_S = 10.0  # that the last notes may take, once the run is over

log = logging.getLogger(__name__)


class _Note(NamedTuple):
    number: int
    at: int  # ms, when it was said
    body: str


class LiveNotes:
    """The notes of one run, in order. `close` waits for those that are still to be written."""

    def __init__(self, engine: Engine, run: str, now: Callable[[], int], close_s: float = CLOSE_S) -> None:
        self.engine, self._run, self._now, self._close_s = engine, run, now, close_s
        self._changed = threading.Condition()  # over what follows
        self._waiting: deque[_Note] = deque()
        self._said = 0
        self._closing = self._over = False
        self.lost = 0  # notes that were never written
        self._seen = 0  # the last event that was looked at
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def say(self, body: Mapping[str, Any]) -> None:
        """Queue a note; never waits."""
        at, words = self._now(), msgspec.json.encode(body).decode()
        with self._changed:
            self._said += 1
            if len(self._waiting) >= MOST_WAITING:
                del self._waiting[1]  # the first may be the start, without which the others mean nothing
                self.lost += 1
            self._waiting.append(_Note(self._said, at, words))
            self._changed.notify()

    def stopped(self) -> bool:
        """Whether the log says that the run has ended."""
        return self._stop.is_set()

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(self._close_s)
        with self._changed:
            self._over = True
            self.lost += len(self._waiting)
            self._changed.notify()
        if self.lost:
            log.warning("run %s: %s of its notes could not be written", self._run, self.lost)

    def _work(self) -> None:
        answers = True
        while True:
            try:
                self._write()
                self._look()
                answers = True
            except SQLAlchemyError as error:
                if answers:
                    log.warning("run %s: the database does not answer, and is asked again: %s", self._run, error)
                answers = False
            with self._changed:
                if self._over or (self._closing and not self._waiting):
                    return
                if not answers:
                    self._changed.wait(RETRY_S)
                elif not self._waiting:
                    self._changed.wait(LOOK_S)

    def _write(self) -> None:
        """Write what waits, in one transaction; it is let go only once it is there."""
        with self._changed:
            notes = list(self._waiting)
        if not notes:
            return
        rows = [{"run": self._run, "at": note.at, "body": note.body} for note in notes]
        with writing(self.engine) as connection:
            connection.execute(live.insert(), rows)
            if self.engine.dialect.name == "postgresql":  # which tells its listeners when this is committed
                connection.execute(text("SELECT pg_notify(:channel, :run)"), {"channel": CHANNEL, "run": self._run})
        with self._changed:
            while self._waiting and self._waiting[0].number <= notes[-1].number:
                self._waiting.popleft()

    def _look(self) -> None:
        with reading(self.engine) as connection:
            upto = last_seq(connection)
            new = (events.c.seq > self._seen) & (events.c.seq <= upto)
            about = events.c.body.contains("run.ended") & events.c.body.contains(self._run, autoescape=True)
            bodies = [e.decode(row.body) for row in connection.execute(select(events.c.body).where(new & about))]
        self._seen = upto
        if any(isinstance(body, e.RunEnded) and body.run == self._run for body in bodies):
            self._stop.set()


class Commentary:
    """Follows a run and says in notes how it goes, in the words that screens know."""

    def __init__(
        self, notes: LiveNotes, track: Track, entrants: Mapping[str, Entrant], versions: StageVersions
    ) -> None:
        self._versions = versions
        self._notes, self._track, self._entrants = notes, track, entrants  # by the name that each plays under
        self._sittings: Sequence[Sitting] = ()
        self._missed = dict.fromkeys(entrants, 0)  # as it was said last
        self.absent: dict[str, Text] = {}  # whose bundle could not be opened, and why

    def begin(self, sittings: Sequence[Sitting], names: Sequence[str], refused: Mapping[str, Text]) -> None:
        self._sittings = sittings
        metric, absent = self._track.ranks, {**self.absent, **refused}
        self._notes.say(
            {
                "kind": "start",
                "teams": [self._who(name) for name in names],
                "absent": [{**self._who(name), "message": clean(str(why))} for name, why in absent.items()],
                "sittings": [
                    {"name": one.name, "decisions": one.decisions, "seconds": one.seconds} for one in sittings
                ],
                "metric": metric.name,
                "unit": metric.unit,
                "better": metric.better,
            }
        )

    def stood(self, moment: Moment) -> None:
        sitting = self._sittings[moment.sitting]
        before = self._sittings[: moment.sitting]
        self._notes.say(
            {
                "kind": "standing",
                "sitting": sitting.name,
                "number": moment.standings[0].decided - sum(one.decisions for one in before),
                "of": sitting.decisions,
                "at_s": round(sum(one.seconds for one in before) + moment.at_s, 3),
                "deadline_s": moment.deadline_s,
                "teams": [self._stands(one) for one in moment.standings],
            }
        )

    def window(self, sitting: str, closes_in_s: float) -> None:
        self._versions.open(sitting, closes_in_s)

    def hand_in(self, sitting: str, keep: Keep) -> None:
        self._versions.hand_in(sitting, keep, self._notes.stopped)

    def took(self, sitting: str, refused: Mapping[str, Text]) -> None:
        self._versions.took(sitting, refused)

    def stopped(self) -> bool:
        return self._notes.stopped()

    def end(self, outcome: str, message: Words, values: Mapping[str, float]) -> None:
        """The last note; values are those of the results, by name."""
        teams = [{**self._who(name), "value": value} for name, value in values.items()]
        self._notes.say({"kind": "end", "outcome": outcome, "message": message.en, "teams": teams})

    def _who(self, name: str) -> dict[str, Any]:
        one = self._entrants[name]
        return {"team": one.team_id, "name": name, "submission": one.submission}

    def _stands(self, one: Standing) -> dict[str, Any]:
        missed_now, self._missed[one.name] = one.missed > self._missed[one.name], one.missed
        said = {
            **self._who(one.name),
            "value": one.value,
            "decided": one.decided,
            "missed": one.missed,
            "just_missed": missed_now,
            "latency_ms": None if missed_now or not one.newest_s else _ms(one.newest_s[-1]),
            "latency_ms_p50": _ms(one.latency_s(0.5)),
            "latency_ms_p95": _ms(one.latency_s(0.95)),
        }
        return said | ({"last_error": clean(str(one.last_note))} if one.last_note else {})


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 2)
