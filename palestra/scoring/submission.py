"""Answers from a file: read by the track, complete or refused, whatever its reader lets through."""

from pathlib import Path

import polars as pl

from palestra.errors import PalestraError, Refused, refuse
from palestra.formats import regular_file, shown_name
from palestra.records import FileAnswers, Track
from palestra.scoring.answer_table import require_sound

TRIAL_BYTES = 4096  # of a file whose track does not say how long it may be: many times what a row of numbers has
SPARE_BYTES = 1 << 20


def collect(track: Track, file: Path, trials: pl.DataFrame, allow_missing: bool = False) -> pl.DataFrame:
    """The answers in a submission, one row per answered trial, in the order of the trials."""
    if track.files is None:
        live = f": `palestra play {track.id} BUNDLE` plays a program to it" if track.live else ""
        raise PalestraError(f"{track.id} takes no files{live}.")
    if not file.is_dir():
        regular_file(file, most_bytes(track.files, trials))
    try:
        answers = _read(track.files, file, trials)
    except Refused as refusal:
        answers = _usable(refusal, allow_missing)
    try:
        return require_sound(track, file, answers, trials)
    except Refused as refusal:
        return _usable(refusal, allow_missing)


def most_bytes(files: FileAnswers, trials: pl.DataFrame) -> int:
    """Of a submission for these trials."""
    return files.most_bytes(trials) if files.most_bytes else trials.height * TRIAL_BYTES + SPARE_BYTES


def _read(files: FileAnswers, file: Path, trials: pl.DataFrame) -> pl.DataFrame:
    try:
        return files.read(file, trials)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, UnicodeDecodeError) as error:
        # A reader that only calls polars: what it stumbles over is in the file.
        why = str(error).partition("\n")[0][:200]
        refuse(shown_name(file), f"what cannot be read ({why})", "a submission as the template is")


def _usable(refusal: Refused, allow_missing: bool) -> pl.DataFrame:
    """What is left of refused answers, where every fault was a gap and gaps are allowed."""
    if not allow_missing or refusal.usable is None:
        raise refusal
    usable: pl.DataFrame = refusal.usable
    return usable
