"""Contestants' classes in a real sandbox."""

import textwrap

import numpy as np
import pytest

from palestra.entrants import program as programs
from palestra.entrants.bundle import Bundle
from palestra.entrants.program import Program
from palestra.errors import PalestraError
from palestra.live.stream import FastLine, VirtualClock, run
from palestra.records import Tick
from palestra.sandbox import backends, launch
from tests.entrants.programs import until

PACKET = np.arange(33 * 50, dtype=np.float32).reshape(33, 50)
QUICK = launch.Limits(memory_bytes=1 << 30, wall_s=60, cpu_s=30)


@pytest.fixture(scope="module")
def backend():
    try:
        return backends.choose()
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
        started.append(Program("team", Bundle(folder.parent, None, ""), backend, QUICK))
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


def tick(trial="t", **about):
    return Tick(0.0, {"packet": PACKET}, trial, about=about)


def ask(program, trial="t", within_s=20.0):
    replies, _ = program.ask(tick(trial), within_s)
    return replies[0] if replies else None


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
        ("True", True, ""),
        ("3.0", 3.0, ""),
        ("[1, 2.5]", [1, 2.5], ""),
        ("(np.float32(0.5), np.int16(2))", [0.5, 2], ""),
        ("[1, [2]]", None, "list"),
        ("[True]", [True], ""),
        ("[0.0] * 65", None, "list"),
        ("None", None, "NoneType"),
        ("'3'", "3", ""),
        ("np.array([3, 4])", [3, 4], ""),
        ("np.array([[3]])", None, "shape (1, 1)"),
        ("np.array(['3'])", ["3"], ""),
        ("np.array([object()])", None, "array of object"),
        ("10**40", None, "without end"),
        ("type('Evil', (), {'__index__': lambda self: 1 / 0, '__int__': lambda self: 1 / 0})()", None, "Evil"),
        ("type('Sly', (int,), {'__int__': lambda self: 1 / 0})(3)", None, "Sly"),
        ("1 / 0", None, "ZeroDivisionError"),
    ],
)
def test_what_is_no_answer_is_told_in_words_and_the_run_goes_on(program, value, answer, note):
    body = f"def get_data(self, packet): pass\ndef algorithm(self): return {value}\n"
    one = program(body)
    for _ in range(2):
        reply = ask(one)
        assert reply.answer == answer
        assert note in str(reply.note)


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("Mine", GOOD, "has no class MyAlgorithm"),
        ("MyAlgorithm", GOOD.replace("get_data", "take"), "has no method get_data"),
        ("MyAlgorithm", GOOD.replace("self.seen = 0", "raise ValueError('no weights')"), "no weights"),
        (
            "MyAlgorithm",
            "import nothing_like_this\n",
            r"nothing_like_this.* \(Algorithm/MyAlgorithm.py, line 3\).*wheels/",
        ),
        ("MyAlgorithm", GOOD.replace("self.seen = 0", "open('/home/me/x')"), "line 5.*opens files by names relative"),
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
    for _ in range(2):
        reply = ask(one, within_s=20.0 if "sleep" not in deed else 0.3)
        assert reply.answer is None and re.search(why, str(reply.note)), reply.note
    assert len(one.deaths) == 2 and not one.dead(), "it is started again each time"


def test_a_program_that_dies_too_often_stays_dead(program, monkeypatch):
    monkeypatch.setattr(programs, "STARTS", 2)
    one = program("def get_data(self, packet): raise SystemExit(7)\ndef algorithm(self): return 1\n")
    assert "exit code 7" in str(ask(one).note)
    assert "exit code 7" in str(ask(one).note)
    assert "it was started 2 times" in str(one.dead()) and "it was started 2 times" in str(ask(one).note)
    assert len(one.deaths) == 2


def test_what_it_printed_before_it_died_is_kept(program):
    one = program(
        """
        def get_data(self, packet): print("last words")
        def algorithm(self): raise SystemExit
        """
    )
    ask(one)
    assert "last words" in one.output
    one.close()
    assert "last words" in one.output


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
    assert "hello from inside" in one.output


class Decided:
    """Keeps the decisions of a run."""

    def __init__(self):
        self.decisions = []
        self.decided = self.decisions.append

    def sent(self, tick, at_s): ...

    def strayed(self, entrant, reply, at_s): ...


def played(program, stream):
    """The decisions of a run in virtual time."""
    clock, log = VirtualClock(), Decided()
    run(stream, [FastLine("team", lambda one: program.ask(one, 20.0), clock, program.dead)], clock, log)
    return log.decisions


def packets(count):
    return [
        Tick(
            i * 0.2, {"packet": PACKET}, f"t{i}" if i % 5 == 4 else None, 5.0, {"start": 50 * i, "last": i == count - 1}
        )
        for i in range(count)
    ]


def test_a_whole_run_in_virtual_time(program):
    decisions = played(program(GOOD), packets(50))
    assert [decision.answer for decision in decisions] == [5 * (i + 1) for i in range(10)]
    assert all(0 < decision.latency_s < 5 for decision in decisions)


PULLS = """
def set_task(self, task):
    self.task = task
def run(self):
    class Report: pass
    while True:
        packet = self.task.get_data()
        report = Report()
        report.result = packet.start_pos // 50
        self.task.report(report)
        if packet.finish_flag:
            return
"""


def test_a_program_of_the_pull_contract_runs_unchanged(program):
    decisions = played(program(PULLS), packets(20))
    assert [decision.answer for decision in decisions] == [4, 9, 14, 19]


def test_a_program_that_pulls_on_before_it_reports_still_answers(program):
    late = PULLS.replace("self.task.report(report)", "(packet.start_pos // 50) % 5 == 1 and self.task.report(report)")
    decisions = played(program(late), packets(20))
    assert [decision.answer for decision in decisions] == [6, 11, 16, None]


def test_a_program_whose_run_ends_early_is_started_again(program):
    decisions = played(program(PULLS.replace("if packet.finish_flag:", "if packet.start_pos == 450:")), packets(20))
    assert [decision.answer for decision in decisions] == [4, 9, 14, 19]


def test_a_program_may_take_several_arrays(program):
    one = program(
        "def get_data(self, left, right): self.sum = int(left.sum() + right.sum())\n"
        "def algorithm(self): return [self.sum, 0.5]\n"
    )
    eye = np.ones((4, 5), np.uint8)
    replies, _ = one.ask(Tick(0.0, {"left": eye, "right": 2 * eye}, "t"), 20.0)
    assert replies[0].answer == [60, 0.5]


def test_what_is_past_its_deadline_is_not_kept_and_ends_nobody(program):
    one = program(PULLS.replace("self.task.report(report)", "pass"))
    one._patience_s = 0.001
    for i in range(20):
        replies, _ = one.ask(Tick(0.0, {"packet": PACKET}, f"t{i}", 0.0), 20.0)
        assert replies == []
    assert one.deaths == [] and len(one._process.asked) == 1


def test_without_a_deadline_an_answer_is_waited_for_only_so_long(program):
    one = program("def get_data(self, packet): pass\ndef algorithm(self):\n    while True: pass\n")
    one._patience_s = 0.2
    one.post(tick())
    replies = []
    while not replies:
        replies = list(one.replies())
    assert "longer than 0.2 s over one answer" in str(replies[0].note)


def test_a_program_that_takes_nothing_does_not_fill_the_memory(program, monkeypatch):
    monkeypatch.setattr(programs, "QUEUE_BYTES", 1 << 20)
    one = program("def get_data(self, packet):\n    while True: pass\ndef algorithm(self): return 1\n")
    while not one.deaths:
        one.post(tick(None))
    assert "that it does not take" in str(one.deaths[0])


def test_pictures_that_no_socket_takes_at_once_arrive_whole(program):
    one = program(
        "def get_data(self, left, right): self.sum = int(left.sum() + right.sum())\n"
        "def algorithm(self): return self.sum\n"
    )
    eye = np.ones((2000, 2000), np.uint8)
    replies, _ = one.ask(Tick(0.0, {"left": eye, "right": eye}, "t"), 20.0)
    assert replies[0].answer == 2 * eye.size


# --- one that dies comes back

LOADS = """
def __init__(self):
    import os, select, time
    time.sleep(0.4)
    self.peeked = bool(select.select([3], [], [], 0)[0])
    os.path.exists("stuck") and time.sleep(1000)
def get_data(self, packet):
    self.number = int(packet[0, 0])
def algorithm(self):
    if self.number == 9:
        import os
        os._exit(4)
    return 10 + self.peeked
"""


def numbered(number, deadline_s=None):
    return Tick(0.0, {"packet": np.full((33, 50), number, np.float32)}, f"t{number}", deadline_s)


def heard(program):
    """The next reply of a program that is not waited for."""
    replies = []
    until(lambda: replies.extend(program.replies()) or replies)
    return replies[0]


def test_loading_after_a_death_is_charged_and_has_the_grace_of_the_first_start(program):
    one = program(LOADS)
    assert "exit code 4" in str(one.ask(numbered(9), 0.3)[0][0].note)
    replies, seconds = one.ask(numbered(10), 0.3)
    assert [reply.answer for reply in replies] == [10] and seconds > 0.4
    assert one.ask(numbered(11), 0.3)[1] < 0.3, "it is charged once"
    assert len(one.deaths) == 1


def test_loading_after_a_death_does_not_use_up_the_patience_for_an_answer(program):
    one = program(LOADS)
    one._patience_s = 0.3
    die(one)
    one.post(numbered(10))
    assert heard(one).answer == 10
    assert len(one.deaths) == 1


def die(program, waits=False):
    """Let it die, in virtual time or in real time, where another start follows at once."""
    if waits:
        program.ask(numbered(9), 20.0)
        return
    program.post(numbered(9))
    assert "exit code 4" in str(heard(program).note)
    until(lambda: program._tend() or not program._renewal)


@pytest.mark.parametrize("waits", [True, False])
def test_who_dies_on_purpose_sees_no_packet_while_it_loads(program, waits):
    """Else loading, which has two minutes, would be time to think."""
    one = program(LOADS)
    die(one, waits)
    if waits:
        assert one.ask(numbered(10), 20.0)[0][0].answer == 10
    else:
        one.post(numbered(10, 100.0))
        assert heard(one).answer == 10


def test_what_waits_for_one_that_loads_is_bounded_and_the_newest_is_kept(program, monkeypatch):
    one = program(LOADS)
    die(one)
    monkeypatch.setattr(programs, "HELD_BYTES", 4 * PACKET.nbytes)
    for number in range(10, 30):
        one.post(numbered(number, 100.0))
    replies = []
    until(lambda: replies.extend(one.replies()) or len(replies) == 20)
    assert [reply.trial for reply in replies if reply.answer == 10] == ["t26", "t27", "t28", "t29"]
    assert {str(reply.note) for reply in replies if reply.answer is None} == {"it is being started again"}
    assert len(one.deaths) == 1


@pytest.mark.parametrize("waits", [True, False])
def test_one_that_never_loads_again_is_not_waited_for(program, tmp_path, monkeypatch, waits):
    one = program(LOADS)
    (tmp_path / "bundle0" / "stuck").touch()
    die(one, waits)
    monkeypatch.setattr(programs, "READY_S", 1.0)
    monkeypatch.setattr(programs, "STARTS", 2)
    if waits:
        assert "not ready after 1 s" in str(one.ask(numbered(10), 20.0)[0][0].note)
    else:
        one.post(numbered(10))
        assert "not ready after 1 s" in str(heard(one).note)
    assert len(one.deaths) == 2
    until(one.dead)
    assert "exit code 4; it was started 2 times" in str(one.dead()), "the first reason"


def test_what_ends_a_run_of_the_pull_contract_is_told_with_its_line(program):
    one = program(PULLS.replace("if packet.finish_flag:", "raise ValueError('boo')\n        if True:"))
    reply = ask(one)
    assert reply.answer == 0  # it had reported
    assert "ValueError: boo (Algorithm/MyAlgorithm.py, line 13)" in str(ask(one).note or one.deaths[0])


@pytest.mark.parametrize("reports", [True, False])
def test_leaving_at_the_finish_is_no_trouble(program, reports):
    early = (
        PULLS
        if reports
        else PULLS.replace("report = Report()", "if packet.finish_flag: return\n        report = Report()")
    )
    one = program(early)
    decisions = played(one, packets(10))
    assert [decision.answer for decision in decisions] == [4, 9 if reports else None]
    until(lambda: list(one.replies()) or one.dead())
    assert one.deaths == [] and str(one.dead()) == "left at the finish without an answer"
    assert reports or str(decisions[-1].note) == "left at the finish without an answer"


def test_leaving_before_the_finish_or_in_disorder_is_a_death(program):
    one = program(PULLS.replace("return", "raise SystemExit(3)"))
    played(one, packets(10))
    until(lambda: list(one.replies()) or one.deaths)
    assert "exit code 3" in str(one.deaths[0])


def test_a_program_that_fetches_on_when_all_is_over_ends_quietly(program):
    one = program(PULLS.replace("if packet.finish_flag:", "if False:"))
    ask(one)
    one.close()
    assert one.output == ""
