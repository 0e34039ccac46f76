"""Overlap of masks: the same counts as a confusion matrix, the same IoU as sklearn and torchmetrics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from palestra.metrics import iou as overlap
from palestra.metrics.iou import count_overlap, iou, mean_iou_global, mean_iou_image

pairs = array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=20).flatmap(
    lambda shape: st.tuples(*[arrays(np.uint8, shape, elements=st.integers(0, 3))] * 2)
)


def by_bincount(truth, answer):
    matrix = np.bincount(truth.reshape(-1).astype(int) * 4 + answer.reshape(-1), minlength=16).reshape(4, 4)
    return np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)


def eye_masks(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:400, :640]
    centre = rng.uniform(-20, 20, 2)
    distance = np.hypot(x - 320 - centre[0], y - 200 - centre[1])
    truth = np.select([distance < 40, distance < 90, distance < 170], [3, 2, 1], 0).astype(np.uint8)
    return truth, np.roll(truth, rng.integers(-6, 6, 2), axis=(0, 1))


@given(pairs)
def test_equals_a_bincount_for_any_shape(masks):
    for found, expected in zip(count_overlap(*masks), by_bincount(*masks), strict=True):
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(400, 640), (399, 637), (3, 400, 640), (1 << 18,), ((1 << 18) + 1,), (1, 1), (7,)])
def test_equals_a_bincount_for_large_random_masks(shape):
    rng = np.random.default_rng(1)
    truth, answer = rng.integers(0, 4, shape, dtype=np.uint8), rng.integers(0, 4, shape, dtype=np.uint8)
    np.testing.assert_array_equal(count_overlap(truth, answer), by_bincount(truth, answer))


@pytest.mark.parametrize("label", range(4))
def test_masks_of_one_label(label):
    mask = np.full((400, 640), label, dtype=np.uint8)
    for found in count_overlap(mask, mask):
        np.testing.assert_array_equal(found, np.eye(4, dtype=int)[label] * mask.size)


def test_non_contiguous_and_read_only_masks():
    truth, answer = eye_masks()
    truth.flags.writeable = False
    cut = slice(3, -3, 2), slice(None, None, -3)
    np.testing.assert_array_equal(count_overlap(truth[cut], answer[cut]), by_bincount(truth[cut], answer[cut]))
    np.testing.assert_array_equal(count_overlap(truth.T, answer.T), by_bincount(truth, answer))


def test_inputs_are_left_as_they_were():
    truth, answer = eye_masks()
    before = truth.copy(), answer.copy()
    count_overlap(truth, answer)
    np.testing.assert_array_equal(truth, before[0])
    np.testing.assert_array_equal(answer, before[1])


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_sklearn(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    truth, answer = eye_masks(seed)
    matrix = metrics.confusion_matrix(truth.reshape(-1), answer.reshape(-1), labels=range(4))
    counts = count_overlap(truth, answer)
    np.testing.assert_array_equal(counts, [np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)])
    expected = metrics.jaccard_score(truth.reshape(-1), answer.reshape(-1), average=None)
    np.testing.assert_allclose(iou(*counts), expected, rtol=1e-12)
    assert mean_iou_image(*counts) == pytest.approx(expected.mean(), rel=1e-12)


def test_agrees_with_torchmetrics():
    torch = pytest.importorskip("torch")
    classification = pytest.importorskip("torchmetrics.classification")
    jaccard = classification.MulticlassJaccardIndex(num_classes=4, average="none")
    totals = np.zeros((3, 4), dtype=np.int64)
    for seed in range(4):
        truth, answer = eye_masks(seed)
        jaccard.update(torch.from_numpy(answer), torch.from_numpy(truth))
        totals += count_overlap(truth, answer)
    expected = jaccard.compute().numpy()
    np.testing.assert_allclose(iou(*totals), expected, rtol=1e-6)
    assert mean_iou_global(*totals) == pytest.approx(expected.mean(), rel=1e-6)


@given(pairs)
def test_iou_is_within_0_and_1_symmetric_and_1_for_the_truth(masks):
    truth, answer = masks
    each = iou(*count_overlap(truth, answer))
    assert ((each >= 0) & (each <= 1) | np.isnan(each)).all()
    np.testing.assert_array_equal(each, iou(*count_overlap(answer, truth)))
    np.testing.assert_array_equal(iou(*count_overlap(truth, truth))[np.unique(truth)], 1.0)


def test_classes_that_neither_mask_has_are_nan_and_skipped():
    counts = count_overlap(np.array([0, 0, 1, 1], dtype=np.uint8), np.array([0, 1, 1, 1], dtype=np.uint8))
    np.testing.assert_allclose(iou(*counts), [1 / 2, 2 / 3, np.nan, np.nan])
    assert mean_iou_image(*counts) == pytest.approx(7 / 12)
    assert mean_iou_global(*counts) == pytest.approx(7 / 12)


def test_a_class_that_only_the_answer_has_costs_in_the_image_mean_alone():
    counts = count_overlap(np.array([0, 0, 0, 1], dtype=np.uint8), np.array([0, 0, 2, 1], dtype=np.uint8))
    assert mean_iou_global(*counts) == pytest.approx((2 / 3 + 1) / 2)
    assert mean_iou_image(*counts) == pytest.approx((2 / 3 + 1 + 0) / 3)


def test_means_work_on_a_stack_of_counts():
    counts = np.stack([count_overlap(*eye_masks(seed)) for seed in range(3)], axis=1)  # (3 kinds, 3 images, 4 classes)
    for mean in (mean_iou_global, mean_iou_image):
        np.testing.assert_array_equal(mean(*counts), [mean(*counts[:, i]) for i in range(3)])


def test_no_pixels_give_nan():
    empty = np.empty((0, 640), dtype=np.uint8)
    assert np.isnan(mean_iou_global(*count_overlap(empty, empty)))
    assert np.isnan(mean_iou_image(*count_overlap(empty, empty)))


def test_fewer_classes():
    truth, answer = np.array([0, 1, 1], dtype=np.uint8), np.array([1, 1, 0], dtype=np.uint8)
    np.testing.assert_array_equal(count_overlap(truth, answer, classes=2), [[0, 1], [1, 2], [1, 2]])


@pytest.mark.parametrize("highest", [4, 7, 255])
@pytest.mark.parametrize("which", [0, 1])
def test_labels_that_are_no_class_are_refused(highest, which):
    masks = [np.zeros((40, 64), dtype=np.uint8) for _ in range(2)]
    masks[which][39, 63] = highest
    with pytest.raises(ValueError, match=f"labels from 0 to 3, found {highest}"):
        count_overlap(*masks)


def test_masks_that_do_not_fit_are_refused():
    mask = np.zeros((4, 6), dtype=np.uint8)
    with pytest.raises(ValueError, match="one shape"):
        count_overlap(mask, mask.T)
    with pytest.raises(ValueError, match="uint8"):
        count_overlap(mask, mask.astype(np.int64))
    with pytest.raises(ValueError, match="classes"):
        count_overlap(mask, mask, classes=overlap.MAX_CLASSES + 1)
