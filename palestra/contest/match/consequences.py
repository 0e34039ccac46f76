"""What each step at the table is called, and what it will cost: said before anybody confirms it."""

from __future__ import annotations

from palestra.contest.match import events as e
from palestra.contest.match.clock import shown
from palestra.contest.match.events import MatchBody, MatchOpened
from palestra.contest.match.marks import counted
from palestra.contest.match.state import CaseState, Turn, case_of
from palestra.contest.match.turn import case_left_ms, left_ms
from palestra.text import Words

LABELS: dict[type, Words] = {
    e.RefereeDeclared: Words("declare to be neutral", "签署中立声明"),
    e.TeamsOrdered: Words("set the running order", "确定出场顺序"),
    e.SlotsPlanned: Words("plan debugging slots", "安排调试时段"),
    e.GroupsDrawn: Words("draw the order of groups", "抽签决定任务组顺序"),
    e.ImageTaken: Words("take in an image", "接收镜像"),
    e.ImageFrozen: Words("freeze the image", "冻结镜像"),
    e.TurnBegun: Words("begin the turn", "开始本队比赛"),
    e.RefereeReplaced: Words("replace a referee", "更换裁判"),
    e.ClockHeld: Words("hold the clock", "暂停计时"),
    e.ClockReleased: Words("release the clock", "恢复计时"),
    e.TurnClosed: Words("close the turn", "结束本队比赛"),
    e.ConductNoted: Words("note conduct", "记录行为"),
    e.LogTaken: Words("take in a log", "接收日志"),
    e.SceneChecked: Words("sign off the scene", "确认场景"),
    e.SystemConfirmed: Words("confirm that the system is up", "确认系统已启动"),
    e.InstructionEntered: Words("enter the instruction", "输入指令"),
    e.SignalGiven: Words("give the hand signal", "举手示意"),
    e.WeightsHashed: Words("hash the weights", "校验权重"),
    e.CaseStarted: Words("start", "开始计时"),
    e.CaseStopped: Words("stop", "停止计时"),
    e.CaseRetried: Words("retry", "重试"),
    e.ProgramRestarted: Words("restart the program", "重启程序"),
    e.CaseAbandoned: Words("abandon the case", "放弃用例"),
    e.GoalMarked: Words("mark a sub-goal", "判定子目标"),
    e.MarksSigned: Words("sign the marks", "签署判定"),
    e.CaseRuled: Words("rule on a difference", "裁定分歧"),
    e.TimeCorrected: Words("correct a time", "更正用时"),
    e.ResultsPublished: Words("publish results", "公布成绩"),
    e.AppealMade: Words("appeal", "申诉"),
    e.AppealDecided: Words("decide an appeal", "裁决申诉"),
    e.PenaltyProposed: Words("propose a penalty", "提出处罚"),
    e.PenaltyConfirmed: Words("confirm a penalty", "确认处罚"),
    e.PenaltyWithdrawn: Words("withdraw a penalty", "撤回处罚"),
    e.EventUndone: Words("undo", "撤销"),
}
NOTHING = Words("Costs nothing.", "不影响成绩。")
ALWAYS: dict[type, Words] = {  # what follows from these is the same each time
    e.RefereeDeclared: Words(
        "You declare that you are neutral: you are in no team, you help none, and you judge by the rules alone. You do "
        "not referee teams that you name here.",
        "您声明保持中立：不属于、不协助任何参赛队，只依规则判定。在此列出的队伍，您须回避，不担任其裁判。",
    ),
    e.TeamsOrdered: Words(
        "Teams play in the order that is drawn from the seed, which anybody can draw again; without one, as they are "
        "listed.",
        "各队按种子抽签得出的顺序上场，任何人都可复算；不填种子则按列表顺序。",
    ),
    e.GroupsDrawn: Words(
        "The order of groups is drawn from the seed, and anybody can draw it again. A draw cannot be undone.",
        "任务组顺序由种子抽签得出，任何人都可复算。抽签不能撤销。",
    ),
    e.ImageTaken: Words(
        "Its digest is kept. A team may hand in several until one is frozen.", "记录其摘要。冻结之前可提交多个镜像。"
    ),
    e.ImageFrozen: Words(
        "The team plays with this image. Another one takes a reason.", "该队以此镜像参赛。更换须说明理由。"
    ),
    e.TurnBegun: Words("The 55 minutes start and do not stop.", "55 分钟计时开始，不再停止。"),
    e.ClockHeld: Words(
        "Both clocks stand until they are released. Only for what is not the team's doing.",
        "两个计时均暂停，直至恢复。仅限非参赛队原因。",
    ),
    e.ConductNoted: Words(
        "Referees and the organiser see it. Nothing follows from it by itself.",
        "裁判和主办方可见。不会因此自动产生处罚。",
    ),
    e.LogTaken: Words("Its digest is kept: it may not be altered after this.", "记录其摘要：此后不得改动。"),
    e.WeightsHashed: Words(
        "A difference between before and after is shown to the head referee.", "赛前赛后如有差异，将提示裁判长。"
    ),
    e.MarksSigned: Words(
        "Your word on this attempt; changed only with a reason.", "即您对本次尝试的最终判定；更改须说明理由。"
    ),
    e.CaseRuled: Words(
        "Your ruling counts in place of what the referees signed. What is ticked below is met, all else is not.",
        "您的裁定取代裁判签署的判定：以下勾选的子目标视为达成，其余视为未达成。",
    ),
    e.TimeCorrected: Words(
        "This time counts in place of the clock's; results change with it, also published ones.",
        "以此用时取代计时结果；成绩（包括已公布的）随之更改。",
    ),
    e.AppealMade: Words(
        "The head referee decides on it and answers with reasons. The result stands until then.",
        "由裁判长裁决并说明理由。裁决之前成绩不变。",
    ),
    e.AppealDecided: Words(
        "The team reads your answer. An upheld appeal changes no number by itself: correct the case or its time next.",
        "参赛队会看到您的答复。申诉成立并不会自动改分：请随后更正该用例的判定或用时。",
    ),
    e.EventUndone: Words(
        "As if it had not been; where a clock was stopped, the time since counts.",
        "视同未发生；若曾停表，则其后的时间照计。",
    ),
    e.PenaltyProposed: Words("Counts once another referee confirms it.", "经另一名裁判确认后生效。"),
    e.PenaltyConfirmed: Words(
        "It counts from now on; only the head referee can withdraw it.", "即刻生效；此后只有裁判长可以撤回。"
    ),
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
    return Words(
        f"The clock starts: {left} at most; {whole} of the 55 minutes are left.",
        f"计时开始：最多 {left}；55 分钟还剩 {whole}。",
    )


def _stopping(opened: MatchOpened, turn: Turn, case: CaseState, now: int) -> Words:
    ran = shown(case.ran_ms(now))
    return Words(
        f"The clock stops at {ran}. What holds now counts ({_met(opened, turn, case)}); there is no retry after it.",
        f"计时停在 {ran}。以此刻状态计分（{_met(opened, turn, case)}）；之后不能再重试。",
    )


def _retrying(opened: MatchOpened, turn: Turn, case: CaseState, now: int) -> Words:
    left, number, most = shown(case_left_ms(opened, turn, case, now)), len(case.attempts), opened.rules.retries
    met = _met(opened, turn, case)
    if opened.rules.counts == "best":
        kept, kept_zh = f"The better attempt counts: {met} stay.", f"取最好一次：已达成的 {met} 保留。"
    else:
        kept = f"The last attempt counts: {met} met now are lost unless they are met again."
        kept_zh = f"以最后一次为准：现已达成的 {met} 作废，须重新达成。"
    return Words(
        f"Retry {number} of {most}. The clock runs on through the reset, {left} left. {kept}",
        f"第 {number} 次重试（共 {most} 次）。复位期间计时不停，还剩 {left}。{kept_zh}",
    )


def _restarting(opened: MatchOpened, turn: Turn, case: CaseState, now: int) -> Words:
    left, most = shown(case_left_ms(opened, turn, case, now)), opened.rules.restarts
    number = len(turn.restarts) + 1
    return Words(
        f"Restart {number} of {most} for this team in all. The clock runs on, {left} left. It is not a retry.",
        f"该队全场第 {number} 次重启（共 {most} 次）。计时不停，还剩 {left}。不计为重试。",
    )


def _abandoning(opened: MatchOpened, turn: Turn, case: CaseState) -> Words:
    met, charged = _met(opened, turn, case), charge_of(opened, case)
    return Words(
        f"The case scores 0, though {met} sub-goals are met, and adds {charged} to the total time. "
        "The next case follows.",
        f"该用例计 0 分（即使已达成 {met} 个子目标），总用时计入 {charged}。随后进入下一用例。",
    )


def _closing(turn: Turn) -> Words:
    left = sum(not case.ended for case in turn.cases.values())
    if not left:
        return NOTHING
    return Words(
        f"Cases not played: {left}. They score 0 and each adds its limit to the total time.",
        f"尚有 {left} 个用例未进行：均计 0 分，并各按其时限计入总用时。",
    )


def _publishing(opened: MatchOpened) -> Words:
    minutes = opened.rules.appeal_ms // 60_000
    return Words(
        f"Everyone sees it and it is changed only by a correction. Appeals are open for {minutes} minutes.",
        f"公布后人人可见，此后只能以更正方式修改。申诉期 {minutes} 分钟。",
    )
