"""Sample views of the organiser's desk."""

from __future__ import annotations

from typing import Any

from palestra.contest.rules.writer import written
from palestra.text import Words
from palestra.web.models import desk, public
from palestra.web.views.rules import changes, compared
from tests.web.sample_contest import (
    DAY,
    DIGEST,
    FINAL,
    HOSTILE,
    HOUR,
    LONG,
    NAMES,
    NOW,
    PE,
    PHASES,
    PRELIMINARY,
    estimate,
    rules_versions,
)
from tests.web.sample_live import live_run
from tests.web.sample_rules import AMENDED, RULES


def desk_phases() -> tuple[desk.DeskPhase, ...]:
    return (
        desk.DeskPhase(
            id="preliminary",
            title=PRELIMINARY.title,
            state="closed",
            opens=NOW - 30 * DAY,
            closes=NOW - 6 * DAY,
            frozen=True,
            held_back=True,
            submissions=1_286,
            teams=41,
            waiting=1,
        ),
        desk.DeskPhase(
            id="final",
            title=FINAL.title,
            state="open",
            opens=NOW - 2 * DAY,
            closes=NOW + 2 * DAY,
            freeze=NOW + DAY,
            slip="v1.py:24",
            submissions=11,
            teams=8,
            live=True,
        ),
    )


def desk_overview() -> desk.DeskPage:
    jobs = (
        desk.Job(
            id=1,
            kind="score",
            state="leased",
            submission="s0",
            team_name=NAMES[0],
            attempt=2,
            worker="hall-1",
            queued_at=NOW - 65_000,
        ),
        desk.Job(
            id=2, kind="check", state="queued", submission="s1", team_name=LONG, attempt=1, queued_at=NOW - 12_000
        ),
        desk.Job(
            id=3,
            kind="verify",
            state="failed",
            submission="s9",
            team_name=NAMES[3],
            attempt=3,
            queued_at=NOW - 2 * HOUR,
            message="the sandbox could not be set up",
        ),
    )
    workers = (
        desk.Worker(id="hall-1", kinds=("check", "score", "live"), executor="pool", seen_at=NOW - 2_000, busy=1),
        desk.Worker(id="gpu-7", kinds=("score", "verify"), executor="ray", seen_at=NOW - 340_000, lost=True),
    )
    faults = (
        desk.FaultRow(
            submission="s9",
            team_name=NAMES[3],
            at=NOW - 2 * HOUR,
            fault="platform",
            message="The sandbox could not be set up.",
            trace="/desk/traces/9f86",
            last=True,
        ),
        desk.FaultRow(
            submission="s8",
            team_name=NAMES[4],
            at=NOW - 4 * HOUR,
            fault="contestant",
            message="The program ended with exit code 1.",
        ),
    )
    return desk.DeskPage(
        phases=desk_phases(),
        jobs=jobs,
        jobs_more=14,
        workers=workers,
        faults=faults,
        requests=3,
        copies=1,
        verifications=2,
        log_seq=18_342,
        log_hash=DIGEST,
    )


def runs() -> desk.RunsDeskPage:
    bundles = tuple(
        desk.Bundle(submission=f"b{i}", team_name=NAMES[i], at=NOW - i * HOUR, name=f"{NAMES[i]}_Test.zip")
        for i in range(4)
    )
    return desk.RunsDeskPage(phase=desk_phases()[1], bundles=bundles, runs=(live_run(),))


def access() -> desk.AccessPage:
    def row(i: int, state: Any, reason: str = "") -> desk.AccessRow:
        return desk.AccessRow(
            team=f"t{i}",
            team_name=NAMES[i],
            phase=PRELIMINARY,
            at=NOW - i * HOUR,
            members=i + 1,
            captain="lin.wei",
            state=state,
            reason=reason,
        )

    return desk.AccessPage(
        rows=(row(1, "requested"), row(2, "requested"), row(0, "granted"), row(4, "refused", "No such institute."))
    )


def promotion() -> desk.PromotionPage:
    rows = tuple(
        desk.PromotionRow(
            team=f"t{i + 1}",
            team_name=NAMES[i],
            rank=i + 1,
            value=estimate(2.3 + 0.2 * i, 0.12),
            goes_on=i < 9 and i != 4,
            reason={4: "failed verification", 8: "takes the place of the fifth"}.get(i, ""),
            was=i < 8,
        )
        for i in range(11)
    )
    return desk.PromotionPage(
        phase=PRELIMINARY, to=FINAL, top=8, column=PE, rows=rows, as_of=NOW, cut_in_band=True, truth="ready"
    )


def verification_row(i: int, outcome: Any, **more: Any) -> desk.VerificationRow:
    name = "" if outcome == "missing" else f"{NAMES[i]}_Test.zip"
    return desk.VerificationRow(
        team=f"t{i}",
        team_name=NAMES[i],
        phase=PRELIMINARY,
        due=NOW + DAY,
        submission="" if outcome == "missing" else f"b{i}",
        at=None if outcome == "missing" else NOW - HOUR,
        name=name,
        outcome=outcome,
        **more,
    )


def verifications() -> desk.VerificationsPage:
    differs = verification_row(1, "differs", different=1_204, rows=150_150, worst=0.41)
    rows = (
        verification_row(0, "reproduced", rows=150_150, compliance=True),
        differs,
        verification_row(2, "running", late=True),
        verification_row(3, "failed", compliance=False, compliance_reasons="Weights of another team."),
        verification_row(4, "missing"),
    )
    return desk.VerificationsPage(rows=rows)


def verification() -> desk.VerificationPage:
    differences = tuple(
        desk.Difference(where=f"p07-{i:05}", submitted=f"{1.2 + i:.4f}", again=f"{1.61 + i:.4f}", by=0.41)
        for i in range(4)
    )
    return desk.VerificationPage(
        verification=verification_row(1, "differs", different=1_204, rows=150_150, worst=0.41),
        of="s3",
        of_at=NOW - 8 * DAY,
        tolerance=0.001,
        message="1,204 answers differ by more than 0.001, all of them of person p07.",
        differences=differences,
        next_team=NAMES[8],
    )


def rescoring_row(state: Any = "ready") -> desk.RescoringRow:
    reason = "Person p07's truth was shifted by one frame."
    return desk.RescoringRow(
        id="r1", phase=PRELIMINARY, at=NOW - HOUR, by="organiser", reason=reason, state=state, done=41, count=41
    )


def rescorings() -> desk.RescoringsPage:
    teams = tuple((f"t{i}", name) for i, name in enumerate(NAMES))
    return desk.RescoringsPage(rows=(rescoring_row(), rescoring_row("applied")), phases=PHASES, teams=teams)


def rescoring() -> desk.RescoringPage:
    order = (2, 1, 3, 4, 6, 5)
    changes = tuple(
        desk.RankChange(
            team_name=NAMES[i],
            submission=f"s{i}",
            before=estimate(2.3 + 0.1 * i, 0.11),
            after=estimate(2.2 + 0.1 * order[i], 0.1),
            rank_before=i + 1,
            rank_after=order[i],
        )
        for i in range(6)
    )
    failed = desk.RankChange(
        team_name=NAMES[7], submission="s7", before=estimate(3.1), rank_before=7, failed="the file could not be read"
    )
    return desk.RescoringPage(rescoring=rescoring_row(), column=PE, changes=(*changes, failed), new_first=NAMES[1])


def awards() -> desk.AwardsPage:
    first, second = Words("First prize", "一等奖"), Words("Second prize", "二等奖")
    rows = (
        desk.AwardRow(
            award=0, title=first, team="t1", team_name=NAMES[0], rank=1, given_at=NOW, certificate="/certificates/0/t1"
        ),
        desk.AwardRow(award=1, title=second, team="t2", team_name=NAMES[1], rank=2, proposed=True),
        desk.AwardRow(award=1, title=second),
    )
    return desk.AwardsPage(rows=rows, teams=tuple((f"t{i}", name) for i, name in enumerate(NAMES)))


def amendments() -> desk.AmendmentsPage:
    return desk.AmendmentsPage(
        rules=rules_versions(),
        notice_ms=3 * DAY,
        text=written(AMENDED),
        counts_from=NOW + 4 * DAY,
        reason="Everybody asked for one more run.",
        changes=tuple(changes(RULES, AMENDED)),
        lines=tuple(compared(written(RULES), written(AMENDED))),
    )


def no_promotion() -> desk.NoPromotionPage:
    return desk.NoPromotionPage(phase=FINAL, promoting=(PRELIMINARY,), example="final")


def teams() -> desk.TeamsPage:
    rows = tuple(
        desk.DeskTeam(
            team=f"t{i}",
            name=NAMES[i],
            captain="lin.wei",
            members=i + 1,
            submissions=7 * i,
            made_at=NOW - i * DAY,
            disqualified="Two teams, one person." if i == 4 else "",
        )
        for i in range(6)
    )
    return desk.TeamsPage(rows=rows, phases=PHASES)


def copies() -> desk.CopiesPage:
    rows = (
        desk.CopyRow(
            at=NOW,
            phase=PRELIMINARY,
            submission="s5",
            team_name=HOSTILE,
            of="s2",
            of_team_name=NAMES[1],
            share=1.0,
            exact=True,
            first_at=NOW - DAY,
        ),
        desk.CopyRow(
            at=NOW,
            phase=PRELIMINARY,
            submission="s6",
            team_name=NAMES[6],
            of="s1",
            of_team_name=LONG,
            share=0.9712,
            first_at=NOW - DAY,
        ),
    )
    return desk.CopiesPage(rows=rows)


def accounts() -> desk.AccountsPage:
    rows = (
        desk.AccountRow(account="a0", name="organiser", role="organiser", made_at=NOW - 60 * DAY),
        desk.AccountRow(
            account="a1",
            name="lin.wei",
            role="member",
            email="lin.wei@example.org",
            team_name=NAMES[0],
            made_at=NOW - 28 * DAY,
        ),
        desk.AccountRow(account="a9", name=HOSTILE, role="viewer", made_at=NOW - DAY, closed=True),
    )
    return desk.AccountsPage(rows=rows, new_link="https://contest.example/link/c2VjcmV0")


def exports() -> desk.ExportsPage:
    files = (
        public.Download(name="board-preliminary.csv", url="/desk/exports/board-preliminary.csv", bytes=0, kind="csv"),
        public.Download(name="submissions.parquet", url="/desk/exports/submissions.parquet", bytes=0, kind="parquet"),
        public.Download(
            name="near-eye-2022.tar", url="/desk/exports/archive", bytes=12_400_000_000, kind="archive", digest=DIGEST
        ),
    )
    return desk.ExportsPage(files=files, phases=PHASES)
