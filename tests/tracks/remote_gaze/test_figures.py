"""Drawn frames of EYEDIAP: three pictures side by side, and what was tracked where it is."""

from pathlib import Path

import numpy as np
import pytest

from palestra.metrics.transforms import World
from palestra.report.images import ORANGE, SKY
from palestra.report.video import write_film
from palestra.tracks.remote_gaze import eyediap
from palestra.tracks.remote_gaze.figures import HEIGHT, STRIP, WIDTH, Drawing, film, picture
from tests.tracks.remote_gaze.eyediap import sample

BALL, SCREEN = eyediap.name_of("13_B_FT_M"), eyediap.name_of("1_A_CS_S")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drawn")
    for name in (BALL, SCREEN):
        sample.write(folder, sample.recording(str(name), 8, 640, 480))
    return folder


def panels(image: np.ndarray) -> list[np.ndarray]:
    return [image[:HEIGHT, at : at + WIDTH] for at in range(0, image.shape[1], WIDTH + 8)]


def is_near(image: np.ndarray, at: np.ndarray, colour: tuple[int, int, int]) -> bool:
    """Whether a colour is drawn within three pixels of a place."""
    x, y = np.round(at).astype(int)
    patch = image[max(y - 3, 0) : y + 4, max(x - 3, 0) : x + 4].astype(int)
    return bool((np.abs(patch - colour).max(axis=-1) < 12).any())


def test_vga_hd_and_depth_stand_side_by_side(data):
    image = picture(data, BALL, 3)
    assert image.shape == (HEIGHT + STRIP, 3 * WIDTH + 16, 3) and image.dtype == np.uint8
    assert len(panels(image)) == 3


def test_eyes_are_marked_where_each_camera_sees_them(data):
    image, recorded = picture(data, BALL, 3), sample.recording(str(BALL), 8, 640, 480)
    for panel, which in ((0, "rgb_vga"), (2, "depth")):
        for eye in np.asarray(recorded.cameras[which].project(World(recorded.eyes[3]))):
            assert is_near(panels(image)[panel], eye, SKY)
    hd = np.asarray(recorded.cameras["rgb_hd"].project(World(recorded.eyes[3])))
    corner = np.floor(hd.mean(axis=0)) - (WIDTH / 2, HEIGHT / 2)  # the crop is around the point between the eyes
    assert all(is_near(panels(image)[1], eye - corner, SKY) for eye in hd)


def test_rays_lead_to_the_ball(data):
    image, recorded = picture(data, BALL, 3), sample.recording(str(BALL), 8, 640, 480)
    target = np.asarray(recorded.cameras["rgb_vga"].project(World(recorded.target[3])))
    assert is_near(panels(image)[0], target, ORANGE)


def test_a_point_on_the_screen_is_shown_on_a_small_one(data):
    image, recorded = picture(data, SCREEN, 2), sample.recording(str(SCREEN), 8)
    place = np.array([WIDTH - 134 - 8, HEIGHT - 74 - 8]) + recorded.screen[2] / 10
    assert is_near(panels(image)[0], place, ORANGE)


def test_what_was_not_tracked_is_not_drawn(data):
    untracked, tracked = picture(data, SCREEN, 6), picture(data, SCREEN, 5)
    assert not sample.recording(str(SCREEN), 8).available[6]
    sky = [(np.abs(image[:HEIGHT].astype(int) - SKY).max(axis=-1) < 12).sum() for image in (untracked, tracked)]
    assert sky[0] == 0 < sky[1]


@pytest.mark.parametrize(("left", "shown"), [(("rgb_vga", "depth"), 2), (("rgb_vga",), 1), ((), 1)])
def test_videos_that_are_missing_are_left_out_and_without_any_the_ground_is_blank(tmp_path, left, shown):
    recorded = sample.recording(str(SCREEN), 3)
    pictures = {which: source for which, source in sample.pictures(recorded).items() if which in left}
    eyediap.write_session(tmp_path, recorded, pictures)
    image = picture(tmp_path, recorded.name, 1)
    assert len(panels(image)) == shown
    assert (np.abs(image.astype(int) - SKY).max(axis=-1) < 12).any()


def test_a_frame_that_is_not_there_is_an_index_error(data):
    with Drawing(data, BALL) as drawing, pytest.raises(IndexError):
        drawing.frame(8)


def test_a_film_has_every_frame(data, tmp_path):
    whole = film(data, SCREEN)
    assert whole.rate_hz == 30
    assert write_film(whole, tmp_path / "film.mp4") == 8
