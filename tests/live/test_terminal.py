import io
import os
import termios
import threading

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from palestra.live.terminal import SMALL, Watch, _takes_words
from palestra.records import Metric
from tests.live.test_standings import PE, begin, heard, live_track

HOSTILE = "\x1b[2Jteam\r\n[bold red]清华\x07"


class Clock:
    def __init__(self):
        self.now = 50.0

    def __call__(self):
        return self.now


def terminal(width=100, height=30, file=None):
    return Console(file=file or io.StringIO(), force_terminal=True, width=width, height=height,
                   color_system="standard", _environ={"TERM": "xterm"})  # fmt: skip


class Seen:
    """A watch, and what it does: how often it draws and scores."""

    def __init__(self, *names, track=None, ticks=100, sittings=("P0", "P1", "P2"), console=None, **options):
        self.track = track or live_track(trials=90)
        self.standings, self.trials, _ = begin(self.track, *(names or ("red", "blue")))
        self.clock, self.console = Clock(), console or terminal()
        self.watch = Watch(self.track, self.standings, ticks, sittings, self.console, clock=self.clock, **options)
        self.drawn = self.scored = 0
        page, update = self.watch.page, self.standings.update

        def counted_page(width, height):
            self.drawn += 1
            return page(width, height)

        def counted_update():
            self.scored += 1
            return update()

        self.watch.page, self.standings.update = counted_page, counted_update

    def decide(self, entrant, number, answer, **how):
        self.standings.decided(heard(entrant, self.trials[number], answer, **how))

    def page(self, width=100, height=40):
        """What it shows, line by line."""
        with self.watch:
            self.watch._scored_at = -1e9
            self.watch._draw()
            return self.watch.page(width, height).plain.split("\n")

    def row(self, entrant, **size):
        return next(line for line in self.page(**size) if f" {entrant} " in line).split()


def test_it_draws_when_there_is_time_and_not_too_often():
    seen = Seen()
    with seen.watch:
        assert seen.drawn == 1, "at the start"
        for wait_s, left_s, drawn in [
            (0.0, 9.0, 1), (0.24, 9.0, 1), (0.02, 0.05, 1), (0.0, 0.051, 2), (0.2, np.inf, 2), (0.05, np.inf, 3),
            (9.0, 0.0, 3), (9.0, -1.0, 3),
        ]:  # fmt: skip
            seen.clock.now += wait_s
            seen.watch.idle(left_s)
            assert seen.drawn == drawn


def test_it_does_not_draw_while_answers_to_a_tick_come_in():
    seen = Seen()
    with seen.watch:
        seen.clock.now += 1
        seen.watch.sent()
        for wait_s, drawn in [(0.0, 1), (0.04, 1), (0.02, 2)]:
            seen.clock.now += wait_s
            seen.watch.idle(9.0)
            assert seen.drawn == drawn


def test_a_beat_draws_twice_a_second():
    seen = Seen()
    with seen.watch:
        for _ in range(1000):
            seen.clock.now += 0.01
            seen.watch.beat()
    assert 19 <= seen.drawn <= 21


def test_it_scores_at_most_once_a_second_and_counts_all_the_time():
    seen = Seen("red", ticks=1000)
    with seen.watch:
        for i in range(80):
            seen.decide("red", i, 1)
            seen.clock.now += 0.25
            seen.watch.idle(1.0)
        assert seen.drawn == 81
        assert seen.scored == 21
        assert f" {80} " in seen.watch.page(100, 30).plain


def test_to_send_a_tick_draws_nothing():
    seen = Seen()
    with seen.watch:
        seen.clock.now += 60
        seen.watch.sent()
        seen.watch.sitting(1)
    assert seen.drawn == 1


@pytest.mark.parametrize("why", ["hidden", "no terminal", "a dumb terminal"])
def test_where_nobody_watches_nothing_is_printed_or_scored(why):
    file = io.StringIO()
    consoles = {
        "hidden": terminal(file=file),
        "no terminal": Console(file=file),
        "a dumb terminal": Console(file=file, force_terminal=True, _environ={"TERM": "dumb"}),
    }
    seen = Seen(console=consoles[why], hidden=why == "hidden")
    with seen.watch:
        seen.watch.sent()
        for _ in range(10):
            seen.clock.now += 5
            seen.watch.idle(9.0)
            seen.watch.beat()
    assert file.getvalue() == "" and seen.drawn == seen.scored == 0


def test_it_starts_no_thread():
    before = set(threading.enumerate())
    seen = Seen()
    with seen.watch:
        seen.clock.now += 1
        seen.watch.idle(1.0)
        assert set(threading.enumerate()) == before


def test_the_terminal_is_given_back_as_it_was_also_after_an_error():
    file = io.StringIO()
    seen = Seen(console=terminal(file=file))
    with pytest.raises(ZeroDivisionError), seen.watch:
        raise ZeroDivisionError
    shows, hides = file.getvalue().rfind("\x1b[?25h"), file.getvalue().rfind("\x1b[?25l")
    assert shows > hides > -1


def test_a_terminal_that_is_gone_does_not_stop_the_run():
    class Gone(io.StringIO):
        broken = False

        def write(self, text):
            if self.broken:
                raise OSError(5, "Input/output error")
            return super().write(text)

    file = Gone()
    seen = Seen(console=terminal(file=file))
    with seen.watch:
        file.broken = True
        for _ in range(3):
            seen.clock.now += 1
            seen.watch.idle(1.0)
    assert seen.drawn == 2, "once too often, and then no more"


def test_a_terminal_that_was_stopped_is_not_written_to():
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "w") as file:
        console = terminal(file=file)
        assert _takes_words(console)
        termios.tcflow(theirs, termios.TCOOFF)  # as Ctrl-S does
        seen = Seen(console=console)
        seen.clock.now += 1
        seen.watch.idle(1.0)
        assert seen.drawn == 0 and not _takes_words(console)
        termios.tcflow(theirs, termios.TCOON)
        assert _takes_words(console)
    os.close(ours)


def test_the_best_stands_first_with_what_it_did():
    seen = Seen("red", "blue", "late one")
    for i in range(20):
        seen.decide("blue", i, i % 9, latency_s=0.010 + 0.001 * i)
        seen.decide("red", i, None if i % 4 == 0 else 8, latency_s=0.2)
    page = seen.page()
    names = [line.split()[1] for line in page if line[:3].strip().rstrip("–").isdecimal() or line.startswith(" –")]
    assert names == ["blue", "red", "late"]
    assert seen.row("blue")[:7] == ["1", "blue", "1.0000", "20", "0", "19.0", "28.0"]
    assert seen.row("red")[:7] == ["2", "red", "0.0500", "20", "5", "200.0", "200.0"]
    assert seen.row("late one")[:8] == ["–", "late", "one", "–", "0", "0", "–", "–"]


def test_degrees_are_degrees_and_lower_is_better():
    seen = Seen(track=live_track(trials=90, metrics=(PE,)))
    seen.decide("red", 3, 3)
    seen.decide("blue", 3, 5)
    page = seen.page()
    assert any("pe_deg ↓" in line for line in page)
    assert seen.row("red")[:3] == ["1", "red", "0.000°"]


def test_a_score_in_units_of_any_length_is_not_cut():
    blinks = Metric("n", "blinks in all", "lower", lambda rows, draws: np.array([12345.6789]))
    seen = Seen(track=live_track(trials=90, metrics=(blinks,)))
    seen.decide("red", 0, 0)
    assert any("12,345.679 blinks in all" in line for line in seen.page())


def test_equal_ones_share_a_rank_and_the_next_is_skipped():
    seen = Seen("a", "b", "c")
    for name, answer in (("a", 0), ("b", 0), ("c", 5)):
        seen.decide(name, 0, answer)
    assert [seen.row(name)[0] for name in "abc"] == ["1", "1", "3"]


def histogram(seen, entrant, **size):
    page = seen.page(width=120, **size)
    (head,) = [line for line in page if "entrant" in line]
    at = head.index("–") - len("0.5")
    return next(line for line in page if f" {entrant} " in line)[at : at + SMALL]


def test_latencies_are_blocks_from_a_thousandth_of_the_deadline_to_the_deadline():
    seen = Seen("red", "blue", "green")
    for latency_s in [0.0, 0.0001, 0.0006, 0.0499] + [0.4999] * 16:
        seen.decide("red", 0, 1, latency_s=latency_s)
    seen.decide("blue", 0, 1, latency_s=0.5)
    assert any("0.5–500 ms" in line for line in seen.page())
    assert histogram(seen, "red") == "▂      ▁   █"
    assert histogram(seen, "blue") == " " * 11 + "█"
    assert histogram(seen, "green").strip() == ""


def test_without_a_deadline_the_blocks_end_at_a_round_number_above_all():
    seen = Seen()
    seen.decide("red", 0, 1, latency_s=0.3, deadline_s=None)
    seen.decide("blue", 0, 1, latency_s=1.3, deadline_s=None)
    assert any("2–2000 ms" in line for line in seen.page())


def test_one_entrant_alone_has_a_large_histogram():
    seen = Seen("red")
    for i in range(80):
        seen.decide("red", i, 1, latency_s=0.002 if i % 2 else 0.2)
    page = seen.page(width=80)
    blocks = [line for line in page if "█" in line]
    assert len(blocks) == 6
    assert all(line.count("█") == 6 for line in blocks), "two bars, three columns wide"
    (axis,) = [line for line in page if "5 ms" in line and "500 ms" in line]
    assert axis.split() == ["0.5", "ms", "5", "ms", "50", "ms", "500", "ms"]
    assert any("of the last 80 answers, log scale, up to the deadline" in line for line in page)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("names", [["red"], ["red", "blue"]], ids=["alone", "among others"])
def test_the_last_note_is_told_beside_or_below(width, names):
    seen = Seen(*names)
    seen.decide("red", 0, 12)
    assert any("returned 12, expected" in line for line in seen.page(width=width))


@pytest.mark.parametrize("width", [40, 80, 100, 120, 200])
def test_lines_fit_the_terminal_whatever_the_names_are(width):
    track = live_track(trials=90, title="清" * 300)
    seen = Seen(HOSTILE, "x" * 300, "清华大学" * 20, "a", track=track, sittings=[HOSTILE * 9])
    for name in seen.standings.all:
        seen.decide(name, 0, 1)
        seen.decide(name, 1, None, note=HOSTILE * 40)
    page = seen.page(width=width)
    assert all(cell_len(line.rstrip()) <= max(width, 75) for line in page)
    assert all(letter.isprintable() for line in page for letter in line)
    assert any("[bold red]清华" in line for line in page), "no mark-up"


def test_more_entrants_than_lines_are_cut():
    seen = Seen(*(f"team {i}" for i in range(60)))
    page = seen.page(height=24)
    assert len(page) == 23 and page[-1] == "…"


def test_it_says_how_far_it_is_and_how_long_it_will_take():
    seen = Seen(ticks=100)
    seen.watch.sitting(1)
    seen.clock.now += 3600  # before the first tick: no part of the pace
    for _ in range(10):
        seen.clock.now += 0.2
        seen.watch.sent()
    seen.clock.now += 3600  # nor is a pause
    title, progress, *_ = seen.page()
    assert title == "Which of nine  which-v1  sitting 2 of 3: P1"
    assert progress.endswith("  10 of 100  18 s left")
    assert progress.count("━") == 100 - len("  10 of 100  18 s left")


def test_before_the_first_and_after_the_last_tick_no_time_is_left():
    seen = Seen(ticks=3)
    assert seen.page()[1].endswith("0 of 3  ")
    seen.watch.sent(3)
    assert seen.page()[1].endswith("3 of 3  all sent")


def test_a_long_pause_is_told():
    seen = Seen()
    with seen.watch:
        seen.clock.now += 1
        seen.watch.idle(3600.0)
        assert "next in 60 min" in seen.watch.page(100, 30).plain
        seen.clock.now += 1
        seen.watch.idle(0.2)
        assert "next in" not in seen.watch.page(100, 30).plain


def test_a_stream_without_sittings_or_entrants_is_shown():
    seen = Seen("red", sittings=(), ticks=0)
    assert seen.page()[0] == "Which of nine  which-v1"
