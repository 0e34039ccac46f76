"""The rules of time, in virtual time: nothing here sleeps."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.live.stream import Decision, FastLine, VirtualClock, run, spoiled
from palestra.records import Reply, Tick
from palestra.text import Words


class Scripted:
    """An entrant that answers as it is told to: trial → (seconds after it was posted, answer), any number of them."""

    def __init__(self, name, clock, script):
        self.name, self.clock, self.script = name, clock, script
        self.coming, self.posted, self.why = [], [], ""

    def post(self, tick):
        self.posted.append((self.clock.now(), tick.payload))
        for after_s, answer in self.script(tick):
            at = self.clock.now() + after_s
            self.coming.append((at, Reply(tick.trial or "?", answer) if not isinstance(answer, Reply) else answer))
            self.clock.plan(at)

    def replies(self):
        ready = sorted((entry for entry in self.coming if entry[0] <= self.clock.now()), key=lambda entry: entry[0])
        self.coming = [entry for entry in self.coming if entry[0] > self.clock.now()]
        return [reply for _, reply in ready]

    def dead(self):
        return self.why

    def fileno(self):
        return -1


class Log:
    """What happened, in lists."""

    def __init__(self):
        self.ticks, self.decisions, self.strays = [], [], []
        self.rests = 0

    def sent(self, tick, at_s):
        self.ticks.append((tick, at_s))

    def decided(self, decision):
        self.decisions.append(decision)

    def strayed(self, entrant, reply, at_s):
        self.strays.append((entrant, reply.trial))

    def resting(self):
        self.rests += 1


def after(seconds, answer="yes"):
    return lambda tick: [(seconds, answer)] if tick.trial else []


def ticks(count, every_s=1.0, deadline_s=0.5):
    return [Tick(i * every_s, i, f"t{i}", deadline_s) for i in range(count)]


def play(stream, *scripts, clock=None):
    clock = clock or VirtualClock()
    lines = [Scripted(f"e{i}", clock, script) for i, script in enumerate(scripts)]
    log = Log()
    run(stream, lines, clock, log)
    return log.decisions, log.strays, lines


def test_latency_counts_from_the_due_time():
    decisions, _, _ = play(ticks(3), after(0.2))
    assert [(d.trial, d.answer, d.latency_s) for d in decisions] == [
        (f"t{i}", "yes", pytest.approx(0.2)) for i in range(3)
    ]


def test_the_stimulus_does_not_wait_for_an_entrant():
    _, _, lines = play(ticks(5), after(100.0))
    assert [at for at, _ in lines[0].posted] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_decision_past_its_deadline_is_closed_and_its_answer_dropped():
    decisions, strays, _ = play(ticks(3), after(0.6))
    assert [(d.answered_s, d.answer, str(d.note)) for d in decisions] == [(None, None, "no answer in time")] * 3
    assert strays == [("e0", "t0"), ("e0", "t1")]  # the last one would come after the run


def test_an_answer_on_the_dot_counts():
    decisions, _, _ = play(ticks(1), after(0.5))
    assert decisions[0].answer == "yes"


def test_an_entrant_that_never_answers_ends_with_the_stream():
    clock = VirtualClock()
    decisions, _, _ = play(ticks(4), lambda tick: [], clock=clock)
    assert [str(d.note) for d in decisions] == ["no answer in time"] * 4
    assert clock.now() == pytest.approx(3.5)


def test_only_the_first_of_two_answers_counts():
    decisions, strays, _ = play(ticks(2), lambda tick: [(0.1, "first"), (0.2, "second")])
    assert [d.answer for d in decisions] == ["first", "first"]
    assert strays == [("e0", "t0"), ("e0", "t1")]


@pytest.mark.parametrize("trial", ["t7", "nothing of ours", "t0"])
def test_an_answer_to_something_that_is_not_open_changes_nothing(trial):
    decisions, strays, _ = play(ticks(3), lambda tick: [(0.1, "yes"), (0.15, Reply(trial, "sneaky"))])
    assert [d.answer for d in decisions] == ["yes"] * 3
    assert ("e0", trial) in strays


def test_an_early_answer_is_not_kept_for_later():
    def script(tick):
        return [(0.1, Reply("t1", "early"))] if tick.trial == "t0" else []

    decisions, strays, _ = play(ticks(2), script)
    assert [str(d.note) for d in decisions] == ["no answer in time"] * 2
    assert strays == [("e0", "t1")]


def test_a_malformed_answer_is_noted_and_costs_only_its_own_decision():
    def script(tick):
        return [(0.1, Reply(tick.trial, None, "not a number from 0 to 8") if tick.trial == "t1" else "yes")]

    decisions, _, _ = play(ticks(3), script)
    assert [(d.answer, d.note) for d in decisions] == [("yes", ""), (None, "not a number from 0 to 8"), ("yes", "")]


def test_the_host_s_lateness_is_measured_and_not_charged():
    class Slow(VirtualClock):
        """A host that oversleeps by 30 ms whenever it waits for something planned."""

        def wait(self, until, lines):
            super().wait(until, lines)
            if self._now == until and until == int(until):
                self._now += 0.03

    decisions, _, _ = play(ticks(3), after(0.49), clock=Slow())
    assert [d.answer for d in decisions] == ["yes"] * 3
    assert [d.host_late_s for d in decisions[1:]] == [pytest.approx(0.03)] * 2
    assert all(d.latency_s == pytest.approx(0.49) for d in decisions)


def test_one_that_stalls_touches_no_other_of_fifteen():
    alone, _, _ = play(ticks(20), after(0.2))
    scripts = [after(0.2)] * 14
    together, _, lines = play(ticks(20), *scripts[:7], lambda tick: [], *scripts[7:])
    for line in lines:
        mine = [d for d in together if d.entrant == line.name]
        if line.name == "e7":
            assert {str(d.note) for d in mine} == {"no answer in time"}
        else:
            assert [(d.trial, d.answer, d.answered_s) for d in mine] == [
                (d.trial, d.answer, d.answered_s) for d in alone
            ]
        assert [at for at, _ in line.posted] == [float(i) for i in range(20)]


def test_an_entrant_that_dies_loses_what_is_open_and_the_others_go_on():
    clock = VirtualClock()
    log, lines = Log(), [Scripted("dying", clock, lambda tick: []), Scripted("living", clock, after(0.1))]

    def stream():
        for tick in ticks(3):
            if tick.trial == "t1":
                lines[0].why = "it crashed"
            yield tick

    run(stream(), lines, clock, log)
    decisions = log.decisions
    assert [d.note for d in decisions if d.entrant == "dying"][1:] == ["it crashed", "it crashed"]
    assert [d.answer for d in decisions if d.entrant == "living"] == ["yes"] * 3


def test_without_a_deadline_the_stream_waits_and_its_clock_with_it():
    decisions, _, lines = play(ticks(3, deadline_s=None), after(5.0), after(2.0))
    assert [at for at, _ in lines[0].posted] == [0.0, 6.0, 12.0]
    slow = [d for d in decisions if d.entrant == "e0"]
    assert [(d.answer, d.latency_s) for d in slow] == [("yes", pytest.approx(5.0))] * 3
    assert all(d.host_late_s == pytest.approx(0, abs=1e-9) for d in decisions)


def test_without_a_deadline_a_dead_entrant_is_not_waited_for():
    clock = VirtualClock()
    dead = Scripted("dead", clock, lambda tick: [])
    dead.why = "it never started"
    log = Log()
    run(ticks(2, deadline_s=None), [dead], clock, log)
    assert [d.note for d in log.decisions] == ["it never started"] * 2


def test_ticks_that_ask_nothing_are_only_sent():
    stream = [Tick(i * 0.2, i, f"t{i}" if i % 5 == 4 else None, 0.5) for i in range(10)]
    decisions, _, lines = play(stream, after(0.1))
    assert [payload for _, payload in lines[0].posted] == list(range(10))
    assert [d.trial for d in decisions] == ["t4", "t9"]


def fast(stream, seconds):
    """A run in virtual time of an entrant that needs so long for each tick."""
    clock = VirtualClock()
    log = Log()

    def ask(tick):
        return ([Reply(tick.trial, tick.payload)] if tick.trial else []), seconds(tick)

    line = FastLine("fast", ask, clock, lambda: "")
    run(stream, [line], clock, log)
    return log.decisions, clock


def test_in_virtual_time_the_entrant_is_charged_its_real_time():
    decisions, clock = fast(ticks(3), lambda tick: 0.2)
    assert [d.latency_s for d in decisions] == [pytest.approx(0.2)] * 3
    assert clock.now() == pytest.approx(2.5)


def test_in_virtual_time_packets_queue_for_a_slow_entrant():
    stream = [Tick(i * 0.2, i, f"t{i}" if i % 5 == 4 else None, 0.5) for i in range(15)]
    # 0.25 s for each packet of 0.2 s: it falls behind by 0.05 s a packet until it misses its deadline.
    decisions, _ = fast(stream, lambda tick: 0.25)
    assert [d.latency_s if d.latency_s is None else round(d.latency_s, 3) for d in decisions] == [0.45, None, None]


def test_in_virtual_time_one_slow_packet_is_made_up_for():
    decisions, _ = fast(ticks(4), lambda tick: 1.2 if tick.payload == 1 else 0.1)
    assert [str(d.note) for d in decisions] == ["", "no answer in time", "", ""]
    assert decisions[2].latency_s == pytest.approx(0.3)


times = st.floats(0, 3, allow_nan=False)


@given(st.lists(st.lists(st.tuples(times, st.integers(0, 8)), max_size=3), min_size=1, max_size=8), st.floats(0.05, 2))
def test_every_decision_is_recorded_exactly_once_whatever_comes(script, deadline_s):
    stream = [Tick(i * 0.5, i, f"t{i}", deadline_s) for i in range(len(script))]
    decisions, _, _ = play(stream, lambda tick: script[tick.payload])
    assert sorted(d.trial for d in decisions) == sorted(f"t{i}" for i in range(len(script)))
    for decision in decisions:
        own = script[int(decision.trial[1:])]
        in_time = [after_s for after_s, _ in own if after_s <= deadline_s]
        if decision.answered_s is None:
            assert not in_time or min(in_time) > deadline_s - 1e-9
        else:
            assert decision.latency_s == pytest.approx(min(after_s for after_s, _ in own), abs=1e-8)


def decision(late_s, deadline_s=0.5):
    return Decision("e", "t", 1.0, 1.0 + late_s, 1.2, deadline_s, 1, "")


def test_a_host_that_is_late_too_often_spoils_the_run_with_a_reason():
    assert spoiled([decision(0.001)] * 100) == Words()
    assert spoiled([decision(0.2)] + [decision(0.0)] * 99) == Words()
    why = spoiled([decision(0.2)] * 2 + [decision(0.0)] * 98).en
    assert "2 of 100" in why
    assert "200.0 ms" in why
    assert spoiled([decision(9.0, None)] * 10) == Words()
    assert spoiled([]) == Words()
    assert not math.isnan(decision(0.1).latency_s)


@given(st.lists(st.floats(0.001, 1e4), min_size=1, max_size=5), st.floats(0.01, 2), st.floats(0, 3))
def test_sittings_one_after_the_other_come_to_their_end_whatever_is_rounded(lengths_s, deadline_s, after_s):
    clock, log = VirtualClock(), Log()
    line = Scripted("e", clock, after(after_s))
    for number, seconds in enumerate(lengths_s):
        run([Tick(seconds * i / 3, i, f"{number}/{i}", deadline_s) for i in range(4)], [line], clock, log)
    assert len(log.decisions) == 4 * len(lengths_s)


# A person who is captured while they are played


def captured(clock, *come_at, every_s=1.0, deadline_s=0.5):
    """Ticks that were planned every second, and come when the person has come so far."""
    for i, at in enumerate(come_at):
        while clock.now() < at:
            yield None
        yield Tick(i * every_s, {}, f"t{i}", deadline_s)


def play_captured(*come_at, script=None, **how):
    clock = VirtualClock()
    line, log = Scripted("e", clock, script or after(0.2)), Log()
    run(captured(clock, *come_at, **how), [line], clock, log, captured=True)
    return log, [at for at, _ in line.posted]


def test_a_captured_tick_goes_out_as_soon_as_it_is_there_and_nobody_is_late():
    log, posted = play_captured(0.0, 5.0, 5.97, 60.0)
    assert posted == pytest.approx([0.0, 5.0, 5.97, 60.0], abs=0.01)
    assert [(d.due_s, d.sent_s) for d in log.decisions] == [(pytest.approx(i), pytest.approx(i)) for i in range(4)]
    assert [d.latency_s for d in log.decisions] == pytest.approx([0.2] * 4)
    assert log.rests > 0


def test_an_answer_after_the_next_captured_tick_is_charged_by_its_own_clock():
    """The stream's time begins anew with each tick; a decision that is open then keeps its own."""
    log, _ = play_captured(0.0, 0.97, 9.0, script=after(2.5), deadline_s=3.0)
    assert [d.latency_s for d in log.decisions] == pytest.approx([2.5] * 3, abs=0.01)
    log, _ = play_captured(0.0, 0.97, 9.0, script=after(2.5), deadline_s=2.4)
    assert [str(d.note) for d in log.decisions] == ["no answer in time"] * 3


def test_captured_ticks_that_came_at_once_are_sent_nearly_as_they_were_planned():
    _, posted = play_captured(3.0, 3.0, 3.0, 3.0, 10.0)
    assert [after - before for before, after in pairwise(posted)][:3] == pytest.approx([0.95] * 3, abs=0.01)
    assert posted[-1] == pytest.approx(10.0, abs=0.01)


def test_a_screen_has_its_time_while_nothing_is_open_alone():
    log, _ = play_captured(0.0, 0.96, script=after(0.9), deadline_s=0.95)
    busy = log.rests
    log, _ = play_captured(0.0, 0.96, script=after(0.1), deadline_s=0.95)
    assert busy < log.rests


@given(st.lists(st.floats(0, 3), min_size=1, max_size=6), st.floats(0, 2), st.floats(0.1, 2))
def test_each_captured_tick_is_decided_once_whenever_it_comes(gaps, takes_s, deadline_s):
    come_at = [sum(gaps[: i + 1]) for i in range(len(gaps))]
    log, _ = play_captured(*come_at, script=after(takes_s), deadline_s=deadline_s)
    assert sorted(d.trial for d in log.decisions) == [f"t{i}" for i in range(len(gaps))]
    assert all(
        (d.answer == "yes") == (takes_s <= deadline_s) for d in log.decisions if abs(takes_s - deadline_s) > 0.01
    )
