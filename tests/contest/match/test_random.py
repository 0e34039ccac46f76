"""Random matches: the clock keeps its limits, and no order of messages changes what a match comes to."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.contest.match import events as e
from palestra.contest.match.events import Entry
from palestra.contest.match.outcomes import judged, outcomes
from palestra.contest.match.reducer import apply, at_time, fold, last_of, names_of
from palestra.contest.match.rules import TOTAL_MS
from palestra.contest.match.state import Match
from palestra.contest.match.state_machine import decide
from palestra.contest.match.turn import current
from palestra.errors import PalestraError
from tests.contest.match.table import ANNA, BO, HEAD, RED, Table, a_sheet

SEEDS = st.integers(0, 2**32)
PRESET = st.sampled_from(["seed", "english", "literal"])
LONGEST_MS = 8 * 60_000  # between two things that happen


class Player:
    """Does what people at a table might do, most of it sensible, in their own pages' words."""

    def __init__(self, preset: str, seed: int, **more: Any) -> None:
        self.dice = random.Random(seed)
        self.table = Table(preset, a_sheet(3, 2), **more).begun()
        self.first = len(self.table.log)
        self.sent: list[tuple[Any, Any, int]] = []  # who, what and when, in the order that it was accepted
        self.count = 0

    def play(self, steps: int) -> "Player":
        for _ in range(steps):
            self.table.wait(self.dice.choice((5, 50, 1_000, 20_000, self.dice.randrange(1, LONGEST_MS))))
            who, kind, fields = self.pick()
            if kind is not None:
                self.say(who, kind, fields)
        return self

    def say(self, who: Any, kind: type, fields: dict[str, Any]) -> None:
        self.count += 1
        body = self.table.body_of(kind, key=f"{who.account}:{self.count}", said_at=self.table.now, **fields)
        try:
            if self.table.send(who, body):
                self.sent.append((who, body, self.table.now))
        except PalestraError as refusal:
            assert str(refusal) and refusal.in_language("zh")

    def pick(self) -> tuple[Any, Any, dict[str, Any]]:
        """Mostly the next thing in order; else something else."""
        turn = at_time(self.table.match, "red", self.table.now)
        case = current(self.table.match.opened, turn)
        name = case.id if case else self.dice.choice(list(turn.cases))
        sensible = self.dice.random() < 0.6
        if turn.held and sensible:
            return HEAD, e.ClockReleased, {}
        unsigned = [one for one in turn.cases.values() if one.ended and one.attempts and len(one.signatures) < 2]
        if unsigned and self.dice.random() < 0.5:
            who, met = self.dice.choice((ANNA, BO)), self.dice.choice(((), ("s1",), ("s1", "s2"), ("s1", "s2")))
            attempt = len(unsigned[0].attempts)
            return who, e.MarksSigned, {"case": unsigned[0].id, "attempt": attempt, "met": met, "reason": "so it is"}
        if case and not case.running and sensible:
            return self.next_of(case)
        return self.any_of(turn, name)

    def next_of(self, case: Any) -> tuple[Any, Any, dict[str, Any]]:
        sheet = next(one for group in self.table.body.groups for one in group.cases if one.id == case.id)
        if not case.scenes:
            return ANNA, e.SceneChecked, {"things": sheet.things, "layout": sheet.layout, "photo": "p"}
        if case.confirmed_at is None:
            return RED, e.SystemConfirmed, {}
        if not case.instruction:
            return ANNA, e.InstructionEntered, {"text": sheet.instruction.zh}
        if case.signalled_at is None:
            return RED, e.SignalGiven, {}
        return self.dice.choice((ANNA, BO)), e.CaseStarted, {}

    def any_of(self, turn: Any, name: str) -> tuple[Any, Any, dict[str, Any]]:
        who, dice = self.dice.choice((ANNA, BO)), self.dice
        ended = [case for case in turn.cases.values() if case.ended and case.attempts] or [turn.cases[name]]
        done = dice.choice(ended)
        goals = tuple(goal for goal in ("s1", "s2") if dice.random() < 0.5)
        attempt = max(len(turn.cases[name].attempts), 1)
        last = last_of(self.table.match, who.account, "red")
        choices: list[tuple[Any, Any, dict[str, Any]]] = [
            (who, e.GoalMarked, {"case": name, "attempt": attempt, "goal": goal, "on": dice.random() < 0.7})
            for goal in ("s1", "s2")
        ]
        choices += [
            (who, e.CaseStopped, {"case": name}),
            (who, e.CaseRetried, {"case": name, "why": "drop"}),
            (who, e.CaseAbandoned, {"case": name}),
            (who, e.ProgramRestarted, {"case": name, "approved_by": "bo", "reason": "it hangs"}),
            (who, e.ConductNoted, {"text": "loud"}),
            self.dice.choice(((HEAD, e.ClockHeld, {"reason": "safety"}), (HEAD, e.ClockReleased, {}))),
            (
                who,
                e.MarksSigned,
                {"case": done.id, "attempt": max(len(done.attempts), 1), "met": goals, "reason": "so"},
            ),
        ]
        if last is not None and isinstance(last.body, e.CaseStopped | e.CaseRetried | e.GoalMarked | e.MarksSigned):
            choices.append((who, e.EventUndone, {"undoes": names_of(last)[-1], "team": "red"}))
        return dice.choice(choices)


def essence(match: Match) -> bytes:
    """What a match came to, without how it was told."""
    return msgspec.msgpack.encode((match.setup, match.turns))


@given(PRESET, SEEDS)
@settings(max_examples=60, deadline=None)
def test_the_running_clock_never_exceeds_55_minutes(preset, seed):
    player = Player(preset, seed)
    limit_ms, per = player.table.body.rules.limit_ms, player.table.body.rules.limit_per
    shown_before = 0
    for _ in range(12):
        player.play(6)
        match, now = player.table.match, player.table.now
        for later in (now, now + 1, now + 10 * TOTAL_MS):
            turn = at_time(match, "red", later)
            ran = [case.ran_ms(later) for case in turn.cases.values()]
            assert sum(ran) <= min(TOTAL_MS, later - turn.begun_at)
            assert max(ran) <= limit_ms
            groups = {case.group for case in turn.cases.values()}
            of_group = [sum(case.ran_ms(later) for case in turn.cases.values() if case.group == one) for one in groups]
            assert per == "case" or max(of_group) <= limit_ms
            assert sum(case.running for case in turn.cases.values()) <= 1
        shown_now = min(match.turns["red"].clock.elapsed(now), TOTAL_MS)
        assert shown_before <= shown_now <= TOTAL_MS
        shown_before = shown_now


@given(PRESET, SEEDS, SEEDS)
@settings(max_examples=60, deadline=None)
def test_no_order_of_late_double_or_lost_messages_changes_the_result(preset, seed, network_seed):
    network = random.Random(network_seed)
    player = Player(preset, seed).play(70)
    told = player.table.match
    match = fold(player.table.log[: player.first])
    outboxes: dict[str, list[Any]] = {}
    for who, body, _ in player.sent:
        outboxes.setdefault(who.account, []).append((who, msgspec.structs.replace(body, queued=True)))
    delivered: list[Any] = []
    now = player.table.now
    while any(outboxes.values()):
        now += network.randrange(100)
        if delivered and network.random() < 0.3:
            who, body = network.choice(delivered)  # its answer was lost, so the page sends it once more
            assert decide(match, who, body, now) == []
            apply(match, Entry(match.seq + 1, now, who.account, body))  # and should it be logged twice, it counts once
            continue
        who, body = outboxes[network.choice([name for name, left in outboxes.items() if left])].pop(0)
        for one in decide(match, who, body, now):
            apply(match, Entry(match.seq + 1, now, who.account, one))
        delivered.append((who, body))
        if network.random() < 0.1:  # the server is started again
            match = msgspec.msgpack.decode(msgspec.msgpack.encode(match), type=Match)
    assert outcomes(match, now) == outcomes(told, now)
    assert essence(match) == essence(told)
    assert not match.turn_logs["red"].strays


@given(PRESET, SEEDS, SEEDS)
@settings(max_examples=40, deadline=None)
def test_what_is_logged_in_any_order_at_all_comes_to_the_same(preset, seed, network_seed):
    network = random.Random(network_seed)
    player = Player(preset, seed).play(50)
    end = player.table.now
    entries = [(who.account, body) for who, body, _ in player.sent]
    results = []
    for _ in range(2):
        network.shuffle(entries)
        match = fold(player.table.log[: player.first])
        for by, body in entries:
            apply(match, Entry(match.seq + 1, end, by, body))
        results.append(essence(match))
    assert results == [essence(player.table.match)] * 2


@given(PRESET, SEEDS)
@settings(max_examples=40, deadline=None)
def test_the_same_events_make_the_same_match(preset, seed):
    player = Player(preset, seed).play(60)
    log, now = player.table.log, player.table.now
    assert fold(log) == fold(log) == player.table.match
    assert judged(log, now) == outcomes(player.table.match, now)
    packed = msgspec.msgpack.encode(fold(log))
    assert msgspec.msgpack.decode(packed, type=Match) == player.table.match


@given(PRESET, SEEDS, st.integers(0, 100))
@settings(max_examples=30, deadline=None)
def test_a_packed_match_and_the_events_after_it_make_the_whole(preset, seed, cut):
    player = Player(preset, seed).play(50)
    cut = 1 + cut % (len(player.table.log) - 1)
    match = msgspec.msgpack.decode(msgspec.msgpack.encode(fold(player.table.log[:cut])), type=Match)
    for entry in player.table.log[cut:]:
        apply(match, entry)
    assert match == player.table.match


@pytest.mark.parametrize("seed", range(3))
def test_random_matches_do_come_to_something(seed):
    """Or the tests above would prove nothing."""
    tables = [Player("literal", 97 * seed + number).play(70).table for number in range(30)]
    rows = [row for table in tables for row in outcomes(table.match, table.now)]
    assert {"stopped", "time", "abandoned", "unreached"} <= {row.ended for row in rows}
    assert {"unscored", "marked", "agreed"} <= {row.state for row in rows}
    assert any(row.met for row in rows) and any(row.attempts > 1 for row in rows)
