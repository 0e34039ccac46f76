import pytest

from palestra import registry
from palestra.errors import PalestraError, UnknownName


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
