"""Where a recording's events come from, as a person names it: claps, flash:X,Y, pulse:CHANNEL, marks:COLUMN …"""

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import PalestraError, UnknownName
from palestra.studio.sync.brightness import read_places
from palestra.studio.sync.claps import claps
from palestra.studio.sync.events import Events, edges
from palestra.studio.sync.led_places import Places
from palestra.studio.sync.tables import column, read_table
from palestra.text import say

MARKS = ("mark", "code", "trigger", "event")  # columns that are looked for
STEADY = 0.05  # by which times of samples may differ from even ones


def events_of(path: Path, way: str) -> Events:
    """The events of a recording."""
    kind, _, where = way.partition(":")
    if kind == "claps" and not where:
        return claps(path)
    if kind in ("light", "flash") and where:
        places = Places.parse(where)
        readings = read_places(path, Places(places.places[:1], places.size))
        return edges(f"{path} at {places.places[0]}", readings.at_s, readings.grey[:, 0], kind == "flash")
    if kind in ("diode", "pulse") and where:
        table, at_s = read_table(path)
        level = column(path, table, where)
        known = np.isfinite(level)
        return edges(f"{path}, {where}", at_s[known], level[known], kind == "pulse")
    if kind == "marks":
        return _marks(path, where)
    raise PalestraError(
        say(
            "{way!r} is not a way to align: expected leds, claps, light:X,Y or flash:X,Y (a place in the picture; "
            "every change of it, or only when it lights up), diode:CHANNEL or pulse:CHANNEL (the same of a signal), "
            "marks or marks:COLUMN.",
            way=way,
        )
    )


def _marks(path: Path, where: str) -> Events:
    """Markers: a row for each in a table of few rows, or the samples at which a trigger channel changes."""
    table, at_s = read_table(path)
    name = where or next((one for one in MARKS if one in table.columns), "")
    if where and where not in table.columns:
        raise UnknownName(say("column"), where, table.columns)
    if not name:
        return Events(str(path), np.sort(at_s)).require_many()
    codes = table[name]
    kept = codes.is_not_null().to_numpy()
    if codes.dtype.is_numeric():
        values = codes.fill_null(0).cast(pl.Float64).to_numpy()
        kept &= values != 0
        if _is_sampled(at_s):  # a trigger stays for some samples
            kept &= np.diff(values, prepend=0.0) != 0
        named = [f"{value:g}" for value in values[kept]]
    else:
        named = [str(value) for value in codes.filter(pl.Series(kept))]
    order = np.argsort(at_s[kept], kind="stable")
    found = Events(f"{path}, {name}", at_s[kept][order], tuple(named[i] for i in order))
    return found.require_many()


def _is_sampled(at_s: NDArray[np.float64]) -> bool:
    """Whether rows come evenly, as samples do and markers do not."""
    apart = np.diff(at_s)
    return len(apart) > 100 and bool(np.median(np.abs(apart - np.median(apart))) <= STEADY * np.median(apart))
