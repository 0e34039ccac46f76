"""Pictures of trials in reports: the worst and the median ones of a result, and samples of a data set."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from palestra.errors import PalestraError, Refused
from palestra.records import Gallery, Track
from palestra.report.labels import error_unit
from palestra.text import Text, Words, joined, number, say, say_count, sentences

WORST, MEDIAN, SAMPLES = 12, 4, 12  # trials that are pictured
PICTURE_WIDTH = 1000  # pixels; wider ones are made smaller, to keep pages light
HIDDEN = frozenset({"truth", "test_GT"})  # folders that a data set's own page never opens


def galleries(track: Track, rows: pl.DataFrame, data: Path) -> Iterator[Gallery]:
    """The worst and the median trials. Those without an answer have nothing to picture and are counted instead."""
    if track.display.picture is None or track.display.error not in rows.columns:
        return
    scored = rows.filter(pl.col(track.display.error).is_not_null())  # those that are not evaluated have no error
    answered = answered_of(scored).sort(track.display.error, descending=True, maintain_order=True)
    gaps = scored.height - answered.height
    more = _without_answer(gaps) if gaps else ""
    worst = answered.filter(pl.col(track.display.error) > 0).head(WORST)
    if worst.height or gaps:
        pictures = _all_pictured(track, data, worst) or [(say("no answer"), b"")]
        yield Gallery(say("Worst trials"), pictures, sentences(track.display.pictured, more))
    elif answered.height:
        some = answered.gather_every(-(-answered.height // WORST))
        note = sentences(track.display.pictured, say("No trial has an error."))
        yield Gallery(say("Some trials"), _all_pictured(track, data, some), note)
    if answered.height > WORST and (worst.height or gaps):
        middle = answered.slice(max(answered.height // 2 - MEDIAN // 2, WORST), MEDIAN)
        yield Gallery(say("Median trials"), _all_pictured(track, data, middle), track.display.pictured)


def _without_answer(count: int) -> Words:
    return say_count(
        "{count} more trial had no answer; they are charged as the rules say.",
        "{count} more trials had no answer; they are charged as the rules say.",
        count,
    )


def answered_of(rows: pl.DataFrame) -> pl.DataFrame:
    """The trials that have an answer."""
    return rows.filter("answered") if "answered" in rows.columns else rows


def samples(track: Track, data: Path) -> list[tuple[Text, bytes]]:
    """Trials as their track pictures them; where that needs the truth, picture files that contestants get anyway."""
    from palestra.report.images import at_most, png, read_image

    try:
        trials = track.trials(data)
    except Refused:  # what is sent live, a contestant does not have
        return []
    chosen = trials.gather_every(max(trials.height // SAMPLES, 1)).head(SAMPLES)
    try:
        return [(str(row["trial"]), _picture(track, data, row)) for row in chosen.iter_rows(named=True)]
    except (KeyError, TypeError):
        files = _spread_files(data, SAMPLES, HIDDEN | set(track.dataset.hidden))
        root = os.path.commonpath([data, *files[:1]] if len(files) < 2 else files)  # what all names share says nothing
        names = [str(file.relative_to(root).with_suffix("")) for file in files]
        images = (at_most(read_image(file), PICTURE_WIDTH // 2) for file in files)
        return [(name, png(image)) for name, image in zip(names, images, strict=True)]


def _all_pictured(track: Track, data: Path, rows: pl.DataFrame) -> list[tuple[Text, bytes]]:
    return [_pictured(track, data, row) for row in rows.iter_rows(named=True)]


def _pictured(track: Track, data: Path, row: Mapping[str, Any]) -> tuple[Text, bytes]:
    caption = _caption(track, row)
    try:
        return caption, _picture(track, data, row)
    except (KeyError, TypeError, ValueError, OSError, PalestraError):
        # A page with a gap is better than none.
        return say("{caption} · no picture", caption=caption), b""


def _caption(track: Track, row: Mapping[str, Any]) -> Words:
    """Which trial it is, and what it came to."""
    error = number(row[track.display.error], error_unit(track))
    said = track.display.caption(row) if track.display.caption else say("error {error}", error=error)
    return joined((str(row["trial"]), said), " · ")


def _picture(track: Track, data: Path, row: Mapping[str, Any]) -> bytes:
    from palestra.report.images import at_most, png

    if track.display.picture is None:
        raise KeyError("picture")
    return png(at_most(track.display.picture(data, row), PICTURE_WIDTH))


def _spread_files(folder: Path, count: int, without: frozenset[str] = HIDDEN) -> list[Path]:
    """PNG files from all over a folder. Only folders on the way are listed: a data set may have a million files."""
    found = sorted(folder.iterdir())
    folders = [path for path in found if path.is_dir() and path.name not in without]
    files = [path for path in found if path.suffix == ".png"]
    if not folders:
        return _spread(files, count)
    chosen = _spread(folders, count)
    shares = [count * (i + 1) // len(chosen) - count * i // len(chosen) for i in range(len(chosen))]
    parts = {path: _spread_files(path, share) for path, share in zip(chosen, shares, strict=True)}
    if any(parts.values()) and not all(parts.values()):  # a folder of labels must not use up its share
        return _spread_files(folder, count, without | {path.name for path, part in parts.items() if not part})
    return [file for part in parts.values() for file in part]


def _spread(things: list[Path], count: int) -> list[Path]:
    count = min(count, len(things))
    return [things[(2 * i + 1) * len(things) // (2 * count)] for i in range(count)]
