"""Answers from a file: read by the track, complete or refused, whatever its reader lets through."""

import tempfile
from pathlib import Path

import polars as pl

from palestra.authoring import Slip, again, is_guarded, place_of, told
from palestra.errors import PalestraError, Refused, clip
from palestra.formats import refusing, regular_file
from palestra.records import FileAnswers, Track
from palestra.scoring.answer_table import require_sound
from palestra.text import message, say

TRIAL_BYTES = 4096  # of a file whose track does not say how long it may be: many times what a row of numbers has
SPARE_BYTES = 1 << 20
AS_THE_TEMPLATE = message("a submission as the template is")


def collect(track: Track, file: Path, trials: pl.DataFrame, allow_missing: bool = False) -> pl.DataFrame:
    """The answers in a submission, one row per answered trial, in the order of the trials."""
    if track.files is None:
        if not track.live:
            raise PalestraError(say("{id} takes no files.", id=track.id))
        raise PalestraError(say("{id} takes no files: `palestra play {id} BUNDLE` plays a program to it.", id=track.id))
    if not file.is_dir():
        regular_file(file, most_bytes(track.files, trials))
    try:
        try:
            answers = _read(track.files, file, trials)
        except Refused as refusal:
            answers = _usable(refusal, allow_missing)
        try:
            with refusing(file, say(AS_THE_TEMPLATE)):
                return require_sound(track, file, answers, trials)
        except Refused as refusal:
            return _usable(refusal, allow_missing)
    except Refused:
        require_template(track, trials)
        raise


def require_template(track: Track, trials: pl.DataFrame) -> None:
    """A reader that fails on the template of its own track fails by a slip of its author, whatever a contestant's file
    is like. Of a track from outside alone: those of the package are tested."""
    if track.files is None or track.writes is None or track.blank is None or not is_guarded(track):
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"template{track.suffix}"
        track.writes(track.blank(trials), file)
        try:
            require_sound(track, file, track.files.read(file, trials), trials)
        except Refused as refusal:
            place, blank = place_of(track, "files.read"), place_of(track, "blank")
            what = f"its reader refuses the template that `blank` ({blank.file.name}:{blank.line}) and the writer make"
            remedy = f"Correct the reader, `blank` or the writer: let columns and types agree. {again(track.id)}"
            raise Slip(told(track.id, place, f"{what}: {refusal.faults[0]}", remedy)) from refusal


def most_bytes(files: FileAnswers, trials: pl.DataFrame) -> int:
    """Of a submission for these trials."""
    return files.most_bytes(trials) if files.most_bytes else trials.height * TRIAL_BYTES + SPARE_BYTES


def _read(files: FileAnswers, file: Path, trials: pl.DataFrame) -> pl.DataFrame:
    """What the track's reader returns. One that only calls polars or json stumbles over what is in the file."""
    with refusing(file, say(AS_THE_TEMPLATE)):
        answers = files.read(file, trials)
    if not isinstance(answers, pl.DataFrame):
        raise TypeError(f"the track's reader returned {clip(answers)}, expected a polars table")
    return answers


def _usable(refusal: Refused, allow_missing: bool) -> pl.DataFrame:
    """What is left of refused answers, where every fault was a gap and gaps are allowed."""
    if not allow_missing or refusal.usable is None:
        raise refusal
    usable: pl.DataFrame = refusal.usable
    return usable
