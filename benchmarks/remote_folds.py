"""Folds side by side, and Eq. 6–9 on a million rays. `benchmarks/remote.py` runs this with the rest.

python -m benchmarks.remote_folds
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.remote_reading import Line, best_s, recording
from palestra import registry
from palestra.evaluation import run
from palestra.executors.processes import ProcessExecutor
from palestra.metrics.rays import distances_m, passing_angles_deg, pixel_distances, sight_angles_deg
from palestra.metrics.transforms import Head
from palestra.records import Material
from palestra.tracks.remote_gaze import eyediap

TWO_WORKERS_AT_LEAST, RAYS_AT_MOST = 1.7, 15.0
FOLDS, FRAMES = 16, 1000
TURNS = 2
ROUNDS = 60  # of a training: about a second on one core
RAYS = 1_000_000


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        lines = measure(Path(folder))
    print("\n".join(map(str, lines)))
    return int(not all(line.met for line in lines))


def measure(folder: Path, folds: int = FOLDS, rounds: int = ROUNDS, rays: int = RAYS) -> list[Line]:
    """Everything, on data that is made in a folder."""
    one_s, two_s = folds_s(folder, folds, rounds)
    print(f"   {folds} folds: {one_s:.1f} s on one worker, {two_s:.1f} s on two, their start included")
    return [
        Line("pace of folds on two workers ÷ one", one_s / two_s, TWO_WORKERS_AT_LEAST, True),
        Line(f"time of Eq. 6–9 on {rays:,} rays ÷ copying them", rays_ratio(rays), RAYS_AT_MOST, False),
    ]


class Busy:
    """Learns as long as a small network does: products of matrices that fit the cache, on one core."""

    def fit(self, training: Material) -> None:
        self.weights = np.random.default_rng(0).normal(0, 0.05, (256, 256))
        for _ in range(int(training.options["rounds"])):
            for _ in range(20):
                self.weights = np.tanh(self.weights @ self.weights.T)

    def predict(self, test: Material) -> pl.DataFrame:
        return test.rows.select("trial", left_vx=pl.lit(float(self.weights[0, 0])))


def folds_s(folder: Path, folds: int, rounds: int) -> tuple[float, float]:
    """The shortest time of a protocol on one worker and on two; they take turns, so that all meet the same machine."""
    track = registry.track("remote-gaze-v1")
    bench = run.bench_of(track, "1-FT", write_sessions(folder / "data", folds))
    who = run.contender(track, f"{Path(__file__).resolve()}:Busy", {"rounds": str(rounds)})
    taken = [
        [_bench_s(bench, who, workers, folder / f"{turn}-{workers}") for workers in (1, 2)] for turn in range(TURNS)
    ]
    one_s, two_s = np.min(taken, axis=0).tolist()
    return one_s, two_s


def _bench_s(bench: run.Bench, who: run.Contender, workers: int, kept: Path) -> float:
    started = time.perf_counter()
    executor = ProcessExecutor(workers)
    try:
        run.answers(bench, who, executor, kept, lambda count: None)
    finally:
        executor.close()
    return time.perf_counter() - started


def write_sessions(data: Path, count: int) -> Path:
    """Sessions before the ball with a still head, without pictures."""
    rng = np.random.default_rng(0)
    names = [name for name in eyediap.ALL if name.target == "FT" and name.head == "S"][:count]
    people = dict.fromkeys((name.person for name in names), Head(np.zeros((2, 3))))
    eyediap.write_metadata(data, (np.eye(3), np.zeros(3), np.full(2, 0.0004)), people)
    for name in names:
        eyediap.write_session(data, recording(name, FRAMES, rng), {})
    return data


def rays_ratio(count: int) -> float:
    """All four measures of each ray, beside a copy of the rays alone: where each begins and where it goes."""
    rng = np.random.default_rng(0)
    origins, sights, targets, eyes = (rng.normal(size=(count, 3)) for _ in range(4))
    points, true_points = (rng.uniform(0, 1340, (count, 2)) for _ in range(2))
    rays = np.hstack([origins, sights])

    def measures() -> None:
        passing_angles_deg(distances_m(origins, sights, targets), targets, eyes)
        sight_angles_deg(sights, targets, eyes)
        pixel_distances(points, true_points)

    own, copying = best_s(measures, rays.copy)
    return own / copying


if __name__ == "__main__":
    sys.exit(main())
