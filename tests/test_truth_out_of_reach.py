"""What was shown to a person cannot be found out but from the EEG: not in what is sent, told, or lies about.

Recordings differ in their hidden triggers alone. Whatever a program gets to see must then be the same, byte by byte;
and one that searches everything in its reach finds nothing of the data set.
"""

import json
import secrets
import time
from contextlib import ExitStack

import numpy as np
import pytest

from palestra import registry
from palestra.entrants import open
from palestra.entrants.open import Called, Terms
from palestra.entrants.socket_frames import Header, Receiver, send
from palestra.live import answers_of, read_live_data, run
from palestra.live.recording import Recording
from palestra.live.run import Play
from palestra.tracks.emotion_eeg import format as eeg
from palestra.tracks.emotion_eeg.experiment import EMOTIONS, Event
from tests.live import hall

RULES = ("final", "preliminary")
SAMPLES = 4000
SEEN = [Event(10, 250), Event(140, 242), Event(3020, 243), Event(3530, 251)]
# Video numbers and where they begin and end, twice: other videos, at other times, of another length, in another number.
SHOWN = {
    "anger, then joy": [(1, 410, 1660), (22, 1800, 2800)],
    "disgust, then tenderness": [(4, 410, 1660), (26, 1800, 2800)],
    "fear, three times": [(7, 300, 1200), (8, 1300, 2100), (9, 2200, 3000)],
}


def track(rule="final"):
    return registry.track("emotion-eeg-v1", {"rule": rule})


def write_data(folder, shown, people=("sub081", "sub082")):
    """A small data set. Its EEG is the same whatever was shown."""
    rng = np.random.default_rng(5)
    for person in people:
        array = rng.normal(0, 20, (33, SAMPLES)).astype(np.float32)
        array[-1] = 0
        for sample, code in SEEN:
            array[-1, sample] = code
        for number, start, stop in shown:
            array[-1, [start - 25, start, stop]] = number, 240, 241
        eeg.write_recording(array, folder / "test" / f"{person}.pkl", np.float32)
    return folder


@pytest.fixture
def data_sets(tmp_path):
    return [write_data(tmp_path / str(number), shown) for number, shown in enumerate(SHOWN.values())]


def all_alike(things):
    first, *others = things
    return all(other == first for other in others)


def test_the_recordings_differ_in_what_is_right(data_sets):
    """Else nothing below would mean anything."""
    truths = [track().truth(data)["truth_label"].to_list() for data in data_sets]
    assert all(truths) and len({str(truth) for truth in truths}) == len(SHOWN)


@pytest.mark.parametrize("rule", RULES)
def test_what_is_sent_and_when_is_the_same_whatever_was_shown(data_sets, rule):
    def sent(data):
        return [
            (sitting.name, sitting.count, sitting.decisions, sitting.seconds, sitting.window_s)
            + (tick.due_s, tick.trial, tick.deadline_s, dict(tick.about))
            + tuple((name, array.dtype.str, array.shape, array.tobytes()) for name, array in tick.payload.items())
            for sitting in track(rule).stream.sittings(data)
            for tick in sitting.ticks()
        ]

    assert len(sent(data_sets[0])) == 2 * 71
    assert all_alike(sent(data) for data in data_sets)


def test_what_contestants_may_know_of_the_trials_is_the_same_whatever_was_shown(data_sets):
    assert all_alike(track().trials(data).rows() for data in data_sets)
    assert all_alike(track().blank(track().trials(data)).rows() for data in data_sets)
    assert all_alike(track().stream.signal(data) for data in data_sets)


def test_the_trigger_row_has_four_codes_and_no_other(data_sets):
    for data in data_sets:
        for sitting in track().stream.sittings(data):
            row = np.concatenate([tick.payload["packet"][-1] for tick in sitting.ticks()])
            assert [Event(10 + int(at), int(row[at])) for at in np.flatnonzero(row)] == SEEN


def play(data, folder, entries, rule="final"):
    return hall.Ran(run.play(read_live_data(track(rule), data), entries, Play("fast", watched=False), folder), folder)


@pytest.mark.parametrize("rule", RULES)
def test_what_goes_over_the_socket_is_the_same_whatever_was_shown(data_sets, tmp_path, rule):
    """Every byte that reaches a program, and in which order: the answers are taken as any others."""
    heard = []

    def talk(sock):
        receiver, said = Receiver(sock), []
        heard.append(said)
        send(sock, Header("ready"))
        try:
            while True:
                frame = receiver.receive()
                said.append((frame.header, [array.tobytes() for array in frame.arrays]))
                send(sock, Header("done", frame.header.number, {"answer": 4} if frame.header.data["ask"] else {}))
        except (EOFError, OSError):
            pass

    for number, data in enumerate(data_sets):
        play(data, tmp_path / f"run{number}", [hall.light("listens", talk)], rule)
    assert len(heard) == len(SHOWN) and len(heard[0]) == 2 * 71
    assert all_alike(heard)
    assert {key for header, _ in heard[0] for key in header.data} == {"ask", "about", "names"}
    assert {key for header, _ in heard[0] for key in header.data["about"]} == {"person", "start", "last"}


# Answers of every kind, and errors: what comes of them is told to the contestant.
SAYS = """
import numpy as np
class MyAlgorithm:
    def __init__(self):
        self.asked = 0
    def get_data(self, packet):
        self.packet = packet
    def algorithm(self):
        self.asked += 1
        kinds = [4, -1, 9, True, "joy", None, float("nan"), [1, 2], np.array([[1]]), 10**30, lambda: 1 / 0]
        value = kinds[self.asked % len(kinds)]
        print("second", self.asked, value if not callable(value) else "")
        return value() if callable(value) else value
"""


def test_what_a_contestant_is_told_is_the_same_whatever_was_shown(data_sets, tmp_path):
    hall.require_sandbox()
    bundle = hall.write_bundle(tmp_path / "says", SAYS)
    told = []
    for number, data in enumerate(data_sets):
        with ExitStack() as stack:
            entry = open.open_entry(Called("says", str(bundle)), {}, Terms(hall.SMALL, 60.0), stack)
            ran = play(data, tmp_path / f"run{number}", [entry])
        decisions = [(one.trial, str(one.answer), one.note) for one in ran.decisions("says")]
        notes = answers_of(track(), track().trials(data), ran.played.heard["says"])["note"].to_list()
        told.append((decisions, notes, ran.output("says"), ran.deaths("says"), ran.strays("says")))
    assert all_alike(told)
    decisions, notes, output, *_ = told[0]
    assert len(decisions) == 2 * 11 and len(set(notes)) >= 9 and output
    words = {emotion.name for emotion in EMOTIONS} | {"truth", "label", "video", ".pkl"}
    assert not [note for note in notes for word in words - {"joy"} if word in note]


def test_what_is_wrong_with_a_bundle_is_told_without_the_data(data_sets, tmp_path):
    hall.require_sandbox()
    bundle = hall.write_bundle(tmp_path / "bad", "import os\nraise OSError(os.getcwd(), sorted(os.environ))")
    errors = []
    for number, data in enumerate(data_sets):
        with ExitStack() as stack, pytest.raises(run.PalestraError) as told:
            entry = open.open_entry(Called("bad", str(bundle)), {}, Terms(hall.SMALL, 60.0), stack)
            play(data, tmp_path / f"run{number}", [entry])
        errors.append(str(told.value))
    assert all_alike(errors) and str(tmp_path) not in errors[0]


# Looks for needles without having them: bytes are compared after each was raised by one, so that neither the needles
# as they are written here, nor any copy that is made on the way, is what is looked for.
SEARCH = """
import gc, json, os, sys
import numpy as np
NEXT = bytes((i + 1) % 256 for i in range(256))
NEEDLES = {name: bytes.fromhex(text) for name, text in NEEDLES_HEX.items()}
FILE = open(next(name for name in os.listdir() if name.startswith("control")), "rb")  # stays open, to be found
CONTROL = FILE.read()

def look(data):
    raised = data.translate(NEXT)
    return {name for name, needle in NEEDLES.items() if needle in raised}

def tried(read):
    try:
        return read()
    except (OSError, ValueError, OverflowError):
        return b""

def in_memory():
    found = set()
    with open("/proc/self/maps") as maps:
        spans = [line.split() for line in maps]
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        for span in spans:
            start, end = (int(number, 16) for number in span[0].split("-"))
            for at in range(start, end, 1 << 20):
                def read():
                    memory.seek(at)
                    return memory.read(min((1 << 20) + 64, end - at))
                found |= look(tried(read))
    return found

def in_objects():
    texts = (str, bytes, bytearray)
    found = set()
    for thing in gc.get_objects():
        for one in gc.get_referents(thing):
            if isinstance(one, texts):
                found |= look(one.encode(errors="replace") if isinstance(one, str) else bytes(one))
    return found

def in_files():
    names, contents = set(), set()
    for place, folders, files in os.walk("/"):
        if place in ("/proc", "/sys"):
            folders.clear()
            continue
        names |= look("\\n".join((place, *folders, *files)).encode(errors="replace"))
        for name in files:
            path = os.path.join(place, name)
            about = tried(lambda: os.stat(path))
            if about and about.st_ctime > SINCE and 0 < about.st_size < 50 << 20:
                contents |= look(tried(lambda: open(path, "rb").read()))
    return names, contents

def in_proc():
    found = set()
    for place, folders, files in (*os.walk("/proc"), *os.walk("/proc/self/")):
        if place.count("/") > 4:
            folders.clear()
        for name in (*folders, *files):
            path = os.path.join(place, name)
            found |= look(tried(lambda: os.fsencode(os.readlink(path))))
            if name in ("environ", "cmdline", "mounts", "mountinfo", "unix", "tcp", "status", "stat", "locks", "keys"):
                found |= look(tried(lambda: open(path, "rb").read(1 << 20)))
    return found

class MyAlgorithm:
    asked = 0
    def get_data(self, packet):
        self.packet = packet
    def algorithm(self):
        self.asked += 1
        if self.asked == 1:
            names, contents = in_files()
            print("FOUND", json.dumps({
                "memory": sorted(in_memory()), "objects": sorted(in_objects()), "names": sorted(names),
                "contents": sorted(contents), "proc": sorted(in_proc()),
                "environment": sorted(look(str(os.environ).encode())),
                "descriptors": sorted(os.listdir("/proc/self/fd")),
                "modules": sorted(name for name in sys.modules if name.partition(".")[0] == "palestra"),
            }))
        return 4
"""


def raised(data):
    return bytes((byte + 1) % 256 for byte in data).hex()


def test_a_program_that_searches_everything_in_its_reach_finds_nothing(tmp_path, monkeypatch):
    """It does find what it has itself, so it can see; and nothing of the data set, its place, and what is to come."""
    hall.require_sandbox()
    token, control = secrets.token_hex(12), secrets.token_hex(12)
    home = tmp_path / f"data-{token}"
    data = write_data(home, SHOWN["anger, then joy"], people=(f"sub081-{token}", "sub082"))
    (home / "test" / "videos.csv").write_text(f"person,order\n{token},1 22\n")
    home.chmod(0o755)
    monkeypatch.setenv("PALESTRA_DATA", str(home))
    later = [tick.payload["packet"] for sitting in track().stream.sittings(data) for tick in sitting.ticks()][-1]
    needles = {"data": token.encode(), "later": later[0, :8].tobytes(), "control": control.encode()}
    head = (
        f"NEEDLES_HEX = { ({name: raised(needle) for name, needle in needles.items()}) }\nSINCE = {time.time() - 60}\n"
    )
    bundle = hall.write_bundle(tmp_path / "bundle", head + SEARCH)
    (bundle / f"control-{control}.txt").write_text(control)
    with ExitStack() as stack:
        entry = open.open_entry(Called("searches", str(bundle)), {}, Terms(hall.SMALL, 60.0), stack)
        monkeypatch.setattr(run, "STUCK_S", 120.0)
        ran = play(data, tmp_path / f"run-{token}", [entry])
    assert ran.deaths("searches") == [] and set(ran.unanswered("searches").values()) <= {"no answer in time"}
    found = json.loads(ran.output("searches").partition("FOUND")[2])
    for place in ("memory", "objects", "names", "contents", "proc"):
        assert found[place] == ["control"], place
    assert found["environment"] == []
    assert found["descriptors"] == ["0", "1", "2", "3", "4", "5"]  # its own file, and the folder that is listed
    inside = {"palestra", "palestra.entrants", "palestra.entrants.socket_frames", "palestra.errors", "palestra.text"}
    inside |= {"palestra.door", "palestra.sandbox", "palestra.sandbox.plan", "palestra.entrants.runner"}
    inside |= {f"palestra.entrants.runner.{name}" for name in ("act", "answers", "pull")}
    assert set(found["modules"]) <= inside
    assert Recording(tmp_path / f"run-{token}").head.data == str(home.resolve())
