"""A forecast of one window on one core, against what is asked and against what its network's products alone take.

make bench        (or: python -m benchmarks.forecast)

Times are of the processor, which what else the machine does leaves as they are; a forecast waits for nothing.
"""

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from benchmarks.scoring_kernels import Row, table
from palestra import model_cards
from palestra.tracks.gaze_prediction import forecast

ASKED_S = 200e-6  # for one window
CALLS = 1000
# Products of a row with the network's matrices (train/gaze_forecaster.py): features, three layers, the last one.
LAYERS = ((246, 384), (6, 768), (384, 384), (384, 384), (384, 160))


def main() -> int:
    torch.set_num_threads(1)
    past = np.cumsum(0.1 * np.random.default_rng(0).standard_normal((1, 50, 2)), axis=1)
    given = {"past": np.zeros((1, 50, 2), np.float32), "hz": np.full(1, 120, np.float32)}
    network = partial(model_cards.session("gaze_forecaster").run, None, given)
    ours_s, bare_s, limit_s = medians_s(partial(forecast, past, 120), network, products())
    what, asked_s = f"{CALLS:,} forecasts of one window each", CALLS * ASKED_S
    lines = [
        Row(what, ours_s, "asked", asked_s, ours_s / asked_s, "≤ 1×", ours_s <= asked_s),
        Row("", ours_s, "the network alone", bare_s, ours_s / bare_s, "", None),
        Row("", ours_s, "its products alone, torch (limit)", limit_s, ours_s / limit_s, "", None),
    ]
    print(table(lines))
    return int(any(line.met is False for line in lines))


def medians_s(*functions: Callable[[], object], repeats: int = 11) -> list[float]:
    """Processor time of so many calls of each: medians over rounds, in which they take turns. The first warms up."""
    times: list[list[float]] = [[] for _ in functions]
    for repeat in range(repeats + 1):
        for function, taken in zip(functions, times, strict=True):
            start = time.process_time()
            for _ in range(CALLS):
                function()
            if repeat:
                taken.append(time.process_time() - start)
    return [statistics.median(taken) for taken in times]


def products() -> Callable[[], object]:
    """The network's matrix products and nothing else."""
    torch.manual_seed(0)
    pairs = [(torch.randn(1, given), torch.randn(given, found)) for given, found in LAYERS]
    return lambda: [torch.mm(row, matrix) for row, matrix in pairs]


if __name__ == "__main__":
    sys.exit(main())
