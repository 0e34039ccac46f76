"""Reading pictures of eyes: what is there is read, and what is not there is not."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra import model_cards
from palestra.eyes.reader.checks import Check
from palestra.eyes.reader.ellipses import Ellipse, iris_of, irises_apart, pupil_of, whole_eye
from palestra.eyes.reader.image_input import (
    LARGEST_PX,
    SMALLEST_PX,
    Window,
    closer_windows,
    cut,
    first_windows,
    grey,
    handy,
    laid_back,
)
from palestra.eyes.reader.read_eye import estimate, read, uprightness
from palestra.eyes.reader.settings import Settings
from palestra.eyes.simulator.people import Census, draw_profiles
from palestra.eyes.simulator.renderer import Renderer
from palestra.eyes.simulator.scene import Look, draw_camera, draw_person
from tests.eye_networks import drawn_eye, standing_in


@pytest.fixture
def network(tmp_path):
    """A network by hand, which reads drawn eyes, for one test."""
    with standing_in(tmp_path):
        yield


# --- pictures as they come


def test_colour_depth_and_transparency_come_to_the_same_grey():
    eye = drawn_eye()
    same = [
        np.dstack([eye] * 3),
        np.dstack([eye] * 3 + [np.full_like(eye, 255)]),
        eye[:, :, None],
    ]
    for image in same:
        assert np.abs(grey(image) - eye).max() < 1
    for deep in (eye.astype(np.uint16) * 257, eye.astype(np.uint16) * 4 + 100, eye.astype(np.float32) / 255):
        spread = grey(deep)
        assert np.corrcoef(spread.ravel(), eye.ravel())[0, 1] > 0.999
        assert spread.min() == 0 and spread.max() == 255


def test_one_hot_pixel_does_not_darken_a_deep_picture():
    deep = drawn_eye().astype(np.uint16) * 4
    deep[7, 9] = 65535
    assert np.median(grey(deep)) > 200


def test_what_is_transparent_is_black():
    image = np.full((4, 4, 4), 200, np.uint8)
    image[:2, :, 3] = 0
    assert (grey(image)[:2] == 0).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_none_do_not_spread(value):
    image = drawn_eye().astype(np.float32)
    image[0, 0] = value
    assert np.isfinite(grey(image)).all()


@given(st.integers(24, 900), st.integers(40, 900))
@settings(max_examples=40)
def test_first_windows_see_every_pixel_and_keep_shapes(height, width):
    wholes, parts = first_windows((height, width))
    windows, whole = [*wholes, *parts], wholes[0]
    assert whole.left <= 0 and whole.top <= 0
    assert whole.left + whole.width >= width - 1 and whole.top + whole.height >= height - 1
    for window in [*windows, *closer_windows((height, width))]:
        assert window.width / window.height == pytest.approx(1.6, rel=0.05)


@given(st.integers(-60, 60), st.integers(-60, 60), st.integers(100, 500))
@settings(max_examples=25)
def test_what_was_cut_out_is_laid_back_where_it_was(left, top, width):
    ramp = np.add.outer(np.arange(150.0), np.arange(240.0)).astype(np.float32)
    window = Window(left, top, width)
    back = laid_back(cut(ramp, window)[None], window, (150, 240))[0]
    inside = np.zeros((150, 240), bool)
    bottom, right = max(top + window.height - 4, 0), max(left + width - 4, 0)
    inside[max(top + 4, 4) : bottom, max(left + 4, 4) : right] = True
    inside[-4:] = inside[:, -4:] = False
    assert np.abs(back - ramp)[inside].max(initial=0) < 3


def test_large_pictures_are_looked_at_in_a_smaller_copy_and_small_ones_in_a_larger():
    small, factor = handy(np.zeros((2000, 3200), np.float32))
    assert max(small.shape) == LARGEST_PX and factor == pytest.approx(2)
    large, factor = handy(np.zeros((120, 200), np.float32))
    assert max(large.shape) == SMALLEST_PX and factor == pytest.approx(200 / SMALLEST_PX)


# --- shapes


def mask_of(pupil, iris, lid=0):
    """An eye by its ellipses, with a lid down to a row."""
    mask = np.zeros((400, 640), np.uint8)
    cv2.ellipse(mask, (320, 200), (200, 110), 0, 0, 360, 1, -1)
    for number, one in ((2, iris), (3, pupil)):
        cv2.ellipse(mask, ((one.x, one.y), (one.long, one.short), one.angle_deg), number, -1)
    mask[:lid] = 0
    return mask


@given(
    st.floats(290, 350),
    st.floats(180, 220),
    st.floats(40, 80),
    st.floats(0.75, 0.99),
    st.floats(0, 179),
    st.integers(0, 195),
)
@settings(max_examples=60)
def test_ellipses_are_whole_though_a_lid_covers_a_part(x, y, long, ratio, angle, lid):
    pupil = Ellipse(x, y, long, long * ratio, angle)
    iris = Ellipse(x, y, 180, 180 * ratio, angle)
    mask = mask_of(pupil, iris, lid)
    found = pupil_of(mask)
    around = iris_of(mask, found.ellipse if found else None)
    if found and found.seen > 0.5:
        assert np.hypot(found.ellipse.x - x, found.ellipse.y - y) < 1.5
        # What half a pupil tells of the other half is good to a tenth.
        sides = found.ellipse.long, found.ellipse.short
        assert sides == pytest.approx((long, long * ratio), abs=4)
        assert around is not None
        assert np.hypot(around.ellipse.x - x, around.ellipse.y - y) < 4
        assert around.ellipse.long == pytest.approx(180, abs=8)


def test_glints_in_the_pupil_do_not_move_it():
    pupil = Ellipse(320, 200, 60, 56, 30)
    mask = mask_of(pupil, Ellipse(320, 200, 180, 170, 30))
    for at in ((300, 195), (335, 210)):
        cv2.circle(mask, at, 3, 2, -1)
    found = pupil_of(whole_eye(mask))
    assert found is not None and np.hypot(found.ellipse.x - 320, found.ellipse.y - 200) < 1


def test_one_eye_is_kept_and_specks_are_not():
    mask = mask_of(Ellipse(320, 200, 60, 60, 0), Ellipse(320, 200, 180, 180, 0))
    whole = mask.copy()
    mask[10:16, 10:16] = 3
    mask[380:390, 600:620] = 1
    assert (whole_eye(mask) == whole).all()


def test_two_irises_far_apart_are_two_eyes_and_one_cut_by_a_bar_is_not():
    apart = np.zeros((200, 320), bool)
    apart[80:120, 50:90] = apart[80:120, 230:270] = True
    assert irises_apart(apart)
    cut_by_bar = np.zeros((200, 320), bool)
    cut_by_bar[80:120, 100:160] = True
    cut_by_bar[96:104] = False
    assert not irises_apart(cut_by_bar)
    specks = np.random.default_rng(0).random((200, 320)) < 0.01
    assert not irises_apart(specks)


def test_an_ellipse_in_a_larger_picture_is_the_same_one():
    assert Ellipse(9.5, 19.5, 10, 8, 30).scaled(2) == Ellipse(19.5, 39.5, 20, 16, 30)


# --- readings, by the network that was made by hand


@pytest.mark.parametrize("shape", [(400, 640), (640, 400), (120, 200), (480, 480), (400, 1280), (1000, 1600)])
def test_an_eye_is_read_in_a_picture_of_any_shape(network, shape):
    reading = estimate(drawn_eye(shape[1], shape[0]))
    assert [check for check in reading.checks if check.share < 0.5] == []
    side = min(shape[1], 1.6 * shape[0])
    assert reading.mask.shape == shape and reading.pupil and reading.iris
    assert (reading.pupil.x, reading.pupil.y) == pytest.approx((shape[1] / 2, shape[0] / 2), abs=0.01 * side)
    assert reading.pupil.long == pytest.approx(0.12 * side, rel=0.05, abs=2.5)
    assert reading.iris.long == pytest.approx(0.28 * side, rel=0.05, abs=2.5)


def test_the_mirror_image_looks_to_the_other_side(network):
    image = drawn_eye(x=0.56)
    there, mirrored = read(image), read(image[:, ::-1].copy())
    assert there.gaze_deg and mirrored.gaze_deg and there.gaze_deg[0] > 3
    assert mirrored.gaze_deg[0] == pytest.approx(-there.gaze_deg[0], abs=0.3)


def test_an_iris_under_a_lid_is_told_whole(network):
    reading = read(drawn_eye(lid=0.3))
    assert reading.iris and reading.iris.short == pytest.approx(0.28 * 640, rel=0.05)


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (np.zeros((400, 640), np.uint8), "too dark"),
        (np.full((400, 640), 255, np.uint8), "too bright"),
        (np.full((400, 640), 128, np.uint8), "no contrast"),
        (np.full((16, 16), 128, np.uint8), "too small"),
        (np.hstack([drawn_eye(320, 200)] * 2), "two eyes"),
        (drawn_eye(lid=0.66), "pupil covered"),
        (cv2.GaussianBlur(drawn_eye(), (0, 0), 20), "out of focus"),
        (np.random.default_rng(0).integers(100, 255, (400, 640), np.uint8), "no eye found"),
    ],
    ids=["black", "white", "grey", "tiny", "two", "covered", "blurred", "noise"],
)
def test_what_is_wrong_is_told_and_no_number_is(network, image, why):
    reading = read(image)
    assert not reading.sure and reading.certainty < 0.5
    assert why in reading.why, reading.why
    assert reading.pupil is None and reading.iris is None and reading.gaze_deg is None


def test_a_check_is_not_sure_below_its_middle():
    assert Check("", "", 0.2, 0.0, 0.4).share == 0.5
    assert Check("", "", -9, -10, -2).share == pytest.approx(0.125)
    assert Check("", "", 7, 0, 1).share == 1


# --- readings, by the network that is shipped

shipped = pytest.mark.skipif(not model_cards.is_there("eye_reader"), reason="needs the weights of eye_reader")


@pytest.fixture(scope="module")
def people():
    """Drawn people and what is known of them, none of whom the network learnt from."""
    census = Census(
        {"female": 4, "male": 4}, {"asian": 2, "caucasian": 4, "other": 2}, {"26–30": 8}, glasses=2, makeup=2
    )
    found = []
    for number, profile in enumerate(draw_profiles(census, np.random.default_rng(77))):
        rng = np.random.default_rng([77, number])
        person = draw_person(profile, rng)
        found.append((person, Renderer(person, draw_camera(rng)), rng))
    return found


def seen(one, opening, gaze=(0.1, 0.0)):
    person, renderer, rng = one
    ahead = np.array([*gaze, 1.0])
    return renderer.render(Look(ahead / np.linalg.norm(ahead), person.pupil_mm, opening), rng)


@shipped
def test_open_eyes_are_read_right_and_most_of_them_for_sure(people):
    pictures = [seen(one, 1.0) for one in people]
    readings = [read(picture.image) for picture in pictures]
    sure = [(reading, picture) for reading, picture in zip(readings, pictures, strict=True) if reading.sure]
    assert len(sure) >= 6, [reading.why for reading in readings]
    for reading, picture in sure:
        assert reading.pupil and reading.iris and picture.pupil and picture.iris
        assert np.hypot(reading.pupil.x - picture.pupil[0], reading.pupil.y - picture.pupil[1]) < 4
        assert reading.iris.long == pytest.approx(picture.iris[2], rel=0.1)
        assert (reading.mask == picture.mask).mean() > 0.97


@shipped
def test_gaze_follows_the_eye(people):
    left, right, up = (read(seen(people[0], 1.0, gaze).image).gaze_deg for gaze in ((-0.25, 0), (0.25, 0), (0, 0.2)))
    assert left and right and up
    assert right[0] - left[0] == pytest.approx(28, abs=10)
    assert up[1] > max(left[1], right[1]) + 4


@shipped
def test_closed_eyes_and_what_is_no_eye_are_never_sure(people):
    rng = np.random.default_rng(3)
    eyes = [seen(one, 1.0).image for one in people[:2]]
    clouds = cv2.GaussianBlur(rng.normal(0, 1, (400, 640)), (0, 0), 12)
    rings = np.full((400, 640), 200, np.uint8)
    for radius, level in ((150, 240), (90, 90), (35, 10)):
        cv2.circle(rings, (320, 200), radius, level, -1, cv2.LINE_AA)
    page = np.full((400, 640), 250, np.uint8)
    for row in range(40, 400, 40):
        cv2.putText(page, "Never a confident nonsense", (20, row), cv2.FONT_HERSHEY_SIMPLEX, 1.3, 20, 2)
    nothing = {
        "closed": seen(people[0], 0.02).image,
        "two": np.hstack([eyes[0], eyes[1][:, ::-1]]),
        "two in a frame": cv2.copyMakeBorder(
            np.hstack([eyes[0], eyes[1][:, ::-1]]), 200, 200, 0, 0, cv2.BORDER_CONSTANT, value=110
        ),
        "clouds": np.clip(120 + 50 * clouds / clouds.std(), 0, 255).astype(np.uint8),
        "noise": rng.integers(0, 255, (400, 640), np.uint8),
        "rings": rings,
        "page": page,
        "skin": eyes[0][:90, :144],
        "slope": np.tile(np.linspace(0, 255, 640), (400, 1)).astype(np.uint8),
    }
    readings = {name: read(image) for name, image in nothing.items()}
    assert {name for name, reading in readings.items() if reading.sure} == set()
    assert readings["closed"].why == ("eye closed",) and readings["two"].why == ("two eyes",)


@shipped
@pytest.mark.parametrize("shape", ["upright", "small", "coloured", "deep"])
def test_the_same_eye_is_read_alike_however_it_is_handed_over(people, shape):
    image = seen(people[0], 1.0).image
    plain = read(image)
    handed = {
        "upright": cv2.copyMakeBorder(image[:, 120:520], 120, 120, 0, 0, cv2.BORDER_REFLECT),
        "small": cv2.resize(image, (240, 150), interpolation=cv2.INTER_AREA),
        "coloured": np.dstack([image] * 3),
        "deep": image.astype(np.uint16) * 16,
    }[shape]
    reading = read(handed)
    assert reading.sure and plain.sure and reading.pupil and plain.pupil
    scale = 240 / 640 if shape == "small" else 1.0
    assert reading.pupil.long == pytest.approx(plain.pupil.long * scale, rel=0.12)


@shipped
def test_an_eye_that_is_upside_down_is_told_and_no_gaze_is(people):
    for one in people[:4]:
        image = seen(one, 0.95).image
        over = np.ascontiguousarray(image[::-1, ::-1])
        assert "upside down" not in read(image).why
        turned = read(over)
        assert "upside down" in turned.why and turned.gaze_deg is None
        assert uprightness(image) > 0 > uprightness(over)


@shipped
def test_what_is_read_upside_down_is_told_in_the_pictures_own_places(people):
    image = seen(people[0], 0.95).image
    plain = estimate(image, Settings(upside_down=False))
    turned = estimate(np.ascontiguousarray(image[::-1, ::-1]), Settings(upside_down=True))
    assert plain.pupil and turned.pupil and plain.gaze_deg and turned.gaze_deg and plain.glints
    assert (turned.mask[::-1, ::-1] == plain.mask).all() and turned.certainties == plain.certainties
    assert (turned.pupil.x, turned.pupil.y) == pytest.approx((639 - plain.pupil.x, 399 - plain.pupil.y))
    assert turned.gaze_deg == pytest.approx((-plain.gaze_deg[0], -plain.gaze_deg[1]))
    assert np.allclose(turned.glints, [(639 - x, 399 - y) for x, y in plain.glints])


@shipped
@pytest.mark.parametrize("share", [0.16, 0.3, 0.7, 0.85])
@pytest.mark.parametrize("shape", [(400, 640), (640, 400), (200, 200)])
def test_an_eye_is_found_however_near_it_is(people, share, shape):
    """Also where it is cut by the picture's edges, and fills the picture."""
    picture = seen(people[1], 0.9)
    assert picture.iris and picture.pupil
    zoom = share * shape[1] / picture.iris[2]
    x, y = (side / 2 - zoom * middle for side, middle in zip(shape[::-1], picture.iris[:2], strict=True))
    way = np.array([[zoom, 0, x], [0, zoom, y]])
    source = cv2.GaussianBlur(picture.image, None, 0.45 / zoom) if zoom < 1 else picture.image
    reading = estimate(cv2.warpAffine(source, way, shape[::-1], borderMode=cv2.BORDER_REPLICATE))
    assert reading.pupil and reading.iris, reading.why
    centre = zoom * picture.pupil[0] + x, zoom * picture.pupil[1] + y
    off = np.hypot(reading.pupil.x - centre[0], reading.pupil.y - centre[1])
    assert off < max(0.04 * share * shape[1], 1.5)


@shipped
def test_reflections_are_found_where_the_renderer_put_them(people):
    hits = found = there = 0
    for one in people:
        picture = seen(one, 1.0)
        glints = np.array(estimate(picture.image).glints).reshape(-1, 2)
        true = picture.glints[np.hypot(*(picture.glints - picture.iris[:2]).T) < 0.45 * picture.iris[2]]
        apart = np.linalg.norm(glints[:, None] - true[None], axis=2) if len(glints) and len(true) else np.zeros((0, 0))
        hits += int((apart.min(axis=0) < 4).sum()) if apart.size else 0
        found += len(glints)
        there += len(true)
    assert there > 20 and hits > 0.7 * there and found < 2 * there
