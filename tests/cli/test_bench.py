"""`palestra bench`: what it prints, how it ends, and what it keeps when it is stopped."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from palestra import registry
from tests import ROOT
from tests.evaluation.benches import LEARNERS, SESSIONS, TRACK, noted, write_data

PATIENCE_S = 120
MINE = f"{LEARNERS}:HeadPose"


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_data(tmp_path_factory.mktemp("eyediap"))


@pytest.fixture
def notes(tmp_path) -> Path:
    (tmp_path / "notes").mkdir()
    return tmp_path / "notes"


@pytest.fixture
def bench(cli, data):
    """Runs a benchmark on the small data."""
    return lambda *words: cli("bench", TRACK, *words, "--data", data, "--workers", 1)


def test_protocols_are_listed_without_any_data(cli):
    ran = cli("bench", TRACK, "--list", "--json")
    assert [row["name"] for row in ran.json] == [one.name for one in registry.track(TRACK).study.protocols]
    assert "trainings" not in ran.json[0]
    ran = cli("bench", TRACK, "--list")
    assert ran.code == 0 and "4-FT" in ran.out and "cross-data" in ran.out


def test_with_data_the_list_says_how_much_each_would_train_and_test(cli, data):
    listed = cli("bench", TRACK, "--list", "--json", "--data", data).json
    sizes = {row["name"]: (row["trainings"], row["tests"]) for row in listed}
    assert sizes["1-FT"] == (4, 4) and sizes["3-FT"] == (8, 8) and sizes["2-FT"] == (4, 4)
    assert sizes["1-DS"] == (0, 0)  # there are no such sessions
    assert sizes["cross-data"] == (1, 4)


def test_a_learner_of_ones_own_gets_a_result_that_names_its_protocol(bench):
    ran = bench(MINE, "--protocol", "1-FT", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["entrant"] == "HeadPose"
    assert ran.json["provenance"]["settings"]["protocol"] == "1-FT"
    assert 0 < ran.json["metrics"]["error_deg"]["value"] < 90
    ran = bench(MINE, "--protocol", "1-FT")
    assert "Benchmark 1, accuracy (FT)" in ran.out and "error_deg" in ran.out


def test_what_is_kept_is_used_and_fresh_does_it_anew(bench, notes):
    words = (MINE, "--protocol", "1-FT", "--option", f"notes={notes}", "--json")
    first = bench(*words).json["metrics"]
    assert bench(*words).json["metrics"] == first
    assert noted(notes, "fit") == dict.fromkeys(SESSIONS, 1)
    assert bench(*words, "--fresh").json["metrics"] == first
    assert noted(notes, "fit") == dict.fromkeys(SESSIONS, 2)


def test_several_are_compared_on_the_same_people(bench):
    ran = bench(MINE, f"{LEARNERS}:Watched", "--protocol", "1-FT", "--json")
    assert [one["entrant"] for one in ran.json["results"]] == ["HeadPose", "Watched"]
    (difference,) = ran.json["differences"]
    assert difference["by"]["value"] == 0 and difference["metric"] == "error_deg"
    assert "behind the first" in bench(MINE, f"{LEARNERS}:Watched", "--protocol", "1-FT").out


def test_its_predictions_score_the_same_as_a_file_from_elsewhere(bench, cli, data, tmp_path):
    file, scores = tmp_path / "rays.csv", tmp_path / "scores.parquet"
    found = bench(MINE, "--protocol", "2-FT", "--predictions-out", file, "--scores-out", scores, "--json").json
    again = cli("score", TRACK, file, "--data", data, "--protocol", "2-FT", "--json")
    assert again.code == 0, again.err
    assert again.json["metrics"] == found["metrics"]
    assert pl.read_parquet(scores).height > 0


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((), 1, "Name a solution and --protocol"),
        ((MINE, "--protocol", "1-TF"), 1, "Did you mean '1-FT'?"),
        (("no-such", "--protocol", "1-FT"), 1, "solution for remote-gaze-v1 that learns"),
        ((f"{LEARNERS}:Nobody", "--protocol", "1-FT"), 1, "expected a class Nobody"),
        ((f"{LEARNERS}:Raises", "--protocol", "1-FT"), 1, "no sunshine today"),
        ((MINE, "--protocol", "cross-data"), 1, "--train-data DIR"),
        ((MINE, "--protocol", "1-FT", "--executor", "rya"), 2, "Did you mean 'ray'?"),
        ((MINE, "--protocol", "1-FT", "--address", "x:1"), 2, "--executor ray"),
        ((MINE, "--protocol", "1-FT", "--executor", "ray", "--address", "x:1"), 2, "ray start --num-cpus"),
        ((MINE, MINE, "--protocol", "1-FT", "--scores-out", "x.parquet"), 1, "name one"),
    ],
    ids=[
        "nothing",
        "protocol",
        "solution",
        "class",
        "raises",
        "elsewhere",
        "executor",
        "address",
        "workers",
        "outputs",
    ],
)
def test_what_cannot_be_done_is_told_in_words(bench, words, code, told):
    ran = bench(*words)
    assert ran.code == code
    assert told in " ".join(ran.err.replace("│", " ").split())


def test_a_track_that_takes_no_files_writes_none(cli, tmp_path):
    words = ("--protocol", "5-fold", "--predictions-out", tmp_path / "a.csv")
    ran = cli("bench", "emotion-eeg-v1", "entropy", *words)
    assert ran.code == 1 and "--scores-out" in ran.err


def test_the_program_in_the_docs_runs(bench, tmp_path):
    page = (ROOT / "docs" / "bench.md").read_text()
    (tmp_path / "mine.py").write_text(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1])
    ran = bench(f"{tmp_path / 'mine.py'}:Mine", "--protocol", "3-FT", "--option", "penalty=2", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["metrics"]["error_deg"]["value"] < 60


# --- stopped in the middle


@pytest.fixture
def pipes(tmp_path):
    """Where the third fold says that it runs, and what it then waits for."""
    hold, go = tmp_path / "hold", tmp_path / "go"
    os.mkfifo(hold)
    os.mkfifo(go)
    return hold, go


def started(data: Path, home: Path, notes: Path, pipes: tuple[Path, Path]) -> subprocess.Popen[str]:
    """A benchmark in a process of its own, one fold after another."""
    options = {"notes": notes, "hold": pipes[0], "go": pipes[1], "holds": SESSIONS[2]}
    words = ["bench", TRACK, MINE, "--protocol", "1-FT", "--data", str(data), "--workers", "1", "--json"]
    words += [word for name, value in options.items() for word in ("--option", f"{name}={value}")]
    environment = {**os.environ, "PALESTRA_CACHE": str(home)}
    return subprocess.Popen(
        [sys.executable, "-m", "palestra.cli.app", *words],
        env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def in_the_third(process: subprocess.Popen[str], home: Path, hold: Path) -> int:
    """Waits until the third fold runs and the first two are written; says which process runs it."""
    pid = int(hold.read_text())
    while len(list((home / "bench").glob("*.parquet"))) < 2:
        assert process.poll() is None
        os.sched_yield()
    return pid


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists() or "State:\tZ" in Path(f"/proc/{pid}/status").read_text()


def finish(data: Path, home: Path, notes: Path, pipes: tuple[Path, Path]) -> str:
    """The same once more, with nothing in its way."""
    pipes[0].unlink()
    out, err = started(data, home, notes, pipes).communicate(timeout=PATIENCE_S)
    assert err == ""
    assert noted(notes, "fit") == {SESSIONS[0]: 1, SESSIONS[1]: 1, SESSIONS[2]: 2, SESSIONS[3]: 1}
    return out


def test_killed_in_the_middle_it_loses_the_running_fold_alone(data, notes, pipes, tmp_path):
    home = tmp_path / "cache"
    process = started(data, home, notes, pipes)
    worker = in_the_third(process, home, pipes[0])
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    while not gone(worker):  # it has a group of its own, and ends with its parent
        os.sched_yield()
    assert '"HeadPose"' in finish(data, home, notes, pipes)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
def test_stopped_in_the_middle_it_says_so_and_keeps_what_is_done(data, notes, pipes, tmp_path, how):
    home = tmp_path / "cache"
    process = started(data, home, notes, pipes)
    worker = in_the_third(process, home, pipes[0])
    for _ in range(2):  # `timeout` and impatient people tell it twice
        process.send_signal(how)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "Stopped." in err and "Traceback" not in err
    assert gone(worker)
    finish(data, home, notes, pipes)


# --- other tracks


@pytest.mark.parametrize(
    ("track_id", "solution", "chance"),
    [("emotion-eeg-v1", "entropy", 0.05), ("eye-segmentation-v1", "threshold", 0.3)],
)
def test_a_reference_solution_learns_under_a_protocol(cli, tiny, track_id, solution, chance):
    ran = cli("bench", track_id, solution, "--protocol", "5-fold", "--data", tiny(track_id), "--workers", 1, "--json")
    assert ran.code == 0, ran.err
    name = registry.track(track_id).ranks.name
    assert chance < ran.json["metrics"][name]["value"] < 1
    assert ran.json["unit"] == "person"
    assert ran.json["provenance"]["settings"]["protocol"] == "5-fold"
    assert "experiment" not in ran.json["by"], "there is but one"
