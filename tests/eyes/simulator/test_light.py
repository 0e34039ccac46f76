"""Light that falls on a face, what the camera's lens leaves of it, and what lies in its way."""

from dataclasses import replace

import numpy as np
import pytest

from palestra.eyes.simulator.glasses import cover_of
from palestra.eyes.simulator.layers import HALF_SIZE
from palestra.eyes.simulator.light import BEFORE_EYE_MM, falloff, vignette
from palestra.eyes.simulator.optics import draw_lashes
from palestra.eyes.simulator.people import Profile
from palestra.eyes.simulator.renderer import Renderer
from palestra.eyes.simulator.scene import Camera, Look, Person, draw_camera, draw_person

BARE = Profile("female", "other", 33, False, True, "brown")
GLASSES = Profile("male", "caucasian", 24, True, False, "green")


def person_of(profile: Profile = BARE, seed: int = 1) -> Person:
    return draw_person(profile, np.random.default_rng(seed))


def plain_camera(seed: int = 2) -> Camera:
    """A device with nothing in its way."""
    return replace(draw_camera(np.random.default_rng(seed)), rim_px=None, ring_px=None, falloff=(0.0, 0.0))


@pytest.mark.parametrize("seed", range(6))
def test_lens_and_falloff_leave_the_eye_itself_as_it_is(seed: int) -> None:
    camera = draw_camera(np.random.default_rng(seed))
    x, y = np.clip(camera.project(BEFORE_EYE_MM) / 2, 5, [HALF_SIZE[1] - 6, HALF_SIZE[0] - 6]).astype(int)
    assert falloff(camera)[y, x] == pytest.approx(1, abs=0.08)
    assert vignette(camera)[y, x] == pytest.approx(1, abs=0.08)


def test_falling_light_darkens_what_lies_below_and_to_the_right() -> None:
    light = falloff(replace(plain_camera(), falloff=(0.3, 1.2)))
    rows, columns = light.mean(1), light.mean(0)
    assert (np.diff(rows[2:-2]) < 0).all() and (np.diff(columns[2:-2]) < 0).all()
    assert rows[10] / rows[110] == pytest.approx(np.exp(1.2), rel=0.02), "200 pixels, a hundred of half size"


def test_a_picture_is_brighter_above_where_light_falls_off_downwards() -> None:
    def ratio(down: float) -> float:
        camera = replace(plain_camera(), falloff=(0.0, down), exposure=0.4)
        look = Look(np.array([0.0, 0.0, 1.0]), 3.4, 0.9)
        image = Renderer(person_of(), camera).render(look, np.random.default_rng(0)).image
        return float(image[:200].mean() / image[200:].mean())

    assert ratio(-0.8) < ratio(0.0) < ratio(0.8) < ratio(1.6)


def test_nothing_covers_a_bare_eye_before_a_device_without_a_rim() -> None:
    assert cover_of(person_of(), plain_camera(), np.random.default_rng(0)) is None


def test_a_rim_is_black_outside_its_circle_and_a_ring_inside() -> None:
    camera = replace(plain_camera(), rim_px=(320.0, 200.0, 280.0), ring_px=(600.0, 20.0, 120.0), rim_shine=0.0)
    cover = cover_of(person_of(), camera, np.random.default_rng(0))
    assert cover is not None
    assert cover.through[100, 160] == 1 and cover.added[100, 160] == 0
    for y, x in ((100, 5), (100, 314), (40, 270)):
        assert cover.through[y, x] == 0 and 0 < cover.added[y, x] < 10


def test_the_mask_shows_no_eye_behind_the_rim() -> None:
    camera = replace(plain_camera(), rim_px=(120.0, 200.0, 250.0))
    picture = Renderer(person_of(), camera).render(Look(np.array([0.0, 0.0, 1.0]), 3.4, 1.0), np.random.default_rng(0))
    assert (picture.mask[:, 375:] == 0).all() and (picture.mask[:, :365] > 0).any()
    assert picture.image[:, 390:].max() < 40


def test_glasses_and_rim_darken_together() -> None:
    person, camera = person_of(GLASSES), replace(plain_camera(), rim_px=(320.0, 200.0, 280.0))
    both = cover_of(person, camera, np.random.default_rng(0))
    glasses = cover_of(person, plain_camera(), np.random.default_rng(0))
    assert both is not None and glasses is not None
    assert (both.through <= glasses.through).all() and (both.through < glasses.through).any()


def test_mascara_gathers_lashes_into_bars() -> None:
    person = replace(person_of(), lash_count=90)

    def gaps(tufts: int) -> np.ndarray:
        return np.diff(draw_lashes(replace(person, lash_tufts=tufts), True, np.random.default_rng(3)).along)

    assert (gaps(0) >= 0).all()
    assert np.median(gaps(20)) < 0.5 * np.median(gaps(0)) and gaps(20).max() > gaps(0).mean()


def test_a_third_of_the_devices_is_dim_with_few_lights() -> None:
    rng = np.random.default_rng(5)
    cameras = [draw_camera(rng) for _ in range(300)]
    assert min(camera.exposure for camera in cameras) >= 0.24, "an eye that nobody sees is no picture"
    assert 0.05 < np.mean([len(camera.leds_mm) >= 12 for camera in cameras]) < 0.6
    assert 0.2 < np.mean([camera.rim_px is not None for camera in cameras]) < 0.6
