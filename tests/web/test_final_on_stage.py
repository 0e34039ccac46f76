"""A final that is served: bundles are rehearsed, played on stage, and changed in the window between two testers."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from palestra.contest.accounts import tokens
from palestra.contest.log import chain
from palestra.contest.log import events as e
from palestra.contest.log.clock import wall_clock
from palestra.contest.storage.database import reading, writing
from palestra.errors import PalestraError
from palestra.remote import Server
from tests.contest.bundles import PROGRAM, write_zip
from tests.live import hall as live_hall
from tests.live.hall import program
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
WRONG, RIGHT = program(answer="answer = 8 - answer if answer != 4 else 0"), program()
WINDOW_S = 25.0


@pytest.fixture
def hall(browser: Browser, tmp_path: Path, database_sort: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hall]:
    live_hall.prepare(monkeypatch)
    write_data = sys.modules["ticking_v1"].write_data
    write_data(tmp_path / "open")
    write_data(tmp_path / "final", ticks=10, every_s=0.2, deadline_s=5.0, window_s=WINDOW_S)
    file = tmp_path / "contest.toml"
    head = write_head("final", "A final", "决赛")
    file.write_text(f"""{head}
[[phase]]
id = "final"
title = {{ en = "Final", zh = "决赛" }}
track = "ticking-v1"
data = "final"
{open_between(-1, 29)}held = "on-stage"
rehearsal = "open"
pace = "real"
board = "last"
""")
    with database_in(tmp_path, database_sort) as database:
        found = Hall(Served(file, database), browser, tmp_path, tmp_path)
        with opened(found, ("ann", "ben"), {}, workers=1):
            become_organiser(found)
            yield found


def token_of(hall: Hall, name: str) -> str:
    contest = hall.place.open()
    with writing(contest.engine) as connection:
        token, _ = tokens.make(
            connection, "token", contest.state.names[name], wall_clock(), 3_600_000, ("submit", "read")
        )
    contest.engine.dispose()
    return token


def submit(hall: Hall, name: str, file: Path) -> subprocess.CompletedProcess[str]:
    """As `palestra submit` does."""
    words = ["submit", hall.served.address, "final", str(file), "--token", token_of(hall, name)]
    return subprocess.run([sys.executable, "-m", "palestra", *words], capture_output=True, text=True, check=False)


def bodies(hall: Hall) -> list[e.Body]:
    contest = hall.place.open()
    with reading(contest.engine) as connection:
        found = [event.body for event in chain.read(connection)]
    contest.engine.dispose()
    return found


def wait_for_window(server: Server, sitting: str) -> None:
    until = time.monotonic() + WAIT_MS / 1000 + 2 * WINDOW_S
    while (form := server.form("final")) is None or form.plays_from != sitting:
        assert time.monotonic() < until, form
        time.sleep(0.2)


@pytest.mark.slow
def test_a_final_is_unseen_until_the_hall_and_changed_in_its_window(hall: Hall) -> None:
    wrong = write_zip(hall.folder / "wrong.zip", {PROGRAM: WRONG})
    right = write_zip(hall.folder / "right.zip", {PROGRAM: RIGHT})
    mute = write_zip(hall.folder / "mute.zip", {PROGRAM: program(answer="answer = 'boo'")})
    ann = hall.window("ann")
    with Server(hall.served.address, token_of(hall, "ben")) as remote:
        page = ann.submit("final", wrong)
        expect(page.get_by_text("It loads, and answers 4 of 4 rehearsal packets.")).to_be_visible()
        ready = remote.submit("final", wrong)
        assert (ready.state, ready.metrics, ready.rehearsal.answered) == ("ready", (), 4)
        assert remote.board("final").rows == ()
        assert not any(isinstance(body, e.ResultMade | e.AttemptStarted) for body in bodies(hall))
        picture(hall, page, "rehearsed")

        organiser = hall.window(ORGANISER)
        organiser.open("/desk/runs/final")
        organiser.confirm("Start a run")
        organiser.page.wait_for_url("**/runs/*")
        wait_for_window(remote, "person1")
        wait_for_window(remote, "person2")
        page = ann.submit("final", right)
        expect(page.get_by_text("It loads, and answers 4 of 4 rehearsal packets.")).to_be_visible()
        ran = submit(hall, "ben", mute)  # by the command
        assert ran.returncode == 1 and "It loads, and answers none of 4 rehearsal packets" in ran.stdout, ran
        picture(hall, ann.open("/phases/final"), "window")
        picture(hall, organiser.open(organiser.page.url.removeprefix(hall.served.address)), "run")
        until = time.monotonic() + 4 * WINDOW_S
        while remote.form("final").plays_from:
            assert time.monotonic() < until
            time.sleep(0.2)
        with pytest.raises(PalestraError, match="programs are frozen"):
            remote.upload("final", wrong)
    page = organiser.page
    expect(page.locator("#run-state")).to_have_text("Finished", timeout=4 * WAIT_MS)
    page.reload()
    expect(page.get_by_text("plays from person2 on")).to_be_visible()
    picture(hall, page, "finished")
    assert organiser.faults() == []
    told = bodies(hall)
    results = {body.submission: body.metrics["accuracy"].value for body in told if isinstance(body, e.ResultMade)}
    assert sorted(results.values()) == [0.0, 0.5]
    (taken,) = [body for body in told if isinstance(body, e.VersionTaken)]
    assert (taken.sitting, taken.message) == ("person2", "")
    sent = next(body for body in told if isinstance(body, e.SubmissionMade) and body.submission == taken.submission)
    assert sent.file == taken.file and sent.name == "right.zip"
    assert [body.sitting for body in told if isinstance(body, e.WindowOpened)] == ["person1", "person2"]
    (ended,) = [body for body in told if isinstance(body, e.RunEnded)]
    assert len(ended.weights) == 4
    assert ended.machine in [body.machine for body in told if isinstance(body, e.MachineSeen)]


def picture(hall: Hall, page, name: str) -> None:
    page.screenshot(path=hall.folder / f"{name}.png", full_page=True)
