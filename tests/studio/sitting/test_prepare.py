"""What is wrong with a final on people is said before anything is written."""

from pathlib import Path

import pytest

from palestra import registry
from palestra.errors import PalestraError
from palestra.studio.sitting.capture_file import CaptureFile, read_capture_file
from palestra.studio.sitting.prepare import prepare_data, sources_named
from tests.studio.sitting import final

CAMERAS = {"left": "camera:0", "right": "camera:1"}


@pytest.mark.parametrize(
    ("people", "sources", "said"),
    [
        (["../Ada"], CAMERAS, "cannot be the name of a person"),
        (["Ada", "Ada"], CAMERAS, "Two people have the same name"),
        (["Ada"], {"left": "camera:0"}, "No source of right"),
        (["Ada"], {**CAMERAS, "right": "kinect:0"}, "kinect"),
    ],
)
def test_people_and_sources_that_cannot_be(tmp_path: Path, people: list[str], sources: dict[str, str], said: str):
    with pytest.raises(PalestraError, match=said):
        prepare_data(final.track(), tmp_path / "final", final.stimuli(tmp_path), CaptureFile(people, sources))
    assert [file.name for file in tmp_path.iterdir()] in ([], ["points.toml"])


@pytest.mark.parametrize(
    ("track", "stimuli", "said"),
    [
        ("near-eye-gaze-v1", "points", "is not played to people"),
        ("near-eye-live-v1", "targets", "found blocks of targets, expected one of the kind points"),
        ("emotion-eeg-v1", "points", "expected one of the kind emotion"),
    ],
)
def test_what_does_not_go_together(tmp_path: Path, track: str, stimuli: str, said: str):
    sources = {"eeg": "lsl:Amp"} if track.startswith("emotion") else CAMERAS
    with pytest.raises(PalestraError, match=said):
        prepare_data(registry.track(track), tmp_path / "final", Path(stimuli), CaptureFile(["Ada"], sources))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path):
    (tmp_path / "final").mkdir()
    (tmp_path / "final" / "mine").touch()
    with pytest.raises(PalestraError, match="is there already"):
        prepare_data(final.track(), tmp_path / "final", Path("points"), CaptureFile(["Ada"], CAMERAS))
    assert [file.name for file in (tmp_path / "final").iterdir()] == ["mine"]


def test_what_was_said_is_read_again(tmp_path: Path):
    file = CaptureFile(["Ada", "B-2"], {**CAMERAS, "scene": 'camera:http://h/"a"\\b'}, 0, language="zh")
    prepare_data(final.track(), tmp_path / "final", final.stimuli(tmp_path), file)
    assert read_capture_file(tmp_path / "final") == file


def test_a_capture_file_that_is_broken_is_told(tmp_path: Path):
    prepare_data(final.track(), tmp_path / "final", final.stimuli(tmp_path), CaptureFile(["Ada"], CAMERAS))
    (tmp_path / "final" / "captures" / "capture.toml").write_text('people = ["Ada"]\n')
    with pytest.raises(PalestraError, match=r"capture\.toml: .*`sources`"):
        read_capture_file(tmp_path / "final")


def test_sources_are_named_once_and_folders_are_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "pictures").mkdir()
    monkeypatch.chdir(tmp_path)
    assert sources_named(["left=played:pictures@50,loop", "right=camera:1"]) == {
        "left": f"played:{tmp_path}/pictures@50,loop",
        "right": "camera:1",
    }
    for words, said in ((["camera:0"], "names no source"), (["a=camera:0", "a=camera:1"], "Two sources are called")):
        with pytest.raises(PalestraError, match=said):
            sources_named(words)
