"""Who gets a phase's data, and who its truth: decisions from the state to events."""

from collections.abc import Sequence

from palestra.contest import takes_part
from palestra.contest.decisions.teams import digest_of
from palestra.contest.log import State
from palestra.contest.log import events as e
from palestra.contest.rules import Phase, require_reason
from palestra.errors import PalestraError
from palestra.text import say


def licence_digest(phase: Phase) -> str:
    return digest_of(phase.licence.en + phase.licence.zh)


def request(state: State, now: int, team: str, phase_id: str, accepted: str) -> list[e.Body]:
    """A team asks for the data and accepts the licence, by the digest of the text that it was shown."""
    phase = state.phase(phase_id, now)
    access = state.team(team).access.get(phase_id)
    if out := state.out(team, phase_id, now):
        raise PalestraError(say("Your team is disqualified: {reason}", reason=out.reason))
    if access and access.granted:
        raise PalestraError(say("Your team has access to this data already."))
    if access and not access.refused:
        raise PalestraError(say("Your team has asked for this data already. The organiser will answer."))
    if not takes_part(state, phase, team):
        raise PalestraError(say("Only promoted teams get the data of this phase."))
    if accepted != licence_digest(phase):
        raise PalestraError(say("The licence has changed since you read it. Read it again, then accept it."))
    asked: list[e.Body] = [e.AccessRequested(team, phase_id, accepted)]
    at_once = phase.access == "open" and access is None  # who was refused is granted by the organiser alone
    return [*asked, e.AccessGranted(team, phase_id)] if at_once else asked


def grant(state: State, team: str, phase_id: str) -> list[e.Body]:
    _require_request(state, team, phase_id)
    return [e.AccessGranted(team, phase_id)]


def refuse(state: State, team: str, phase_id: str, reason: str) -> list[e.Body]:
    _require_request(state, team, phase_id)
    return [e.AccessRefused(team, phase_id, require_reason(reason))]


def _require_request(state: State, team: str, phase_id: str) -> None:
    if phase_id not in state.team(team).access:
        raise PalestraError(say("This team has not asked for this data: it accepts the licence with its request."))


def release_truth(state: State, now: int, phase_id: str, reason: str) -> list[e.Body]:
    """Give a phase's truth to the teams that were promoted from it, and to nobody else."""
    phase = state.phase(phase_id, now)
    promotion = state.promotions.get(phase_id)
    if promotion is None:
        raise PalestraError(say("Truth is released to promoted teams, and none has been promoted from this phase."))
    if still := next((other.id for other in _on_same_data(state, phase, now) if now < other.closes), None):
        raise PalestraError(
            say("{still!r} has not closed: its truth would be answers to what can still be submitted.", still=still)
        )
    held = state.truth.get(phase_id, {})
    teams: Sequence[str] = [
        one.team for one in promotion.teams if one.team not in held and not state.out(one.team, phase_id, now)
    ]
    if not teams:
        raise PalestraError(say("All promoted teams have this truth already."))
    return [e.TruthReleased(phase_id, tuple(teams), require_reason(reason))]


def _on_same_data(state: State, phase: Phase, now: int) -> list[Phase]:
    """This phase, and those whose data is the same."""
    phases = [state.phase(other.id, now) for other in state.rules(now).phases]
    return [other for other in phases if other.id == phase.id or (phase.data and other.data == phase.data)]
