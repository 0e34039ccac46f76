"""Disparities to metres: against the truth and the naive line, and from pictures to the track's own reader."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from palestra.errors import PalestraError
from palestra.metrics.transforms import KINECT_TO_WORLD, Pose
from palestra.studio.calibrate.boards import board_of
from palestra.studio.calibrate.disparity import fit_depth
from palestra.studio.calibrate.disparity_run import calibrate_depth
from palestra.studio.calibrate.files import CameraFile, write_camera
from palestra.studio.calibrate.turns import matrix_of
from palestra.tracks.remote_gaze.eyediap import calibration
from palestra.tracks.remote_gaze.eyediap.depth import depth_m
from palestra.tracks.remote_gaze.eyediap.names import name_of
from tests.studio.calibrate import depth_scene
from tests.studio.calibrate.board_pictures import Lens, write

CHARUCO = "charuco:8x6:30:22"
COLOUR = Lens(size=(640, 480), bend=(0.0, 0.0, 0.0, 0.0, 0.0))
NAME = "1_A_DS_S"


def off_mm(found: np.ndarray, walls: depth_scene.Walls) -> float:
    near = walls.true_m < 1.3
    return 1e3 * float(np.median(np.abs(found - walls.true_m)[near]))


@pytest.mark.parametrize("seed", [0, 1])
def test_depth_is_right_to_a_millimetre_where_one_line_for_all_is_centimetres_off(seed):
    walls = depth_scene.draw(seed)
    fit = fit_depth(walls.disparities, walls.depths_m)
    assert off_mm(fit.depth_m(walls.disparities), walls) < 1.2
    assert off_mm(depth_scene.naive_depth(walls), walls) > 20
    assert fit.rms_steps < 0.65 < 1.0 < fit.plain_rms  # half a step of noise, and whole numbers


def test_what_no_return_says_is_not_fitted_to():
    walls = depth_scene.draw(0)
    walls.disparities[:, :20] = 2047
    fit = fit_depth(walls.disparities, walls.depths_m)
    assert not fit.kept[:, :20].any()
    assert fit.rms_steps < 0.65


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> Path:
    """A board on walls from 0.6 to 1.3 m: the colour camera sees the board, the depth camera beside it the wall."""
    folder = tmp_path_factory.mktemp("depth")
    wide, high = depth_scene.SIZE
    matrix = np.array([[140.0, 0, wide / 2], [0, 140, high / 2], [0, 0, 1]])
    pose = Pose(matrix_of(np.radians([0.5, 1.0, 0.0])), np.array([0.025, 0.0, 0.0]))  # depth camera to colour camera
    world = pose.then(KINECT_TO_WORLD)
    write_camera(folder, CameraFile("rgb_vga", *COLOUR.size, COLOUR.matrix.tolist(), list(COLOUR.bend)))
    write_camera(folder, CameraFile("depth", wide, high, matrix.tolist(), 5 * [0.0]).placed(world))
    held = [
        (matrix_of(np.radians([turn, -turn, 0.0])), np.array([0.0, 0.0, z]))
        for turn, z in zip(np.linspace(-15, 15, 9), np.geomspace(0.5, 1.3, 9), strict=True)
    ]
    write(folder / "colour", board_of(CHARUCO), COLOUR, held, noise=1.0)
    v, u = np.indices((high, wide), float)
    rays = np.stack([(u - wide / 2) / 140, (v - high / 2) / 140, np.ones_like(u)], axis=-1)
    rng = np.random.default_rng(0)
    (folder / "disparities").mkdir()
    for index, (turn, place) in enumerate(held):
        normal, point = pose.rotation.T @ turn[:, 2], pose.back()(place)
        z = (normal @ point) / (rays @ normal)
        d = (1 / z - depth_scene.C0) / depth_scene.C1 + 0.02 * (u - wide / 2) + rng.normal(0, 0.4, z.shape)
        cv2.imwrite(str(folder / "disparities" / f"{index:02d}.png"), np.rint(d).astype(np.uint16))
    return folder


def run(folder: Path, out: Path, disparities: str = "disparities", wall: bool = True):
    return calibrate_depth(
        folder / disparities, folder / "colour", CHARUCO, out, folder / "rgb_vga.json", folder / "depth.json", wall
    )


def test_the_tracks_own_reader_reads_the_depth_model(pictures, tmp_path):
    report = run(pictures, tmp_path / "Data" / NAME)
    model = calibration.depth_model(tmp_path, name_of(NAME))
    assert calibration.camera(tmp_path, name_of(NAME), "depth").width == depth_scene.SIZE[0]
    d = np.rint((1 / 0.9 - depth_scene.C0) / depth_scene.C1) + np.zeros((120, 160))
    d += np.rint(0.02 * (np.arange(160) - 80))
    assert np.median(np.abs(depth_m(d.astype(np.uint16), model) - 0.9)) < 0.004
    measures = {name: value for name, value, _ in report.measures}
    assert measures["misfit, rms"] < 0.9 < measures["misfit without the pixels' own share, rms"]
    assert (tmp_path / "Data" / NAME / "depth.png").exists()


def test_without_a_wall_only_the_board_counts_and_the_rest_is_told(pictures, tmp_path):
    report = run(pictures, tmp_path, wall=False)
    assert any("have no correction of their own" in str(told) for told in report.told)


def test_depth_in_millimetres_is_not_taken_for_disparities(pictures, tmp_path):
    (tmp_path / "mm").mkdir()
    for file in (pictures / "disparities").iterdir():
        cv2.imwrite(str(tmp_path / "mm" / file.name), np.full((120, 160), 2500, np.uint16))
    with pytest.raises(PalestraError, match="is no picture of disparities"):
        calibrate_depth(tmp_path / "mm", pictures / "colour", CHARUCO, tmp_path, pictures / "rgb_vga.json",
                        pictures / "depth.json")  # fmt: skip


def test_boards_at_one_distance_tell_nothing_of_others(pictures, tmp_path):
    for part in ("near", "colour"):
        (tmp_path / part).mkdir()
    for index in range(6):
        (tmp_path / "near" / f"{index}.png").write_bytes((pictures / "disparities" / "04.png").read_bytes())
        (tmp_path / "colour" / f"{index}.png").write_bytes((pictures / "colour" / "04.png").read_bytes())
    with pytest.raises(PalestraError, match="at about the same distance"):
        calibrate_depth(tmp_path / "near", tmp_path / "colour", CHARUCO, tmp_path, pictures / "rgb_vga.json",
                        pictures / "depth.json")  # fmt: skip


def test_disparities_that_have_nothing_to_do_with_the_board_are_refused(pictures, tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "noise").mkdir()
    for file in (pictures / "disparities").iterdir():
        cv2.imwrite(str(tmp_path / "noise" / file.name), rng.integers(300, 900, (120, 160)).astype(np.uint16))
    with pytest.raises(PalestraError, match="no calibration was written"):
        calibrate_depth(tmp_path / "noise", pictures / "colour", CHARUCO, tmp_path / "out", pictures / "rgb_vga.json",
                        pictures / "depth.json", wall=True)  # fmt: skip
    assert not (tmp_path / "out" / "depth_calibration.txt").exists()
