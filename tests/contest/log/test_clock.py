"""The clock of a contest, when somebody sets it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.contest.contest import Contest
from palestra.contest.decisions import organiser
from palestra.contest.log import clock
from palestra.contest.log import events as e
from palestra.contest.log.clock import AHEAD_MS, BEHIND_MS, ClockSet, Watched, log_is_ahead, watched
from palestra.contest.storage.database import open_database, sqlite_address
from palestra.contest.storage.file_store import Files
from tests.contest.story import DAY, START, some_rules


class Machine:
    """A machine with both of its clocks."""

    def __init__(self) -> None:
        self.wall_ms, self.boot_ms = START, 500_000

    def wall(self) -> int:
        return self.wall_ms

    def steady(self) -> int:
        return self.boot_ms

    def wait(self, ms: int) -> None:
        self.wall_ms += ms
        self.boot_ms += ms


@pytest.fixture
def machine() -> Machine:
    return Machine()


@given(st.integers(-400 * DAY, AHEAD_MS), st.integers(0, 400 * DAY))
def test_a_clock_that_is_set_back_or_a_little_ahead_is_written_by(set_by: int, later: int) -> None:
    machine = Machine()
    watch = Watched(machine.wall, machine.steady)
    machine.wait(later)
    machine.wall_ms += set_by
    assert watch.for_writing() == watch() == START + later + set_by


@given(st.integers(AHEAD_MS + 1, 400 * DAY), st.integers(0, 400 * DAY))
def test_a_clock_that_is_set_far_ahead_is_found_out_however_long_it_ran(set_by: int, later: int) -> None:
    machine = Machine()
    watch = Watched(machine.wall, machine.steady)
    machine.wait(later)
    machine.wall_ms += set_by
    assert watch() == START + later + set_by, "pages are shown all the same"
    with pytest.raises(ClockSet, match="was set ahead by"):
        watch.for_writing()
    machine.wall_ms -= set_by
    assert watch.for_writing() == START + later, "set right again, it is good"


def test_nothing_reaches_the_log_by_a_clock_that_was_set_ahead(tmp_path: Path, machine: Machine) -> None:
    engine = open_database(sqlite_address(tmp_path / "contest.db"))
    contest = Contest(engine, Files.open(str(tmp_path / "files")), Watched(machine.wall, machine.steady))
    contest.act("system", lambda state, now: organiser.open_contest(state, some_rules(), "tests"))
    machine.wall_ms += 400 * DAY
    with pytest.raises(ClockSet) as refused:
        contest.act("a1", lambda state, now: [e.AccountMade("a1", "Ann", "member")])
    assert "start the server again" in str(refused.value) and "重新启动服务器" in refused.value.in_language("zh")
    assert (contest.state.seq, contest.state.at) == (1, START)
    machine.wall_ms -= 400 * DAY
    contest.act("a1", lambda state, now: [e.AccountMade("a1", "Ann", "member")])
    assert contest.state.seq == 2
    engine.dispose()


def test_a_process_that_is_started_again_watches_from_where_the_server_began(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(clock.BASE, raising=False)
    monkeypatch.setattr(clock, "since_boot", machine.steady)
    server = Watched(machine.wall, machine.steady)
    monkeypatch.setenv(clock.BASE, "0")  # so that it is put back after the test
    clock.hand_down(server)
    machine.wall_ms += 2 * AHEAD_MS
    with pytest.raises(ClockSet):
        Watched(machine.wall, machine.steady, watched(machine.wall).base).for_writing()


def test_a_log_that_is_ahead_of_the_clock_is_told_with_both_times() -> None:
    assert log_is_ahead(START, START, "UTC") == log_is_ahead(START + BEHIND_MS - 1, START, "UTC") == ""
    text = log_is_ahead(START + 400 * DAY, START, "UTC")
    assert "400 days ahead of this machine's clock" in text and "backup" in text


def test_the_clock_of_this_machine_can_be_watched() -> None:
    assert 0 < clock.since_boot() <= clock.since_boot()
