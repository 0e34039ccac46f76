"""A match's cases in the simulated table, in place of the robot, for palestra/contest/rehearsal.py."""

from collections.abc import Callable
from dataclasses import dataclass

from palestra.contest import Attempt
from palestra.contest.match import SimulatedCase, SimulatedGoal
from palestra.live import Action, Step, episode_run
from palestra.records import Case
from palestra.tracks.tabletop import format as on_disk
from palestra.tracks.tabletop.episode import TableWorld, read
from palestra.tracks.tabletop.manip_v1 import PERIOD_S, Settings
from palestra.tracks.tabletop.simulator.goals import Progress


class WatchedWorld(TableWorld):
    """A case in which somebody notes when sub-goals come to hold, and when they no longer do. No program sees it."""

    def __init__(self, case: on_disk.Case, number: int, size: int, saw: Callable[[str, bool], None]) -> None:
        super().__init__(case, number, size)
        self.progress = Progress(case.goals)
        self._saw = saw

    def move(self, action: Action | None) -> None:
        super().move(action)
        before = dict(self.progress.holding)
        self.progress.note(self.table.facts(), self.table.time_s)
        for goal, holds in self.progress.holding.items():
            if holds != before[goal]:
                self._saw(goal, holds)


@dataclass
class _Silent:
    """A run's log, of which nothing is kept."""

    def moved(self, entrant: str, step: Step) -> None:
        pass


def play(attempt: Attempt, case: on_disk.Case, settings: Settings) -> SimulatedCase:
    """One attempt at a case: as long as its time in the match, and no longer than one has online."""
    worlds: list[WatchedWorld] = []

    def open_world() -> WatchedWorld:
        worlds.append(WatchedWorld(case, attempt.number, settings.size, attempt.saw))
        return worlds[0]

    round_ = Case(case.id, open_world, min(attempt.budget_s, settings.limit_s), PERIOD_S, settings.waits)
    player = attempt.player
    decision = episode_run.act(round_, player.entry, player.line, player.clock, _Silent())
    facts, first = read(decision.answer, case), worlds[0].progress.first_true_s
    goals = {goal.id: SimulatedGoal(goal.holds(facts), first[goal.id]) for goal in case.goals}
    return SimulatedCase(case.id, goals, float(decision.answer["seconds"]))
