"""EYEDIAP's calibrations: the same bits back, and what is missing or impossible refused by its section."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.errors import Refused
from palestra.metrics.transforms import Camera, Head, Pose
from palestra.tracks.remote_gaze import eyediap
from palestra.tracks.remote_gaze.eyediap.calibration import camera_text, eyes_text, screen_text
from tests.tracks.remote_gaze.eyediap import sample

NAME = eyediap.name_of("1_A_CS_S")
FILE = "rgb_vga_calibration.txt"
finite = st.floats(allow_nan=False, allow_infinity=False)
sizes = st.floats(1e-9, 1e9)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    sample.write(tmp_path, sample.recording(frames=2), videos=False)
    return tmp_path


def spoil(data: Path, old: str, new: str, file: str = FILE) -> Path:
    path = data / "Data" / str(NAME) / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return path


def refusal(call, *arguments) -> str:
    with pytest.raises(Refused) as caught:
        call(*arguments)
    return str(caught.value)


def turn(x: float, y: float, z: float) -> np.ndarray:
    """Any rotation, from a quaternion 1 + xi + yj + zk."""
    w, x, y, z = np.array([1, x, y, z]) / np.linalg.norm([1, x, y, z])
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


@settings(max_examples=50, deadline=None)
@given(
    st.lists(sizes, min_size=2, max_size=2),
    st.lists(finite, min_size=5, max_size=5),
    st.lists(st.floats(-5, 5), min_size=3, max_size=3),
)
def test_a_camera_is_read_with_the_bits_it_was_written_with(tmp_path_factory, focal, others, turned):
    intrinsics = np.array([[focal[0], 0, others[0]], [0, focal[1], others[1]], [0, 0, 1]])
    written = Camera(1920, 1080, intrinsics, Pose(turn(*turned), np.array(others[2:])))
    folder = tmp_path_factory.mktemp("camera") / "Data" / str(NAME)
    folder.mkdir(parents=True)
    (folder / "calibration_rgb_hd.txt").write_text(camera_text(written))
    read = eyediap.camera(folder.parent.parent, NAME, "rgb_hd")
    assert (read.width, read.height) == (1920, 1080)
    assert np.array_equal(read.intrinsics, intrinsics)
    assert np.array_equal(read.pose.rotation, written.pose.rotation)
    assert np.array_equal(read.pose.translation, written.pose.translation)


def test_the_depth_model_is_read_with_the_bits_it_was_written_with(data):
    read, written = eyediap.depth_model(data, NAME), sample.model()
    assert (read.k, read.alpha) == (written.k, written.alpha)
    assert np.array_equal(read.beta, written.beta)


@given(
    st.lists(sizes, min_size=2, max_size=2),
    st.lists(finite, min_size=3, max_size=3),
    st.lists(st.floats(-5, 5), min_size=3, max_size=3),
)
def test_the_screens_file_is_read_with_the_bits_it_was_written_with(tmp_path_factory, k, t, turned):
    file = tmp_path_factory.mktemp("screen") / "Metadata/ScreenCalibration/screen_calibration.txt"
    file.parent.mkdir(parents=True)
    file.write_text(screen_text(turn(*turned), np.array(t), np.array(k)))
    rotation, translation, metres_per_pixel = eyediap.screen_calibration(file.parent.parent.parent)
    assert np.array_equal(rotation, turn(*turned))
    assert translation.tolist() == t and metres_per_pixel.tolist() == k
    lines = file.read_text().splitlines()  # by position, as others read it
    assert [float(lines[1]), float(lines[3])] == k and list(map(float, lines[9:12])) == t


def test_eyeballs_are_the_left_one_then_the_right_one(data):
    assert np.array_equal(eyediap.eyeballs(data, 1), sample.EYES)
    assert np.array_equal(np.loadtxt(data / "Metadata/Participants/eyes_position_1.txt"), sample.EYES)


def test_sections_may_come_in_any_order_with_blank_lines_and_one_that_nobody_reads(data):
    before = eyediap.camera(data, NAME, "rgb_vga")
    path = data / "Data" / str(NAME) / FILE
    head, tail = path.read_text().split("[R]")
    path.write_text(f"\n[R]{tail}\n{head}[distorsion]\n0.1;0.2;0;0;0\n\n")
    after = eyediap.camera(data, NAME, "rgb_vga")
    assert np.array_equal(after.intrinsics, before.intrinsics)
    assert np.array_equal(after.pose.rotation, before.pose.rotation)


@pytest.mark.parametrize("section", ["resolution", "intrinsics", "R", "T", "k_coefficients", "alpha", "beta"])
def test_a_missing_section_is_refused_by_its_name(data, section):
    path = spoil(data, f"[{section}]", "[other]", "depth_calibration.txt")
    message = refusal(eyediap.depth_model, data, NAME)
    assert str(path) in message and f"no section [{section}]" in message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("160;120", "160", "2 numbers"),
        ("160;120", "160;0", "a width and a height"),
        ("160;120", "160.5;120", "a width and a height"),
        ("128.0;0.0;79.5", "0.0;0.0;79.5", "fx 0 cx"),
        ("128.0;0.0;79.5", "128.0;nan;79.5", "3 numbers"),
        ("128.0;0.0;79.5", "128.0;inf;79.5", "3 numbers"),
        ("128.0;0.0;79.5", "128.0;0.0;79.5;1.0", "3 numbers"),
        ("128.0;0.0;79.5\n", "", "2 rows"),
        ("0.0;-1.0;0.0", "0.0;-1.02;0.0", "off the identity"),
        ("0.0;-1.0;0.0", "0.0;1.0;0.0", "mirrored"),
        ("[resolution]", "resolution", "section"),
    ],
)
def test_an_impossible_camera_is_refused_with_its_line(data, old, new, said):
    path = spoil(data, old, new)
    message = refusal(eyediap.camera, data, NAME, "rgb_vga")
    assert f"{path}, line " in message and said in message


def test_a_beta_of_another_size_is_refused(data):
    text = (path := data / "Data" / str(NAME) / "depth_calibration.txt").read_text()
    path.write_text(text.rstrip().rpartition("\n")[0] + "\n")
    assert "[beta]" in (message := refusal(eyediap.depth_model, data, NAME)) and "119 rows" in message


def test_a_missing_calibration_is_refused_with_both_its_names(data):
    (data / "Data" / str(NAME) / "rgb_hd_calibration.txt").unlink()
    assert "rgb_hd_calibration.txt or calibration_rgb_hd.txt" in refusal(eyediap.camera, data, NAME, "rgb_hd")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (screen_text(1.1 * np.eye(3), np.zeros(3), np.ones(2)), "off the identity"),
        (screen_text(np.eye(3), np.zeros(3), np.zeros(2)), "a size of more than nothing"),
        (screen_text(np.eye(3), np.array([0, np.nan, 0]), np.ones(2)), "line 11"),
        ("[kx]\n1\n[ky]\n1\n", "4 lines"),
    ],
)
def test_an_impossible_screen_is_refused(data, text, said):
    (data / "Metadata/ScreenCalibration/screen_calibration.txt").write_text(text)
    assert said in refusal(eyediap.display, data)


def test_eyeballs_of_one_eye_or_of_nobody_are_refused(data):
    file = data / "Metadata/Participants/eyes_position_1.txt"
    file.write_text(eyes_text(Head(np.zeros((1, 3)))))
    assert "two: the left eye, the right eye" in refusal(eyediap.eyeballs, data, 1)
    assert "eyes_position_2.txt" in refusal(eyediap.eyeballs, data, 2)
