import base64
import io
import struct
import tracemalloc
import zlib
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from palestra.tracks.eye_segmentation.masks import (
    SHAPE,
    decode_mask,
    encode_mask,
    npy_bytes,
    png_bytes,
    read_npy_mask,
    read_png_mask,
)
from tests.formats.strangers import refusal, result_or_refusal, says

SMALL = (4, 6)
MASK = np.arange(24, dtype=np.uint8).reshape(SMALL) // 5 % 4
quick = settings(deadline=None, max_examples=200)
masks = arrays.arrays(np.uint8, st.tuples(st.integers(1, 30), st.integers(1, 30)), elements=st.integers(0, 3))


def eye() -> NDArray[np.uint8]:
    mask = np.zeros(SHAPE, np.uint8)
    cv2.ellipse(mask, (320, 200), (280, 150), 0, 0, 360, 1, -1)
    cv2.circle(mask, (320, 200), 110, 2, -1)
    cv2.circle(mask, (325, 205), 45, 3, -1)
    return mask


def npy(array: NDArray[Any], version: tuple[int, int] | None = None) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version)
    return file.getvalue()


def runs(data: bytes) -> bytes:
    """Another writer of the run-length code: byte by byte."""
    code = bytearray()
    for byte in data:
        if code and code[-1] == byte and code[-2] < 255:
            code[-2] += 1
        else:
            code += bytes([1, byte])
    return base64.b64encode(code)


def test_the_code_is_that_of_a_plain_writer() -> None:
    file = io.BytesIO()
    np.save(file, eye())
    assert len(file.getvalue()) == 128 + 256_000
    assert encode_mask(eye()).encode() == runs(file.getvalue())
    assert npy_bytes(eye()) == file.getvalue()


def test_a_mask_comes_back_from_every_form() -> None:
    for back in (
        decode_mask(encode_mask(eye()).encode()),
        read_npy_mask(npy_bytes(eye())),
        read_png_mask(png_bytes(eye())),
    ):
        assert back.dtype == np.uint8 and back.shape == SHAPE
        assert np.array_equal(back, eye())


@pytest.mark.parametrize("strategy", [cv2.IMWRITE_PNG_STRATEGY_DEFAULT, cv2.IMWRITE_PNG_STRATEGY_RLE])
@pytest.mark.parametrize("kind", range(5))
def test_png_lines_under_every_filter_are_read_as_opencv_reads_them(kind: int, strategy: int) -> None:
    """Filters: none, sub, up, average, Paeth; ours undoes one of them itself."""
    name = ("NONE", "SUB", "UP", "AVG", "PAETH")[kind]
    flags = [cv2.IMWRITE_PNG_FILTER, getattr(cv2, f"IMWRITE_PNG_FILTER_{name}"), cv2.IMWRITE_PNG_STRATEGY, strategy]
    data = cv2.imencode(".png", eye(), flags)[1].tobytes()
    assert np.array_equal(read_png_mask(data), eye())


@quick
@given(masks)
def test_any_mask_comes_back_from_every_form(mask: NDArray[np.uint8]) -> None:
    shape = (mask.shape[0], mask.shape[1])
    assert np.array_equal(decode_mask(encode_mask(mask).encode(), "a", shape), mask)
    assert np.array_equal(decode_mask(encode_mask(mask).replace("/", "\\/").encode(), "a", shape), mask)
    assert np.array_equal(read_png_mask(png_bytes(mask), "a", shape), mask)


@pytest.mark.parametrize("kind", ["u1", "i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_other_integers_orders_and_versions_are_read(kind: str, order: Any, version: tuple[int, int]) -> None:
    data = npy(np.asarray(MASK, kind, order=order), version)
    assert np.array_equal(read_npy_mask(data, "a", SMALL), MASK)
    assert np.array_equal(decode_mask(runs(data), "a", SMALL), MASK)


def header(text: str, version: int = 1) -> bytes:
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text.encode() + MASK.tobytes()


def test_headers_of_other_writers_are_read() -> None:
    for text in (
        "{'shape': (4, 6), 'descr': '|u1', 'fortran_order': False}\n",
        "{'descr':'<u1','fortran_order':False,'shape':(4,6,),}",
        " { 'descr' : '|u1' , 'fortran_order' : False , 'shape' : ( 4 , 6 ) , } ",
    ):
        assert np.array_equal(read_npy_mask(header(text), "a", SMALL), MASK)


GOOD = npy(MASK)
PLAIN = "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 6)}"


@pytest.mark.parametrize(
    ("data", "found", "expected"),
    [
        (b"", "a file that begins b''", ".npy"),
        (b"PNG", "a file that begins b'PNG'", "begins b'\\x93NUMPY'"),
        (b"\x93NUMPY", "the .npy version b''", "version 1.0"),
        (b"\x93NUMPY\x04\x00" + GOOD[8:], "version b'\\x04\\x00'", "version 1.0, 2.0 or 3.0"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + GOOD[12:], "an .npy header of 4,294,967,307 bytes", "at most 1,024"),
        (b"\x93NUMPY\x01\x00\xff\xff" + GOOD[10:], "an .npy header of 65,545 bytes", "at most 1,024"),
        (GOOD[:100], "an .npy header of 128 bytes", "a whole one"),
        (GOOD[:-1], "23 bytes after the .npy header", "24 bytes"),
        (GOOD + b"\0", "25 bytes after the .npy header", "24 bytes"),
        (npy(MASK.T), "the shape '(6, 4)'", "(4, 6)"),
        (npy(MASK.reshape(4, 6, 1)), "the shape '(4, 6, 1)'", "(4, 6)"),
        (npy(MASK.ravel()), "the shape '(24,)'", "(4, 6)"),
        (npy(MASK.astype(float)), "the type '<f8'", "uint8"),
        (npy(MASK.astype(bool)), "the type '|b1'", "uint8"),
        (npy(MASK.astype(">i4")), "the type '>i4'", "uint8"),
        (npy(MASK + 1), "the class 4 at row 2, column 3", "classes from 0 to 3"),
        (npy(MASK.astype(np.int8) - 1), "the class -1 at row 0, column 0", "classes from 0 to 3"),
        (npy(np.full(SMALL, 2**63, np.uint64)), "the class 9223372036854775808", "classes from 0 to 3"),
        (header(PLAIN.replace("'|u1'", "'|O'")), "the type '|O'", "uint8"),
        (header(PLAIN.replace("'|u1'", "[('a', '|u1')]")), "the .npy header", "descr (a plain type)"),
        (header(PLAIN.replace("False", "0")), "the .npy header", "fortran_order"),
        (header(PLAIN.replace("False", "'no'")), "fortran_order", "True or False"),
        (header(PLAIN.replace("(4, 6)", "(4, -6)")), "the .npy header", "shape"),
        (header(PLAIN.replace("(4, 6)", "'x'")), "the shape", "(4, 6)"),
        (header(PLAIN.replace("(4, 6)", "__import__('os')")), "the .npy header", "shape"),
        (header(PLAIN[:-1] + ", 'shape': (4, 6)}"), "the .npy header", "shape"),
        (header(PLAIN[:-1] + ", 'x': True}"), "the .npy header", "shape"),
        (header("{" + "(" * 900), "the .npy header", "shape"),
        (header("-" * 900), "the .npy header", "shape"),
        (header("{" + "'" * 500 + " " * 400 + "}"), "the .npy header", "shape"),
        (bytes(10_000), "an .npy file of 10,000 bytes", "4 × 6"),
    ],
)
def test_a_wrong_npy_file_is_refused_with_what_is_wrong(data: bytes, found: str, expected: str) -> None:
    says(refusal(read_npy_mask, data, "S_0/1.npy", SMALL), "S_0/1.npy", found, expected)
    if data:
        refusal(decode_mask, runs(data), "S_0/1.npy", SMALL)


def coded(*pairs: int) -> bytes:
    return base64.b64encode(bytes(pairs))


@pytest.mark.parametrize(
    ("text", "found", "expected"),
    [
        (b"", "0 bytes of run-length code", "pairs"),
        (b"AAA", "no valid base64", "padded with ="),
        (b"AA=A", "no valid base64", "base64"),
        (b"AAAA\n", "no valid base64", "without blanks"),
        (b"AA AA", "no valid base64", "without blanks"),
        (b"AA-_", "no valid base64", "base64"),
        (b"AAAA====", "no valid base64", "base64"),
        ("ÄÄÄÄ".encode(), "no valid base64", "base64"),
        (coded(1, 2, 3), "3 bytes of run-length code", "pairs"),
        (coded(1, 0x93, 0, 5), "a run of no length (pair 2)", "1 to 255"),
        (coded(*[255, 0] * 5), "runs of 1,275 bytes", "at most 1,216: an .npy file of 4 × 6"),
        (coded(24, 0), "a file that begins", ".npy"),
        (b"A" * 8000, "8,000 characters", "at most 7,296"),
        (runs(GOOD[:-3]), "bytes after the .npy header", "24 bytes"),
        (runs(GOOD[:60]), "an .npy header of 128 bytes", "a whole one"),
    ],
)
def test_a_wrong_code_is_refused_with_what_is_wrong(text: bytes, found: str, expected: str) -> None:
    says(refusal(decode_mask, text, "team.json: key 'a'", SMALL), "team.json: key 'a'", found, expected)


def test_a_bomb_is_refused_before_it_is_expanded() -> None:
    bomb = base64.b64encode(b"\xff\0" * 4_500_000)  # a gigabyte of zeros
    tracemalloc.start()
    says(refusal(decode_mask, bomb, "a"), "a", "runs of 1,147,500,000 bytes", "at most 2,049,024")
    assert tracemalloc.get_traced_memory()[1] < 64e6
    tracemalloc.stop()


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(
    sides: tuple[int, int] = SMALL,
    depth: int = 8,
    colour: int = 0,
    lines: bytes | None = None,
    *more: bytes,
    last: int = 0,
) -> bytes:
    head = struct.pack(">IIBBBBB", sides[1], sides[0], depth, colour, 0, 0, last)
    lines = b"".join(b"\0" + row.tobytes() for row in MASK) if lines is None else lines
    parts = [chunk(b"IHDR", head), *more, chunk(b"IDAT", zlib.compress(lines)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def test_a_png_of_another_writer_is_read_and_what_else_it_carries_is_left_out() -> None:
    assert np.array_equal(read_png_mask(png(), "a", SMALL), MASK)
    bomb = chunk(b"zTXt", b"note\0\0" + zlib.compress(bytes(1_000_000)))
    clear = chunk(b"tRNS", b"\0\1")
    assert np.array_equal(read_png_mask(png(SMALL, 8, 0, None, bomb, clear), "a", SMALL), MASK)


def encoded(image: NDArray[Any]) -> bytes:
    return bytes(cv2.imencode(".png", image)[1])


@pytest.mark.parametrize(
    ("data", "found", "expected"),
    [
        (b"", "a file that begins b''", "a PNG"),
        (b"\xff\xd8\xff\xe0 JFIF", "a file that begins", "a PNG"),
        (png()[:8], "cut short", "a whole PNG"),
        (png()[:-12], "cut short", "a whole PNG"),
        (png()[:-1], "cut short", "a whole PNG"),
        (png()[:45], "cut short", "a whole PNG"),
        (png().replace(b"IDAT", b"IDAX"), "a wrong checksum of the part b'IDAX' at byte 34", "as it was written"),
        (png() + b"x", "1 bytes after the end", "nothing"),
        (png((60000, 60000)), "60000 × 60000 pixels", "4 × 6"),
        (png((6, 4)), "6 × 4 pixels", "4 × 6"),
        (encoded(np.zeros((4, 6, 3), np.uint8)), "a PNG with colours (RGB)", "grey values"),
        (encoded(np.zeros((4, 6, 4), np.uint8)), "a PNG with colours with transparency", "grey values"),
        (png(colour=3), "a PNG with a palette", "grey values"),
        (png(colour=9), "an unknown kind of colour", "grey values"),
        (encoded(np.zeros((4, 6), np.uint16)), "16 bits", "8 bits"),
        (png(depth=2), "2 bits", "8 bits"),
        (png(last=1), "an interlaced", "plain"),
        (png(lines=bytes(27)), "27 bytes of pixels", "28 bytes"),
        (png(lines=bytes(3_000_000)), "more bytes of pixels", "28 bytes"),
        (png(lines=b"\5" + bytes(27)), "an unknown filter", "0 to 4"),
        (png(lines=bytes(27) + b"\4"), "the class 4 at row 3, column 5", "classes from 0 to 3"),
        (b"\x89PNG\r\n\x1a\n" + chunk(b"IDAT", b""), "begins with the part b'IDAT'", "IHDR"),
        (png()[:33] + chunk(b"IDAT", b"junk") + chunk(b"IEND", b""), "cannot be unpacked", "a whole PNG"),
        (png()[:33] + chunk(b"IEND", b""), "cannot be unpacked", "a whole PNG"),
        (bytes(100_000), "a PNG file of 100,000 bytes", "4 × 6"),
    ],
)
def test_a_wrong_png_file_is_refused_with_what_is_wrong(data: bytes, found: str, expected: str) -> None:
    says(refusal(read_png_mask, data, "S_0/1.png", SMALL), "S_0/1.png", found, expected)


def test_png_pixels_cut_short_inside_whole_chunks_are_noticed() -> None:
    lines = zlib.compress(bytes(28))
    cut = png()[:33] + chunk(b"IDAT", lines[:-5]) + chunk(b"IEND", b"")
    says(refusal(read_png_mask, cut, "a", SMALL), "a", "cannot be unpacked", "a whole PNG")


@quick
@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_refused(data: bytes) -> None:
    for read in (decode_mask, read_npy_mask, read_png_mask):
        refusal(read, data, "a", SMALL)
    refusal(decode_mask, base64.b64encode(data), "a", SMALL)
    refusal(read_npy_mask, GOOD[:10] + data, "a", SMALL)
    refusal(read_png_mask, png()[:16] + data, "a", SMALL)


@quick
@given(st.data())
def test_mutated_files_are_read_or_refused(data: st.DataObject) -> None:
    forms = [(decode_mask, runs(GOOD)), (read_npy_mask, GOOD), (read_png_mask, png_bytes(MASK))]
    read, good = data.draw(st.sampled_from(forms))
    mutated = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(mutated) - 1))
        mutated[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    mask = result_or_refusal(read, bytes(mutated), "a", SMALL)
    assert mask is None or (mask.shape == SMALL and mask.dtype == np.uint8 and mask.max() <= 3)


def test_what_is_no_mask_is_not_written() -> None:
    for wrong in (np.full(SMALL, 4, np.uint8), np.full(SMALL, -1), np.zeros(3, np.uint8), np.zeros(SMALL)):
        with pytest.raises(ValueError, match="a mask"):
            encode_mask(wrong)
        with pytest.raises(ValueError, match="a mask"):
            png_bytes(wrong)
