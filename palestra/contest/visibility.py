"""Who may see what, and as of when. Every page, file and stream asks here and nowhere else."""

from __future__ import annotations

from typing import Literal

import msgspec

from palestra.contest import rounding
from palestra.contest.log import Account, Score, State, Submission
from palestra.contest.match import CaseState, Who
from palestra.contest.rules import Audience, Phase, Role, track_of
from palestra.records import Estimate, Result

Part = Literal["whole", "shown"]  # of the people: all of them, or those that the board shows before the end


class Viewer(msgspec.Struct, frozen=True):
    """Someone who looks: by their account, or nobody in particular."""

    account: str = ""
    name: str = ""
    role: Role | Literal["nobody"] = "nobody"
    team: str = ""
    scopes: frozenset[str] | None = None  # of the token they came with; null: all that the account may

    @property
    def is_organiser(self) -> bool:
        return self.role == "organiser" and self.may("organise")

    def may(self, scope: str) -> bool:
        return self.scopes is None or scope in self.scopes


NOBODY = Viewer()


def viewer_of(account: Account, scopes: frozenset[str] | None = None) -> Viewer:
    if account.closed:
        return NOBODY
    return Viewer(account.id, account.name, account.role, account.team, scopes)


class Sight(msgspec.Struct, frozen=True):
    """How a board is seen."""

    as_of: int | None  # null: now, and as it changes
    part: Part
    frozen_at: int | None = None  # since when it stands still for this viewer
    partial: bool = False  # it is of a part of the people only
    rounded: bool = False  # scores have not all their digits


def frozen_since(state: State, phase: Phase, now: int) -> int | None:
    """When the public's board stopped, if it is frozen now. A release ends a freeze that began before it."""
    since = [at for at in (state.frozen.get(phase.id), phase.freeze) if at is not None and at <= now]
    released = state.released.get(phase.id)
    open_ones = [at for at in since if released is None or at > released]
    return min(open_ones) if open_ones else None


def _last_shown(frozen_at: int) -> int:
    """Of what happened in the very millisecond of a freeze, nobody can tell what came before it: none is shown."""
    return frozen_at - 1


def is_partial(state: State, phase: Phase) -> bool:
    """Whether only a part of the people is shown: until the board is released."""
    return phase.split is not None and phase.id not in state.released


def is_rounded(state: State, phase: Phase, now: int) -> bool:
    """Whether scores are told to a step, and nothing beside those that rank: while another submission could be made
    from what they say, and where a part is kept apart, until that is released."""
    if phase.scores == "exact" or phase.match:
        return False
    return now < phase.closes or is_partial(state, phase)


def sees(audience: Audience, viewer: Viewer) -> bool:
    if viewer.is_organiser:
        return True
    return audience == "everyone" or (audience == "teams" and bool(viewer.team))


def sight_of_board(state: State, phase: Phase, viewer: Viewer, now: int) -> Sight | None:
    """How someone sees a phase's board; nothing where they may not."""
    if viewer.is_organiser:
        return Sight(None, "whole")
    if not sees(phase.board_for, viewer):
        return None
    partial = is_partial(state, phase)
    frozen = frozen_since(state, phase, now)
    as_of = None if frozen is None else _last_shown(frozen)
    return Sight(as_of, "shown" if partial else "whole", frozen, partial, is_rounded(state, phase, now))


def sees_awards(state: State, phase_id: str, viewer: Viewer, now: int) -> bool:
    """Whether someone sees who won what on a board, or in the final standing (""): an award tells of the board that it
    was given by, so it is told when nothing of that board is held back any more."""
    rules = state.rules(now)
    told_of = [state.phase(one, now) for one in ([phase_id] if phase_id else rules.weights)]
    held_back = [one for one in told_of if is_partial(state, one) or frozen_since(state, one, now) is not None]
    return viewer.is_organiser or not held_back


def sees_submission(submission: Submission, viewer: Viewer) -> bool:
    """Submissions are their team's, and the organiser's."""
    return viewer.is_organiser or bool(submission.team and submission.team == viewer.team)


def score_seen(state: State, submission: Submission, viewer: Viewer, now: int) -> Score | None:
    """The score of a submission as someone may see it now. What is kept apart is not in it: the hidden part's numbers,
    and files, which hold the scores of each trial; and while scores are rounded, their digits and the report."""
    if not sees_submission(submission, viewer):
        return None
    if viewer.is_organiser:
        return submission.score_at(now)
    phase = state.phase(submission.phase, now)
    frozen = frozen_since(state, phase, now) if phase.freeze_own == "hidden" else None
    score = submission.score_at(now if frozen is None else _last_shown(frozen))
    if score is None:
        return None
    partial = is_partial(state, phase)
    if partial and not score.shown:
        return None
    # Where there is a split, result and report are of the shown part; a score made before there was one has neither.
    numbers = score.shown if partial else score.metrics
    if is_rounded(state, phase, now):
        numbers = rounding.told(phase, track_of(phase), numbers)
        return Score(score.at, score.counts_from, score.attempt, numbers, result=score.result)
    if not partial:
        return msgspec.structs.replace(score, files={})
    return Score(score.at, score.counts_from, score.attempt, numbers, result=score.result, report=score.report)


def result_seen(state: State, submission: Submission, viewer: Viewer, now: int, kept: Result) -> Result:
    """The result that is kept of a submission, as someone may have it who sees its score."""
    phase = state.phase(submission.phase, now)
    if viewer.is_organiser or not is_rounded(state, phase, now):
        return kept
    return rounding.result(phase, track_of(phase), kept)


def is_sealed(state: State, submission: Submission, viewer: Viewer, now: int) -> bool:
    """Whether there is a score that this viewer does not get to see yet."""
    return submission.score_at(now) is not None and score_seen(state, submission, viewer, now) is None


def numbers_seen(state: State, submission: Submission, viewer: Viewer, now: int) -> dict[str, Estimate]:
    score = score_seen(state, submission, viewer, now)
    return score.metrics if score else {}


def sees_data(state: State, phase: Phase, viewer: Viewer, now: int) -> bool:
    """Whether someone gets a phase's contestant view: the licence accepted, access granted, the phase begun."""
    if viewer.is_organiser:
        return True
    team = state.teams.get(viewer.team)
    access = team.access.get(phase.id) if team else None
    return bool(access and access.granted and now >= phase.opens and takes_part(state, phase, viewer.team))


def sees_truth(state: State, phase: Phase, viewer: Viewer) -> bool:
    """A phase's truth: the organiser, and those it was released to, unless they were disqualified since."""
    if viewer.is_organiser:
        return True
    released = viewer.team in state.truth.get(phase.id, {})
    return bool(viewer.team) and released and state.out(viewer.team, phase.id) is None


def takes_part(state: State, phase: Phase, team: str) -> bool:
    """Whether a team is let into a phase: it is not disqualified, and promoted where that is asked."""
    if team not in state.teams or state.out(team, phase.id):
        return False
    return phase.entry == "everyone" or state.is_promoted(team, phase.id)


def sees_team(team: str, viewer: Viewer) -> bool:
    """Members, invitations, requests: a team's own business."""
    return viewer.is_organiser or bool(team and team == viewer.team)


# At the referees' table


def sees_bench(who: Who) -> bool:
    """What referees work with: cases before they are played, scenes and layouts, notes on conduct."""
    return who.part in ("referee", "head", "organiser", "simulator")


def sees_case(who: Who, case: CaseState) -> bool:
    """What a case asks for: others learn it when its clock starts, and not before."""
    return sees_bench(who) or case.started_at is not None


def sees_marks(who: Who, signed: bool) -> bool:
    """What another referee has marked: referees mark on their own, and look when they have signed themselves."""
    return sees_bench(who) and (who.part != "referee" or signed)


def sees_turn(who: Who, team: str) -> bool:
    """What is a team's own business at the table: its scenes, its appeals, what counts before it is published."""
    return sees_bench(who) or bool(team and who.team == team)
