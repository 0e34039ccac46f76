"""Annotates a folder of somebody's own pictures of eyes: overlays, masks, a table, and a sheet to look at first.

A picture that was done and has not changed since is not done again. A folder is only written to where it is new, empty,
or one that this wrote: its table tells.
"""

import csv
import io
import re
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from cv2.utils import logging
from numpy.typing import NDArray

from palestra import model_cards
from palestra.annotation.image_size import size_of
from palestra.annotation.overlay import overlay, sheet
from palestra.errors import PalestraError, Refused
from palestra.executors import in_processes
from palestra.eyes.reader.ellipses import Ellipse
from palestra.eyes.reader.network import NAME
from palestra.eyes.reader.read_eye import Reading, read
from palestra.formats import read_bytes, write_bytes
from palestra.report import png, read_image, words_drawn_in
from palestra.text import say

KINDS = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".pgm"})
TABLE, SHEET, MASKS = "annotations.csv", "contact.png", "masks"
ON_SHEET = 24
MOST_PIXELS = 64_000_000
LONGEST = 8  # times as long as wide, or the other way round
MOST_BYTES = 8 * MOST_PIXELS + 1_000_000  # four channels of 16 bits, and what else a file holds
ELLIPSE = ("x", "y", "long", "short", "angle_deg")
COLUMNS = (
    *("file", "sure", "certainty", "why"),
    *(f"pupil_{part}" for part in ELLIPSE),
    *(f"iris_{part}" for part in ELLIPSE),
    *("gaze_yaw_deg", "gaze_pitch_deg", "opening", "sclera_pixels", "iris_pixels", "pupil_pixels"),
)
OURS = b"Software\0palestra annotate"  # a note in every PNG that this writes
Row = Mapping[str, str]


@dataclass(frozen=True)
class Job:
    """A picture and where what is read of it goes."""

    picture: Path
    overlay: Path
    mask: Path

    @property
    def is_done(self) -> bool:
        """Whether both are there, and newer than the picture and the network that read it."""
        changed = max(file.stat().st_mtime_ns for file in (self.picture, model_cards.path(NAME)))
        return all(file.is_file() and file.stat().st_mtime_ns > changed for file in (self.overlay, self.mask))


def out_for(folder: Path) -> Path:
    """Where annotations go if nobody says: beside the folder."""
    home = folder.resolve()
    return home.with_name(f"{home.name}-annotated")


def jobs_of(folder: Path, out: Path) -> list[Job]:
    """Everything that there is to do, or why nothing can be done."""
    _require_folder(folder)
    pictures = _pictures(folder)
    _require_out(folder, out)
    model_cards.weights(NAME)  # better to hear now that it is missing
    names = _names(pictures)
    jobs = [Job(picture, out / f"{name}.png", out / MASKS / f"{name}.png") for picture, name in names.items()]
    for file in [out / SHEET, *(file for job in jobs for file in (job.overlay, job.mask))]:
        if file.exists() and not _is_ours(file):
            raise PalestraError(
                say("{file} is there and was not written by `palestra annotate`. Name another --out.", file=file)
            )
    return jobs


def annotate(
    jobs: Sequence[Job], out: Path, again: bool, advance: Callable[[int], None], language: str = "en"
) -> list[Row]:
    """Do what is not done yet; a row for each picture, in order. Stopped, it goes on from there the next time."""
    known = {} if again else _rows(out / TABLE)
    rows = {job.picture.name: known[job.picture.name] for job in jobs if job.picture.name in known and job.is_done}
    (out / MASKS).mkdir(parents=True, exist_ok=True)
    _write_table(out / TABLE, list(rows.values()))
    advance(len(rows))
    todo = [job for job in jobs if job.picture.name not in rows]
    with (out / TABLE).open("a", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, COLUMNS)
        for job, row in in_processes(partial(_annotated, language), todo):
            rows[job.picture.name] = row
            table.writerow(row)
            stream.flush()  # whoever stops us here loses nothing
            advance(1)
    ordered = [rows[job.picture.name] for job in jobs]
    _write_table(out / TABLE, ordered)
    with words_drawn_in(language):
        _write_sheet(out, jobs, ordered)
    return ordered


def _require_folder(folder: Path) -> None:
    if not folder.exists():
        raise PalestraError(
            say("{folder}: there is no such folder. Name the folder that your pictures are in.", folder=folder)
        )
    if not folder.is_dir():
        raise PalestraError(say("{folder} is a file. Name the folder that it is in.", folder=folder))
    if _is_our_table(folder / TABLE):
        raise PalestraError(
            say(
                "{folder} is what `palestra annotate` wrote. Name the folder of the pictures themselves.", folder=folder
            )
        )


def _pictures(folder: Path) -> list[Path]:
    """Its pictures, 2 before 10."""
    found = [file for file in folder.iterdir() if file.suffix.lower() in KINDS and not file.name.startswith(".")]
    found = [file for file in found if not file.is_dir()]
    if found:
        return sorted(found, key=_natural)
    kinds = ", ".join(sorted(kind[1:] for kind in KINDS))
    inside = sorted(one.name for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))
    hint = (
        say(" Its folders are not looked into: name one, such as {other}.", other=folder / inside[0]) if inside else ""
    )
    raise PalestraError(
        say(
            "{folder} has no pictures: expected files that end in {kinds}.{hint}", folder=folder, kinds=kinds, hint=hint
        )
    )


def _natural(file: Path) -> list[tuple[int, int, str]]:
    parts = re.split(r"(\d+)", file.name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part.lower()) for part in parts if part] + [
        (2, 0, file.name)
    ]


def _names(pictures: Sequence[Path]) -> dict[Path, str]:
    """What each one's outputs are called: its name without ending, unless another one has that too."""
    stems = [picture.stem.lower() for picture in pictures]
    taken = {stem for stem in stems if stems.count(stem) > 1} | {Path(SHEET).stem}
    return {picture: picture.name if picture.stem.lower() in taken else picture.stem for picture in pictures}


def _require_out(folder: Path, out: Path) -> None:
    """Refuse to write among the pictures, or into what others wrote."""
    if out.resolve().is_relative_to(folder.resolve()):
        raise PalestraError(
            say(
                "{out} lies in {folder}, among the pictures themselves. Name an --out elsewhere.",
                out=out,
                folder=folder,
            )
        )
    if out.exists() and not out.is_dir():
        raise PalestraError(say("{out} is a file. Name a folder, or a new name for one, as --out.", out=out))
    if out.is_dir() and any(out.iterdir()) and not _is_our_table(out / TABLE):
        raise PalestraError(say("{out} holds something else already. Name a new or empty folder as --out.", out=out))


def _annotated(language: str, job: Job) -> Row:
    """Read one picture and write what was read; what cannot be read is a row that says so."""
    picture = _decoded(job.picture)
    if isinstance(picture, str):
        for stale in (job.overlay, job.mask):
            stale.unlink(missing_ok=True)
        return _row(job.picture.name, Reading(False, 0.0, (picture,), np.zeros((0, 0), np.uint8)))
    reading = read(picture)
    write_bytes(job.mask, _signed(bytes(cv2.imencode(".png", reading.mask)[1])))
    with words_drawn_in(language):
        write_bytes(job.overlay, _signed(png(overlay(picture, reading))))
    return _row(job.picture.name, reading)


def _decoded(file: Path) -> NDArray[np.generic] | str:
    """The picture, or why there is none."""
    try:
        data = read_bytes(file, MOST_BYTES, may_be_empty=True)
    except (Refused, OSError) as error:
        return f"cannot be read: {error.faults[0].found if isinstance(error, Refused) else error.strerror}"
    size = size_of(data)
    if not data or size is None:
        return "empty file" if not data else "not a picture"
    if size[0] * size[1] > MOST_PIXELS:
        return f"too large: {size[0]} × {size[1]} pixels, at most {MOST_PIXELS // 1_000_000} million"
    if max(size) > LONGEST * min(size):
        return f"too narrow: {size[0]} × {size[1]} pixels"
    # Photographs may say which side is up; only the other kinds have transparency, and are read as they are.
    jpeg = data.startswith(b"\xff\xd8")
    level = logging.setLogLevel(logging.LOG_LEVEL_SILENT)  # the table tells what it would tell on the terminal
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR if jpeg else cv2.IMREAD_UNCHANGED)
    except cv2.error:
        image = None
    finally:
        logging.setLogLevel(level)
    return "damaged file" if image is None else image


def _row(name: str, reading: Reading) -> Row:
    yaw, pitch = reading.gaze_deg or (None, None)
    pixels = np.bincount(reading.mask.ravel(), minlength=4)
    values = [
        *(name, "true" if reading.sure else "false", f"{reading.certainty:.3f}", "; ".join(reading.why)),
        *_ellipse(reading.pupil),
        *_ellipse(reading.iris),
        *(_number(value, 2) for value in (yaw, pitch)),
        _number(reading.opening, 3),
        *(str(count) for count in pixels[1:4]),
    ]
    return dict(zip(COLUMNS, values, strict=True))


def _ellipse(ellipse: Ellipse | None) -> list[str]:
    return [_number(value, 2) for value in ellipse] if ellipse else [""] * len(ELLIPSE)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def values(row: Row) -> dict[str, str | bool | float | None]:
    """A row as JSON has it: numbers, true and false, and null where there is nothing."""
    return {name: _value(name, text) for name, text in row.items()}


def _value(name: str, text: str) -> str | bool | float | None:
    if name in ("file", "why"):
        return text
    if name == "sure":
        return text == "true"
    return float(text) if text else None


def _is_our_table(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return stream.readline(1000).rstrip() == ",".join(COLUMNS).encode()


def _rows(table: Path) -> dict[str, Row]:
    """What was done before; half a line, as a killed run leaves it, counts for nothing."""
    if not table.is_file():
        return {}
    with table.open(newline="", encoding="utf-8", errors="replace") as stream:
        found = list(csv.DictReader(stream))
    return {
        row["file"]: row for row in found if row.keys() == set(COLUMNS) and all(row[name] is not None for name in row)
    }


def _write_table(file: Path, rows: Sequence[Row]) -> None:
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, COLUMNS)
    table.writeheader()
    table.writerows(rows)
    write_bytes(file, text.getvalue().encode())


def _write_sheet(out: Path, jobs: Sequence[Job], rows: Sequence[Row]) -> None:
    shown = list(zip(jobs, rows, strict=True))[:ON_SHEET]
    cells = [
        (job.picture.name, read_image(job.overlay, say("nothing to show")), row["sure"] == "true", row["why"])
        for job, row in shown
    ]
    write_bytes(out / SHEET, _signed(png(sheet(cells))))


def _signed(data: bytes) -> bytes:
    """A PNG that says who wrote it, right after its header."""
    body = b"tEXt" + OURS
    return data[:33] + struct.pack(">I", len(OURS)) + body + struct.pack(">I", zlib.crc32(body)) + data[33:]


def _is_ours(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return stream.read(41 + len(OURS))[41:] == OURS
