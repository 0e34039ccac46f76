"""Messages on WebSockets: msgpack with numpy arrays, byte for byte as `openpi-client` writes them.

    an array    {b"__ndarray__": True, b"data": its bytes, b"dtype": "<f4", b"shape": [2, 3]}
    a scalar    {b"__npgeneric__": True, b"data": 1.5, b"dtype": "<f4"}

The other end may be hostile: nothing is ever unpickled, values are counted before one of them is made, dtypes come from
a short list, and shapes must account for every byte.
"""

import math
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError, clip
from palestra.text import say

MAX_BYTES = 64 << 20  # of a message, where the caller names no other limit
MAX_ITEMS = 10_000  # values in a message, an array being a handful: a million empty lists take half a second to make
MAX_NUMBERS = 8192  # in the arrays of a value that is made plain
MAX_DEPTH = 32
MAX_DIMENSIONS = 8
KINDS = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")  # openpi refuses complex ones, too
DTYPES = {(dtype := np.dtype(kind).newbyteorder("<")).str: dtype for kind in KINDS}
VALUES_OF = {"b": (bool,), "i": (int,), "u": (int,), "f": (float, int)}  # dtype's kind → what a scalar of it may hold
ARRAY, SCALAR = b"__ndarray__", b"__npgeneric__"
ARRAY_KEYS, SCALAR_KEYS = {ARRAY, b"data", b"dtype", b"shape"}, {SCALAR, b"data", b"dtype"}
PLAIN = frozenset({type(None), bool, int, float, str, bytes})
# First byte of a value → bytes of its length; bytes that follow in any case; values in it for each one of its length,
# where 0 means that the length counts bytes. Bytes that are not here are whole values.
WIDTHS = (1, 2, 4)
HEADS = {
    **{0x80 | count: (0, 0, 2 * count) for count in range(16)},  # small maps, lists, texts
    **{0x90 | count: (0, 0, count) for count in range(16)},
    **{0xA0 | count: (0, count, 0) for count in range(32)},
    **{0xC4 + place: (width, 0, 0) for place, width in enumerate(WIDTHS)},  # bytes, extensions, texts
    **{0xC7 + place: (width, 1, 0) for place, width in enumerate(WIDTHS)},
    **{0xD9 + place: (width, 0, 0) for place, width in enumerate(WIDTHS)},
    **{0xCA + place: (0, size, 0) for place, size in enumerate((4, 8, 1, 2, 4, 8, 1, 2, 4, 8))},  # numbers
    **{0xD4 + place: (0, size, 0) for place, size in enumerate((2, 3, 5, 9, 17))},  # small extensions
    **{0xDC + place: head for place, head in enumerate([(2, 0, 1), (4, 0, 1), (2, 0, 2), (4, 0, 2)])},  # lists, maps
}

Buffer = bytes | bytearray | memoryview

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode


class BadMessage(PalestraError):
    """Bytes that are no message, or a value that messages do not carry."""


def encode(value: Any) -> bytes:
    """The message that says this value: numbers, text, bytes, arrays, lists, and maps with text for keys."""
    try:
        return _pack(_said(value, 0))
    except (OverflowError, ValueError) as error:
        raise BadMessage(say("A message cannot carry this: {why}.", why=clip(str(error), 200))) from None


def decode(data: Buffer, max_bytes: int = MAX_BYTES, max_items: int = MAX_ITEMS) -> Any:
    """What a message says. Its arrays can be written to, and are nobody else's."""
    if len(data) > max_bytes:
        raise BadMessage(
            say("A message of {length:,} bytes; at most {most:,} are taken.", length=len(data), most=max_bytes)
        )
    if _has_more(data, max_items):
        raise BadMessage(say("A message of more than {most:,} values is not taken; send arrays.", most=max_items))
    try:
        value = _unpack(data)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise BadMessage(say("This is no msgpack: {why}.", why=clip(str(error), 200))) from None
    return _meant(value, 0)


def plain(value: Any) -> Any:
    """The same value without numpy: numbers, text, lists, and maps with text for keys."""
    left = MAX_NUMBERS

    def made(value: Any) -> Any:
        nonlocal left
        if isinstance(value, np.ndarray | np.generic):
            left -= value.size
            if left < 0:
                raise BadMessage(
                    say("Arrays with more than {most:,} numbers are too much for an answer.", most=MAX_NUMBERS)
                )
            return value.tolist()
        if isinstance(value, dict):
            if not all(isinstance(key, str) for key in value):
                raise BadMessage(say("The keys of an answer must be text."))
            return {key: made(item) for key, item in value.items()}
        return [made(item) for item in value] if isinstance(value, list) else value

    return made(value)


def _said(value: Any, depth: int) -> Any:
    """The value as msgpack can write it."""
    if depth > MAX_DEPTH:
        raise BadMessage(say("A value nested deeper than {most} is not sent.", most=MAX_DEPTH))
    if type(value) in PLAIN:
        return value
    if isinstance(value, Mapping):
        return {_key(key): _said(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_said(item, depth + 1) for item in value]
    if isinstance(value, np.ndarray):
        dtype = _dtype(value.dtype.newbyteorder("<").str)
        data = value.astype(dtype, copy=False).tobytes()
        return {ARRAY: True, b"data": data, b"dtype": dtype.str, b"shape": value.shape}
    base: Any
    for base in (float, int, str, bytes):  # before numpy's: its float64 is a float, and msgpack writes it as one
        if isinstance(value, base):
            return base(value)
    if isinstance(value, np.generic):
        return {SCALAR: True, b"data": value.item(), b"dtype": _dtype(value.dtype.newbyteorder("<").str).str}
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise BadMessage(
        say("A message cannot carry {kind}; expected numbers, text, arrays, lists.", kind=type(value).__name__[:40])
    )


def _key(key: Any) -> str | bytes:
    if not isinstance(key, str | bytes):
        raise BadMessage(say("A key that is {kind} is not taken; keys of maps are text.", kind=type(key).__name__))
    return str(key) if isinstance(key, str) else bytes(key)


def _has_more(data: Buffer, most: int) -> bool:
    """Whether a message has more values than that. What is no msgpack is left to the decoder to say."""
    place, count, seen = 0, 1, 0
    while seen < count <= most and place < len(data):
        seen += 1
        width, more, values = HEADS.get(data[place], (0, 0, 0))
        length = int.from_bytes(data[place + 1 : place + 1 + width], "big") if width else 1
        place += 1 + width + more + (length if width and not values else 0)
        count += values * length
    return count > most


def _meant(value: Any, depth: int) -> Any:
    """The value as it was before it was written."""
    if depth > MAX_DEPTH:
        raise BadMessage(say("A message nested deeper than {most} is not taken.", most=MAX_DEPTH))
    if type(value) in PLAIN:
        return value
    if type(value) is list:
        return [_meant(item, depth + 1) for item in value]
    if type(value) is not dict:
        raise BadMessage(say("A message with msgpack's extension types is not taken."))
    if ARRAY in value:
        return _array(value)
    if SCALAR in value:
        return _scalar(value)
    return {_key(key): _meant(item, depth + 1) for key, item in value.items()}


def _array(head: dict[Any, Any]) -> NDArray[Any]:
    if head.keys() != ARRAY_KEYS or type(head[b"data"]) is not bytes:
        raise BadMessage(say("An array that is not made of __ndarray__, data, dtype and shape is not taken."))
    dtype, shape, data = _dtype(head[b"dtype"]), _shape(head[b"shape"]), head[b"data"]
    size = math.prod(shape) * dtype.itemsize
    if size != len(data):
        raise BadMessage(
            say(
                "An array of {shape} {dtype} has {size:,} bytes; the message has {length:,}.",
                shape=clip(shape),
                dtype=dtype,
                size=size,
                length=len(data),
            )
        )
    try:
        return np.ndarray(shape, dtype, bytearray(data))
    except ValueError as error:
        raise BadMessage(say("The shape {shape} cannot be: {why}.", shape=clip(shape), why=error)) from None


def _scalar(head: dict[Any, Any]) -> np.generic:
    if head.keys() != SCALAR_KEYS:
        raise BadMessage(say("A scalar that is not made of __npgeneric__, data and dtype is not taken."))
    dtype, value = _dtype(head[b"dtype"]), head[b"data"]
    if type(value) not in VALUES_OF[dtype.kind]:
        raise BadMessage(say("A scalar of {dtype} cannot hold {kind}.", dtype=dtype, kind=type(value).__name__))
    try:
        with np.errstate(over="ignore"):  # a float too large for its dtype is infinite
            scalar: np.generic = dtype.type(value)
    except OverflowError:
        raise BadMessage(say("A scalar of {dtype} cannot be {value}.", dtype=dtype, value=value)) from None
    return scalar


def _dtype(name: Any) -> np.dtype[Any]:
    dtype = DTYPES.get(name) if isinstance(name, str) else None
    if dtype is None:
        shown = clip(name[:60]) if isinstance(name, str) else type(name).__name__
        raise BadMessage(
            say("The dtype {dtype} is not taken; these are: {known}.", dtype=shown, known=", ".join(DTYPES))
        )
    return dtype


def _shape(sides: Any) -> tuple[int, ...]:
    # Sides past 2**32 would only come with a side of 0, and numpy cannot hold some of those.
    if type(sides) is not list or not all(type(side) is int for side in sides):
        raise BadMessage(say("A shape that is no list of whole numbers is not taken."))
    if len(sides) > MAX_DIMENSIONS or any(not 0 <= side < 1 << 32 for side in sides):
        raise BadMessage(say("The shape {shape} is not one that an array here can have.", shape=clip(sides)))
    return tuple(sides)
