"""A final on people in a served contest: bundles are rehearsed, people are shown points and recorded, and the hall sees
everybody's result as it comes. The camera is played from files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select

from palestra.contest.log import chain
from palestra.contest.log import events as e
from palestra.contest.storage.database import reading
from palestra.contest.storage.tables import live
from palestra.live.live_data import read_live_data
from palestra.live.run import Play
from palestra.live.session import Guests, play_live
from palestra.records import CAPTURES
from palestra.studio.capture.recording import Recording
from tests.entrants.talking import free_port
from tests.live.hall import require_sandbox
from tests.studio.present.showing import begin
from tests.studio.sitting import final
from tests.web.browsing import (
    ORGANISER,
    WAIT_MS,
    Hall,
    Served,
    become_organiser,
    database_in,
    open_between,
    opened,
    write_head,
)

expect.set_options(timeout=WAIT_MS)
PEOPLE = ["Ada", "Ben"]
EVERY_S = 1.5  # a busy machine takes its time to tell the screens
TEAMS = {"ann": "bright", "ben": "dark"}


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def hall(
    browser: Browser, tmp_path: Path, tiny: Callable[[str], Path], database_sort: str, port: int
) -> Iterator[Hall]:
    require_sandbox()
    stored = tiny("near-eye-live-v1")
    (tmp_path / "open").symlink_to(stored)
    final.prepared(tmp_path, PEOPLE, final.played(stored / "test" / "T1"), port, every_s=EVERY_S)
    file = tmp_path / "contest.toml"
    file.write_text(f"""{write_head("people", "A final on people", "真人决赛")}
[[phase]]
id = "final"
title = {{ en = "Final", zh = "决赛" }}
track = "near-eye-live-v1"
data = "final"
{open_between(-1, 29)}held = "on-stage"
rehearsal = "open"
pace = "real"
settings = {{ every_s = {EVERY_S}, window_s = 0.0 }}
""")
    with database_in(tmp_path, database_sort) as database:
        found = Hall(Served(file, database), browser, stored, tmp_path)
        with opened(found, TEAMS, {}, workers=1):
            become_organiser(found)
            yield found


def bodies(hall: Hall) -> list[e.Body]:
    contest = hall.place.open()
    with reading(contest.engine) as connection:
        found = [event.body for event in chain.read(connection)]
    contest.engine.dispose()
    return found


def shown_points(hall: Hall) -> set[int]:
    """The points of Ada's sitting after which screens were told how everybody stands."""
    contest = hall.place.open()
    with reading(contest.engine) as connection:
        notes = [msgspec.json.decode(row.body) for row in connection.execute(select(live))]
    contest.engine.dispose()
    return {note["number"] for note in notes if note["kind"] == "standing" and note["sitting"] == "Ada"}


def show(hall: Hall, port: int) -> Page:
    """What a person has in front of them, as soon as there is something to see; they look until it thanks them."""
    page = hall.browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    for _ in range(int(WAIT_MS / 200)):
        try:
            page.goto(f"http://127.0.0.1:{port}/")
            break
        except Exception:  # Playwright's, where nobody listens yet
            page.wait_for_timeout(200)
    begin(page)
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    return page


def test_a_final_on_people_is_played_on_stage_and_seen_in_the_hall(hall: Hall, port: int) -> None:
    programs = final.programs(hall.folder)
    for name, program in TEAMS.items():
        page = hall.window(name).submit("final", programs[program])
        expect(page.get_by_text("It loads, and answers")).to_be_visible()
    screen = hall.window(color_scheme="dark", viewport={"width": 1920, "height": 1080}).open("/screen")

    organiser = hall.window(ORGANISER)
    organiser.open("/desk/runs/final")
    organiser.confirm("Start a run")
    organiser.page.wait_for_url("**/runs/*")
    first = show(hall, port)
    expect(screen.locator("tr[data-team] .value")).to_have_count(len(TEAMS))
    expect(organiser.page.locator("#live-where")).to_contain_text("Tester Ada, point 4 of 4")
    screen.screenshot(path=hall.folder / "screen-first.png")
    first.context.close()
    second = show(hall, port)
    second.screenshot(path=hall.folder / "thanks.png")
    second.context.close()
    expect(organiser.page.locator("#run-state")).to_have_text("Finished", timeout=2 * WAIT_MS)
    expect(screen.get_by_text("Finished")).to_be_visible()
    screen.screenshot(path=hall.folder / "screen.png")
    organiser.page.screenshot(path=hall.folder / "run.png", full_page=True)
    assert organiser.faults() == []

    assert 4 in shown_points(hall) and min(shown_points(hall)) < 4  # while they look, and not when all is over

    told = bodies(hall)
    (ended,) = [body for body in told if isinstance(body, e.RunEnded)]
    assert ended.outcome == "done", ended
    teams = {body.submission: body.team for body in told if isinstance(body, e.SubmissionMade)}
    names = {body.team: body.name for body in told if isinstance(body, e.TeamMade)}
    hallwards = {
        TEAMS[names[teams[body.submission]].removeprefix("Team ")]: body.metrics["pe_deg"].value
        for body in told
        if isinstance(body, e.ResultMade)
    }
    data = hall.folder / "final"
    words = [f"{name}={file}" for name, file in programs.items()]
    stored = play_live(
        read_live_data(final.track(EVERY_S), data), Guests(words), Play("fast", watched=False), hall.folder / "stored"
    )
    assert hallwards == {name: one.result.metrics["pe_deg"].value for name, one in stored.scored.items()}
    for person in PEOPLE:
        recording = Recording(data / CAPTURES / f"{person}-1" / "recorded")
        assert recording.times("left").height > 40 and recording.times("right").height > 40
