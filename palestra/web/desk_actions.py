"""What the organiser does."""

from typing import Annotated

import msgspec

from palestra import registry
from palestra.contest import access, jobs, promoting, rescoring, running, submitting, teams
from palestra.contest import events as e
from palestra.contest.contest import new_id
from palestra.contest.database import writing
from palestra.contest.rulebook import parse
from palestra.contest.rules import Words
from palestra.contest.tasks import Order
from palestra.contest.teams import require_reason
from palestra.errors import Told
from palestra.web.account_actions import WithReason
from palestra.web.actions import Done, action
from palestra.web.gate import Caller
from palestra.web.site import Site, in_thread

Moment = Annotated[int, msgspec.Meta(ge=0, le=4_102_444_800_000)]  # ms; calendars end somewhere, and so do contests
Title = Annotated[str, msgspec.Meta(max_length=200)]
Text = Annotated[str, msgspec.Meta(max_length=20_000)]


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


@action("grant-access", needs="organise", desk=True)
async def grant_access(site: Site, caller: Caller, data: OfTeam) -> Done:
    """Give a team a phase's data."""
    await site.act(caller.viewer, lambda state, _: access.grant(state, data.team, data.phase))
    return Done(data.team)


@action("refuse-access", needs="organise", desk=True)
async def refuse_access(site: Site, caller: Caller, data: OfTeam) -> Done:
    """Refuse a team a phase's data, with a reason that it is told."""
    await site.act(caller.viewer, lambda state, _: access.refuse(state, data.team, data.phase, data.reason))
    return Done(data.team)


@action("release-truth", needs="organise", desk=True)
async def release_truth(site: Site, caller: Caller, data: OfPhase) -> Done:
    """Give a phase's truth to the teams that were promoted from it."""
    await site.act(caller.viewer, lambda state, now: access.release_truth(state, now, data.phase, data.reason))
    return Done(data.phase)


@action("disqualify", needs="organise", desk=True)
async def disqualify(site: Site, caller: Caller, data: OfTeam) -> Done:
    """Take a team off the boards of a phase, or of all of them."""
    await site.act(caller.viewer, lambda state, _: teams.disqualify(state, data.team, data.phase, data.reason))
    return Done(data.team)


@action("reinstate", needs="organise", desk=True)
async def reinstate(site: Site, caller: Caller, data: OfTeam) -> Done:
    """Take a disqualification back."""
    await site.act(caller.viewer, lambda state, _: teams.reinstate(state, data.team, data.phase, data.reason))
    return Done(data.team)


@action("move-phase", needs="organise", desk=True)
async def move_phase(site: Site, caller: Caller, data: MovePhase) -> Done:
    """Open or close a phase at another time."""
    await site.act(
        caller.viewer,
        lambda state, now: running.move_phase(state, now, data.phase, data.opens, data.closes, data.reason),
    )
    return Done(data.phase)


@action("announce", needs="organise", desk=True)
async def announce(site: Site, caller: Caller, data: Announce) -> Done:
    """Tell everybody something."""
    announcement = new_id("n")
    title, text = Words(data.title_en, data.title_zh), Words(data.text_en, data.text_zh)
    await site.act(caller.viewer, lambda state, now: running.announce(announcement, title, text))
    return Done(announcement)


@action("amend-rules", needs="organise", desk=True)
async def amend_rules(site: Site, caller: Caller, data: Amend) -> Done:
    """Put other rules into force, from a later time on."""
    rules = await in_thread(lambda: parse(data.text, "the new rules"))
    await site.act(caller.viewer, lambda state, now: running.amend(state, now, rules, data.counts_from, data.reason))
    return Done()


@action("freeze", needs="organise", desk=True)
async def freeze(site: Site, caller: Caller, data: OfPhase) -> Done:
    """Let the public see a board as it stands now, until it is released."""
    await site.act(caller.viewer, lambda state, _: running.freeze(state, data.phase))
    return Done(data.phase)


@action("release-board", needs="organise", desk=True)
async def release_board(site: Site, caller: Caller, data: OfPhase) -> Done:
    """Show a board in full: ends a freeze, reveals the hidden part."""
    await site.act(caller.viewer, lambda state, now: running.release(state, now, data.phase))
    return Done(data.phase)


@action("propose-rescoring", needs="organise", desk=True)
async def propose_rescoring(site: Site, caller: Caller, data: Propose) -> Done:
    """Score submissions again, as a set that can be looked at before it counts."""
    name = new_id("r")
    await site.act(
        caller.viewer,
        lambda state, now: rescoring.propose(state, now, name, data.phase, data.submissions, data.reason),
    )
    return Done(name, go=f"/desk/rescorings/{name}")


@action("apply-rescoring", needs="organise", desk=True)
async def apply_rescoring(site: Site, caller: Caller, data: WithReason) -> Done:
    """Let the new scores of a set count."""
    await site.act(caller.viewer, lambda state, _: rescoring.apply(state, data.id))
    return Done(data.id)


@action("cancel-rescoring", needs="organise", desk=True)
async def cancel_rescoring(site: Site, caller: Caller, data: WithReason) -> Done:
    """Throw the new scores of a set away."""
    await site.act(caller.viewer, lambda state, _: rescoring.cancel(state, data.id, data.reason))
    return Done(data.id)


@action("promote", needs="organise", desk=True)
async def promote(site: Site, caller: Caller, data: Promote) -> Done:
    """Confirm who goes on to the next phase, exactly as it was previewed."""

    def decide(state: object, now: int) -> list[e.Body]:
        rows = site.boards.rows(data.phase)
        seen = promoting.preview(site.state, data.phase, rows, data.without)
        return promoting.confirm(site.state, now, seen, data.preview, data.reason)

    await site.act(caller.viewer, decide)
    return Done(data.phase)


@action("judge-compliance", needs="organise", desk=True)
async def judge_compliance(site: Site, caller: Caller, data: Judge) -> Done:
    """Say whether a promoted team kept to the rules, with reasons."""

    def decide(state: object, now: int) -> list[e.Body]:
        site.state.team(data.team)
        site.state.phase(data.phase)
        return [e.ComplianceJudged(data.team, data.phase, data.ok, require_reason(data.reasons))]

    await site.act(caller.viewer, decide)
    return Done(data.team)


@action("give-awards", needs="organise", desk=True)
async def give_awards(site: Site, caller: Caller, data: WithReason) -> Done:
    """Give the awards as the boards have them now."""

    def decide(state: object, now: int) -> list[e.Body]:
        rules = site.state.rules(now)
        boards = {award.phase: site.boards.rows(award.phase) for award in rules.awards if award.phase}
        final, failed = site.boards.final(caller.viewer), promoting.failed_teams(site.state)
        proposed = promoting.proposed_awards(rules, boards, final, failed)
        return promoting.give_awards(site.state, proposed, data.reason)

    await site.act(caller.viewer, decide)
    return Done(go="/desk/awards")


@action("cancel-submission", needs="organise", desk=True)
async def cancel_submission(site: Site, caller: Caller, data: WithReason) -> Done:
    """Stop the checking or scoring of a submission. It costs its team nothing."""

    def cancel() -> None:
        site.contest.act(
            caller.viewer.account,
            lambda state, now: submitting.cancel(state, now, data.id, data.reason),
            lambda connection, _: [
                jobs.cancel(connection, key, site.now) for key in (f"check:{data.id}", f"score:{data.id}:")
            ],
        )

    await in_thread(cancel)
    return Done(data.id)


@action("retry-job", needs="organise", desk=True)
async def retry_job(site: Site, caller: Caller, data: WithReason) -> Done:
    """Try a job once more that failed or was cancelled."""

    def again() -> bool:
        with writing(site.contest.engine) as connection:
            return jobs.requeue(connection, data.id, site.now)

    if not await in_thread(again):
        raise Told("This job has neither failed nor been cancelled.", "该任务既未失败，也未被取消。")
    return Done(data.id)


@action("withdraw-submission", needs="organise", desk=True)
async def withdraw_submission(site: Site, caller: Caller, data: WithReason) -> Done:
    """Take any submission off the board, with a reason."""
    await site.act(caller.viewer, lambda state, now: submitting.withdraw(state, now, data.id, "", data.reason))
    return Done(data.id)


@action("start-run", needs="organise", desk=True)
async def start_run(site: Site, caller: Caller, data: StartRun) -> Done:
    """Start a live run on the stage, with each team's bundle."""
    run = new_id("u")

    def decide(state: object, now: int) -> list[e.Body]:
        rows = site.boards.rows(data.phase)
        chosen = tuple(data.submissions or [row.entry.submission for row in rows])
        return running.start_run(site.state, now, run, data.phase, chosen)

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
        raise Told(
            f"{solution.name} is on its way to this board already, or stands on it.",
            f"基线 {solution.name} 已在排行榜上，或正在评测中。",
        )
    return Done(solution.name)


@action("stop-run", needs="organise", desk=True)
async def stop_run(site: Site, caller: Caller, data: WithReason) -> Done:
    """Stop a live run."""

    def stop() -> None:
        site.contest.act(
            caller.viewer.account,
            lambda state, _: running.stop_run(state, data.id, data.reason),
            lambda connection, _: jobs.cancel(connection, f"run:{data.id}", site.now) or None,
        )

    await in_thread(stop)
    return Done(data.id)
