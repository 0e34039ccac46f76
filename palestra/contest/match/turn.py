"""A team's turn, step by step: what may happen when, and what follows. Every function refuses in words before it
changes anything."""

from __future__ import annotations

from typing import Literal

from palestra.contest.match import events as e
from palestra.contest.match.clock import shown
from palestra.contest.match.events import Entry, MatchOpened
from palestra.contest.match.rules import TOTAL_MS
from palestra.contest.match.state import Attempt, CaseState, Digest, Image, Note, Restart, Scene, Turn, case_of, unknown
from palestra.errors import PalestraError
from palestra.text import Words, joined, say


def settle(turn: Turn, now: int) -> None:
    """What the clock alone has ended by now."""
    case = running_case(turn)
    if case is None or case.clock.elapsed(now) < case.budget_ms:
        return
    over_ms = case.clock.elapsed(now) - case.budget_ms
    case.clock.since, case.clock.ran_ms = None, case.budget_ms
    case.ended, case.ended_at = case.budget_of, now - over_ms


def running_case(turn: Turn) -> CaseState | None:
    return next((case for case in turn.cases.values() if case.running), None)


def is_over(opened: MatchOpened, turn: Turn, now: int) -> bool:
    """Played to its end, or to that of the 55 minutes; `settle` first."""
    if turn.begun_at is None:
        return False
    return turn.closed_at is not None or turn.clock.elapsed(now) >= TOTAL_MS or current(opened, turn) is None


def left_ms(turn: Turn, now: int) -> int:
    """Of the 55 minutes."""
    return max(TOTAL_MS - turn.clock.elapsed(now), 0)


def case_left_ms(opened: MatchOpened, turn: Turn, case: CaseState, now: int) -> int:
    """Of a case's own time, or of what its group has left for it; its budget once it has started."""
    if case.started_at is not None:
        return case.budget_ms - min(case.clock.elapsed(now), case.budget_ms)
    return min(_unused_ms(opened, turn, case), left_ms(turn, now))


def _unused_ms(opened: MatchOpened, turn: Turn, case: CaseState) -> int:
    if opened.rules.limit_per == "case":
        return opened.rules.limit_ms
    used = sum(min(one.clock.ran_ms, one.budget_ms) for one in turn.cases.values() if one.group == case.group)
    return max(opened.rules.limit_ms - used, 0)


def current(opened: MatchOpened, turn: Turn) -> CaseState | None:
    """The case at the table: the first that has not ended and whose group has time left."""
    for case in turn.cases.values():
        if case.running or (not case.ended and has_time(opened, turn, case)):
            return case
    return None


def has_time(opened: MatchOpened, turn: Turn, case: CaseState) -> bool:
    return _unused_ms(opened, turn, case) > 0


# Before the turn


def image_taken(opened: MatchOpened, turn: Turn, entry: Entry, body: e.ImageTaken) -> None:
    _not_begun(turn, say("Images are taken while teams debug"))
    if any(image.image == body.image for image in turn.images):
        raise PalestraError(say("This image was taken already."))
    turn.images.append(
        Image(body.image, body.name, body.by_way_of, body.core, body.weights, body.configuration, entry.when)
    )


def image_frozen(opened: MatchOpened, turn: Turn, entry: Entry, body: e.ImageFrozen) -> None:
    _not_begun(turn, say("The image is frozen before the turn"))
    if all(image.image != body.image for image in turn.images):
        raise unknown(say("image of this team"), body.image, [image.image for image in turn.images])
    if turn.frozen and not body.reason:
        raise PalestraError(say("An image is frozen already. To freeze another one, say why."))
    turn.frozen = body.image


def _not_begun(turn: Turn, rule: Words) -> None:
    if turn.begun_at is not None:
        raise PalestraError(say("{rule}; this team's turn has begun.", rule=rule))


def begun(opened: MatchOpened, turn: Turn, entry: Entry, body: e.TurnBegun) -> None:
    _not_begun(turn, say("A turn begins once"))
    if not turn.frozen:
        raise PalestraError(say("Freeze the image of this team first."))
    turn.begun_at = entry.when
    turn.clock.start(entry.when)
    turn.seats = [[referee] for referee in body.referees]
    cases = {group.id: group.cases for group in opened.groups}
    turn.cases = {case.id: CaseState(case.id, group) for group in body.order for case in cases[group]}


def replaced(opened: MatchOpened, turn: Turn, entry: Entry, body: e.RefereeReplaced) -> None:
    if body.referee not in turn.referees():
        raise unknown(say("referee of this turn"), body.referee, turn.referees())
    if any(body.substitute in seat for seat in turn.seats):
        raise PalestraError(say("{substitute} has a seat in this turn already.", substitute=body.substitute))
    next(seat for seat in turn.seats if seat[-1] == body.referee).append(body.substitute)


# The clock of the turn


def held(opened: MatchOpened, turn: Turn, entry: Entry, body: e.ClockHeld) -> None:
    _playing(opened, turn, entry.when)
    if turn.held:
        raise PalestraError(say("The clock stands already."))
    turn.held = body.reason
    turn.clock.stop(entry.when)
    if case := running_case(turn):
        case.clock.stop(entry.when)


def released(opened: MatchOpened, turn: Turn, entry: Entry, body: e.ClockReleased) -> None:
    if not turn.held:
        raise PalestraError(say("The clock is not held."))
    turn.held = ""
    turn.clock.start(entry.when)
    if case := running_case(turn):
        case.clock.start(entry.when)


def closed(opened: MatchOpened, turn: Turn, entry: Entry, body: e.TurnClosed) -> None:
    if turn.begun_at is None or turn.closed_at is not None:
        raise PalestraError(say("There is no turn to close."))
    if case := running_case(turn):
        raise PalestraError(say("Case {id} is running: stop it first.", id=case.id))
    turn.closed_at = entry.when
    turn.clock.stop(entry.when)


def _playing(opened: MatchOpened, turn: Turn, now: int) -> None:
    if turn.begun_at is None:
        raise PalestraError(say("This team's turn has not begun."))
    if is_over(opened, turn, now):
        raise PalestraError(
            say("This team's turn is over after {shown}.", shown=shown(min(turn.clock.elapsed(now), TOTAL_MS)))
        )


# A case, before its clock


def _at_table(opened: MatchOpened, turn: Turn, case_id: str, now: int) -> CaseState:
    """The case at the table, if it is this one."""
    case_of(opened, case_id)
    _playing(opened, turn, now)
    case = current(opened, turn)
    if case is None or case.id != case_id:
        at_table = case.id if case else say("none")
        if turn.cases[case_id].ended:
            raise PalestraError(say("Case {case} has ended; at the table is {other}.", case=case_id, other=at_table))
        raise PalestraError(say("Case {case} is not at the table; {other} is.", case=case_id, other=at_table))
    return case


def _preparing(opened: MatchOpened, turn: Turn, case_id: str, now: int) -> CaseState:
    case = _at_table(opened, turn, case_id, now)
    if case.running:
        raise PalestraError(say("Case {case_id} is running already.", case_id=case_id))
    return case


def scene_checked(opened: MatchOpened, turn: Turn, entry: Entry, body: e.SceneChecked) -> None:
    """Before each attempt; between two attempts the clock runs."""
    case = _at_table(opened, turn, body.case, entry.when)
    _, sheet = case_of(opened, body.case)
    missing, extra = set(sheet.things) - set(body.things), set(body.things) - set(sheet.things)
    if missing or extra:
        raise PalestraError(
            say(
                "The scene of {case} is not right: missing objects {missing}, objects that do not belong there "
                "{extra}. Put it right and check again.",
                case=body.case,
                missing=_numbers(missing),
                extra=_numbers(extra),
            )
        )
    if body.layout != sheet.layout:
        raise PalestraError(say("This is another layout than the reference layout of this case."))
    if not body.photo:
        raise PalestraError(say("A photo of the scene is needed to sign it off."))
    attempt = len(case.attempts) if case.running else 1
    case.scenes.append(Scene(entry.when, entry.by, body.things, body.layout, body.photo, attempt))


def _numbers(found: set[int]) -> Words:
    return joined(map(str, sorted(found))) or say("none")


def confirmed(opened: MatchOpened, turn: Turn, entry: Entry, body: e.SystemConfirmed) -> None:
    case = _preparing(opened, turn, body.case, entry.when)
    if case.confirmed_at is not None:
        raise PalestraError(say("The team has confirmed already."))
    case.confirmed_at = entry.when


def instructed(opened: MatchOpened, turn: Turn, entry: Entry, body: e.InstructionEntered) -> None:
    case = _preparing(opened, turn, body.case, entry.when)
    _, sheet = case_of(opened, body.case)
    if not case.scenes:
        raise PalestraError(say("First check the scene and sign it off."))
    if case.confirmed_at is None:
        raise PalestraError(say("First the team confirms that its system is up."))
    if body.text not in (sheet.instruction.en, sheet.instruction.zh) or not body.text:
        raise PalestraError(say("This is not the instruction of this case, letter by letter, in either language."))
    if case.signalled_at is not None:
        raise PalestraError(say("The hand signal was given: the instruction stays."))
    case.instruction = body.text


def signalled(opened: MatchOpened, turn: Turn, entry: Entry, body: e.SignalGiven) -> None:
    case = _preparing(opened, turn, body.case, entry.when)
    if not case.instruction:
        raise PalestraError(say("First the referee enters the instruction."))
    if case.signalled_at is not None:
        raise PalestraError(say("The signal was given already."))
    case.signalled_at = entry.when


def weights_hashed(opened: MatchOpened, turn: Turn, entry: Entry, body: e.WeightsHashed) -> None:
    """Looked at by people: a difference is shown, and nothing follows from it by itself."""
    case_of(opened, body.case)
    if turn.begun_at is None:
        raise PalestraError(say("This team's turn has not begun."))
    turn.weights.append(Digest(entry.when, entry.by, body.digest, body.when, body.case))


# A case, while its clock runs


def started(opened: MatchOpened, turn: Turn, entry: Entry, body: e.CaseStarted) -> None:
    case = _preparing(opened, turn, body.case, entry.when)
    if case.signalled_at is None:
        raise PalestraError(say("First the hand signal."))
    if turn.held:
        raise PalestraError(say("The clock is held: release it first."))
    unused, left = _unused_ms(opened, turn, case), left_ms(turn, entry.when)
    case.budget_ms, case.budget_of = (unused, "time") if unused <= left else (left, "match")
    case.started_at = entry.when
    case.clock.start(entry.when)
    case.attempts.append(Attempt(entry.when))


def _running(opened: MatchOpened, turn: Turn, case_id: str, now: int) -> CaseState:
    case_of(opened, case_id)
    case = turn.cases.get(case_id)
    if case is None or case.started_at is None:
        raise PalestraError(say("Case {case_id} has not started.", case_id=case_id))
    if case.ended:
        how = {
            "time": say("its time was up"),
            "match": say("the 55 minutes were over"),
            "abandoned": say("it was abandoned"),
        }.get(case.ended, say("a referee stopped it"))
        ran = shown(case.ran_ms(now))
        raise PalestraError(say("The clock of case {case} stopped at {ran}: {how}.", case=case_id, ran=ran, how=how))
    return case


def stopped(opened: MatchOpened, turn: Turn, entry: Entry, body: e.CaseStopped) -> None:
    """Two referees may both press: the first one counts, whichever arrives first, and the other is a witness."""
    case = turn.cases.get(body.case)
    if case and case.ended in ("stopped", "abandoned") and case.ended_by != entry.by:
        return
    case = _running(opened, turn, body.case, entry.when)
    _end(case, "stopped", entry)


def _end(case: CaseState, how: Literal["stopped", "abandoned"], entry: Entry) -> None:
    case.clock.stop(entry.when)
    case.ended, case.ended_at, case.ended_by = how, entry.when, entry.by


def retried(opened: MatchOpened, turn: Turn, entry: Entry, body: e.CaseRetried) -> None:
    case = _running(opened, turn, body.case, entry.when)
    if turn.held:
        raise PalestraError(say("The clock is held: release it first."))
    if len(case.attempts) > opened.rules.retries:
        raise PalestraError(say("All {retries} retries of this case are used.", retries=opened.rules.retries))
    case.attempts.append(Attempt(entry.when, body.why))


def restarted(opened: MatchOpened, turn: Turn, entry: Entry, body: e.ProgramRestarted) -> None:
    _running(opened, turn, body.case, entry.when)
    if len(turn.restarts) >= opened.rules.restarts:
        if not turn.restarts:
            raise PalestraError(say("These rules have no restart."))
        raise PalestraError(
            say(
                "The program was restarted in case {case} already: a team has {restarts} in all.",
                case=turn.restarts[-1].case,
                restarts=opened.rules.restarts,
            )
        )
    if body.approved_by not in turn.referees():
        referees = joined(turn.referees())
        raise PalestraError(say("A restart is approved by a referee of this turn: {referees}.", referees=referees))
    turn.restarts.append(Restart(body.case, entry.when, body.approved_by, body.reason))


def abandoned(opened: MatchOpened, turn: Turn, entry: Entry, body: e.CaseAbandoned) -> None:
    """Also before the clock, where a team would rather go on."""
    case = _at_table(opened, turn, body.case, entry.when)
    _end(case, "abandoned", entry)


# Written down


def conduct_noted(opened: MatchOpened, turn: Turn, entry: Entry, body: e.ConductNoted) -> None:
    if body.case:
        case_of(opened, body.case)
    turn.conduct.append(Note(entry.when, entry.by, body.text, body.case))


def log_taken(opened: MatchOpened, turn: Turn, entry: Entry, body: e.LogTaken) -> None:
    if body.case:
        case_of(opened, body.case)
    turn.logs.append(Digest(entry.when, entry.by, body.digest, body.what, body.case))


def flags(opened: MatchOpened, turn: Turn) -> list[Words]:
    """What people should look at. Nothing follows from it by itself."""
    found = []
    for case in turn.cases.values():
        digests = {one.what: one.digest for one in turn.weights if one.case == case.id}
        if len(set(digests.values())) > 1:
            found.append(say("Case {id}: the weights after it differ from those before it.", id=case.id))
    online = next((one.core for one in opened.teams if one.team == turn.team), "")
    frozen = next((image for image in turn.images if image.image == turn.frozen), None)
    if frozen and online and frozen.core and frozen.core != online:
        found.append(say("The core code differs from that of the online phase."))
    return found
