"""The rendered eye: what its picture and mask promise to those who train on them."""

import cv2
import numpy as np
import pytest

from palestra.eyes.simulator.layers import HEIGHT, WIDTH, Array
from palestra.eyes.simulator.people import Profile
from palestra.eyes.simulator.renderer import IRIS, PUPIL, SCLERA, Ellipse, Picture, Renderer
from palestra.eyes.simulator.scene import Camera, Look, Person, draw_camera, draw_person, mirrored, slipped

PROFILES = (
    Profile("female", "caucasian", 28, False, False, "blue"),
    Profile("male", "asian", 35, False, False, "brown"),
    Profile("female", "other", 44, False, True, "brown"),
    Profile("male", "caucasian", 24, True, False, "green"),
)


def looking(yaw_deg: float, pitch_deg: float) -> Array:
    yaw, pitch = np.radians(yaw_deg), np.radians(pitch_deg)
    return np.array([np.sin(yaw) * np.cos(pitch), np.sin(pitch), np.cos(yaw) * np.cos(pitch)])


def scene(index: int) -> tuple[Person, Camera]:
    rng = np.random.default_rng(index)
    return draw_person(PROFILES[index % len(PROFILES)], rng), draw_camera(rng)


@pytest.fixture(scope="module")
def renderers() -> list[Renderer]:
    return [Renderer(*scene(index)) for index in range(8)]


def shot(renderer: Renderer, yaw: float = 0.0, pitch: float = 0.0, opening: float = 1.0, pupil: float = 3.4) -> Picture:
    return renderer.render(Look(looking(yaw, pitch), pupil, opening), np.random.default_rng(7))


def ellipse_mask(ellipse: Ellipse, grow_px: float = 0.0) -> Array:
    filled = np.zeros((HEIGHT, WIDTH), np.uint8)
    x, y, long, short, angle = ellipse
    cv2.ellipse(filled, ((x, y), (long + grow_px, short + grow_px), angle), 1, -1)
    return filled > 0


def test_picture_and_mask_are_grey_bytes_of_the_headsets_size(renderers: list[Renderer]) -> None:
    picture = shot(renderers[0])
    for layer in (picture.image, picture.mask):
        assert layer.shape == (HEIGHT, WIDTH) == (400, 640)
        assert layer.dtype == np.uint8
    assert set(np.unique(picture.mask)) == {0, SCLERA, IRIS, PUPIL}


def test_same_records_and_random_state_give_the_same_bytes() -> None:
    def series() -> list[Picture]:
        renderer, rng = Renderer(*scene(3)), np.random.default_rng(11)
        return [renderer.render(Look(looking(yaw, -5), 3.0, 0.9), rng) for yaw in (-12, 0, 12)]

    for first, second in zip(series(), series(), strict=True):
        assert first.image.tobytes() == second.image.tobytes()
        assert first.mask.tobytes() == second.mask.tobytes()
        assert first.pupil == second.pupil


def test_one_renderer_keeps_no_trace_of_earlier_looks(renderers: list[Renderer]) -> None:
    before = shot(renderers[1], 10, 5)
    shot(renderers[1], -20, -20, 0.0)
    assert shot(renderers[1], 10, 5).image.tobytes() == before.image.tobytes()


def test_noise_differs_between_frames_and_the_mask_does_not() -> None:
    renderer, rng = Renderer(*scene(0)), np.random.default_rng(0)
    first, second = (renderer.render(Look(looking(0, 0), 3.0, 1.0), rng) for _ in range(2))
    assert (first.image != second.image).mean() > 0.3
    assert (first.mask == second.mask).all()


def test_pupil_lies_inside_the_iris_and_iris_inside_its_ellipse(renderers: list[Renderer]) -> None:
    for renderer in renderers:
        for yaw, pitch in ((0, 0), (-25, 10), (25, -10), (5, 25), (-5, -25)):
            picture = shot(renderer, yaw, pitch)
            assert picture.iris is not None
            iris = ellipse_mask(picture.iris, grow_px=3)
            assert not (picture.mask[~iris] >= IRIS).any()
            if picture.pupil is not None:
                assert not (picture.mask[~ellipse_mask(picture.pupil, grow_px=3)] == PUPIL).any()
                assert not (ellipse_mask(picture.pupil) & ~iris).any()


def test_mask_fills_the_ellipses_wherever_the_eye_is_open(renderers: list[Renderer]) -> None:
    for renderer in renderers:
        picture = shot(renderer)
        assert picture.pupil is not None and picture.iris is not None
        opened = picture.mask > 0
        assert (picture.mask[ellipse_mask(picture.pupil, -3) & opened] == PUPIL).mean() > 0.995
        assert (picture.mask[ellipse_mask(picture.iris, -3) & opened] >= IRIS).mean() > 0.995


def test_looking_left_moves_the_pupil_to_the_images_right(renderers: list[Renderer]) -> None:
    for renderer in renderers:
        ahead, left, right = (shot(renderer, yaw).pupil for yaw in (0, 15, -15))
        assert ahead is not None and left is not None and right is not None
        assert right[0] + 20 < ahead[0] < left[0] - 20


def test_looking_up_moves_the_pupil_up_and_the_upper_lid_with_it(renderers: list[Renderer]) -> None:
    def lid_top(picture: Picture) -> int:
        return int(np.nonzero(picture.mask.any(axis=1))[0][0])

    for renderer in renderers:
        down, up = shot(renderer, pitch=-12), shot(renderer, pitch=12)
        assert down.pupil is not None and up.pupil is not None
        assert up.pupil[1] < down.pupil[1] - 40
        assert lid_top(up) < lid_top(down)


def test_closed_lid_leaves_a_thin_sliver_and_neither_iris_nor_pupil(renderers: list[Renderer]) -> None:
    for renderer in renderers:
        picture = shot(renderer, opening=0.0)
        assert picture.pupil is None and picture.iris is None and len(picture.glints) == 0
        assert picture.mask.max() == SCLERA
        heights = (picture.mask == SCLERA).sum(axis=0)
        assert 1 <= heights.max() <= 6
        assert (heights > 0).sum() > 150


def test_closing_uncovers_ever_less_of_the_eye(renderers: list[Renderer]) -> None:
    for renderer in renderers:
        shown = [(shot(renderer, opening=opening).mask > 0).sum() for opening in (0.0, 0.25, 0.5, 0.75, 1.0)]
        assert shown == sorted(shown)


def test_a_wider_pupil_covers_more_pixels(renderers: list[Renderer]) -> None:
    for renderer in renderers:
        sizes = [(shot(renderer, pupil=pupil).mask == PUPIL).sum() for pupil in (2.0, 3.0, 4.0, 6.0)]
        assert sizes == sorted(sizes)
        assert sizes[-1] > 3 * sizes[0]


def test_cornea_enlarges_the_pupil(renderers: list[Renderer]) -> None:
    for index, renderer in enumerate(renderers):
        person, _ = scene(index)
        picture = shot(renderer, pupil=4.0)
        assert picture.pupil is not None and picture.iris is not None
        assert 1.05 < picture.pupil[2] / picture.iris[2] * person.iris_mm / 4.0 < 1.25


def test_pupil_is_darker_than_iris_and_iris_than_sclera(renderers: list[Renderer]) -> None:
    levels = []
    for renderer in renderers:
        picture = shot(renderer)
        levels.append([np.median(picture.image[picture.mask == kind]) for kind in (PUPIL, IRIS, SCLERA)])
        assert levels[-1][0] < levels[-1][1]
    pupil, iris, sclera = np.mean(levels, axis=0)
    assert pupil + 15 < iris < sclera - 5


def test_glints_are_bright_and_on_the_cornea(renderers: list[Renderer]) -> None:
    seen = 0
    for renderer in renderers:
        picture = shot(renderer)
        assert picture.iris is not None
        iris = ellipse_mask(picture.iris, grow_px=2)
        for x, y in np.round(picture.glints).astype(int):
            assert iris[y, x]
            seen += picture.image[y - 1 : y + 2, x - 1 : x + 2].max() >= 235
    assert seen >= 3 * len(renderers)


def test_mirroring_twice_changes_nothing_and_once_only_x() -> None:
    vectors = np.random.default_rng(0).normal(size=(4, 5, 3))
    assert (mirrored(mirrored(vectors)) == vectors).all()
    assert (mirrored(vectors)[..., 0] == -vectors[..., 0]).all()
    assert (mirrored(vectors)[..., 1:] == vectors[..., 1:]).all()


def test_gaze_is_recovered_from_the_pupil_by_a_quadratic_fit(renderers: list[Renderer]) -> None:
    rng = np.random.default_rng(2)
    for renderer in renderers[:3]:
        angles = rng.uniform(-18, 18, (60, 2))
        found = [(shot(renderer, *pair).pupil, pair) for pair in angles]
        x, y = np.array([pupil[:2] for pupil, _ in found if pupil is not None]).T / 100
        target = np.array([pair for pupil, pair in found if pupil is not None])
        terms = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1)
        fit, test = slice(None, None, 2), slice(1, None, 2)
        weights = np.linalg.lstsq(terms[fit], target[fit], rcond=None)[0]
        assert np.hypot(*(terms[test] @ weights - target[test]).T).mean() < 1.5


def test_slipping_moves_the_picture_and_keeps_the_device() -> None:
    person, camera = scene(0)
    other = slipped(camera, np.random.default_rng(3), 1.5)
    first, second = (shot(Renderer(person, worn)).pupil for worn in (camera, other))
    assert first is not None and second is not None
    assert 1 < np.hypot(first[0] - second[0], first[1] - second[1]) < 150
    apart = np.linalg.norm(camera.leds_mm - camera.position_mm, axis=1)
    assert np.allclose(np.linalg.norm(other.leds_mm - other.position_mm, axis=1), apart)
    assert np.allclose(other.rotation @ other.rotation.T, np.eye(3))


def test_visual_axis_is_nasal_of_the_optical_axis_on_average() -> None:
    rng = np.random.default_rng(4)
    people = [draw_person(PROFILES[index % 4], rng) for index in range(200)]
    assert 3.5 < np.mean([person.kappa_h_deg for person in people]) < 4.5
    assert 0.5 < np.mean([person.kappa_v_deg for person in people]) < 1.5


def test_only_people_with_glasses_wear_a_frame() -> None:
    for index in range(8):
        person, _ = scene(index)
        assert (person.glasses is not None) == person.profile.glasses
