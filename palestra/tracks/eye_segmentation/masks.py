"""Eye masks as contestants send them: run-length code in base64, .npy and .png.

A mask is uint8 (400, 640) with the classes 0 to 3. Nothing is expanded before its size is known: decoding takes at
most about 40 bytes for each pixel, whatever the input says.
"""

import binascii
import io
import re
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.errors import clip, refuse
from palestra.formats import read_grey_png
from palestra.text import Text, say

SHAPE = (400, 640)
LAST_CLASS = 3
HEADER_BYTES = 1024  # numpy's own have 128
WIDEST = 8  # bytes for each pixel: np.argmax gives int64
WIDTHS = {"|u1": 1, "|i1": 1, "<u1": 1, "<i1": 1} | {f"<{kind}{size}": size for kind in "iu" for size in (2, 4, 8)}
ENTRY = re.compile(r"\s*+'(\w{1,20}+)'\s*+:\s*+('[^'\\]{0,40}+'|True|False|\([\d,\s]{0,60}+\))\s*+(?:,|$)", re.ASCII)

Mask = NDArray[np.uint8]


def encode_mask(mask: NDArray[Any]) -> str:
    """The challenge's form: base64 of (count, value) bytes over the whole .npy file, its header too."""
    data = np.frombuffer(npy_bytes(mask), np.uint8)
    ends = np.append(np.flatnonzero(data[1:] != data[:-1]) + 1, len(data))
    lengths = np.diff(ends, prepend=0)
    pieces = (lengths + 254) // 255  # a count is one byte: longer runs are several
    code = np.empty((int(pieces.sum()), 2), np.uint8)
    code[:, 0] = 255
    code[np.cumsum(pieces) - 1, 0] = lengths - 255 * (pieces - 1)
    code[:, 1] = np.repeat(data[ends - 1], pieces)
    return binascii.b2a_base64(code.data, newline=False).decode()


def decode_mask(text: bytes, where: Text = "mask", shape: tuple[int, int] = SHAPE) -> Mask:
    """The mask in the challenge's form; `\\/` for a slash, as some JSON writers have it, is undone."""
    most = HEADER_BYTES + WIDEST * shape[0] * shape[1]
    if len(text) > 6 * most:
        refuse(where, say("{number:,} characters", number=len(text)), say("at most {value:,}", value=6 * most))
    text = text.replace(b"\\/", b"/")
    try:
        code = binascii.a2b_base64(text, strict_mode=True)
        if len(text) % 4 or text.endswith(b"==="):  # Python's strict mode takes further padding
            raise ValueError("Excess padding")
    except ValueError as error:
        refuse(where, say("no valid base64 ({error})", error=error), say("base64 without blanks, padded with ="))
    if not code or len(code) % 2:
        refuse(where, say("{number:,} bytes of run-length code", number=len(code)), say("pairs of bytes: count, value"))
    pairs = np.frombuffer(code, np.uint8).reshape(-1, 2)
    counts = pairs[:, 0]
    total = int(counts.sum(dtype=np.int64))  # before anything is expanded
    if total > most:
        refuse(
            where,
            say("runs of {total:,} bytes", total=total),
            say("at most {most:,}: an .npy file of {shape} × {shape2}", most=most, shape=shape[0], shape2=shape[1]),
        )
    if not counts.all():
        refuse(
            where,
            say("a run of no length (pair {value:,})", value=int(counts.argmin()) + 1),
            say("counts from 1 to 255"),
        )
    data = np.repeat(pairs[:, 1], counts)
    header = _npy_header(shape)
    if len(data) == len(header) + shape[0] * shape[1] and data[: len(header)].tobytes() == header:
        return _classes(data[len(header) :].reshape(shape), where)  # as nearly all are: without a copy
    return read_npy_mask(data.tobytes(), where, shape)


def npy_bytes(mask: NDArray[Any]) -> bytes:
    """An .npy file of the mask as uint8."""
    return _npy_header(mask.shape) + _checked(mask).tobytes()


def png_bytes(mask: NDArray[Any]) -> bytes:
    """A grey .png file whose values are the classes."""
    _, data = cv2.imencode(".png", _checked(mask))
    return bytes(data)


def read_npy_mask(data: bytes, where: Text = "mask", shape: tuple[int, int] = SHAPE) -> Mask:
    """The mask in an .npy file of uint8, or of another integer type that holds the classes."""
    if len(data) > HEADER_BYTES + WIDEST * shape[0] * shape[1]:
        refuse(
            where,
            say("an .npy file of {number:,} bytes", number=len(data)),
            say("integers of {shape} × {shape2}", shape=shape[0], shape2=shape[1]),
        )
    start = _data_start(data, where)
    kind, fortran = _npy_kind(data[:start], where, shape)
    if len(data) - start != WIDTHS[kind] * shape[0] * shape[1]:
        size = WIDTHS[kind] * shape[0] * shape[1]
        refuse(
            where,
            say("{value:,} bytes after the .npy header", value=len(data) - start),
            say("{size:,} bytes", size=size),
        )
    pixels = np.frombuffer(data, kind, offset=start).reshape(shape, order="F" if fortran else "C")
    return _classes(pixels, where)


def read_png_mask(data: bytes, where: Text = "mask", shape: tuple[int, int] = SHAPE) -> Mask:
    """The mask in a grey 8-bit .png file."""
    return _classes(read_grey_png(data, where, shape), where)


def _checked(mask: NDArray[Any]) -> Mask:
    """A mask of our own, before it is written."""
    if mask.ndim != 2 or mask.dtype.kind not in "biu" or mask.min() < 0 or mask.max() > LAST_CLASS:
        raise ValueError(f"a mask has two dimensions and whole numbers from 0 to {LAST_CLASS}")
    return mask.astype(np.uint8)


def _classes(pixels: NDArray[Any], where: Text) -> Mask:
    """Pixels as a mask, copied only where they must be: it may not be writable."""
    if pixels.max() > LAST_CLASS or (pixels.dtype.kind == "i" and pixels.min() < 0):
        wrong = (pixels < 0) | (pixels > LAST_CLASS)
        row, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
        place = say("row {row}, column {column}", row=row, column=column)
        refuse(
            where,
            say("the class {pixels} at {place}", pixels=pixels[row, column], place=place),
            say("classes from 0 to {last_class}", last_class=LAST_CLASS),
        )
    return np.ascontiguousarray(pixels, np.uint8)


def _data_start(data: bytes, where: Text) -> int:
    """Where the pixels begin: after the magic, the version, the header's length and the header."""
    if data[:6] != b"\x93NUMPY":
        refuse(
            where,
            say("a file that begins {clip}", clip=clip(data[:6])),
            say("an .npy file, which begins b'\\x93NUMPY'"),
        )
    if len(data) < 12 or data[6] not in (1, 2, 3) or data[7] != 0:
        refuse(where, say("the .npy version {clip}", clip=clip(data[6:8])), say("version 1.0, 2.0 or 3.0"))
    width = 2 if data[6] == 1 else 4
    start = 8 + width + int.from_bytes(data[8 : 8 + width], "little")
    if start > min(HEADER_BYTES, len(data)):
        refuse(
            where,
            say("an .npy header of {start:,} bytes", start=start),
            say("a whole one of at most {header_bytes:,}", header_bytes=HEADER_BYTES),
        )
    return start


@lru_cache(maxsize=64)
def _npy_header(shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "|u1", "fortran_order": False, "shape": tuple(int(side) for side in shape)}
    )
    return file.getvalue()


def _npy_kind(header: bytes, where: Text, shape: tuple[int, int]) -> tuple[str, bool]:
    """The type of the pixels and whether they go column by column, if the header says what is expected."""
    if header == _npy_header(shape):
        return "|u1", False
    text = header[10 if header[6] == 1 else 12 :].decode("latin-1")
    entries = _entries(text.strip())
    if sorted(entries) != ["descr", "fortran_order", "shape"]:
        refuse(
            where, say("the .npy header {text}", text=clip(text)), say("descr (a plain type), fortran_order and shape")
        )
    kind, fortran, sides = entries["descr"].strip("'"), entries["fortran_order"], entries["shape"]
    if kind not in WIDTHS:
        refuse(where, say("the type {kind}", kind=clip(kind)), say("uint8 ('|u1')"))
    if fortran not in ("True", "False"):
        refuse(where, say("fortran_order {fortran}", fortran=clip(fortran)), say("True or False"))
    if [side.strip() for side in sides.strip("()").split(",") if side.strip()] != [str(side) for side in shape]:
        refuse(where, say("the shape {sides}", sides=clip(sides)), f"({shape[0]}, {shape[1]})")
    return kind, fortran == "True"


def _entries(text: str) -> dict[str, str]:
    """The pairs of a Python dict literal of plain values; empty if it is anything else. Nothing is evaluated."""
    if not (text.startswith("{") and text.endswith("}")):
        return {}
    text, at, entries = text[1:-1].strip(), 0, {}
    while at < len(text):
        match = ENTRY.match(text, at)
        if match is None or match[1] in entries:
            return {}
        entries[match[1]], at = match[2], match.end()
    return entries
