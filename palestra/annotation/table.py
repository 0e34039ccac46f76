"""annotations.csv: a row for each picture, and what stands in it."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from palestra.eyes.reader.certainty import QUANTITIES
from palestra.eyes.reader.ellipses import Ellipse
from palestra.eyes.reader.read_eye import Reading
from palestra.formats import write_bytes

TABLE = "annotations.csv"
ELLIPSE = ("x", "y", "long", "short", "angle_deg")
FIRST = ("file", "sure", "certainty", "why")  # that every table of ours has begun with
CALIBRATED = ("calibrated_yaw_deg", "calibrated_pitch_deg")
COLUMNS = (
    *FIRST,
    *(f"{quantity}_{part}" for quantity in QUANTITIES for part in ("sure", "certainty")),
    *(f"pupil_{part}" for part in ELLIPSE),
    *(f"iris_{part}" for part in ELLIPSE),
    *("gaze_yaw_deg", "gaze_pitch_deg", "opening", "sclera_pixels", "iris_pixels", "pupil_pixels"),
    *("glints", *CALIBRATED, "upside_down", "frame", "time_s", "reader"),
)
WORDS = frozenset({"file", "why", "glints", "reader"})
FLAGS = frozenset({"sure", "upside_down", *(f"{quantity}_sure" for quantity in QUANTITIES)})
Row = Mapping[str, str]


@dataclass(frozen=True)
class Told:
    """What a row says beside the reading."""

    name: str
    upside_down: bool  # how it was read
    reader: str  # by which network and correction
    frame: tuple[int, float] | None = None  # number and time, of a video


def row_of(about: Told, reading: Reading) -> Row:
    yaw, pitch = reading.gaze_deg or (None, None)
    pixels = np.bincount(reading.mask.ravel(), minlength=4)
    number, time_s = about.frame or (None, None)
    values = [
        *(about.name, flag(reading.sure), _number(reading.certainty, 3), "; ".join(reading.why)),
        *(
            text
            for quantity in QUANTITIES
            for text in (flag(reading.is_sure(quantity)), _number(reading.certainties[quantity], 3))
        ),
        *_ellipse(reading.pupil),
        *_ellipse(reading.iris),
        *(_number(value, 2) for value in (yaw, pitch)),
        _number(reading.opening, 3),
        *(str(count) for count in pixels[1:4]),
        "; ".join(f"{x:.1f} {y:.1f}" for x, y in reading.glints),
        *("", ""),
        flag(about.upside_down),
        *("" if number is None else str(number), _number(time_s, 4), about.reader),
    ]
    return dict(zip(COLUMNS, values, strict=True))


def flag(value: bool) -> str:
    return "true" if value else "false"


def _ellipse(ellipse: Ellipse | None) -> list[str]:
    return [_number(value, 2) for value in ellipse] if ellipse else [""] * len(ELLIPSE)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def values(row: Row) -> dict[str, str | bool | float | None]:
    """A row as JSON has it: numbers, true and false, and null where there is nothing."""
    return {name: _value(name, text) for name, text in row.items()}


def _value(name: str, text: str) -> str | bool | float | None:
    if name in WORDS:
        return text
    if name in FLAGS:
        return text == "true"
    return float(text) if text else None


def is_our_table(file: Path) -> bool:
    """Also one of an older version, which had fewer columns."""
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return stream.readline(4000).startswith(",".join(FIRST).encode() + b",")


def read_rows(table: Path) -> dict[str, Row]:
    """What was done before; half a line, as a killed run leaves it, counts for nothing."""
    if not table.is_file():
        return {}
    with table.open(newline="", encoding="utf-8", errors="replace") as stream:
        found = list(csv.DictReader(stream))
    return {
        row["file"]: row for row in found if row.keys() == set(COLUMNS) and all(row[name] is not None for name in row)
    }


def write_rows(file: Path, rows: Sequence[Row]) -> None:
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, COLUMNS)
    table.writeheader()
    table.writerows(rows)
    write_bytes(file, text.getvalue().encode())
