"""The host's clock on real sockets. Time creeps unless the clock waits or a test lets it pass."""

import math
import socket

import numpy as np
import pytest

from palestra.live import stream, wall_clock
from palestra.live.wall_clock import WallClock
from palestra.records import Reply, Tick


class Time:
    """In the place of the module `time`: sleeping takes no time but that of the test. To look at it takes some."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        self.now += 1e-8
        return self.now

    def sleep(self, seconds):
        assert seconds >= 0
        self.now += seconds


@pytest.fixture
def time(monkeypatch):
    """Waits are below a millisecond, so that the kernel is asked and never waited for."""
    fake = Time()
    monkeypatch.setattr(wall_clock, "time", fake)
    monkeypatch.setattr(wall_clock, "LONGEST_S", 0.0009)
    monkeypatch.setattr(wall_clock, "DEAF_S", 0.0004)
    return fake


class Socketed:
    """A line on a socket; the test holds the other end."""

    name = "a"

    def __init__(self):
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self.why = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ours.close()
        self.theirs.close()

    def fileno(self):
        return self.ours.fileno()

    def dead(self):
        return self.why

    def replies(self):
        try:
            data = self.ours.recv(4096)
        except BlockingIOError:
            return []
        return [Reply(trial, 7) for trial in data.decode().split()]

    def post(self, tick):
        """The other end answers at once."""
        if tick.trial:
            self.theirs.send(f"{tick.trial}\n".encode())


class Deaf(Socketed):
    def fileno(self):
        return -1


def test_a_wait_ends_at_its_time(time):
    clock = WallClock()
    with Socketed() as line:
        clock.wait(time.now + 0.0003, [line])
    assert time.now == pytest.approx(1000.0003, abs=1e-6)


def test_a_wait_ends_at_once_when_a_line_has_something(time):
    clock = WallClock()
    with Socketed() as line, Socketed() as other:
        other.theirs.send(b"t1\n")
        clock.wait(time.now + 3600, [line, other])
        assert time.now == pytest.approx(1000.0, abs=1e-6)
        assert list(other.replies()) == [Reply("t1", 7)]


def test_a_wait_ends_at_once_when_the_other_end_is_gone(time):
    clock = WallClock()
    with Socketed() as line:
        line.theirs.close()
        clock.wait(time.now + 3600, [line])
    assert time.now == pytest.approx(1000.0, abs=1e-6)


def test_nothing_is_waited_for_when_the_time_has_come(time):
    clock = WallClock()
    with Socketed() as line:
        clock.wait(time.now - 1.0, [line])
    assert time.now == pytest.approx(1000.0, abs=1e-6)


def test_every_line_is_looked_at_now_and_then_however_long_nothing_is_due(time):
    clock = WallClock()
    with Socketed() as line:
        clock.wait(math.inf, [line])
    assert time.now == pytest.approx(1000.0009, abs=1e-6)


def test_a_line_that_gives_nothing_to_wait_on_is_looked_at_more_often(time):
    clock = WallClock()
    with Socketed() as line, Deaf() as deaf:
        clock.wait(math.inf, [line, deaf])
    assert time.now == pytest.approx(1000.0004, abs=1e-6)


def test_a_line_that_is_dead_is_not_waited_on(time):
    clock = WallClock()
    with Socketed() as line, Socketed() as dead:
        dead.why = "it crashed"
        dead.theirs.close()  # which would end the wait
        clock.wait(time.now + 0.0003, [line, dead])
    assert time.now == pytest.approx(1000.0003, abs=1e-6)


def test_what_came_while_the_clock_waited_came_when_the_wait_ended(time, monkeypatch):
    clock = WallClock()

    def wait(poll, left_s):
        time.now += 0.0006
        line.theirs.send(b"t1\n")

    monkeypatch.setattr(wall_clock, "_wait", wait)
    with Socketed() as line:
        clock.wait(time.now + 1.0, [line])
    assert clock.heard() == time.now == pytest.approx(1000.0006 + wall_clock.SPIN_S, abs=1e-6)


def test_what_came_while_the_host_was_busy_is_not_said_to_have_come_later(time):
    clock = WallClock()
    with Socketed() as line:
        clock.wait(time.now + 0.0005, [line])
        listened = time.now
        time.now += 0.010  # the host is busy; meanwhile it comes
        line.theirs.send(b"t1\n")
        came = time.now
        time.now += 0.020
        clock.wait(time.now + 1.0, [line])
    assert clock.heard() == pytest.approx(listened, abs=1e-6)
    assert clock.heard() <= came


def test_what_came_while_the_idle_time_was_used_is_not_said_to_have_come_later(time):
    def draw(left_s):
        line.theirs.send(b"t1\n")
        time.now += 0.005

    clock = WallClock(draw)
    with Socketed() as line:
        before = time.now
        clock.wait(time.now + 1.0, [line])
    assert clock.heard() == pytest.approx(before, abs=1e-6)


def test_who_uses_the_idle_time_is_told_how_much_there_is_and_delays_nothing(time):
    told = []

    def draw(left_s):
        told.append(left_s)
        time.now += 0.25

    clock = WallClock(draw)
    with Socketed() as line:
        clock.wait(time.now + 0.2505, [line])
    assert told == [pytest.approx(0.2505, abs=1e-6)]
    assert time.now == pytest.approx(1000.2505, abs=1e-6)


class Log:
    def __init__(self):
        self.decisions, self.strays = [], []

    def sent(self, tick, at_s):
        pass

    def decided(self, decision):
        self.decisions.append(decision)

    def strayed(self, entrant, reply, at_s):
        self.strays.append(reply.trial)


def ticks(count, every_s=0.004, deadline_s=0.01):
    return [Tick(i * every_s, {"x": np.zeros(2)}, f"t{i}", deadline_s) for i in range(count)]


def test_a_stream_runs_on_it_from_its_first_tick_to_its_last_deadline(time):
    log = Log()
    with Socketed() as line:
        stream.run(ticks(3), [line], WallClock(), log)
    assert [(one.trial, one.answer, one.note) for one in log.decisions] == [("t0", 7, ""), ("t1", 7, ""), ("t2", 7, "")]
    assert time.now == pytest.approx(1000.018, abs=1e-6)


def test_a_busy_host_is_late_itself_and_nobody_else(time):
    """Everything that is sent takes 3 ms of the host's time; answers are there at once."""

    class Slow(Socketed):
        def post(self, tick):
            time.now += 0.003
            super().post(tick)

    log = Log()
    with Slow() as first, Slow() as second:
        second.name = "b"
        stream.run(ticks(5), [first, second], WallClock(), log)
    assert len(log.decisions) == 10 and not log.strays
    assert all(one.note == "" and 0 <= one.latency_s <= 0.003 for one in log.decisions)
    assert max(one.host_late_s for one in log.decisions) > 0.003


def test_one_that_answers_soon_is_heard_without_going_to_sleep(time, monkeypatch):
    def wait(poll, left_s):
        raise AssertionError("it went to sleep")

    monkeypatch.setattr(wall_clock, "_wait", wait)
    clock = WallClock()
    with Socketed() as line:
        line.theirs.send(b"t1\n")
        clock.wait(time.now + 1.0, [line])
        assert [reply.trial for reply in line.replies()] == ["t1"]


def test_where_several_are_waited_for_nobody_is_kept_from_a_processor_by_looking(time, monkeypatch):
    monkeypatch.setattr(wall_clock, "_speaks_soon", lambda poll, within_s: pytest.fail("it looked without sleeping"))
    clock = WallClock()
    with Socketed() as one, Socketed() as other:
        clock.wait(time.now + 0.0005, [one, other])
