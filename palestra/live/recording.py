"""A run on disk: what was sent, what came back, and when. It is written as it happens, and is whole up to any moment.

    run.json        what is played, on which data, by whom, since when
    ticks.rec       every tick: in which sitting, when due, when sent, a checksum of what was sent
    <entrant>.rec   that entrant's decisions and stray replies; what it did, where it acted in a world
    standings.jsonl who stood where, after each round of decisions; for screens
    end.json        the results; only a run that came to its end has it

A .rec file is a list of records, each a length of 4 bytes and a msgpack array. A record that a kill cut short is no
record.
"""

import errno
import fcntl
import os
import re
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from palestra.errors import PalestraError, UnknownName, clip
from palestra.formats import replacing
from palestra.live.episode import Step
from palestra.live.standings import Standing
from palestra.live.stream import Decision
from palestra.records import Reply, Result, Tick
from palestra.text import Text, say

HEAD, END, TICKS, STANDINGS = "run.json", "end.json", "ticks.rec", "standings.jsonl"
LENGTH = struct.Struct("<I")
WRITTEN_EVERY_S, UNWRITTEN = 0.05, 256  # ticks that came closer together than this are written together
MOST_BYTES = 1 << 20  # of one record
LONGEST_NAME = 64  # of a trial that an entrant made up
MOST_NUMBERS = 64  # of an array that an entrant answered with
MOST_ANSWER, MOST_STRAY = 16_384, 4096  # bytes of an answer, and of a stray one; of longer ones only the kind is kept
MOST_STRAYS = 100_000  # of one entrant: more tell nothing new, and must not fill the disk
DEEP = b"\x91" * 200  # so many lists in each other: what can be read inside of them can be read anywhere
Kind = TypeVar("Kind")


class Who(msgspec.Struct, frozen=True):
    """One entrant of a run."""

    name: str
    what: str  # the digest of its bundle, or where it was reached
    sandbox: str | None  # what contained it; null for a program on another machine
    file: str  # of its decisions


class Head(msgspec.Struct, frozen=True):
    """What a run is, written before it begins."""

    track: str
    settings: dict[str, Any]
    data: str  # the data set's folder
    pace: str  # real or fast
    seed: int  # of the resampling behind the intervals
    entrants: list[Who]
    sittings: list[str]
    decisions: int  # of each entrant, if the run comes to its end
    started_at: str  # UTC
    palestra: str  # version
    allow_starving: bool = False  # several programs played though nothing kept one from starving another: allowed


class Sealed(msgspec.Struct, frozen=True):
    """The weights of a bundle around a sitting, as digests; empty where it has none."""

    sitting: str
    before: str
    after: str


class End(msgspec.Struct, frozen=True):
    """How it ended."""

    ended_at: str
    results: list[Result]
    deaths: dict[str, list[Text]]  # of each entrant's program, with the reasons
    outputs: dict[str, str]  # what it printed
    versions: dict[str, list[str]]  # what each entrant played with, sitting by sitting
    weights: dict[str, list["Sealed"]] = {}  # of each bundle, sitting by sitting


class Sent(msgspec.Struct, frozen=True, array_like=True):
    """A tick that went out."""

    sitting: int
    due_s: float
    sent_s: float
    checksum: int  # CRC-32 of the arrays
    trial: str | None


class Decided(msgspec.Struct, frozen=True, array_like=True, tag="decided"):
    """A decision, in its sitting."""

    sitting: int
    decision: Decision


class Strayed(msgspec.Struct, frozen=True, array_like=True, tag="strayed"):
    """A reply that answered nothing that was open."""

    sitting: int
    at_s: float
    trial: str
    answer: Any
    note: Text


class Moved(msgspec.Struct, frozen=True, array_like=True, tag="moved"):
    """A period in which an entrant acted."""

    sitting: int
    step: Step


class Recorder:
    """Writes a run. It is a log of the stream."""

    def __init__(self, folder: Path, head: Head) -> None:
        self.folder, self.sitting = folder, 0
        folder.mkdir(parents=True, exist_ok=True)
        # Unbuffered: what is written is there though we be killed.
        self._ticks = (folder / TICKS).open("xb", buffering=0)
        fcntl.flock(self._ticks, fcntl.LOCK_EX)  # tells that the run is under way; the system lets go of it with us
        self._own = {who.name: (folder / who.file).open("xb", buffering=0) for who in head.entrants}
        self._strays = dict.fromkeys(self._own, 0)
        self._unwritten: list[bytes] = []  # ticks
        self._written_at = 0.0
        with replacing(folder / HEAD) as fresh:  # last: where it is, the others are
            fresh.write_bytes(msgspec.json.format(msgspec.json.encode(head)))

    def sent(self, tick: Tick, at_s: float) -> None:
        self._unwritten.append(_framed(Sent(self.sitting, tick.due_s, at_s, checksum_of(tick), tick.trial)))
        # In real time each tick is written as it goes out; in virtual time thousands a second are, some at a time.
        if time.monotonic() - self._written_at > WRITTEN_EVERY_S or len(self._unwritten) >= UNWRITTEN:
            self._write_ticks()

    def _write_ticks(self) -> None:
        data, self._unwritten, self._written_at = b"".join(self._unwritten), [], time.monotonic()
        self._write(self._ticks, data)

    def decided(self, decision: Decision) -> Decision:
        """Write a decision; as it can be read again."""
        if self._unwritten:  # what it was decided on is there before it
            self._write_ticks()
        kept = msgspec.structs.replace(decision, answer=as_recorded(decision.answer))
        self._write(self._own[decision.entrant], _framed(Decided(self.sitting, kept)))
        return kept

    def strayed(self, entrant: str, reply: Reply, at_s: float) -> None:
        self._strays[entrant] += 1
        if self._strays[entrant] <= MOST_STRAYS:
            trial = clip(reply.trial) if len(reply.trial) > LONGEST_NAME else reply.trial
            stray = Strayed(self.sitting, at_s, trial, as_recorded(reply.answer, MOST_STRAY), reply.note)
            self._write(self._own[entrant], _framed(stray))

    def moved(self, entrant: str, step: Step) -> None:
        """What was done in a period of a world's time."""
        self._write(self._own[entrant], _framed(Moved(self.sitting, step)))

    def _write(self, file: Any, data: bytes) -> None:
        written = file.write(data)
        if written < len(data):
            file.truncate(file.tell() - written)  # half a record would make all after it unreadable
            file.seek(0, os.SEEK_END)
            raise OSError(errno.ENOSPC, "The disk is full: a record was not written whole", str(self.folder))

    def stood(self, standings: Sequence[Standing]) -> None:
        """Who stands where, best first, in a line of JSON."""
        line = [
            {"entrant": one.name, "value": one.value, "decided": one.decided, "missed": one.missed} for one in standings
        ]
        with (self.folder / STANDINGS).open("ab") as file:
            file.write(msgspec.json.encode({"sitting": self.sitting, "standings": line}) + b"\n")

    def finish(self, end: End) -> None:
        """The run came to its end."""
        self.close()
        with replacing(self.folder / END) as fresh:
            fresh.write_bytes(msgspec.json.format(msgspec.json.encode(end)))

    def close(self) -> None:
        if self._unwritten and not self._ticks.closed:
            self._write_ticks()
        for file in (self._ticks, *self._own.values()):
            if not file.closed:
                os.fsync(file.fileno())
                file.close()


def checksum_of(tick: Tick) -> int:
    """Tells whether the same was sent."""
    checksum = 0
    for array in tick.payload.values():
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return checksum


def _framed(record: msgspec.Struct) -> bytes:
    data = _encode(record)
    return LENGTH.pack(len(data)) + data


def as_recorded(answer: Any, most_bytes: int = MOST_ANSWER) -> Any:
    """An answer as it is read again once it was written; of what is too large, too deep or no value, only its kind."""
    if answer is None or (type(answer) is int and -(1 << 63) <= answer < 1 << 63):
        return answer  # as most are
    try:
        data = _encode(answer)
        msgspec.msgpack.decode(DEEP + data)
        return msgspec.msgpack.decode(data) if len(data) <= most_bytes else _kind(answer)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return _kind(answer)


def _plain(value: Any) -> Any:
    """What msgpack has no word for, as an entrant may answer with it."""
    if isinstance(value, np.ndarray | np.generic) and value.size <= MOST_NUMBERS and value.dtype.kind in "biuf":
        return value.tolist()
    return _kind(value)


def _kind(value: Any) -> str:
    return f"<{type(value).__name__[:40]}>"


_encode = msgspec.msgpack.Encoder(enc_hook=_plain).encode


class Recording:
    """A run that was recorded, whole or not."""

    def __init__(self, folder: Path) -> None:
        if not (folder / HEAD).is_file():
            raise PalestraError(
                say(
                    "{folder}: no {head} in it; expected a folder that `palestra play` wrote.", folder=folder, head=HEAD
                )
            )
        self.folder = folder
        self.head = _read(folder / HEAD, Head)
        self.end = _read(folder / END, End) if (folder / END).is_file() else None

    def ticks(self) -> Iterator[Sent]:
        return _records(self.folder / TICKS, Sent, self.end is not None)

    def decisions(self, entrant: str) -> Iterator[Decided]:
        return (record for record in self._all(entrant) if isinstance(record, Decided))

    def strays(self, entrant: str) -> Iterator[Strayed]:
        return (record for record in self._all(entrant) if isinstance(record, Strayed))

    def steps(self, entrant: str) -> Iterator[Moved]:
        return (record for record in self._all(entrant) if isinstance(record, Moved))

    def _all(self, entrant: str) -> Iterator[Decided | Strayed | Moved]:
        files = {who.name: who.file for who in self.head.entrants}
        if entrant not in files:
            raise UnknownName(say("entrant of this run"), entrant, files)
        return _records(self.folder / Path(files[entrant]).name, Decided | Strayed | Moved, self.end is not None)


def is_run(folder: Path) -> bool:
    return (folder / HEAD).is_file()


def under_way(folder: Path) -> bool:
    """Whether somebody is writing a run there."""
    if not (folder / TICKS).is_file():
        return False
    with (folder / TICKS).open("rb") as ticks:
        try:
            fcntl.flock(ticks, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def file_name(number: int, name: str) -> str:
    """Where an entrant's decisions go: its name may hold anything."""
    return f"{number:02d}-{re.sub(r'[^A-Za-z0-9_-]+', '-', name)[:40]}.rec"


def _read(file: Path, kind: type[Kind]) -> Kind:
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except msgspec.MsgspecError as error:
        raise _damaged(file, say("not what a run has there ({error})", error=error)) from None


def _records(file: Path, kind: Any, whole: bool) -> Iterator[Any]:
    """The records of a file. Of a run that came to its end all are `whole`; a kill may have cut the last one short."""
    decode = msgspec.msgpack.Decoder(kind).decode
    try:
        stream = file.open("rb")
    except FileNotFoundError:
        raise _damaged(file, say("no such file")) from None
    with stream:
        while prefix := stream.read(LENGTH.size):
            length = LENGTH.unpack(prefix)[0] if len(prefix) == LENGTH.size else 0
            if length > MOST_BYTES:
                raise _damaged(file, say("a record of {length:,} bytes", length=length))
            data = stream.read(length)
            if len(prefix) < LENGTH.size or len(data) < length:
                if whole:
                    raise _damaged(file, say("a last record that is cut short"))
                return
            try:
                yield decode(data)
            except msgspec.MsgspecError as error:
                raise _damaged(file, say("a record that cannot be read ({error})", error=error)) from None


def _damaged(file: Path, found: Text) -> PalestraError:
    return PalestraError(
        say("{file}: found {found}. This recording is damaged: restore a backup of it.", file=file, found=found)
    )
