"""What a case of a match looks like to someone. Referees mark on their own: what another has marked is shown to a
referee who has signed, and to the head referee; the instruction is known to others when the clock starts."""

from collections.abc import Mapping
from dataclasses import dataclass

from palestra.contest import sees_bench, sees_case, sees_marks, sees_turn
from palestra.contest.log import State
from palestra.contest.match import CaseState, Match, Scene, Turn, Who, case_of, marks
from palestra.scoring import Judged
from palestra.text import Words
from palestra.web.match import models as v


@dataclass(frozen=True)
class Eyes:
    """Who looks at which turn, and when."""

    state: State
    match: Match
    turn: Turn
    who: Who
    now: int
    rows: Mapping[str, Judged]

    @property
    def inside(self) -> bool:
        return sees_bench(self.who)

    def name(self, account: str) -> str:
        return name_in(self.state, account) if account else ""


def name_in(state: State, account: str) -> str:
    found = state.accounts.get(account)
    return found.name if found else account


def case_view(eyes: Eyes, case: CaseState, number: int) -> v.CaseView:
    opened, turn, row = eyes.match.opened, eyes.turn, eyes.rows[case.id]
    group, sheet = case_of(opened, case.id)
    known = sees_case(eyes.who, case)
    seen = sees_turn(eyes.who, turn.team) or case.published_at is not None
    _, met = marks.counted(opened, turn, case)
    groups = list(dict.fromkeys(one.group for one in turn.cases.values()))
    goals = tuple(v.GoalView(goal.id, goal.text, goal.criterion) for goal in sheet.goals)
    settled = row.state in ("agreed", "published")
    published = case.published_at
    return v.CaseView(
        id=case.id,
        number=number,
        group=case.group,
        group_title=group.title,
        group_number=groups.index(case.group) + 1,
        known=known,
        instruction=sheet.instruction if known else Words(),
        goals=goals if known else (),
        things=sheet.things if eyes.inside else (),
        layout=sheet.layout if eyes.inside else "",
        scenes=tuple(_scene(eyes, one) for one in case.scenes) if eyes.inside else (),
        confirmed=case.confirmed_at is not None,
        entered=case.instruction if known else "",
        signalled=case.signalled_at is not None,
        started_at=case.started_at,
        running=case.running,
        ended=row.ended,
        dial=v.Dial(case.clock.ran_ms, case.clock.since),
        ran_ms=row.time_ms,
        budget_ms=case.budget_ms,
        budget_of=case.budget_of,
        attempts=tuple(_attempt(eyes, case, n) for n in range(1, len(case.attempts) + 1)),
        retries_left=max(opened.rules.retries + 1 - max(len(case.attempts), 1), 0),
        met=met if known and seen and row.ended not in ("abandoned", "void") else (),
        total=len(sheet.goals),
        standing=row.state,
        score=str(row.score) if settled and (eyes.inside or published is not None) else "",
        published_at=published,
        appeal_until=published + opened.rules.appeal_ms if published is not None else None,
        reasons=_reasons(case) if eyes.inside or published is not None else (),
    )


def _reasons(case: CaseState) -> tuple[str, ...]:
    """Why its result is not what two referees signed, as people wrote it."""
    said = [ruling.reason for ruling in case.rulings.values()] + [note.text for note in case.corrections]
    return tuple(dict.fromkeys(said))


def _scene(eyes: Eyes, scene: Scene) -> v.SceneView:
    return v.SceneView(scene.at, eyes.name(scene.by), scene.photo, scene.attempt)


def _attempt(eyes: Eyes, case: CaseState, number: int) -> v.AttemptView:
    opened, turn = eyes.match.opened, eyes.turn
    why = case.attempts[number - 1].why
    counts = number in marks.attempts_that_count(opened, case)
    if not eyes.inside:
        return v.AttemptView(number=number, why=why, counts=counts)
    found = marks.compared(opened, turn, case, number)
    me = eyes.who.account
    mine = {goal for goal, held in case.marks.get(me, {}).get(number, {}).items() if held.on}
    signed = me in found.by_seat
    ruling = case.rulings.get(number)
    shown = sees_marks(eyes.who, signed)
    seats = tuple(_seat(eyes, case, seat, found, shown) for seat in turn.seats)
    return v.AttemptView(
        number=number,
        why=why,
        counts=counts,
        seats=seats,
        differ=found.differ if shown else (),
        missing=tuple(eyes.name(one) for one in found.missing),
        ruled=found.ruled,
        ruling=ruling.reason if ruling else "",
        mine=found.by_seat[me] if signed else tuple(goal for goal in marks.goals_of(opened, case) if goal in mine),
        signed=signed,
    )


def _seat(eyes: Eyes, case: CaseState, seat: list[str], found: marks.Comparison, shown: bool) -> v.Seat:
    """Who signed, where the seat changed hands; else who has it now."""
    referee = next((one for one in reversed(seat) if one in found.by_seat), seat[-1])
    held = case.marks.get(referee, {}).get(found.attempt, {})
    met = found.by_seat.get(referee, tuple(goal for goal, mark in held.items() if mark.on))
    reasons = [one.reason for one in case.signatures if one.referee == referee and one.attempt == found.attempt]
    mine = shown or referee == eyes.who.account
    return v.Seat(
        account=referee,
        name=eyes.name(referee),
        marked=len(met),
        signed=referee in found.by_seat,
        met=met if mine else None,
        reason=reasons[-1] if reasons and mine else "",
    )
