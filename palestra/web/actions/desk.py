"""What the organiser does."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar, get_type_hints

import msgspec

from palestra import registry
from palestra.contest.decisions import access, organiser, promotion, rescoring, teams
from palestra.contest.decisions import submissions as submitting
from palestra.contest.log import State, new_id
from palestra.contest.log import events as e
from palestra.contest.queue import Order, jobs
from palestra.contest.rules import held_on_stage, parse_sent, require_reason
from palestra.contest.storage import writing
from palestra.errors import PalestraError
from palestra.text import Words, say
from palestra.web.actions.accounts import WithReason
from palestra.web.actions.registry import Done, action
from palestra.web.auth import Caller
from palestra.web.site import Site, in_thread

Moment = Annotated[int, msgspec.Meta(ge=0, le=4_102_444_800_000)]  # ms; calendars end somewhere, and so do contests
Title = Annotated[str, msgspec.Meta(max_length=200)]
Text = Annotated[str, msgspec.Meta(max_length=20_000)]
D = TypeVar("D", bound=Callable[[State, int, Any], Sequence[e.Body]])


class OfTeam(msgspec.Struct, frozen=True):
    team: str
    phase: str = ""
    reason: str = ""


class OfPhase(msgspec.Struct, frozen=True):
    phase: str
    reason: str = ""


class MovePhase(msgspec.Struct, frozen=True):
    phase: str
    opens: Moment
    closes: Moment
    reason: str


class Announce(msgspec.Struct, frozen=True):
    title_en: Title = ""
    title_zh: Title = ""
    text_en: Text = ""
    text_zh: Text = ""


class Amend(msgspec.Struct, frozen=True):
    text: str  # of the new contest.toml
    counts_from: Moment
    reason: str


class Propose(msgspec.Struct, frozen=True):
    phase: str
    reason: str
    submissions: list[str] = []  # none: all that are scored


class Promote(msgspec.Struct, frozen=True):
    phase: str
    preview: str  # digest of the preview that was looked at
    reason: str
    without: dict[str, str] = {}  # teams that are left out, with reasons


class Judge(msgspec.Struct, frozen=True):
    team: str
    phase: str
    ok: bool
    reasons: str


class StartRun(msgspec.Struct, frozen=True):
    phase: str
    submissions: list[str] = []  # none: what stands on the board for each team


class Baseline(msgspec.Struct, frozen=True):
    phase: str
    solution: str  # the name of a reference solution of the phase's track


def decision(name: str) -> Callable[[D], D]:
    """Declare what the organiser decides by the state and the time alone. What came of it is told by the first thing
    that the action takes: the team, the phase, the set that it is about."""

    def declare(decide: D) -> D:
        takes = get_type_hints(decide)["data"]
        about = msgspec.structs.fields(takes)[0].name

        async def do(site: Site, caller: Caller, data: Any) -> Done:
            await site.act(caller.viewer, lambda state, now: decide(state, now, data))
            return Done(getattr(data, about))

        do.__annotations__["data"], do.__doc__ = takes, decide.__doc__
        action(name, needs="organise", desk=True)(do)
        return decide

    return declare


@decision("grant-access")
def grant_access(state: State, _: int, data: OfTeam) -> list[e.Body]:
    """Give a team a phase's data."""
    return access.grant(state, data.team, data.phase)


@decision("refuse-access")
def refuse_access(state: State, _: int, data: OfTeam) -> list[e.Body]:
    """Refuse a team a phase's data, with a reason that it is told."""
    return access.refuse(state, data.team, data.phase, data.reason)


@decision("release-truth")
def release_truth(state: State, now: int, data: OfPhase) -> list[e.Body]:
    """Give a phase's truth to the teams that were promoted from it."""
    return access.release_truth(state, now, data.phase, data.reason)


@decision("disqualify")
def disqualify(state: State, _: int, data: OfTeam) -> list[e.Body]:
    """Take a team off the boards of a phase, or of all of them."""
    return teams.disqualify(state, data.team, data.phase, data.reason)


@decision("reinstate")
def reinstate(state: State, _: int, data: OfTeam) -> list[e.Body]:
    """Take a disqualification back."""
    return teams.reinstate(state, data.team, data.phase, data.reason)


@decision("move-phase")
def move_phase(state: State, now: int, data: MovePhase) -> list[e.Body]:
    """Open or close a phase at another time."""
    return organiser.move_phase(state, now, data.phase, data.opens, data.closes, data.reason)


@decision("close-phase")
def close_phase(state: State, now: int, data: OfPhase) -> list[e.Body]:
    """Close a phase that is open, at the moment when this arrives."""
    phase = state.phase(data.phase, now)
    if not phase.opens < now < phase.closes:
        raise PalestraError(say("This phase is not open, so it cannot be closed now."))
    return organiser.move_phase(state, now, data.phase, phase.opens, now, data.reason)


@action("announce", needs="organise", desk=True)
async def announce(site: Site, caller: Caller, data: Announce) -> Done:
    """Tell everybody something."""
    announcement = new_id("n")
    title, text = Words(data.title_en, data.title_zh), Words(data.text_en, data.text_zh)
    await site.act(caller.viewer, lambda state, now: organiser.announce(announcement, title, text))
    return Done(announcement)


@action("amend-rules", needs="organise", desk=True)
async def amend_rules(site: Site, caller: Caller, data: Amend) -> Done:
    """Put other rules into force, from a later time on."""
    rules = await in_thread(lambda: parse_sent(data.text, "contest.toml", site.setup.file))
    await site.act(caller.viewer, lambda state, now: organiser.amend(state, now, rules, data.counts_from, data.reason))
    return Done()


@decision("freeze")
def freeze(state: State, _: int, data: OfPhase) -> list[e.Body]:
    """Let the public see a board as it stands now, until it is released."""
    return organiser.freeze(state, data.phase)


@decision("release-board")
def release_board(state: State, now: int, data: OfPhase) -> list[e.Body]:
    """Show a board in full: ends a freeze, reveals the hidden part."""
    return organiser.release(state, now, data.phase)


@action("propose-rescoring", needs="organise", desk=True)
async def propose_rescoring(site: Site, caller: Caller, data: Propose) -> Done:
    """Score submissions again, as a set that can be looked at before it counts."""
    name = new_id("r")
    await site.act(
        caller.viewer, lambda state, now: rescoring.propose(state, now, name, data.phase, data.submissions, data.reason)
    )
    return Done(name, go=f"/desk/rescorings/{name}")


@decision("apply-rescoring")
def apply_rescoring(state: State, _: int, data: WithReason) -> list[e.Body]:
    """Let the new scores of a set count."""
    return rescoring.apply(state, data.id)


@decision("cancel-rescoring")
def cancel_rescoring(state: State, _: int, data: WithReason) -> list[e.Body]:
    """Throw the new scores of a set away."""
    return rescoring.cancel(state, data.id, data.reason)


@action("promote", needs="organise", desk=True)
async def promote(site: Site, caller: Caller, data: Promote) -> Done:
    """Confirm who goes on to the next phase, exactly as it was previewed."""

    def decide(state: object, now: int) -> list[e.Body]:
        rows = site.boards.rows(data.phase)
        seen = promotion.preview(site.state, data.phase, rows, data.without, now)
        return promotion.confirm(site.state, now, seen, data.preview, data.reason)

    await site.act(caller.viewer, decide)
    return Done(data.phase)


@decision("judge-compliance")
def judge_compliance(state: State, _: int, data: Judge) -> list[e.Body]:
    """Say whether a promoted team kept to the rules, with reasons."""
    state.team(data.team)
    state.phase(data.phase)
    return [e.ComplianceJudged(data.team, data.phase, data.ok, require_reason(data.reasons))]


@action("give-awards", needs="organise", desk=True)
async def give_awards(site: Site, caller: Caller, data: WithReason) -> Done:
    """Give the awards as the boards have them now."""

    def decide(state: object, now: int) -> list[e.Body]:
        rules = site.state.rules(now)
        boards = {award.phase: site.boards.rows(award.phase) for award in rules.awards if award.phase}
        final, failed = site.boards.final(caller.viewer), promotion.failed_teams(site.state)
        proposed = promotion.proposed_awards(rules, boards, final, failed)
        return promotion.give_awards(site.state, proposed, data.reason)

    await site.act(caller.viewer, decide)
    return Done(go="/desk/awards")


@action("cancel-submission", needs="organise", desk=True)
async def cancel_submission(site: Site, caller: Caller, data: WithReason) -> Done:
    """Stop the checking or scoring of a submission. It costs its team nothing."""
    keys = (f"check:{data.id}", f"score:{data.id}:")
    await site.act(
        caller.viewer,
        lambda state, now: submitting.cancel(state, now, data.id, data.reason),
        lambda connection, _: [jobs.cancel(connection, key, site.now) for key in keys],
    )
    return Done(data.id)


@action("retry-job", needs="organise", desk=True)
async def retry_job(site: Site, caller: Caller, data: WithReason) -> Done:
    """Try a job once more that failed or was cancelled."""

    def again() -> bool:
        with writing(site.contest.engine) as connection:
            return jobs.requeue(connection, data.id, site.now)

    if not await in_thread(again):
        raise PalestraError(say("This job has neither failed nor been cancelled."))
    return Done(data.id)


@decision("withdraw-submission")
def withdraw_submission(state: State, now: int, data: WithReason) -> list[e.Body]:
    """Take any submission off the board, with a reason."""
    return submitting.withdraw(state, now, data.id, "", data.reason)


@action("start-run", needs="organise", desk=True)
async def start_run(site: Site, caller: Caller, data: StartRun) -> Done:
    """Start a live run on the stage, with each team's bundle."""
    run = new_id("u")

    def decide(state: object, now: int) -> list[e.Body]:
        chosen = tuple(data.submissions)
        if not chosen and held_on_stage(site.state.phase(data.phase, now)):
            chosen = tuple(one.id for one in organiser.playable(site.state, data.phase))
        elif not chosen:
            chosen = tuple(row.entry.submission for row in site.boards.rows(data.phase))
        return organiser.start_run(site.state, now, run, data.phase, chosen)

    await site.act(caller.viewer, decide)
    return Done(run, go=f"/runs/{run}")


@action("add-baseline", needs="organise", desk=True)
async def add_baseline(site: Site, caller: Caller, data: Baseline) -> Done:
    """Put a reference solution on a phase's board, unranked."""
    phase = site.state.phase(data.phase)
    solution = registry.solution(phase.track, data.solution)
    order = msgspec.json.encode(Order(phase=phase.id, solution=solution.name)).decode()

    def add() -> bool:
        with writing(site.contest.engine) as connection:
            key = f"baseline:{phase.id}:{solution.name}"
            return jobs.queue(connection, key, "baseline", order, site.now) or jobs.requeue(connection, key, site.now)

    if not await in_thread(add):
        raise PalestraError(say("{name} is on its way to this board already, or stands on it.", name=solution.name))
    return Done(solution.name)


@action("stop-run", needs="organise", desk=True)
async def stop_run(site: Site, caller: Caller, data: WithReason) -> Done:
    """Stop a live run."""
    await site.act(
        caller.viewer,
        lambda state, _: organiser.stop_run(state, data.id, data.reason),
        lambda connection, _: jobs.cancel(connection, f"run:{data.id}", site.now) or None,
    )
    return Done(data.id)
