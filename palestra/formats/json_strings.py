"""Where the strings of a very large flat JSON object are, without parsing it: {"S_0/1.npy": "<base64>", …}.

The file is mapped, not read: what scanning takes is the list of keys (about 300 bytes each, at most `max_keys`) and
pages that the system can drop at any time. The file must not be cut while it is mapped: keep a copy of your own.
"""

import mmap
import os
import re
from pathlib import Path
from typing import NoReturn

import msgspec
import polars as pl

from palestra.errors import clip
from palestra.formats.plain_files import FileFaults, open_regular
from palestra.text import Message, Text, Words, human_bytes, message, say

KEY_BYTES = 256
VALUE_BYTES = 8_000_000
SHAPE = message('an object {{"<name>": "<text>", …}}')
A_KEY = message("a key in quotes, of at most {key_bytes} bytes, and a colon")
A_COMMA = message("a comma or the end of the object")

# Possessive and bounded, so that no input makes the matching slow or its result large.
BLANK = rb"[ \t\r\n]{0,1024}+"
OPEN = re.compile(rb"(?:\xef\xbb\xbf)?" + BLANK + rb"\{" + BLANK)
KEY = re.compile(BLANK + rb'"((?:[^"\\\x00-\x1f]|\\.){0,256}+)"' + BLANK + rb":" + BLANK)
NEXT = re.compile(BLANK + rb"([,}])")
TAIL = re.compile(BLANK)
REST = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+(?=")', re.DOTALL)
ESCAPE = re.compile(rb"\\[^/]")
OTHER = re.compile(rb"true|false|null|NaN|-?Infinity|[-+0-9.][-+0-9.eE]{0,64}+")
SHAPES = {"key": pl.String, "start": pl.Int64, "stop": pl.Int64, "line": pl.Int64}


def scan_strings(
    file: str | Path, max_bytes: int, max_keys: int = 1_000_000, max_value_bytes: int = VALUE_BYTES
) -> pl.DataFrame:
    """The keys of a flat object of strings, and the bytes [start, stop) of each value, without its quotes.

    A value may have the escape `\\/`, which some writers make of a slash; whoever reads the bytes undoes it.
    """
    descriptor = open_regular(file, max_bytes)
    try:
        data = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)
    return _Scan(data, FileFaults(file), max_keys, max_value_bytes).frame()


class _Scan:
    """One walk over the file, from key to key."""

    def __init__(self, data: mmap.mmap, faults: FileFaults, max_keys: int, max_value_bytes: int) -> None:
        self.data, self.faults, self.max_keys, self.max_value_bytes = data, faults, max_keys, max_value_bytes
        self.at, self.line = 0, 1
        self.keys = 0  # double ones too
        self.lines: dict[str, int] = {}
        self.rows: list[tuple[str, int, int, int]] = []

    def frame(self) -> pl.DataFrame:
        self._match(OPEN, SHAPE)
        if self.data[self.at : self.at + 1] == b"}":
            self.at += 1
        else:
            while self._entry():
                pass
        self._match(TAIL, SHAPE)
        if self.at != len(self.data):
            self._stop(say("something after the object"), say("nothing after it"))
        self.faults.finish()
        return pl.DataFrame(self.rows, schema=SHAPES, orient="row")

    def _entry(self) -> bool:
        """Take one key and its value; False after the last."""
        raw = self._match(KEY, A_KEY)[1]
        key, line = self._key(raw), self.line
        self.keys += 1
        if self.keys > self.max_keys:
            self._stop(
                say("more than {max_keys:,} keys", max_keys=self.max_keys),
                say("at most {max_keys:,}", max_keys=self.max_keys),
            )
        start, stop = self._value(line, key)
        if key in self.lines:
            self.faults.add(
                self._at(line, key), say("a key that line {lines:,} has", lines=self.lines[key]), say("each key once")
            )
        else:
            self.lines[key] = line
            self.rows.append((key, start, stop, line))
        return bool(self._match(NEXT, A_COMMA)[1] == b",")

    def _key(self, raw: bytes) -> str:
        try:
            return msgspec.json.decode(b'"' + raw + b'"', type=str) if b"\\" in raw else raw.decode()
        except ValueError:
            self._stop(say("the key {raw}", raw=clip(raw)), say("a key in UTF-8, with the escapes that JSON has"))

    def _value(self, line: int, key: str) -> tuple[int, int]:
        """The range of the value that begins here."""
        if self.data[self.at : self.at + 1] != b'"':
            return self._other(line, key)
        start = self.at + 1
        most = start + self.max_value_bytes + 1  # no further, so that a value without an end costs little
        stop = self.data.find(b'"', start, most)
        if self.data.find(b"\\", start, most if stop < 0 else stop) >= 0:
            stop = self._escaped(line, key, start, most)
        if stop < 0:
            self._stop(
                say("a value without an end"),
                say("a text in quotes of at most {max_value_bytes}", max_value_bytes=human_bytes(self.max_value_bytes)),
            )
        self.at = stop + 1
        return start, stop

    def _escaped(self, line: int, key: str, start: int, most: int) -> int:
        """The end of a value with backslashes; -1 if it has none as far as a value may reach."""
        rest = REST.match(self.data, start, most)
        if rest and ESCAPE.search(self.data, start, rest.end()):
            self.faults.add(self._at(line, key), say("a value with escapes"), say("base64, which has none"))
        return rest.end() if rest else -1

    def _other(self, line: int, key: str) -> tuple[int, int]:
        """A value that is no text: noted, and stepped over where its end is plain."""
        other = OTHER.match(self.data, self.at)
        if other is None:
            self._stop(self._here(), say("a text in quotes"))
        self.faults.add(self._at(line, key), other[0].decode(), say("a text in quotes"))
        start, self.at = self.at, other.end()
        return start, self.at

    def _at(self, line: int, key: str) -> Words:
        return self.faults.at(say("line {line:,}, key {key}", line=line, key=clip(key)))

    def _match(self, pattern: re.Pattern[bytes], expected: Message) -> re.Match[bytes]:
        match = pattern.match(self.data, self.at)
        if match is None:
            self._stop(self._here(), say(expected, key_bytes=KEY_BYTES))
        self.at = match.end()
        self.line += match[0].count(b"\n")
        return match

    def _here(self) -> Text:
        rest = self.data[self.at : self.at + 40]
        return clip(rest) if rest else say("the end of the file: it is cut short")

    def _stop(self, found: Text, expected: Text) -> NoReturn:
        """End with a fault after which nothing else can be made out."""
        self.faults.add(
            self.faults.at(say("line {line:,}, byte {value:,}", line=self.line, value=self.at + 1)), found, expected
        )
        self.faults.finish()
        raise AssertionError("a fault was just noted")
