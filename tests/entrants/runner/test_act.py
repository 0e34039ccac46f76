"""Programs that act in a world: the contract in a real sandbox, and by WebSocket."""

import textwrap

import numpy as np
import pytest

from palestra.client import serving
from palestra.entrants.bundle import Bundle
from palestra.entrants.policy_server import Dialled
from palestra.entrants.program import Program
from palestra.entrants.runner.act import MOST_NUMBERS, wanted
from palestra.errors import PalestraError
from palestra.records import Tick
from palestra.sandbox import backends, launch

BODY = """
import numpy as np

class MyAlgorithm:
    def reset(self, about):
        self.instruction, self.seen = about["instruction"], 0
    def act(self, observation):
        self.seen += 1
        assert observation["rgb_top"].shape == (4, 5, 3) and observation["rgb_top"].dtype == np.uint8
        if observation["instruction"] != self.instruction:
            raise RuntimeError("another instruction")
        return np.full((2, 8), self.seen + len(self.instruction))
"""


def tick(step, instruction="pick it up"):
    payload = {"joints": np.zeros(7), "rgb_top": np.zeros((4, 5, 3), np.uint8)}
    return Tick(0.0, payload, f"case/{step}", None, {"step": step, "instruction": instruction})


def talk(line):
    line.require_ready(30)
    first, _ = line.ask(tick(0), 30)
    second, _ = line.ask(tick(1), 30)
    other, _ = line.ask(tick(2, "something else"), 30)
    again, _ = line.ask(tick(0, "abc"), 30)
    return [reply for (reply,) in (first, second, other, again)]


def test_a_class_with_reset_and_act_runs_in_the_sandbox(tmp_path):
    try:
        backend = backends.choose()
    except PalestraError as error:
        pytest.skip(str(error))
    folder = tmp_path / "bundle" / "Algorithm"
    folder.mkdir(parents=True)
    (folder / "MyAlgorithm.py").write_text(textwrap.dedent(BODY))
    limits = launch.Limits(memory_bytes=1 << 30, wall_s=60, cpu_s=30)
    program = Program("team", Bundle(folder.parent, None, ""), backend, limits)
    try:
        first, second, other, again = talk(program)
    finally:
        program.close()
    assert first.answer == {"actions": [[11.0] * 8] * 2, "done": False}
    assert second.answer["actions"] == [[12.0] * 8] * 2
    assert other.note == "RuntimeError: another instruction"
    assert again.answer["actions"] == [[4.0] * 8] * 2  # it began anew


def test_the_same_class_can_be_a_policy_server():
    space: dict = {}
    exec(BODY, space)
    server = serving(space["MyAlgorithm"], 0)
    import threading

    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    line = Dialled("team", f"ws://127.0.0.1:{server.socket.getsockname()[1]}")
    try:
        first, _, other, again = talk(line)
    finally:
        line.close()
        server.shutdown()
        thread.join(10)
    assert first.answer == {"actions": [[11.0] * 8] * 2}
    assert "another instruction" in str(other.note)
    assert again.answer == {"actions": [[4.0] * 8] * 2}


def test_whatever_is_returned_is_told_in_numbers_or_in_words():
    assert wanted([1, 2]) == {"answer": {"actions": [1.0, 2.0], "done": False}}
    assert wanted({"actions": np.zeros((1, 2)), "done": True}) == {"answer": {"actions": [[0.0, 0.0]], "done": True}}
    assert wanted(None) == {"returned": ["not an array", "NoneType"]}
    assert wanted("left") == {"returned": ["not an array", "str"]}
    assert wanted([[1], [1, 2]]) == {"returned": ["not an array", "list"]}
    assert wanted(np.zeros(MOST_NUMBERS + 1)) == {"returned": ["too many", f"{MOST_NUMBERS + 1:,}"]}
