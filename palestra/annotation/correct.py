"""A correction of the reader from one to a few labels of a device: no training, and never worse than without.

Each labelled picture is read with what others teach, and only what makes these readings better is kept. Of a single
mask, one half of the picture tests what the other one teaches.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from palestra.annotation.adapt import Score, score
from palestra.annotation.device_windows import IGNORED, Eye, eye_of
from palestra.annotation.labels import Label, pooled_miou
from palestra.eyes.reader.correction import CLASSES, FEATURES, Correction, features_of, log_shares
from palestra.eyes.reader.ellipses import Mask
from palestra.eyes.reader.image_input import COLUMNS, ROWS, Window, cut, normalised, window_around
from palestra.eyes.reader.network import session
from palestra.eyes.reader.read_eye import Reading, estimate
from palestra.eyes.reader.search import IRIS_OF_WINDOW, farther, find
from palestra.eyes.reader.settings import Settings

RIDGES = (0.03, 0.003)  # how hard weights are held to 0
FOLDS = 5
SAMPLED = 4000  # pixels of a window, half of them at the eye
LEAST_GAIN = 0.003  # of mIoU, for a correction to be kept
LEAST_PUPIL_GAIN = 0.1  # of the pupil's error
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Lesson:
    """Pixels that one fold holds: their features, log shares and true classes."""

    features: NDArray[np.float32]  # (n, FEATURES)
    shares: NDArray[np.float32]  # (n, 4)
    classes: NDArray[np.int64]


@dataclass(frozen=True)
class Corrected:
    """What was learnt, if it helps, and the score of the labelled pictures without and with what the others teach."""

    correction: Correction | None
    before: Score
    after: Score


def learn_correction(labels: Sequence[Label], settings: Settings) -> Corrected:
    plain = [estimate(label.image, settings) for label in labels]
    before = score(labels, plain)
    masked = [label for label in labels if label.mask is not None]
    best = _best_ridge(_folds_of_pixels(masked, settings)) if masked else None
    for ridge in dict.fromkeys([best, None]):  # classes and pupils, else pupils alone
        correction = _learnt(labels, plain, settings, ridge)
        if correction is None:
            continue
        if len(labels) == 1:  # halves of it have shown that it helps; nothing is left to read
            again = estimate(labels[0].image, replace(settings, correction=correction))
            return Corrected(correction, before, score(labels, [again]))
        after = score(labels, _read_by_others(labels, plain, settings, ridge))
        if _is_better(after, before):
            return Corrected(correction, before, after)
    return Corrected(None, before, before)


def _is_better(after: Score, before: Score) -> bool:
    if before.miou is not None and (after.miou or 0.0) < before.miou:
        return False
    if before.pupil_off is not None and (after.pupil_off or 0.0) > before.pupil_off:
        return False
    return after != before


def _learnt(
    labels: Sequence[Label], plain: Sequence[Reading], settings: Settings, ridge: float | None
) -> Correction | None:
    """From all of these labels."""
    masked = [label for label in labels if label.mask is not None]
    weights = _fitted([_lesson(label, settings) for label in masked], ridge) if masked and ridge else None
    shift, scale = _of_pupils(labels, plain, settings)
    if weights is None and shift == (0.0, 0.0) and scale == 1.0:
        return None
    return Correction(weights, shift, scale)


def _read_by_others(
    labels: Sequence[Label], plain: Sequence[Reading], settings: Settings, ridge: float | None
) -> list[Reading]:
    """Each label's picture, read with what the labels of other folds teach."""
    fold = np.arange(len(labels)) % FOLDS
    found = list(plain)
    for number in range(min(FOLDS, len(labels))):
        others = [at for at in range(len(labels)) if fold[at] != number]
        correction = _learnt([labels[at] for at in others], [plain[at] for at in others], settings, ridge)
        if correction is not None:
            for at in np.flatnonzero(fold == number).tolist():
                found[at] = estimate(labels[at].image, replace(settings, correction=correction))
    return found


# ── Classes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _lesson(label: Label, settings: Settings, columns: slice = slice(None)) -> Lesson:
    """What the network says of a labelled picture, near and a little farther, beside what is true."""
    assert label.mask is not None
    eye = eye_of(label.image, label.mask, settings)
    seen, _ = find(eye.picture, replace(settings, correction=None))
    x, y, iris = eye.iris()
    window = seen.window if seen else window_around(x, y, iris / IRIS_OF_WINDOW)
    parts = [_pixels(eye, one, settings, columns) for one in (window, farther(window, 1.15))]
    return Lesson(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _pixels(
    eye: Eye, window: Window, settings: Settings, columns: slice
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
    picture = normalised(cut(eye.picture, window))
    logits = session(settings).run(["logits"], {"pictures": picture[None, None]})[0]
    shares = log_shares(logits)[0]
    mask = _cut_mask(eye.mask, window)[:, columns]
    known = mask != IGNORED
    features = features_of(shares, picture)[:, columns]
    return features[known], np.moveaxis(shares, 0, -1)[:, columns][known], mask[known].astype(np.int64)


def _cut_mask(mask: Mask, window: Window) -> Mask:
    """The mask as the network's picture has it, IGNORED beyond the picture."""
    across, down = window.width / COLUMNS, window.height / ROWS
    way = np.array(
        [[1 / across, 0, (0.5 - window.left) / across - 0.5], [0, 1 / down, (0.5 - window.top) / down - 0.5]]
    )  # pixels are counted from their middles
    size = COLUMNS, ROWS
    return np.asarray(cv2.warpAffine(mask, way, size, flags=cv2.INTER_NEAREST, borderValue=(IGNORED,) * 3), np.uint8)


def _folds_of_pixels(labels: Sequence[Label], settings: Settings) -> list[Lesson]:
    if len(labels) > 1:
        return [_lesson(label, settings) for label in labels]
    return [_lesson(labels[0], settings, half) for half in (slice(0, COLUMNS // 2), slice(COLUMNS // 2, None))]


def _best_ridge(folds: Sequence[Lesson]) -> float | None:
    """The one that makes pixels better that were not learnt from; None where none does."""
    number = np.arange(len(folds)) % FOLDS
    known: dict[float | None, float] = {None: _agreement(folds, [None] * len(folds))}
    for ridge in RIDGES:
        by_fold = {
            fold: _fitted([lesson for lesson, at in zip(folds, number, strict=True) if at != fold], ridge)
            for fold in set(number.tolist())
        }
        known[ridge] = _agreement(folds, [by_fold[int(fold)] for fold in number])
    best = max(known, key=lambda ridge: known[ridge])
    return best if known[best] >= known[None] + LEAST_GAIN else None


def _agreement(folds: Sequence[Lesson], weights: Sequence[NDArray[np.float32] | None]) -> float:
    counts = []
    for lesson, some in zip(folds, weights, strict=True):
        told = lesson.shares if some is None else lesson.shares + lesson.features @ some
        pairs = np.bincount(CLASSES * lesson.classes + told.argmax(axis=1), minlength=CLASSES**2)
        table = pairs.reshape(CLASSES, CLASSES)
        counts.append(np.array([table.diagonal(), table.sum(axis=1), table.sum(axis=0)]))
    return pooled_miou(counts)


def _fitted(lessons: Sequence[Lesson], ridge: float) -> NDArray[np.float32]:
    """Multinomial logistic regression on top of what the network says."""
    rng = np.random.default_rng(0)
    picked = [_picked(lesson, rng) for lesson in lessons]
    features = np.concatenate([lesson.features[at] for lesson, at in zip(lessons, picked, strict=True)]).astype(float)
    shares = np.concatenate([lesson.shares[at] for lesson, at in zip(lessons, picked, strict=True)]).astype(float)
    true = np.eye(CLASSES)[np.concatenate([lesson.classes[at] for lesson, at in zip(lessons, picked, strict=True)])]

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(FEATURES, CLASSES)
        told = shares + features @ weights
        told -= told.max(axis=1, keepdims=True)
        told -= np.log(np.exp(told).sum(axis=1, keepdims=True))
        pull = features.T @ (np.exp(told) - true) / len(true) + 2 * ridge * weights
        return float(-(told * true).sum() / len(true) + ridge * (weights**2).sum()), pull.ravel()

    found = minimize(loss, np.zeros(FEATURES * CLASSES), jac=True, method="L-BFGS-B", options={"maxiter": 150})
    return np.asarray(found.x.reshape(FEATURES, CLASSES), np.float32)


def _picked(lesson: Lesson, rng: np.random.Generator) -> NDArray[np.int64]:
    """Half of them where the network is in doubt or the eye is, half anywhere."""
    near = np.flatnonzero((lesson.classes > 0) | (lesson.shares.max(axis=1) < np.log(0.9)))
    return np.concatenate([rng.integers(len(lesson.classes), size=SAMPLED), rng.choice(near, SAMPLED)])


# ── Pupils ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_pupils(
    labels: Sequence[Label], plain: Sequence[Reading], settings: Settings
) -> tuple[tuple[float, float], float]:
    """By how much pupils are off on the whole, as far as that helps pupils that it was not taken from."""
    side = -1.0 if settings.upside_down else 1.0
    shifts, scales = [], []
    for label, reading in zip(labels, plain, strict=True):
        point = label.pupil_point()
        if point and reading.pupil and reading.iris:
            off = point[0] - reading.pupil.x, point[1] - reading.pupil.y
            shifts.append([side * part / reading.iris.long for part in off])
            if point[2]:
                scales.append(point[2] / reading.pupil.long)
    found = np.array(shifts).reshape(-1, 2)
    shift = tuple(float(part) for part in np.median(found, axis=0)) if _helps(found, 0.0) else (0.0, 0.0)
    ratios = np.array(scales).reshape(-1, 1)
    return (shift[0], shift[1]), float(np.median(ratios)) if _helps(ratios, 1.0) else 1.0


def _helps(values: Floats, nothing: float) -> bool:
    """Whether the median of the others is clearly nearer to each value than nothing is."""
    if len(values) < 3:
        return False
    others = np.array([np.median(np.delete(values, at, axis=0), axis=0) for at in range(len(values))])
    left = np.median(np.linalg.norm(values - others, axis=1))
    return bool(left < (1 - LEAST_PUPIL_GAIN) * np.median(np.linalg.norm(values - nothing, axis=1)))
