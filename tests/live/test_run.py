"""Whole live runs of programs that mean well: what is sent, recorded, scored and shown."""

import json
import re
import zlib
from contextlib import ExitStack

import pytest

from palestra import registry
from palestra.entrants import open
from palestra.entrants.open import Called
from palestra.errors import PalestraError
from palestra.live import run
from palestra.live.follower import Stopped
from palestra.live.live_data import read_live_data
from palestra.live.recording import Recording
from palestra.live.run import Play
from palestra.live.stream import VirtualClock
from palestra.scoring import score_file
from tests.live import hall
from tests.live.hall import program


@pytest.fixture(autouse=True)
def _prepare(monkeypatch):
    hall.prepare(monkeypatch)


def write_data(folder, **changes):
    from ticking_v1 import write_data

    return write_data(folder, **changes)


@pytest.fixture
def data(tmp_path):
    return write_data(tmp_path / "data")


@pytest.fixture
def bundle(tmp_path):
    """Writes the bundle of a program, under a name."""
    return lambda name="good", text=None: hall.write_bundle(tmp_path / name, text or program())


def light_run(tmp_path, data, *entries, pace="fast"):
    return hall.play(data, tmp_path / "run", {}, pace, entries or [hall.light("good", hall.good)])


# --- by command


def test_a_bundle_is_played_to_and_its_result_printed(cli, tmp_path, data, bundle):
    ran = cli("play", "ticking-v1", bundle(), "--data", data, "--pace", "fast", "--run", tmp_path / "run", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["metrics"]["accuracy"] == {"value": 1.0, "low": None, "high": None}
    assert ran.json["entrant"] == "good" and ran.json["valid"] and ran.json["provenance"]["sandbox"]
    assert [row["person"] for row in ran.json["by"]["person"]] == ["person1", "person2"]
    names = {"run.json", "end.json", "ticks.rec", "standings.jsonl", "01-good.rec", "01-good.parquet"}
    assert {file.name for file in (tmp_path / "run").iterdir()} == names


def test_several_entrants_get_a_board_and_whoever_failed_is_told_why(cli, tmp_path, data, bundle):
    half = program(answer="if self.number > 19: raise ValueError('person 2 is too much')")
    words = [f"blue={bundle()}", f"red={bundle('half', half)}", f"none={bundle('none', 'class Other: pass')}"]
    ran = cli("play", "ticking-v1", *words, "--data", data, "--pace", "fast", "--run", tmp_path / "run")
    assert ran.code == 0, ran.err
    lines = [line.split() for line in ran.out.splitlines()]
    assert [line[:4] for line in lines if "blue" in line or "red" in line] == [
        ["1", "–", "blue", "1.000"],
        ["2", "–", "red", "0.500"],
    ]
    assert "none could not take part: none: TypeError: Algorithm/MyAlgorithm.py has no class MyAlgorithm" in ran.err
    assert "ValueError: person 2 is too much" in ran.err, "the last lines of what it printed"
    assert "What blue printed" not in ran.err


def test_the_page_of_a_run_can_be_written(cli, tmp_path, data, bundle):
    bad = program(answer="answer = 'boo'")
    words = [bundle(), bundle("bad", bad), "--data", data, "--pace", "fast", "--run", tmp_path / "run"]
    ran = cli("play", "ticking-v1", *words, "--report", tmp_path / "run.html")
    assert ran.code == 0, ran.err
    assert re.search("returned .{1,9}boo.{1,9}, expected a whole number", (tmp_path / "run.html").read_text())


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--pace", "slow"], 2, "'slow' is neither real nor fast"),
        ([], 1, "Nobody takes part: name a bundle, a ws:// address or a solution"),
        (["nowhere.zip"], 1, "There is no entrant"),
        (["data"], 1, "expected Algorithm/MyAlgorithm.py"),
        (["--lsl"], 1, "sends no samples"),
        (["good", "--team", "good"], 1, "Two entrants are called 'good'"),
        (["good", "--report", "run.txt"], 1, "name a file that ends in it"),
    ],
)
def test_what_cannot_be_played_is_told_in_words_and_leaves_no_run(
    cli, tmp_path, data, bundle, monkeypatch, words, code, message
):
    bundle()
    monkeypatch.chdir(tmp_path)
    ran = cli("play", "ticking-v1", *words, "--data", "data", "--run", "run")
    assert ran.code == code
    assert message in ran.err and "Traceback" not in ran.err
    assert not (tmp_path / "run").exists()


def test_a_track_for_files_is_not_played(cli, tmp_path, data):
    ran = cli("play", "gaze-prediction-v1", "x", "--data", data, "--run", tmp_path / "run")
    assert ran.code == 1 and "gaze-prediction-v1 is not played live: `palestra score" in ran.err


def test_a_program_that_cannot_be_run_is_told_to_its_author(cli, tmp_path, data, bundle):
    bad = bundle("bad", program(make="raise FileNotFoundError('weights.bin')"))
    ran = cli("play", "ticking-v1", bad, "--data", data, "--pace", "fast", "--run", tmp_path / "run")
    assert ran.code == 1
    assert "bad: FileNotFoundError: weights.bin" in ran.err and "Traceback" not in ran.err


# --- what is recorded


def test_everything_that_was_sent_is_recorded_with_when_it_was_due(tmp_path, data):
    recording = light_run(tmp_path, data).played.recording
    sent = list(recording.ticks())
    expected = [
        (number, tick.due_s, tick.trial, zlib.crc32(tick.payload["x"].data))
        for number, sitting in enumerate(hall.ticking().stream.sittings(data))
        for tick in sitting.ticks()
    ]
    assert [(one.sitting, one.due_s, one.trial, one.checksum) for one in sent] == expected
    decided = list(recording.decisions("good"))
    assert [(one.sitting, one.decision.trial) for one in decided] == [(one[0], one[2]) for one in expected if one[2]]
    assert all(one.decision.due_s <= one.decision.sent_s <= one.decision.answered_s for one in decided)
    assert recording.head.decisions == 8 and recording.head.sittings == ["person1", "person2"]


def test_one_instance_lives_through_all_people(tmp_path, data, bundle):
    counts = program(make="self.seen = 0", take="self.seen += 1\nassert self.seen == self.number + 1")
    ran = hall.play(data, tmp_path / "run", {"good": bundle("counts", counts)})
    assert ran.accuracy("good") == 1.0 and ran.deaths("good") == []


def test_the_scores_are_kept_beside_the_recording(tmp_path, data):
    ran = light_run(tmp_path, data)
    kept = score_file.load(tmp_path / "run" / "01-good.parquet")
    assert kept.result == ran.played.scored["good"].result == Recording(tmp_path / "run").end.results[0]
    assert kept.rows["latency_s"].null_count() == 0 and set(kept.rows["note"]) == {""}


def test_a_missed_answer_keeps_its_row_and_is_charged(tmp_path, data, bundle):
    text = program(answer="if self.number == 14: answer = 99")
    ran = hall.play(data, tmp_path / "run", {"one": bundle("one", text)})
    rows = ran.played.scored["one"].rows
    assert rows.height == 8 and ran.accuracy("one") == 7 / 8
    missed = rows.filter(~rows["answered"])
    assert missed.select("trial", "right", "wrong", "note").rows() == [
        ("person1/014", 0, 1, "returned 99, expected a whole number from 0 to 8")
    ]


# --- time


class Late(VirtualClock):
    """A host that sends what is due 2 s too late, at times."""

    def wait(self, until, lines):
        super().wait(until, lines)
        if self._now == until and until % 700 == 0:
            self._now += 2.0


def test_a_run_that_the_host_spoiled_does_not_count_and_costs_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "VirtualClock", Late)
    ran = light_run(tmp_path, write_data(tmp_path / "data", deadline_s=10.0))
    result = ran.played.scored["good"].result
    assert not result.valid
    assert "decisions more than 10% of their deadline late (at worst 2000.0 ms)" in result.invalid_because[0]
    assert ran.accuracy("good") == 1.0, "nobody is charged for it"
    ran.require_same_again()


def test_a_host_that_is_late_within_what_is_allowed_spoils_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "VirtualClock", Late)
    ran = light_run(tmp_path, write_data(tmp_path / "data", deadline_s=30.0))
    assert ran.played.scored["good"].result.valid
    assert max(decision.host_late_s for decision in ran.decisions("good")) == pytest.approx(2.0)
    assert max(decision.latency_s for decision in ran.decisions("good")) < 2.0


@pytest.mark.parametrize("pace", ["real", "fast"])
def test_without_a_deadline_everybody_is_waited_for(tmp_path, pace):
    data = write_data(tmp_path / "data", every_s=0.001, deadline_s=None)
    ran = light_run(tmp_path, data, hall.light("a", hall.good), hall.light("b", hall.good), pace=pace)
    for name in "ab":
        assert ran.accuracy(name) == 1.0 and ran.unanswered(name) == {}


def test_without_a_deadline_one_that_has_nothing_to_say_is_not_waited_for_in_virtual_time(tmp_path):
    """Virtual time does not pass by itself: to wait there for what never comes would be to wait for ever."""
    entry = hall.light("mute", hall.silent)
    entry.ask = lambda tick, within_s: ([], 0.001)
    data = write_data(tmp_path / "data", deadline_s=None)
    ran = light_run(tmp_path, data, entry, hall.light("good", hall.good))
    assert list(ran.unanswered("mute").values()) == ["no answer"] * 8
    assert ran.accuracy("good") == 1.0


def test_in_real_time_answers_come_back_and_nothing_is_sent_before_its_time(tmp_path):
    data = write_data(tmp_path / "data", sittings=1, ticks=40, every_s=0.004, deadline_s=3.0)
    ran = light_run(tmp_path, data, pace="real")
    assert ran.accuracy("good") == 1.0
    assert all(one.sent_s >= one.due_s for one in ran.played.recording.ticks())


def test_who_can_only_be_played_to_in_real_time_says_so(tmp_path, data):
    entry = hall.light("slow", hall.good)
    entry.ask = None
    with pytest.raises(PalestraError, match="slow cannot be played to at --pace fast, only at --pace real"):
        light_run(tmp_path, data, entry)


def test_programs_get_time_for_the_whole_stream_and_the_memory_that_was_asked_for(data):
    terms = Play(memory_bytes=123_456_789, patience_s=7.0).terms(registry.track("ticking-v1").stream.sittings(data))
    assert terms.limits.memory_bytes == 123_456_789 and terms.patience_s == 7.0 and not terms.trusted
    assert terms.limits.wall_s > 2 * 19 * 100.0


def test_who_stands_where_is_written_down_for_screens(tmp_path, data):
    entries = [hall.light("right", hall.good), hall.light("sorry", hall.worried)]
    ran = hall.play(data, tmp_path / "run", {}, more=entries)
    lines = [json.loads(line) for line in (tmp_path / "run" / "standings.jsonl").read_text().splitlines()]
    last = lines[-1]["standings"]
    assert [one["entrant"] for one in last] == ["right", "sorry"]
    assert [one["value"] for one in last] == [ran.accuracy("right"), ran.accuracy("sorry")] == [1.0, 0.0]
    assert [one["missed"] for one in last] == [0, 8]


def test_a_run_is_only_scored_again_on_the_data_that_was_sent(tmp_path, data, cli):
    hall.play(data, tmp_path / "run", {}, more=[hall.light("right", hall.good)])
    other = write_data(tmp_path / "other", ticks=30)
    ran = cli("replay", tmp_path / "run", "--data", other)
    assert ran.code == 1 and "does not give what was sent in this run" in ran.err


# --- followers


class Followed:
    """Keeps what it is told; wants the run to end after so many standings."""

    def __init__(self, until=None):
        self.began, self.stands, self.until = [], [], until

    def begin(self, sittings, names, refused):
        self.began.append(([sitting.name for sitting in sittings], list(names), dict(refused)))

    def stood(self, moment):
        values = [(one.name, one.decided, one.missed) for one in moment.standings]
        self.stands.append((moment.sitting, moment.at_s, values))

    def window(self, sitting, closes_in_s):
        """Nobody changes a program."""

    def hand_in(self, sitting, keep):
        """Nobody has."""

    def stopped(self):
        return self.until is not None and len(self.stands) >= self.until


def followed_run(tmp_path, data, follower, pace="fast"):
    entries = [hall.light("worried", hall.worried), hall.light("good", hall.good)]
    order = Play(pace, watched=False, follower=follower)
    return run.play(read_live_data(hall.ticking(), data), entries, order, tmp_path / "run")


def test_a_follower_is_told_who_plays_and_after_each_round_who_stands_where(tmp_path, data, monkeypatch):
    monkeypatch.setattr(run, "TOLD_EVERY_S", 0.0)
    follower = Followed()
    followed_run(tmp_path, data, follower)
    assert follower.began == [(["person1", "person2"], ["worried", "good"], {})]
    rounds = [values[0][1] for _, _, values in follower.stands]
    assert rounds == sorted(rounds) and rounds[-1] == 8
    assert {4, 8} <= set(rounds), "at the end of each sitting"
    assert follower.stands[-1] == (1, 1900.0, [("good", 8, 0), ("worried", 8, 8)])


def test_a_follower_is_not_told_more_often_than_it_can_be_shown(tmp_path, data, monkeypatch):
    monkeypatch.setattr(run, "TOLD_EVERY_S", 1e9)
    follower = Followed()
    followed_run(tmp_path, data, follower)
    assert [values[0][1] for _, _, values in follower.stands][-2:] == [4, 8], "but always at the end of a sitting"
    assert len(follower.stands) <= 3


def test_a_follower_can_end_a_run_and_what_was_recorded_stays(tmp_path, data, monkeypatch):
    monkeypatch.setattr(run, "TOLD_EVERY_S", 0.0)
    with pytest.raises(Stopped):
        followed_run(tmp_path, data, Followed(until=1))
    recorded = Recording(tmp_path / "run")
    assert recorded.end is None and 0 < len(list(recorded.decisions("good"))) < 8


def test_a_run_can_be_ended_while_a_window_is_open(tmp_path):
    data = write_data(tmp_path / "data", window_s=3600.0)
    with pytest.raises(Stopped):
        followed_run(tmp_path, data, Followed(until=0), "real")
    assert Recording(tmp_path / "run").end is None


# --- versions that a follower brings


class Bringing(Followed):
    """Brings another version of one entrant's program in the window before a sitting."""

    def __init__(self, brings):
        super().__init__()
        self.brings, self.heard = brings, []

    def window(self, sitting, closes_in_s):
        self.heard.append(("window", sitting, closes_in_s))

    def hand_in(self, sitting, keep):
        self.heard.append(("hand in", sitting))
        for name, file in self.brings.get(sitting, {}).items():
            keep(name, file)

    def took(self, sitting, refused):
        self.heard.append(("took", sitting, {name: str(why) for name, why in refused.items()}))


def test_a_version_that_a_follower_brings_plays_from_the_next_sitting_on(tmp_path):
    hall.require_sandbox()
    data = write_data(tmp_path / "data", sittings=3, ticks=10, every_s=0.02, deadline_s=5.0, window_s=0.3)
    wrong = hall.write_bundle(tmp_path / "wrong", hall.program(answer="answer = 8 - answer"))
    right = hall.write_bundle(tmp_path / "right", hall.program())
    dead = hall.write_bundle(tmp_path / "dead", "class Other: pass")
    follower = Bringing({"person2": {"Team a/b": right}, "person3": {"Team a/b": dead}})
    order = Play("real", watched=False, follower=follower)
    with ExitStack() as stack:
        entry = open.open_entry(Called("Team a/b", str(wrong)), {}, order.terms([]), stack)
        played = run.play(read_live_data(hall.ticking(), data), [entry], order, tmp_path / "run")
    rows = played.scored["Team a/b"].rows
    right_by_person = {key[0]: group["right"].mean() for key, group in rows.group_by("person")}
    assert right_by_person == {"person1": 0.0, "person2": 1.0, "person3": 1.0}
    assert follower.heard[:4] == [
        ("window", "person1", 0.3), ("hand in", "person1"), ("window", "person2", 0.3), ("hand in", "person2"),
    ]  # fmt: skip
    took, *_, not_taken = [one for one in follower.heard if one[0] == "took"]
    assert took == ("took", "person2", {})
    assert not_taken[1] == "person3" and "has no class MyAlgorithm" in not_taken[2]["Team a/b"]
    first, second, third = played.recording.end.versions["Team a/b"]
    assert first != second == third, "the one before plays on where another does not load"


def test_weights_that_change_in_a_sitting_are_found_by_their_digests(tmp_path, data):
    (tmp_path / "bundle").mkdir()
    net = tmp_path / "bundle" / "net.onnx"
    net.write_text("as handed in")

    def learning(sock):
        def learnt(frame):
            if frame.header.data["about"]["person"] == 2:
                net.write_text("as learnt")
            return {"answer": int(frame.arrays[0][1, 0])}

        hall._talk(sock, lambda frame: learnt(frame) if frame.header.data["ask"] else {})

    entry = hall.light("sly", learning)
    entry.folder = tmp_path / "bundle"
    entries, order = [entry, hall.light("afar", hall.good)], Play("fast", watched=False)
    played = run.play(read_live_data(hall.ticking(), data), entries, order, tmp_path / "run")
    sealed = played.recording.end.weights
    assert [(one.sitting, one.before == one.after) for one in sealed["sly"]] == [("person1", True), ("person2", False)]
    assert "afar" not in sealed, "what runs elsewhere has no bundle here"
