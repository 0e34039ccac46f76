"""Frames between our processes and an entrant's: a msgpack header and raw array bytes. Nothing is ever unpickled.

    total length (4 bytes, little-endian, all that follows) | header length (4 bytes) | header | bytes of the arrays

The other end may be hostile: lengths are judged before anything is allocated for them, dtypes come from a short list,
and shapes must account for every byte.
"""

import math
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError, clip
from palestra.text import say

LENGTH, PREFIX = struct.Struct("<I"), struct.Struct("<II")  # total length; and header length
LENGTH_BYTES = 4  # what the total length does not count: itself
MAX_HEADER_BYTES = 1 << 20
MAX_ARRAYS = 64
MOST_NUMBERS = 4096  # in one answer of a program that acts: several hundred actions
LONGEST_TEXT = 1000  # letters of all texts in one answer
MAX_DIMENSIONS = 8
MAX_BYTES = 64 << 20  # a frame, where the caller names no other limit
READ_AHEAD_BYTES = 1 << 16
SPIN_S = 0.0001  # to be woken takes longer than to look a little more; only where nobody else waits
READ_FLAGS = int(socket.MSG_DONTWAIT)  # plain numbers: to join flags takes longer than to pack a header
SEND_FLAGS = int(socket.MSG_DONTWAIT) | int(socket.MSG_NOSIGNAL)
KINDS = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
DTYPES = {(dtype := np.dtype(kind).newbyteorder("<")).str: dtype for kind in KINDS}

NOTHING = np.empty(0, np.uint8)

Arrays = Sequence[NDArray[Any]]
Part = bytes | memoryview | NDArray[Any]


class BadFrame(PalestraError):
    """Bytes that are no frame, or a frame that is not taken. The stream cannot be read on."""


class ArrayHead(msgspec.Struct, frozen=True):
    """What the raw bytes of one array are."""

    dtype: str  # as numpy writes it, little-endian: <f4, |u1
    shape: tuple[int, ...]


class Header(msgspec.Struct, frozen=True):
    """What a frame is about."""

    kind: str  # the message's name, such as packet or answer
    number: int = 0  # which one: the packet, the trial
    data: dict[str, Any] = {}  # plain values: numbers, text, lists, maps
    arrays: list[ArrayHead] = []  # filled in when the frame is sent


class Frame(msgspec.Struct, frozen=True):
    """One frame that was received whole."""

    header: Header
    arrays: list[NDArray[Any]]  # writable, and nobody else's


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Header).decode


def pack(header: Header, arrays: Arrays = ()) -> tuple[list[Part], int]:
    """The frame as buffers to send one after the other, and their size. The arrays themselves are among them: nothing
    is copied that need not be."""
    plain = [_plain(array) for array in arrays]
    heads = [ArrayHead(array.dtype.str, array.shape) for array in plain]
    head = _encode(Header(header.kind, header.number, header.data, heads))
    size = sum([array.nbytes for array in plain])
    total = PREFIX.size + len(head) + size
    if len(plain) > MAX_ARRAYS or len(head) > MAX_HEADER_BYTES or total >= 1 << 32:
        raise BadFrame(
            say(
                "{arrays} arrays with {size:,} bytes and {header:,} of header are too much for a frame.",
                arrays=len(plain),
                size=size,
                header=len(head),
            )
        )
    return [PREFIX.pack(total - LENGTH_BYTES, len(head)) + head, *plain], total


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """The array as it can be sent: contiguous, little-endian, of a dtype that frames have."""
    if type(array) is np.ndarray and array.dtype.str in DTYPES and array.flags.c_contiguous and array.ndim <= 2:
        return array  # as most are
    array = np.asarray(array)
    dtype = DTYPES.get(array.dtype.str) or DTYPES.get(array.dtype.newbyteorder("<").str)
    if dtype is None or array.ndim > MAX_DIMENSIONS:
        raise BadFrame(
            say(
                "Frames carry no array of {dtype} with {dimensions} dimensions.",
                dtype=array.dtype,
                dimensions=array.ndim,
            )
        )
    return np.asarray(array, dtype, order="C")


def send(sock: socket.socket, header: Header, arrays: Arrays = (), deadline: float | None = None) -> None:
    """Send one frame. Past the deadline (monotonic seconds) raises TimeoutError: part of the frame may then be gone,
    so the stream is of no further use. Who must go on sends with a `Sender`."""
    parts, size = pack(header, arrays)
    sent = _send_some(sock, parts)
    if sent < size:
        sender = Sender(sock)
        sender.keep(parts, sent)
        poll = select.poll()
        poll.register(sock, select.POLLOUT)
        while not sender.flush():
            left_ms = None if deadline is None else math.ceil((deadline - time.monotonic()) * 1e3)
            if left_ms is not None and left_ms <= 0:
                raise TimeoutError("The deadline passed.")
            poll.poll(left_ms)


def _send_some(sock: socket.socket, parts: Sequence[Any]) -> int:
    """What the socket takes now. Not to wait is said here and not of the socket, which a reader may want blocking; an
    entrant that died must not end us by a signal."""
    try:
        return sock.sendmsg(parts, (), SEND_FLAGS)
    except (BlockingIOError, InterruptedError):
        return 0


class Sender:
    """Sends without ever waiting: what the socket does not take is kept, in order, until `flush` is called again."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.waiting: deque[memoryview] = deque()
        self.waiting_bytes = 0  # for the caller to bound: a program that reads nothing makes it grow

    def post(self, header: Header, arrays: Arrays = ()) -> None:
        """Send a frame, or keep what is not taken. Its arrays must not change until it is sent."""
        parts, size = pack(header, arrays)
        sent = 0 if self.waiting else _send_some(self.sock, parts)
        if sent < size:
            self.keep(parts, sent)

    def keep(self, parts: Sequence[Part], sent: int) -> None:
        """Put what was not sent of these in the queue."""
        for part in parts:
            view = part.reshape(-1).view(np.uint8).data if isinstance(part, np.ndarray) else memoryview(part)
            if sent < view.nbytes:
                self.waiting.append(view[sent:])
                self.waiting_bytes += view.nbytes - sent
            sent = max(sent - view.nbytes, 0)

    def flush(self) -> bool:
        """Send what the socket takes now; whether all is gone. OSError when nobody is at the other end."""
        while self.waiting:
            sent = _send_some(self.sock, [self.waiting[place] for place in range(min(len(self.waiting), MAX_ARRAYS))])
            if not sent:
                return False
            self._drop(sent)
        return True

    def _drop(self, sent: int) -> None:
        self.waiting_bytes -= sent
        while self.waiting and sent >= self.waiting[0].nbytes:
            sent -= self.waiting.popleft().nbytes
        if sent:
            self.waiting[0] = self.waiting[0][sent:]


class Receiver:
    """Reads frames from a socket, one at a time, within `max_bytes` for each.

    It keeps what it has when time runs out: the next call goes on from there. It reads ahead, so a caller that polls
    the socket calls `receive` until it raises TimeoutError before polling again.
    """

    def __init__(self, sock: socket.socket, max_bytes: int = MAX_BYTES, spin_s: float = 0.0) -> None:
        self.sock = sock
        self.max_bytes = max_bytes
        self._spin_s = spin_s  # for so long it looks again and again before it sleeps: to be woken takes longer
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self._ahead = memoryview(bytearray(READ_AHEAD_BYTES))
        self._start = self._end = 0  # what of it was read and not used yet
        self._sizes: tuple[int, int] | None = None  # of the header and of the arrays of the frame under way
        self._header: Header | None = None
        self._body = NOTHING
        self._filled = 0

    def receive(self, deadline: float | None = None) -> Frame:
        """The next frame. TimeoutError past the deadline (monotonic seconds; one in the past takes only what is there),
        EOFError when the other end closed between two frames, BadFrame for anything that is no frame."""
        header = self._header or self._begin(deadline)
        while self._filled < self._body.size:
            self._fill(deadline)
        body = self._body
        self._header, self._sizes, self._body, self._filled = None, None, NOTHING, 0
        return Frame(header, _cut(header.arrays, body) if header.arrays else [])

    def _begin(self, deadline: float | None) -> Header:
        """Read as far as the header, and make room for the arrays that it announces."""
        if self._sizes is None:
            self._sizes = self._lengths(deadline)
            self._start += PREFIX.size
        length, size = self._sizes
        if length > len(self._ahead):
            self._enlarge(length)
        if self._end - self._start < length:
            self._need(length, deadline)
        header = _read_header(self._ahead[self._start : self._start + length], size)
        self._start += length
        if size:
            self._body = np.empty(size, np.uint8)  # the system gives the pages as they are filled
        self._header = header
        return header

    def _lengths(self, deadline: float | None) -> tuple[int, int]:
        """The sizes of the header and of the arrays, judged."""
        if self._end - self._start < LENGTH_BYTES:  # asked here, as below: mostly all of it is there
            self._need(LENGTH_BYTES, deadline)
        total = LENGTH.unpack_from(self._ahead, self._start)[0]
        if total > self.max_bytes:  # as soon as it is there, though nothing else be ever sent
            raise BadFrame(
                say(
                    "A frame of {total:,} bytes is announced; at most {most:,} are taken.",
                    total=total,
                    most=self.max_bytes,
                )
            )
        if self._end - self._start < PREFIX.size:
            self._need(PREFIX.size, deadline)
        length = LENGTH.unpack_from(self._ahead, self._start + LENGTH_BYTES)[0]
        size = total - LENGTH_BYTES - length
        if size < 0 or length > MAX_HEADER_BYTES:
            raise BadFrame(
                say("A header of {length:,} bytes in a frame of {total:,} cannot be.", length=length, total=total)
            )
        return length, size

    def _need(self, count: int, deadline: float | None) -> None:
        """Read ahead at least so far."""
        while self._end - self._start < count:
            if self._start:
                rest = bytes(self._ahead[self._start : self._end])
                self._ahead[: len(rest)] = rest
                self._start, self._end = 0, len(rest)
            self._end += self._read(self._ahead[self._end :], deadline)

    def _enlarge(self, count: int) -> None:
        """Make room for a header that is longer than what is read ahead by default."""
        larger = memoryview(bytearray(count))
        larger[: self._end - self._start] = self._ahead[self._start : self._end]
        self._ahead, self._start, self._end = larger, 0, self._end - self._start

    def _fill(self, deadline: float | None) -> None:
        ready = min(self._end - self._start, self._body.size - self._filled)
        if ready:
            self._body.data[self._filled : self._filled + ready] = self._ahead[self._start : self._start + ready]
            self._start += ready
        else:
            ready = self._read(self._body.data[self._filled :], deadline)
        self._filled += ready

    def _read(self, into: memoryview, deadline: float | None) -> int:
        if self._spin_s and (deadline is None or deadline > 0.0):
            awake_until = time.monotonic() + self._spin_s
            while time.monotonic() < awake_until:
                try:
                    return self.sock.recv_into(into, 0, READ_FLAGS) or self._closed()
                except BlockingIOError:
                    continue
                except ConnectionError:
                    self._closed()
        while True:
            left_s = 0.0 if deadline is None else deadline - time.monotonic()
            if left_s > 0:  # asked first: to try in vain costs more
                self._poll.poll(math.ceil(left_s * 1e3))
            try:
                count = self.sock.recv_into(into, 0, 0 if deadline is None else READ_FLAGS)
            except BlockingIOError:
                if deadline is None:
                    self._poll.poll()
                elif left_s <= 0:
                    raise TimeoutError("The deadline passed.") from None
                continue
            except ConnectionError:
                count = 0
            return count or self._closed()

    def _closed(self) -> NoReturn:
        if self._sizes is not None or self._end > self._start:
            raise BadFrame(say("The stream ended in the middle of a frame."))
        raise EOFError("The stream ended.")


def _read_header(data: memoryview, size: int) -> Header:
    try:
        header = _decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise BadFrame(say("The header is not what a frame has: {why}.", why=clip(str(error), 200))) from None
    if len(header.arrays) > MAX_ARRAYS:
        raise BadFrame(
            say(
                "A frame of {count:,} arrays is announced; at most {most} are taken.",
                count=len(header.arrays),
                most=MAX_ARRAYS,
            )
        )
    announced = sum([_bytes_of(head) for head in header.arrays])
    if announced != size:
        raise BadFrame(
            say(
                "The arrays announced have {announced:,} bytes; the frame has {size:,}.", announced=announced, size=size
            )
        )
    return header


def _bytes_of(head: ArrayHead) -> int:
    dtype = DTYPES.get(head.dtype)
    if dtype is None:
        raise BadFrame(
            say("The dtype {dtype} is not taken; these are: {known}.", dtype=clip(head.dtype), known=", ".join(DTYPES))
        )
    # Sides past 2**32 would only come with a side of 0, and numpy cannot hold some of those.
    if len(head.shape) > MAX_DIMENSIONS or (head.shape and not (min(head.shape) >= 0 and max(head.shape) < 1 << 32)):
        raise BadFrame(say("The shape {shape} is not one that an array here can have.", shape=clip(head.shape)))
    return math.prod(head.shape) * dtype.itemsize


def _cut(heads: Iterable[ArrayHead], body: NDArray[np.uint8]) -> list[NDArray[Any]]:
    arrays, start = [], 0
    for head in heads:
        try:
            # The memory is that of the frame, which nobody else has.
            array: NDArray[Any] = np.ndarray(head.shape, DTYPES[head.dtype], body.data, start)
        except ValueError as error:
            raise BadFrame(say("The shape {shape} cannot be: {why}.", shape=clip(head.shape), why=error)) from None
        arrays.append(array)
        start += array.nbytes
    return arrays
