"""Reference solutions for both tracks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from palestra.records import Solution


class Median:
    """The median of what was measured; a blink measures nothing."""

    def fit(self, data: Path, options: Mapping[str, str]) -> None:
        """Nothing to learn."""

    def predict(self, data: Path, trials: pl.DataFrame, model: None) -> pl.DataFrame:
        traces = np.load(data / f"people/{trials['unit'][0]}.npy")[trials["clip"]]
        return trials.select("trial", mm=pl.Series([float(np.median(trace[trace > 0])) for trace in traces]))


class Narrowing:
    """The light went on where the pupil is narrower at the end than at the start."""

    def get_data(self, mm: Any) -> None:
        self.seen = mm[mm > 0]

    def algorithm(self) -> int:
        return int(self.seen[:10].mean() - self.seen[-10:].mean() > 0.5)


MEDIAN = Median()
SOLUTIONS = (
    Solution(
        "pupil-size-v1", "median", "the median outside of blinks", solves=f"{__name__}:MEDIAN", parts_by=("unit",)
    ),
    Solution("pupil-light-v1", "narrowing", "the start against the end", plays=f"{__name__}:Narrowing"),
)
