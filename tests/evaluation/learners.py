"""Learners for tests of `palestra bench`, named as FILE.py:Class: one that works and can be watched, and wrong ones.

Options: `notes`, a folder where each training and test leaves a file; `hold`, a named pipe: as long as it is there,
the fold that tests the piece `holds` (or each, where that is "all") says in it who it is, and waits for the pipe `go`.
"""

import os
import uuid
from pathlib import Path

import numpy as np
import polars as pl

HEAD = [f"r{i}{j}" for i in range(3) for j in range(3)]
AXES = "xyz"
SIGHTS = [f"{eye}_v{axis}" for eye in ("left", "right") for axis in AXES]


class HeadPose:
    """Least squares from the head's rotation to both lines of sight, with a little chance in it."""

    def fit(self, training):
        note(training, "fit", *training.rows["piece"].unique().sort())
        rows = training.rows.drop_nulls([*HEAD, "truth_left_vx"])
        design = self.design(rows)
        truth = rows.select(f"truth_{name}" for name in SIGHTS).to_numpy()
        self.weights = np.linalg.lstsq(design, truth, rcond=None)[0] + np.random.normal(0, 1e-3)

    def predict(self, test):
        (piece,) = test.rows["piece"].unique()
        note(test, "test", piece)
        if test.options.get("holds") in (piece, "all") and Path(test.options["hold"]).exists():
            Path(test.options["hold"]).write_text(f"{os.getpid()}\n")
            with Path(test.options["go"]).open("rb", buffering=0) as go:
                go.read(1)
        rows = test.rows.drop_nulls([*HEAD, "left_x"])
        found = pl.DataFrame(self.design(rows) @ self.weights, schema=SIGHTS)
        eyes = [pl.col(f"{eye}_{axis}").alias(f"{eye}_o{axis}") for eye in ("left", "right") for axis in AXES]
        return rows.select("trial", *eyes).hstack(found)

    def design(self, rows):
        return np.hstack([rows.select(HEAD).to_numpy(), np.ones((rows.height, 1))])


def note(material, *words):
    if "notes" in material.options:
        (Path(material.options["notes"]) / uuid.uuid4().hex).write_text(" ".join(words))


class Watched(HeadPose):
    """Notes what its process is like, and what it is shown."""

    num_gpus = 1

    def predict(self, test):
        note(test, "columns", *test.rows.columns)
        note(test, "threads", *(os.environ.get(name, "-") for name in ("OMP_NUM_THREADS", "POLARS_MAX_THREADS")))
        note(test, "polars", str(pl.thread_pool_size()))
        note(test, "cards", os.environ.get("CUDA_VISIBLE_DEVICES", "-"))
        return super().predict(test)


class NoTable(HeadPose):
    def predict(self, test):
        return {"trial": ["a"]}


class UnknownTrial(HeadPose):
    def predict(self, test):
        return super().predict(test).with_columns(trial=pl.lit("elsewhere/") + pl.col("trial"))


class DoubleTrial(HeadPose):
    def predict(self, test):
        found = super().predict(test)
        return pl.concat([found, found[:1]])


class StrangeColumn(HeadPose):
    def predict(self, test):
        return super().predict(test).with_columns(sure=pl.lit(1.0))


class NotANumber(HeadPose):
    def predict(self, test):
        return super().predict(test).with_columns(left_vx=pl.lit(float("nan")))


class Words(HeadPose):
    def predict(self, test):
        return super().predict(test).with_columns(left_vx=pl.lit("to the left"))


class Raises(HeadPose):
    def fit(self, training):
        super().fit(training)
        raise ZeroDivisionError("no sunshine today")


class Crashes(HeadPose):
    def fit(self, training):
        super().fit(training)
        os._exit(7)


class CrashesOnce(HeadPose):
    """Its first training takes the process with it, as a lost machine does."""

    def fit(self, training):
        first = not any(Path(training.options["notes"]).iterdir())
        super().fit(training)
        if first:
            os._exit(7)


class NoPredict:
    def fit(self, training):
        pass
