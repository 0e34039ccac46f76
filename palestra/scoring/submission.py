"""Answers from a file: read by the track, complete or refused."""

from pathlib import Path

import polars as pl

from palestra.errors import Faults, PalestraError, Refused, clip
from palestra.records import Track


def collect(track: Track, file: Path, trials: pl.DataFrame, allow_missing: bool = False) -> pl.DataFrame:
    """The answers in a submission, one row per answered trial, in the order of the trials."""
    if track.files is None:
        live = f": `palestra play {track.id} BUNDLE` plays a program to it" if track.live else ""
        raise PalestraError(f"{track.id} takes no files{live}.")
    try:
        answers = track.files.read(file, trials)
        _require_whole(file, answers, trials)
    except Refused as refusal:
        if allow_missing and refusal.usable is not None:
            usable: pl.DataFrame = refusal.usable
            return usable
        raise
    return answers


def _require_whole(file: Path, answers: pl.DataFrame, trials: pl.DataFrame) -> None:
    """Every trial exactly once. Most readers have seen to it; this holds for those that have not."""
    if answers["trial"].equals(trials["trial"]):
        return
    faults = Faults()
    for trial in answers.filter(pl.col("trial").is_duplicated())["trial"].unique(maintain_order=True):
        faults.add(f"{file.name}, trial {clip(trial)}", "more than one answer", "one answer")
    for trial in answers.join(trials, on="trial", how="anti")["trial"]:
        faults.add(f"{file.name}, trial {clip(trial)}", "an answer", "no such trial in this data set")
    for trial in trials.join(answers, on="trial", how="anti")["trial"]:
        faults.gap(f"{file.name}, trial {trial}", "no answer", "one answer")
    faults.finish(usable=answers)
