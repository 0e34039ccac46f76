"""Opens a recording and reads it: frames with their times, the frame nearest to a moment, samples of signals."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import PalestraError, UnknownName
from palestra.studio.capture import layout, repair, rows
from palestra.studio.capture.clock import on_our_clock
from palestra.studio.capture.picture_reader import PictureReader, numbers_in, rows_of
from palestra.studio.capture.signal_segment import chunk_table
from palestra.studio.capture.source import Image, Offset
from palestra.text import Text, say


@dataclass(frozen=True)
class Taken:
    """One frame of a recording."""

    number: int
    at_ns: int  # when it was taken, on the recording's clock
    taken_ns: int | None  # the same on the source's own clock
    arrived_ns: int
    dropped: int  # frames just before it
    images: tuple[Image, ...]


@dataclass(frozen=True)
class _Index:
    """All rows of a source: which segment each is in, and its time."""

    rows: rows.Rows
    segment: NDArray[np.int64]
    at_ns: NDArray[np.int64]


class Recording:
    """A folder that `palestra studio capture` wrote, or writes: then what is there so far is read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.head = layout.read_head(folder)
        self.repairs: list[Text] = []  # what had to be put in order, and what was lost
        with layout.locked(folder) as alone:
            if alone:
                self.repairs = repair.repair(folder, self.head)
        self._indices: dict[str, _Index] = {}
        self._closed: dict[tuple[str, int], rows.Rows] = {}  # what does not change any more

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.head.sources]

    def captured(self, name: str, kind: str) -> layout.Captured:
        """A source of this recording."""
        for one in self.head.sources:
            if one.name == name and one.about.kind == kind:
                return one
        known = [one.name for one in self.head.sources if one.about.kind == kind]
        raise UnknownName(say("source of pictures") if kind == "pictures" else say("signal"), name, known)

    def refresh(self) -> None:
        """Look again at what a recording has that is still written."""
        self._indices.clear()

    def frames(self, name: str) -> Iterator[Taken]:
        """All frames of a source, in order."""
        index = self._index(name)
        for number in np.unique(index.segment).tolist():
            with self._reader(name, number) as reader:
                for i in np.flatnonzero(index.segment == number).tolist():
                    yield self._taken(index, i, reader)

    def nearest(self, name: str, at_ns: int) -> Taken:
        """The frame that was taken nearest to a moment of the recording's clock."""
        index = self._index(name)
        if not len(index.at_ns):
            raise PalestraError(say("{folder} has no frames of {name}.", folder=self.folder, name=name))
        i = int(np.argmin(np.abs(index.at_ns - at_ns)))
        with self._reader(name, int(index.segment[i])) as reader:
            return self._taken(index, i, reader)

    def times(self, name: str) -> pl.DataFrame:
        """The row of each frame of a source, with `at_ns`, its time on the recording's clock."""
        index = self._index(name)
        table = rows.as_table(index.rows)
        return table.select("number", "taken_ns", "arrived_ns", "dropped").with_columns(
            at_ns=pl.Series(index.at_ns), segment=pl.Series(index.segment)
        )

    def samples(self, name: str) -> pl.DataFrame:
        """All samples of a signal, with `at_ns`, each one's time on the recording's clock."""
        about = self.captured(name, "signal").about
        folder = self.folder / name
        tables = []
        for number in numbers_in(folder):
            closed = folder / f"{number:06d}.parquet"
            tables.append(
                pl.read_parquet(closed) if closed.exists() else chunk_table(folder / f"{number:06d}.chunks", about)
            )
        if not tables:
            raise PalestraError(say("{folder} has no samples of {name}.", folder=self.folder, name=name))
        table = pl.concat(tables)
        arrived, taken = table["arrived_ns"].to_numpy(), table["taken_ns"].to_numpy()
        at_ns = on_our_clock(taken, arrived, np.ones(len(table), bool), self.offsets(name))
        return table.with_columns(at_ns=pl.Series(at_ns))

    def offsets(self, name: str) -> list[Offset]:
        """How the clock of a source stood to ours, measured again and again."""
        lines = layout.read_lines(self.folder / name / layout.OFFSETS, layout.OffsetLine)
        return [Offset(one.at_ns, one.offset_ns, one.spread_ns) for one in lines]

    def events(self) -> list[layout.Event]:
        """What happened while it was recorded."""
        return layout.read_lines(self.folder / layout.EVENTS, layout.Event)

    def _reader(self, name: str, number: int) -> PictureReader:
        return PictureReader(self.folder / name, number, self.captured(name, "pictures").about.parts)

    def _index(self, name: str) -> _Index:
        if name not in self._indices:
            parts = self.captured(name, "pictures").about.parts
            folder = self.folder / name
            numbers = numbers_in(folder)
            each = [self._rows(name, number, parts) for number in numbers]
            found = np.concatenate([np.zeros(0, rows.row_type(parts)), *each])
            segment = np.repeat(np.array(numbers, np.int64), [len(one) for one in each])
            known = found["taken_ns"] != rows.NO_TIME
            at_ns = on_our_clock(found["taken_ns"], found["arrived_ns"], known, self.offsets(name))
            self._indices[name] = _Index(found, segment, at_ns)
        return self._indices[name]

    def _rows(self, name: str, number: int, parts: list[str]) -> rows.Rows:
        known = self._closed.get((name, number))
        if known is None:
            is_closed = (self.folder / name / f"{number:06d}.parquet").exists()
            known = rows_of(self.folder / name, number, parts)
            if is_closed:
                self._closed[name, number] = known
        return known

    def _taken(self, index: _Index, i: int, reader: PictureReader) -> Taken:
        row = index.rows[i]
        try:
            images = reader.images(row)
        except (ValueError, OSError) as error:
            raise PalestraError(
                say(
                    "{folder}: frame {number} cannot be read ({error}). `palestra studio check` looks at all of them.",
                    folder=self.folder,
                    number=int(row["number"]),
                    error=error,
                )
            ) from None
        taken = int(row["taken_ns"])
        return Taken(
            int(row["number"]),
            int(index.at_ns[i]),
            None if taken == rows.NO_TIME else taken,
            int(row["arrived_ns"]),
            int(row["dropped"]),
            images,
        )
