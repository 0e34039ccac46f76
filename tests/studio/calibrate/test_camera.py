"""Cameras from drawn boards: what is found, what the track's reader reads, and which pictures are refused."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from palestra.cli import app
from palestra.errors import PalestraError, Refused
from palestra.metrics.transforms import KINECT_TO_WORLD
from palestra.studio.calibrate.boards import board_of, print_board
from palestra.studio.calibrate.camera import calibrate_camera
from palestra.studio.calibrate.files import read_camera
from palestra.studio.calibrate.turns import matrix_of
from palestra.tracks.remote_gaze.eyediap import calibration
from palestra.tracks.remote_gaze.eyediap.names import name_of
from tests.studio.calibrate.board_pictures import Lens, draw, poses, write

CHESS, CHARUCO = "chessboard:9x6:25", "charuco:8x6:30:22"
LENS = Lens()


@pytest.fixture(scope="module")
def shown(tmp_path_factory) -> dict[str, Path]:
    """Both boards, twelve pictures each."""
    folder = tmp_path_factory.mktemp("boards")
    return {spec: write(folder / spec[:5], board_of(spec), LENS, poses(12)) for spec in (CHESS, CHARUCO)}


@pytest.mark.parametrize("spec", [CHESS, CHARUCO])
def test_a_camera_is_found_to_a_few_tenths_of_a_percent(shown, spec, tmp_path):
    report = calibrate_camera(shown[spec], spec, tmp_path)
    camera = read_camera(tmp_path / "rgb_vga.json")
    assert camera.matrix[0, 0] == pytest.approx(LENS.focal, rel=0.004)
    assert camera.matrix[:2, 2] == pytest.approx(LENS.centre, abs=3)
    assert camera.rms_px < 0.2
    assert np.allclose(camera.lens[:2], LENS.bend[:2], atol=0.03)
    assert (tmp_path / "rgb_vga.png").read_bytes().startswith(b"\x89PNG")
    assert any("The lens bends by" in str(told) for told in report.told)


def test_the_tracks_own_reader_reads_the_camera(shown, tmp_path):
    session = tmp_path / "Data" / "1_A_DS_S"
    calibrate_camera(shown[CHARUCO], CHARUCO, session)
    ours, theirs = read_camera(session / "rgb_vga.json"), calibration.camera(tmp_path, name_of("1_A_DS_S"), "rgb_vga")
    assert (theirs.width, theirs.height) == LENS.size
    assert (theirs.intrinsics == ours.matrix).all()
    assert (theirs.pose.rotation == KINECT_TO_WORLD.rotation).all()
    assert (theirs.pose.translation == KINECT_TO_WORLD.translation).all()


def test_the_command_calibrates_and_says_what_it_wrote(shown, tmp_path):
    words = ["studio", "calibrate", "camera", str(shown[CHARUCO]), "--board", CHARUCO, "--out", str(tmp_path)]
    ran = CliRunner().invoke(app.app, [*words, "--name", "rgb_hd"])
    assert ran.exit_code == 0, ran.output
    assert "focal length x" in ran.output
    assert (tmp_path / "rgb_hd_calibration.txt").exists()


def test_a_picture_that_does_not_belong_is_left_out(shown, tmp_path):
    """A board that bends for one picture: its corners are where no flat board has them."""
    folder = copied(shown[CHARUCO], tmp_path / "pictures")
    image = cv2.imread(str(folder / "02.png"), cv2.IMREAD_GRAYSCALE)
    v, u = np.indices(image.shape, np.float32)
    bent = cv2.remap(image, u + 8 * np.sin(v / 25), v + 6 * np.sin(u / 30), cv2.INTER_LINEAR)
    cv2.imwrite(str(folder / "02.png"), bent)
    report = calibrate_camera(folder, CHARUCO, tmp_path / "out")
    measures = {name: value for name, value, _ in report.measures}
    assert measures["views left out"] == 1
    assert measures["focal length x"] == pytest.approx(LENS.focal, rel=0.005)


def copied(folder: Path, to: Path, count: int = 99) -> Path:
    to.mkdir(parents=True)
    for file in sorted(folder.iterdir())[:count]:
        (to / file.name).write_bytes(file.read_bytes())
    return to


# --- refused


def test_a_board_that_is_in_no_picture(tmp_path):
    (tmp_path / "grey").mkdir()
    for name in ("a.png", "b.png"):
        cv2.imwrite(str(tmp_path / "grey" / name), np.full((120, 160), 90, np.uint8))
    with pytest.raises(PalestraError, match="of 9 × 6 inner corners was found in none of 2 pictures"):
        calibrate_camera(tmp_path / "grey", CHESS, tmp_path / "out")


def test_squares_counted_for_corners_are_told(shown, tmp_path):
    with pytest.raises(PalestraError, match="one of 9x6 inner corners was found"):
        calibrate_camera(shown[CHESS], "chessboard:10x7:25", tmp_path / "out")


def test_pictures_of_different_sizes(shown, tmp_path):
    folder = copied(shown[CHESS], tmp_path / "pictures", 3)
    cv2.imwrite(str(folder / "99.png"), np.zeros((240, 320), np.uint8))
    with pytest.raises(PalestraError, match="different sizes: '00' is 640×480 and '99' is 320×240"):
        calibrate_camera(folder, CHESS, tmp_path / "out")


def test_too_few_views(shown, tmp_path):
    folder = copied(shown[CHARUCO], tmp_path / "pictures", 4)
    with pytest.raises(PalestraError, match="too few views: the board was found in 4 of 4 pictures"):
        calibrate_camera(folder, CHARUCO, tmp_path / "out")


def test_all_views_at_the_same_angle(tmp_path):
    board, turn = board_of(CHARUCO), matrix_of(np.radians([8.0, 5.0, 0.0]))
    held = [(turn, place) for _, place in poses(8)]
    with pytest.raises(PalestraError, match="at the same angle"):
        calibrate_camera(write(tmp_path / "pictures", board, LENS, held), CHARUCO, tmp_path / "out")


def test_a_board_that_was_shown_in_one_corner_is_drawn_and_not_written(tmp_path):
    board = board_of(CHARUCO)
    held = [(turn, np.array([-0.33, -0.22, 0.8])) for turn, _ in poses(8)]
    with pytest.raises(PalestraError, match=r"in \d+% of the picture.*no calibration was written"):
        calibrate_camera(write(tmp_path / "pictures", board, LENS, held, noise=1.0), CHARUCO, tmp_path / "out")
    assert (tmp_path / "out" / "rgb_vga.png").exists()
    assert not (tmp_path / "out" / "rgb_vga.json").exists()


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("chess:9x6:25", "is no board"),
        ("chessboard:9x6", "is no board"),
        ("charuco:8x6:22:30", "markers that are smaller"),
        ("chessboard:1x6:25", "2 to 40 inner corners"),
    ],
)
def test_a_board_is_named_in_full(spec, told):
    with pytest.raises(PalestraError, match=told):
        board_of(spec)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(Refused, match="nothing there"):
        calibrate_camera(tmp_path / "none", CHESS, tmp_path / "out")


def test_a_picture_that_is_damaged(tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG but no more")
    with pytest.raises(PalestraError, match="damaged, or no picture"):
        calibrate_camera(tmp_path, CHESS, tmp_path / "out")


def test_a_name_that_leads_out_of_the_folder(shown, tmp_path):
    with pytest.raises(PalestraError, match="names a file"):
        calibrate_camera(shown[CHESS], CHESS, tmp_path, "../other")


@pytest.mark.parametrize(
    "content", [b"[]", b"{", b'{"name":"a","width":1,"height":1,"intrinsics":[[1]],"distortion":[]}']
)
def test_a_file_that_is_no_camera(tmp_path, content):
    (tmp_path / "camera.json").write_bytes(content)
    with pytest.raises((PalestraError, Refused)):
        read_camera(tmp_path / "camera.json")


# --- printing


def test_a_printed_board_is_found_again(tmp_path):
    paper = print_board("charuco:6x4:30:22", tmp_path / "board.png")
    assert paper == "A4"
    found = board_of("charuco:6x4:30:22").find(cv2.imread(str(tmp_path / "board.png")))
    assert found is not None
    assert len(found.ids) == 15
    across = np.linalg.norm(found.corners[4] - found.corners[0])
    assert across / 300 * 25.4 == pytest.approx(4 * 30, rel=0.002)  # at 300 dots per inch it has its true size


def test_a_board_is_printed_as_pdf_by_the_command(tmp_path):
    ran = CliRunner().invoke(app.app, ["studio", "calibrate", "board", CHESS, "--out", str(tmp_path / "board.pdf")])
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "board.pdf").read_bytes().startswith(b"%PDF")
    assert "A4" in ran.output


def test_a_board_that_is_partly_hidden_is_found_by_its_markers():
    board = board_of(CHARUCO)
    image = draw(board, LENS, matrix_of(np.array([0.3, 0.2, 0.0])), np.array([0.0, 0.0, 0.5]))
    image[:, 400:] = 128
    found = board.find(image)
    assert found is not None
    assert 6 <= len(found.ids) < len(board.points)
