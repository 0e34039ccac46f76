"""A program thinks while it is asked, and at nobody else's expense."""

import time
from contextlib import ExitStack

import numpy as np
import pytest

from palestra.entrants import bundle
from palestra.entrants.program import Program
from palestra.records import Tick
from palestra.sandbox import backends
from palestra.sandbox.launch import Limits
from tests.entrants.programs import until
from tests.live import hall

LIMITS = Limits(memory_bytes=1 << 29, pids=32, wall_s=120, cpu_s=60, tmp_bytes=1 << 20)
PATIENCE_S = 60.0
THINKS = "if os.fork() == 0:\n    os.setsid()\n    while True: pass"
AT_ONCE_S = 0.03  # until what is frozen stands still


@pytest.fixture
def opened(tmp_path):
    hall.require_sandbox()
    if "freezer" not in backends.choose().controls:
        pytest.skip("nothing can be frozen here")
    with ExitStack() as stack:

        def open_program(top: str = "") -> Program:
            folder, backend = hall.write_bundle(tmp_path / "bundle", hall.program(top=top)), backends.choose()
            made = Program("it", stack.enter_context(bundle.unpacked(folder, backend)), backend, LIMITS)
            stack.callback(made.close)
            made.require_ready()
            return made

        yield open_program


def ask(program: Program) -> float:
    """What it is charged for a decision."""
    replies, seconds = program.ask(Tick(0.0, {"x": np.ones((2, 2), np.float32)}, "trial", 1.0, {}), PATIENCE_S)
    assert [reply.answer for reply in replies] == [1]
    return seconds


def used_while_others_work(program: Program) -> float:
    before, began = program.processor_times()[0], time.process_time()
    while time.process_time() - began < 0.1:
        pass
    return program.processor_times()[0] - before


def test_one_that_is_not_alone_stands_still_while_others_are_asked(opened):
    program = opened(THINKS)
    program.hold()
    for _ in range(2):
        ask(program)
        assert used_while_others_work(program) < AT_ONCE_S


def test_one_that_is_alone_is_charged_for_what_it_thought_in_between_and_frozen_from_then_on(opened):
    program = opened(THINKS)
    ask(program)
    before = program.processor_times()[0]
    until(lambda: program.processor_times()[0] - before > 0.2, 60)
    assert ask(program) > 0.1
    assert used_while_others_work(program) < AT_ONCE_S
    assert ask(program) < 10.0, "it goes on when it is asked"


def test_one_that_does_nothing_in_between_is_neither_charged_nor_frozen(opened):
    program = opened()
    for _ in range(3):
        ask(program)
        assert used_while_others_work(program) < AT_ONCE_S
    assert not program._turns.held


@pytest.mark.parametrize("host_s", [0.0, 0.0003])
def test_one_that_answers_thousands_of_packets_is_not_charged_for_its_runners_looking_out_for_the_next(opened, host_s):
    """Its runner, which is ours, keeps looking for the next packet for a moment before it sleeps."""
    program = opened()
    for _ in range(2000):
        ask(program)
        until_s = time.monotonic() + host_s
        while time.monotonic() < until_s:
            pass
    assert not program._turns.held
