"""Scores kept in a Parquet file, with all that is needed to compute their Result again."""

from pathlib import Path

import msgspec
import polars as pl

from palestra import registry
from palestra.errors import PalestraError
from palestra.formats import replacing
from palestra.records import Result, Track
from palestra.scoring.score import Scored, summarise

KEY = "palestra.result"


def save(scored: Scored, file: Path) -> None:
    with replacing(file) as fresh:
        scored.rows.write_parquet(fresh, metadata={KEY: msgspec.json.encode(scored.result).decode()})


def load(file: Path) -> Scored:
    """The scores and the Result as they were saved."""
    if not file.is_file():
        found = "is a folder" if file.is_dir() else "is not there"
        raise PalestraError(f"{file}: {found}; expected a file that --scores-out wrote, or a run of `palestra play`.")
    try:
        text = pl.read_parquet_metadata(file).get(KEY)
        rows = pl.read_parquet(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise PalestraError(f"{file}: not a Parquet file ({str(error).splitlines()[0]}).") from None
    if text is None:
        raise PalestraError(f"{file}: a Parquet file without a Result; expected one that --scores-out wrote.")
    try:
        return Scored(msgspec.json.decode(text, type=Result), rows)
    except msgspec.MsgspecError as error:
        raise PalestraError(f"{file}: its Result cannot be read ({error}).") from None


def track_of(result: Result) -> Track:
    """The track that a Result is of, under the settings it was scored with."""
    return registry.track(result.track, {key: str(value) for key, value in result.provenance.settings.items()})


def rescore(saved: Scored) -> Scored:
    """The Result computed again from the scores of each trial."""
    result = saved.result
    track = track_of(result)
    return Scored(summarise(track, saved.rows, result.entrant, result.provenance), saved.rows)
