"""`segment`: masks from pictures of any size, shape and depth, and what labels of a sequence add."""

from pathlib import Path

import cv2
import numpy as np
import polars as pl
import pytest

from palestra.errors import PalestraError
from palestra.eyes.simulator.renderer import Renderer
from palestra.eyes.simulator.scene import Look, draw_camera, draw_person
from palestra.metrics.angles import to_vectors
from palestra.metrics.iou import count_overlap, mean_iou_global
from palestra.tracks.eye_segmentation import format as openeds
from palestra.tracks.eye_segmentation import segment
from palestra.tracks.eye_segmentation.masks import decode_mask
from palestra.tracks.eye_segmentation.solutions import palestra as solution
from train.tables_people import profile, stranger

Part = tuple[slice, slice]
GAZES = [(-8.0, 4.0), (0.0, 0.0), (9.0, -5.0)]


@pytest.fixture(scope="module")
def drawn() -> tuple[np.ndarray, np.ndarray]:
    """Three frames of one stranger, and their true masks, (3, 400, 640)."""
    rng = stranger(18)
    person, camera = draw_person(profile(rng, False), rng), draw_camera(rng)
    renderer = Renderer(person, camera)
    shots = [renderer.render(Look(to_vectors(*gaze), person.pupil_mm, 0.95), rng) for gaze in GAZES]
    return np.stack([shot.image for shot in shots]), np.stack([shot.mask for shot in shots])


def miou(true: np.ndarray, found: np.ndarray) -> float:
    counts = [count_overlap(mask, other) for mask, other in zip(true, found, strict=True)]
    return float(
        mean_iou_global(*(np.sum([one[part] for one in counts], axis=0, keepdims=True) for part in range(3)))[0]
    )


def middle_of(mask: np.ndarray) -> tuple[int, int]:
    rows, columns = np.nonzero(mask == 3)
    return int(rows.mean()), int(columns.mean())


def around(mask: np.ndarray, high: int, wide: int) -> Part:
    row, column = middle_of(mask)
    top = int(np.clip(row - high // 2, 0, mask.shape[0] - high))
    left = int(np.clip(column - wide // 2, 0, mask.shape[1] - wide))
    return slice(top, top + high), slice(left, left + wide)


def test_pictures_of_the_track_get_the_masks_of_the_solution(
    tmp_path: Path, drawn: tuple[np.ndarray, np.ndarray]
) -> None:
    pictures, true = drawn
    folder = tmp_path / openeds.RELEASE / "participant" / "S_0"
    folder.mkdir(parents=True)
    for number, picture in enumerate(pictures):
        cv2.imwrite(str(folder / f"{number}.png"), picture)
    np.save(folder / "label_0.npy", true[0])
    trials = pl.DataFrame({"trial": ["S_0/1", "S_0/2"], "sequence": ["S_0", "S_0"], "frame": [1, 2]})

    answers = solution.predict(tmp_path, trials, None)

    expected = np.stack([decode_mask(key.encode()) for key in answers["mask_key"]])
    np.testing.assert_array_equal(segment(list(pictures), labels={0: true[0]})[1:], expected)


@pytest.mark.parametrize(
    ("framing", "least"),
    [("whole", 0.93), ("portrait", 0.9), ("close", 0.9), ("large", 0.93), ("tiny", 0.85), ("wide", 0.9)],
)
def test_any_framing_is_segmented(drawn: tuple[np.ndarray, np.ndarray], framing: str, least: float) -> None:
    pictures, true = drawn
    part = {
        "portrait": around(true[1], 400, 250),
        "close": around(true[1], 240, 280),
        "wide": around(true[1], 170, 640),
    }
    rows, columns = part.get(framing, (slice(None), slice(None)))
    seen, masks = pictures[:, rows, columns], true[:, rows, columns]
    size = {"large": (1920, 1200), "tiny": (128, 80)}.get(framing)
    if size:
        seen = np.stack([cv2.resize(picture, size, interpolation=cv2.INTER_AREA) for picture in seen])
        masks = np.stack([cv2.resize(mask, size, interpolation=cv2.INTER_NEAREST) for mask in masks])

    found = segment(list(seen))

    assert found.shape == masks.shape
    assert found.dtype == np.uint8
    assert miou(masks, found) > least


def test_a_single_picture_is_a_sequence_of_one(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    pictures, true = drawn
    assert miou(true[:1], segment([pictures[0]])) > 0.92


def test_colour_and_depth_do_not_matter(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    grey = drawn[0][0][:, 100:540]
    colour = np.repeat(grey[:, :, None], 3, axis=2)
    transparent = np.dstack([colour, np.full(grey.shape, 255, np.uint8)])
    np.testing.assert_array_equal(segment([colour]), segment([grey]))
    np.testing.assert_array_equal(segment([transparent]), segment([grey]))


def test_labels_come_back_as_they_are_and_better_the_others(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    pictures, true = (part[:, :, 150:490] for part in drawn)
    # A device on which everybody labels the pupil too large: the network cannot know that, labels tell it.
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (13, 13))
    large = np.stack([np.where(cv2.dilate((mask == 3).astype(np.uint8), kernel) > 0, 3, mask) for mask in true])

    alone, told = segment(list(pictures)), segment(list(pictures), labels={0: large[0], 1: large[1]})

    np.testing.assert_array_equal(told[:2], large[:2])
    assert miou(large[2:], told[2:]) > miou(large[2:], alone[2:]) + 0.01


def test_a_picture_without_an_eye_has_a_mask_too() -> None:
    assert segment([np.full((300, 300), 90, np.uint8)]).shape == (1, 300, 300)


@pytest.mark.parametrize(
    ("pictures", "labels", "words"),
    [
        ([], {}, "one size"),
        ([np.zeros((100, 160)), np.zeros((100, 161))], {}, "one size"),
        ([np.zeros((10, 160))], {}, "at least 24 × 40"),
        ([np.zeros(160)], {}, "expected .height, width."),
        ([np.zeros((100, 160))], {1: np.zeros((100, 160), np.uint8)}, "frames are 0 to 0"),
        ([np.zeros((100, 160))], {0: np.zeros((50, 80), np.uint8)}, "no mask"),
        ([np.zeros((100, 160))], {0: np.full((100, 160), 4, np.uint8)}, "no mask"),
    ],
)  # fmt: skip
def test_what_is_no_sequence_is_refused(pictures: list[np.ndarray], labels: dict[int, np.ndarray], words: str) -> None:
    with pytest.raises(PalestraError, match=words):
        segment(pictures, labels)
