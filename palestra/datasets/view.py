"""Pictures of a data set: its page, a contact sheet, one trial."""

from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from palestra.errors import PalestraError, UnknownName
from palestra.records import Track
from palestra.text import say

SHEET = 24  # trials on a contact sheet


def draw(track: Track, what: str, data: Path, out: Path, language: Literal["en", "zh"] = "en") -> None:
    """Write what was asked for: `data`, `sheet`, the name of a trial, or that of a sequence as a film."""
    from palestra.report import words_drawn_in, write_data_page

    if what == "data" and out.suffix.lower() != ".mp4":
        write_data_page(track, data, out, language)
        return
    with words_drawn_in(language):
        if out.suffix.lower() == ".mp4":
            _write_film(track, what, data, out)
        else:
            _write_picture(track, what, data, out)


def _write_film(track: Track, what: str, data: Path, out: Path) -> None:
    from palestra.report import write_film

    if track.display.film is None:
        raise PalestraError(say("{id} has no sequences: its pictures stand alone. Name a .png file.", id=track.id))
    write_film(track.display.film(data, what), out)


def _write_picture(track: Track, what: str, data: Path, out: Path) -> None:
    from palestra.report import contact_sheet, png

    if track.display.still and what != "sheet":
        out.write_bytes(png(track.display.still(data, what)))
        return
    if track.display.picture is None:
        raise PalestraError(say("{id} has no pictures.", id=track.id))
    rows = _with_truth(track, data)
    if what == "sheet":
        chosen = rows[np.linspace(0, rows.height - 1, min(SHEET, rows.height)).astype(int).tolist()]
        image = contact_sheet(
            [track.display.picture(data, row) for row in chosen.iter_rows(named=True)], columns=2, width=1600
        )
    else:
        found = rows.filter(pl.col("trial") == what)
        if found.is_empty():
            raise UnknownName(say("trial (among those with truth)"), what, rows["trial"].to_list())
        image = track.display.picture(data, found.row(0, named=True))
    out.write_bytes(png(image))


def _with_truth(track: Track, data: Path) -> pl.DataFrame:
    """Trials with their truth, and no answers."""
    truth = track.truth(data)
    empty = track.blank(track.trials(data)).clear() if track.blank else truth.select("trial").clear()
    return truth.join(empty, on="trial", how="left", maintain_order="left")
