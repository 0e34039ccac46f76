"""How the organiser runs a contest: rules, phases, freezes, announcements, runs; decisions from state to events."""

import msgspec

from palestra.contest.decisions.submissions import STAGES
from palestra.contest.log import State
from palestra.contest.log import events as e
from palestra.contest.rules import Phase, Rules, duration, require_reason, told, track_of
from palestra.contest.rules import model as rulebook
from palestra.errors import Told
from palestra.text import Words

PLAYABLE = ("queued", "running", "scored", "faulted")  # stages of a bundle that was found to be one


def open_contest(state: State, rules: Rules, home: str) -> list[e.Body]:
    if state.versions:
        raise Told("This contest was opened already. Amend its rules instead.", "比赛已经创建。如需更改，请修订规则。")
    return [e.ContestOpened(rulebook.encode(rules), home)]


def amend(state: State, now: int, rules: Rules, counts_from: int, reason: str) -> list[e.Body]:
    """Other rules from a later time on. What was decided before stays as it was decided."""
    before, newest = state.rules(now), state.versions[-1]
    if rules == newest.rules:
        raise Told("These rules are announced already, or in force.", "这份规则已公布或正在生效。")
    _require_notice(before, now, counts_from)
    if counts_from < newest.counts_from:  # else the older rules would come back into force after the newer ones
        raise Told(
            f"Other rules count from {told(newest.counts_from, before.zone, 'en')}. New ones are in their place, or "
            "later.",
            f"另一份规则将于 {told(newest.counts_from, before.zone, 'zh')} 生效。新规则只能同时或更晚生效。",
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
        raise Told(
            f"Rules are announced {notice.en}: these count from {told(earliest, rules.zone, 'en')} at the earliest.",
            f"规则须{notice.zh}公布：这份规则最早可于 {told(earliest, rules.zone, 'zh')} 生效。",
        )


def _notice(rules: Rules) -> Words:
    """How long before they count rules are announced."""
    if not rules.notice_ms:
        return Words("before they count", "在生效前")
    return Words(
        f"{duration(rules.notice_ms, 'en')} before they count", f"至少在生效前 {duration(rules.notice_ms, 'zh')}"
    )


def _require_same_phases(state: State, before: Rules, rules: Rules) -> None:
    there = {phase.id for phase in rules.phases}
    for phase in before.phases:
        if phase.id not in there:
            raise Told(
                f"The phase {phase.id!r} is gone from the new rules; phases stay. Close it instead.",
                f"新规则中缺少赛段“{phase.id}”。赛段不能删除，可以改为提前结束。",
            )
        if state.of_team.get(phase.id) and rules.phase(phase.id).track != phase.track:
            raise Told(
                f"The phase {phase.id!r} has submissions: its track stays {phase.track}.",
                f"赛段“{phase.id}”已有提交，赛道须保持为 {phase.track}。",
            )


def _require_same_awards(state: State, before: Rules, rules: Rules) -> None:
    """Awards are known by their place in the rules."""
    for number in sorted(int(number) for number, teams in state.awards.items() if teams):
        if before.awards[number : number + 1] != rules.awards[number : number + 1]:
            title = before.awards[number].title
            raise Told(
                f"The award {title.in_language('en')!r} has been given: it stays as it is, in its place.",
                f"奖项“{title.in_language('zh')}”已经颁发，内容和位置都不能改动。",
            )


def _require_unknown_truth(state: State, phase: Phase, now: int) -> None:
    """Nothing can be submitted any more to what some know the answers of: a phase, or another one on its data."""
    if phase.closes <= now:
        return
    if phase.id in state.truth:
        raise Told(
            f"The truth of {phase.id!r} has been released, so it cannot be open again.",
            f"赛段“{phase.id}”的真值已经发放，不能重新开放。",
        )
    known = [state.phase(name, now) for name in state.truth]
    if twin := next((other.id for other in known if phase.data and other.data == phase.data), None):
        raise Told(
            f"The truth of {twin!r} has been released, so {phase.id!r}, which has the same data, cannot be open.",
            f"赛段“{twin}”的真值已经发放，使用相同数据的赛段“{phase.id}”不能开放。",
        )


def move_phase(state: State, now: int, phase_id: str, opens: int, closes: int, reason: str) -> list[e.Body]:
    phase = state.phase(phase_id, now)
    if opens >= closes:
        raise Told("A phase opens before it closes.", "赛段的开始时间必须早于结束时间。")
    _require_unknown_truth(state, msgspec.structs.replace(phase, opens=opens, closes=closes), now)
    return [e.PhaseMoved(phase_id, opens, closes, require_reason(reason))]


def announce(announcement: str, title: Words, text: Words) -> list[e.Body]:
    if not (title.en or title.zh):
        raise Told("An announcement has a title.", "公告必须有标题。")
    return [e.AnnouncementMade(announcement, title, text)]


def freeze(state: State, phase_id: str) -> list[e.Body]:
    state.phase(phase_id)
    if phase_id in state.frozen:
        raise Told("This board is frozen already.", "该排行榜已经封榜。")
    return [e.BoardFrozen(phase_id)]


def release(state: State, now: int, phase_id: str) -> list[e.Body]:
    """Show a board in full: ends its freeze, and reveals the part of the people that was kept apart."""
    phase = state.phase(phase_id, now)
    if phase.split is not None and now < phase.closes:
        raise Told(
            "A board with a hidden part is released after its phase has closed.",
            "含有隐藏部分的排行榜，须在赛段结束后才能揭榜。",
        )
    return [e.BoardReleased(phase_id)]


def start_run(state: State, now: int, run: str, phase_id: str, submissions: tuple[str, ...]) -> list[e.Body]:
    """A live run of several bundles at once, on the stage."""
    phase = state.phase(phase_id, now)
    if not track_of(phase).live:
        raise Told(
            f"{phase.track} is answered by files; there is nothing to run.",
            f"赛道 {phase.track} 以文件作答，没有可以现场运行的程序。",
        )
    if any(not one.outcome for one in state.runs.values()):
        raise Told(
            "A run is under way. Wait until it ends, or stop it.", "已有一场评测正在进行。请等待其结束，或中止它。"
        )
    if not submissions:
        raise Told("Nobody takes part: choose at least one bundle.", "没有参加者：请至少选择一个程序包。")
    chosen = [state.submission(name) for name in submissions]
    if wrong := next((one.id for one in chosen if one.phase != phase_id), None):
        raise Told(f"{wrong} was submitted to another phase.", f"{wrong} 是提交到另一个赛段的。")
    if useless := next((one for one in chosen if one.stage not in PLAYABLE or state.out(one.team, phase_id)), None):
        why = Words(f"is {useless.stage}", f"的状态为“{STAGES[useless.stage]}”")
        if useless.stage in PLAYABLE:
            why = Words("is of a team that is disqualified", "所属的队伍已被取消资格")
        raise Told(
            f"{useless.id} {why.en}; only what was checked and accepted can run.",
            f"{useless.id} {why.zh}；只有通过检查并被接收的程序包才能运行。",
        )
    teams = [one.team or one.baseline for one in chosen]
    if len(set(teams)) < len(teams):
        raise Told("A team takes part with one bundle.", "每支队伍只能以一个程序包参加。")
    return [e.RunStarted(run, phase_id, submissions, phase.pace)]


def stop_run(state: State, run: str, message: str) -> list[e.Body]:
    if run not in state.runs or state.runs[run].outcome:
        raise Told("No such run is under way.", "没有这样一场正在进行的评测。")
    return [e.RunEnded(run, "stopped", message=require_reason(message))]
