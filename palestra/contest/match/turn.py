"""A team's turn, step by step: what may happen when, and what follows. Every function refuses in words before it
changes anything."""

from __future__ import annotations

from typing import Literal

from palestra.contest.match import events as e
from palestra.contest.match.clock import shown
from palestra.contest.match.events import Entry, MatchOpened
from palestra.contest.match.rules import TOTAL_MS
from palestra.contest.match.state import Attempt, CaseState, Digest, Image, Note, Restart, Scene, Turn, case_of, unknown
from palestra.errors import Told


def settle(turn: Turn, now: int) -> None:
    """What the clock alone has ended by now."""
    case = running_case(turn)
    if case is None or case.clock.elapsed(now) < case.budget_ms:
        return
    over_ms = case.clock.elapsed(now) - case.budget_ms
    case.clock.since, case.clock.ran_ms = None, case.budget_ms
    case.ended, case.ended_at = case.budget_of, now - over_ms


def running_case(turn: Turn) -> CaseState | None:
    return next((case for case in turn.cases.values() if case.running), None)


def is_over(opened: MatchOpened, turn: Turn, now: int) -> bool:
    """Played to its end, or to that of the 55 minutes; `settle` first."""
    if turn.begun_at is None:
        return False
    return turn.closed_at is not None or turn.clock.elapsed(now) >= TOTAL_MS or current(opened, turn) is None


def left_ms(turn: Turn, now: int) -> int:
    """Of the 55 minutes."""
    return max(TOTAL_MS - turn.clock.elapsed(now), 0)


def case_left_ms(opened: MatchOpened, turn: Turn, case: CaseState, now: int) -> int:
    """Of a case's own time, or of what its group has left for it; its budget once it has started."""
    if case.started_at is not None:
        return case.budget_ms - min(case.clock.elapsed(now), case.budget_ms)
    return min(_unused_ms(opened, turn, case), left_ms(turn, now))


def _unused_ms(opened: MatchOpened, turn: Turn, case: CaseState) -> int:
    if opened.rules.limit_per == "case":
        return opened.rules.limit_ms
    used = sum(min(one.clock.ran_ms, one.budget_ms) for one in turn.cases.values() if one.group == case.group)
    return max(opened.rules.limit_ms - used, 0)


def current(opened: MatchOpened, turn: Turn) -> CaseState | None:
    """The case at the table: the first that has not ended and whose group has time left."""
    for case in turn.cases.values():
        if case.running or (not case.ended and has_time(opened, turn, case)):
            return case
    return None


def has_time(opened: MatchOpened, turn: Turn, case: CaseState) -> bool:
    return _unused_ms(opened, turn, case) > 0


# Before the turn


def image_taken(opened: MatchOpened, turn: Turn, entry: Entry, body: e.ImageTaken) -> None:
    _not_begun(turn, "Images are taken while teams debug", "镜像只能在调试期间提交")
    if any(image.image == body.image for image in turn.images):
        raise Told("This image was taken already.", "该镜像已经提交过。")
    turn.images.append(
        Image(body.image, body.name, body.by_way_of, body.core, body.weights, body.configuration, entry.when)
    )


def image_frozen(opened: MatchOpened, turn: Turn, entry: Entry, body: e.ImageFrozen) -> None:
    _not_begun(turn, "The image is frozen before the turn", "镜像须在上场之前冻结")
    if all(image.image != body.image for image in turn.images):
        raise unknown("image of this team", "该队镜像", body.image, [image.image for image in turn.images])
    if turn.frozen and not body.reason:
        raise Told(
            "An image is frozen already. To freeze another one, say why.", "该队已有冻结的镜像。如需更换，请说明理由。"
        )
    turn.frozen = body.image


def _not_begun(turn: Turn, en: str, zh: str) -> None:
    if turn.begun_at is not None:
        raise Told(f"{en}; this team's turn has begun.", f"{zh}；该队已经上场。")


def begun(opened: MatchOpened, turn: Turn, entry: Entry, body: e.TurnBegun) -> None:
    _not_begun(turn, "A turn begins once", "每队只上场一次")
    if not turn.frozen:
        raise Told("Freeze the image of this team first.", "请先冻结该队的比赛镜像。")
    turn.begun_at = entry.when
    turn.clock.start(entry.when)
    turn.seats = [[referee] for referee in body.referees]
    cases = {group.id: group.cases for group in opened.groups}
    turn.cases = {case.id: CaseState(case.id, group) for group in body.order for case in cases[group]}


def replaced(opened: MatchOpened, turn: Turn, entry: Entry, body: e.RefereeReplaced) -> None:
    if body.referee not in turn.referees():
        raise unknown("referee of this turn", "本场裁判", body.referee, turn.referees())
    if any(body.substitute in seat for seat in turn.seats):
        raise Told(f"{body.substitute} has a seat in this turn already.", f"{body.substitute} 已经是本场裁判。")
    next(seat for seat in turn.seats if seat[-1] == body.referee).append(body.substitute)


# The clock of the turn


def held(opened: MatchOpened, turn: Turn, entry: Entry, body: e.ClockHeld) -> None:
    _playing(opened, turn, entry.when)
    if turn.held:
        raise Told("The clock stands already.", "计时已经暂停。")
    turn.held = body.reason
    turn.clock.stop(entry.when)
    if case := running_case(turn):
        case.clock.stop(entry.when)


def released(opened: MatchOpened, turn: Turn, entry: Entry, body: e.ClockReleased) -> None:
    if not turn.held:
        raise Told("The clock is not held.", "计时没有暂停。")
    turn.held = ""
    turn.clock.start(entry.when)
    if case := running_case(turn):
        case.clock.start(entry.when)


def closed(opened: MatchOpened, turn: Turn, entry: Entry, body: e.TurnClosed) -> None:
    if turn.begun_at is None or turn.closed_at is not None:
        raise Told("There is no turn to close.", "没有可以结束的场次。")
    if case := running_case(turn):
        raise Told(f"Case {case.id} is running: stop it first.", f"用例 {case.id} 正在进行，请先停止。")
    turn.closed_at = entry.when
    turn.clock.stop(entry.when)


def _playing(opened: MatchOpened, turn: Turn, now: int) -> None:
    if turn.begun_at is None:
        raise Told("This team's turn has not begun.", "该队尚未上场。")
    if is_over(opened, turn, now):
        raise Told(
            f"This team's turn is over after {shown(min(turn.clock.elapsed(now), TOTAL_MS))}.",
            f"该队的比赛已结束，用时 {shown(min(turn.clock.elapsed(now), TOTAL_MS))}。",
        )


# A case, before its clock


def _at_table(opened: MatchOpened, turn: Turn, case_id: str, now: int) -> CaseState:
    """The case at the table, if it is this one."""
    case_of(opened, case_id)
    _playing(opened, turn, now)
    case = current(opened, turn)
    if case is None or case.id != case_id:
        at_table = case.id if case else "none"
        done = turn.cases[case_id].ended
        raise Told(
            f"Case {case_id} {'has ended' if done else 'is not at the table'}; at the table is {at_table}.",
            f"用例 {case_id} {'已经结束' if done else '不在当前'}；当前用例为 {case.id if case else '无'}。",
        )
    return case


def _preparing(opened: MatchOpened, turn: Turn, case_id: str, now: int) -> CaseState:
    case = _at_table(opened, turn, case_id, now)
    if case.running:
        raise Told(f"Case {case_id} is running already.", f"用例 {case_id} 已在进行。")
    return case


def scene_checked(opened: MatchOpened, turn: Turn, entry: Entry, body: e.SceneChecked) -> None:
    """Before each attempt; between two attempts the clock runs."""
    case = _at_table(opened, turn, body.case, entry.when)
    _, sheet = case_of(opened, body.case)
    missing, extra = set(sheet.things) - set(body.things), set(body.things) - set(sheet.things)
    if missing or extra:
        raise Told(
            f"The scene of {body.case} is not right: missing objects {_numbers(missing)}, "
            f"objects that do not belong there {_numbers(extra)}. Put it right and check again.",
            f"用例 {body.case} 的场景不符：缺少物品 {_numbers(missing, '无')}，"
            f"多出物品 {_numbers(extra, '无')}。请复位后重新检查。",
        )
    if body.layout != sheet.layout:
        raise Told("This is another layout than the reference layout of this case.", "所用布局不是该用例的基准布局。")
    if not body.photo:
        raise Told("A photo of the scene is needed to sign it off.", "场景确认须附照片。")
    attempt = len(case.attempts) if case.running else 1
    case.scenes.append(Scene(entry.when, entry.by, body.things, body.layout, body.photo, attempt))


def _numbers(found: set[int], none: str = "none") -> str:
    return ", ".join(map(str, sorted(found))) or none


def confirmed(opened: MatchOpened, turn: Turn, entry: Entry, body: e.SystemConfirmed) -> None:
    case = _preparing(opened, turn, body.case, entry.when)
    if case.confirmed_at is not None:
        raise Told("The team has confirmed already.", "参赛队已经确认。")
    case.confirmed_at = entry.when


def instructed(opened: MatchOpened, turn: Turn, entry: Entry, body: e.InstructionEntered) -> None:
    case = _preparing(opened, turn, body.case, entry.when)
    _, sheet = case_of(opened, body.case)
    if not case.scenes:
        raise Told("First check the scene and sign it off.", "请先检查场景并签字确认。")
    if case.confirmed_at is None:
        raise Told("First the team confirms that its system is up.", "请先由参赛队确认系统已启动。")
    if body.text not in (sheet.instruction.en, sheet.instruction.zh) or not body.text:
        raise Told(
            "This is not the instruction of this case, letter by letter, in either language.",
            "输入的文字与该用例的指令（中文或英文）不完全一致。",
        )
    if case.signalled_at is not None:
        raise Told("The hand signal was given: the instruction stays.", "已举手示意，指令不可再改。")
    case.instruction = body.text


def signalled(opened: MatchOpened, turn: Turn, entry: Entry, body: e.SignalGiven) -> None:
    case = _preparing(opened, turn, body.case, entry.when)
    if not case.instruction:
        raise Told("First the referee enters the instruction.", "请先由裁判输入指令。")
    if case.signalled_at is not None:
        raise Told("The signal was given already.", "已经举手示意。")
    case.signalled_at = entry.when


def weights_hashed(opened: MatchOpened, turn: Turn, entry: Entry, body: e.WeightsHashed) -> None:
    """Looked at by people: a difference is shown, and nothing follows from it by itself."""
    case_of(opened, body.case)
    if turn.begun_at is None:
        raise Told("This team's turn has not begun.", "该队尚未上场。")
    turn.weights.append(Digest(entry.when, entry.by, body.digest, body.when, body.case))


# A case, while its clock runs


def started(opened: MatchOpened, turn: Turn, entry: Entry, body: e.CaseStarted) -> None:
    case = _preparing(opened, turn, body.case, entry.when)
    if case.signalled_at is None:
        raise Told("First the hand signal.", "请先举手示意。")
    if turn.held:
        raise Told("The clock is held: release it first.", "计时暂停中，请先恢复。")
    unused, left = _unused_ms(opened, turn, case), left_ms(turn, entry.when)
    case.budget_ms, case.budget_of = (unused, "time") if unused <= left else (left, "match")
    case.started_at = entry.when
    case.clock.start(entry.when)
    case.attempts.append(Attempt(entry.when))


def _running(opened: MatchOpened, turn: Turn, case_id: str, now: int) -> CaseState:
    case_of(opened, case_id)
    case = turn.cases.get(case_id)
    if case is None or case.started_at is None:
        raise Told(f"Case {case_id} has not started.", f"用例 {case_id} 尚未开始。")
    if case.ended:
        how = {"time": "its time was up", "match": "the 55 minutes were over", "abandoned": "it was abandoned"}
        zh = {"time": "用时已满", "match": "55 分钟已到", "abandoned": "已放弃"}
        ran = shown(case.ran_ms(now))
        raise Told(
            f"The clock of case {case_id} stopped at {ran}: {how.get(case.ended, 'a referee stopped it')}.",
            f"用例 {case_id} 的计时已在 {ran} 停止：{zh.get(case.ended, '裁判已停表')}。",
        )
    return case


def stopped(opened: MatchOpened, turn: Turn, entry: Entry, body: e.CaseStopped) -> None:
    """Two referees may both press: the first one counts, whichever arrives first, and the other is a witness."""
    case = turn.cases.get(body.case)
    if case and case.ended in ("stopped", "abandoned") and case.ended_by != entry.by:
        return
    case = _running(opened, turn, body.case, entry.when)
    _end(case, "stopped", entry)


def _end(case: CaseState, how: Literal["stopped", "abandoned"], entry: Entry) -> None:
    case.clock.stop(entry.when)
    case.ended, case.ended_at, case.ended_by = how, entry.when, entry.by


def retried(opened: MatchOpened, turn: Turn, entry: Entry, body: e.CaseRetried) -> None:
    case = _running(opened, turn, body.case, entry.when)
    if turn.held:
        raise Told("The clock is held: release it first.", "计时暂停中，请先恢复。")
    if len(case.attempts) > opened.rules.retries:
        raise Told(
            f"All {opened.rules.retries} retries of this case are used.",
            f"该用例的 {opened.rules.retries} 次重试机会已用完。",
        )
    case.attempts.append(Attempt(entry.when, body.why))


def restarted(opened: MatchOpened, turn: Turn, entry: Entry, body: e.ProgramRestarted) -> None:
    _running(opened, turn, body.case, entry.when)
    if len(turn.restarts) >= opened.rules.restarts:
        last = turn.restarts[-1].case if turn.restarts else ""
        raise Told(
            f"The program was restarted in case {last} already: a team has {opened.rules.restarts} in all."
            if last
            else "These rules have no restart.",
            f"程序已在用例 {last} 中重启过：每队共 {opened.rules.restarts} 次。" if last else "本规则不允许重启程序。",
        )
    if body.approved_by not in turn.referees():
        raise Told(
            f"A restart is approved by a referee of this turn: {', '.join(turn.referees())}.",
            f"重启须由本场裁判批准：{'、'.join(turn.referees())}。",
        )
    turn.restarts.append(Restart(body.case, entry.when, body.approved_by, body.reason))


def abandoned(opened: MatchOpened, turn: Turn, entry: Entry, body: e.CaseAbandoned) -> None:
    """Also before the clock, where a team would rather go on."""
    case = _at_table(opened, turn, body.case, entry.when)
    _end(case, "abandoned", entry)


# Written down


def conduct_noted(opened: MatchOpened, turn: Turn, entry: Entry, body: e.ConductNoted) -> None:
    if body.case:
        case_of(opened, body.case)
    turn.conduct.append(Note(entry.when, entry.by, body.text, body.case))


def log_taken(opened: MatchOpened, turn: Turn, entry: Entry, body: e.LogTaken) -> None:
    if body.case:
        case_of(opened, body.case)
    turn.logs.append(Digest(entry.when, entry.by, body.digest, body.what, body.case))


def flags(opened: MatchOpened, turn: Turn) -> list[Told]:
    """What people should look at. Nothing follows from it by itself."""
    found = []
    for case in turn.cases.values():
        digests = {one.what: one.digest for one in turn.weights if one.case == case.id}
        if len(set(digests.values())) > 1:
            found.append(
                Told(
                    f"Case {case.id}: the weights after it differ from those before it.",
                    f"用例 {case.id}：赛后权重与赛前不一致。",
                )
            )
    online = next((one.core for one in opened.teams if one.team == turn.team), "")
    frozen = next((image for image in turn.images if image.image == turn.frozen), None)
    if frozen and online and frozen.core and frozen.core != online:
        found.append(Told("The core code differs from that of the online phase.", "核心代码与线上阶段不一致。"))
    return found
