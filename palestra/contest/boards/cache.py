"""Boards kept up to date: what one event changes is computed again, and nothing else. All of it can be rebuilt."""

import logging
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from palestra.contest import Contest, Part, Sight, Viewer, sight_of_board
from palestra.contest.boards import ranking
from palestra.contest.boards.ranking import Entry, FinalRow, Row
from palestra.contest.log import Event, State
from palestra.contest.log import events as e
from palestra.contest.match import MatchBody, team_of
from palestra.contest.rules import track_of
from palestra.contest.storage import DamagedFile, MissingFile

_told = logging.getLogger("palestra.contest")
Key = tuple[str, Part, bool, int | None, int]
# phase, part of the people, whether rounded, as of when, how many versions the rules have then
AS_OF = 64  # boards of earlier times that are kept
_Kept = tuple[str, Part, bool, int, dict[str, Entry | None]]
KEPT = "board-entries"  # what a snapshot calls them
DRAWS = 4_096  # sets of resamples that are kept in memory: 4 kB each


class Boards:
    """The boards of a contest, as anybody may see them."""

    def __init__(self, contest: Contest) -> None:
        self._contest = contest
        self._lock = contest.lock  # one lock: two could wait for each other
        self._entries: dict[Key, dict[str, Entry | None]] = {}
        self._rows: dict[Key, tuple[int, list[Row]]] = {}
        self._changes: dict[str, int] = {}  # of each phase: how often an event may have changed its board
        self._read = lru_cache(maxsize=DRAWS)(contest.files.read)
        self._restore()
        contest.keepers[KEPT] = self._packed
        contest.listen(self._take_in)

    def _restore(self) -> None:
        """What a snapshot has of the boards, but for what was touched since."""
        packed = self._contest.kept.pop(KEPT, b"")
        if packed:
            for phase, part, rounded, versions, entries in msgspec.msgpack.decode(packed, type=list[_Kept]):
                self._entries[phase, part, rounded, None, versions] = entries
            self._take_in(self._contest.since_kept)
        self._contest.since_kept.clear()

    def _packed(self) -> bytes:
        now = [(*key[:3], key[4], known) for key, known in self._entries.items() if key[3] is None]
        return msgspec.msgpack.encode(now)

    def _draws(self, digest: str) -> bytes:
        """A metric's resamples. A board without those that are lost has no bands, but it is a board."""
        try:
            return self._read(digest)
        except (MissingFile, DamagedFile) as error:
            _told.warning("a board is shown without bands: %s", error)
            return b""

    def seen(self, phase_id: str, viewer: Viewer) -> tuple[Sight, list[Row]] | None:
        """A board as someone sees it now; nothing where they may not."""
        state, now = self._contest.state, self._contest.now()
        sight = sight_of_board(state, state.phase(phase_id, now), viewer, now)
        return (sight, self.rows(phase_id, sight.part, sight.as_of, sight.rounded)) if sight else None

    def version(self, phase_id: str) -> int:
        """A number that is another one whenever a board of this phase may be another one."""
        return self._changes.get(phase_id, 0) + self._versions_of_rules(self._now())

    def _versions_of_rules(self, at: int) -> int:
        """Rules come into force by time alone, without an event."""
        return sum(version.counts_from <= at for version in self._contest.state.versions)

    def _now(self) -> int:
        return max(self._contest.now(), self._contest.state.at)

    def rows(self, phase_id: str, part: Part = "whole", as_of: int | None = None, rounded: bool = False) -> list[Row]:
        """A board as of some time; null is now."""
        with self._lock:
            at, changes = self._now() if as_of is None else as_of, self._changes.get(phase_id, 0)
            key: Key = (phase_id, part, rounded, as_of, self._versions_of_rules(at))
            kept = self._rows.get(key)
            if kept and kept[0] == changes:
                return kept[1]
            state = self._contest.state
            phase = state.phase(phase_id, at)
            track = track_of(phase)
            known = self._entries.setdefault(key, {})
            for whose in ranking.those_in(state, phase):
                if whose not in known:
                    known[whose] = ranking.entry_of(state, phase, whose, at, part, rounded)
            rows = ranking.rows(phase, track, [entry for entry in known.values() if entry], self._draws)
            self._rows[key] = (changes, rows)
            self._forget_oldest()
            return rows

    def _forget_oldest(self) -> None:
        """Somebody who looks at every moment of a contest does not fill the memory."""
        earlier = [key for key in self._rows if key[3] is not None]
        for key in earlier[: len(earlier) - AS_OF]:
            del self._rows[key], self._entries[key]

    def final_at(self, at: int) -> list[FinalRow]:
        """The final standing as it was, for the organiser and for what was awarded by it."""
        state = self._contest.state
        return ranking.final(state, at, {phase: self.rows(phase, "whole", at) for phase in state.rules(at).weights})

    def final(self, viewer: Viewer) -> list[FinalRow]:
        """The final standing, where all of its boards may be seen in full."""
        state, now = self._contest.state, self._now()
        seen = {phase: self.seen(phase, viewer) for phase in state.rules(now).weights}
        boards = {phase: one[1] for phase, one in seen.items() if one and one[0].as_of is None and not one[0].partial}
        return ranking.final(state, now, boards) if len(boards) == len(seen) else []

    def _take_in(self, events: Sequence[Event]) -> None:
        with self._lock:
            for event in events:
                for phase, whose in self._touched(event.at, event.body):
                    self._forget(phase, whose)

    def _forget(self, phase: str, whose: str | None) -> None:
        self._changes[phase] = self._changes.get(phase, 0) + 1
        for key, known in self._entries.items():
            if key[0] == phase:
                if whose is None:
                    known.clear()
                else:
                    known.pop(whose, None)

    def _touched(self, at: int, body: e.Body) -> Iterator[tuple[str, str | None]]:
        """Which boards an event changes, and whose entry on them; null is everybody's."""
        state = self._contest.state
        if isinstance(body, MatchBody):
            yield from judged_by(state, at, body)
            return
        match body:
            case e.ResultMade() | e.SubmissionWithdrawn():
                one = state.submissions[body.submission]
                yield one.phase, one.team or f"baseline:{one.baseline}"
            case e.TeamDisqualified() | e.TeamReinstated() | e.TeamRenamed():
                for phase in {*state.of_team, *state.on_site}:
                    if body.team in {*state.of_team.get(phase, ()), *state.on_site.get(phase, ())}:
                        yield phase, body.team
            case e.RescoringApplied():
                yield state.rescorings[body.rescoring].phase, None
            case e.PhaseMoved() | e.BoardReleased() | e.BoardFrozen():
                yield body.phase, None
            case e.RulesAmended() | e.ContestOpened():
                for phase_rules in state.rules().phases:
                    yield phase_rules.id, None


def judged_by(state: State, at: int, body: MatchBody) -> Iterator[tuple[str, str]]:
    """The phase and the team whose result an event at the referees' table has changed; most change none."""
    phase, team = state.matches[body.match].opened.phase, team_of(body)
    if any(one.at == at for one in state.on_site.get(phase, {}).get(team, [])):
        yield phase, team
