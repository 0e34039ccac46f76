"""A forecast of one window on one core, against what is asked and against what its network's products alone take.

make bench        (or: python -m benchmarks.forecast)
"""

import os
import sys
from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from benchmarks.scoring_kernels import Row, medians_s, table
from palestra import model_cards
from palestra.tracks.gaze_prediction import forecast

ASKED_S = 200e-6  # for one window
CALLS = 1000
# Products of a row with the network's matrices (train/gaze_forecaster.py): features, three layers, the last one.
LAYERS = ((246, 384), (6, 768), (384, 384), (384, 384), (384, 160))


def main() -> int:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    past = np.cumsum(0.1 * np.random.default_rng(0).standard_normal((1, 50, 2)), axis=1)
    given = {"past": np.zeros((1, 50, 2), np.float32), "hz": np.full(1, 120, np.float32)}
    network = partial(model_cards.session("gaze_forecaster").run, None, given)
    ours_s, bare_s, limit_s = medians_s(often(partial(forecast, past, 120)), often(network), often(products()))
    what, asked_s = f"{CALLS:,} forecasts of one window each", CALLS * ASKED_S
    lines = [
        Row(what, ours_s, "asked", asked_s, ours_s / asked_s, "≤ 1×", ours_s <= asked_s),
        Row("", ours_s, "the network alone", bare_s, ours_s / bare_s, "", None),
        Row("", ours_s, "its products alone, torch (limit)", limit_s, ours_s / limit_s, "", None),
    ]
    print(table(lines))
    return int(any(line.met is False for line in lines))


def often(what: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(CALLS):
            what()

    return run


def products() -> Callable[[], object]:
    """The network's matrix products and nothing else."""
    torch.manual_seed(0)
    pairs = [(torch.randn(1, given), torch.randn(given, found)) for given, found in LAYERS]
    return lambda: [torch.mm(row, matrix) for row, matrix in pairs]


if __name__ == "__main__":
    sys.exit(main())
