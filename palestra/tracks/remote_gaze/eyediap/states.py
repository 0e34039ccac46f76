"""Whether people looked at the target in each frame, as somebody annotated it: `frame<TAB>state`, a line per frame."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import numpy as np
import polars as pl

from palestra.errors import clip, refuse
from palestra.formats import decode_text, read_bytes
from palestra.text import say
from palestra.tracks.remote_gaze.eyediap.names import Name

MAX_BYTES = 64_000_000
STATES = ("OK", "BK", "NL")  # looks at the target, blinks, does not look
# Where the release puts annotations; people who unpack it by hand put them nearer to the top.
STATE_FOLDER = Path("Annotations", "GazeState", "GazeStateExport", "Data")
STATE_FILE = "gaze_state.txt"


def state_file(data: Path, name: Name) -> Path | None:
    """A recording's annotations, wherever they are under Annotations/. DS recordings have none."""
    root, own = data / "Annotations", Path(str(name), STATE_FILE)
    usual = (data / STATE_FOLDER / own, root / own)
    found = next((place for place in usual if place.is_file()), None)
    return found if found or name.target == "DS" else next(iter(sorted(root.glob(f"**/{own}"))), None)


def read_states(data: Path, name: Name, count: int) -> pl.Series:
    """`state` of each frame, null where nobody annotated it; annotations may run on after the last frame."""
    file = state_file(data, name)
    if file is None:
        return pl.Series("state", [None], pl.String).new_from_index(0, count)
    text = read_bytes(file, MAX_BYTES)
    table = _parsed_states(text)
    if table is None or any(map(pl.Series.has_nulls, table.iter_columns())):
        _refuse_state(file, text)
    frame = table["frame"].to_numpy()
    if np.array_equal(frame[:count], np.arange(count)):  # as nearly all are
        return table["state"][:count].cast(pl.String)
    if (frame < 0).any() or len(np.unique(frame)) < len(frame):
        refuse(str(file), say("a frame more than once, or below 0"), say("each frame once"))
    inside = table.filter(frame < count)
    empty = pl.Series("state", [None], pl.String).new_from_index(0, count)
    return empty.scatter(inside["frame"], inside["state"].cast(pl.String))


def _parsed_states(text: bytes) -> pl.DataFrame | None:
    schema: dict[str, pl.DataType] = {"frame": pl.Int64(), "state": pl.Enum(STATES)}
    try:
        return pl.read_csv(text.rstrip(), separator="\t", has_header=False, schema=schema, quote_char=None)
    except pl.exceptions.PolarsError:
        return None


def _refuse_state(file: Path, text: bytes) -> NoReturn:
    expected = say("a frame, a tab, and one of {states}", states=", ".join(STATES))
    for number, line in enumerate(decode_text(text, file).splitlines(), 1):
        cells = line.split("\t")
        if len(cells) != 2 or not cells[0].isdigit() or cells[1] not in STATES:
            refuse(say("{file}, line {number}", file=file, number=number), clip(line), expected)
    refuse(str(file), say("annotations that cannot be read"), expected)
