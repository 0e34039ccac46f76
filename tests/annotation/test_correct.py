"""Corrected by a few labels: better where the reader is always wrong in the same way, and never worse."""

import cv2
import numpy as np
import pytest

from palestra.annotation.correct import learn_correction
from palestra.annotation.labels import Label
from palestra.eyes.reader.correction import FEATURES, Correction, features_of, log_shares
from palestra.eyes.reader.ellipses import Ellipse
from palestra.eyes.reader.read_eye import estimate
from palestra.eyes.reader.settings import Settings
from tests.eye_networks import LEVELS, drawn_eye, standing_in

UPRIGHT = Settings(upside_down=False)


@pytest.fixture(scope="module", autouse=True)
def network(tmp_path_factory):
    with standing_in(tmp_path_factory.mktemp("weights")):
        yield


def odd(x, seed=0):
    """An eye whose sclera is nearer to skin than to the sclera that the network knows, and its true mask."""
    plain = drawn_eye(x=x)
    mask = np.argmin(np.abs(plain[..., None] - np.array([LEVELS[number] for number in range(4)])), axis=2).astype(
        np.uint8
    )
    image = np.where(mask == 1, 205, plain).astype(np.float64)
    image += np.random.default_rng(seed).normal(0, 2, image.shape)
    return np.clip(image, 0, 255).astype(np.uint8), mask


def labels(count, **more):
    return [Label(f"{number}.png", *odd(0.45 + 0.02 * number, number), **more) for number in range(count)]


@pytest.mark.parametrize("count", [1, 3, 6])
def test_masks_teach_what_is_always_taken_for_something_else(count):
    found = learn_correction(labels(count), UPRIGHT)
    assert found.correction is not None and found.before.miou < 0.9
    assert found.after.miou > found.before.miou + 0.05
    image, mask = odd(0.56, 50)
    told = estimate(image, Settings(upside_down=False, correction=found.correction)).mask
    plain = estimate(image, UPRIGHT).mask
    assert (told != mask).mean() < 0.5 * (plain != mask).mean()


def test_what_is_right_already_is_left_as_it_is():
    right = [
        Label(f"{at}.png", image := drawn_eye(x=0.45 + 0.03 * at), estimate(image, UPRIGHT).mask) for at in range(4)
    ]
    found = learn_correction(right, UPRIGHT)
    assert found.correction is None and found.after == found.before


def test_labels_that_teach_nothing_change_nothing():
    rng = np.random.default_rng(0)
    wrong = []
    for number in range(4):
        mask = np.zeros((400, 640), np.uint8)
        x, y = rng.integers((150, 100), (490, 300))
        for value, size in ((1, 90), (2, 50), (3, 20)):
            cv2.circle(mask, (int(x), int(y)), size, value, -1)
        wrong.append(Label(f"{number}.png", drawn_eye(x=0.45 + 0.03 * number), mask))
    found = learn_correction(wrong, UPRIGHT)
    assert found.after.miou >= found.before.miou


@pytest.mark.parametrize("upside_down", [False, True])
def test_pupils_that_are_always_off_are_shifted_back(upside_down):
    settings = Settings(upside_down=upside_down)
    given = []
    for number in range(4):
        image = drawn_eye(x=0.44 + 0.03 * number)
        pupil = estimate(image, settings).pupil
        given.append(Label(f"{number}.png", image, pupil=(pupil.x + 5, pupil.y - 3, 1.1 * pupil.long)))
    found = learn_correction(given, settings)
    assert found.correction is not None and found.correction.weights is None
    assert found.after.pupil_off < 0.2 * found.before.pupil_off
    image = drawn_eye(x=0.6)
    plain, told = (estimate(image, Settings(upside_down=upside_down, correction=some)).pupil
                   for some in (None, found.correction))  # fmt: skip
    assert (told.x - plain.x, told.y - plain.y) == pytest.approx((5, -3), abs=0.7)
    assert told.long == pytest.approx(1.1 * plain.long, rel=0.01)


def test_a_correction_of_nothing_is_nothing():
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(2, 4, 200, 320)).astype(np.float32)
    pictures = rng.normal(size=(2, 200, 320)).astype(np.float32)
    told = Correction(np.zeros((FEATURES, 4), np.float32)).corrected(logits, pictures)
    assert (told.argmax(axis=1) == logits.argmax(axis=1)).all()
    assert Correction().corrected(logits, pictures) is logits
    assert features_of(log_shares(logits)[0], pictures[0]).shape == (200, 320, FEATURES)
    pupil, iris = Ellipse(10, 20, 8, 6, 30), Ellipse(11, 21, 30, 28, 0)
    assert Correction().of_pupil(pupil, iris) == pupil
