"""The protocol of a match and how it is scored, in words, from the readings that the contest file chose."""

from __future__ import annotations

from fractions import Fraction

from palestra.contest.manual.blocks import Block, Heading, Points, Prose, Section
from palestra.contest.match import MatchRules, shown, weights_of
from palestra.text import Words


def protocol(rules: MatchRules) -> Section:
    blocks: list[Block] = [
        Heading(Words("A team's turn", "一支队伍的比赛流程")),
        Points(tuple(_turn(rules)), numbered=True),
        Heading(Words("Time", "时间")),
        Points(tuple(_time(rules))),
        Heading(Words("Retry, restart, abandon", "重试、重启与放弃")),
        Points(tuple(_second_tries(rules))),
        Heading(Words("Referees, publication, appeal", "裁判、公布与申诉")),
        Points(tuple(_referees(rules))),
        Heading(Words("Fair play", "公平与合规")),
        Points(tuple(_fairness())),
    ]
    return Section("protocol", Words("Protocol", "比赛流程"), tuple(blocks))


def _turn(rules: MatchRules) -> list[Words]:
    return [
        Words(
            "The image of each team is frozen before its turn. Weights are hashed before and after each case.",
            "各队镜像在上场前冻结；每个用例前后均校验权重的哈希值。",
        ),
        Words(
            "The referee lays the scene, compares it with the reference layout and a photo, and signs it off.",
            "裁判按基准布局摆放场景，对照叠加照片检查后签字确认。",
        ),
        Words("The team confirms that its system is up.", "参赛队确认系统已启动。"),
        Words(
            "The referee enters the instruction. The policy receives it when the clock starts and not before.",
            "裁判输入指令。程序在计时开始时才收到指令。",
        ),
        Words(
            "Hand signal; the referee starts the clock; the system acts by itself.",
            "举手示意；裁判开始计时；系统自动执行。",
        ),
        Words(
            "The referee stops the clock on the team's word, or the time limit does. What holds then is marked.",
            "由队伍示意、裁判停表，或到时自动停止；以停表时的状态判定子目标。",
        ),
        Words(
            "The next case follows, until all are played or the 55 minutes are over.",
            "随后进入下一用例，直至全部完成或 55 分钟用尽。",
        ),
    ]


def _time(rules: MatchRules) -> list[Words]:
    limit = shown(rules.limit_ms)
    per = (
        Words(f"Each group of cases has {limit} of running clock in all.", f"每组用例的计时总长为 {limit}。")
        if rules.limit_per == "group"
        else Words(f"Each case has {limit}.", f"每个用例限时 {limit}。")
    )
    order = {
        "team": Words("The order of groups is drawn for each team.", "任务组顺序由各队分别抽签决定。"),
        "all": Words(
            "The order of groups is drawn once and is the same for all teams.", "任务组顺序统一抽签一次，各队相同。"
        ),
        "fixed": Words("The order of groups is fixed, and the same for all teams.", "任务组顺序固定，各队相同。"),
    }[rules.draw]
    about = Words("about ", "约 ") if rules.shape == "about" else Words()
    return [
        Words(
            f"There are {about.en}{rules.groups} groups of {about.en}{rules.cases} cases, the same for all teams.",
            f"共{about.zh or ' '}{rules.groups} 组，每组{about.zh or ' '}{rules.cases} 个用例，各队完全相同。",
        ),
        Words(
            "A team has 55 minutes at the table, preparation and switching included. Nothing extends them.",
            "每队总用时 55 分钟（含准备与切换），不予延长。",
        ),
        per,
        order,
        Words(
            "A draw is made from a seed in public: groups are ordered by SHA-256 of “seed/team/group” "
            "(“seed/group” in one draw for all), so that anybody can draw again.",
            "抽签种子当众产生：按“种子/队伍/任务组”（统一抽签时为“种子/任务组”）的 SHA-256 值排序，任何人均可复核。",
        ),
        Words(
            "The clock is the server's, in milliseconds. Only the head referee can hold it, for what is not the team's "
            "doing, with a reason.",
            "以服务器时钟为准，精确到毫秒。仅裁判长可因非参赛队原因暂停计时，并须说明理由。",
        ),
        Words(
            "When the 55 minutes end, the running case is scored as it stands and the others score 0.",
            "55 分钟用尽时，正在进行的用例按当时状态计分，其余用例计 0 分。",
        ),
    ]


def _second_tries(rules: MatchRules) -> list[Words]:
    last = rules.counts == "last"
    return [
        Words(
            f"After a drop, a hang or a bad pose a case may be tried again, {rules.retries} times at most. The clock "
            "runs on through the reset.",
            f"发生掉落、卡死或异常姿态时可重试，每个用例最多 {rules.retries} 次；复位期间计时不停。",
        ),
        Words(
            "The last attempt counts: what was met before it is lost."
            if last
            else "The best attempt counts: what was met before stays.",
            "以最后一次尝试为准：此前达成的子目标作废。" if last else "取最好的一次尝试：此前达成的子目标保留。",
        ),
        Words(
            f"A program that hangs may be restarted {_times(rules.restarts)[0]} in all, approved by a named referee. "
            "The clock runs on, and it is not a retry.",
            f"程序卡死时经裁判批准可重启，每队全场共 {_times(rules.restarts)[1]}；计时不停，且不计为重试。",
        ),
        Words(
            "A case that is abandoned scores 0, whatever was met. One that runs out of time keeps what holds when the "
            "clock stops.",
            "放弃的用例计 0 分，无论已达成多少子目标；超时的用例按停表时的状态计分。",
        ),
    ]


def _times(count: int) -> tuple[str, str]:
    return ("once" if count == 1 else f"{count} times"), f"{count} 次"


def _referees(rules: MatchRules) -> list[Words]:
    minutes = rules.appeal_ms // 60_000
    return [
        Words(
            f"{rules.referees} referees or more mark independently, and have declared to be neutral.",
            f"每场至少 {rules.referees} 名裁判独立判定，并事先签署中立声明。",
        ),
        Words(
            "Where they differ, the head referee rules, with a reason. Nothing is published before.",
            "判定不一致时由裁判长裁定并说明理由；裁定前不予公布。",
        ),
        Words(
            f"A team may appeal for {minutes} minutes after a result is published.",
            f"成绩公布后 {minutes} 分钟内可提出申诉。",
        ),
        Words(
            "Every correction is a new entry in the log, with its author and reason. Nothing is erased.",
            "所有更正均作为新条目写入日志，注明操作人和理由，原记录不删除。",
        ),
    ]


def _fairness() -> list[Words]:
    return [
        Words(
            "Weights and settings may differ from the online phase; the core of the algorithm may not.",
            "允许更换模型权重和环境配置，禁止修改核心算法。",
        ),
        Words(
            "No data is collected and nothing is learnt on site. Programs have no network but the line to the robot.",
            "禁止在现场采集数据或更新模型；程序除机器人接口外不得联网。",
        ),
        Words(
            "Nobody touches objects, arm or program while the clock runs, unless a referee allows it.",
            "计时期间未经裁判许可，不得触碰物体、机械臂或程序。",
        ),
        Words(
            "A violation can cost points, a result or the team. It is itemised with its rule, proposed by one referee "
            "and confirmed by another.",
            "违规可导致扣分、取消单项成绩或取消参赛资格；须逐项注明依据，由一名裁判提出、另一名裁判确认。",
        ),
        Words(
            "Logs of teams and robot are hashed when they are taken, and may not be altered.",
            "队伍与机器人日志在提取时计算哈希值，不得篡改。",
        ),
    ]


# Scoring


def scoring(rules: MatchRules, has_final: bool) -> Section:
    online, onsite = weights_of(rules)
    blocks: list[Block] = [
        Points(tuple(_scores(rules))),
        Heading(Words("Equal scores", "同分排序")),
        Points(tuple(_ties(rules)), numbered=True),
    ]
    if has_final:
        blocks += [
            Heading(Words("Final score", "最终成绩")),
            Prose(
                Words(
                    f"Final = {_percent(online)} online + {_percent(onsite)} on site, both from 0 to 1. A tie falls to "
                    "the chain above.",
                    f"最终成绩 = 线上 × {_percent(online)} + 线下 × {_percent(onsite)}（均为 0 到 1）。"
                    "同分时按上述顺序比较线下成绩。",
                )
            ),
        ]
    return Section("scoring", Words("Scoring", "评分"), tuple(blocks))


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):g} %"


def _scores(rules: MatchRules) -> list[Words]:
    over = (
        Words("the mean over all cases", "全部用例得分的平均值")
        if rules.mean == "cases"
        else Words("the mean of the groups' means", "各组平均得分的平均值")
    )
    return [
        Words(
            "Score of a case = met sub-goals ÷ sub-goals, as an exact fraction, less what was deducted; not below 0.",
            "单个用例得分 = 达成的关键子目标数 ÷ 总关键子目标数，按精确分数保存；扣分后不低于 0。",
        ),
        Words(
            f"Score of a team = {over.en}. It is kept from 0 to 1, and shown out of 10 and in per cent.",
            f"队伍得分 = {over.zh}；内部取值 0 到 1，以 10 分制和百分比显示。",
        ),
        Words(
            "What holds at the end counts. When it first held is logged, and does not count.",
            "以结束时的状态为准；首次达成时间只作记录，不参与计分。",
        ),
    ]


def _ties(rules: MatchRules) -> list[Words]:
    charge = (
        Words("its group's limit ÷ the group's cases", "所在组时限 ÷ 该组用例数")
        if rules.limit_per == "group"
        else Words("its limit", "其时限")
    )
    return [
        Words(
            "Less time in all: running clock, summed in milliseconds and compared in whole seconds. A case that was "
            f"abandoned or not reached is charged {charge.en}.",
            f"总用时较短者优先：各用例计时以毫秒累加、按整秒比较；放弃或未进行的用例按{charge.zh}计入。",
        ),
        Words("More cases met in full.", "完整完成的用例数较多者优先。"),
        Words(
            "The smaller variance of the case scores (population variance, exact).",
            "用例得分的总体方差较小者优先（精确计算）。",
        ),
        Words("Then the rank is shared.", "仍相同则并列。"),
    ]
