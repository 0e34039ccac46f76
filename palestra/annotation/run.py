"""Annotates a folder of somebody's own pictures of eyes: overlays, masks, a table, and a sheet to look at first.

A picture that was done and has not changed since is not done again.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import cv2
import numpy as np

from palestra.annotation.items import Item, Items
from palestra.annotation.jobs import MASKS, SHEET, Job, by_group, signed
from palestra.annotation.orientation import Orientation, is_upside_down
from palestra.annotation.overlay import overlay, sheet
from palestra.annotation.table import COLUMNS, TABLE, Row, Told, flag, read_rows, row_of, write_rows
from palestra.executors import in_processes
from palestra.eyes.reader.read_eye import Reading, read
from palestra.eyes.reader.settings import USUAL, Settings
from palestra.formats import write_bytes
from palestra.report import png, read_image, words_drawn_in
from palestra.text import say

ON_SHEET = 24


@dataclass(frozen=True)
class How:
    """What a user asked for."""

    again: bool = False
    language: str = "en"
    orientation: Orientation = "auto"
    settings: Settings = USUAL

    def fits(self, row: Row) -> bool:
        """Whether a row was read by this reader, the way up that is asked for."""
        if row["reader"] != self.settings.reader:
            return False
        return self.orientation == "auto" or row["upside_down"] == flag(self.orientation == "upside-down")


def annotate(jobs: Sequence[Job], out: Path, how: How, advance: Callable[[int], None]) -> list[Row]:
    """Do what is not done yet; a row for each picture, in order. Stopped, it goes on from there the next time."""
    known = {} if how.again else read_rows(out / TABLE)
    rows = {
        job.name: known[job.name] for job in jobs if job.name in known and job.is_done and how.fits(known[job.name])
    }
    (out / MASKS).mkdir(parents=True, exist_ok=True)
    write_rows(out / TABLE, list(rows.values()))
    advance(len(rows))
    todo = [job for job in jobs if job.name not in rows]
    turned = _orientations(by_group(todo), rows, how)
    with (out / TABLE).open("a", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, COLUMNS)
        for item, row in in_processes(partial(_annotated, how, turned), Items(todo)):
            rows[item.job.name] = row
            table.writerow(row)
            stream.flush()  # whoever stops us here loses nothing
            advance(1)
    ordered = [rows[job.name] for job in jobs]
    write_rows(out / TABLE, ordered)
    with words_drawn_in(how.language):
        _write_sheet(out, jobs, ordered)
    return ordered


def _orientations(groups: Mapping[str, Sequence[Job]], rows: Mapping[str, Row], how: How) -> dict[str, bool]:
    """Which groups are upside down. One of which a part was done goes on as it began."""
    begun = {group_of(name): row["upside_down"] == "true" for name, row in rows.items()}
    if how.orientation != "auto":
        begun = {}
    return {
        group: begun[group] if group in begun else is_upside_down(jobs, how.orientation, how.settings)
        for group, jobs in groups.items()
    }


def group_of(name: str) -> str:
    """The folder or the video of a row."""
    return name.rpartition("/")[0] or "."


def _annotated(how: How, turned: Mapping[str, bool], item: Item) -> Row:
    """Read one picture and write what was read; what cannot be read is a row that says so."""
    job, picture = item.job, item.picture()
    frame = None if job.frame is None or item.time_s is None else (job.frame, item.time_s)
    about = Told(job.name, turned[job.group], how.settings.reader, frame)
    if isinstance(picture, str):
        for stale in (job.overlay, job.mask):
            stale.unlink(missing_ok=True)
        return row_of(about, Reading((picture,), np.zeros((0, 0), np.uint8)))
    reading = read(picture, replace(how.settings, upside_down=about.upside_down))
    for file in (job.overlay, job.mask):
        file.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(job.mask, signed(bytes(cv2.imencode(".png", reading.mask)[1])))
    with words_drawn_in(how.language):
        write_bytes(job.overlay, signed(png(overlay(picture, reading))))
    return row_of(about, reading)


def _write_sheet(out: Path, jobs: Sequence[Job], rows: Sequence[Row]) -> None:
    shown = list(zip(jobs, rows, strict=True))[:ON_SHEET]
    cells = [
        (job.name, read_image(job.overlay, say("nothing to show")), row["sure"] == "true", row["why"])
        for job, row in shown
    ]
    write_bytes(out / SHEET, signed(png(sheet(cells))))
