"""Small contests for tests, told as events: a builder that folds as it goes, and random histories of legal ones."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from hypothesis import strategies as st

from palestra.contest.boards.ranking import Row, board
from palestra.contest.decisions import access, organiser, rescoring, submissions, teams
from palestra.contest.decisions.submissions import Sent
from palestra.contest.log import events as e
from palestra.contest.log.events import Body, Event
from palestra.contest.log.reducer import apply
from palestra.contest.log.state import State
from palestra.contest.rules.model import Phase, Promotion, Quota, Role, Rules, Verification, track_of
from palestra.errors import PalestraError
from palestra.records import Estimate
from palestra.text import Words

START = 1_668_000_000_000  # Wed 9 Nov 2022, 21:20 in Shanghai
HOUR = 3_600_000
DAY = 24 * HOUR
METRICS = ("pe_deg", "p50_deg", "p95_deg", "mean_deg")  # of near-eye-gaze-v1; the first ranks, lower is better
ORGANISER = "organiser"


def a_phase(name: str = "first", **changes: Any) -> Phase:
    """A phase that everybody may enter, open for ten days; what is rounded is another test's matter."""
    settings: dict[str, Any] = {
        "id": name, "title": Words(name), "track": "near-eye-gaze-v1", "opens": START, "closes": START + 10 * DAY,
        "quota": Quota(1000, "day"), "fault_quota": Quota(1000, "day"), "scores": "exact",
    }  # fmt: skip
    return Phase(**{**settings, **changes})


def some_rules(*phases: Phase, **changes: Any) -> Rules:
    settings: dict[str, Any] = {"id": "test", "name": Words("Test"), "zone": "Asia/Shanghai"}
    return Rules(**{**settings, "phases": phases or (a_phase(),), **changes})


def two_phases(**changes: Any) -> Rules:
    """A first phase that promotes two teams, and a second one for them."""
    first = a_phase(promotion=Promotion("second", 2), verification=Verification(5), **changes)
    second = a_phase("second", entry="promoted", opens=START + 12 * DAY, closes=START + 20 * DAY, data="data/second")
    return some_rules(msgspec.structs.replace(first, data="data/first"), second)


def numbers(value: float, **others: float) -> dict[str, Estimate]:
    return {name: Estimate(others.get(name, value)) for name in METRICS}


class Story:
    """A contest as it is told: events, the state after them, and the time."""

    def __init__(self, rules: Rules | None = None, at: int = START) -> None:
        self.state = State()
        self.events: list[Event] = []
        self.now = at
        self.draws: dict[str, bytes] = {}  # of results, by digest
        self._count = 0
        self.add(*organiser.open_contest(self.state, rules or some_rules(), "tests"))
        self.add(e.AccountMade(ORGANISER, "Olga", "organiser"))

    def add(self, *bodies: Body, by: str = ORGANISER) -> None:
        for body in bodies:
            self.events.append(Event(len(self.events) + 1, self.now, by, body))
            apply(self.state, self.events[-1])

    def wait(self, ms: int) -> "Story":
        self.now += ms
        return self

    def until(self, at: int) -> "Story":
        return self.wait(at - self.now)

    def new(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def account(self, role: Role = "member") -> str:
        name = self.new("a")
        self.add(e.AccountMade(name, f"Person {name}", role), by=name)
        return name

    def team(self, name: str = "") -> str:
        """A team with a captain of its own."""
        captain, team = self.account(), self.new("t")
        self.add(e.TeamMade(team, name or f"Team {team}", captain), by=captain)
        return team

    def captain(self, team: str) -> str:
        return self.state.teams[team].captain

    def member(self, team: str) -> str:
        account, secret = self.account(), self.new("secret")
        self.add(*teams.invite(self.state, self.now, team, secret, self.captain(team)), by=self.captain(team))
        self.add(*teams.join(self.state, self.now, secret, account), by=account)
        return account

    def submit(self, team: str, phase: str = "first") -> str:
        name = self.new("s")
        by, ending = self.captain(team), submissions.kinds(track_of(self.state.phase(phase)))[0]
        self.add(*submissions.receive(self.state, self.now, Sent(name, team, phase, "f" * 64, f"a{ending}", 10)), by=by)
        return name

    def baseline(self, value: float, name: str = "", phase: str = "first", **others: Any) -> str:
        sent, name = self.new("s"), name or self.new("Baseline ")
        self.add(e.SubmissionMade(sent, "", phase, "f" * 64, "a.csv", 10, name))
        self.score(sent, value, **others)
        return sent

    def accept(self, submission: str) -> None:
        self.add(e.SubmissionAccepted(submission), by="worker:w")

    def refuse(self, submission: str) -> None:
        self.add(e.SubmissionRefused(submission, ("line 3: found x, expected a number",), 1), by="worker:w")

    def fail(self, submission: str, fault: Any = "contestant", last: bool = True) -> None:
        self.add(e.AttemptStarted(submission, 1, "w"), by="worker:w")
        self.add(e.AttemptFailed(submission, 1, fault, "it stopped", last=last), by="worker:w")

    def score(self, submission: str, value: float, rescoring: str = "", drawn: bool = True, **others: Any) -> None:
        """A result; on the shown part it is twice as much, so that the two are told apart."""
        metrics = others.pop("metrics", None) or numbers(value, **others)
        self.add(
            e.ResultMade(
                submission, 1, metrics, "r" * 64, self.drawn(value) if drawn else "",
                {name: Estimate(one.value * 2) for name, one in metrics.items()},
                self.drawn(2 * value) if drawn else "", files={"scores": "5" * 64}, rescoring=rescoring,
            ),
            by="worker:w",
        )  # fmt: skip

    def scored(self, team: str, value: float, phase: str = "first", **others: Any) -> str:
        """A submission from being sent to its score."""
        name = self.submit(team, phase)
        self.accept(name)
        self.score(name, value, **others)
        return name

    def rescore(self, phase: str = "first", *chosen: str) -> str:
        name = self.new("r")
        self.add(*rescoring.propose(self.state, self.now, name, phase, chosen, "a better scorer"))
        return name

    def drawn(self, value: float) -> str:
        """Resamples around a value; the same people for everybody, so differences are clear."""
        spread = np.random.default_rng(7).normal(0, 0.2, 50)
        packed = (value + spread).astype(np.float32).tobytes()
        digest = hashlib.sha256(packed).hexdigest()
        self.draws[digest] = packed
        return digest

    def board(self, phase: str = "first", as_of: int | None = None, part: Any = "whole") -> list[Row]:
        return board(self.state, phase, self.now if as_of is None else as_of, part, self.draws.__getitem__)


def ranks(rows: Sequence[Row]) -> list[tuple[int | None, str]]:
    """A board in short: ranks with teams, or the names of baselines."""
    return [(row.rank, row.entry.team or row.entry.name) for row in rows]


# Random histories: a list of moves, each of which is tried, and left out where the rules do not allow it


Move = tuple[str, int, int]  # what, and two numbers to choose by
VALUES = (1.0, 1.5, 1.5, 2.0, 3.0)  # few, so that there are ties


def histories(least: int = 25, most: int = 60) -> st.SearchStrategy[Story]:
    """Contests of two phases, three teams and two baselines, in which everything goes on at once."""
    number = st.integers(0, 11)
    often = ["submit", "score", "score", "score", "withdraw", "propose", "score again", "apply", "wait", "wait"]
    moves = st.tuples(st.sampled_from([*_MOVES, *often]), number, number)
    return st.lists(moves, min_size=least, max_size=most).map(tell)


def tell(moves: Sequence[Move]) -> Story:
    story = Story(_random_rules())
    for value in VALUES[:3]:
        team = story.team()
        story.scored(team, value)
        story.wait(1).submit(team, "second")
    for what, one, other in moves:
        try:
            _MOVES[what](story, one, other)
        except PalestraError:
            continue
    return story


def _random_rules(**changes: Any) -> Rules:
    first = a_phase(split=0.5, freeze=START + 40, **changes)
    return some_rules(first, a_phase("second", board="last"))


def _pick(found: Sequence[Any], number: int) -> Any:
    if not found:
        raise PalestraError("There is none to choose.")
    return found[number % len(found)]


def _team(story: Story, number: int) -> str:
    return str(_pick(sorted(story.state.teams), number))


def _in_stage(story: Story, stages: Sequence[str], number: int) -> str:
    return str(_pick([one.id for one in story.state.submissions.values() if one.stage in stages], number))


def _open_set(story: Story, number: int) -> Any:
    return _pick([one for one in story.state.rescorings.values() if one.state == "open"], number)


def _submit(story: Story, one: int, other: int) -> None:
    story.submit(_team(story, one), ("first", "second")[other % 2])


def _submit_baseline(story: Story, one: int, other: int) -> None:
    phase = ("first", "second")[other % 2]
    story.add(e.SubmissionMade(story.new("s"), "", phase, "f" * 64, "a.csv", 10, f"Baseline {one % 2}"))


def _score(story: Story, one: int, other: int) -> None:
    value = _pick(VALUES, other)
    sent = _in_stage(story, ("checking", "queued", "running"), one)
    story.score(sent, value, drawn=other % 4 != 3, p50_deg=float(other % 3), p95_deg=float(one % 3))


def _fail(story: Story, one: int, other: int) -> None:
    story.fail(
        _in_stage(story, ("checking", "queued", "running"), one),
        ("platform", "contestant")[other % 2],
        last=other % 3 == 0,
    )


def _withdraw(story: Story, one: int, other: int) -> None:
    story.add(*submissions.withdraw(story.state, story.now, _in_stage(story, ("scored",), one), "", "was a mistake"))


def _cancel(story: Story, one: int, other: int) -> None:
    sent = _in_stage(story, ("checking", "queued", "running"), one)
    story.add(*submissions.cancel(story.state, story.now, sent, "no longer needed"))


def _disqualify(story: Story, one: int, other: int) -> None:
    story.add(*teams.disqualify(story.state, _team(story, one), ("", "first", "second")[other % 3], "broke a rule"))


def _reinstate(story: Story, one: int, other: int) -> None:
    story.add(*teams.reinstate(story.state, _team(story, one), ("", "first", "second")[other % 3], "was an error"))


def _propose(story: Story, one: int, other: int) -> None:
    story.rescore(("first", "second")[one % 2])


def _score_again(story: Story, one: int, other: int) -> None:
    found = _open_set(story, one)
    story.score(_pick(found.submissions, one), _pick(VALUES, other), found.id)


def _fail_again(story: Story, one: int, other: int) -> None:
    found = _open_set(story, one)
    story.add(e.RescoringFailed(found.id, _pick(found.submissions, other), "it stopped"))


def _apply_set(story: Story, one: int, other: int) -> None:
    found = _open_set(story, one)
    for name in found.submissions:  # else few sets would ever be complete
        if all(score.rescoring != found.id for score in story.state.submissions[name].scores):
            story.score(name, _pick(VALUES, other + len(name)), found.id)
    story.add(*rescoring.apply(story.state, found.id))


def _cancel_set(story: Story, one: int, other: int) -> None:
    story.add(*rescoring.cancel(story.state, _open_set(story, one).id, "a wrong one"))


def _amend(story: Story, one: int, other: int) -> None:
    newest = story.state.versions[-1].rules
    ties = _pick([(), ("earlier",), ("p50_deg",), ("p95_deg", "earlier")], other)
    phases = [msgspec.structs.replace(phase, ties=ties, board=_pick(("best", "last"), one)) for phase in newest.phases]
    rules = msgspec.structs.replace(newest, phases=tuple(phases))
    story.add(*organiser.amend(story.state, story.now, rules, story.now + other, "a clearer rule"))


def _freeze(story: Story, one: int, other: int) -> None:
    story.add(*organiser.freeze(story.state, ("first", "second")[one % 2]))


def _release(story: Story, one: int, other: int) -> None:
    story.add(e.BoardReleased(("first", "second")[one % 2]))


def _rename(story: Story, one: int, other: int) -> None:
    story.add(*teams.rename_team(story.state, story.now, _team(story, one), f"Name {other}", ORGANISER))


def _move(story: Story, one: int, other: int) -> None:
    phase = ("first", "second")[one % 2]
    times = START - other, START + 10 * DAY + other
    story.add(*organiser.move_phase(story.state, story.now, phase, *times, "the server was away"))


def _ask(story: Story, one: int, other: int) -> None:
    phase = story.state.phase("first", story.now)
    asked = access.request(story.state, story.now, _team(story, one), "first", access.licence_digest(phase))
    story.add(*asked)


def _wait(story: Story, one: int, other: int) -> None:
    story.wait(one % 4)


_MOVES: dict[str, Callable[[Story, int, int], None]] = {
    "submit": _submit, "baseline": _submit_baseline, "score": _score, "fail": _fail, "withdraw": _withdraw,
    "cancel": _cancel, "disqualify": _disqualify, "reinstate": _reinstate, "propose": _propose,
    "score again": _score_again, "fail again": _fail_again, "apply": _apply_set, "cancel set": _cancel_set,
    "amend": _amend, "freeze": _freeze, "release": _release, "rename": _rename, "move": _move, "ask": _ask,
    "wait": _wait,
}  # fmt: skip
