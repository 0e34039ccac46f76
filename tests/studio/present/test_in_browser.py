"""The presenter in a real browser: onsets keep to the plan, dropped frames are counted, nothing is lost."""

import signal
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Browser, expect

from palestra.studio.present.onsets import TABLE
from palestra.studio.present.plans.paths import position
from palestra.studio.present.plans.plan import Path as TargetPath
from tests.studio.present.showing import Shown, begin, shown, stimuli, window

SLOW_S = 0.4  # between targets where the test has to do something before the last of them
QUICK = '[[blocks]]\nkind = "targets"\ncount = {count}\nevery_s = {every_s}\n'


def quick(tmp_path: Path, count: int, every_s: float = 0.1) -> Path:
    return stimuli(tmp_path, QUICK.format(count=count, every_s=every_s))


def require_within_a_frame(one: Shown, count: int) -> pl.DataFrame:
    """Onsets are as planned by the frame clock, but for those that came with a frame that was dropped."""
    table = pl.read_parquet(one.run / TABLE)
    assert table["event"].to_list() == list(range(count))
    period = one.of("started")[0]["values"]["period_ms"]
    late = {record["event"] for record in one.of("shifted")}
    dropped = [record["frame"] for record in one.of("dropped")]
    for row in table.iter_rows(named=True):
        after_a_drop = any(0 <= row["frame"] - frame <= 1 for frame in dropped)
        assert abs(row["off_ms"]) <= period or row["event"] in late or after_a_drop, row
    return table


def test_onsets_are_within_a_frame_of_the_plan(browser: Browser, tmp_path: Path) -> None:
    with shown(quick(tmp_path, 20), tmp_path / "run") as one:
        with window(browser, one.address) as page:
            begin(page)
            expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        assert one.wait() == 0
        table = require_within_a_frame(one, 20)
    assert "20 of 20 events shown" in one.said
    planned = table["planned_ms"].diff().drop_nulls()
    assert planned.median() == pytest.approx(100, abs=0.01)
    assert table["onset_s"].null_count() == 0  # on the server's clock
    assert (table["onset_s"].diff().drop_nulls() > 0).all()


@pytest.mark.slow
def test_of_500_onsets_each_is_within_a_frame_of_the_plan(browser: Browser, tmp_path: Path) -> None:
    with shown(quick(tmp_path, 500), tmp_path / "run") as one:
        with window(browser, one.address) as page:
            begin(page)
            expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        assert one.wait() == 0
        require_within_a_frame(one, 500)
        print(one.said.splitlines()[-1])


def test_frames_that_are_dropped_are_counted_and_nothing_is_skipped(browser: Browser, tmp_path: Path) -> None:
    with shown(quick(tmp_path, 12), tmp_path / "run") as one:
        with window(browser, one.address) as page:
            begin(page)
            one.until(page, lambda: len(one.shown()) >= 3)
            page.evaluate("() => { const end = performance.now() + 400; while (performance.now() < end); }")
            expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        assert one.wait() == 0
        assert one.shown() == list(range(12))
        period = one.of("started")[0]["values"]["period_ms"]
        assert sum(record["values"]["count"] for record in one.of("dropped")) >= 400 / period - 3
        assert max(record["values"]["by_ms"] for record in one.of("shifted")) >= 400 - 100 - 2 * period


def test_the_page_and_python_agree_on_where_a_target_is(browser: Browser, tmp_path: Path) -> None:
    paths = [
        TargetPath("still", ((3.0, 4.0),)),
        TargetPath("line", ((3.0, 4.0), (10.0, -2.0))),
        TargetPath("bezier", ((0.0, 0.0), (50.0, 90.0), (100.0, 10.0))),
        TargetPath("arc", ((100.0, 100.0), (100.0, 50.0), (150.0, 100.0))),
        TargetPath("arc", ((100.0, 100.0), (50.0, 100.0), (135.0, 135.0))),
    ]
    with shown(quick(tmp_path, 1), tmp_path / "run") as one, window(browser, one.address) as page:
        for path in paths:
            for share in (0, 0.2, 0.5, 1):
                given = {"shape": path.shape, "points": path.points}
                there = page.evaluate(
                    "async ([path, share]) => (await import('/page/paths.js')).position(path, share)", [given, share]
                )
                assert there == pytest.approx(position(path, share))


def test_a_pause_goes_on_at_the_next_target(browser: Browser, tmp_path: Path) -> None:
    with shown(quick(tmp_path, 10, SLOW_S), tmp_path / "run") as one:
        with window(browser, one.address) as page:
            begin(page)
            one.until(page, lambda: len(one.shown()) >= 3)
            page.keyboard.press("Space")
            expect(page.get_by_role("heading", name="Paused")).to_be_visible()
            one.until(page, lambda: bool(one.of("paused")))
            before = one.shown()
            page.wait_for_timeout(500)
            assert one.shown() == before  # nothing is shown meanwhile
            page.keyboard.press("Space")
            expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        assert one.wait() == 0
        assert one.shown() == list(range(10))
        assert one.of("resumed")[0]["event"] == before[-1] + 1
        late = [record["event"] for record in one.of("shifted")]
        table = pl.read_parquet(one.run / TABLE).filter(~pl.col("event").is_in(late))
        assert (table["off_ms"].abs() < 100).all()  # the pause is in the plan of what follows


def test_escape_asks_before_it_ends_the_run_and_the_same_command_goes_on_with_it(
    browser: Browser, tmp_path: Path
) -> None:
    file = quick(tmp_path, 12, SLOW_S)
    with shown(file, tmp_path / "run") as one:
        with window(browser, one.address) as page:
            begin(page)
            one.until(page, lambda: len(one.shown()) >= 3)
            page.keyboard.press("Escape")
            expect(page.get_by_role("heading", name="End the recording?")).to_be_visible()
            page.get_by_role("button", name="Go on").click()
            one.until(page, lambda: len(one.shown()) >= 5)
            page.keyboard.press("Escape")
            page.get_by_role("button", name="End it").click()
            expect(page.get_by_role("heading", name="The recording was ended")).to_be_visible()
        assert one.wait() == 1
        assert "the same command goes on with it" in one.said
        done = one.shown()
        assert pl.read_parquet(one.run / TABLE)["event"].to_list() == done
    with shown(file, tmp_path / "run") as one:
        with window(browser, one.address) as page:
            expect(page.get_by_role("heading", name="The recording goes on")).to_be_visible()
            begin(page)
            expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        assert one.wait() == 0
        assert one.shown() == list(range(12))
        assert [record["event"] for record in one.of("started")] == [0, len(done)]


def test_a_run_can_be_ended_before_a_block_begins_and_escape_alone_answers_nothing(
    browser: Browser, tmp_path: Path
) -> None:
    with shown(quick(tmp_path, 3), tmp_path / "run") as one:
        with window(browser, one.address) as page:
            page.get_by_role("button", name="Full screen").click()
            expect(page.get_by_role("button", name="Begin")).to_be_visible()
            for _ in range(4):
                page.keyboard.press("Escape")
                expect(page.get_by_role("heading", name="End the recording?")).to_be_visible()
            page.get_by_role("button", name="End it").click()
            expect(page.get_by_role("heading", name="The recording was ended")).to_be_visible()
        assert one.wait() == 1
        assert one.shown() == []


def test_a_page_that_is_closed_loses_nothing_and_another_goes_on(browser: Browser, tmp_path: Path) -> None:
    with shown(quick(tmp_path, 12, SLOW_S), tmp_path / "run") as one:
        with window(browser, one.address) as page:
            begin(page)
            one.until(page, lambda: len(one.shown()) >= 4)
        with window(browser, one.address) as page:
            begin(page)
            expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        assert one.wait() == 0
        assert one.shown() == list(range(12))


def test_a_server_that_is_killed_loses_nothing_that_the_page_reports_meanwhile(
    browser: Browser, tmp_path: Path
) -> None:
    file, run = quick(tmp_path, 20, SLOW_S), tmp_path / "run"
    with shown(file, run) as one:
        port = one.address.rstrip("/").rpartition(":")[2]
        with window(browser, one.address) as page:
            begin(page)
            one.until(page, lambda: len(one.shown()) >= 4)
            one.end(signal.SIGKILL)
            before = len(one.shown())
            expect(page.get_by_role("status")).to_contain_text("The server does not answer")
            page.wait_for_timeout(500)  # more targets are shown meanwhile
            with shown(file, run, "--port", port) as again:
                expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
                assert again.wait() == 0
                assert again.shown() == list(range(20)) and before < 20
                assert len(pl.read_parquet(run / TABLE)) == 20


def test_reports_of_a_page_that_went_while_the_server_was_away_are_sent_by_the_next_page(
    browser: Browser, tmp_path: Path
) -> None:
    """What was not sent lies in the browser."""
    file, run = quick(tmp_path, 20), tmp_path / "run"
    context = browser.new_context()
    try:
        page = context.new_page()
        with shown(file, run) as one:
            port = one.address.rstrip("/").rpartition(":")[2]
            page.goto(one.address)
            begin(page)
            one.until(page, lambda: len(one.shown()) >= 3)
            one.end(signal.SIGKILL)
            known = len(one.shown())
            page.wait_for_timeout(500)
            page.close()
            with shown(file, run, "--port", port) as again:
                page = context.new_page()
                page.goto(again.address)
                expect(page.get_by_role("button", name="Full screen")).to_be_visible()
                events = again.shown()
                assert len(events) > known and events == list(range(len(events)))
                page.close()
    finally:
        context.close()


def test_ctrl_c_keeps_what_was_recorded(browser: Browser, tmp_path: Path) -> None:
    with shown(quick(tmp_path, 100), tmp_path / "run") as one:
        with window(browser, one.address) as page:
            begin(page)
            one.until(page, lambda: len(one.shown()) >= 3)
            assert one.end(signal.SIGINT) == 130
        assert "Traceback" not in one.said and "the same command goes on with it" in one.said
        assert len(pl.read_parquet(one.run / TABLE)) >= 3


def test_a_second_window_takes_over_and_the_first_says_so(browser: Browser, tmp_path: Path) -> None:
    with (
        shown(quick(tmp_path, 3), tmp_path / "run") as one,
        window(browser, one.address) as first,
        window(browser, one.address),
    ):
        expect(first.get_by_role("dialog")).to_contain_text("Another window has taken over")
