"""Contestants' classes in a real sandbox."""

import textwrap

import numpy as np
import pytest

from palestra.collect.stream import FastLine, VirtualClock, run
from palestra.entrants import sandbox
from palestra.entrants.program import Program
from palestra.errors import PalestraError
from palestra.records import Tick

PACKET = np.arange(33 * 50, dtype=np.float32).reshape(33, 50)
QUICK = sandbox.Limits(memory_bytes=1 << 30, wall_s=60, cpu_s=30)


@pytest.fixture(scope="module")
def backend():
    try:
        return sandbox.choose()
    except PalestraError as error:
        pytest.skip(str(error))


@pytest.fixture
def program(backend, tmp_path):
    """Starts a program whose class has the given body."""
    started = []

    def start(body, name="MyAlgorithm", ready=True):
        folder = tmp_path / f"bundle{len(started)}" / "Algorithm"
        folder.mkdir(parents=True)
        text = f"import numpy as np\nclass {name}:\n" + textwrap.indent(textwrap.dedent(body), "    ")
        (folder / "MyAlgorithm.py").write_text(text)
        started.append(Program("team", folder.parent, backend, QUICK))
        if ready:
            started[-1].require_ready()
        return started[-1]

    yield start
    for one in started:
        one.close()


GOOD = """
def __init__(self):
    self.seen = 0
def get_data(self, packet):
    assert packet.shape == (33, 50) and packet.flags.writeable
    packet[:] = 0
    self.seen += 1
def algorithm(self):
    return self.seen
"""


def ask(program, trial="t", within_s=20.0):
    return program.ask(Tick(0.0, PACKET, trial), within_s)[0]


def test_one_object_takes_every_packet_and_is_asked_when_it_should_be(program):
    good = program(GOOD)
    assert ask(good, trial=None) is None
    assert [ask(good).answer for _ in range(3)] == [2, 3, 4]
    assert PACKET[1, 0] == 50, "what it does to its packet is its own affair"


@pytest.mark.parametrize(
    ("value", "answer", "note"),
    [
        ("np.int64(3)", 3, ""),
        ("np.uint8(8)", 8, ""),
        ("True", None, "bool"),
        ("3.0", None, "float"),
        ("None", None, "NoneType"),
        ("'3'", None, "str"),
        ("np.array([3])", None, "ndarray"),
        ("np.float64('nan')", None, "float64"),
        ("10**40", None, "without end"),
        ("type('Evil', (), {'__index__': lambda self: 1 / 0, '__int__': lambda self: 1 / 0})()", None, "Evil"),
        ("type('Sly', (int,), {'__int__': lambda self: 1 / 0})(3)", None, "Sly"),
        ("1 / 0", None, "ZeroDivisionError"),
    ],
)
def test_what_is_no_whole_number_is_told_in_words_and_the_run_goes_on(program, value, answer, note):
    body = f"def get_data(self, packet): pass\ndef algorithm(self): return {value}\n"
    one = program(body)
    for _ in range(2):
        reply = ask(one)
        assert reply.answer == answer
        assert note in reply.note


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("Mine", GOOD, "has no class MyAlgorithm"),
        ("MyAlgorithm", GOOD.replace("get_data", "take"), "has no method get_data"),
        ("MyAlgorithm", GOOD.replace("self.seen = 0", "raise ValueError('no weights')"), "no weights"),
        ("MyAlgorithm", "import nothing_like_this\n", "nothing_like_this"),
        ("MyAlgorithm", "import os\nos._exit(3)\n", "ended before it was ready"),
    ],
)
def test_a_program_that_cannot_be_run_is_refused_before_anything_runs(program, name, body, message):
    one = program(body, name, ready=False)
    with pytest.raises(PalestraError, match=message):
        one.require_ready()


def test_a_program_that_is_never_ready_is_not_waited_for(program):
    one = program("import time\ntime.sleep(1000)\n", ready=False)
    with pytest.raises(PalestraError, match="not ready after"):
        one.require_ready(within_s=0.3)


@pytest.mark.parametrize(
    ("deed", "why"),
    [
        ("import os; os._exit(4)", "4"),
        ("import ctypes; ctypes.string_at(0)", "SIGSEGV|signal"),
        ("import time; time.sleep(1000)", "took longer than"),
        ("import os; os.write(3, b'\\xff' * 100)", "cannot be read"),
    ],
)
def test_a_program_that_dies_or_hangs_is_ended_with_its_reason(program, deed, why):
    import re

    one = program(f"def get_data(self, packet): pass\ndef algorithm(self):\n    {deed}\n    return 1\n")
    assert ask(one, within_s=5.0 if "sleep" not in deed else 0.3) is None
    assert re.search(why, one.dead()), one.dead()


def test_files_of_the_bundle_are_opened_by_relative_names(program, tmp_path):
    one = program(
        """
        def __init__(self):
            self.text = open("Algorithm/MyAlgorithm.py").read()
        def get_data(self, packet): pass
        def algorithm(self): return len(self.text) > 0 and 5
        """
    )
    assert ask(one).answer == 5


def test_what_it_prints_is_for_the_organiser(program):
    one = program("def get_data(self, packet): print('hello from inside', flush=True)\ndef algorithm(self): return 1\n")
    ask(one)
    one.close()
    assert one.dead() == ""


def test_a_whole_run_in_virtual_time(program):
    one = program(GOOD)
    clock = VirtualClock()
    decisions = []
    stream = [Tick(i * 0.2, PACKET, f"t{i}" if i % 5 == 4 else None, 0.5) for i in range(50)]
    line = FastLine("team", lambda tick: one.ask(tick, 20.0), clock, one.dead)
    run(stream, [line], clock, decisions.append, lambda name, reply: None)
    assert [decision.answer for decision in decisions] == [5 * (i + 1) for i in range(10)]
    assert all(0 < decision.latency_s < 0.5 for decision in decisions)
