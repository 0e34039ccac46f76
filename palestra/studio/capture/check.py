"""Verifies a recording: files are as they were written, frames decode to what was taken, and none is missing."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import polars as pl

from palestra.errors import text_of
from palestra.studio.capture.layout import SEGMENTS, Captured, Segment, read_lines
from palestra.studio.capture.picture_reader import PictureReader, numbers_in, rows_of
from palestra.studio.capture.picture_segment import digest_of, digests_of, is_png
from palestra.studio.capture.recording import Recording
from palestra.text import Text, say

MOST_SHOWN = 20  # faults of one source


class Checked(msgspec.Struct):
    """What one source of a recording is."""

    name: str
    segments: int = 0
    count: int = 0  # frames or samples
    dropped: int = 0  # while it was recorded
    seconds: float = 0.0
    faults: list[Text] = []


def check(recording: Recording, advance: Callable[[int], None] = lambda done: None) -> list[Checked]:
    """Look at every segment of every source."""
    return [_check_source(recording.folder / one.name, one, advance) for one in recording.head.sources]


def segment_count(recording: Recording) -> int:
    """How many there are to look at."""
    return sum(len(_listed(recording.folder / one.name)) for one in recording.head.sources)


def _listed(folder: Path) -> list[Segment]:
    return read_lines(folder / SEGMENTS, Segment)


def _check_source(folder: Path, one: Captured, advance: Callable[[int], None]) -> Checked:
    found = Checked(one.name)
    segments = _listed(folder)
    expected = 0
    for segment in segments:
        if segment.first != expected:
            found.faults.append(
                say(
                    "{name}, segment {number}: found frame {first} at its beginning, expected {expected}",
                    name=one.name,
                    number=segment.number,
                    first=segment.first,
                    expected=expected,
                )
            )
        found.faults += check_segment(folder, one, segment)[:MOST_SHOWN]
        expected = segment.first + segment.count
        advance(1)
    if missing := sorted(set(numbers_in(folder)) - {segment.number for segment in segments}):
        found.faults.append(
            say(
                "{name}: segments {missing} are still open: is the recording still going on?",
                name=one.name,
                missing=", ".join(map(str, missing)),
            )
        )
    found.segments, found.count = len(segments), sum(segment.count for segment in segments)
    found.dropped = one.dropped if one.dropped is not None else sum(segment.dropped for segment in segments)
    found.seconds = (segments[-1].last_ns - segments[0].first_ns) / 1e9 if segments else 0.0
    return found


def check_segment(folder: Path, one: Captured, segment: Segment) -> list[Text]:
    """What is wrong with one segment; nothing if every frame of it is what was taken."""
    try:
        return [
            say("{name}, segment {number}: {fault}", name=one.name, number=segment.number, fault=fault)
            for fault in _faults(folder, one, segment)
        ]
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        why = say("{file} cannot be read ({error})", file=folder.name, error=text_of(error))
        return [say("{name}, segment {number}: {fault}", name=one.name, number=segment.number, fault=why)]


def _faults(folder: Path, one: Captured, segment: Segment) -> list[Text]:
    table = f"{segment.number:06d}.parquet"
    if not (folder / table).is_file():
        return [say("{file} is missing", file=table)]
    faults: list[Text] = []
    if digest_of(folder / table) != segment.files[table]:
        faults.append(say("{file} is not what was written", file=table))
    if one.about.kind == "signal":
        count = pl.scan_parquet(folder / table).select(pl.len()).collect().item()
        return faults + ([] if count == segment.count else [_miscounted(count, segment.count)])
    return faults + _picture_faults(folder, one.about.parts, segment)


def _picture_faults(folder: Path, parts: list[str], segment: Segment) -> list[Text]:
    rows = rows_of(folder, segment.number, parts)
    faults: list[Text] = []
    if len(rows) != segment.count:
        faults.append(_miscounted(len(rows), segment.count))
    with PictureReader(folder, segment.number, parts) as reader:
        broken = [int(row["number"]) for row in rows if not reader.is_as_taken(row)]
    faults += [say("frame {frame} is missing or is not what was taken", frame=frame) for frame in broken]
    if broken and is_png(folder, segment.number):
        return faults
    digests = digests_of(folder, segment.number, parts, rows["number"].tolist())
    changed = [name for name, digest in digests.items() if digest != segment.files.get(name)]
    return faults + [say("{file} is not what was written", file=name) for name in changed]


def _miscounted(found: int, expected: int) -> Text:
    return say("found {found} frames, expected {expected}", found=found, expected=expected)
