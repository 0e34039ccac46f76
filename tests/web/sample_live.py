"""Sample views of live runs and of the big screen."""

from __future__ import annotations

from typing import Any

from palestra.web.models import live
from tests.web.sample_contest import FINAL, HOUR, NAMES, NOW, PE, deadline


def name_of(i: int) -> str:
    """Names of all sorts; the second and third teams of a school are called after it."""
    again, which = divmod(i, len(NAMES))
    return f"{NAMES[which]} {again + 1}" if again else NAMES[which]


BANDS = (1, 1, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7)


def screen_teams(count: int) -> tuple[live.ScreenTeam, ...]:
    """Who plays a run; the program of one did not start."""
    teams = [
        live.ScreenTeam(
            team=f"t{i + 1}",
            name=name_of(i),
            rank=i + 1,
            value=2.31 + 0.21 * i,
            decided=23,
            missed=(i * i) % 5,
            latency_s=0.041 + 0.006 * i,
            slow_s=0.07 + 0.01 * i,
            just_missed=i == 3,
        )
        for i in range(count)
    ]
    if count > 4:
        teams[-1] = live.ScreenTeam(team=f"t{count}", name=name_of(2), gone=True)
    return tuple(teams)


def board_teams(count: int) -> tuple[live.ScreenTeam, ...]:
    """A board whose neighbours are close."""
    return tuple(
        live.ScreenTeam(
            team=f"t{i + 1}",
            name=name_of(i),
            rank=i + 1,
            band=BANDS[i % len(BANDS)] + i // len(BANDS) * BANDS[-1],
            value=2.31 + 0.21 * i,
            low=2.2 + 0.21 * i,
            high=2.42 + 0.21 * i,
        )
        for i in range(count)
    )


def screen(count: int = 8, **more: Any) -> live.ScreenPage:
    return live.ScreenPage(
        mode="run",
        phase="final",
        title=FINAL.title,
        column=PE,
        teams=screen_teams(count),
        run="r7",
        sitting="T3",
        sittings=8,
        sitting_number=3,
        point=23,
        points=40,
        deadline_s=0.1,
        **more,
    )


def screen_board(count: int = 12) -> live.ScreenPage:
    return live.ScreenPage(
        mode="board",
        phase="final",
        title=FINAL.title,
        column=PE,
        teams=board_teams(count),
        as_of=NOW,
        deadline=deadline(),
    )


def live_teams(count: int = 5) -> tuple[live.LiveTeam, ...]:
    return tuple(
        live.LiveTeam(
            team=f"t{i + 1}", name=NAMES[i], value=2.31 + 0.21 * i, missed=i, decided=23, latency_s=0.04 + 0.006 * i
        )
        for i in range(count)
    )


def live_point(number: int) -> live.LivePoint:
    """The run after so many points."""
    teams = tuple(
        live.LiveTeam(
            team=f"t{i + 1}",
            value=2.3 + 0.2 * i + 2.0 / number + 0.15 * ((number * (i + 2)) % 5) / (1 + number / 20),
            missed=number * i // 30,
            decided=number,
            latency_s=None if (number + i) % 37 == 0 else 0.038 + 0.007 * i + 0.004 * ((number * (i + 5)) % 9),
        )
        for i in range(5)
    )
    point = (number - 1) % 40 + 1
    sitting = f"T{(number - 1) // 40 + 1}"
    return live.LivePoint(
        run="r7", number=number, at_s=2.5 * number, sitting=sitting, point=point, points=40, teams=teams
    )


def live_run() -> live.LivePage:
    return live.LivePage(
        run="r7",
        title=FINAL.title,
        phase="final",
        column=PE,
        teams=live_teams(),
        state="running",
        started_at=NOW - HOUR,
        points=320,
        deadline_s=0.1,
        history="/api/runs/r7/points",
        live="/live?run=r7",
    )
