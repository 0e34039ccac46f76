"""Runs after they were played, stopped or killed; and versions that are registered while they are under way."""

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from palestra import registry
from palestra.entrants.open import Entry
from palestra.errors import PalestraError, UnknownName
from palestra.live import recording, session
from palestra.live.live_data import read_live_data
from palestra.live.recording import Recorder, Recording
from palestra.live.run import fresh_folder
from palestra.sandbox.processes import children
from tests import ROOT
from tests.entrants.programs import until
from tests.live import hall
from tests.live.hall import program


@pytest.fixture(autouse=True)
def _prepare(monkeypatch):
    hall.prepare(monkeypatch)


def write_data(folder, **changes):
    from ticking_v1 import write_data

    return write_data(folder, **changes)


@pytest.fixture
def run(tmp_path):
    """A run that came to its end: of one that is right, and one that has no answers."""
    entries = [hall.light("good", hall.good), hall.light("bad", hall.worried)]
    hall.play(write_data(tmp_path / "data"), tmp_path / "run", {}, more=entries)
    return tmp_path / "run"


# --- replay


def test_a_replay_gives_the_same_bytes(cli, tmp_path):
    data, bundle = write_data(tmp_path / "data"), hall.write_bundle(tmp_path / "good", program())
    bad = hall.write_bundle(tmp_path / "bad", program(answer="answer = [None, 1, 'x', answer][self.number % 4]"))
    words = ["--data", data, "--pace", "fast", "--run", tmp_path / "run", "--seed", 7, "--json"]
    played = cli("play", "ticking-v1", bundle, bad, *words)
    assert played.code == 0, played.err
    replayed = cli("replay", tmp_path / "run", "--json")
    assert replayed.code == 0, replayed.err
    assert replayed.out == played.out


def test_a_replay_shows_the_timeline(cli, run):
    ran = cli("replay", run)
    assert ran.code == 0, ran.err
    assert "good: 8 of 8 answered" in ran.out and "bad: 0 of 8 answered" in ran.out
    assert "8 × cannot see a thing" in ran.out


def change_an_answer(folder):
    file = next(folder.glob("*-good.rec"))
    data = bytearray(file.read_bytes())
    (length,) = struct.unpack_from("<I", data)
    record = msgspec.msgpack.decode(data[4 : 4 + length])
    record[-1]["answer"] = (record[-1]["answer"] + 1) % 9
    fresh = msgspec.msgpack.encode(record)
    file.write_bytes(struct.pack("<I", len(fresh)) + fresh + data[4 + length :])


def leave_an_answer_out(folder):
    file = next(folder.glob("*-good.rec"))
    (length,) = struct.unpack_from("<I", file.read_bytes())
    file.write_bytes(file.read_bytes()[4 + length :])


def change_the_result(folder):
    text = (folder / "end.json").read_text()
    assert '"value": 0.0' in text
    (folder / "end.json").write_text(text.replace('"value": 0.0', '"value": 0.5', 1))


def change_the_truth(folder):
    file = folder.parent / "data" / "truth" / "labels.csv"
    file.write_text(file.read_text().replace("person1/004,1", "person1/004,2"))


@pytest.mark.parametrize("change", [change_an_answer, leave_an_answer_out, change_the_result, change_the_truth])
def test_what_was_changed_afterwards_is_found_out(cli, run, change):
    assert cli("replay", run).code == 0
    change(run)
    ran = cli("replay", run)
    assert ran.code == 1
    assert "the results computed now differ from those of the run" in ran.err


def test_data_that_moved_is_asked_for_and_may_be_named(cli, run, tmp_path):
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    ran = cli("replay", run)
    assert ran.code == 1 and "Say where it is with --data DIR" in ran.err
    assert cli("replay", run, "--data", tmp_path / "elsewhere").code == 0


def test_what_is_no_run_is_told(cli, tmp_path):
    ran = cli("replay", tmp_path)
    assert ran.code == 1 and "Traceback" not in ran.err


# --- runs that were stopped


def test_a_run_that_was_stopped_does_not_count_and_says_how_far_it_came(cli, run):
    (run / "end.json").unlink()
    ran = cli("replay", run, "--json")
    assert ran.code == 1, ran.err
    for result in ran.json:
        assert not result["valid"]
        assert result["invalid_because"] == ["the run was stopped after 8 of 8 decisions"]
    assert f"may be repeated with --run {run}" in ran.err


def test_a_run_that_was_stopped_is_kept_aside_and_one_that_ended_is_not_touched(run):
    with pytest.raises(PalestraError, match="is not a run that was stopped"):
        fresh_folder(run)
    (run / "end.json").unlink()
    for number in (1, 2):
        assert fresh_folder(run) == run and not run.exists()
        aside = run.with_name(f"run.stopped-{number}")
        assert Recording(aside).end is None
        shutil.copytree(aside, run)


def test_a_run_that_was_killed_before_it_had_a_head_may_be_repeated(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "ticks.rec").write_bytes(b"")
    assert not fresh_folder(tmp_path / "run").exists()


def test_a_folder_of_something_else_is_not_touched(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(PalestraError, match="is not a run that was stopped"):
        fresh_folder(tmp_path)


def start(tmp_path, data, bundle, scratch):
    """`palestra play` in a process of its own, at real pace, once a few decisions are recorded."""
    words = ["play", "ticking-v1", bundle, "--data", data, "--run", tmp_path / "run"]
    process = subprocess.Popen(
        [sys.executable, "-m", "palestra.cli.app", "--tracks-dir", hall.TRACKS, *map(str, words)],
        cwd=ROOT, env=os.environ | {"TMPDIR": str(scratch)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    until(lambda: process.poll() is not None or len(decided(tmp_path / "run")) >= 3, within_s=60)
    assert process.poll() is None, process.communicate()
    return process


def decided(folder):
    if not recording.is_run(folder):
        return []
    return [record.decision.trial for record in Recording(folder).decisions("good")]


def family(pid):
    """The processes below one, by number and when each began: numbers are used again."""
    found = children(pid)
    for one in found:  # which grows meanwhile
        found += children(one)
    return {(one, began(one)) for one in found}


def began(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None


@pytest.fixture
def long(tmp_path):
    """A stream that nobody here waits for, a program that is right, and a place for what a kill leaves lying about."""
    data = write_data(tmp_path / "data", sittings=1, ticks=100_000, every_s=0.004, deadline_s=0.5)
    scratch = Path(tempfile.mkdtemp(prefix="palestra-test-"))  # where other users can walk to, unlike pytest's own
    scratch.chmod(0o755)
    yield data, hall.write_bundle(tmp_path / "good", program()), scratch
    shutil.rmtree(scratch, ignore_errors=True)


def test_a_runner_that_is_killed_leaves_a_whole_recording_and_no_process(cli, tmp_path, long):
    data, bundle, scratch = long
    process = start(tmp_path, data, bundle, scratch)
    below = family(process.pid)
    assert len(below) >= 2, "a keeper, and the program"
    with pytest.raises(PalestraError, match="a run is under way there"):
        fresh_folder(tmp_path / "run")
    process.kill()
    process.communicate()
    until(lambda: not any(began(pid) == when for pid, when in below))

    trials = decided(tmp_path / "run")
    assert len(trials) >= 3 and trials == [f"person1/{4 + 5 * i:03d}" for i in range(len(trials))]
    ran = cli("replay", tmp_path / "run", "--json")
    assert ran.code == 1, ran.err
    assert ran.json["invalid_because"][-1] == f"the run was stopped after {len(trials)} of 20000 decisions"
    with pytest.raises(PalestraError, match="this run was stopped"):
        session.register_version(tmp_path / "run", "good", bundle)

    shutil.rmtree(data)
    write_data(data)
    again = cli("play", "ticking-v1", bundle, "--data", data, "--run", tmp_path / "run", "--pace", "fast", "--json")
    assert again.code == 0, again.err
    assert again.json["valid"] and again.json["metrics"]["accuracy"]["value"] == 1.0
    assert decided(tmp_path / "run.stopped-1") == trials and Recording(tmp_path / "run.stopped-1").end is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_runner_that_is_stopped_ends_in_words_with_a_whole_recording(tmp_path, long, number):
    process = start(tmp_path, *long)
    below = family(process.pid)
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err and "Stopped." in err and not out
    assert not any(began(pid) == when for pid, when in below), "it ends them before it ends"
    trials = decided(tmp_path / "run")
    assert len(trials) >= 3 and trials == [f"person1/{4 + 5 * i:03d}" for i in range(len(trials))]
    assert not (tmp_path / "run" / "end.json").exists()


# --- versions


class Registrar:
    """Sits in the run as an entrant does, and registers what it is to as soon as it is let: nobody has to be quick."""

    name, version, deaths, output = "registrar", "", (), ""

    def __init__(self, folder, plans):
        self.folder, self.plans, self.sent = folder, plans, 0  # what to do after how many packets
        self.taken, self.refused = [], []

    def post(self, tick):
        self.sent += 1

    def replies(self):
        if self.plans and self.sent >= self.plans[0][0]:
            try:
                self.taken.append(session.register_version(self.folder, *self.plans[0][1:]))
                self.plans.pop(0)
            except PalestraError as error:
                self.refused.append((self.sent, str(error)))
        return []

    def require_ready(self, within_s):
        pass

    def dead(self):
        return ""

    def fileno(self):
        return -1

    def close(self):
        pass


def test_a_version_that_is_registered_in_a_window_plays_from_then_on(tmp_path):
    """Both teams register something before person 2. One of them cannot be loaded: what it had before plays on."""
    data = write_data(tmp_path / "data", every_s=0.02, deadline_s=3.0, window_s=0.9)
    texts = {
        "first": program(answer="answer = 8 - answer; print('the first')"),
        "broken": "raise ValueError('no weights')",
        "second": program(),
    }
    bundles = {name: hall.write_bundle(tmp_path / name, text) for name, text in texts.items()}
    folder = tmp_path / "run"
    registrar = Registrar(
        folder, [(5, "red", bundles["second"]), (5, "blue", bundles["broken"]), (25, "red", bundles["first"])]
    )
    more = [Entry("registrar", "a test", None, registrar), hall.light("blue", hall.good)]
    ran = hall.play(data, folder, {"red": bundles["first"]}, "real", more)

    assert [(one.number, one.window) for one in registrar.taken] == [(1, "person2"), (1, "person2")]
    assert all("versions are frozen" in error for _, error in registrar.refused)
    assert any(sent <= 20 and "until the window before person2" in error for sent, error in registrar.refused)
    assert any(sent > 20 and "no other window opens in this run" in error for sent, error in registrar.refused)

    rows = ran.played.scored["red"].rows
    assert rows["right"].to_list() == [0, 0, 0, 0, 1, 1, 1, 1] and rows["answered"].all()
    assert ran.accuracy("blue") == 1.0 and ran.unanswered("blue") == {}
    end = Recording(folder).end
    first = Recording(folder).head.entrants[0].what
    assert end.versions["red"] == [first, registrar.taken[0].digest]
    assert end.versions["blue"] == ["a thread"] * 2
    assert [str(death) for death in end.deaths["blue"]] == [
        "version 1 was not taken: blue: ValueError: no weights (Algorithm/MyAlgorithm.py, line 1)"
    ]
    assert not end.deaths["red"]
    assert end.outputs["red"].count("the first") == 4
    ran.require_same_again()


@pytest.fixture
def under_way(run, tmp_path):
    """Runs that somebody writes, begun so many seconds ago."""
    head = Recording(run).head
    shutil.rmtree(tmp_path / "data")
    write_data(tmp_path / "data", window_s=3600.0)
    with ExitStack() as stack:

        def begin(ago_s=0.0, pace="real"):
            began = datetime.now(UTC) - timedelta(seconds=ago_s)
            changed = msgspec.structs.replace(head, pace=pace, started_at=began.isoformat())
            folder = tmp_path / f"run-{pace}-{ago_s}"
            stack.enter_context(closing(Recorder(folder, changed)))
            return folder

        yield begin


def test_a_version_is_registered_by_command(cli, tmp_path, under_way):
    bundle = hall.write_bundle(tmp_path / "new", program())
    ran = cli("register", under_way(), "good", bundle)
    assert ran.code == 0 and "good: version 1 (sha256:" in ran.err and "plays from person1 on" in ran.err
    ran = cli("register", under_way(3700.0), "good", bundle)
    assert ran.code == 1 and "versions are frozen until the window before person2, from 1:31:40 to" in ran.err


def test_what_cannot_be_registered_for_is_told(cli, tmp_path, run, under_way):
    bundle = hall.write_bundle(tmp_path / "new", program())
    with pytest.raises(PalestraError, match="this run is over since 20"):
        session.register_version(run, "good", bundle)
    with pytest.raises(UnknownName, match="Did you mean 'good'"):
        session.register_version(under_way(), "god", bundle)
    with pytest.raises(PalestraError, match="virtual time, which has no windows"):
        session.register_version(under_way(pace="fast"), "good", bundle)
    with pytest.raises(PalestraError, match="expected a folder that `palestra play` wrote"):
        session.register_version(tmp_path, "good", bundle)


def test_a_replay_by_other_code_says_so_and_gives_the_same_numbers(cli, run):
    end = run / "end.json"
    found = json.loads(end.read_text())
    for result in found["results"]:
        result["provenance"]["code"] = "sha256:another"
    end.write_text(json.dumps(found))
    ran = cli("replay", run)
    assert ran.code == 0 and "other code computes them now" in ran.err


def test_windows_before_testers_are_told_of_as_the_time_that_they_take(tiny):
    track = registry.track("near-eye-live-v1")
    data = read_live_data(track, tiny(track.id))
    assert data.waiting_s == len({sitting.name for sitting in data.sittings}) * 3600
    without = registry.track("near-eye-live-v1", {"window_s": "0"})
    assert read_live_data(without, tiny(track.id), data.sheet).waiting_s == 0
