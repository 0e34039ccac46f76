"""How the organiser runs a contest: rules, phases, freezes, announcements, runs; decisions from state to events."""

import msgspec

from palestra.contest.decisions.submissions import STAGES
from palestra.contest.log import State, Submission
from palestra.contest.log import events as e
from palestra.contest.rules import Phase, Rules, duration, require_reason, told, track_of
from palestra.contest.rules import model as rulebook
from palestra.errors import PalestraError
from palestra.text import Words, say

PLAYABLE = ("queued", "ready", "running", "scored", "faulted")  # stages of a bundle that was found to be one


def open_contest(state: State, rules: Rules, home: str) -> list[e.Body]:
    if state.versions:
        raise PalestraError(say("This contest was opened already. Amend its rules instead."))
    return [e.ContestOpened(rulebook.encode(rules), home)]


def amend(state: State, now: int, rules: Rules, counts_from: int, reason: str) -> list[e.Body]:
    """Other rules from a later time on. What was decided before stays as it was decided."""
    before, newest = state.rules(now), state.versions[-1]
    if rules == newest.rules:
        raise PalestraError(say("These rules are announced already, or in force."))
    _require_notice(before, now, counts_from)
    if counts_from < newest.counts_from:  # else the older rules would come back into force after the newer ones
        raise PalestraError(
            say(
                "Other rules count from {time}. New ones are in their place, or later.",
                time=told(newest.counts_from, before.zone),
            )
        )
    for version in (before, newest.rules):
        _require_same_phases(state, version, rules)
    _require_same_awards(state, before, rules)
    known = {phase.id: (phase.opens, phase.closes, phase.data) for phase in before.phases}
    for phase in rules.phases:  # whose times or data are other ones: else they stay as they were moved to
        if known.get(phase.id) != (phase.opens, phase.closes, phase.data):
            _require_unknown_truth(state, phase, now)
    return [e.RulesAmended(rulebook.encode(rules), counts_from, require_reason(reason))]


def _require_notice(rules: Rules, now: int, counts_from: int) -> None:
    if counts_from < now + rules.notice_ms:
        earliest, notice = now + rules.notice_ms, _notice(rules)
        raise PalestraError(
            say(
                "Rules are announced {notice}: these count from {time} at the earliest.",
                notice=notice,
                time=told(earliest, rules.zone),
            )
        )


def _notice(rules: Rules) -> Words:
    """How long before they count rules are announced."""
    if not rules.notice_ms:
        return say("before they count")
    return say("{time} before they count", time=duration(rules.notice_ms))


def _require_same_phases(state: State, before: Rules, rules: Rules) -> None:
    there = {phase.id for phase in rules.phases}
    for phase in before.phases:
        if phase.id not in there:
            raise PalestraError(
                say("The phase {id!r} is gone from the new rules; phases stay. Close it instead.", id=phase.id)
            )
        if state.of_team.get(phase.id) and rules.phase(phase.id).track != phase.track:
            raise PalestraError(
                say("The phase {id!r} has submissions: its track stays {track}.", id=phase.id, track=phase.track)
            )


def _require_same_awards(state: State, before: Rules, rules: Rules) -> None:
    """Awards are known by their place in the rules."""
    for number in sorted(int(number) for number, teams in state.awards.items() if teams):
        if before.awards[number : number + 1] != rules.awards[number : number + 1]:
            title = before.awards[number].title
            raise PalestraError(
                say("The award {title!r} has been given: it stays as it is, in its place.", title=title)
            )


def _require_unknown_truth(state: State, phase: Phase, now: int) -> None:
    """Nothing can be submitted any more to what some know the answers of: a phase, or another one on its data."""
    if phase.closes <= now:
        return
    if phase.id in state.truth:
        raise PalestraError(say("The truth of {id!r} has been released, so it cannot be open again.", id=phase.id))
    known = [state.phase(name, now) for name in state.truth]
    if twin := next((other.id for other in known if phase.data and other.data == phase.data), None):
        raise PalestraError(
            say(
                "The truth of {twin!r} has been released, so {id!r}, which has the same data, cannot be open.",
                twin=twin,
                id=phase.id,
            )
        )


def move_phase(state: State, now: int, phase_id: str, opens: int, closes: int, reason: str) -> list[e.Body]:
    phase = state.phase(phase_id, now)
    if opens >= closes:
        raise PalestraError(say("A phase opens before it closes."))
    _require_unknown_truth(state, msgspec.structs.replace(phase, opens=opens, closes=closes), now)
    return [e.PhaseMoved(phase_id, opens, closes, require_reason(reason))]


def announce(announcement: str, title: Words, text: Words) -> list[e.Body]:
    if not (title.en or title.zh):
        raise PalestraError(say("An announcement has a title."))
    return [e.AnnouncementMade(announcement, title, text)]


def freeze(state: State, phase_id: str) -> list[e.Body]:
    state.phase(phase_id)
    if phase_id in state.frozen:
        raise PalestraError(say("This board is frozen already."))
    return [e.BoardFrozen(phase_id)]


def release(state: State, now: int, phase_id: str) -> list[e.Body]:
    """Show a board in full: ends its freeze, and reveals the part of the people that was kept apart."""
    phase = state.phase(phase_id, now)
    if phase.split is not None and now < phase.closes:
        raise PalestraError(say("A board with a hidden part is released after its phase has closed."))
    return [e.BoardReleased(phase_id)]


def playable(state: State, phase_id: str) -> list[Submission]:
    """Each team's newest bundle that can run; of the reference solutions, too."""
    found = []
    for whose, names in list(state.of_team.get(phase_id, {}).items()):
        own = [one for name in names if (one := state.submissions[name]).stage in PLAYABLE]
        if own and not state.out(whose, phase_id):
            found.append(own[-1])
    return found


def start_run(state: State, now: int, run: str, phase_id: str, submissions: tuple[str, ...]) -> list[e.Body]:
    """A live run of several bundles at once, on the stage."""
    phase = state.phase(phase_id, now)
    if not track_of(phase).live:
        raise PalestraError(say("{track} is answered by files; there is nothing to run.", track=phase.track))
    if any(not one.outcome for one in state.runs.values()):
        raise PalestraError(say("A run is under way. Wait until it ends, or stop it."))
    if not submissions:
        raise PalestraError(say("Nobody takes part: choose at least one bundle."))
    chosen = [state.submission(name) for name in submissions]
    if wrong := next((one.id for one in chosen if one.phase != phase_id), None):
        raise PalestraError(say("{wrong} was submitted to another phase.", wrong=wrong))
    if useless := next((one for one in chosen if one.stage not in PLAYABLE or state.out(one.team, phase_id)), None):
        why = say("is {stage}", stage=STAGES[useless.stage])
        if useless.stage in PLAYABLE:
            why = say("is of a team that is disqualified")
        raise PalestraError(say("{id} {why}; only what was checked and accepted can run.", id=useless.id, why=why))
    teams = [one.team or one.baseline for one in chosen]
    if len(set(teams)) < len(teams):
        raise PalestraError(say("A team takes part with one bundle."))
    return [e.RunStarted(run, phase_id, submissions, phase.pace)]


def stop_run(state: State, run: str, message: str) -> list[e.Body]:
    if run not in state.runs or state.runs[run].outcome:
        raise PalestraError(say("No such run is under way."))
    return [e.RunEnded(run, "stopped", message=require_reason(message))]
