"""Sample views of a match: the hall's screen, the results, the published pack, slots at the desk."""

from __future__ import annotations

from typing import Any

from palestra.contest.manual.blocks import Amendment, Code, Drawing, Grid, Heading, Pack, Points, Prose, Section
from palestra.records import Estimate
from palestra.text import Words
from palestra.web.match import hall_screen as hall
from palestra.web.match import models, results
from palestra.web.models import public
from tests.web.sample_contest import DAY, FINAL, HOUR, NAMES, NOW, PRELIMINARY
from tests.web.sample_live import name_of

MINUTE = 60_000
TITLE = Words("On site", "线下赛")
GOALS = (
    Words("the red block is in the bowl", "红色方块在碗里"),
    Words(
        "the long blue peg is inserted in the socket that stands to the left of the yellow plate",
        "长的蓝色圆柱插在黄色盘子左侧的插座中",
    ),
    Words("the cup is upright, and nothing is in it", "杯子直立且为空"),
    Words("the drawer is closed with the green block inside", "抽屉已关闭，绿色方块在其中"),
)
INSTRUCTION = Words(
    "Put the red block into the bowl and the long blue peg into the socket left of the yellow plate, then close the "
    "drawer.",
    "请将红色方块放入碗中，把长的蓝色圆柱插入黄色盘子左侧的插座，然后关上抽屉。",
)


def hall_case(goals: int, met: int = 2) -> hall.HallCase:
    return hall.HallCase(
        id="long-h3",
        number=13,
        of=25,
        group=Words("Long tasks", "长程任务"),
        attempt=2,
        attempts=3,
        instruction=INSTRUCTION,
        goals=tuple(hall.HallGoal(GOALS[n % len(GOALS)], n < met) for n in range(goals)),
        dial=models.Dial(184_300),
        budget_ms=600_000,
    )


def hall_rows(count: int, tied: bool = False) -> tuple[hall.HallRow, ...]:
    tie = Words(
        "清华眼动小队 is before Blink and you miss it by total time: 28:17 against 28:18, less is better, as both "
        "have the same on-site score.",
        "清华眼动小队 排在 Blink and you miss it 之前，因总用时更短：28:17 对 28:18（线下得分相同）。",
    )
    return tuple(
        hall.HallRow(
            rank=n + 1,
            team=f"t{n}",
            name=name_of(n),
            score=f"{8.4 - n * 0.7:.2f}",
            time=f"{28 + n}:1{n % 10}",
            full=14 - n,
            cases=25,
            why=tie if n == 1 or tied else Words(),
        )
        for n in range(count)
    )


def hall_page(**more: Any) -> hall.HallPage:
    fields: dict[str, Any] = {
        "match": "m1", "title": TITLE, "rehearsal": False, "mode": "running", "team": NAMES[1], "next": NAMES[2],
        "dial": models.Dial(1_284_000), "case": hall_case(6), "rows": hall_rows(8), "more": 4,
        "live": "/live?hall=m1",
    }  # fmt: skip
    return hall.HallPage(**{**fields, **more})


def _case_results() -> tuple[results.CaseResult, ...]:
    ended = ("stopped", "time", "abandoned", "stopped", "unreached")
    ruled = (results.Note("ruled", "The second camera shows that it is in the bowl."),)
    return tuple(
        results.CaseResult(
            id=f"{group}-h{n + 1}",
            group=Words(group.title(), {"pick": "抓取", "stack": "堆叠"}[group]),
            met=0 if ended[n] in ("abandoned", "unreached") else 3,
            total=4,
            deducted="1/10" if n == 1 else "",
            score="0" if ended[n] in ("abandoned", "unreached") else "13/20" if n == 1 else "3/4",
            ran="" if ended[n] == "unreached" else "1:24.618",
            charged="2:00.000" if ended[n] in ("abandoned", "unreached") else "1:24.618",
            attempts=0 if ended[n] == "unreached" else 1 + n % 3,
            ended=ended[n],
            notes=ruled if n == 3 else (),
        )
        for group in ("pick", "stack")
        for n in range(5)
    )


def results_page(count: int = 6) -> results.ResultsPage:
    teams = tuple(
        results.TeamResult(
            team=f"t{n}",
            name=name_of(n),
            rank=n + 1 if n < count - 1 else None,
            out="" if n < count - 1 else "12: a log was altered",
            cases=_case_results(),
            sum="43/10",
            mean="43/100",
            by_groups=False,
            minus="1/20" if n == 2 else "",
            score="43/100",
            of_ten="4.30",
            time="28:17",
            charged="28:17.090",
            full=4,
            variance="301/2500",
            variance_shown="0.1204",
            online="11/15",
            online_of_ten="7.33",
            final="827/1500",
            final_of_ten="5.51",
        )
        for n in range(count)
    )
    why = Words(
        "A is before B by total time: 28:17 against 28:18, less is better, as both have the same final score and "
        "on-site score.",
        "A 排在 B 之前，因总用时更短：28:17 对 28:18（最终成绩、线下得分相同）。",
    )
    return results.ResultsPage(
        match="m1", title=TITLE, rehearsal=False, has_final=True, online="40 %", onsite="60 %", teams=teams,
        reasons=(why,) * (count - 1), pair=("t0", "t2"), between=why, of=12,
        asked=(("pick-h1", INSTRUCTION), ("stack-h1", GOALS[1])),
    )  # fmt: skip


def slots(count: int = 4) -> tuple[models.SlotView, ...]:
    first = NOW + DAY
    return tuple(
        models.SlotView(f"t{n}", name_of(n), first + n * 20 * MINUTE, first + (n + 1) * 20 * MINUTE)
        for n in range(count)
    )


def matches() -> models.MatchesPage:
    match = models.MatchLink(
        match="m1", phase=FINAL.title, opened_at=NOW, rehearsal=False, preset="seed", teams=12, played=3,
        head="Li Na", part="organiser", slots=slots(), round=models.Round(NOW + DAY, 20, 5, True),
    )  # fmt: skip
    rehearsal = models.MatchLink(
        match="m2", phase=FINAL.title, opened_at=NOW - HOUR, rehearsal=True, preset="seed", teams=12, played=0,
        head="Li Na", part="organiser", round=models.Round(NOW + DAY, 20, 5, False),
    )  # fmt: skip
    phases = (("preliminary", PRELIMINARY.title), ("final", FINAL.title))
    return models.MatchesPage(
        matches=(match, rehearsal), phases=phases, referees=(("a1", "Li Na"),), packs=(("final", FINAL.title),)
    )


def judged_board() -> public.BoardPage:
    """Of a phase that referees judge."""
    columns = (
        public.Column(name="score", title=Words("mean share of sub-goals met"), unit="", better="higher"),
        public.Column(name="total_s", title=Words("time in all"), unit="s", better="lower"),
        public.Column(name="full", title=Words("cases met in full"), unit="", better="higher"),
        public.Column(name="variance", title=Words("variance of the cases"), unit="", better="lower"),
    )
    rows = tuple(
        public.BoardRow(
            name=name_of(n),
            team=f"t{n}",
            rank=n + 1,
            metrics=tuple(map(Estimate, (0.84 - 0.07 * n, 1697.0 + n, 0.56 - 0.04 * n, 0.1204))),
            at=NOW,
            mine=n == 1,
            match="m1",
        )
        for n in range(6)
    )
    return public.BoardPage(
        phase=FINAL, columns=columns, rows=rows, ties=("total_s", "full", "variance"), mode="last", as_of=NOW,
        unit="case", judged=True,
    )  # fmt: skip


def pack() -> Pack:
    """A little of every kind of block."""
    drawing = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 200"><rect width="300" height="200"/></svg>'
    rows = ((GOALS[0], "g1", "12"), (GOALS[1], "g2", "3"))
    blocks = (
        Heading(Words("Sub-goals", "子目标")),
        Prose(INSTRUCTION),
        Points((GOALS[2], GOALS[3]), numbered=True),
        Grid((Words("sub-goal", "子目标"), Words("name", "名称"), Words("count", "数量")), rows, figures=(2,)),
        Code('{"actions": [[0.1, 0.2]]}', Words("An answer", "一次回应")),
        Drawing(drawing, Words("Layout of pick-p1, 1 : 10", "pick-p1 布局图，1 : 10")),
    )
    titles = (Words("Overview", "概述"), Words("Sub-goals and their criteria", "子目标与判定标准"))
    return Pack(
        contest=Words("Manip: tabletop manipulation by instruction", "Manip 赛道：语言指令引导的桌面操作"),
        phase=TITLE,
        organiser=Words("Organising committee", "组委会"),
        zone="Asia/Shanghai",
        number=2,
        digest="5" * 64,
        amendments=(Amendment(2, NOW, NOW + DAY, "one more camera"), Amendment(1, NOW - DAY, NOW - DAY, "")),
        sections=tuple(Section(f"s{n}", title, blocks) for n, title in enumerate(titles)),
    )


def pages() -> dict[str, tuple[str, str, Any]]:
    """By a name: the template, where it is, what it is given."""
    waiting = hall_page(mode="waiting", team="", case=None, rows=(), more=0)
    published = hall_page(mode="published", case=None, more=0)
    held = hall_page(mode="running", held="the lights went out", case=hall_case(3), rows=hall_rows(2), more=0)
    return {
        "hall": ("match/screen.html", "/matches/m1/screen", hall_page()),
        "hall-many": ("match/screen.html", "/matches/m1/screen", hall_page(case=hall_case(12, 5))),
        "hall-ties": ("match/screen.html", "/matches/m1/screen", hall_page(rows=hall_rows(8, tied=True))),
        "hall-waiting": ("match/screen.html", "/matches/m1/screen", waiting),
        "hall-published": ("match/screen.html", "/matches/m1/screen", published),
        "hall-held": ("match/screen.html", "/matches/m1/screen", held),
        "match-results": ("match/results.html", "/matches/m1/results", results_page()),
        "match-results-none": ("match/results.html", "/matches/m1/results", results_page(0)),
        "matches": ("match/list.html", "/matches", matches()),
        "board-judged": ("board.html", "/boards/final", judged_board()),
        "pack": ("pack/pack.html", "/pack", pack()),
    }
