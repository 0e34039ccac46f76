"""Scoring again as a set: proposed, previewed with the changes of rank, then applied or cancelled."""

from collections.abc import Sequence

import msgspec

from palestra.contest import Part
from palestra.contest.boards import DrawsOf, Row, board
from palestra.contest.log import Rescoring, Shelf, State
from palestra.contest.log import events as e
from palestra.contest.rules import require_reason, track_of
from palestra.errors import PalestraError
from palestra.text import say


class Change(msgspec.Struct, frozen=True):
    """A team before and after."""

    team: str
    name: str
    rank_before: int | None
    rank_after: int | None
    value_before: float | None
    value_after: float | None


class Outlook(msgspec.Struct, frozen=True):
    """What applying a set would do."""

    rescoring: str
    done: int
    failed: int
    total: int
    changes: tuple[Change, ...]  # of teams whose value or rank changes


def propose(state: State, now: int, rescoring: str, phase_id: str, chosen: Sequence[str], reason: str) -> list[e.Body]:
    """Score these again, or all that are scored when none is named."""
    state.phase(phase_id, now)
    scored = [one.id for one in state.submissions.values() if one.phase == phase_id and one.stage == "scored"]
    if unknown := [name for name in chosen if name not in scored]:
        raise PalestraError(
            say("{unknown} is no scored submission of {phase_id}.", unknown=unknown[0], phase_id=phase_id)
        )
    names = tuple(dict.fromkeys(chosen or scored))
    if not names:
        raise PalestraError(say("Nothing in {phase_id} has been scored yet.", phase_id=phase_id))
    if any(one.state == "open" and one.phase == phase_id for one in state.rescorings.values()):
        raise PalestraError(say("Another set is open in this phase. Apply it or cancel it first."))
    return [e.RescoringProposed(rescoring, phase_id, names, require_reason(reason))]


def outlook(state: State, rescoring_id: str, part: Part, draws_of: DrawsOf) -> Outlook:
    """The board with the set applied, beside the board without it."""
    one = _open(state, rescoring_id)
    metric = track_of(state.phase(one.phase)).ranks.name
    before = board(state, one.phase, state.at, part, draws_of)
    after = board(_applied(state, one), one.phase, state.at, part, draws_of)
    done = {name for name in one.submissions if _is_done(state, one, name)}
    failed = len(set(one.failed) - done)  # one that failed may have been tried again
    return Outlook(one.id, len(done), failed, len(one.submissions), tuple(_changes(before, after, metric)))


def _is_done(state: State, one: Rescoring, submission: str) -> bool:
    return any(score.rescoring == one.id for score in state.submissions[submission].scores)


def _applied(state: State, one: Rescoring) -> State:
    """A copy of the state in which the scores of the set count. Only what is in the set is copied."""
    changed = Shelf(state.submissions)  # which may have some that nobody has opened yet
    for name in one.submissions:
        submission = state.submissions[name]
        scores = [
            msgspec.structs.replace(score, counts_from=state.at) if score.rescoring == one.id else score
            for score in submission.scores
        ]
        changed[name] = msgspec.structs.replace(submission, scores=scores)
    return msgspec.structs.replace(state, submissions=changed)


def _changes(before: Sequence[Row], after: Sequence[Row], metric: str) -> list[Change]:
    old = {row.entry.team or row.entry.name: row for row in before}
    new = {row.entry.team or row.entry.name: row for row in after}
    changes = []
    for whose in new:
        was, now = old.get(whose), new[whose]
        values = (was.entry.metrics[metric].value if was else None, now.entry.metrics[metric].value)
        ranks = (was.rank if was else None, now.rank)
        if values[0] != values[1] or ranks[0] != ranks[1]:
            changes.append(Change(now.entry.team, now.entry.name, *ranks, *values))
    return changes


def apply(state: State, rescoring_id: str) -> list[e.Body]:
    one = _open(state, rescoring_id)
    left = [name for name in one.submissions if name not in one.failed and not _is_done(state, one, name)]
    if left:
        raise PalestraError(
            say(
                "{number} of {number2} are not scored again yet. Wait, or cancel the set.",
                number=len(left),
                number2=len(one.submissions),
            )
        )
    return [e.RescoringApplied(rescoring_id)]


def cancel(state: State, rescoring_id: str, reason: str) -> list[e.Body]:
    _open(state, rescoring_id)
    return [e.RescoringCancelled(rescoring_id, require_reason(reason))]


def _open(state: State, rescoring_id: str) -> Rescoring:
    one = state.rescorings.get(rescoring_id)
    if one is None:
        raise PalestraError(
            say("There is no set {rescoring_id!r} of scores to be made again.", rescoring_id=rescoring_id)
        )
    if one.state != "open":
        raise PalestraError(
            say("This set was applied already.") if one.state == "applied" else say("This set was cancelled already.")
        )
    return one
