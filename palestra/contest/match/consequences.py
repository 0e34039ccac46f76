"""What each step at the table is called, and what it will cost: said before anybody confirms it."""

from __future__ import annotations

from palestra.contest.match import events as e
from palestra.contest.match.clock import shown
from palestra.contest.match.events import MatchBody, MatchOpened
from palestra.contest.match.marks import counted
from palestra.contest.match.state import CaseState, Turn, case_of
from palestra.contest.match.turn import case_left_ms, left_ms
from palestra.text import Words, say

LABELS: dict[type, Words] = {
    e.RefereeDeclared: say("declare to be neutral"),
    e.TeamsOrdered: say("set the running order"),
    e.SlotsPlanned: say("plan debugging slots"),
    e.GroupsDrawn: say("draw the order of groups"),
    e.ImageTaken: say("take in an image"),
    e.ImageFrozen: say("freeze the image"),
    e.TurnBegun: say("begin the turn"),
    e.RefereeReplaced: say("replace a referee"),
    e.ClockHeld: say("hold the clock"),
    e.ClockReleased: say("release the clock"),
    e.TurnClosed: say("close the turn"),
    e.ConductNoted: say("note conduct"),
    e.LogTaken: say("take in a log"),
    e.SceneChecked: say("sign off the scene"),
    e.SystemConfirmed: say("confirm that the system is up"),
    e.InstructionEntered: say("enter the instruction"),
    e.SignalGiven: say("give the hand signal"),
    e.WeightsHashed: say("hash the weights"),
    e.CaseStarted: say("start"),
    e.CaseStopped: say("stop"),
    e.CaseRetried: say("retry"),
    e.ProgramRestarted: say("restart the program"),
    e.CaseAbandoned: say("abandon the case"),
    e.GoalMarked: say("mark a sub-goal"),
    e.MarksSigned: say("sign the marks"),
    e.CaseRuled: say("rule on a difference"),
    e.TimeCorrected: say("correct a time"),
    e.ResultsPublished: say("publish results"),
    e.AppealMade: say("appeal"),
    e.AppealDecided: say("decide an appeal"),
    e.PenaltyProposed: say("propose a penalty"),
    e.PenaltyConfirmed: say("confirm a penalty"),
    e.PenaltyWithdrawn: say("withdraw a penalty"),
    e.EventUndone: say("undo"),
}
NOTHING = say("Costs nothing.")
ALWAYS: dict[type, Words] = {  # what follows from these is the same each time
    e.RefereeDeclared: say(
        "You declare that you are neutral: you are in no team, you help none, and you judge "
        "by the rules alone. You do not referee teams that you name here."
    ),
    e.TeamsOrdered: say(
        "Teams play in the order that is drawn from the seed, which anybody can draw again; "
        "without one, as they are listed."
    ),
    e.GroupsDrawn: say(
        "The order of groups is drawn from the seed, and anybody can draw it again. A draw cannot be undone."
    ),
    e.ImageTaken: say("Its digest is kept. A team may hand in several until one is frozen."),
    e.ImageFrozen: say("The team plays with this image. Another one takes a reason."),
    e.TurnBegun: say("The 55 minutes start and do not stop."),
    e.ClockHeld: say("Both clocks stand until they are released. Only for what is not the team's doing."),
    e.ConductNoted: say("Referees and the organiser see it. Nothing follows from it by itself."),
    e.LogTaken: say("Its digest is kept: it may not be altered after this."),
    e.WeightsHashed: say("A difference between before and after is shown to the head referee."),
    e.MarksSigned: say("Your word on this attempt; changed only with a reason."),
    e.CaseRuled: say(
        "Your ruling counts in place of what the referees signed. What is ticked below is met, all else is not."
    ),
    e.TimeCorrected: say("This time counts in place of the clock's; results change with it, also published ones."),
    e.AppealMade: say("The head referee decides on it and answers with reasons. The result stands until then."),
    e.AppealDecided: say(
        "The team reads your answer. An upheld appeal changes no number by itself: correct the case or its time next."
    ),
    e.EventUndone: say("As if it had not been; where a clock was stopped, the time since counts."),
    e.PenaltyProposed: say("Counts once another referee confirms it."),
    e.PenaltyConfirmed: say("It counts from now on; only the head referee can withdraw it."),
}


def cost_of(opened: MatchOpened, turn: Turn, wish: MatchBody, now: int) -> Words:
    """What follows, in words."""
    case = turn.cases.get(getattr(wish, "case", ""))
    match wish:
        case e.TurnClosed():
            return _closing(turn)
        case e.CaseStarted() if case:
            return _starting(opened, turn, case, now)
        case e.CaseStopped() if case:
            return _stopping(opened, turn, case, now)
        case e.CaseRetried() if case:
            return _retrying(opened, turn, case, now)
        case e.ProgramRestarted() if case:
            return _restarting(opened, turn, case, now)
        case e.CaseAbandoned() if case:
            return _abandoning(opened, turn, case)
        case e.ResultsPublished():
            return _publishing(opened)
    return ALWAYS.get(type(wish), NOTHING)


def _met(opened: MatchOpened, turn: Turn, case: CaseState) -> str:
    _, met = counted(opened, turn, case)
    return f"{len(met)}/{len(case_of(opened, case.id)[1].goals)}"


def charge_of(opened: MatchOpened, case: CaseState) -> str:
    """What a case that was abandoned or not reached adds to the total time."""
    group, _ = case_of(opened, case.id)
    return shown(int(opened.rules.case_ms(len(group.cases))))


def _starting(opened: MatchOpened, turn: Turn, case: CaseState, now: int) -> Words:
    left, whole = shown(case_left_ms(opened, turn, case, now)), shown(left_ms(turn, now))
    return say("The clock starts: {left} at most; {whole} of the 55 minutes are left.", left=left, whole=whole)


def _stopping(opened: MatchOpened, turn: Turn, case: CaseState, now: int) -> Words:
    ran = shown(case.ran_ms(now))
    return say(
        "The clock stops at {ran}. What holds now counts ({met}); there is no retry after it.",
        ran=ran,
        met=_met(opened, turn, case),
    )


def _retrying(opened: MatchOpened, turn: Turn, case: CaseState, now: int) -> Words:
    left, number, most = shown(case_left_ms(opened, turn, case, now)), len(case.attempts), opened.rules.retries
    met = _met(opened, turn, case)
    if opened.rules.counts == "best":
        kept = say("The better attempt counts: {met} stay.", met=met)
    else:
        kept = say("The last attempt counts: {met} met now are lost unless they are met again.", met=met)
    return say(
        "Retry {number} of {most}. The clock runs on through the reset, {left} left. {kept}",
        number=number,
        most=most,
        left=left,
        kept=kept,
    )


def _restarting(opened: MatchOpened, turn: Turn, case: CaseState, now: int) -> Words:
    left, most = shown(case_left_ms(opened, turn, case, now)), opened.rules.restarts
    number = len(turn.restarts) + 1
    return say(
        "Restart {number} of {most} for this team in all. The clock runs on, {left} left. It is not a retry.",
        number=number,
        most=most,
        left=left,
    )


def _abandoning(opened: MatchOpened, turn: Turn, case: CaseState) -> Words:
    met, charged = _met(opened, turn, case), charge_of(opened, case)
    return say(
        "The case scores 0, though {met} sub-goals are met, and adds {charged} to the total "
        "time. The next case follows.",
        met=met,
        charged=charged,
    )


def _closing(turn: Turn) -> Words:
    left = sum(not case.ended for case in turn.cases.values())
    if not left:
        return NOTHING
    return say("Cases not played: {left}. They score 0 and each adds its limit to the total time.", left=left)


def _publishing(opened: MatchOpened) -> Words:
    minutes = opened.rules.appeal_ms // 60_000
    return say(
        "Everyone sees it and it is changed only by a correction. Appeals are open for {minutes} minutes.",
        minutes=minutes,
    )
