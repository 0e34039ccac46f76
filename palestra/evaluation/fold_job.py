"""One fold of a benchmark: a solution learns, and answers what it is tested on. Runs in a worker, here or elsewhere."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any, Protocol

import msgspec
import polars as pl

from palestra.errors import PalestraError, clip
from palestra.evaluation.protocols import Fold
from palestra.records import Material, Track
from palestra.text import say

# One thread each: sums in another order end in other last digits, and folds run side by side anyway. What a card adds
# up comes out the same each time only where cuBLAS is given room for it.
ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"), "1"),
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
}
GPUS = "CUDA_VISIBLE_DEVICES"
OWN_GPU = "PALESTRA_GPU"  # the card that a process got first; it keeps it, since CUDA looks but once


class Learner(Protocol):
    """What a solution's class does, made anew for each fold."""

    def fit(self, training: Material) -> None:
        """Learn from samples with their truth."""

    def predict(self, test: Material) -> pl.DataFrame:
        """Answers: `trial`, and the columns of the track's answers."""


class Job(msgspec.Struct, frozen=True):
    """All that a worker has to know. Folders are those of the machine that it runs on."""

    track: str
    settings: dict[str, str]
    learner: str  # "module:Class" or "path/to/file.py:Class"
    options: dict[str, str]
    data: str
    train_data: str | None
    fold: Fold
    seed: int = 0
    gpu: str | None = None  # which card of its machine it has for itself; clusters hand out theirs


def run(job: Job) -> bytes:
    """The answers of a fold, as Parquet."""
    os.environ.update(ONE_THREAD)
    if job.gpu is not None:
        os.environ[GPUS] = os.environ.setdefault(OWN_GPU, job.gpu)

    from palestra import registry
    from palestra.evaluation import protocol_data as studying
    from palestra.evaluation.learner_loader import load
    from palestra.evaluation.random_seed import seed_all

    seed_all(job.seed)  # for what a program draws while it is loaded
    kind = load(job.learner)
    seed_all(job.seed)
    track = registry.track(job.track, job.settings)
    study, data = studying.study_of(track), Path(job.data)
    learner: Learner = kind()
    material = studying.training(study, job.fold, data, Path(job.train_data) if job.train_data else None)
    learner.fit(Material(material.data, material.rows, job.options))
    answers = []
    for experiment, test in studying.tests(study, job.fold, data):
        given = learner.predict(Material(data, test.rows, job.options))
        answers.append(_checked(track, job.learner, given, test.rows).with_columns(studying.named(experiment)))
    out = io.BytesIO()
    pl.concat(answers, how="vertical_relaxed").write_parquet(out)
    return out.getvalue()


def _checked(track: Track, learner: str, answers: Any, rows: pl.DataFrame) -> pl.DataFrame:
    """Answers that are a table of this test's trials, in the columns and kinds of the track's."""
    if not isinstance(answers, pl.DataFrame) or answers.schema.get("trial") != pl.String:
        raise PalestraError(
            say(
                "{learner}: predict gave {answers}, expected a polars table with a text `trial`.",
                learner=learner,
                answers=clip(answers),
            )
        )
    blank = track.blank(rows) if track.blank else answers
    unknown = [name for name in answers.columns if name not in blank.columns]
    if unknown:
        raise PalestraError(
            say(
                "{learner}: predict gave the column {unknown!r}, expected {columns}.",
                learner=learner,
                unknown=unknown[0],
                columns=", ".join(blank.columns),
            )
        )
    strange = answers.join(rows, on="trial", how="anti")
    if not strange.is_empty():
        raise PalestraError(
            say(
                "{learner}: predict answered {strange}, which it was not asked.",
                learner=learner,
                strange=strange["trial"][0],
            )
        )
    if answers["trial"].is_duplicated().any():
        double = answers.filter(pl.col("trial").is_duplicated())["trial"][0]
        raise PalestraError(say("{learner}: predict answered {double} more than once.", learner=learner, double=double))
    lacking = [pl.lit(None, kind).alias(name) for name, kind in blank.schema.items() if name not in answers.columns]
    whole = answers.with_columns(lacking)
    columns = [_column(learner, whole, name, kind) for name, kind in blank.schema.items()]
    return pl.DataFrame(columns)


def _column(learner: str, answers: pl.DataFrame, name: str, kind: pl.DataType) -> pl.Series:
    """A column in the track's kind. No answer is null; a number that is none is a slip."""
    given = answers[name]
    try:
        found = given.cast(kind)
    except pl.exceptions.PolarsError:
        raise PalestraError(
            say(
                "{learner}: predict gave {name} as {dtype}, expected {kind}.",
                learner=learner,
                name=name,
                dtype=given.dtype,
                kind=kind,
            )
        ) from None
    if kind.is_float():
        broken = answers.filter(~found.is_finite().fill_null(True))
        if not broken.is_empty():
            trial, value = broken["trial"][0], broken[name][0]
            raise PalestraError(
                say(
                    "{learner}: predict gave {name} = {value} for {trial}, expected a number, or null.",
                    learner=learner,
                    name=name,
                    value=value,
                    trial=trial,
                )
            )
    return found
