"""Whether a team may submit now, and what a submission becomes: decisions from the state to events."""

from collections.abc import Sequence

import msgspec

from palestra.contest import takes_part
from palestra.contest.log import UNDER_WAY, Run, Stage, State, Submission
from palestra.contest.log import events as e
from palestra.contest.rules import Phase, Quota, Rules, calendar, held_on_stage, require_reason, track_of
from palestra.errors import PalestraError, clean, clip, refuse
from palestra.records import Track
from palestra.text import Words, say, say_count

LONGEST_FILE_NAME = 200  # bytes
FREE = ("refused", "failed", "faulted", "cancelled")  # stages that cost no quota
FAULTY = ("refused", "failed")  # by the contestant's own fault: these have a cap of their own
OURS = "faulted"  # by the platform's: they cost nothing, but nobody's input may fail here for ever
MOST_OURS = 5  # of a team in a phase, in the period of its quota of faults
STAGES: dict[Stage, Words] = {
    "checking": say("checking"), "queued": say("queued"), "ready": say("ready for the stage"),
    "running": say("running"), "scored": say("scored"), "refused": say("refused"), "failed": say("failed"),
    "faulted": say("faulted"), "cancelled": say("cancelled"), "withdrawn": say("withdrawn"),
}  # fmt: skip


class Allowance(msgspec.Struct, frozen=True):
    """What a team has left in a phase."""

    count: int
    used: int
    next_at: int | None  # when one more is allowed; null: now
    fault_count: int
    faults_used: int
    faults_next_at: int | None


def allowance(state: State, phase: Phase, team: str, now: int) -> Allowance:
    zone = state.rules(now).zone
    mine = submissions_of(state, phase.id, team)
    paid = [one.at for one in mine if one.stage not in FREE]
    faulty = [one.at for one in mine if one.stage in FAULTY]
    return Allowance(
        phase.quota.count, *_left(phase.quota, zone, paid, now),
        phase.fault_quota.count, *_left(phase.fault_quota, zone, faulty, now),
    )  # fmt: skip


def ours_left(state: State, phase: Phase, team: str, now: int) -> tuple[int, int | None]:
    """How many of a team's submissions failed on our side of late, and when one more is taken; null: now. One that an
    organiser has tried again, and that was scored then, does not count."""
    times = [one.at for one in submissions_of(state, phase.id, team) if one.stage == OURS]
    per = msgspec.structs.replace(phase.fault_quota, count=MOST_OURS)
    return _left(per, state.rules(now).zone, times, now)


def _left(quota: Quota, zone: str, times: Sequence[int], now: int) -> tuple[int, int | None]:
    return calendar.used(quota, zone, times, now), calendar.next_free(quota, zone, times, now)


def submissions_of(state: State, phase: str, team: str) -> list[Submission]:
    return [state.submissions[name] for name in state.of_team.get(phase, {}).get(team, [])]


def require_open(state: State, phase: Phase, team: str, now: int) -> None:
    """Refuse, in words, who may not submit now."""
    rules = state.rules(now)
    _require_team(state, phase, team, now)
    if now < phase.opens:
        opens = calendar.told(phase.opens, rules.zone)
        raise PalestraError(say("This phase is not open yet. It opens {time}.", time=opens))
    if now >= phase.closes:
        closed = calendar.told(phase.closes, rules.zone, closing=True)
        raise PalestraError(say("This phase takes no more submissions. It closed {time}.", time=closed))
    _require_window(state, phase, team, now)
    left = allowance(state, phase, team, now)
    if left.next_at is not None:
        when = _when(left.next_at, phase, rules)
        raise PalestraError(
            say_count(
                "The quota is {quota}, and {count} is used. {when}",
                "The quota is {quota}, and {count} are used. {when}",
                left.used,
                quota=calendar.quota_told(phase.quota),
                when=when,
            )
        )
    failed_here, next_at = ours_left(state, phase, team, now)
    if next_at is not None:
        raise PalestraError(
            say(
                "{count} of your submissions failed on our side, and cost you nothing. The organiser sees it at the "
                "desk and looks into it; until then no more is taken. {when}",
                count=failed_here,
                when=_when(next_at, phase, rules),
            )
        )
    if left.faults_next_at is not None:
        when = _when(left.faults_next_at, phase, rules)
        raise PalestraError(
            say(
                "{faults_used} of your submissions were refused or failed; at most {fault_count} may, "
                "so that the queue stays short for all. {when}",
                faults_used=left.faults_used,
                fault_count=left.fault_count,
                when=when,
            )
        )


def run_of(state: State, phase: Phase, team: str) -> Run | None:
    """The run on stage that a team plays in at the moment."""
    if not team or not held_on_stage(phase):
        return None
    runs = (one for one in state.runs.values() if one.phase == phase.id and not one.outcome)
    return next((one for one in runs if any(state.submissions[name].team == team for name in one.submissions)), None)


def is_frozen(state: State, phase: Phase, team: str, now: int) -> bool:
    """While a team plays on stage, its program is frozen but for the windows between sittings."""
    run = run_of(state, phase, team)
    return run is not None and run.window_at(now) is None


def _require_window(state: State, phase: Phase, team: str, now: int) -> None:
    run = run_of(state, phase, team)
    if run is None or run.window_at(now):
        return
    if run.windows and run.windows[-1].closes <= now:
        closed = calendar.told(run.windows[-1].closes, state.rules(now).zone, closing=True)
        window = say("The window before {sitting} closed {time}.", sitting=run.windows[-1].sitting, time=closed)
    else:
        window = say("No window has opened yet.")
    raise PalestraError(
        say(
            "A run on stage is under way, and programs are frozen. {window} The next one is announced when it opens.",
            window=window,
        )
    )


def _require_team(state: State, phase: Phase, team: str, now: int) -> None:
    if not team:
        raise PalestraError(say("Only members of a team can submit. Make a team, or join one by its invitation."))
    state.team(team)
    if out := state.out(team, phase.id, now):
        raise PalestraError(say("Your team is disqualified: {reason}", reason=out.reason))
    if not takes_part(state, phase, team):
        raise PalestraError(say("Only promoted teams take part in this phase, and yours is not among them."))


def _when(at: int, phase: Phase, rules: Rules) -> Words:
    if at >= phase.closes:
        return say("There will be none before this phase closes.")
    return say("The next one is free {time}.", time=calendar.told(at, rules.zone))


def require_file(state: State, phase: Phase, team: str, name: str, size: int, now: int) -> None:
    """Refuse a file by its name or size, before it is uploaded."""
    _require_size(name, size, phase.limit_bytes)
    if phase.file_name:
        calendar.require_name(phase.file_name, name, state.team(team).name, now, state.rules(now).zone)
    else:
        _require_kind(name, kinds(track_of(phase)))


def kinds(track: Track) -> tuple[str, ...]:
    """What the name of a file that is handed in ends in."""
    if track.live:
        return (".zip", ".tar.gz", ".tgz")
    packed = track.content is not None  # answers that are pictures may also come as many files in one
    return (track.suffix, ".zip") if packed and track.suffix != ".zip" else (track.suffix,)


def _require_kind(name: str, taken: tuple[str, ...]) -> None:
    """A file that no reader takes would be refused when it is checked, and cost its team a faulty submission."""
    if not name.lower().endswith(taken):
        file, ends = clean(name), ", ".join(taken)
        raise PalestraError(
            say(
                "{file}: this phase takes files that end in {ends}. It was not taken, and does not count against you.",
                file=file,
                ends=ends,
            )
        )


def _require_size(name: str, size: int, limit_bytes: int) -> None:
    """Names as well: one that no file system takes would fail on our side, and cost nothing each time."""
    if not name or len(name.encode(errors="replace")) > LONGEST_FILE_NAME or not name.isprintable():
        expected = say("1 to {most} bytes of letters that can be printed", most=LONGEST_FILE_NAME)
        refuse(say("the file's name"), clip(name), expected)
    if size <= 0:
        refuse(clean(name), say("an empty file"), say("a file with something in it"))
    if size > limit_bytes:
        refuse(clean(name), say("{bytes:,} bytes", bytes=size), say("at most {most:,}", most=limit_bytes))


class Sent(msgspec.Struct, frozen=True):
    """A file that came whole, and what it is to become."""

    id: str  # of the submission or bundle
    team: str  # empty for a baseline
    phase: str
    file: str  # digest in the file store
    name: str
    bytes: int


def receive(state: State, now: int, sent: Sent) -> list[e.Body]:
    """A team's submission."""
    phase = state.phase(sent.phase, now)
    _require_new(state, sent.id)
    require_open(state, phase, sent.team, now)
    require_file(state, phase, sent.team, sent.name, sent.bytes, now)
    return [e.SubmissionMade(sent.id, sent.team, sent.phase, sent.file, sent.name, sent.bytes)]


def _require_new(state: State, submission: str) -> None:
    if submission in state.submissions or submission in state.bundles:
        raise PalestraError(say("{submission} was handed in already.", submission=submission))


def withdraw(state: State, now: int, submission: str, team: str, reason: str) -> list[e.Body]:
    """A team takes a submission back, or the organiser does: it leaves the board, and stays in the log."""
    one = state.submission(submission)
    if team and one.team != team:
        raise PalestraError(say("There is no submission {submission!r}.", submission=submission))
    if one.stage != "scored":
        raise PalestraError(
            say("This submission is {stage}; only one that is scored can be withdrawn.", stage=STAGES[one.stage])
        )
    if team and state.phase(one.phase, now).board == "last":
        raise PalestraError(
            say("In this phase a team's last submission counts, whatever came of it. Ask the organiser.")
        )
    return [e.SubmissionWithdrawn(submission, require_reason(reason))]


def cancel(state: State, now: int, submission: str, reason: str) -> list[e.Body]:
    one = state.submission(submission)
    if one.stage not in UNDER_WAY:
        raise PalestraError(
            say(
                "This submission is {stage}; only what is waiting or under way can be cancelled.",
                stage=STAGES[one.stage],
            )
        )
    return [e.AttemptCancelled(submission, require_reason(reason))]


def receive_bundle(state: State, now: int, sent: Sent) -> list[e.Body]:
    """A promoted team's bundle for verification. A late one is taken and marked: the organiser decides."""
    phase = state.phase(sent.phase, now)
    _require_new(state, sent.id)
    due = require_bundle(state, phase, sent.team, sent.name, sent.bytes, now)
    return [e.BundleMade(sent.id, sent.team, sent.phase, sent.file, sent.name, sent.bytes, now >= due)]


def require_bundle(state: State, phase: Phase, team: str, name: str, size: int, now: int) -> int:
    """Refuse a bundle by who sends it, its name or its size; else say when it is due."""
    wanted, promotion = phase.verification, state.promotions.get(phase.id)
    if wanted is None:
        raise PalestraError(say("This phase asks for no verification bundle."))
    if promotion is None or all(one.team != team for one in promotion.teams):
        raise PalestraError(say("Only teams that were promoted from this phase hand in a bundle."))
    if out := state.out(team, phase.id, now):
        raise PalestraError(say("Your team is disqualified: {reason}", reason=out.reason))
    _require_size(name, size, wanted.limit_bytes)
    calendar.require_name(wanted.name, name, state.team(team).name, now, state.rules(now).zone)
    return bundle_due(state, phase, team)


def bundle_due(state: State, phase: Phase, team: str = "") -> int:
    """The end of the last working day on which a team's bundle is in time; without a team, of who was promoted last."""
    wanted, promotion, rules = phase.verification, state.promotions[phase.id], state.rules()
    assert wanted is not None
    promoted_at = promotion.since.get(team) or max(promotion.since.values(), default=promotion.at)
    off, on = rules.holidays, rules.working_weekends
    return calendar.working_days_after(promoted_at, wanted.working_days, rules.zone, off, on)
