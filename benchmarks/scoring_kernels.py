"""The scoring kernels against their peers and against the machine's own limit, in one run: angles, overlap, intervals.

    python -m benchmarks.scoring_kernels

Every time is the median of a few repeats; ours and its peer take turns, so that a busy machine slows both.
"""

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palestra.metrics.angles import angles_deg
from palestra.metrics.bootstrap import draw_weights
from palestra.metrics.iou import count_overlap
from palestra.metrics.quantiles import at_shares, weighted_at_shares

Floats32 = NDArray[np.float32]
Masks = NDArray[np.uint8]

PAIRS = 10_000_000
MASKS = 20  # 640×400 each: 5 MB of truth and as much of answers
TEST_ROWS = 150_150  # near-eye's test set, of 10 people
PEOPLE = 10
SHARES = (0.5, 0.95)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    what: str  # what was done
    ours_s: float
    against: str  # a peer, or a limit
    against_s: float
    ratio: float  # how many times faster than a peer, or how many times the limit
    asked: str
    met: bool | None  # None where nothing is asked


def rows() -> list[Row]:
    """All lines; takes about half a minute and 2 GB."""
    return [*angle_rows(), *overlap_rows(), interval_row()]


def angle_rows(pairs: int = PAIRS) -> list[Row]:
    """Angles and their exact P50 and P95, against copying the input and against two ways with arccos."""
    what = f"angles + exact P50, P95 of {pairs:,} float32 pairs"
    a, b = gaze_pairs(pairs)
    copies = np.zeros_like(a), np.zeros_like(b)

    def copy() -> None:
        np.copyto(copies[0], a)
        np.copyto(copies[1], b)

    ours_s, copy_s, textbook_s, lean_s = medians_s(
        lambda: at_shares(angles_deg(a, b), SHARES),
        copy,
        lambda: np.percentile(textbook_angles_deg(a, b), [50, 95]),
        lambda: np.percentile(lean_arccos_deg(a, b), [50, 95]),
    )
    return [
        Row(what, ours_s, "copying the data (limit)", copy_s, ours_s / copy_s, "≤ 5×", ours_s <= 5 * copy_s),
        faster(what, ours_s, "float64 arccos, np.percentile", textbook_s, 8),
        faster(what, ours_s, "the same with einsum (inexact)", lean_s),
    ]


def overlap_rows(masks: int = MASKS) -> list[Row]:
    """Counting for mIoU on one core, against torchmetrics, which checks labels as ours does, and without its checks."""
    import torch
    from torchmetrics.functional.classification import multiclass_confusion_matrix

    truth, answers = eye_masks(masks)
    pairs = list(zip(truth, answers, strict=True))
    tensors = [(torch.from_numpy(t), torch.from_numpy(a)) for t, a in pairs]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        ours_s, checked_s, unchecked_s, bincount_s = medians_s(
            lambda: [count_overlap(t, a) for t, a in pairs],
            lambda: [multiclass_confusion_matrix(a, t, num_classes=4) for t, a in tensors],
            lambda: [multiclass_confusion_matrix(a, t, num_classes=4, validate_args=False) for t, a in tensors],
            lambda: [np.bincount((4 * t + a).reshape(-1), minlength=16) for t, a in pairs],
        )
    finally:
        torch.set_num_threads(threads)
    what = f"overlap of {masks} masks of 640×400, one core"
    return [
        faster(what, ours_s, "torchmetrics confusion matrix", checked_s, 10),
        faster(what, ours_s, "the same without its checks", unchecked_s),
        faster(what, ours_s, "numpy bincount", bincount_s),
    ]


def interval_row(resamples: int = 1000) -> Row:
    """½(P50 + P95) of every resample of the near-eye test set, drawing included, against one resample at a time."""
    rng = np.random.default_rng(0)
    errors_deg, person = rng.gamma(2, 1, TEST_ROWS), rng.integers(0, PEOPLE, TEST_ROWS)

    def ours() -> object:
        return weighted_at_shares(errors_deg, person, draw_weights(PEOPLE, resamples), SHARES).mean(axis=1)

    weights = draw_weights(PEOPLE, resamples).astype(int)

    def repeated() -> object:
        return [at_shares(np.repeat(errors_deg, weight[person]), SHARES).mean() for weight in weights[:10]]

    ours_s, ten_s = medians_s(ours, repeated)
    peer_s = ten_s * resamples / 10
    what = f"{resamples:,} resamples of {TEST_ROWS:,} rows"
    return Row(what, ours_s, "np.repeat, np.partition (10 timed)", peer_s, peer_s / ours_s, "< 1 s", ours_s < 1)


def gaze_pairs(pairs: int) -> tuple[Floats32, Floats32]:
    """Directions and answers a few degrees from them."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((pairs, 3), dtype=np.float32)
    return a, a + np.float32(0.03) * rng.standard_normal((pairs, 3), dtype=np.float32)


def eye_masks(masks: int) -> tuple[Masks, Masks]:
    """Pupil, iris and white as discs, and answers moved by a few pixels."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:400, :640]
    distance = np.hypot(x - rng.uniform(290, 350, (masks, 1, 1)), y - rng.uniform(180, 220, (masks, 1, 1)))
    truth = np.select([distance < 40, distance < 90, distance < 170], [3, 2, 1], 0).astype(np.uint8)
    return truth, np.roll(truth, (2, 3), axis=(1, 2))


def textbook_angles_deg(a: Floats32, b: Floats32) -> NDArray[np.float64]:
    """The arccos of the dot product of unit vectors, as it is usually written, on whole arrays."""
    p, q = a.astype(np.float64), b.astype(np.float64)
    p = p / np.linalg.norm(p, axis=1, keepdims=True)
    q = q / np.linalg.norm(q, axis=1, keepdims=True)
    found: NDArray[np.float64] = np.degrees(np.arccos(np.clip(np.sum(p * q, axis=1), -1, 1)))
    return found


def lean_arccos_deg(a: Floats32, b: Floats32) -> NDArray[np.float64]:
    """The fastest arccos that numpy offers on whole arrays: no unit vectors, no temporaries of three columns."""
    p, q = a.astype(np.float64), b.astype(np.float64)
    size = np.sqrt(np.einsum("ij,ij->i", p, p) * np.einsum("ij,ij->i", q, q))
    found: NDArray[np.float64] = np.degrees(np.arccos(np.clip(np.einsum("ij,ij->i", p, q) / size, -1, 1)))
    return found


def faster(what: str, ours_s: float, peer: str, peer_s: float, times: float | None = None) -> Row:
    """A line against a peer that ours should beat by `times`, where that is asked."""
    ratio = peer_s / ours_s
    return Row(what, ours_s, peer, peer_s, ratio, f"≥ {times}×" if times else "", ratio >= times if times else None)


def medians_s(*functions: Callable[[], object], repeats: int = 5) -> list[float]:
    """The median time of each, after one unmeasured call; they take turns."""
    times: list[list[float]] = [[] for _ in functions]
    for repeat in range(repeats + 1):
        for function, taken in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            if repeat:
                taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def table(lines: list[Row]) -> str:
    """The lines as text."""
    head = f"{'what':<53}{'ours':>11}  {'against':<36}{'its time':>11}{'ratio':>8}  {'asked':<8}met"
    body = [
        f"{r.what:<53}{r.ours_s * 1e3:>8.2f} ms  {r.against:<36}{r.against_s * 1e3:>8.2f} ms{r.ratio:>7.1f}×  "
        f"{r.asked:<8}{'' if r.met is None else 'yes' if r.met else 'no'}"
        for r in lines
    ]
    return "\n".join([head, *body])


def main() -> int:
    """Prints the table; 1 if something asked was not met."""
    lines = rows()
    print(table(lines))
    return int(any(line.met is False for line in lines))


if __name__ == "__main__":
    sys.exit(main())
