"""Two cameras: where the second stands, boards that moved between two pictures, and pairs that are no pairs."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from palestra.errors import PalestraError
from palestra.metrics.transforms import KINECT_TO_WORLD, Pose
from palestra.studio.calibrate.boards import board_of
from palestra.studio.calibrate.camera import calibrate_camera
from palestra.studio.calibrate.files import CameraFile, read_camera, write_camera
from palestra.studio.calibrate.stereo import calibrate_stereo
from palestra.studio.calibrate.turns import angle_deg, matrix_of
from palestra.studio.capture.run import record
from palestra.studio.capture.writer import How
from palestra.tracks.remote_gaze.eyediap import calibration
from palestra.tracks.remote_gaze.eyediap.names import name_of
from tests.studio.calibrate.board_pictures import Lens, poses, write

CHARUCO = "charuco:8x6:30:22"
TURN, SHIFT = matrix_of(np.radians([2.0, -9.0, 1.5])), np.array([-0.10, 0.01, 0.02])
LENSES = {"vga": Lens(), "hd": Lens(size=(800, 600), focal=640, centre=(396, 303), bend=(-0.08, 0.02, 0, 0, 0))}


def camera_of(name: str, lens: Lens) -> CameraFile:
    return CameraFile(name, *lens.size, lens.matrix.tolist(), list(lens.bend))


@pytest.fixture(scope="module")
def rig(tmp_path_factory) -> Path:
    """Pictures of both; in the third pair the board moved between the two."""
    folder, board = tmp_path_factory.mktemp("rig"), board_of(CHARUCO)
    held = poses(10, seed=1, near_m=0.5, far_m=0.7)
    second = [(TURN @ turn, TURN @ place + SHIFT) for turn, place in held]
    second[2] = (second[2][0] @ matrix_of(np.radians([7.0, 0, 0])), second[2][1] + [0.03, 0, 0.03])
    for name, places in (("vga", held), ("hd", second)):
        write(folder / name, board, LENSES[name], places)
        write_camera(folder, camera_of({"vga": "rgb_vga", "hd": "rgb_hd"}[name], LENSES[name]))
    return folder


def test_the_second_camera_is_where_it_stands_and_the_tracks_reader_reads_it(rig, tmp_path):
    session = tmp_path / "Data" / "1_A_DS_S"
    known = (rig / "rgb_vga.json", rig / "rgb_hd.json")
    report = calibrate_stereo(rig / "vga", rig / "hd", CHARUCO, session, known)
    true = Pose(TURN, SHIFT).back().then(KINECT_TO_WORLD)
    read = calibration.camera(tmp_path, name_of("1_A_DS_S"), "rgb_hd")
    assert np.linalg.norm(read.pose.translation - true.translation) < 0.001
    assert angle_deg(read.pose.rotation @ true.rotation.T) < 0.15
    measures = {name: value for name, value, _ in report.measures}
    assert measures["pairs left out"] == 1
    assert measures["between the cameras"] == pytest.approx(1e3 * np.linalg.norm(SHIFT), abs=1)
    assert (session / "rgb_vga-rgb_hd.png").exists()


def test_cameras_that_are_of_another_size(rig, tmp_path):
    with pytest.raises(PalestraError, match=r"is of pictures of 800×600, those in .* have 640×480"):
        calibrate_stereo(rig / "vga", rig / "hd", CHARUCO, tmp_path, (rig / "rgb_hd.json", None))


def test_pairs_that_never_were_taken_together(rig, tmp_path):
    """Each picture of the second camera is called like another one of the first."""
    files = sorted((rig / "hd").iterdir())
    (tmp_path / "hd").mkdir()
    for index, file in enumerate(files):
        (tmp_path / "hd" / files[(index + 3) % len(files)].name).write_bytes(file.read_bytes())
    known = (rig / "rgb_vga.json", rig / "rgb_hd.json")
    with pytest.raises(PalestraError, match="pairs agree on where the second camera stands"):
        calibrate_stereo(rig / "vga", tmp_path / "hd", CHARUCO, tmp_path / "out", known)


def test_pictures_without_a_common_name(rig, tmp_path):
    cv2.imwrite(str(tmp_path / "x.png"), np.zeros((48, 64), np.uint8))
    with pytest.raises(PalestraError, match="no pictures of the same name"):
        calibrate_stereo(rig / "vga", tmp_path, CHARUCO, tmp_path / "out")


def test_a_chessboard_that_looks_the_same_upside_down(rig, tmp_path):
    with pytest.raises(PalestraError, match="looks the same upside down"):
        calibrate_stereo(rig / "vga", rig / "hd", "chessboard:8x6:25", tmp_path)


def test_a_source_of_a_recording_is_taken_as_a_folder_is(rig, tmp_path):
    """What `palestra studio capture` recorded needs no copying."""
    record([f"vga=played:{rig / 'vga'}@fast"], tmp_path / "session", None, How())
    calibrate_camera(tmp_path / "session" / "vga", CHARUCO, tmp_path / "out")
    assert read_camera(tmp_path / "out" / "rgb_vga.json").matrix[0, 0] == pytest.approx(560, rel=0.01)
