"""Every page with sample views: a contest in the middle of it."""

from __future__ import annotations

from functools import cache
from typing import Any

from palestra.contest.rules.model import Quota
from palestra.text import Words
from palestra.web.models import desk, people, public
from tests.web.match import sample
from tests.web.sample_contest import (
    DAY,
    DIGEST,
    FINAL,
    HOUR,
    LONG,
    MISSES,
    NAMES,
    NOW,
    ORGANISER,
    P95,
    PE,
    PRELIMINARY,
    QUOTA,
    announcements,
    deadline,
    estimate,
    frame,
    rules_versions,
)
from tests.web.sample_desk import (
    access,
    accounts,
    amendments,
    awards,
    copies,
    desk_overview,
    exports,
    no_promotion,
    promotion,
    rescoring,
    rescorings,
    runs,
    teams,
    verification,
    verifications,
)
from tests.web.sample_live import live_run, screen, screen_board
from tests.web.sample_people import account, team
from tests.web.sample_rules import rules_page


def home() -> public.HomePage:
    about = Words(
        "Tell where a person looks from the picture of one eye, taken by a camera in a headset.\n\n"
        "The preliminary is scored from files; in the final your program answers live, point by point.",
        "根据头戴设备中相机拍摄的单眼图像，判断人正在看向哪里。\n\n初赛提交结果文件评分；决赛中程序逐点实时作答。",
    )
    phases = (
        public.PhaseCard(
            id="preliminary",
            title=PRELIMINARY.title,
            track=Words("Near-eye gaze v1", "近眼视线估计 v1"),
            opens=NOW - 30 * DAY,
            closes=NOW - 6 * DAY,
            state="closed",
            quota=QUOTA,
            limit_bytes=200_000_000,
            teams=41,
            submissions=1_286,
            promotes=8,
            promotes_to=FINAL.title,
            about=Words("150,150 frames of 22 people.", "22 位受试者，共 150,150 帧。"),
        ),
        public.PhaseCard(
            id="final",
            title=FINAL.title,
            track=Words("Near-eye gaze, live v1", "近眼视线估计（实时）v1"),
            opens=NOW - 2 * DAY,
            closes=NOW + 2 * DAY + 5 * HOUR,
            state="open",
            quota=Quota(2, "phase"),
            limit_bytes=2_000_000_000,
            teams=8,
            submissions=11,
            entry="promoted",
            freeze=NOW + 2 * DAY + 2 * HOUR,
            moved="The testers' train was late.",
            weight=0.6,
        ),
        public.PhaseCard(
            id="open",
            title=Words("Open benchmark", "开放基准"),
            track=Words("Near-eye gaze v1", "近眼视线估计 v1"),
            opens=NOW + 10 * DAY,
            closes=NOW + 200 * DAY,
            state="waiting",
            quota=Quota(3, "window", 7 * DAY),
            limit_bytes=200_000_000,
        ),
    )
    prizes = (
        public.Prize(title=Words("First prize", "一等奖"), count=1),
        public.Prize(title=Words("Second prize", "二等奖"), count=3),
        public.Prize(title=Words("Best newcomer", "最佳新人奖"), count=1, phase=PRELIMINARY.title, winners=(NAMES[3],)),
    )
    return public.HomePage(
        about=about,
        phases=phases,
        deadline=deadline(),
        announcements=announcements(),
        prizes=prizes,
        rules=rules_versions(),
        steps=public.Steps(signed_in=True, in_team=True),
        registration_closes=NOW + DAY,
        teams=41,
        team_limit=10,
    )


def board_row(i: int, rank: int, band: int | None) -> public.BoardRow:
    value = 2.31 + 0.19 * i + 0.02 * i * i
    history = tuple(value + 1.4 / (1 + k) + 0.2 * ((k * (i + 3)) % 4) / 4 for k in range(5 + 2 * i)) + (value,)
    return public.BoardRow(
        name=NAMES[i],
        team=f"t{i + 1}",
        rank=rank,
        band=band,
        submissions=len(history),
        history=history,
        mine=i == 2,
        metrics=(estimate(value, 0.11 + 0.02 * i), estimate(2.2 * value), estimate(3 * i)),
        at=NOW - i * HOUR,
        submission="s3" if i == 2 else "",
    )


def board(**more: Any) -> public.BoardPage:
    bands = (1, 1, 1, 2, 2, 3, 4, 4, 4, 5, 6, 6)
    rows = [board_row(i, 4 if i == 4 else i + 1, band) for i, band in enumerate(bands)]
    baseline = public.BoardRow(name="ResNet-18, as published", metrics=(estimate(2.85, 0.15), estimate(6.1), None))
    hopeless = public.BoardRow(name="Always the middle", metrics=(estimate(14.9, 0.8), estimate(25.0), None))
    rows[3:3] = [baseline]
    rows.append(hopeless)
    return public.BoardPage(
        phase=PRELIMINARY,
        columns=(PE, P95, MISSES),
        rows=tuple(rows),
        ties=("misses", "earlier"),
        as_of=NOW - 6 * DAY,
        promotes=8,
        unit="person",
        **more,
    )


def upload(**more: Any) -> public.UploadForm:
    return public.UploadForm(
        phase="preliminary",
        limit_bytes=200_000_000,
        file_name="清华眼动小队_20221012.csv",
        suffixes=(".csv", ".zip"),
        quota=QUOTA,
        left=3,
        fault_quota=Quota(20, "day"),
        fault_left=18,
        closes=NOW + 2 * DAY,
        **more,
    )


def submissions() -> public.SubmissionsPage:
    def row(i: int, state: Any, **more: Any) -> public.SubmissionRow:
        return public.SubmissionRow(
            id=f"s{i}",
            at=NOW - i * 3 * HOUR,
            name="清华眼动小队_20221012.csv",
            bytes=7_812_345,
            state=state,
            by="lin.wei",
            **more,
        )

    rows = (
        row(0, "running", attempt=2),
        row(1, "queued"),
        row(2, "refused", charged=False),
        row(3, "scored", value=estimate(2.312, 0.11), counts=True),
        row(4, "platform", charged=False),
        row(5, "scored", value=estimate(2.955, 0.14)),
        row(6, "withdrawn"),
    )
    forms = (upload(), upload_refused())
    return public.SubmissionsPage(phase=PRELIMINARY, column=PE, forms=forms, rows=rows)


def upload_refused() -> public.UploadForm:
    return public.UploadForm(
        phase="preliminary",
        purpose="bundle",
        limit_bytes=200_000_000,
        file_name="清华眼动小队_Test.zip",
        refusal="not_promoted",
    )


def submission(state: Any = "scored", **more: Any) -> public.SubmissionPage:
    about: dict[str, Any] = {
        "attempts": (
            public.Attempt(
                number=1,
                started_at=NOW - 2 * HOUR,
                ended_at=NOW - 2 * HOUR + 40_000,
                outcome="platform",
                message="The worker was lost; the job went back to the queue.",
            ),
            public.Attempt(number=2, started_at=NOW - HOUR, ended_at=NOW - HOUR + 95_000, outcome="done"),
        ),
        "files": (
            public.Download(
                name="清华眼动小队_20221012.csv",
                url="/api/submissions/s3/file",
                bytes=7_812_345,
                kind="answers",
                digest=DIGEST,
            ),
            public.Download(name="result.json", url="/api/submissions/s3/result", bytes=48_211, kind="result"),
        ),
        "columns": (PE, P95, MISSES),
        "metrics": (estimate(2.312, 0.11), estimate(5.09, 0.31), estimate(3)),
        "counts": True,
        "rank": 1,
        "of": 41,
        "can_withdraw": True,
    }
    about |= more
    return public.SubmissionPage(
        id="s3",
        phase=PRELIMINARY,
        team="t1",
        team_name=NAMES[0],
        name="清华眼动小队_20221012.csv",
        bytes=7_812_345,
        digest=DIGEST,
        at=NOW - 2 * HOUR,
        state=state,
        **about,
    )


def refused_submission() -> public.SubmissionPage:
    faults = (
        "清华眼动小队_20221012.csv, row 17: found NaN in gaze_x, expected a number",
        "清华眼动小队_20221012.csv, row 3,021: found trial 'p07-00213' a second time, expected each trial once",
        "清华眼动小队_20221012.csv: found 150,148 rows, expected 150,150",
    )
    return submission("refused", faults=faults, fault_count=24, charged=False, attempts=(), metrics=(), rank=None)


def data() -> public.DataPage:
    licence = Words(
        "The pictures show people who agreed to research use alone.\n\nYou do not pass them on, you do not try to find "
        "out who they are, and you delete them when the contest has ended.",
        "图像中的受试者仅同意将其用于研究。\n\n不得转交他人，不得尝试识别受试者身份，比赛结束后须删除数据。",
    )
    files = (
        public.Download(
            name="preliminary-view.tar",
            url="/api/data/preliminary/view",
            bytes=48_200_000_000,
            kind="view",
            digest=DIGEST,
        ),
        public.Download(
            name="starter-near-eye.zip",
            url="/api/data/preliminary/starter",
            bytes=1_400_000,
            kind="starter",
            digest=DIGEST[::-1],
        ),
    )
    phases = (
        public.PhaseData(phase=PRELIMINARY, access="granted", accepted_at=NOW - 20 * DAY, licence=licence, files=files),
        public.PhaseData(phase=FINAL, access="none", licence=licence, licence_digest=DIGEST, can_request=True),
    )
    return public.DataPage(phases=phases, server="https://contest.example")


def audit() -> public.AuditPage:
    kinds = (
        "result.made",
        "attempt.started",
        "submission.accepted",
        "submission.made",
        "team.renamed",
        "announcement.made",
    )
    rows = tuple(
        public.AuditRow(
            seq=18_342 - i,
            at=NOW - i * 41_000,
            by=("worker:hall-1", "system", "lin.wei")[i % 3],
            kind=kinds[i % len(kinds)],
            body='{"submission": "s3", "team": "t5", "name": "<script>alert(1)</script>", "bytes": 7812345, "file": "'
            + DIGEST
            + '"}',
            hash=DIGEST[i:] + DIGEST[:i],
        )
        for i in range(12)
    )
    return public.AuditPage(
        rows=rows,
        kinds=tuple(sorted(kinds)),
        people=("lin.wei", "organiser", "system"),
        count=18_342,
        verified=True,
        verified_at=NOW - 60_000,
        older="/audit?before=18331",
    )


def certificate(name: str = NAMES[0]) -> public.Certificate:
    return public.Certificate(
        award=Words("First prize", "一等奖"),
        team_name=name,
        members=("Lin Wei", "张欣怡", "דנה כהן"),
        phase=FINAL.title,
        rank=1,
        of=8,
        column=PE,
        value=estimate(2.312, 0.11),
        at=NOW,
        number=DIGEST,
        seq=18_342,
        url="https://contest.example/audit#e18342",
    )


def final() -> public.FinalPage:
    online = public.Column(name="online", title=Words("Online", "线上"), better="higher")
    table = public.Column(name="on_site", title=Words("On site", "现场"), better="higher")
    rows = tuple(
        public.FinalRow(
            rank=i + 1,
            team_name=NAMES[i],
            team=f"t{i}",
            parts=(estimate(0.91 - 0.03 * i, 0.02), estimate(0.88 - 0.04 * i)),
            total=0.4 * (0.91 - 0.03 * i) + 0.6 * (0.88 - 0.04 * i),
            mine=i == 2,
            awards=(
                (Words("First prize", "一等奖"),) if i == 0 else (Words("Second prize", "二等奖"),) if i < 3 else ()
            ),
        )
        for i in range(8)
    )
    return public.FinalPage(columns=(online, table), weights=(0.4, 0.6), rows=rows, as_of=NOW, hash=DIGEST)


def error(status: int, **more: Any) -> public.ErrorPage:
    return public.ErrorPage(status=status, **more)


@cache
def pages() -> dict[str, tuple[str, public.Frame, Any]]:
    """Every page by a name: its template, its frame, what it is given."""
    by_organiser = {"viewer": ORGANISER}
    refusal = "Your team has handed in 5 of 5 submissions today; the next one is free at 00:00 (UTC+8)."
    quota_out = public.SubmissionsPage(
        phase=PRELIMINARY,
        column=PE,
        forms=(
            public.UploadForm(
                phase="preliminary",
                limit_bytes=200_000_000,
                quota=QUOTA,
                left=0,
                next_free=NOW + 12 * HOUR,
                refusal="quota",
            ),
        ),
    )
    closed = public.SubmissionsPage(
        phase=PRELIMINARY,
        column=PE,
        forms=(
            public.UploadForm(
                phase="preliminary",
                limit_bytes=200_000_000,
                quota=QUOTA,
                left=3,
                refusal="closed",
                state="closed",
                closes=NOW - 6 * DAY,
            ),
        ),
    )
    desk_pages: dict[str, tuple[str, str, Any]] = {
        "desk": ("desk/overview.html", "/desk", desk_overview()),
        "desk-runs": ("desk/runs.html", "/desk/runs/final", runs()),
        "desk-access": ("desk/access.html", "/desk/access", access()),
        "desk-promotion": ("desk/promotion.html", "/desk/promotion/preliminary", promotion()),
        "desk-promotion-none": ("desk/promotion_none.html", "/desk/promotion/final", no_promotion()),
        "desk-matches": ("match/desk.html", "/desk/matches", sample.matches()),
        "desk-verifications": ("desk/verifications.html", "/desk/verifications", verifications()),
        "desk-verification": ("desk/verification.html", "/desk/verifications/b1", verification()),
        "desk-rescorings": ("desk/rescorings.html", "/desk/rescorings", rescorings()),
        "desk-rescoring": ("desk/rescoring.html", "/desk/rescorings/r1", rescoring()),
        "desk-awards": ("desk/awards.html", "/desk/awards", awards()),
        "desk-announcements": (
            "desk/announcements.html",
            "/desk/announcements",
            desk.AnnouncementsPage(rows=announcements()),
        ),
        "desk-rules": ("desk/rules.html", "/desk/rules", amendments()),
        "desk-teams": ("desk/teams.html", "/desk/teams", teams()),
        "desk-copies": ("desk/copies.html", "/desk/copies", copies()),
        "desk-accounts": ("desk/accounts.html", "/desk/accounts", accounts()),
        "desk-exports": ("desk/exports.html", "/desk/exports", exports()),
    }
    joined = people.JoinPage(secret="x", team_name=LONG, members=3, limit=10, refusal="signed_out")
    done = public.Notice(text="The team is now called 清华眼动小队.")
    return {
        "home": ("home.html", frame("/"), home()),
        "board": ("board.html", frame("/boards/preliminary"), board()),
        "board-frozen": ("board.html", frame("/boards/preliminary", None), board(frozen=True, split=0.3)),
        "board-empty": ("board.html", frame("/boards/final"), public.BoardPage(phase=FINAL, columns=(PE,), as_of=NOW)),
        "submissions": ("submissions.html", frame("/phases/preliminary"), submissions()),
        "submissions-none": ("submissions.html", frame("/phases/preliminary"), quota_out),
        "submission": ("submission.html", frame("/submissions/s3"), submission()),
        "submission-running": (
            "submission.html",
            frame("/submissions/s3"),
            submission("running", attempt=2, done=61_000, total=150_150),
        ),
        "submission-queued": ("submission.html", frame("/submissions/s3"), submission("queued", ahead=3, attempts=())),
        "submission-refused": ("submission.html", frame("/submissions/s3"), refused_submission()),
        "submission-platform": (
            "submission.html",
            frame("/submissions/s3"),
            submission("platform", message="The worker was lost three times.", charged=False),
        ),
        "submission-hidden": (
            "submission.html",
            frame("/submissions/s3"),
            submission("hidden", hidden_until=NOW + DAY),
        ),
        "rules": ("rules.html", frame("/rules"), rules_page()),
        "submissions-closed": ("submissions.html", frame("/phases/preliminary"), closed),
        "data": ("data.html", frame("/data"), data()),
        "team": ("team.html", frame("/team", notice=done), team()),
        "team-none": (
            "team.html",
            frame("/team"),
            people.TeamPage(declaration=team().declaration, registration_closes=NOW + DAY),
        ),
        "join": ("join.html", frame("/join/x", None), joined),
        "sign-in": ("sign_in.html", frame("/sign-in", None), people.SignInPage(outside="Campus ID")),
        "register": ("register.html", frame("/register", None), people.RegisterPage()),
        "link": (
            "link.html",
            frame("/link/x", None),
            people.LinkPage(secret="x", purpose="account", role="organiser", expires_at=NOW + DAY),
        ),
        "account": ("account.html", frame("/account"), account()),
        "screen": ("screen.html", frame("/screen", None), screen()),
        "screen-3": ("screen.html", frame("/screen", None), screen(3)),
        "screen-16": ("screen.html", frame("/screen", None), screen(16)),
        "screen-board": ("screen.html", frame("/screen", None), screen_board()),
        "run": ("live.html", frame("/runs/r7"), live_run()),
        **{name: (template, frame(path, **by_organiser), page) for name, (template, path, page) in desk_pages.items()},
        **{name: (template, frame(path), page) for name, (template, path, page) in sample.pages().items()},
        "audit": ("audit.html", frame("/audit"), audit()),
        "certificate": ("certificate.html", frame("/certificates/0/t1"), certificate()),
        "certificate-long": ("certificate.html", frame("/certificates/0/t3"), certificate(LONG)),
        "final": ("final.html", frame("/final", final=True), final()),
        "error-404": ("error.html", frame("/boards/nowhere"), error(404)),
        "error-403": ("error.html", frame("/desk"), error(403)),
        "error-409": ("error.html", frame("/phases/preliminary"), error(409, message=refusal)),
        "error-500": ("error.html", frame("/boards/final"), error(500, reference="7c1f-09aa")),
    }
