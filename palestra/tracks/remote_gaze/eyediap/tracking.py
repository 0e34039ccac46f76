"""EYEDIAP's tracking files: a header, then `frame;number;number;…`, one line per frame, read by position.

A row of zeros or of another length says that nothing is known of that frame: its cells are null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import clip, refuse
from palestra.formats import decode_text, read_bytes
from palestra.text import say
from palestra.tracks.remote_gaze.eyediap.calibration import ROTATION_WITHIN
from palestra.tracks.remote_gaze.eyediap.names import Name, existing_file, session_file
from palestra.tracks.remote_gaze.eyediap.states import read_states

MAX_BYTES = 64_000_000

Tracking = Literal["head_pose", "eye_tracking", "ball_tracking", "screen_coordinates"]
ROTATION = tuple(f"r{row}{column}" for row in range(3) for column in range(3))
POSE = (*ROTATION, "tx", "ty", "tz")
EYES = ("left_x", "left_y", "left_z", "right_x", "right_y", "right_z")
TARGET = ("target_x", "target_y", "target_z")
SCREEN = ("sx", "sy")
_CAMERAS = ("vga", "depth", "hd")  # the order of the projections in a row
FIELDS: Mapping[Tracking, tuple[str, ...]] = {
    "head_pose": POSE,
    "eye_tracking": (*(f"{c}_{side}_{axis}" for c in _CAMERAS for side in ("left", "right") for axis in "xy"), *EYES),
    "ball_tracking": (*(f"{camera}_{axis}" for camera in _CAMERAS for axis in "xy"), *TARGET),
    "screen_coordinates": (*SCREEN, "camera_x", "camera_y", "camera_z"),  # before the Kinect, not in the world
}


@dataclass(frozen=True)
class _Read:
    """A file's numbers as they stand, and which rows say something."""

    table: pl.DataFrame  # frame, and the fields; nulls in rows of another length
    known: NDArray[np.bool_]  # False for rows of zeros

    def fields(self, *names: str) -> list[pl.Series]:
        return [self.table[name] for name in names]


def tracking(data: Path, name: Name, which: Tracking) -> pl.DataFrame:
    """One of a recording's tracking files: `frame` and its fields, null where nothing is known of a frame."""
    read = _read(existing_file(data, name, f"{which}.txt"), which)
    return _with_nulls(read.table, [(read, FIELDS[which])]).select("frame", *FIELDS[which]).collect()


def frames(data: Path, name: Name) -> pl.DataFrame:
    """Everything that is known of a recording frame by frame, in the world's metres; no projections."""
    files: tuple[Tracking, ...] = ("head_pose", "eye_tracking", target_file(name))
    given = [which for which in files if which != files[2] or has_target(data, name)]
    reads = {which: _read(existing_file(data, name, f"{which}.txt"), which) for which in given}
    count = reads["head_pose"].table.height
    for which, read in reads.items():
        if read.table.height != count:
            where = existing_file(data, name, f"{which}.txt")
            refuse(
                str(where),
                say("{height:,} frames", height=read.table.height),
                say("{count:,}, as in head_pose.txt", count=count),
            )
    wanted = {which: _wanted(which) for which in given}
    columns = [series for which in given for series in reads[which].fields(*wanted[which])]
    whole = pl.DataFrame([reads["head_pose"].table["frame"], read_states(data, name, count), *columns])
    known = _with_nulls(whole, [(reads[which], wanted[which]) for which in given])
    return known.select("frame", "state", *POSE, *EYES, *_target(given[2:])).collect()


def _wanted(which: Tracking) -> tuple[str, ...]:
    """Fields that are more than where a camera sees something."""
    return {"eye_tracking": EYES, "ball_tracking": TARGET}.get(which, FIELDS[which])


def _with_nulls(table: pl.DataFrame, groups: Sequence[tuple[_Read, tuple[str, ...]]]) -> pl.LazyFrame:
    """A table with nulls where a file's rows are all zero, to be collected with what else is asked of it."""
    return table.lazy().with_columns(
        pl.when(pl.Series(read.known)).then(pl.col(names)) for read, names in groups if not read.known.all()
    )


def _target(given: Sequence[Tracking]) -> list[pl.Expr]:
    """Where the target was: Eq. 1 brings what stands before the Kinect into the world."""
    if "ball_tracking" in given:
        return [*map(pl.col, TARGET), *_nothing(SCREEN)]
    if "screen_coordinates" in given:
        x, y, z = pl.col("camera_x"), -pl.col("camera_y"), 1 - pl.col("camera_z")
        return [x.alias("target_x"), y.alias("target_y"), z.alias("target_z"), *map(pl.col, SCREEN)]
    return _nothing((*TARGET, *SCREEN))


def _nothing(columns: Sequence[str]) -> list[pl.Expr]:
    return [pl.lit(None, pl.Float64).alias(column) for column in columns]


def frame_count(data: Path, name: Name) -> int:
    """How many frames a recording has, by its head poses."""
    file = existing_file(data, name, "head_pose.txt")
    return max(len(read_bytes(file, MAX_BYTES).rstrip().splitlines()) - 1, 0)


def has_target(data: Path, name: Name) -> bool:
    """Whether a recording says where the target was: contestants may get copies that do not."""
    return session_file(data, name, f"{target_file(name)}.txt") is not None


def target_file(name: Name) -> Tracking:
    """Which file says where the target was."""
    return "screen_coordinates" if name.on_screen else "ball_tracking"


# --- one file


def _read(file: Path, which: Tracking) -> _Read:
    """A tracking file, looked through: frames in order, finite numbers, rotations that are some."""
    fields = FIELDS[which]
    table = _table(file, fields)
    _check_numbers(file, table, fields)
    numbers = [table[field].to_numpy() for field in fields]
    known = ~np.logical_and.reduce([column == 0 for column in numbers])
    if which == "head_pose":
        _check_rotations(file, numbers[:9], known)
    counted = pl.Series("frame", np.arange(table.height, dtype=np.int32))
    return _Read(table.with_columns(counted), known)


def _table(file: Path, fields: tuple[str, ...]) -> pl.DataFrame:
    """Rows as they are, those of another length as nulls after their frame's number."""
    data = read_bytes(file, MAX_BYTES)
    header = data[: data.find(b"\n") + 1]
    if _is_row(header):
        refuse(
            say("{file}, line 1", file=file),
            clip(header[:60].decode(errors="replace")),
            say("a header that says what the fields are"),
        )
    table = _parsed(data, fields, skip=1)
    # Polars fills short rows with nulls and takes no long ones.
    if table is None or table.is_empty() or any(map(pl.Series.has_nulls, table.iter_columns())):
        return _uneven(file, data[len(header) :].rstrip(), fields)
    return table


def _is_row(line: bytes) -> bool:
    cells = line.split(b";")
    return len(cells) > 2 and all(map(_is_number, cells))


def _is_number(cell: bytes | str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _parsed(text: bytes, fields: tuple[str, ...], skip: int = 0) -> pl.DataFrame | None:
    schema = dict.fromkeys(("frame", *fields), pl.Float64)
    how: dict[str, Any] = {"separator": ";", "has_header": False, "quote_char": None}
    try:
        return pl.read_csv(text, schema=schema, skip_rows=skip, **how)
    except pl.exceptions.PolarsError:
        return None


def _uneven(file: Path, body: bytes, fields: tuple[str, ...]) -> pl.DataFrame:
    """The same, row by row in two heaps: those of the right length are parsed, of the others the number alone."""
    rows_as_text = decode_text(body, file).splitlines()
    if not rows_as_text:  # nothing, or a byte order mark alone
        refuse(str(file), say("no rows"), say("a header, then one row per frame"))
    lines = pl.Series(rows_as_text).str.replace_all(r"\s", "").str.strip_suffix(";")
    whole = lines.str.count_matches(";", literal=True) == len(fields)
    number = lines.str.split(";").list.first().cast(pl.Float64, strict=False)
    if number.null_count():
        at = int(number.is_null().arg_max() or 0)
        refuse(
            say("{file}, line {value}", file=file, value=at + 2),
            clip(lines[at]),
            say("a row that begins with the frame's number"),
        )
    rows = _parsed("\n".join(lines.filter(whole)).encode(), fields) if whole.any() else _none_of(fields)
    if rows is None or any(rows.null_count().row(0)):
        _refuse_cell(file, lines, whole)
    places = pl.Series("at", np.flatnonzero(whole.to_numpy()), pl.UInt32)
    numbered = pl.DataFrame({"at": pl.arange(0, lines.len(), dtype=pl.UInt32, eager=True), "frame": number})
    return numbered.join(rows.drop("frame").with_columns(places), on="at", how="left", maintain_order="left").drop("at")


def _none_of(fields: tuple[str, ...]) -> pl.DataFrame:
    return pl.DataFrame(schema=dict.fromkeys(("frame", *fields), pl.Float64))


def _refuse_cell(file: Path, lines: pl.Series, whole: pl.Series) -> NoReturn:
    for at, line in enumerate(lines):
        if whole[at] and not all(map(_is_number, line.split(";"))):
            cell = next(cell for cell in line.split(";") if not _is_number(cell))
            refuse(say("{file}, line {value}", file=file, value=at + 2), clip(cell), say("a number"))
    refuse(str(file), say("rows that cannot be read"), say("numbers between semicolons"))


def _check_numbers(file: Path, table: pl.DataFrame, fields: tuple[str, ...]) -> None:
    """Frames are counted from 0 without a gap, and nothing is infinite or not a number."""
    numbers = table["frame"].to_numpy()
    wrong = np.flatnonzero(numbers != np.arange(len(numbers)))
    if wrong.size:
        at = int(wrong[0])
        refuse(
            say("{file}, line {value}", file=file, value=at + 2),
            say("frame {numbers:g}", numbers=numbers[at]),
            say("frame {at}: one row per frame, in order", at=at),
        )
    # A sum shows what is not finite among many numbers, and costs less than looking at each.
    if not all(math.isfinite(table[field].sum() or 0.0) for field in fields):
        _refuse_infinite(file, table, fields)


def _refuse_infinite(file: Path, table: pl.DataFrame, fields: tuple[str, ...]) -> None:
    for field in fields:
        wrong = (~table[field].is_finite()).fill_null(False)
        if wrong.any():
            at = int(wrong.arg_max() or 0)
            refuse(
                say("{file}, line {value}", file=file, value=at + 2),
                f"{field} {table[field][at]}",
                say("a finite number"),
            )


def _check_rotations(file: Path, numbers: Sequence[NDArray[np.float64]], known: NDArray[np.bool_]) -> None:
    """RRᵀ is the identity, and the third row the cross product of the others; nothing is asked of unknown frames."""
    a, b, c, d, e, f, g, h, i = numbers
    with np.errstate(over="ignore", invalid="ignore"):  # numbers that overflow are infinitely far off
        lengths = (a * a + b * b + c * c - 1, d * d + e * e + f * f - 1, g * g + h * h + i * i - 1)
        angles = (a * d + b * e + c * f, d * g + e * h + f * i, g * a + h * b + i * c)
        off = np.fmax.reduce([np.abs(part) for part in (*lengths, *angles)])
        mirrored = (b * f - c * e) * g + (c * d - a * f) * h + (a * e - b * d) * i < 0
    wrong = np.flatnonzero(known & ((off > ROTATION_WITHIN) | mirrored))
    if wrong.size:
        at = int(wrong[0])
        found = (
            say("a mirrored matrix")
            if mirrored[at]
            else say("a matrix whose RRᵀ is off the identity by {off:.3g}", off=off[at])
        )
        refuse(
            say("{file}, line {value}", file=file, value=at + 2),
            found,
            say("a rotation (within {rotation_within}), or a row of zeros", rotation_within=ROTATION_WITHIN),
        )
