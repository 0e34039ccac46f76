"""The live solution sees pupils among lashes and glints, says something when it sees nothing, and plays."""

import cv2
import numpy as np
import pytest

from palestra import model_cards, registry
from palestra.tracks.near_eye import live_format
from palestra.tracks.near_eye.solutions.live_pupil import KINDS, WEIGHTS, Pupil, mirror, see

DARK = np.zeros(live_format.SHAPE, np.uint8)


def drawn(x=300.0, y=190.0, glints=6):
    """An eye as simple as can be: a pupil in an iris, and glints in a ring."""
    image = np.full(live_format.SHAPE, 120, np.uint8)
    cv2.circle(image, (round(x), round(y)), 75, 80, -1, cv2.LINE_AA)
    cv2.ellipse(image, ((x, y), (60, 48), 30), 30, -1, cv2.LINE_AA)
    for turn in np.arange(glints) * 2 * np.pi / max(glints, 1):
        cv2.circle(image, (round(x + 8 + 45 * np.cos(turn)), round(y - 5 + 45 * np.sin(turn))), 2, 255, -1)
    return cv2.GaussianBlur(image, (3, 3), 0)


@pytest.fixture(scope="module")
def eyes(tiny):
    """Both eyes of some testers at some points."""
    data = tiny("near-eye-live-v1")
    keys = live_format.read_points(data).rows()[::11]
    return [tuple(live_format.read_eyes(data, tester, point).values()) for tester, point in keys]


def point(*pictures):
    program = Pupil()
    program.get_data(*pictures)
    return program.algorithm()


def test_it_plays_and_is_far_better_than_looking_straight_ahead(tiny, cli, tmp_path):
    track, data = registry.track("near-eye-live-v1"), tiny("near-eye-live-v1")
    words = ("--data", data, "--pace", "fast", "--set", "deadline_s=600", "--run", tmp_path / "run", "--json")
    ran = cli("play", track.id, "pupil", *words)
    assert ran.code == 0, ran.err
    value = {name: metric["value"] for name, metric in ran.json["metrics"].items()}
    assert value["misses"] == 0
    assert value["pe_deg"] < 12  # straight ahead: 18
    assert value["p50_deg"] < 6


def test_a_pupil_is_found_where_it_is():
    kind, pupil = see(drawn())
    assert kind == KINDS[0]
    assert (pupil.x, pupil.y) == pytest.approx((300, 190), abs=1.5)
    assert (pupil.long_px, pupil.short_px) == pytest.approx((60, 48), abs=4)
    assert (pupil.glint_x, pupil.glint_y) == pytest.approx((308, 185), abs=1.5)
    # The axis is a line, so 30° and 210° are one; OpenCV draws the long axis at 30°.
    assert np.cos(np.radians(2 * (pupil.angle_deg - 30))) > 0.95


def test_a_darker_spot_without_glints_is_no_pupil():
    image = drawn()
    cv2.ellipse(image, ((520.0, 180.0), (70, 60), 0), 5, -1)
    pupil = see(image).pupil
    assert (pupil.x, pupil.y) == pytest.approx((300, 190), abs=1.5)


def test_few_glints_still_tell_something():
    kind, pupil = see(drawn(glints=3))
    assert kind == KINDS[1]
    assert np.hypot(pupil.glint_x - 308, pupil.glint_y - 185) < 45


def test_an_eye_without_glints_tells_nothing():
    assert see(drawn(glints=0)) is None
    assert see(DARK) is None


def test_who_sees_nothing_answers_straight_ahead_and_later_as_before(eyes):
    program = Pupil()
    program.get_data(DARK, DARK)
    assert program.algorithm() == [0, 0]
    program.get_data(*eyes[0])
    before = program.algorithm()
    program.get_data(DARK, DARK)
    assert program.algorithm() == before != [0, 0]


def test_each_eye_can_answer_alone_and_both_together_lie_between(eyes):
    for left, right in eyes:
        alone = np.array([point(left, DARK), point(DARK, right)])
        both = np.array(point(left, right))
        assert (both >= alone.min(axis=0) - 1e-9).all() and (both <= alone.max(axis=0) + 1e-9).all()


def test_in_a_mirror_people_look_the_other_way(eyes):
    for left, right in eyes:
        x, y = point(left, right)
        assert point(mirror(right), mirror(left)) == pytest.approx([-x, y])


def test_pictures_of_anything_are_answered(eyes):
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, DARK.shape, dtype=np.uint8)
    for picture in (noise, DARK + 255, cv2.GaussianBlur(noise, (0, 0), 8), drawn(5.0, 3.0), drawn(635.0, 398.0)):
        found = point(picture, picture)
        assert len(found) == 2 and np.isfinite(found).all()


def test_its_weights_are_small_and_in_the_package():
    assert registry.solution("near-eye-live-v1", "pupil").weights == model_cards.path(WEIGHTS).name
    assert model_cards.path(WEIGHTS).stat().st_size < 20_000
