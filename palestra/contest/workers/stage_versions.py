"""Other versions of programs, handed in while a run is on stage: what the contest's log has of them, and is told.

Nothing here is called while a sitting runs: the log is written when a window opens, and read when it has closed. A
database that does not answer costs the run nothing but that window's versions, and the run says so at its end.
"""

import time
from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from palestra.contest import Contest
from palestra.contest.log import Body, Submission, wall_clock
from palestra.contest.log import events as e
from palestra.contest.storage import Files
from palestra.contest.workers.score import Entrant
from palestra.live import Keep
from palestra.text import Text, Words, say, words_of

CHECKS_S = 300.0  # that the checks of what was handed in may take beyond the window
LOOK_S = 0.2  # between two looks whether they are done
BY = "worker:stage"


class StageVersions:
    """The versions of one run, by the names that its entrants play under."""

    def __init__(self, engine: Engine, files: Files, run: str, entrants: Mapping[str, Entrant]) -> None:
        self._engine, self._files, self._run, self._entrants = engine, files, run, entrants
        self._contest: Contest | None = None
        self._kept: dict[str, Submission] = {}  # for the sitting that comes next, by the entrant's name
        self._known = {one.submission for one in entrants.values()}  # what played, or was tried, already
        self.trouble: list[Words] = []  # what the organiser is to be told at the end

    def open(self, sitting: str, closes_in_s: float) -> None:
        """Write down that a window is open."""
        self._answered(sitting, lambda: self._open(sitting, closes_in_s))

    def _open(self, sitting: str, closes_in_s: float) -> None:
        closes_ms = wall_clock() + round(closes_in_s * 1000)
        self._act([e.WindowOpened(self._run, sitting, closes_ms)])

    def hand_in(self, sitting: str, keep: Keep, stopped: Callable[[], bool]) -> None:
        """Keep each team's newest version that was handed in and accepted; checks that still run are waited for."""
        self._kept = {}
        self._answered(sitting, lambda: self._hand_in(keep, stopped))

    def _hand_in(self, keep: Keep, stopped: Callable[[], bool]) -> None:
        until = time.monotonic() + CHECKS_S
        while self._checking() and time.monotonic() < until and not stopped():
            time.sleep(LOOK_S)
        for name, one in self._entrants.items():
            ready = [other for other in self._new(one) if other.stage == "ready"]
            self._known |= {other.id for other in ready}
            if ready:
                with self._files.local(ready[-1].file, ready[-1].name) as file:
                    keep(name, file)
                self._kept[name] = ready[-1]

    def took(self, sitting: str, refused: Mapping[str, Text]) -> None:
        """Write down who plays another version from now on, and why somebody does not."""
        whys = {name: words_of(refused.get(name, "")) for name in self._kept}
        bodies = [
            e.VersionTaken(self._run, sitting, one.id, one.file, whys[name].en, e.chinese_of(whys[name]))
            for name, one in self._kept.items()
        ]
        self._answered(sitting, lambda: self._act(bodies))

    def _checking(self) -> bool:
        self._log().catch_up()
        return any(one.stage == "checking" for entrant in self._entrants.values() for one in self._new(entrant))

    def _new(self, entrant: Entrant) -> list[Submission]:
        """What a team has handed in since the run began and did not play with yet."""
        state = self._log().state
        run = state.runs[self._run]
        names = state.of_team.get(run.phase, {}).get(entrant.team_id, []) if entrant.team_id else []
        found = [state.submissions[name] for name in names if name not in self._known]
        return [one for one in found if one.at >= run.at]

    def _act(self, bodies: Sequence[Body]) -> None:
        self._log().act(BY, lambda state, now: () if state.runs[self._run].outcome else bodies)

    def _log(self) -> Contest:
        """The contest's log, opened when it is needed first: most runs have no windows."""
        if self._contest is None:
            self._contest = Contest(self._engine, self._files)
        return self._contest

    def _answered(self, sitting: str, ask: Callable[[], None]) -> None:
        try:
            ask()
        except SQLAlchemyError as error:
            self.trouble.append(
                say(
                    "The database did not answer in the window before {sitting}, so versions may be missing: {why}",
                    sitting=sitting,
                    why=type(error).__name__,
                )
            )
