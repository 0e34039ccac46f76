"""The mirror method: where the screen is, to a millimetre, with noise and wrong points; and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from palestra.cli import app
from palestra.errors import PalestraError, Refused
from palestra.metrics.transforms import KINECT_TO_WORLD, Sight
from palestra.studio.calibrate.mirror import fit_mirror, reflect
from palestra.studio.calibrate.screen import Screen, Seen, fit_screen
from palestra.studio.calibrate.screen_run import calibrate_screen
from palestra.studio.calibrate.turns import angle_deg
from palestra.tracks.remote_gaze.eyediap import calibration
from tests.studio.calibrate.mirror_scene import CORNERS, Scene, draw, naive_screen


def fitted(scene: Scene) -> Screen:
    return fit_screen(scene.seen, [fit_mirror(name, points) for name, points in scene.markers.items()])


def off_mm(scene: Scene, points: np.ndarray) -> float:
    """The corner of the screen that is furthest off."""
    return 1e3 * float(np.linalg.norm(points - scene.points(CORNERS), axis=1).max())


@pytest.mark.parametrize("seed", range(5))
def test_the_screen_is_found_within_a_millimetre_where_the_naive_way_is_centimetres_off(seed):
    scene = draw(seed, noise_m=0.002, wrong=0.1)
    screen = fitted(scene)
    assert off_mm(scene, screen.points(CORNERS)) < 1.0
    assert angle_deg(screen.rotation @ scene.rotation.T) < 0.2
    rotation, translation, sizes = naive_screen(scene)
    assert off_mm(scene, (CORNERS * sizes) @ rotation[:, :2].T + translation) > 10
    assert angle_deg(rotation @ scene.rotation.T) > 1


def test_what_is_wrong_is_left_out_and_what_is_right_stays():
    scene = draw(3)
    screen = fitted(scene)
    clean = draw(3, wrong=0.0)
    assert fitted(clean).kept.mean() > 0.97
    assert 0.80 < screen.kept.mean() < 0.95


def test_without_noise_it_is_exact():
    scene = draw(1, noise_m=0.0, wrong=0.0, pixel_noise=0.0)
    screen = fitted(scene)
    assert off_mm(scene, screen.points(CORNERS)) < 1e-3
    assert np.allclose(screen.metres_per_pixel, scene.metres_per_pixel, rtol=1e-6)


def test_its_standard_error_is_what_it_is_off_by():
    errors, told = [], []
    for seed in range(8):
        scene = draw(seed)
        screen = fitted(scene)
        middle = CORNERS.mean(axis=0, keepdims=True) * 0 + [[670, 370]]
        errors.append(np.linalg.norm(screen.points(middle) - scene.points(middle)))
        told.append(screen.place_sd_m)
    assert 0.4 < np.sqrt(np.mean(np.square(errors))) / np.mean(told) < 2.5


def test_a_reflection_twice_is_nothing_and_keeps_the_plane():
    m = np.array([0.1, -0.2, 1.3])
    points = np.random.default_rng(0).normal(0, 1, (20, 3))
    assert np.allclose(reflect(m, reflect(m, points)), points)
    middle = (points + reflect(m, points)) / 2
    assert np.allclose(middle @ m, 1)


def test_the_file_is_read_by_the_tracks_own_reader(tmp_path):
    scene = draw(2)
    report = calibrate_screen(scene.write(tmp_path / "measured"), tmp_path / "data")
    rotation, translation, sizes = calibration.screen_calibration(tmp_path / "data")
    assert off_mm(scene, (CORNERS * sizes) @ rotation[:, :2].T + translation) < 1.0
    display = calibration.display(tmp_path / "data")
    shown = display.point_of(np.array([[100.0, 200.0], [1200.0, 700.0]]))
    true = KINECT_TO_WORLD(Sight(scene.points(np.array([[100.0, 200.0], [1200.0, 700.0]]))))
    assert np.linalg.norm(shown - true, axis=1).max() < 1e-3
    assert all(file.exists() for file in report.files)
    assert (tmp_path / "data" / "screen.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_tells_what_it_found(tmp_path):
    scene = draw(0)
    words = ["studio", "calibrate", "screen", str(scene.write(tmp_path / "measured")), "--out", str(tmp_path / "data")]
    ran = CliRunner().invoke(app.app, words)
    assert ran.exit_code == 0, ran.output
    assert "misfit, rms" in ran.output
    assert "screen_calibration.txt" in ran.output


# --- refused


def test_a_mirror_that_bends_is_refused():
    with pytest.raises(PalestraError, match="not flat: it bulges by"):
        fitted(draw(0, bulge_m=0.004))


def test_markers_in_a_line_do_not_tell_a_tilt():
    points = next(iter(draw(0).markers.values()))
    near = points[:, :2] - points[0, :2]
    with pytest.raises(PalestraError, match="do not tell how it is tilted"):
        fit_mirror("one", points[np.abs(near).max(axis=1) < 0.02])
    points[:, 1] = points[:, 2] * 0.01
    with pytest.raises(PalestraError, match="lie in one line"):
        fit_mirror("one", points)


def test_too_few_points_of_a_mirror():
    with pytest.raises(PalestraError, match="3 points of its markers have depth"):
        fit_mirror("one", np.ones((3, 3)))


def test_points_that_are_no_plane():
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (500, 3)) + [0, 0, 2]
    with pytest.raises(PalestraError, match="lie on one plane"):
        fit_mirror("one", points)


def test_a_screen_that_was_moved_between_mirrors():
    scene = draw(0, mirrors=2)
    moved = scene.seen.points + np.where(scene.seen.mirror[:, None] == 1, [0.1, 0.1, 0.0], 0.0)
    with pytest.raises(PalestraError, match="of the targets fit one flat screen"):
        fitted(Scene(Seen(scene.seen.mirror, scene.seen.pixels, moved), scene.markers, *truth(scene)))


def test_targets_in_one_line():
    scene = draw(0, mirrors=2)
    row = np.column_stack([scene.seen.pixels[:, 0] + scene.seen.pixels[:, 1] / 10, np.full(60, 40.0)])
    with pytest.raises(PalestraError, match="in one line"):
        fitted(Scene(Seen(scene.seen.mirror, row, scene.seen.points), scene.markers, *truth(scene)))


def test_targets_at_too_few_places():
    scene = draw(0, mirrors=2)
    few = np.isin(scene.seen.pixels[:, 0], scene.seen.pixels[:1, 0])
    seen = Seen(scene.seen.mirror[few], scene.seen.pixels[few], scene.seen.points[few])
    with pytest.raises(PalestraError, match="Targets at 5 places"):
        fitted(Scene(seen, scene.markers, *truth(scene)))


def test_a_poor_fit_is_drawn_and_not_written(tmp_path):
    scene = draw(0, noise_m=0.012)
    with pytest.raises(PalestraError, match=r"no calibration was written"):
        calibrate_screen(scene.write(tmp_path / "measured"), tmp_path / "data")
    assert (tmp_path / "data" / "screen.png").exists()
    assert not (tmp_path / "data" / calibration.SCREEN_FILE).exists()


@pytest.mark.parametrize(
    ("file", "line", "told"),
    [
        ("targets.csv", "m1,1,2,0.1,zero,0.7", "line 242"),
        ("targets.csv", "m9,1,2,0.1,0.2,0.7", "no points of the mirror 'm9'"),
        ("targets.csv", "m1,1,2,0.1,0.2,-0.7", "z is not above 0"),
        ("markers.csv", "m1,1,2", "finite numbers for x, y, z"),
    ],
)
def test_tables_with_slips_are_refused_with_their_place(tmp_path: Path, file, line, told):
    folder = draw(0, per_marker=20).write(tmp_path / "measured")
    with (folder / file).open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises((PalestraError, Refused), match=told):
        calibrate_screen(folder, tmp_path / "data")


def truth(scene: Scene) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return scene.rotation, scene.translation, scene.metres_per_pixel
