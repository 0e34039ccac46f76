"""Who goes on to the next phase: previewed, then confirmed as it was previewed; and who gets which award."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from palestra.contest.boards import FinalRow, Row, entry_of
from palestra.contest.decisions.teams import digest_of
from palestra.contest.log import UNDER_WAY, Bundle, Promoted, State, Submission
from palestra.contest.log import events as e
from palestra.contest.rules import Phase, Rules, require_reason, track_of
from palestra.errors import PalestraError
from palestra.text import Words, message, say

# Outcomes of a verification that a team does not go on with
BAD = {"differs": message("differs", "verification"), "failed": message("failed", "verification")}


class Preview(msgspec.Struct, frozen=True):
    """Who would go on."""

    phase: str
    to: str
    teams: tuple[Promoted, ...]
    left_out: tuple[Promoted, ...]
    added: tuple[str, ...]  # beside who goes on already
    removed: tuple[str, ...]
    why: dict[str, Words] = {}  # those who are left out are; the log keeps the English

    @property
    def digest(self) -> str:
        """What is confirmed is what was seen."""
        return digest_of(msgspec.json.encode(self).decode())


def preview(
    state: State, phase_id: str, rows: Sequence[Row], without: Mapping[str, str] | None = None, now: int | None = None
) -> Preview:
    """The first N teams of a board who are not left out: by the organiser (`without`, with reasons), because their
    verification failed, or because they were found not to comply. Who shares the last rank goes on as well. The rules
    are those of `now`: amended ones may have come into force with nothing written in the log since."""
    phase = state.phase(phase_id, now)
    if phase.promotion is None:
        raise PalestraError(say("No team is promoted from {phase_id}: its rules say nothing of it.", phase_id=phase_id))
    named = {state.team(team).id: Words.same(require_reason(reason)) for team, reason in (without or {}).items()}
    reasons = {**_failed(state, phase), **named}
    teams: list[Promoted] = []
    left_out: list[Promoted] = []
    for row in rows:
        if row.rank is None:
            continue
        one = Promoted(row.entry.team, row.rank, str(reasons.get(row.entry.team, "")))
        full = len(teams) >= phase.promotion.top
        if full and one.rank != teams[-1].rank:
            break
        (left_out if one.team in reasons else teams).append(one)
    before = state.promotions.get(phase_id)
    had = [one.team for one in before.teams] if before else []
    has = [one.team for one in teams]
    changes = (_without(has, had), _without(had, has))
    return Preview(phase_id, phase.promotion.to, tuple(teams), tuple(left_out), *changes, reasons)


def _without(names: Sequence[str], others: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in others)


def _failed(state: State, phase: Phase) -> dict[str, Words]:
    """Teams that cannot go on, with why: their verification did not hold, they did not comply, they are out."""
    reasons: dict[str, Words] = {}
    for bundle in state.bundles.values():  # the newest that was looked at counts: handing in another one is no answer
        if bundle.phase == phase.id and bundle.outcome:
            bad = bundle.outcome in BAD
            reasons[bundle.team] = _not_verified(bundle) if bad else Words()
    for team, verdict in state.compliance.get(phase.id, {}).items():
        if not verdict.ok:
            reasons[team] = say("compliance: {reasons}", reasons=verdict.reasons)
    to = phase.promotion.to if phase.promotion else ""
    for team in state.teams:
        if out := state.out(team, to):
            reasons[team] = say("disqualified: {reason}", reason=out.reason)
    return {team: reason for team, reason in reasons.items() if reason}


def _not_verified(bundle: Bundle) -> Words:
    return say("verification: {outcome}; {message}", outcome=say(BAD[bundle.outcome]), message=bundle.message)


def confirm(state: State, now: int, seen: Preview, digest: str, reason: str) -> list[e.Body]:
    """Make a preview so. `digest` is of the preview that the organiser looked at: had anything changed since, the two
    would differ."""
    phase = state.phase(seen.phase, now)
    if now < phase.closes:
        raise PalestraError(say("This phase is still open. Teams are promoted when it has closed."))
    sent = (state.submissions[name] for names in state.of_team.get(phase.id, {}).values() for name in names)
    if waiting := sum(one.stage in UNDER_WAY for one in sent):
        raise PalestraError(
            say(
                "Submissions to this phase without a result yet: {waiting}. Wait for them, or cancel them.",
                waiting=waiting,
            )
        )
    if seen.digest != digest:
        raise PalestraError(say("The board has changed since this preview. Look at it again before you confirm."))
    return [e.PromotionConfirmed(seen.phase, seen.to, seen.teams, seen.left_out, require_reason(reason))]


def proposed_awards(
    rules: Rules, boards: Mapping[str, Sequence[Row]], final: Sequence[FinalRow], without: Collection[str] = ()
) -> dict[int, list[str]]:
    """Which team would get which award: each board's first ones, in the order that its awards are listed. Who is left
    out leaves their place to the next."""
    given: dict[int, list[str]] = {}
    for phase in dict.fromkeys(award.phase for award in rules.awards):
        ranked = _ranked(boards[phase]) if phase else [(row.rank, row.team) for row in final]
        kept = [(rank, team) for rank, team in ranked if team not in without]
        ranked = [(1 + sum(other < rank for other, _ in kept), team) for rank, team in kept]
        taken = 0
        for number, award in enumerate(rules.awards):
            if award.phase == phase:
                given[number] = [team for rank, team in ranked if taken < rank <= taken + award.count]
                taken += max(award.count, len(given[number]))
    return given


def failed_teams(state: State) -> set[str]:
    """Teams whose verification did not hold, or who were found not to comply, in any phase."""
    return {team for phase in state.rules().phases for team in _failed(state, phase)}


def _ranked(rows: Sequence[Row]) -> list[tuple[int, str]]:
    return [(row.rank, row.entry.team) for row in rows if row.rank is not None]


def give_awards(state: State, proposed: Mapping[int, Sequence[str]], reason: str) -> list[e.Body]:
    """Bring what is awarded to what is proposed."""
    why = require_reason(reason)
    changes: list[e.Body] = []
    for number, teams in proposed.items():
        held = state.awards.get(str(number), {})
        changes += [e.AwardTaken(number, team, why) for team in held if team not in teams]
        changes += [e.AwardGiven(number, team, why) for team in teams if team not in held]
    if not changes:
        raise PalestraError(say("The awards are given like this already."))
    return changes


def promoted_with(state: State, phase: Phase, team: str) -> Submission | None:
    """The bundle that a team stood on the board with when it was promoted to a phase; none where that took files."""
    for made in state.promotions.values():
        before = state.phase(made.phase)
        sent = team in made.since and team in state.of_team.get(before.id, {})
        if made.to == phase.id and sent and track_of(before).live:
            entry = entry_of(state, before, team, made.at, "whole")
            return state.submission(entry.submission) if entry and entry.submission else None
    return None
