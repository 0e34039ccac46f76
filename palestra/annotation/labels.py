"""A user's own labels of some pictures: masks called as the ones that `palestra annotate` writes, or pupil points."""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.annotation.items import Items
from palestra.annotation.jobs import MASKS, Job
from palestra.annotation.pictures import Picture, decoded
from palestra.errors import PalestraError, nearest_name, refuse
from palestra.eyes.reader.ellipses import Mask, pupil_of
from palestra.formats import decode_text, read_bytes
from palestra.text import say

MOST = 400  # labels; who has more trains a network of their own
MOST_CSV_BYTES = 4_000_000
CLASSES = 4


@dataclass(frozen=True, eq=False)
class Label:
    """A picture and what its user says of it."""

    name: str
    image: Picture
    mask: Mask | None = None
    pupil: tuple[float, float, float | None] | None = None  # middle and diameter, pixels

    def pupil_point(self) -> tuple[float, float, float | None] | None:
        """The pupil as it was said, or as the mask has it."""
        if self.pupil or self.mask is None:
            return self.pupil
        found = pupil_of(self.mask)
        return (found.ellipse.x, found.ellipse.y, found.ellipse.long) if found else None


def read_labels(given: Path, jobs: Sequence[Job], out: Path) -> list[Label]:
    """All labels of a folder (masks, tables of points), or those of one table."""
    if not given.exists():
        raise PalestraError(say("{given}: there is no such folder or file of labels.", given=given))
    by_mask = {job.mask.relative_to(out / MASKS).as_posix(): job for job in jobs}
    by_name = {job.name: job for job in jobs}
    files = [file for file in sorted(given.rglob("*")) if file.is_file()] if given.is_dir() else [given]
    masks: dict[str, Path] = {}
    points: dict[str, tuple[float, float, float | None]] = {}
    for file in files:
        if file.suffix.lower() == ".png" and given.is_dir():
            name = file.relative_to(given).as_posix()
            if name not in by_mask:
                refuse(
                    str(file),
                    say(
                        "{name}, and there is no picture of that name. {near}",
                        name=name,
                        near=nearest_name(name, by_mask),
                    ),
                    say("a mask called as a picture"),
                )
            masks[by_mask[name].name] = file
        elif file.suffix.lower() == ".csv":
            points |= dict(_points(file, by_name))
    if not masks and not points:
        raise PalestraError(
            say(
                "{given} holds no labels: expected masks (PNG, called as the pictures, classes 0 to 3) or a CSV file "
                "with the columns file, x, y and, if known, diameter.",
                given=given,
            )
        )
    if len(masks | points) > MOST:
        raise PalestraError(say("{given} holds more than {most} labels.", given=given, most=MOST))
    wanted = [by_name[name] for name in dict.fromkeys([*masks, *points])]
    wanted.sort(key=jobs.index)
    return [
        _label(item.job.name, item.picture(), masks.get(item.job.name), points.get(item.job.name))
        for item in Items(wanted)
    ]


def _label(
    name: str, picture: Picture | str, file: Path | None, point: tuple[float, float, float | None] | None
) -> Label:
    if isinstance(picture, str):
        raise PalestraError(say("{name} has a label and cannot be read: {why}.", name=name, why=picture))
    shape = picture.shape[0], picture.shape[1]
    if point and not (0 <= point[0] < shape[1] and 0 <= point[1] < shape[0]):
        raise PalestraError(
            say("{name}: the point {x:.0f}, {y:.0f} lies outside the picture.", name=name, x=point[0], y=point[1])
        )
    return Label(name, picture, _mask(file, shape) if file else None, point)


def _mask(file: Path, shape: tuple[int, int]) -> Mask:
    found = decoded(file)
    where = str(file)
    expected = say(
        "a grey PNG of {width} × {height} pixels with the classes 0 background, 1 sclera, 2 iris, 3 pupil",
        width=shape[1],
        height=shape[0],
    )
    if isinstance(found, str):
        refuse(where, found, expected)
    if found.dtype != np.uint8 or found.shape != shape:
        refuse(
            where,
            say("{shape} pixels of {dtype}", shape=" × ".join(map(str, found.shape)), dtype=found.dtype),
            expected,
        )
    mask = np.asarray(found, np.uint8)
    if mask.max() >= CLASSES:
        refuse(where, say("the value {value}", value=int(mask.max())), expected)
    if not mask.any():
        refuse(where, say("no eye"), expected)
    return mask


def _points(file: Path, names: Mapping[str, Job]) -> Iterator[tuple[str, tuple[float, float, float | None]]]:
    for where, row in rows_of(file, ("file", "x", "y"), names):
        x, y = (number_in(row, column, where) for column in ("x", "y"))
        diameter = number_in(row, "diameter", where) if row.get("diameter") else None
        if diameter is not None and diameter <= 0:
            refuse(where, say("the diameter {diameter}", diameter=diameter), say("more than 0"))
        yield row["file"], (x, y, diameter)


# ── Tables that users write by hand. ──────────────────────────────────────────────────────────────────────────────────


def rows_of(file: Path, columns: Sequence[str], names: Mapping[str, Job]) -> Iterator[tuple[str, dict[str, str]]]:
    """Rows with their places; those of pictures that are not there, or that come twice, are refused."""
    text = decode_text(read_bytes(file, MOST_CSV_BYTES), file)
    reader = csv.DictReader(io.StringIO(text))
    if missing := [name for name in columns if name not in (reader.fieldnames or ())]:
        refuse(
            str(file),
            say("no column {name}", name=missing[0]),
            say("the columns {columns}", columns=", ".join(columns)),
        )
    seen = set()
    for number, row in enumerate(reader, 2):
        where = f"{file}, {number}"
        name = row["file"] or ""
        if name not in names:
            refuse(
                where,
                say("{name}, and there is no picture of that name. {near}", name=name, near=nearest_name(name, names)),
                say("a picture's name as in annotations.csv"),
            )
        if name in seen:
            refuse(where, say("{name!r} a second time", name=name), say("each picture once"))
        seen.add(name)
        yield where, {key: value for key, value in row.items() if isinstance(key, str) and isinstance(value, str)}


def number_in(row: Mapping[str, str], column: str, where: str) -> float:
    text = row.get(column, "").strip()
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > 1e6:
        refuse(where, say("{column} is {text!r}", column=column, text=text[:40]), say("a number"))
    return value


# ── Whether masks agree. ──────────────────────────────────────────────────────────────────────────────────────────────


def overlap_counts(true: Mask, found: Mask) -> NDArray[np.int64]:
    """(3, 4): pixels of each class in both, in the true and in the found mask."""
    from palestra.metrics.iou import count_overlap

    if found.shape != true.shape:
        found = np.asarray(cv2.resize(found, true.shape[::-1], interpolation=cv2.INTER_NEAREST), np.uint8)
    return np.array(count_overlap(true, found))


def pooled_miou(counts: Sequence[NDArray[np.int64]]) -> float:
    """Mean over the classes of the intersection over union of all pixels."""
    shared, true, found = np.sum(counts, axis=0).astype(np.float64)
    either = true + found - shared
    return float((shared[either > 0] / either[either > 0]).mean())
