"""What a live run costs, counted: files that are opened, answers that are interpreted, modules that are loaded."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from palestra.live.recording import Recording
from tests import ROOT

MOST_MODULES = 90


@dataclass(frozen=True)
class Counted:
    """A run that was played and then replayed."""

    data: Path
    run: Recording
    played: dict
    replayed: dict

    @property
    def answered(self) -> int:
        decisions = [one.decision for who in self.run.head.entrants for one in self.run.decisions(who.name)]
        assert len(decisions) == self.run.head.decisions * len(self.run.head.entrants)
        return sum(one.answered_s is not None and not one.note for one in decisions)


def count(data, out, *words):
    command = [sys.executable, "-m", "tests.cli.counting", data, out, *words]
    ran = subprocess.run(list(map(str, command)), cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
                         capture_output=True, text=True, check=False)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return json.loads(out.read_text())


def played(tiny, folder, track, *words):
    data, run = tiny(track), folder / "run"
    first = count(data, folder / "played.json", "play", track, *words, "--pace", "fast", "--trusted", "--data", data,
                  "--run", run)  # fmt: skip
    return Counted(data, Recording(run), first, count(data, folder / "replayed.json", "replay", run))


@pytest.fixture(scope="module")
def eeg(tiny, tmp_path_factory):
    return played(tiny, tmp_path_factory.mktemp("eeg"), "emotion-eeg-v1", "entropy")


@pytest.fixture(scope="module")
def eyes(tiny, tmp_path_factory):
    return played(tiny, tmp_path_factory.mktemp("eyes"), "near-eye-live-v1", "pupil")


@pytest.fixture(scope="module")
def table(tiny, tmp_path_factory):
    words = ["do-nothing", "--set", "limit_s=1"]
    return played(tiny, tmp_path_factory.mktemp("table"), "tabletop-manip-v1", *words)


@pytest.fixture(params=["played", "replayed"])
def way(request):
    return request.param


def test_a_persons_recording_is_opened_once_to_plan_the_run_and_once_to_send_it(eeg, way):
    people = {f"test/{file.name}": 1 for file in (eeg.data / "test").glob("*.pkl")}
    assert len(people) == 5
    assert getattr(eeg, way)["opened"] == {"known": people, "sent": people}


def test_pictures_are_opened_once_to_check_them_and_once_to_send_them(eyes, way):
    opened = getattr(eyes, way)["opened"]
    pictures = {str(file.relative_to(eyes.data)): 1 for file in (eyes.data / "test").rglob("*.png")}
    assert len(pictures) == 180
    assert opened["sent"] == pictures
    assert opened["known"].items() >= pictures.items() and set(opened["known"].values()) == {1}


def test_a_case_of_the_table_is_opened_once(table, way):
    opened = getattr(table, way)["opened"]
    hidden = {str(file.relative_to(table.data)) for file in (table.data / "hidden").glob("*.json")}
    assert opened == {"known": dict.fromkeys([*hidden, "cases.csv", "truth/goals.json"], 1), "sent": {}}


@pytest.mark.parametrize("track", ["eeg", "eyes", "table"])
def test_an_answer_is_interpreted_once(request, track, way):
    run = request.getfixturevalue(track)
    assert run.answered > 0
    assert getattr(run, way)["heard"] == run.answered


def test_playing_loads_few_modules(eeg):
    modules = eeg.played["modules"]
    assert "palestra.live.run" in modules
    assert len(modules) <= MOST_MODULES, modules


def test_playing_loads_nothing_of_another_challenge_nor_of_report_pages(eeg):
    folders = {name.split(".")[2] for name in eeg.played["modules"] if name.startswith("palestra.tracks.")}
    assert folders == {"emotion_eeg"}
    assert not [name for name in eeg.played["modules"] if name.startswith(("palestra.report", "palestra.i18n"))]


def test_what_is_printed_knows_nothing_of_live_runs():
    code = "import sys, palestra.console; print(*(name for name in sys.modules if name.startswith('palestra.')))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    rooms = {name.split(".")[1] for name in ran.stdout.split()}
    assert rooms <= {"console", "door", "errors", "metrics", "parallel", "records", "text"}
    assert "palestra.live" not in (ROOT / "palestra" / "console.py").read_text(), "not for types either"
