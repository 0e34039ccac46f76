"""Puts a recording in order that was cut off: closes what was open, and says what is there and what was lost."""

from datetime import timedelta
from pathlib import Path

from palestra.studio.capture import xdf
from palestra.studio.capture.layout import SEGMENTS, XDF, Captured, Head, Journal, Segment, read_lines
from palestra.studio.capture.picture_files import video_name
from palestra.studio.capture.picture_reader import PictureReader
from palestra.studio.capture.picture_segment import (
    cut_videos,
    digest_of_table,
    digests_of,
    form_of,
    is_png,
    write_table,
)
from palestra.studio.capture.rows import Rows, as_table, read_rows
from palestra.studio.capture.signal_segment import close_chunks, read_chunks
from palestra.studio.capture.source import Frame
from palestra.text import Text, human_bytes, say


def repair(folder: Path, head: Head) -> list[Text]:
    """Close what is open in a recording that nobody writes to. What was done, in words; nothing where all is whole."""
    told: list[Text] = []
    for one in head.sources:
        told += _repair_source(folder / one.name, one, head)
    has_signals = any(one.about.kind == "signal" for one in head.sources)
    if has_signals and (told or not (folder / XDF).exists()):
        xdf.write_xdf(folder, head)
    return told


def _repair_source(folder: Path, one: Captured, head: Head) -> list[Text]:
    if not folder.is_dir():
        return []
    listed = {segment.number for segment in read_lines(folder / SEGMENTS, Segment)}
    told: list[Text] = []
    for file in sorted([*folder.glob("*.rows"), *folder.glob("*.chunks")]):
        number = int(file.stem)
        if number not in listed:
            close = _close_pictures if file.suffix == ".rows" else _close_signal
            segment, gone = close(folder, number, one)
            if segment:
                _list(folder, segment)
                told.append(_kept(one.name, segment, gone, head))
        file.unlink()
    return told


def _list(folder: Path, segment: Segment) -> None:
    file = folder / SEGMENTS
    data = file.read_bytes() if file.is_file() else b""
    if not data.endswith(b"\n") and data:  # a line that was cut short
        file.write_bytes(data[: data.rfind(b"\n") + 1])
    journal = Journal(file)
    journal.append(segment)
    journal.close()


def _close_pictures(folder: Path, number: int, one: Captured) -> tuple[Segment | None, int]:
    """Close a segment up to the last frame that is as it was taken; the bytes behind it that were cut off."""
    parts = one.about.parts
    rows = _whole(folder, number, parts, read_rows(folder / f"{number:06d}.rows", parts))
    if not len(rows):
        return None, _remove(folder, number, parts)
    gone = cut_videos(folder, number, parts, rows)
    write_table(folder / f"{number:06d}.parquet", as_table(rows))
    with PictureReader(folder, number, parts) as reader:
        form = form_of(Frame(reader.images(rows[0]), 0))
    digests = digests_of(folder, number, parts, rows["number"].tolist()) | digest_of_table(folder, number)
    first, last = int(rows["arrived_ns"][0]), int(rows["arrived_ns"][-1])
    dropped = int(rows["dropped"].sum())
    return Segment(number, int(rows["number"][0]), len(rows), dropped, first, last, form, digests, True), gone


def _whole(folder: Path, number: int, parts: list[str], rows: Rows) -> Rows:
    """Rows up to the last whose pictures are there: after a power cut, rows may have reached the disk before them."""
    with PictureReader(folder, number, parts) as reader:
        while len(rows) and not reader.is_as_taken(rows[-1]):
            rows = rows[:-1]
    return rows


def _remove(folder: Path, number: int, parts: list[str]) -> int:
    """Remove the files of a segment without a single whole frame."""
    if is_png(folder, number):
        files = list((folder / f"{number:06d}").iterdir())
    else:
        files = [folder / video_name(number, part, parts) for part in parts]
    gone = sum(file.stat().st_size for file in files if file.exists())
    for file in files:
        file.unlink(missing_ok=True)
    return gone


def _close_signal(folder: Path, number: int, one: Captured) -> tuple[Segment | None, int]:
    file = folder / f"{number:06d}.chunks"
    if next(read_chunks(file), None) is None:
        return None, file.stat().st_size
    return close_chunks(folder, number, one.about, repaired=True), 0


def _kept(name: str, segment: Segment, gone: int, head: Head) -> Text:
    lasted_s = (segment.last_ns - head.started_ns) / 1e9
    return say(
        "{name}: segment {number} was open when the recording was cut off. It is closed with {count} whole frames or "
        "samples, the last of them {at} after the start. Lost is what came later ({gone} of it were half written).",
        name=name,
        number=segment.number,
        count=segment.count,
        at=str(timedelta(seconds=round(lasted_s, 3))),
        gone=human_bytes(gone),
    )
