"""A contest in the middle of it. Names are as bad as strangers make them."""

from __future__ import annotations

from typing import Any

from palestra.contest.rules.model import Quota
from palestra.records import Estimate
from palestra.text import Words
from palestra.web.models import public

HOUR, DAY = 3_600_000, 86_400_000
NOW = 1_665_547_200_000  # 12 October 2022, 12:00 in Shanghai
LONG = "The Extraordinarily Long-Winded Gaze Estimation Team of 2022 (B)"  # 64 letters
HOSTILE = "<script>alert('x')</script>"
NAMES = (
    "清华眼动小队",
    "Fovea",
    LONG,
    "צוות המבט",
    HOSTILE,
    "👁️ Eye Candy 👁️",
    "浙江大学智能感知与人机交互联合实验室第一代表队",
    "Saccade",
    "Nystagmus United",
    "فريق النظرة",
    "Pupil Labs Fans",
    "Drift",
    "Vergence",
    "Glint Hunters",
    "Iris & Co",
    "Bell's",
)

PRELIMINARY = public.PhaseLink(id="preliminary", title=Words("Preliminary", "初赛"), state="closed")
FINAL = public.PhaseLink(id="final", title=Words("Final, live on site", "现场决赛"), state="open", live=True)
PHASES = (PRELIMINARY, FINAL)
PE = public.Column(name="pe_deg", title=Words("PE"), unit="deg")
P95 = public.Column(name="p95_deg", title=Words("P95 error"), unit="deg")
MISSES = public.Column(name="misses", title=Words("misses"), unit="points")
MEMBER = public.Viewer(account="a1", name="lin.wei", role="member", team="t1", team_name=NAMES[0], captain=True)
ORGANISER = public.Viewer(account="a0", name="organiser", role="organiser")
QUOTA = Quota(5, "day")
DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def frame(path: str, viewer: public.Viewer | None = MEMBER, **more: Any) -> public.Frame:
    return public.Frame(
        name=Words("Near-Eye Gaze Challenge 2022", "2022 近眼视线追踪挑战赛"),
        organiser=Words("Institute of Automation, with the Eye Tracking Society", "自动化研究所与眼动学会联合主办"),
        zone="Asia/Shanghai",
        now=NOW,
        path=path,
        csrf="csrf-sample",
        viewer=viewer,
        phases=PHASES,
        run="r7",
        version="0.2.0",
        **more,
    )


def estimate(value: float, half: float = 0.0) -> Estimate:
    return Estimate(value, value - half, value + half) if half else Estimate(value)


def deadline() -> public.Deadline:
    return public.Deadline(what="phase_closes", at=NOW + 2 * DAY + 5 * HOUR + 1_234_000, phase=FINAL.title)


def announcements() -> tuple[public.Announcement, ...]:
    return (
        public.Announcement(
            id="n2",
            at=NOW - 3 * HOUR,
            title=Words("The hall opens at 08:00 on Friday", "周五 8:00 开放赛场"),
            text=Words(
                "Bring the machine you registered. The network in the hall has no way out.\n\nTesters come at 09:00.",
                "请携带已登记的设备。赛场网络不连接互联网。\n\n测试者 9:00 到场。",
            ),
        ),
        public.Announcement(
            id="n1",
            at=NOW - 5 * DAY,
            title=Words("The preliminary board is final", "初赛排行榜已确定"),
            text=Words("Eight teams go on.", "八支队伍晋级决赛。"),
        ),
    )


def rules_versions() -> tuple[public.RulesVersion, ...]:
    why = "The deadline of a point is 100 ms, as in the hall."
    return (
        public.RulesVersion(number=2, at=NOW - 6 * DAY, counts_from=NOW - 2 * DAY, reason=why, url="/rules/2"),
        public.RulesVersion(number=1, at=NOW - 60 * DAY, counts_from=NOW - 60 * DAY, url="/rules/1"),
    )
