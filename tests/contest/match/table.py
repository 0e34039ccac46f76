"""A referee's table for tests: a match told by wishes, with a clock that is moved by hand."""

from typing import Any

import msgspec

from palestra.contest.match import events as e
from palestra.contest.match.cases import Case, Entrant, Goal, Group, Thing
from palestra.contest.match.event_kinds import Who
from palestra.contest.match.events import Entry, MatchBody, MatchOpened
from palestra.contest.match.outcomes import outcomes_of
from palestra.contest.match.reducer import apply, at_time, opened
from palestra.contest.match.rules import PRESETS, MatchRules
from palestra.contest.match.state_machine import decide
from palestra.contest.match.turn import current
from palestra.text import Words

START = 1_793_000_000_000
SECOND, MINUTE = 1000, 60_000
HEAD, ANNA, BO, CHEN = Who("head", "head"), Who("anna", "referee"), Who("bo", "referee"), Who("chen", "referee")
ORGANISER = Who("olga", "organiser")
RED, BLUE = Who("rosa", "team", "red"), Who("ben", "team", "blue")


def a_sheet(groups: int = 2, cases: int = 2, goals: int = 2) -> tuple[Group, ...]:
    return tuple(
        Group(
            f"g{g}",
            Words(f"Group {g}"),
            tuple(
                Case(
                    f"g{g}c{c}",
                    Words(f"Do {g}.{c}", f"做 {g}.{c}"),
                    tuple(Goal(f"s{s}", Words(f"sub-goal {s}")) for s in range(1, goals + 1)),
                    (1, 2),
                    f"layout{g}{c}",
                )
                for c in range(1, cases + 1)
            ),
        )
        for g in range(1, groups + 1)
    )


THINGS = (Thing(1, Words("red block")), Thing(2, Words("red bowl")), Thing(3, Words("spoon")))


class Table:
    """Asks as people do; keeps the log."""

    def __init__(self, rules: MatchRules | str = "seed", sheet: tuple[Group, ...] | None = None, **more: Any) -> None:
        found = PRESETS[rules] if isinstance(rules, str) else rules
        found = msgspec.structs.replace(found, shape="about", **more.pop("settings", {}))
        self.now = START
        teams = (Entrant("red", "Red", "core-r"), Entrant("blue", "Blue"))
        self.body = MatchOpened(
            match="m", phase="onsite", rules=found, groups=sheet or a_sheet(), teams=teams, head="head", things=THINGS,
            **more,
        )  # fmt: skip
        self.match = opened(self.body, self.now)
        self.log = [Entry(1, self.now, "olga", self.body)]

    def ask(self, who: Who, kind: type, **fields: Any) -> list[MatchBody]:
        """Ask for something of the team at the table, one millisecond after what was before."""
        self.now += 1
        return self.send(who, self.body_of(kind, **fields))

    def send(self, who: Who, body: MatchBody) -> list[MatchBody]:
        decided = decide(self.match, who, body, self.now)
        for one in decided:
            self.log.append(Entry(self.log[-1].seq + 1, self.now, who.account, one))
            apply(self.match, self.log[-1])
        return decided

    def body_of(self, kind: type, **fields: Any) -> Any:
        names = kind.__struct_fields__
        if "team" in names and "team" not in fields and kind is not e.EventUndone:
            fields["team"] = "red"
        if "case" in names and "case" not in fields and kind not in (e.ConductNoted, e.LogTaken, e.PenaltyProposed):
            fields["case"] = self.case
        return kind(match="m", **fields)

    def wait(self, ms: int) -> "Table":
        self.now += ms
        return self

    @property
    def case(self) -> str:
        """The one at the table."""
        found = current(self.match.opened, at_time(self.match, "red", self.now))
        return found.id if found else ""

    def settled(self) -> "Table":
        for who in (HEAD, ANNA, BO, CHEN):
            self.ask(who, e.RefereeDeclared)
        if not self.match.setup.groups:
            self.ask(ORGANISER, e.GroupsDrawn, seed="dice 3 5 1")
        return self

    def begun(self, team: str = "red") -> "Table":
        """At the table, its 55 minutes just begun."""
        if not self.match.setup.declared:
            self.settled()
        self.ask(ANNA, e.ImageTaken, team=team, image=f"image-{team}")
        self.ask(ANNA, e.ImageFrozen, team=team, image=f"image-{team}")
        self.ask(HEAD, e.TurnBegun, team=team, referees=("anna", "bo"))
        return self

    def prepared(self, team: str = "red") -> str:
        """All but the start of the case at the table."""
        found = current(self.match.opened, at_time(self.match, team, self.now))
        assert found is not None
        case = next(one for group in self.body.groups for one in group.cases if one.id == found.id)
        about = {"team": team, "case": case.id}
        self.ask(ANNA, e.SceneChecked, **about, things=case.things, layout=case.layout, photo="photo")
        self.ask(Who("x", "team", team), e.SystemConfirmed, **about)
        self.ask(ANNA, e.InstructionEntered, **about, text=case.instruction.en)
        self.ask(Who("x", "team", team), e.SignalGiven, **about)
        return case.id

    def started(self, team: str = "red") -> str:
        case = self.prepared(team)
        self.ask(ANNA, e.CaseStarted, team=team, case=case)
        return case

    def signed(self, case: str, met: tuple[str, ...], attempt: int = 1, team: str = "red") -> None:
        for who in (ANNA, BO):
            self.ask(who, e.MarksSigned, team=team, case=case, attempt=attempt, met=met)

    def played(self, met: tuple[str, ...] = ("s1", "s2"), ms: int = 30 * SECOND, team: str = "red") -> str:
        """A case from its scene to both signatures; its clock runs for so long."""
        case = self.started(team)
        self.wait(ms - 1).ask(ANNA, e.CaseStopped, team=team, case=case)
        self.signed(case, met, team=team)
        return case

    def row(self, case: str, team: str = "red") -> Any:
        return next(one for one in outcomes_of(self.match, team, self.now) if one.case == case)
