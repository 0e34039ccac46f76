"""What chance does to a file: bytes, numbers, words, lines and parts of it changed, moved, doubled or lost."""

import re
from collections.abc import Callable, Sequence
from random import Random

MOST_BYTES = 1 << 20  # of a file that grew
CHANGES_OF_ONE = (1, 1, 1, 1, 2, 3, 6)  # one alone goes deepest: more are mostly refused for the first of them
TOKEN = re.compile(rb"[-+]?[0-9][0-9.eE+-]*|[A-Za-z_][A-Za-z0-9_-]*|\"[^\"\n]{0,200}\"|[^\sA-Za-z0-9]")
NUMBERS = (
    b"0", b"-0", b"-1", b"1", b"9", b"nan", b"NaN", b"inf", b"-inf", b"1e308", b"1e309", b"-1e400", b"1e-320",
    b"0x10", b"1_0",
    b"2147483647", b"2147483648", b"4294967296", b"-9223372036854775809", b"18446744073709551616", b"9" * 400,
    b"0." + b"3" * 400, b"1e", b"1.2.3", b"--1", b"+", b".", b"\xd9\xa3", b"\xc2\xb2", b"12:61", b"2026-02-30",
)  # fmt: skip
WORDS = (
    b"", b" ", b"\0", b"\t", b"\r", b"\n", b"\r\n", b"\n\n", b",", b";", b"\"", b"'", b"\"\"\"", b"\\",
    b"\\u0000", b"\\ud800", b"/", b"..",
    b"../..", b".", b"[", b"]", b"[[", b"]]", b"{", b"}", b"=", b"#", b"true", b"null", b"NULL", b"None", b"[]", b"{}",
    b"\xef\xbb\xbf", b"\xff\xfe", b"\xff", b"\xc3\x28", b"\xe2\x80\xa8", b"\xc2\x85", b"\x1b[2J", b"\x0c",
    b"\xf0\x9f\x91\x81",
    b"a" * 300, b"[" * 300, b"{\"a\":" * 200, b"(" * 100, b"=" * 70, b"%s", b"{0}", b"{x}", b"$(id)", b"`",
    b"__class__",
)  # fmt: skip
INTEGERS = (
    0,
    1,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    0x7FFFFFFFFFFFFFFF,
    (1 << 64) - 1,
)

Change = Callable[[bytearray, Random, Sequence[bytes]], bytes | bytearray]


def mutated(data: bytes, random: Random, others: Sequence[bytes] = ()) -> bytes:
    """The file after one to six changes; `others` are files that parts may come from."""
    changed: bytes | bytearray = bytearray(data)
    for _ in range(random.choice(CHANGES_OF_ONE)):
        changed = random.choice(CHANGES)(bytearray(changed), random, others)
        if len(changed) > MOST_BYTES:
            changed = changed[:MOST_BYTES]
    return bytes(changed)


def _place(data: bytearray, random: Random) -> int:
    """Anywhere, and as often near the beginning or the end, where most of what files say of themselves stands."""
    near = min(len(data), 400)
    kind = random.random()
    if kind < 0.4:
        return random.randint(0, near)
    return random.randint(len(data) - near, len(data)) if kind < 0.6 else random.randint(0, len(data))


def _span(data: bytearray, random: Random) -> tuple[int, int]:
    start = _place(data, random)
    return start, min(len(data), start + random.choice((1, 2, 4, 8, 30, 200)))


def _bit(data: bytearray, random: Random, _: Sequence[bytes]) -> bytearray:
    if data:
        data[min(_place(data, random), len(data) - 1)] ^= 1 << random.randrange(8)
    return data


def _byte(data: bytearray, random: Random, _: Sequence[bytes]) -> bytearray:
    if data:
        data[min(_place(data, random), len(data) - 1)] = random.randrange(256)
    return data


def _integer(data: bytearray, random: Random, _: Sequence[bytes]) -> bytearray:
    """A length or a place, as binary formats have them."""
    size, at = random.choice((1, 2, 4, 8)), _place(data, random)
    value = random.choice(INTEGERS) & ((1 << 8 * size) - 1)
    data[at : at + size] = value.to_bytes(size, random.choice(("little", "big")))
    return data


def _lost(data: bytearray, random: Random, _: Sequence[bytes]) -> bytearray:
    start, stop = _span(data, random)
    del data[start:stop]
    return data


def _cut(data: bytearray, random: Random, _: Sequence[bytes]) -> bytearray:
    return data[: _place(data, random)]


def _doubled(data: bytearray, random: Random, _: Sequence[bytes]) -> bytearray:
    start, stop = _span(data, random)
    at = _place(data, random)
    return data[:at] + data[start:stop] * random.choice((1, 1, 2, 50)) + data[at:]


def _inserted(data: bytearray, random: Random, _: Sequence[bytes]) -> bytearray:
    at = _place(data, random)
    data[at:at] = random.choice((random.randbytes(random.randint(1, 8)), random.choice(WORDS), random.choice(NUMBERS)))
    return data


def _token(data: bytearray, random: Random, _: Sequence[bytes]) -> bytearray:
    """A number, a word or a sign replaced by another, or by one from elsewhere in the file."""
    start = _place(data, random)
    found = TOKEN.search(data, start) or TOKEN.search(data)
    if found is None:
        return data
    elsewhere = TOKEN.search(data, random.randint(0, len(data)))
    instead = random.choice((random.choice(NUMBERS), random.choice(WORDS), elsewhere[0] if elsewhere else b""))
    data[found.start() : found.end()] = instead
    return data


def _line(data: bytearray, random: Random, _: Sequence[bytes]) -> bytes:
    """A line lost, doubled, or in another's place."""
    lines = bytes(data).split(b"\n")
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    kind = random.randrange(3)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(other, lines[at])
    else:
        lines[at], lines[other] = lines[other], lines[at]
    return b"\n".join(lines)


def _spliced(data: bytearray, random: Random, others: Sequence[bytes]) -> bytearray:
    if not others:
        return data
    other = random.choice(others)
    start = random.randint(0, len(other))
    return data[: _place(data, random)] + other[start : start + random.choice((8, 100, len(other)))]


CHANGES: tuple[Change, ...] = (
    _bit, _byte, _integer, _lost, _cut, _doubled, _inserted, _token, _token, _token, _line, _spliced,
)  # fmt: skip
