"""Emotional EEG on disk: one pickle per person, an array of 33 rows (32 of EEG, then the trigger) at 250 Hz.

train/<person>.pkl      for contestants
test/<person>.pkl       for the organiser alone, since its triggers are the truth
captures/capture.toml   people of the test set who are not there yet are captured while they are played
subXXX.pkl              the public FACED release: 28 videos × 32 channels × 7,500 samples (the last 30 s of each)

A person's pickle has 356 MB, so it is mapped and not loaded: the pickle is read by an interpreter that can call
nothing (formats/pickle_reader.py), and only where the array's bytes lie is kept.
"""

import math
import mmap
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from palestra.errors import clip, refuse
from palestra.formats import (
    BROKEN_PICKLE,
    SIZED,
    Calls,
    Unfit,
    _Machine,
    captures_people,
    folder,
    open_regular,
    read_pickle,
    replacing,
    shown_name,
)
from palestra.text import Text, human_bytes, say
from palestra.tracks.emotion_eeg import experiment as material
from palestra.tracks.emotion_eeg.experiment import CHANNELS, FILMS, LABELS, RATE_HZ, ROWS, Event, Piece, Video, events

FACED_SHAPE = (len(FILMS), CHANNELS, 30 * RATE_HZ)
MAX_BYTES = 8_000_000_000  # of a pickle that can be mapped: 20 times a person
MAX_LOADED_BYTES = 600_000_000  # of one that must be loaded: a person in protocol 2, which writes bytes as text
MAX_TAKEN_BYTES = 65_536  # of a pickle around its array's bytes; numpy writes about 200
BLOCK = 65_536  # samples handled at once
LOOKED_AT = 8_192  # the same where only triggers are wanted: the pages they lie on are 20 times as much
EXPECTED = f"one array of {ROWS} rows ({CHANNELS} of EEG and the trigger), float32 or float64"


@dataclass(frozen=True, eq=False)
class Recording:
    """A person's recording. `signal` is read from disk as it is used."""

    name: str
    signal: NDArray[Any]  # 33 × N, read-only, in the file's own order and unit
    triggers: NDArray[np.uint8]  # the last row, checked
    unit: str  # "µV" or "V"
    batch: int  # 1 or 2, guessed from the name: it decides the order of the rows
    person: int | None  # the number in the name
    mapping: mmap.mmap | None = None  # None where the file had to be loaded
    rate_hz: int = RATE_HZ

    def videos(self) -> list[Video]:
        """The videos in the order they were shown, odd ones cropped."""
        return material.videos(events(self.triggers), self.person if self.batch == 1 else None, self.name)

    def standard(self, start: int, stop: int) -> NDArray[np.float64]:
        """Samples [start, stop) in microvolts and in batch 2's order of rows, triggers below."""
        return material.in_microvolts(material.to_batch_2(self.signal[:, start:stop], self.batch), self.unit)

    def release(self) -> None:
        """Let go of the pages read so far, so that memory does not grow with what was read."""
        if self.mapping is not None:
            self.mapping.madvise(mmap.MADV_DONTNEED)


def recordings(data: Path, split: str) -> dict[str, Path]:
    """The files of a split ("train" or "test") by person, in the order of their numbers."""
    to_come = split == "test" and captures_people(data)
    found = list((data / split if to_come else folder(data / split)).glob("[!.]*.pkl"))
    if not found and not to_come:
        refuse(str(data / split), say("no recordings"), say("one <person>.pkl per person"))
    return {path.stem: path for path in sorted(found, key=lambda path: in_order(path.stem))}


def in_order(person: str) -> tuple[int, str]:
    """Sorts people by the numbers in their names."""
    return person_number(Path(person)) or 0, person


def test_file(data: Path, person: str) -> Path:
    """Where the organiser has a person of the test set."""
    return data / "test" / f"{person}.pkl"


def open_recording(file: Path, batch: int | None = None) -> Recording:
    """Open a person's pickle. The batch is guessed where it is not given: by the number, and 2 for the test set."""
    signal, mapping = _open_array(file)
    where = shown_name(file)
    if signal.ndim != 2 or signal.shape[0] != ROWS or signal.shape[1] == 0:
        refuse(where, say("an array of the shape {sides}", sides=_sides(signal)), EXPECTED)
    _check_floats(signal, where, EXPECTED)
    person = person_number(file)
    if batch is None:
        batch = 2 if person is None or file.absolute().parent.name == "test" else material.batch_of(person)
    triggers, unit = _triggers(signal, mapping, where), material.unit_of(signal)
    recording = Recording(where, signal, triggers, unit, batch, person, mapping)
    recording.release()
    return recording


def open_faced(file: Path) -> NDArray[Any]:
    """A person of the FACED release: 28 videos × 32 channels × 7,500 samples, read as it is used."""
    expected = say("an array of the shape {join}, float32 or float64", join=" × ".join(map(str, FACED_SHAPE)))
    signal, _ = _open_array(file)
    if signal.shape != FACED_SHAPE:
        refuse(shown_name(file), say("an array of the shape {sides}", sides=_sides(signal)), expected)
    _check_floats(signal, shown_name(file), expected)
    return signal


def person_number(file: Path) -> int | None:
    """The first number in a file's name."""
    digits = re.search(r"[0-9]{1,9}", file.stem)
    return int(digits[0]) if digits else None


def _triggers(signal: NDArray[Any], mapping: mmap.mmap | None, where: Text) -> NDArray[np.uint8]:
    """The last row, checked. In an array of Fortran's order this passes over the whole file, block by block."""
    row = np.empty(signal.shape[1], np.uint8)
    for at in range(0, len(row), LOOKED_AT):
        values = np.array(signal[-1, at : at + LOOKED_AT], np.float64)
        wrong = np.flatnonzero(~((values >= 0) & (values <= 255) & (values == np.rint(values))))
        if len(wrong):
            place = say("{where}: row {rows}, sample {value:,}", where=where, rows=ROWS, value=at + wrong[0] + 1)
            refuse(place, say("the trigger {float!r}", float=float(values[wrong[0]])), say("an integer from 0 to 255"))
        row[at : at + LOOKED_AT] = values
        if mapping is not None:
            mapping.madvise(mmap.MADV_DONTNEED)
    return row


def _check_floats(signal: NDArray[Any], where: Text, expected: Text) -> None:
    if signal.dtype.kind != "f" or signal.dtype.itemsize not in (4, 8):
        refuse(where, say("values of the type {dtype}", dtype=signal.dtype), expected)


def _sides(array: NDArray[Any]) -> str:
    return " × ".join(map(str, array.shape)) or "of no sides"


# --- arrays in pickles, mapped


@dataclass(frozen=True)
class _Bytes:
    """Bytes of the file that were passed over and not read."""

    offset: int
    size: int


class _Array:
    """An array whose bytes stay in the file; its state comes after it, as pickles have it."""

    dtype: Any = None
    shape: tuple[int, ...] = ()
    order: Any = "C"
    offset = 0


class _MappedCalls(Calls):
    """Makes arrays as `Calls` does, out of bytes that were not read."""

    def _reconstruct(self, kind: Any, shape: Any, code: Any) -> Any:
        super()._reconstruct(kind, shape, code)
        return self._wait_for_state(_Array())

    def _build_array(self, target: Any, version: Any, shape: Any, dtype: Any, fortran: Any, raw: Any) -> None:
        self._place(target, raw, dtype, shape, "F" if fortran else "C")

    def _frombuffer(self, data: Any, dtype: Any, shape: Any, order: Any, axes: Any = None) -> Any:
        if order not in ("C", "F"):
            raise Unfit(say("the order {order}", order=clip(order)))
        return self._place(_Array(), data, dtype, shape, order)

    def _place(self, array: _Array, data: Any, dtype: Any, shape: Any, order: str) -> _Array:
        if not isinstance(dtype, np.dtype) or id(dtype) in self.unbuilt or not isinstance(data, _Bytes):
            raise Unfit(say("an array without its type or bytes"))
        if not isinstance(shape, tuple) or not all(type(side) is int and side >= 0 for side in shape):
            raise Unfit(say("an array without a shape"))
        if len(shape) > 3 or math.prod(shape) * dtype.itemsize != data.size:
            raise Unfit(
                say(
                    "{size:,} bytes for an array of the shape {shape} and the dtype {str}",
                    size=data.size,
                    shape=clip(shape),
                    str=dtype.str,
                )
            )
        array.dtype, array.shape, array.order, array.offset = dtype, shape, order, data.offset
        return array


class _MappedMachine(_Machine):
    """Reads a pickle of one array and passes over the array's bytes."""

    RAW = tuple(b"CBT\x8e\x96")  # the opcodes that numpy's bytes come in; T is Python 2's

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        self.calls = _MappedCalls(MAX_TAKEN_BYTES, MAX_TAKEN_BYTES)
        self.taken = 0

    def _step(self, op: int) -> None:
        if op not in self.RAW:
            return super()._step(op)
        size = self._number(SIZED[op][0])
        if size > len(self.data) - self.at:
            raise Unfit(say("a pickle that is cut short"))
        self.stack.append(_Bytes(self.at, size))
        self.at += size
        return None

    def _take(self, size: int) -> bytes:
        self.taken += size
        if self.taken > MAX_TAKEN_BYTES:
            raise Unfit(say("more than one array written as bytes"))
        return super()._take(size)


def _open_array(file: Path) -> tuple[NDArray[Any], mmap.mmap | None]:
    """The array of a pickle: mapped if its bytes lie in the file as they are, else loaded if that is not too much."""
    with open(open_regular(file, MAX_BYTES), "rb") as stream:  # noqa: PTH123 - pathlib opens no descriptors
        mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        machine = _MappedMachine(mapping)
        array = machine.run()
        machine.data = b""  # it holds on to itself, and must not to the file
        if isinstance(array, _Array) and array.dtype is not None and 0 not in array.shape:
            # Not np.memmap, whose every slice costs microseconds: packets are cut out of this by the million.
            return np.ndarray(array.shape, array.dtype, mapping, array.offset, order=array.order), mapping
    except (Unfit, *BROKEN_PICKLE) as error:
        if len(mapping) > MAX_LOADED_BYTES:
            expected = say(
                "protocol 3 to 5, as numpy writes them, or at most {max_loaded_bytes}",
                max_loaded_bytes=human_bytes(MAX_LOADED_BYTES),
            )
            refuse(shown_name(file), say("a pickle that cannot be mapped ({clip})", clip=clip(str(error))), expected)
    mapping.close()
    value = read_pickle(file, MAX_LOADED_BYTES)
    if not isinstance(value, np.ndarray):
        refuse(shown_name(file), say("a pickle of {name}", name=type(value).__name__), say("a pickle of one array"))
    value.flags.writeable = False
    return value, None


def write_recording(blocks: NDArray[Any] | Iterable[NDArray[Any]], file: Path, dtype: DTypeLike = np.float64) -> int:
    """Write an array, or blocks of 33 × n as they come, as one pickle that numpy reads; returns the samples.

    Fortran's order has all rows of one sample together, so that time can be appended.
    """
    kind, samples = np.dtype(dtype).newbyteorder("<"), 0
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as fresh, fresh.open("wb") as stream:
        stream.write(_head(kind, 0))
        for block in _cut(blocks) if isinstance(blocks, np.ndarray) else blocks:
            if block.ndim != 2 or block.shape[0] != ROWS:
                refuse(
                    shown_name(file),
                    say("a block of the shape {sides}", sides=_sides(block)),
                    say("{rows} × samples", rows=ROWS),
                )
            stream.write(np.ascontiguousarray(block.T, kind).data.cast("B") if block.size else b"")
            samples += block.shape[1]
        if not 0 < samples < 2**31:
            refuse(
                shown_name(file), say("{samples:,} samples", samples=samples), say("at least one, and fewer than 2³¹")
            )
        stream.write(b"tb.")
        stream.seek(0)
        stream.write(_head(kind, samples))  # now that the length is known; it takes the same room
    return samples


def _cut(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    return (array[:, at : at + BLOCK] for at in range(0, array.shape[1], BLOCK))


def _head(kind: np.dtype[Any], samples: int) -> bytes:
    """What stands before the bytes: protocol 4, by names that numpy 1 and 2 both know."""
    if kind.str not in ("<f4", "<f8"):
        refuse(say("write_recording"), say("the type {kind}", kind=kind), say("float32 or float64"))
    head = (
        b"\x80\x04cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R"
        + b"(K\x01" + struct.pack("<cBci", b"K", ROWS, b"J", samples)
        + b"\x86cnumpy\ndtype\nX\x02\x00\x00\x00" + kind.str[1:].encode()
        + b"\x89\x88\x87R(K\x03X\x01\x00\x00\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x88"
    )  # fmt: skip
    # Some bytes that are dropped again bring the array to a multiple of 64, where processors like it.
    spare = -(len(head) + 3 + 9) % 64
    size = struct.pack("<Q", ROWS * samples * kind.itemsize)
    return head + b"C" + bytes([spare]) + bytes(spare) + b"0" + b"\x8e" + size


# --- the test set


def prepare_test(recording: Recording, rng: np.random.Generator) -> tuple[Iterator[NDArray[Any]], list[Event]]:
    """A test recording out of one like the training set's: blocks of 33 × n to write, and the triggers in them.

    The videos change places; pauses, block structure and the samples in all stay. Rows are in batch 2's order.
    """
    found = events(recording.triggers)
    shown = recording.videos()
    if missing := sorted(set(LABELS) - {video.number for video in shown}):
        refuse(
            recording.name,
            say("no video {join}", join=", ".join(map(str, missing))),
            say("all {number} videos", number=len(FILMS)),
        )
    kept = [event for event in found if event.code in material.VISIBLE]
    for video in shown:  # not as found: odd ones have been cropped
        kept += [Event(video.announced, video.number), Event(video.start, material.VIDEO_START)]
        kept += [Event(video.stop, material.VIDEO_END)]
    order = material.shuffled(material.pieces(found, shown, recording.name), rng)
    truth, at = [], 0
    for piece in order:
        inside = sorted(event for event in kept if piece.begin <= event.sample < piece.end)
        truth += [Event(event.sample - piece.begin + at, event.code) for event in inside]
        at += piece.end - piece.begin
    return _joined(recording, order, truth), truth


def _joined(recording: Recording, order: list[Piece], truth: list[Event]) -> Iterator[NDArray[Any]]:
    row = np.zeros(sum(piece.end - piece.begin for piece in order), np.uint8)
    row[[event.sample for event in truth]] = [event.code for event in truth]
    done, goes_on = 0, None
    for piece in order:
        knots, values = _correction(recording.signal, piece, goes_on)
        for at in range(piece.begin, piece.end, BLOCK):
            samples = np.arange(at, min(at + BLOCK, piece.end))
            block = np.array(recording.signal[:, samples[0] : samples[-1] + 1], np.float64)
            weights = [np.interp(samples, knots, one) for one in np.eye(len(knots))]
            block[:CHANNELS] += values @ np.stack(weights)
            block[-1] = row[done : done + len(samples)]
            done += len(samples)
            yield material.to_batch_2(block, recording.batch).astype(recording.signal.dtype, copy=False)
        # Where the signal would be next if it went straight on: the next piece begins there.
        goes_on = block[:CHANNELS, -1] + (block[:CHANNELS, -1] - block[:CHANNELS, -2] if block.shape[1] > 1 else 0)
        recording.release()


def _correction(signal: NDArray[Any], piece: Piece, goes_on: NDArray[Any] | None) -> tuple[list[int], NDArray[Any]]:
    """What is added to each channel, straight lines between knots (channels × knots).

    Through a video and the second before it, it is one number, so that this second's mean is 0. Around it, the
    level is led to 0 at the piece's end and, at its begin, from where the piece before it ended: no jumps.
    """

    def level(begin: int, end: int) -> NDArray[Any]:
        inside = signal[:CHANNELS, max(begin, piece.begin) : min(end, piece.end)]
        return np.asarray(-inside.mean(axis=1, dtype=np.float64))

    last = level(piece.end - RATE_HZ, piece.end)
    if video := piece.video:
        quiet = video.start - max(1, min(RATE_HZ, (video.start - piece.begin) // 2))
        base = level(quiet, video.start)
        roomy = piece.end - video.stop >= 2 * RATE_HZ  # else the line to the end would be a jump itself
        knots, values = [piece.begin, quiet, video.stop, piece.end - 1], [base, base, base, last if roomy else base]
    else:
        knots, values = [piece.begin, piece.end - 1], [level(piece.begin, piece.begin + RATE_HZ), last]
    if goes_on is not None:
        values[0] = goes_on - signal[:CHANNELS, piece.begin]
    return knots, np.stack(values, axis=1)
