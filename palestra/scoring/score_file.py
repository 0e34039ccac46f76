"""Scores kept in a Parquet file, with all that is needed to compute their Result again."""

import math
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from palestra import registry
from palestra.errors import PalestraError
from palestra.formats import replacing
from palestra.records import Result, Track
from palestra.scoring.score import Scored, summarise
from palestra.text import say

KEY = "palestra.result"


def save(scored: Scored, file: Path) -> None:
    with replacing(file) as fresh:
        scored.rows.write_parquet(fresh, metadata={KEY: msgspec.json.encode(scored.result).decode()})


def load(file: Path) -> Scored:
    """The scores and the Result as they were saved."""
    if not file.is_file():
        found = say("is a folder") if file.is_dir() else say("is not there")
        raise PalestraError(
            say(
                "{file}: {found}; expected a file that --scores-out wrote, or a run of `palestra play`.",
                file=file,
                found=found,
            )
        )
    try:
        text = pl.read_parquet_metadata(file).get(KEY)
        rows = pl.read_parquet(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise PalestraError(
            say("{file}: not a Parquet file ({splitlines}).", file=file, splitlines=str(error).splitlines()[0])
        ) from None
    if text is None:
        raise PalestraError(
            say("{file}: a Parquet file without a Result; expected one that --scores-out wrote.", file=file)
        )
    try:
        return Scored(decode(text), rows)
    except msgspec.MsgspecError as error:
        raise PalestraError(say("{file}: its Result cannot be read ({error}).", file=file, error=error)) from None


def decode(text: str | bytes) -> Result:
    """A Result from JSON, where a metric that this data has nothing for is null."""
    found = msgspec.json.decode(text, type=dict[str, Any])
    metrics = found.get("metrics")
    for estimate in metrics.values() if isinstance(metrics, dict) else ():
        if isinstance(estimate, dict) and estimate.get("value", 0) is None:
            estimate["value"] = math.nan
    return msgspec.convert(found, Result)


def track_of(result: Result) -> Track:
    """The track that a Result is of, under the settings it was scored with."""
    return registry.track(result.track, {key: str(value) for key, value in result.provenance.settings.items()})


def rescore(saved: Scored) -> Scored:
    """The Result computed again from the scores of each trial."""
    result = saved.result
    track = track_of(result)
    return Scored(summarise(track, saved.rows, result.entrant, result.provenance), saved.rows)
