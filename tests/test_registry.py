import os
import shutil
import subprocess
import sys

import pytest

from palestra import registry
from palestra.errors import PalestraError, UnknownName
from tests import ROOT


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(registry.OUTSIDE, "")
    registry.add_folder(tmp_path)
    return tmp_path


def test_the_folder_is_the_registry():
    files = ["eye-segmentation-v1", "gaze-prediction-v1", "near-eye-gaze-v1", "remote-gaze-v1"]
    live, acted = ["emotion-eeg-v1", "near-eye-live-v1"], ["tabletop-manip-v1"]
    assert list(registry.tracks()) == sorted(files + live + acted)
    assert [name for name, track in registry.tracks().items() if track.arrives == ["stream"]] == live
    assert [name for name, track in registry.tracks().items() if track.arrives == ["episode", "judged"]] == acted


def test_every_track_has_a_solution_and_every_solution_a_track():
    assert {solution.track for solution in registry.solutions()} == set(registry.tracks())


def test_an_unknown_track_gets_a_hint():
    with pytest.raises(UnknownName, match="near-eye-gaze-v1"):
        registry.track("near-eye-gase-v1")


def test_an_unknown_solution_gets_a_hint():
    with pytest.raises(UnknownName, match="hold-last"):
        registry.solution("gaze-prediction-v1", "hold-lst")


def test_a_file_without_a_track_is_named(folder):
    (folder / "empty.py").write_text("x = 1\n")
    with pytest.raises(PalestraError, match=r"empty\.py: a track file ends in TRACK"):
        registry.tracks()


def test_a_file_that_fails_is_named_with_its_reason(folder):
    (folder / "broken.py").write_text("1 / 0\n")
    with pytest.raises(PalestraError, match=r"broken\.py: fails when it is loaded: ZeroDivisionError"):
        registry.tracks()


def test_the_same_id_twice_is_refused(folder):
    (folder / "again.py").write_text("from palestra.tracks.near_eye.gaze_v1 import TRACK\n")
    with pytest.raises(PalestraError, match="exists already"):
        registry.tracks()


def test_a_file_named_as_another_track_does_not_take_its_place(folder):
    (folder / "near_eye_gaze_v1.py").write_text("from palestra.tracks.gaze_prediction.v1 import TRACK\n")
    with pytest.raises(PalestraError, match=r"another Python module|exists already"):
        registry.tracks()


def test_an_outside_track_may_use_what_python_has(folder):
    (folder / "with_dataclass_v1.py").write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass, replace\n"
        "from palestra.tracks.near_eye.gaze_v1 import TRACK as OTHER\n"
        "@dataclass\nclass Thing:\n    number: int\n"
        "TRACK = replace(OTHER, id='with-dataclass-v1')\n"
    )
    assert registry.track("with-dataclass-v1").id == "with-dataclass-v1"


def test_a_name_that_python_has_already_is_refused(folder):
    (folder / "json.py").write_text("")
    with pytest.raises(PalestraError, match="another Python module"):
        registry.tracks()


def test_a_folder_that_is_not_there_is_named():
    with pytest.raises(PalestraError, match="is not there; expected a folder"):
        registry.add_folder(registry.Path("nowhere"))


def test_settings_are_read_from_text():
    assert registry.track("near-eye-gaze-v1", {"score_calibration": "true"}).setting_values["score_calibration"] is True
    assert registry.track("eye-segmentation-v1", {"rank_by": "image"}).ranks.name == "miou_image"


@pytest.mark.parametrize(
    ("track", "settings", "message"),
    [
        ("eye-segmentation-v1", {"rank_by": "median"}, "expected global or image; the default is global"),
        ("eye-segmentation-v1", {"rank": "image"}, "rank_by"),
        ("near-eye-gaze-v1", {"score_calibration": "maybe"}, "found 'maybe', expected true or false"),
        ("gaze-prediction-v1", {"x": "1"}, "has no settings"),
    ],
)
def test_a_setting_that_is_wrong_is_told(track, settings, message):
    with pytest.raises(PalestraError, match=message):
        registry.track(track, settings)


# --- what is loaded, and what breaks


def loaded(code, folder=ROOT):
    """The modules of challenges that are there after these lines; the package is that of the folder."""
    told = "\nprint(*(name for name in sys.modules if name.startswith('palestra.tracks.')), file=sys.stderr)"
    ran = python(f"import sys\n{code}{told}", folder)
    assert ran.returncode == 0, ran.stderr
    return set(ran.stderr.split())


def python(code, folder=ROOT):
    command, env = [sys.executable, "-c", code], os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


BY_COMMAND = """
from palestra.cli import main
sys.argv = ["palestra", "solutions", "emotion-eeg-v1", "--json"]
try:
    main()
except SystemExit as stopped:
    assert not stopped.code
"""
LISTED = "from palestra import registry\nassert len(registry.solutions('emotion-eeg-v1')) == 3"


@pytest.mark.parametrize("code", [LISTED, BY_COMMAND], ids=["in Python", "by command"])
def test_listing_the_solutions_of_a_challenge_loads_neither_them_nor_other_challenges(code):
    found = loaded(code)
    assert "palestra.tracks.emotion_eeg.solutions" in found
    assert all(name.startswith("palestra.tracks.emotion_eeg") for name in found)
    assert not [name for name in found if name.startswith("palestra.tracks.emotion_eeg.solutions.")]


@pytest.fixture
def broken(tmp_path):
    """A copy of the package in which one solution has a syntax error."""
    heavy = shutil.ignore_patterns("weights", "__pycache__")
    shutil.copytree(ROOT / "palestra", tmp_path / "palestra", ignore=heavy)
    (tmp_path / "palestra/tracks/emotion_eeg/solutions/evidence.py").write_text("def broken(:\n")
    return tmp_path


def test_a_syntax_error_in_a_solution_breaks_that_solution_alone(broken):
    home = "palestra.tracks.emotion_eeg.solutions"
    lines = f"""
{LISTED}
assert registry.__file__.startswith({str(broken)!r})
from palestra.errors import PalestraError
registry.resolve("{home}.entropy:Linear"), registry.resolve("{home}.network:Network")
try:
    registry.resolve("{home}.evidence:Evidence")
except PalestraError as error:
    print(error)
"""
    ran = python(f"import sys{lines}", broken)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(f"{home}.evidence:Evidence cannot be loaded: SyntaxError: invalid syntax")
    assert "still works" in ran.stdout and "Traceback" not in ran.stderr


def test_a_solution_that_is_not_where_it_is_said_to_be_is_told_in_words():
    with pytest.raises(PalestraError, match=r"palestra\.nowhere:Thing cannot be loaded: ModuleNotFoundError"):
        registry.resolve("palestra.nowhere:Thing")
    with pytest.raises(PalestraError, match=r"cannot be loaded: AttributeError"):
        registry.resolve("palestra.tracks.emotion_eeg.solutions:NOTHING")
