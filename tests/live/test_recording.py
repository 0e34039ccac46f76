import io
import shutil

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palestra.errors import PalestraError
from palestra.live.recording import MOST_BYTES, End, Head, Recorder, Recording, Who, file_name, is_run
from palestra.live.stream import Decision, VirtualClock, run
from palestra.records import Reply, Tick
from palestra.text import Words, say

NAMES = ["red", "blue"]


def head(names=NAMES, decisions=3, sittings=("P1", "P2"), pace="real"):
    return Head(
        track="which-v1", settings={"rule": "final"}, data="data", pace=pace, seed=0, sittings=list(sittings),
        entrants=[Who(name, "sha256:0", "bubblewrap", file_name(i, name)) for i, name in enumerate(names, 1)],
        decisions=decisions, started_at="2026-01-02T10:00:00+00:00", palestra="0.1.0",
    )  # fmt: skip


def end(names=NAMES, deaths=()):
    return End("2026-01-02T10:05:00+00:00", [], {name: list(deaths) for name in names}, dict.fromkeys(names, ""), {})


def decided(entrant, trial, answer=3, note="", at_s=1.0, latency_s=0.1, deadline_s=0.5, late_s=0.001):
    answered_s = None if answer is None else at_s + late_s + latency_s
    return Decision(entrant, trial, at_s, at_s + late_s, answered_s, deadline_s, answer, note)


def tick(trial, due_s=1.0):
    return Tick(due_s, {"packet": np.arange(6.0).reshape(2, 3)}, trial, 0.5)


def small(folder):
    """A run of two entrants with everything in it that a run has."""
    recorder = Recorder(folder, head())
    recorder.sent(tick(None, 0.5), 0.5)
    for i in range(3):
        recorder.sitting = i // 2
        recorder.sent(tick(f"t{i}", float(i)), i + 0.001)
        for name in NAMES:
            said = None if i == 1 and name == "red" else i
            recorder.decided(decided(name, f"t{i}", said, "" if said is not None else "no answer in time", float(i)))
        recorder.strayed("red", Reply(f"t{i}", [1.5, "late"]), i + 0.9)
    return recorder


def contents(recording):
    """All that can be read: of the ticks and of each entrant."""
    own = {name: [list(recording.decisions(name)), list(recording.strays(name))] for name in NAMES}
    return list(recording.ticks()), own


def test_a_run_is_read_back_as_it_was(tmp_path):
    small(tmp_path / "run").finish(end(deaths=["killed: memory"]))
    recording = Recording(tmp_path / "run")
    assert recording.head == head()
    assert recording.end == end(deaths=["killed: memory"])
    ticks = list(recording.ticks())
    assert [(one.sitting, one.due_s, one.sent_s, one.trial) for one in ticks] == [
        (0, 0.5, 0.5, None), (0, 0.0, 0.001, "t0"), (0, 1.0, 1.001, "t1"), (1, 2.0, 2.001, "t2")
    ]  # fmt: skip
    assert [(one.sitting, one.decision) for one in recording.decisions("blue")] == [
        (i // 2, decided("blue", f"t{i}", i, at_s=float(i))) for i in range(3)
    ]
    red = list(recording.decisions("red"))
    assert red[1].decision == decided("red", "t1", None, "no answer in time")
    assert [(one.sitting, one.at_s, one.trial, one.answer) for one in recording.strays("red")] == [
        (i // 2, i + 0.9, f"t{i}", [1.5, "late"]) for i in range(3)
    ]
    assert list(recording.strays("blue")) == []


def test_reasons_are_kept_in_both_languages_and_those_of_older_recordings_as_they_were_written(tmp_path):
    ours, old = Words("no answer in time", "未按时回答"), "no answer in time"
    recorder = Recorder(tmp_path / "run", head())
    for i, note in enumerate([ours, old]):
        recorder.decided(decided("red", f"t{i}", None, note))
        recorder.strayed("red", Reply(f"t{i}", None, note), 1.0)
    recorder.finish(end(deaths=[ours, old]))
    recording = Recording(tmp_path / "run")
    assert [one.decision.note for one in recording.decisions("red")] == [ours, old]
    assert [one.note for one in recording.strays("red")] == [ours, old]
    assert recording.end is not None and recording.end.deaths["red"] == [ours, old]


def test_the_checksum_tells_what_was_sent(tmp_path):
    recorder = Recorder(tmp_path / "run", head())
    payload = np.arange(6.0).reshape(2, 3)
    for array in (payload, payload.copy(), payload + 1, np.asfortranarray(payload), np.empty((0, 3))):
        recorder.sent(Tick(0.0, {"packet": array}), 0.0)
    recorder.close()
    first, same, other, laid_out_otherwise, empty = (one.checksum for one in Recording(tmp_path / "run").ticks())
    assert first == same == laid_out_otherwise
    assert len({first, other, empty}) == 3


def test_a_run_that_was_stopped_has_no_end_and_all_that_happened(tmp_path):
    small(tmp_path / "run")  # neither finished nor closed, as after a kill
    recording = Recording(tmp_path / "run")
    assert recording.end is None
    assert [len(list(recording.decisions(name))) for name in NAMES] == [3, 3]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """All of it is written, but for its end."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    small(folder).close()
    return folder


@pytest.mark.parametrize("name", ["ticks.rec", "01-red.rec", "02-blue.rec"])
def test_a_run_that_was_killed_at_any_byte_is_whole_up_to_then(whole, tmp_path, name):
    shutil.copytree(whole, tmp_path / "run")
    file, before = tmp_path / "run" / name, contents(Recording(whole))
    data, counts = file.read_bytes(), []
    for length in range(len(data) + 1):
        file.write_bytes(data[:length])
        ticks, own = contents(Recording(tmp_path / "run"))
        assert ticks == before[0][: len(ticks)]
        for entrant in NAMES:
            assert all(part == full[: len(part)] for part, full in zip(own[entrant], before[1][entrant], strict=True))
        read = [len(ticks), *(len(part) for entrant in NAMES for part in own[entrant])]
        assert not counts or read >= counts[-1], "with each byte there is no less"
        counts.append(read)
    assert counts[0] != counts[-1] and counts[-1] == [4, 3, 3, 3, 0]


texts = st.text(max_size=20)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | texts | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(texts, plain, texts), max_size=6), st.floats(0, 1))
def test_whatever_was_said_a_kill_loses_only_what_it_cut(tmp_path_factory, said, share):
    folder = tmp_path_factory.mktemp("said") / "run"
    recorder = Recorder(folder, head())
    for trial, answer, note in said:
        recorder.decided(Decision("red", trial, 0.0, 0.0, 0.1, None, answer, note))
    recorder.close()
    file = folder / file_name(1, "red")
    data = file.read_bytes()
    file.write_bytes(data[: round(share * len(data))])
    read = [(one.decision.trial, one.decision.answer, one.decision.note) for one in Recording(folder).decisions("red")]
    assert read == said[: len(read)]
    assert share < 1 or len(read) == len(said)


class Rude:
    """An object that answers no question."""

    def __repr__(self):
        raise RuntimeError("no")

    __str__ = __eq__ = __bool__ = __len__ = __iter__ = __repr__
    __hash__ = None


def deep(levels):
    nested = []
    for _ in range(levels):
        nested = [nested]
    return nested


def endless():
    loop = []
    loop.append(loop)
    return loop


HOSTILE = {
    "a number without end": (1 << 4000, "<int>"),
    "an array": (np.arange(3), [0, 1, 2]),
    "a number of numpy": (np.float32(0.5), 0.5),
    "a huge array": (np.zeros(1_000_000), "<ndarray>"),
    "an array of objects": (np.array([object()]), "<ndarray>"),
    "a huge map": ({str(i): i for i in range(100_000)}, "<dict>"),
    "a long text": ("x" * MOST_BYTES, "<str>"),
    "half a letter": ("\ud800", "<str>"),
    "a deep list": (deep(100_000), "<list>"),
    "a list in itself": (endless(), "<list>"),
    "an object": (Rude(), "<Rude>"),
    "objects in a list": ([Rude(), 1], ["<Rude>", 1]),
    "a class": (int, "<type>"),
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_a_hostile_answer_does_no_harm(tmp_path, name):
    answer, kept = HOSTILE[name]
    recorder = Recorder(tmp_path / "run", head())
    recorder.decided(decided("red", "t0", 1))
    recorder.decided(decided("red", "t1", answer))
    recorder.strayed("red", Reply("t1", answer), 2.0)
    recorder.decided(decided("red", "t2", 2))
    recorder.close()
    recording = Recording(tmp_path / "run")
    assert [one.decision.answer for one in recording.decisions("red")] == [1, kept, 2]
    assert [one.answer for one in recording.strays("red")] == [kept]
    assert (tmp_path / "run" / file_name(1, "red")).stat().st_size < 2000


def test_what_is_as_deep_as_can_just_be_written_can_be_read_by_whoever_calls_from_deeper(tmp_path):
    def read(frames):
        if frames:
            return read(frames - 1)
        return len(list(Recording(tmp_path / "run").decisions("red")))

    recorder = Recorder(tmp_path / "run", head())
    levels = range(500, 1100, 20)
    for number in levels:
        recorder.decided(decided("red", f"t{number}", deep(number)))
    recorder.close()
    assert read(frames=100) == len(levels)


def test_a_stray_that_names_a_long_trial_is_clipped(tmp_path):
    recorder = Recorder(tmp_path / "run", head())
    recorder.strayed("red", Reply("t" * 1_000_000, 1), 0.0)
    recorder.close()
    (stray,) = Recording(tmp_path / "run").strays("red")
    assert stray.trial.startswith("'ttt") and len(stray.trial) < 100


def test_a_flood_of_strays_does_not_fill_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("palestra.live.recording.MOST_STRAYS", 5)
    recorder = Recorder(tmp_path / "run", head())
    for i in range(50):
        recorder.strayed("red", Reply(f"t{i}", 1), 0.0)
    recorder.strayed("blue", Reply("t0", 1), 0.0)
    recorder.decided(decided("red", "t50"))
    recorder.close()
    recording = Recording(tmp_path / "run")
    assert [stray.trial for stray in recording.strays("red")] == ["t0", "t1", "t2", "t3", "t4"]
    assert len(list(recording.strays("blue"))) == len(list(recording.decisions("red"))) == 1


STRANGE = {
    "empty": "", "dot": ".", "upwards": "../../etc/passwd", "absolute": "/abs", "in a folder": "a/b", "option": "-rf",
    "nul": "nul\0", "two lines": "new\nline", "Chinese": "清华", "long": "x" * 5000, "head": "run.json",
    "ticks": "ticks.rec",
}  # fmt: skip


@pytest.mark.parametrize("kind", list(STRANGE))
def test_a_hostile_name_is_a_plain_file_in_the_run(tmp_path, kind):
    name = STRANGE[kind]
    names = [name, f"{name} "]
    recorder = Recorder(tmp_path / "run", head(names))
    recorder.decided(decided(names[0], "mine"))
    recorder.decided(decided(names[1], "theirs"))
    recorder.finish(end(names))
    assert {file.parent for file in tmp_path.rglob("*.rec")} == {tmp_path / "run"}
    assert len(list(tmp_path.rglob("*.*"))) == 5, "head, end, ticks and one for each"
    assert all(len(file.name) < 60 and file.name.isascii() for file in (tmp_path / "run").iterdir())
    recording = Recording(tmp_path / "run")
    assert [one.decision.trial for who in names for one in recording.decisions(who)] == ["mine", "theirs"]


def test_a_head_that_was_tampered_with_leads_out_of_no_folder(tmp_path):
    small(tmp_path / "run").finish(end())
    other = tmp_path / "other.rec"
    other.write_bytes((tmp_path / "run/02-blue.rec").read_bytes())
    led = [Who("red", "", None, "../other.rec")]
    (tmp_path / "run/run.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(head(), entrants=led)))
    with pytest.raises(PalestraError, match="no such file"):
        list(Recording(tmp_path / "run").decisions("red"))


def test_a_run_is_never_written_over_another(tmp_path):
    small(tmp_path / "run").finish(end())
    before = {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()}
    with pytest.raises(FileExistsError):
        Recorder(tmp_path / "run", head(["green"]))
    assert {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()} == before


def test_a_folder_that_is_no_run_says_so(tmp_path):
    assert not is_run(tmp_path)
    with pytest.raises(PalestraError, match=r"no run\.json in it"):
        Recording(tmp_path)


def test_an_entrant_that_did_not_play_is_named_with_those_who_did(tmp_path):
    small(tmp_path / "run").finish(end())
    assert is_run(tmp_path / "run")
    with pytest.raises(PalestraError, match=r"no entrant of this run 'rod'\. Did you mean 'red'\?"):
        Recording(tmp_path / "run").decisions("rod")


@pytest.mark.parametrize("name", ["run.json", "end.json"])
def test_a_broken_head_or_end_names_its_file(tmp_path, name):
    small(tmp_path / "run").finish(end())
    (tmp_path / "run" / name).write_text("{}")
    with pytest.raises(PalestraError, match=name):
        Recording(tmp_path / "run")


def test_a_record_that_is_none_names_its_file(tmp_path):
    small(tmp_path / "run").finish(end())
    file = tmp_path / "run/ticks.rec"
    file.write_bytes(file.read_bytes() + b"\x02\x00\x00\x00\xc1\xc1")
    with pytest.raises(PalestraError, match=r"ticks\.rec: found a record that cannot be read .* restore a backup"):
        list(Recording(tmp_path / "run").ticks())


@pytest.mark.parametrize("name", ["ticks.rec", "01-red.rec"])
@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (lambda data: data[:-3], "a last record that is cut short"),
        (lambda data: b"\xff\xff\xff\x7f" + data[4:], "a record of 2,147,483,647 bytes"),
        (lambda data: data[:4] + b"\xc1" + data[5:], "a record that cannot be read"),
        (None, "no such file"),
    ],
)
def test_damage_to_a_run_that_ended_is_told_with_what_to_do(tmp_path, name, spoil, found):
    """Else half of a run would be taken for all of it, and scored again as such."""
    small(tmp_path / "run").finish(end())
    file = tmp_path / "run" / name
    file.write_bytes(spoil(file.read_bytes())) if spoil else file.unlink()
    with pytest.raises(PalestraError, match=rf"{name}: found {found}.*is damaged: restore a backup"):
        contents(Recording(tmp_path / "run"))


def test_half_a_record_that_a_disk_took_is_taken_back(tmp_path):
    """Else nothing after it could be read."""

    class Full(io.FileIO):
        def write(self, data):
            return super().write(data[: len(data) // 2])

    recorder = Recorder(tmp_path / "run", head())
    recorder.decided(decided("red", "t0"))
    own = recorder._own["red"]
    recorder._own["red"] = Full(own.name, "ab")
    with pytest.raises(OSError, match="The disk is full"):
        recorder.decided(decided("red", "t1"))
    recorder._own["red"].close()
    recorder._own["red"] = own
    own.seek(0, 2)
    recorder.decided(decided("red", "t2"))
    recorder.finish(end())
    assert [one.decision.trial for one in Recording(tmp_path / "run").decisions("red")] == ["t0", "t2"]


def test_it_is_a_log_of_the_stream(tmp_path):
    class Silent:
        name = "red"

        def post(self, tick):
            pass

        def replies(self):
            return []

        def dead(self):
            return ""

        def fileno(self):
            return -1

    recorder = Recorder(tmp_path / "run", head())
    run([tick("t0", 0.0), tick(None, 1.0), tick("t1", 2.0)], [Silent()], VirtualClock(), recorder)
    recorder.close()
    recording = Recording(tmp_path / "run")
    assert [one.trial for one in recording.ticks()] == ["t0", None, "t1"]
    assert [(one.decision.trial, one.decision.note) for one in recording.decisions("red")] == [
        ("t0", say("no answer in time")), ("t1", say("no answer in time"))
    ]  # fmt: skip
