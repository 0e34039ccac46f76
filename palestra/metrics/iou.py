"""How well two label masks agree: intersection over union, from 0 to 1 (higher is better).

The counts come from three sums that OpenCV makes at almost the speed of reading: how many pixels are not 0, how many
bits are set and the sum of the labels say how often each of the labels 0 to 3 occurs. That beats packing pixels.
"""

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.uint8]

MAX_CLASSES = 4
CHUNK_PIXELS = 1 << 18  # a 640×400 mask in one piece; two masks and the scratch stay in a core's cache


def count_overlap(truth: Mask, answer: Mask, classes: int = MAX_CLASSES) -> tuple[Counts, Counts, Counts]:
    """(intersection, truth area, answer area) in pixels of each class, for masks of any shape with labels < classes."""
    if not 1 <= classes <= MAX_CLASSES:
        raise ValueError(f"expected 1 to {MAX_CLASSES} classes, found {classes}")
    if truth.shape != answer.shape or truth.dtype != np.uint8 or answer.dtype != np.uint8:
        found = f"{truth.shape} {truth.dtype} and {answer.shape} {answer.dtype}"
        raise ValueError(f"expected two uint8 masks of one shape, found {found}")
    totals = np.zeros((3, MAX_CLASSES), dtype=np.int64)
    # One row: OpenCV's versions disagree on what a 1-D array is, and know no arrays of many dimensions.
    truth_row, answer_row = np.ascontiguousarray(truth).reshape(1, -1), np.ascontiguousarray(answer).reshape(1, -1)
    for start in range(0, truth.size, CHUNK_PIXELS):
        stop = start + CHUNK_PIXELS
        totals += _count_chunk(truth_row[:, start:stop], answer_row[:, start:stop], classes)
    intersection, truth_area, answer_area = totals[:, :classes]
    return intersection, truth_area, answer_area


def iou(intersection: ArrayLike, truth_area: ArrayLike, answer_area: ArrayLike) -> Floats:
    """Intersection over union of each class; NaN where the class is in neither mask. Counts may be weighted sums."""
    shared = np.asarray(intersection, dtype=np.float64)
    union = np.asarray(truth_area, dtype=np.float64) + np.asarray(answer_area, dtype=np.float64) - shared
    each: Floats = np.divide(shared, union, out=np.full(union.shape, np.nan), where=union > 0)
    return each


def mean_iou_global(intersection: ArrayLike, truth_area: ArrayLike, answer_area: ArrayLike) -> Floats:
    """Mean over the classes (last axis) that the truth has: for counts summed over a test set. NaN if it has none."""
    return _mean_where(iou(intersection, truth_area, answer_area), np.asarray(truth_area) > 0)


def mean_iou_image(intersection: ArrayLike, truth_area: ArrayLike, answer_area: ArrayLike) -> Floats:
    """Mean over the classes (last axis) that truth or answer has: for the counts of one image. NaN for no pixels."""
    each = iou(intersection, truth_area, answer_area)
    return _mean_where(each, ~np.isnan(each))


def _count_chunk(truth: Mask, answer: Mask, classes: int) -> tuple[list[int], list[int], list[int]]:
    highest = max(int(truth.max()), int(answer.max()))
    if highest >= classes:
        raise ValueError(f"expected labels from 0 to {classes - 1}, found {highest}")
    equal = np.asarray(cv2.compare(truth, answer, cv2.CMP_EQ), dtype=np.uint8)  # 255 where equal, else 0
    pixels_equal = int(cv2.sumElems(equal)[0]) // 255
    shared = np.bitwise_and(equal, truth, out=equal)
    return _areas(shared, pixels_equal), _areas(truth, truth.size), _areas(answer, answer.size)


def _areas(labels: Mask, pixels: int) -> list[int]:
    """How many of `pixels` carry each label; pixels that `labels` does not show as 1, 2 or 3 are 0."""
    not_zero = cv2.countNonZero(labels)  # n1 + n2 + n3
    bits = int(cv2.norm(labels, cv2.NORM_HAMMING))  # n1 + n2 + 2·n3
    label_sum = int(cv2.sumElems(labels)[0])  # n1 + 2·n2 + 3·n3
    threes = bits - not_zero
    twos = label_sum - not_zero - 2 * threes
    return [pixels - not_zero, not_zero - twos - threes, twos, threes]


def _mean_where(each: Floats, chosen: NDArray[np.bool_]) -> Floats:
    total = np.where(chosen, each, 0.0).sum(axis=-1)
    count = np.broadcast_to(chosen, each.shape).sum(axis=-1)
    mean: Floats = np.divide(total, count, out=np.full(np.shape(total), np.nan), where=count > 0)
    return mean
