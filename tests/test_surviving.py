"""Hostile entrants in whole runs: the run ends, others are untouched, the rules are charged, the organiser sees why."""

import re
import secrets
import zlib
from pathlib import Path

import pytest

from palestra.entrants import program as programs
from palestra.errors import PalestraError
from palestra.live import run, summary_lines
from tests.live import hall
from tests.live.hall import at, program

TRIAL = "person1/009"  # what is decided on packet 9, at which everybody here does what they do

# A program can speak for itself: these are our own frames, and bytes that are none.
RAW = """
import msgspec
FD = int(os.environ["PALESTRA_FD"])
def say(kind, number, arrays=(), body=b"", **data):
    head = msgspec.msgpack.encode(dict(kind=kind, number=number, data=data, arrays=list(arrays)))
    os.write(FD, struct.pack("<II", 4 + len(head) + len(body), len(head)) + head + body)
SOME = 3000 * (struct.pack("<II", 15, 11) + msgspec.msgpack.encode(dict(kind="done")))
"""

DAEMON = """
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(1000)", WORD])
        os._exit(0)
    os.wait()
"""

# What it does, at packet 9; what the recording says of that decision (nothing where the answer counts); whether its
# program is ended by it, and begun again.
DEEDS = {
    "raises": ("raise ValueError('boo')", r"^ValueError: boo$", False),
    "raises what is no text": (
        "raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})()", r"^Odd$", False,
    ),
    "raises at great length": ("raise ValueError('\\x1b[2J' + 'x' * 100_000)", r"^ValueError: \[2Jx{150,200}$", False),
    "leaves by an exception": ("raise SystemExit(7)", r"exit code 7", True),
    "exits": ("os._exit(4)", r"^ended by itself with exit code 4$", True),
    "crashes": ("import ctypes; ctypes.string_at(0)", r"SIGSEGV: a bad memory access", True),
    "kills itself": ("os.kill(os.getpid(), 9)", r"SIGKILL", True),
    "kills its parent, and all that it sees": (
        "for pid in (os.getppid(), 1, -1):\n    try: os.kill(pid, 9)\n    except OSError: pass", r"^$|SIGKILL", None,
    ),
    "wants 50 GB": ("np.ones(50 << 27)", r"536.9 MB of memory|MemoryError|array", None),
    "fills the disk": (
        "for number in range(10_000):\n    with open(f'/tmp/{number}', 'wb') as file: file.write(bytes(1 << 16))",
        r"No space left|temporary files", None,
    ),
    "floods what it prints": ("for _ in range(500): print('x' * 10_000)", r"^$", False),
    "opens sockets": ("socket.socket(socket.AF_INET)", r"^PermissionError", False),
    "leaves daemons": (DAEMON, r"^$", False),
    "answers a numpy scalar": ("answer = np.int64(answer)", r"^$", False),
    "answers a bool": ("answer = True", r"^returned True, expected a whole number from 0 to 8$", False),
    "answers a text": ("answer = str(answer)", r"^returned '[0-8]', expected a whole number from 0 to 8$", False),
    "answers NaN": ("answer = float('nan')", r"^returned nan, expected a whole number from 0 to 8$", False),
    "answers an array": ("answer = np.array([1, 2])", r"^returned \[1, 2\], expected a whole number", False),
    "answers an array of everything": ("answer = np.zeros((99, 99))", r"^returned an array of float64 with", False),
    "answers an object that bites": (
        "answer = type('Bites', (), {'__index__': lambda self: os._exit(1), '__repr__': lambda self: os._exit(1)})()",
        r"^returned Bites, expected a number, a text, a boolean or a list of these$", False,
    ),
    "answers a number out of range": ("answer = 9", r"^returned 9, expected a whole number from 0 to 8$", False),
    "says 4 GB come": ("os.write(FD, b'\\xff' * 4)", r"cannot be read: A frame of 4,294,967,295 bytes", True),
    "says what is no msgpack": (
        "os.write(FD, struct.pack('<II', 9, 5) + b'\\xc1' * 5)", r"cannot be read: The header is not", True,
    ),
    "says what is no header": ("os.write(FD, struct.pack('<II', 5, 1) + b'\\x90')", r"The header is not", True),
    "says a dtype that is not taken": (
        "say('done', 10, arrays=[dict(dtype='|O', shape=[1])], body=bytes(8), answer=1)", r"The dtype '\|O'", True,
    ),
    "says a shape that is not so": (
        "say('done', 10, arrays=[dict(dtype='<f8', shape=[3])], body=bytes(8), answer=1)",
        r"The arrays announced have 24 bytes; the frame has 8", True,
    ),
    "says a shape that cannot be": (
        "say('done', 10, arrays=[dict(dtype='<f8', shape=[-1])], answer=1)", r"The shape \(-1,\)", True,
    ),
    "answers with a map of lists": ("say('done', 10, answer={'a': [[1]]})", r"^returned \{'a': \[\[1\]\]\}, ", False),
    "answers with a long list": ("say('done', 10, answer=[0.5] * 3000)", r"^returned .*, expected a whole", False),
    "answers with lists in lists": (
        "deep = []\nfor _ in range(900): deep = [deep]\nsay('done', 10, answer=deep)", r"^returned .*, |^killed", None,
    ),
    "notes at great length": (
        "say('done', 10, note='\\x1b[2J' + 'x' * 60_000)", r"^\[2Jx{150,200}$", False,
    ),
    "notes what is no text": ("say('done', 10, note=[1])", r"nonsense", False),
    "answers twice": ("say('done', 10, answer=answer); answer = (answer + 1) % 9", r"^$", False),
    "answers other packets": (
        "say('done', 5, answer=0); say('done', 9, answer=0); say('done', -3, answer=0); say('done', 1 << 60, answer=0)",
        r"^$", False,
    ),
    "answers what is to come": ("[say('done', n, answer=(n + 1) % 9) for n in range(11, 41)]", r"^$", False),
    "closes its socket": ("os.close(FD); time.sleep(1000)", r"^killed: it closed its socket$", True),
    "never stops talking": ("while True: os.write(FD, SOME)", r"^killed: it says more than it is asked$", True),
    "never stops being ready": ("while True: say('ready', 0)", r"^killed: it says more than it is asked$", True),
    "says that it is refused": ("say('refused', 0, note='no more')", r"^no more$", True),
    "says something unheard of": ("say('truth?', 0)", r"^$", False),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _prepare(monkeypatch):
    hall.prepare(monkeypatch)


@pytest.fixture
def data(tmp_path):
    return write_data(tmp_path / "data")


def write_data(folder, **changes):
    from ticking_v1 import write_data

    return write_data(folder, **changes)


def play(tmp_path: Path, data: Path, text: str, **changes: object) -> hall.Ran:
    """A run of one that is good and one that is not."""
    bundles = {
        "good": hall.write_bundle(tmp_path / "good", program()),
        "evil": hall.write_bundle(tmp_path / "evil", text),
    }
    return hall.play(data, tmp_path / "run", bundles, **changes)


def require_untouched(ran: hall.Ran, name: str = "good") -> None:
    """Everything was answered, rightly, in time, and by one program."""
    assert ran.unanswered(name) == {}
    assert ran.accuracy(name) == 1.0 and len(ran.decisions(name)) == 8
    assert ran.deaths(name) == [] and ran.strays(name) == []


@pytest.mark.parametrize("deed", DEEDS)
def test_a_deed_costs_one_decision_at_most_and_touches_nobody(tmp_path, data, deed):
    lines, note, dies = DEEDS[deed]
    word = secrets.token_hex(8)
    ran = play(tmp_path, data, program(top=f"{RAW}\nWORD = {word!r}\n", answer=at(9, lines)))
    require_untouched(ran)
    unanswered = ran.unanswered("evil")
    assert set(unanswered) <= {TRIAL}
    assert re.search(note, unanswered.get(TRIAL, "")), unanswered
    assert ran.accuracy("evil") == (7 / 8 if unanswered else 1.0)
    assert len(ran.deaths("evil")) == dies if dies is not None else len(ran.deaths("evil")) <= 1
    assert ran.played.scored["evil"].result.valid, "what an entrant does to itself spoils no run"
    assert len(ran.output("evil")) < 20_000
    assert hall.gone(word)
    ran.require_same_again()


@pytest.mark.parametrize(
    ("place", "deed"),
    [
        ("answer", "time.sleep(1000)"),
        ("take", "time.sleep(1000)"),
        ("answer", "import signal\nfor n in (2, 15, 1): signal.signal(n, signal.SIG_IGN)\ntime.sleep(1000)"),
        ("answer", "while True:\n    try: os.fork()\n    except OSError: pass"),
    ],
    ids=["in algorithm", "in get_data", "ignoring SIGTERM", "forking without end"],
)
def test_one_that_goes_on_for_ever_is_ended_and_begun_again(tmp_path, monkeypatch, place, deed):
    monkeypatch.setattr(run, "STUCK_S", 1.0)
    monkeypatch.setattr(run, "STUCK_DEADLINES", 1)
    data = write_data(tmp_path / "data", short_s=1.0)
    ran = play(tmp_path, data, program(**{place: at(9, deed)}))
    require_untouched(ran)
    assert ran.unanswered("evil") == {TRIAL: "no answer in time"}
    assert ran.deaths("evil") == ["killed: it took longer than 1 s over one packet"]
    assert ran.accuracy("evil") == 7 / 8
    ran.require_same_again()


def test_an_answer_that_comes_late_is_dropped_and_told(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "STUCK_DEADLINES", 100)
    data = write_data(tmp_path / "data", short_s=1.0)
    ran = play(tmp_path, data, program(answer=at(9, "time.sleep(1.2)")))
    require_untouched(ran)
    assert ran.unanswered("evil") == {TRIAL: "no answer in time"}
    assert ran.strays("evil") == [TRIAL] and ran.deaths("evil") == []
    assert ran.accuracy("evil") == 7 / 8


@pytest.mark.parametrize("deed", ["answers twice", "answers other packets", "answers what is to come"])
def test_what_answers_nothing_that_is_open_is_recorded(tmp_path, data, deed):
    ran = play(tmp_path, data, program(top=RAW, answer=at(9, DEEDS[deed][0])))
    expected = {
        "answers twice": [10],
        "answers other packets": [5, 9, -3, 1 << 60],
        "answers what is to come": list(range(11, 41)),
    }[deed]
    assert ran.strays("evil") == [f"(packet {number})" for number in expected]


def test_one_that_cannot_be_loaded_is_refused_and_the_others_play(tmp_path, monkeypatch, data):
    monkeypatch.setattr(run, "READY_S", 0.3)
    monkeypatch.setattr(run, "LEAST_READY_S", 0.3)
    bundle = hall.write_bundle(tmp_path / "evil", program(top="time.sleep(1000)"))
    ran = hall.play(data, tmp_path / "run", {"evil": bundle}, more=[hall.light("good", hall.good)])
    require_untouched(ran)
    assert {name: str(why) for name, why in ran.played.refused.items()} == {
        "evil": "evil: not ready after 0.3 s. Loading must not take longer."
    }
    assert [who.name for who in ran.played.recording.head.entrants] == ["good"]


@pytest.mark.parametrize(
    ("deeds", "message"),
    [
        ({"make": "raise OSError('no weights')"}, r"^evil: OSError: no weights \(Algorithm/MyAlg.*, line \d+\)$"),
        ({"top": f"{RAW}\nsay('refused', 0, note='\\x1b[2J' + 'x' * 60_000)"}, r"^evil: \[2Jx{190,200}$"),
        ({"top": f"{RAW}\nsay('done', 1, answer=1)"}, r"^evil: said something else than ready$"),
        ({"top": f"{RAW}\nos.write(FD, b'x' * 99)\ntime.sleep(1000)"}, r"^evil: said what cannot be read"),
        ({"top": "os.close(int(os.environ['PALESTRA_FD']))\nos._exit(3)"}, r"ended by itself with exit code 3$"),
    ],
    ids=["raises", "refuses in its own words", "answers first", "talks nonsense", "closes its socket"],
)
def test_one_alone_that_cannot_be_loaded_is_an_error_in_words(tmp_path, data, deeds, message):
    bundle = hall.write_bundle(tmp_path / "evil", program(**deeds))
    with pytest.raises(PalestraError, match=message):
        hall.play(data, tmp_path / "run", {"evil": bundle})
    assert not (tmp_path / "run").exists()


def test_one_that_dies_too_often_stays_dead_and_is_charged_for_the_rest(tmp_path, data, monkeypatch):
    monkeypatch.setattr(programs, "STARTS", 2)
    ran = play(tmp_path, data, program(answer="os._exit(4)"))
    require_untouched(ran)
    assert ran.accuracy("evil") == 0.0 and ran.deaths("evil") == ["ended by itself with exit code 4"] * 2
    notes = list(ran.unanswered("evil").values())
    assert notes[0] == "ended by itself with exit code 4" and len(notes) == 8
    assert notes[2:] == ["ended by itself with exit code 4; it was started 2 times, and no more"] * 6
    ran.require_same_again()


def test_one_that_takes_long_to_load_and_dies_once_loses_one_decision(tmp_path, monkeypatch, data):
    """Loading again takes longer than one packet may."""
    monkeypatch.setattr(run, "STUCK_S", 1.0)
    monkeypatch.setattr(run, "STUCK_DEADLINES", 0)
    ran = play(tmp_path, data, program(make="time.sleep(1.5)", answer=at(9, "os._exit(4)")))
    require_untouched(ran)
    assert ran.unanswered("evil") == {TRIAL: "ended by itself with exit code 4"}
    assert ran.deaths("evil") == ["ended by itself with exit code 4"]


PULLS = """
class MyAlgorithm:
    def set_task(self, task): self.task = task
    def run(self):
        while not self.task.get_data().finish_flag: pass
"""


@pytest.mark.parametrize(
    ("deadline_s", "note"), [(30.0, "no answer in time"), (None, "took the next packet without an answer")]
)
def test_one_that_never_answers_earns_nothing(tmp_path, deadline_s, note):
    ran = play(tmp_path, write_data(tmp_path / "data", deadline_s=deadline_s), PULLS)
    require_untouched(ran)
    assert list(ran.unanswered("evil").values()) == [note] * 7 + ["left at the finish without an answer"]
    assert ran.deaths("evil") == [] and ran.accuracy("evil") == 0.0
    assert (
        "0 of 8 answered, 8 missed (0 of them answered late), never reported an answer"
        in summary_lines(ran.played, "evil")[0]
    )
    ran.require_same_again()


def test_what_one_writes_into_a_packet_reaches_nobody(tmp_path, data):
    ran = play(tmp_path, data, program(take="x[:] = 99\nx.shape = (-1,)"))
    require_untouched(ran)
    require_untouched(ran, "evil")
    sent = [tick for sitting in hall.ticking().stream.sittings(data) for tick in sitting.ticks()]
    checksums = [zlib.crc32(tick.payload["x"].data) for tick in sent]
    assert [record.checksum for record in ran.played.recording.ticks()] == checksums


SEARCH = """
found = []
for place in PLACES:
    try:
        found.append(str(os.listdir(place)) if os.path.isdir(place) else open(place).read())
    except OSError:
        pass
texts = [*found, str(os.environ), open("/proc/self/environ").read(), open("/proc/self/mountinfo").read()]
raise RuntimeError(f"{len(found)} places, {sum(SECRET in text for text in texts)} with the secret")
"""


def test_the_host_the_data_and_the_environment_are_out_of_sight(tmp_path, data, monkeypatch):
    secret = secrets.token_hex(8)
    monkeypatch.setenv("PALESTRA_SECRET", secret)
    (data / "truth" / "secret").write_text(secret)
    (tmp_path / "run").mkdir()
    own = Path("/proc/self").resolve()
    places = [
        data,
        data / "truth",
        data / "truth" / "labels.csv",
        data / "truth" / "secret",
        tmp_path,
        tmp_path / "run",
    ]
    places += [own / name for name in ("environ", "cmdline", "maps", "cwd", "root", "fd")]
    top = f"PLACES, SECRET = {[str(place) for place in places]}, {secret[:8]!r} + {secret[8:]!r}"
    ran = play(tmp_path, data, program(top=top, answer=at(9, SEARCH)))
    require_untouched(ran)
    assert ran.unanswered("evil") == {TRIAL: "RuntimeError: 0 places, 0 with the secret"}


def test_of_fifteen_that_play_in_real_time_one_that_stalls_touches_no_other(tmp_path):
    """Packets are so large that the one who takes none has them queue; another talks without end meanwhile."""
    # Who answers at once has time enough on a machine that is busy with other things.
    data = write_data(tmp_path / "data", sittings=1, ticks=40, every_s=0.005, deadline_s=10.0, cells=8000)
    entries = [hall.light(f"team{number}", hall.good) for number in range(13)]
    entries[7:7] = [hall.light("stalls", hall.silent), hall.light("floods", hall.flooding)]
    ran = hall.play(data, tmp_path / "run", {}, pace="real", more=entries)
    for number in range(13):
        require_untouched(ran, f"team{number}")
    assert set(ran.unanswered("stalls").values()) == {"no answer in time"} and ran.accuracy("stalls") == 0.0
    assert set(ran.deaths("floods")) == {"killed: it says more than it is asked"} and ran.accuracy("floods") == 0.0
    assert [record.trial for record in ran.played.recording.ticks() if record.trial] == list(
        ran.played.scored["stalls"].rows["trial"]
    )


@pytest.mark.slow
def test_of_six_programs_in_real_time_those_that_misbehave_touch_no_other(tmp_path):
    data = write_data(tmp_path / "data", sittings=1, ticks=40, every_s=0.03, deadline_s=3.0)
    evil = {
        "sleeps": "time.sleep(1000)",
        "crashes": "import ctypes; ctypes.string_at(0)",
        "prints": "while True: print('x' * 9999)",
    }
    texts = {f"team{number}": program() for number in range(3)}
    texts |= {name: program(answer=at(9, deed)) for name, deed in evil.items()}
    bundles = {name: hall.write_bundle(tmp_path / name, text) for name, text in texts.items()}
    ran = hall.play(data, tmp_path / "run", bundles, pace="real")
    for number in range(3):
        require_untouched(ran, f"team{number}")
    for name in evil:
        assert TRIAL in ran.unanswered(name)
    assert "SIGSEGV" in ran.deaths("crashes")[0]
    assert ran.deaths("sleeps") == ran.deaths("prints") == [], "a deadline that passes is its own affair"
