"""The emotion paradigm in a browser: films with subtitles, self-reports, rests, sums, triggers to a serial port."""

import os
import pty
import threading
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from palestra.studio.present.plans.planning import plan_of
from palestra.studio.present.plans.stimulus_file import read_stimuli
from tests.studio.present.making_films import write_film
from tests.studio.present.showing import begin, shown, stimuli, window

BLOCK = """[[blocks]]
kind = "emotion"
blocks = 2
per_block = 1
fixation_s = 1
rest_s = 1
sums = 2
tolerance_s = 0.3
films = [{number = 1, length_s = 1, valence = "negative"}, {number = 2, length_s = 1, valence = "positive"}]
sliders = [{name = "joy"}, {name = "mine", title = "A question of my own"}]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "videos").mkdir()
    write_film(tmp_path / "videos" / "01.mp4", 1)
    write_film(tmp_path / "videos" / "02.webm", 1)
    (tmp_path / "videos" / "01.vtt").write_text("WEBVTT\n\n00:00.000 --> 00:01.000\n你好\n", encoding="utf-8")
    return stimuli(tmp_path, BLOCK)


@pytest.fixture
def port() -> Iterator[tuple[str, list[int]]]:
    """A serial port's device, and the bytes that have come out of it."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    came: list[int] = []

    def read() -> None:
        while data := os.read(ours, 100):
            came.extend(data)
            if 251 in data:
                return

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    yield os.ttyname(theirs), came
    os.close(theirs)
    reader.join(1)


def answer(page: Page) -> None:
    """The self-report and the rest."""
    done = page.get_by_role("button", name="Done")
    expect(done).to_be_disabled()
    page.get_by_label("Joy").press("ArrowRight")
    expect(done).to_be_disabled()  # until each slider was moved
    page.get_by_label("A question of my own").press("End")
    done.click()
    go_on = page.get_by_role("button", name="Go on")
    expect(go_on).to_be_disabled()
    expect(go_on).to_be_enabled()
    go_on.click()


def test_a_whole_run_of_films_sends_its_triggers_and_keeps_its_answers(
    browser: Browser, tmp_path: Path, file: Path, port: tuple[str, list[int]]
) -> None:
    device, came = port
    events = plan_of(read_stimuli(file)).events
    with shown(file, tmp_path / "run", "--serial", device) as one:
        with window(browser, one.address) as page:
            begin(page)
            answer(page)
            expect(page.get_by_text("1 of 2")).to_be_visible()
            for given in ("12", "-1"):
                page.get_by_role("textbox").fill(given)
                page.keyboard.press("Enter")
            answer(page)
            expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        assert one.wait() == 0
        assert one.shown() == [event.number for event in events]
        codes = [event.trigger for event in events if event.trigger]
        assert came == codes and [record["serial"] for record in one.of("trigger")] == ["sent"] * len(codes)
        answers = [record["values"] for record in one.of("answer")]
        assert answers[0] == {"joy": 5.1, "mine": 10}
        assert [one["given"] for one in answers[1:3]] == [12, -1] and answers[2]["right"] is False
        onset = {record["event"]: record["onset_s"] for record in one.of("trigger")}
        for event in events:
            if event.video:  # a film takes as long as its file, and its end is marked at once
                assert onset[event.number + 1] - onset[event.number] == pytest.approx(1, abs=0.3)
                assert onset[event.number] - onset[event.number - 1] >= 0.08


def test_a_film_that_was_paused_is_shown_again_from_its_cross(browser: Browser, tmp_path: Path, file: Path) -> None:
    film = next(event.number for event in plan_of(read_stimuli(file)).events if event.video)
    with shown(file, tmp_path / "run") as one, window(browser, one.address) as page:
        begin(page)
        one.until(page, lambda: film in one.shown())
        page.keyboard.press("Space")
        expect(page.get_by_role("heading", name="Paused")).to_be_visible()
        page.keyboard.press("Space")
        expect(page.get_by_role("heading", name="How did")).to_be_visible()
        assert one.of("resumed")[0]["event"] == film - 2
        assert one.shown()[: film + 4] == [*range(film + 1), film - 2, film - 1, film]


def test_a_reload_in_the_self_report_asks_it_again(browser: Browser, tmp_path: Path, file: Path) -> None:
    with shown(file, tmp_path / "run") as one, window(browser, one.address) as page:
        begin(page)
        expect(page.get_by_role("heading", name="How did")).to_be_visible()
        before = one.shown()[-1]
        page.reload()
        begin(page)
        expect(page.get_by_role("heading", name="How did")).to_be_visible()
        assert one.shown()[-2:] == [before, before]


def test_a_film_that_does_not_play_is_said_and_logged(browser: Browser, tmp_path: Path, file: Path) -> None:
    with shown(file, tmp_path / "run") as one, window(browser, one.address) as page:
        for name in ("01.mp4", "02.webm"):  # after they were checked
            (tmp_path / "videos" / name).write_bytes(b"no film any more")
        begin(page)
        expect(page.get_by_role("dialog")).to_contain_text("does not play")
        assert one.of("trouble")[0]["values"]["film"] in (1, 2)


def test_the_command_refuses_films_of_another_length_before_anything_is_written(file, tmp_path, cli):
    write_film(tmp_path / "videos" / "01.mp4", 3)
    ran = cli("studio", "present", file, "--out", tmp_path / "run", "--no-browser")
    assert ran.code == 1 and "found 3.0 s in 01.mp4, expected 1 s" in ran.err
    assert not (tmp_path / "run").exists()
