"""Entrants of the lab streaming layer, through the real one.

liblsl reads its settings once in a process and keeps threads, so each scene is played in a process of its own, where
LSL sees this machine alone. What a scene returns is what its test looks at.
"""

import json
import os
import re
import select
import signal as signals
import subprocess
import sys
import time
import uuid
from contextlib import suppress

import msgspec
import numpy as np
import pytest

from palestra.entrants.lsl import ANSWER_BYTES, AT_ONCE, STRAYS, LslLine, read_answer
from palestra.errors import PalestraError
from palestra.live.stream import run
from palestra.records import Reply, Signal, Tick
from tests import ROOT

LIMIT_S = 120.0  # for anything that is waited for
CONFIG = """
[ports]
BasePort = {port}
MulticastPort = {beside}
IPv6 = disable
[multicast]
ResolveScope = machine
[lab]
KnownPeers = {{127.0.0.1}}
SessionID = {session}
[tuning]
ContinuousResolveInterval = 0.1
MulticastMinRTT = 0.1
UnicastMinRTT = 0.1
[log]
level = -2
"""
FORMS = {
    "float": ("Markers", 1, "float32"),
    "wide": ("Markers", 2, "string"),
    "type": ("EEG", 1, "string"),
}


@pytest.fixture
def alone(tmp_path):
    """The environment of a process whose LSL sees this machine alone, and of it this test."""
    chosen = uuid.uuid4()
    port = 20_000 + chosen.int % 5_000 * 2  # below the ports that the system gives out
    file = tmp_path / "lsl_api.cfg"
    file.write_text(CONFIG.format(port=port, beside=port - 1, session=chosen.hex))
    return os.environ | {"LSLAPICFG": str(file)}


@pytest.fixture
def play(alone):
    """Plays a scene of this module and returns what it returned."""

    def start(scene, *words):
        code = (
            f"import json, sys; from {__name__} import {scene.__name__} as play; print(json.dumps(play(*sys.argv[1:])))"
        )
        command, pipe = [sys.executable, "-c", code, *words], subprocess.PIPE
        playing = subprocess.Popen(command, cwd=ROOT, env=alone, stdout=pipe, stderr=pipe, start_new_session=True)
        try:
            said, complaints = playing.communicate(timeout=2 * LIMIT_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(playing.pid, signals.SIGKILL)  # whatever it started and did not end
        assert playing.returncode == 0, complaints.decode()
        return json.loads(said)

    return start


# What scenes are made of


def a_signal(rate_hz=250.0):
    units = ("microvolts", "microvolts", "")
    return Signal(f"cap-{uuid.uuid4().hex}", "EEG", rate_hz, ("Fp1", "Fp2", "trigger"), units, "eeg")


def packet(first, count=5):
    """Numbers that float32 holds as they are."""
    return {"eeg": np.arange(first, first + 3 * count).reshape(3, count) + 0.5}


def tick(trial=None, deadline_s=None, first=0, count=5):
    return Tick(0.0, packet(first, count), trial, deadline_s)


def outlet(name, form=("Markers", 1, "string")):
    import pylsl

    kind, count, values = form
    return pylsl.StreamOutlet(pylsl.StreamInfo(name, kind, count, 0, values, uuid.uuid4().hex))


def inlet(name):
    import pylsl

    (info,) = pylsl.resolve_byprop("name", name, timeout=LIMIT_S)
    opened = pylsl.StreamInlet(info, recover=False)
    opened.open_stream(LIMIT_S)
    return opened


def ready(signal, **options):
    """A line, somebody who listens to all of it, and that one's stream of answers."""
    line = LslLine("team", signal, **options)
    ears = inlet(signal.name), inlet(f"{signal.name}-asks")
    mouth = outlet(f"{signal.name}-answers")
    line.require_ready(LIMIT_S)
    assert mouth.wait_for_consumers(LIMIT_S)
    return line, *ears, mouth


def wait_a_little():
    select.select([], [], [], 0.002)


def looks():
    """As many looks at something as are worth it."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        yield
        wait_a_little()
    raise TimeoutError(f"waited {LIMIT_S:g} s")


def hear(line, count=1):
    """The next replies, however long they take."""
    heard = []
    for _ in looks():
        heard += [[reply.trial, reply.answer, str(reply.note)] for reply in line.replies()]
        if len(heard) >= count:
            break
    return heard


# What goes out


def scene_of_what_goes_out():
    signal, now = a_signal(), iter([1000.0, 1000.25, 1000.5])
    line, samples, asks, _ = ready(signal, now=lambda: next(now))
    line.post(tick(first=0))
    line.post(tick("t1", 0.5, first=100))
    line.post(tick("t2", None, first=200, count=2))
    values, times = zip(*(samples.pull_sample(LIMIT_S) for _ in range(12)), strict=True)
    info = samples.info(LIMIT_S)
    return {
        "name": info.name() == signal.name,
        "stream": [info.type(), info.nominal_srate(), info.channel_count(), info.channel_format()],
        "channels": [info.get_channel_labels(), info.get_channel_units(), info.get_channel_types()],
        "manufacturer": info.desc().child("acquisition").child_value("manufacturer"),
        "sources": [info.source_id(), asks.info(LIMIT_S).source_id()],
        "values": np.transpose(values).tolist(),
        "times": times,
        "asks": [asks.pull_sample(LIMIT_S) for _ in range(2)],
        "asks_type": asks.info(LIMIT_S).type(),
    }


def test_names_units_rate_samples_and_asks_arrive_exactly(play):
    seen = play(scene_of_what_goes_out)
    assert seen["name"]
    assert seen["stream"] == ["EEG", 250.0, 3, 1], "float32 is the format 1"
    assert seen["channels"] == [
        ["Fp1", "Fp2", "trigger"],
        ["microvolts", "microvolts", "none"],
        ["EEG", "EEG", "stim"],
    ]
    assert seen["manufacturer"] == "Palestra"
    sent = [packet(0), packet(100), packet(200, count=2)]
    assert seen["values"] == np.hstack([one["eeg"] for one in sent]).tolist()
    ages_s = np.arange(4, -1, -1) / 250
    assert seen["times"] == [*(1000.0 - ages_s), *(1000.25 - ages_s), *(1000.5 - ages_s[-2:])]
    assert [(json.loads(ask), at) for (ask,), at in seen["asks"]] == [
        ({"trial": "t1", "deadline_s": 0.5}, 1000.25),
        ({"trial": "t2", "deadline_s": None}, 1000.5),
    ]
    assert seen["asks_type"] == "Markers"
    assert len(set(seen["sources"])) == 2 and "" not in seen["sources"]


def scene_of_two_runs():
    return [LslLine("team", a_signal())._samples.get_info().source_id() for _ in range(2)]


def test_each_run_is_a_source_of_its_own(play):
    first, second = play(scene_of_two_runs)
    assert first != second


# What comes back


def scene_of_answers(*said):
    line, _, _, mouth = ready(a_signal())
    line.post(tick("t1", LIMIT_S))
    line.post(tick("t2", LIMIT_S))
    for one in said:
        mouth.push_sample([one])
    return hear(line, len(said))


def test_an_answer_that_names_its_trial_goes_to_it(play):
    assert play(scene_of_answers, '{"trial": "t1", "answer": 3}') == [["t1", 3, ""]]


def test_a_bare_answer_goes_to_the_newest_trial_that_is_open(play):
    heard = play(scene_of_answers, "3", "[1, 2.5]", "5")
    assert heard == [["t2", 3, ""], ["t1", [1.0, 2.5], ""], ["", 5, "it came when nothing was asked"]]


def test_garbage_is_noted(play):
    (found,) = play(scene_of_answers, "happy")
    assert found[:2] == ["t2", None]
    assert "'happy'" in found[2] and "a number" in found[2]


def scene_of_bytes():
    line, _, _, mouth = ready(a_signal())
    line.post(tick("t1", LIMIT_S))
    mouth.push_sample([b"\xff\x00\xfe"])
    return hear(line)


def test_what_is_no_text_is_noted(play):
    ((trial, answer, note),) = play(scene_of_bytes)
    assert (trial, answer) == ("t1", None)
    assert note.startswith("sent")


def scene_of_deadlines():
    now = [1000.0]
    line, _, _, mouth = ready(a_signal(), now=lambda: now[0], patience_s=10.0)
    line.post(tick("short", 0.5))
    line.post(tick("long", 2.0))
    line.post(tick("waited for"))
    now[0] = 1001.0
    mouth.push_sample(["1"])
    mouth.push_sample(["2"])
    mouth.push_sample(["3"])
    heard = hear(line, 3)
    line.post(tick("again"))
    now[0] = 1011.5
    return heard + hear(line)


def test_a_bare_answer_never_goes_to_what_is_past_its_deadline_and_patience_ends(play):
    assert play(scene_of_deadlines) == [
        ["waited for", 1, ""],
        ["long", 2, ""],
        ["", 3, "it came when nothing was asked"],
        ["again", None, "no answer within 10 s"],
    ]


def scene_of_a_flood():
    line, _, _, mouth = ready(a_signal())
    told = 0
    for _ in looks():
        for _ in range(AT_ONCE // 2):
            mouth.push_sample(['{"trial": "t0", "answer": 7}'])
        told += len(list(line.replies()))
        if line.strays > STRAYS:
            break
    line.post(tick("t1", LIMIT_S))
    mouth.push_sample(['{"trial": "t1", "answer": 3}'])
    return told, hear(line)


def test_a_flood_is_counted_and_the_answers_in_it_are_heard(play):
    told, heard = play(scene_of_a_flood)
    assert told == STRAYS
    assert heard == [["t1", 3, ""]]


@pytest.mark.parametrize("said", ["3", " 3\n", '{"answer": 3, "trial": "t"}'])
def test_numbers_are_read(said):
    assert read_answer(said.encode()).answer == 3


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ('"yes"', "yes"),
        ("true", True),
        ('["left", 2, false]', ["left", 2, False]),
        ('{"trial": "t", "answer": "no"}', "no"),
    ],
)
def test_texts_and_booleans_are_read(said, answer):
    assert read_answer(said.encode()).answer == answer


@pytest.mark.parametrize(
    "said",
    [
        *(b"", b"happy", b"null", b"[null]", b"NaN", b"1e999", b"1" + b"0" * 40, b"[[1]]", b"\xff", b'"\xff"'),
        *(b'{"trial": "t", "answer": ' + b"[" * 4000, b'{"trial": "\xff", "answer": 3}'),
        *(b"[" * 4000, b'{"answer": 3}', b'{"trial": 3, "answer": 3}', b'{"trial": "t", "answer": 3, "more": 1}'),
    ],
)
def test_what_is_no_answer_is_said_to_be_none(said):
    reply = read_answer(said)
    assert (reply.trial, reply.answer) == ("", None)
    assert "expected a number" in str(reply.note) and len(str(reply.note)) < 200


def test_a_bad_answer_is_charged_to_the_trial_that_it_names():
    reply = read_answer(b'{"trial": "t", "answer": {"happy": 1}}')
    assert (reply.trial, reply.answer) == ("t", None)
    assert "happy" in str(reply.note)


def test_an_answer_has_a_size_limit():
    assert read_answer(b" " * (ANSWER_BYTES - 1) + b"3") == Reply("", 3)
    assert "expected at most 4096" in str(read_answer(b" " * ANSWER_BYTES + b"3").note)


# Whether somebody is there


def scene_of_nobody():
    try:
        LslLine("team", a_signal()).require_ready(0.0)
    except PalestraError as error:
        return str(error)


def test_when_nobody_comes_it_is_said_what_was_waited_for_and_what_to_do(play):
    said = play(scene_of_nobody)
    assert re.match(
        r"team: not ready after 0 s: nobody has connected to the stream 'cap-\w+'; there is no stream", said
    )
    assert "Start the program in the same network" in said and "docs/lsl.md" in said


def refusal(line, about):
    """What the line says of a stream of answers once it has found it."""
    for _ in looks():
        with pytest.raises(PalestraError) as refused:
            line.require_ready(0.0)
        if about in str(refused.value):
            break
    return str(refused.value)


def scene_of_a_wrong_stream(form):
    signal = a_signal()
    line, _ears = LslLine("team", signal), outlet(f"{signal.name}-answers", FORMS[form])
    return refusal(line, "has the type")


@pytest.mark.parametrize(
    ("form", "found"),
    [
        ("float", "has the type 'Markers' and 1 channel of float32"),
        ("wide", "has the type 'Markers' and 2 channels of string"),
        ("type", "has the type 'EEG' and 1 channel of string"),
    ],
)
def test_a_stream_of_answers_that_is_none_is_refused_in_words(play, form, found):
    assert found in play(scene_of_a_wrong_stream, form)


def scene_of_two_mouths():
    signal = a_signal()
    line, _mouths = LslLine("team", signal), [outlet(f"{signal.name}-answers") for _ in range(2)]
    return refusal(line, "2 streams")


def test_two_streams_of_answers_are_one_too_many(play):
    assert "2 streams are named" in play(scene_of_two_mouths)


def scene_of_a_new_start():
    signal = a_signal()
    line, _, _, mouth = ready(signal)
    line.post(tick("t1", LIMIT_S))
    mouth.push_sample(["1"])
    heard = hear(line)
    del mouth
    mouth = outlet(f"{signal.name}-answers")  # another source, as a program has that is started again
    for _ in looks():
        list(line.replies())
        if mouth.have_consumers():
            break
    line.post(tick("t2", LIMIT_S))
    mouth.push_sample(["2"])
    return heard + hear(line)


def test_a_program_that_is_started_again_is_found_again(play):
    assert play(scene_of_a_new_start) == [["t1", 1, ""], ["t2", 2, ""]]


def mute(name):
    """Publishes answers and says nothing."""
    _mouth = outlet(name)
    print("here", flush=True)
    sys.stdin.read()


def scene_of_a_machine_that_vanishes():
    signal = a_signal()
    line, _ears = LslLine("team", signal), inlet(signal.name)
    code = f"from {__name__} import mute; mute({f'{signal.name}-answers'!r})"
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    other.stdout.readline()
    line.require_ready(LIMIT_S)
    other.send_signal(signals.SIGSTOP)  # its connection stays, and it answers nothing, as without power
    mouth = outlet(f"{signal.name}-answers")
    for _ in looks():
        line.post(tick("t1", LIMIT_S))
        list(line.replies())
        if mouth.have_consumers():
            break
    mouth.push_sample(["2"])
    other.kill()
    return hear(line)


@pytest.mark.slow
def test_a_machine_that_vanishes_without_a_word_is_replaced_by_another(play):
    assert play(scene_of_a_machine_that_vanishes) == [["t1", 2, ""]]


def scene_of_the_end():
    line, samples, _, _ = ready(a_signal())
    before = str(line.dead())
    line.close()
    line.close()
    line.post(tick("t1", LIMIT_S))
    try:
        samples.pull_sample(LIMIT_S)
    except RuntimeError as error:
        return before, str(line.dead()), list(line.replies()), line.fileno(), type(error).__name__


def test_closing_ends_the_streams(play):
    assert play(scene_of_the_end) == ["", "the line is closed", [], -1, "LostError"]


def test_without_pylsl_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pylsl", None)
    with pytest.raises(PalestraError, match=re.escape("pip install 'palestra[lsl]'")):
        LslLine("team", a_signal())


def test_pylsl_is_not_loaded_before_it_is_needed():
    code = "import sys, palestra.entrants.lsl; print('pylsl' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stdout == "False\n"


# A whole run


class RealClock:
    def now(self):
        return time.monotonic()

    heard = now

    def wait(self, until, lines):
        wait_a_little()


class Kept:
    """A log that keeps what was decided."""

    def __init__(self):
        self.decisions, self.strays = [], []

    def sent(self, tick, at_s):
        pass

    def decided(self, decision):
        self.decisions.append(decision)

    def strayed(self, entrant, reply, at_s):
        self.strays.append(reply)


LOUD = [4, 0, 7, 2]  # which of 8 channels is, before each ask


def a_run():
    """Packets of 10 ms; every fifth is decided on, and each time the loudest channel is louder than ever before."""
    for number in range(5 * len(LOUD)):
        part, last = divmod(number, 5)
        samples = np.ones((8, 10))
        samples[LOUD[part], ::2] = 10.0 ** (part + 1)
        yield Tick(number / 100, {"eeg": samples}, f"t{part}" if last == 4 else None)


def scene_of_a_run(program):
    signal = Signal(f"cap-{uuid.uuid4().hex}", "EEG", 1000.0, tuple("abcdefgh"), ("microvolts",) * 8, "eeg")
    line, log = LslLine("team", signal, patience_s=LIMIT_S), Kept()
    entrant = subprocess.Popen([sys.executable, program, signal.name], stdout=subprocess.PIPE, text=True)
    line.require_ready(LIMIT_S)
    run(a_run(), [line], RealClock(), log)
    line.close()
    said, _ = entrant.communicate(timeout=LIMIT_S)
    return msgspec.to_builtins(log.decisions), len(log.strays), said, entrant.returncode


def test_the_example_in_the_docs_plays_a_whole_run(play, tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "lsl.md").read_text(), re.DOTALL)
    assert len(example.splitlines()) <= 32
    program = tmp_path / "mine.py"
    program.write_text(example)
    decisions, strays, said, code = play(scene_of_a_run, str(program))
    assert [(one["trial"], one["answer"], one["note"]) for one in decisions] == [
        (f"t{part}", loud, "") for part, loud in enumerate(LOUD)
    ]
    assert all(one["answered_s"] >= one["sent_s"] >= one["due_s"] for one in decisions)
    assert (strays, said, code) == (0, "The stream has ended.\n", 0)
