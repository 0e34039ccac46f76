"""The mirror method from pictures: markers on the mirror, a disc on the screen, and what is not found."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from palestra.errors import PalestraError, Refused
from palestra.studio.calibrate.files import CameraFile, write_camera
from palestra.studio.calibrate.mirror import reflect
from palestra.studio.calibrate.screen_pictures import MARKERS, find_target
from palestra.studio.calibrate.screen_run import calibrate_screen
from palestra.studio.calibrate.turns import angle_deg, matrix_of
from palestra.tracks.remote_gaze.eyediap import calibration
from tests.studio.calibrate.mirror_scene import CORNERS

SIZE = (640, 480)
MATRIX = np.array([[525.0, 0, 320], [0, 525, 240], [0, 0, 1]])
TURN = matrix_of(np.radians([5.0, -4.0, 2.0])) @ np.diag([-1.0, 1, -1])
SHIFT, SIZES = np.array([0.24, -0.38, -0.04]), np.array([0.531 / 1340, 0.299 / 740])
PIXELS = np.stack(np.meshgrid([60.0, 480, 860, 1280], [60.0, 370, 680]), axis=-1).reshape(-1, 2)
HALF = (0.24, 0.19)  # of the mirror, metres
MARKER_M = 0.055


def placed(pixels: np.ndarray) -> np.ndarray:
    return (pixels * SIZES) @ TURN[:, :2].T + SHIFT


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> Path:
    """Four mirrors and twelve targets in each; in one picture the screen shows nothing."""
    folder, rng, lines = tmp_path_factory.mktemp("mirror"), np.random.default_rng(0), ["picture,mirror,sx,sy"]
    for part in ("colour", "depth"):
        (folder / part).mkdir()
    write_camera(folder, CameraFile("rgb_vga", *SIZE, MATRIX.tolist(), 5 * [0.0]))
    for mirror in range(4):
        centre = np.array([0.03 * mirror - 0.04, -0.02, 0.74 + 0.05 * mirror])
        to_screen = placed(np.array([[670.0, 370]]))[0] - centre
        normal = to_screen / np.linalg.norm(to_screen) - centre / np.linalg.norm(centre)
        normal = matrix_of(np.radians([3.0 * mirror - 4, 4 - 3.0 * mirror, 0])) @ (normal / np.linalg.norm(normal))
        x = np.cross([0.0, 1, 0], normal)
        x /= np.linalg.norm(x)
        frame = np.stack([x, np.cross(normal, x)])
        for target, pixel in enumerate(PIXELS):
            shown = None if (mirror, target) == (2, 5) else reflect(normal / (normal @ centre), placed(pixel[None]))[0]
            colour, depth = drawn(rng, centre, frame, normal, shown)
            name = f"{mirror}-{target:02d}.png"
            cv2.imwrite(str(folder / "colour" / name), colour)
            cv2.imwrite(str(folder / "depth" / name), depth)
            lines.append(f"{name},place {mirror + 1},{pixel[0]},{pixel[1]}")
    (folder / "targets.csv").write_text("\n".join(lines) + "\n")
    return folder


def drawn(rng, centre, frame, normal, shown) -> tuple[np.ndarray, np.ndarray]:
    """A mirror with paper markers on its rim, a dark screen in it with a disc, and depth with 2 mm of noise."""
    colour = np.full((SIZE[1], SIZE[0], 3), 60.0)
    v, u = np.indices((SIZE[1], SIZE[0]), float)
    rays = np.stack([(u - 320) / 525, (v - 240) / 525, np.ones_like(u)], axis=-1)
    depth = (normal @ centre) / (rays @ normal)
    dictionary = cv2.aruco.getPredefinedDictionary(MARKERS)
    spots = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
    for number, (a, b) in enumerate(spots):
        image = np.pad(cv2.aruco.generateImageMarker(dictionary, number, 60), 12, constant_values=255)
        side = MARKER_M * 84 / 60 / 2
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * side + [a * HALF[0], b * HALF[1]]
        points = centre + corners @ frame
        on_picture = (points / points[:, 2:]) @ MATRIX.T
        source = np.array([[-0.5, -0.5], [83.5, -0.5], [83.5, 83.5], [-0.5, 83.5]], np.float32)
        home = cv2.getPerspectiveTransform(source, on_picture[:, :2].astype(np.float32))
        if np.linalg.det(home) < 0:  # the frame is left-handed in the picture: paper is never seen from behind
            home = cv2.getPerspectiveTransform(source, on_picture[[1, 0, 3, 2], :2].astype(np.float32))
        layer = cv2.warpPerspective(image.astype(float), home, SIZE, flags=cv2.INTER_LINEAR, borderValue=-1)
        colour[layer >= 0] = layer[layer >= 0][:, None] * 0.8 + 20
    if shown is not None:
        at = (MATRIX @ (shown / shown[2]))[:2]
        share = np.clip(8 - np.hypot(u - at[0], v - at[1]) + 0.5, 0, 1)[..., None]
        colour = colour * (1 - share) + np.array([235.0, 20, 235]) * share
        depth = np.where(share[..., 0] > 0.5, shown[2], depth)
    depth_mm = 1000 * depth + rng.normal(0, 2, depth.shape)
    depth_mm[rng.random(depth.shape) < 0.05] = 0  # holes
    noisy = np.clip(colour + rng.normal(0, 3, colour.shape), 0, 255)
    return noisy.astype(np.uint8), np.clip(np.rint(depth_mm), 0, 65535).astype(np.uint16)


def test_the_screen_is_found_from_pictures(pictures, tmp_path):
    report = calibrate_screen(pictures, tmp_path, pictures / "rgb_vga.json")
    rotation, translation, sizes = calibration.screen_calibration(tmp_path)
    off = (CORNERS * sizes) @ rotation[:, :2].T + translation - placed(CORNERS)
    assert 1e3 * np.linalg.norm(off, axis=1).max() < 1.0
    assert angle_deg(rotation @ TURN.T) < 0.2
    assert any("In 1 picture no target was found." in str(told) for told in report.told)


def test_pictures_need_the_camera_that_took_them(pictures, tmp_path):
    with pytest.raises(PalestraError, match="which takes the colour camera: --camera"):
        calibrate_screen(pictures, tmp_path)


def test_a_target_of_another_colour_is_not_found(pictures, tmp_path):
    with pytest.raises(PalestraError, match="of colour 0,255,0 was found in none of 48 pictures"):
        calibrate_screen(pictures, tmp_path, pictures / "rgb_vga.json", "0,255,0")


@pytest.mark.parametrize("colour", ["magenta", "1,2", "300,0,0", "100,100,120"])
def test_colours_that_do_not_stand_out(pictures, tmp_path, colour):
    with pytest.raises(PalestraError, match="no colour that stands out"):
        calibrate_screen(pictures, tmp_path, pictures / "rgb_vga.json", colour)


def test_pictures_of_another_size_than_the_cameras(pictures, tmp_path):
    write_camera(tmp_path, CameraFile("hd", 1920, 1080, MATRIX.tolist(), 5 * [0.0]))
    with pytest.raises(PalestraError, match="a picture of 640×480 and a depth of 640×480"):
        calibrate_screen(pictures, tmp_path, tmp_path / "hd.json")


def test_pictures_that_are_not_there(tmp_path):
    (tmp_path / "targets.csv").write_text("picture,mirror,sx,sy\na.png,1,2,3\n")
    write_camera(tmp_path, CameraFile("vga", *SIZE, MATRIX.tolist(), 5 * [0.0]))
    with pytest.raises(Refused, match="nothing there"):
        calibrate_screen(tmp_path, tmp_path / "out", tmp_path / "vga.json")


def test_a_disc_without_depth_is_not_found():
    picture = np.zeros((100, 100, 3), np.uint8)
    cv2.circle(picture, (50, 40), 8, (255, 0, 255), -1)
    assert find_target(picture, np.zeros((100, 100), np.uint16), 300.0) is None
    found = find_target(picture, np.full((100, 100), 1500, np.uint16), 300.0)
    assert found is not None
    assert found.centre == pytest.approx([50, 40], abs=0.01)
    assert found.depth_m == 1.5


def test_markers_that_are_not_seen(pictures, tmp_path):
    for part in ("colour", "depth"):
        (tmp_path / part).mkdir()
    for file in (pictures / "colour").iterdir():
        image = cv2.imread(str(file))
        grey = np.abs(image.max(axis=2).astype(int) - image.min(axis=2)) < 60
        image[grey] = 60
        cv2.imwrite(str(tmp_path / "colour" / file.name), image)
        (tmp_path / "depth" / file.name).symlink_to(pictures / "depth" / file.name)
    (tmp_path / "targets.csv").write_bytes((pictures / "targets.csv").read_bytes())
    with pytest.raises(PalestraError, match="0 points of its markers have depth"):
        calibrate_screen(tmp_path, tmp_path / "out", pictures / "rgb_vga.json")
