"""TOML texts with the line of every key, which the standard parser does not tell."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any, NoReturn

from palestra.errors import clip, refuse
from palestra.text import Message, Text, message, say

DEEPEST = 16  # tables and lists within one another, and parts of a key

Path = tuple[str | int, ...]  # ("phase", 0, "title", "zh")

_TOKEN = re.compile(
    r'''(?P<space>[ \t\r]+|\#[^\n]*)
      | (?P<newline>\n)
      | (?P<text>"""(?:\\.|[^\\])*?"""(?:"{0,2})|\'\'\'.*?\'\'\'(?:'{0,2})|"(?:\\.|[^"\\])*"|'[^']*')
      | (?P<mark>[\[\]{}=,.])
      | (?P<bare>[^\s\[\]{}=,.\#"']+)''',
    re.VERBOSE | re.DOTALL,
)

# What the standard parser says, by how it begins, and what it means to whoever wrote the file.
_MEANINGS: dict[str, Message] = {
    "Invalid statement": message("a line such as key = value, [table], or a comment after #"),
    "Expected newline": message("the end of the line after a value"),
    "Cannot declare": message("each table once; one that may come often has two brackets, such as [[phase]]"),
    "Cannot overwrite": message("each key once in its table"),
    "Cannot mutate": message("all keys of a {{ … }} between its brackets"),
    "Cannot redefine": message("each table once"),
    "Duplicate inline": message("each key once between {{ and }}"),
    "Expected ']' at": message("] at the end of a table's name"),
    "Expected ']]' at": message("]] at the end of a table's name"),
    "Expected '='": message("a = between a key and its value"),
    "Invalid initial": message("a key of letters, digits, _ and -"),
    "Unclosed array": message("a , between two values of a list, and ] at its end"),
    "Unclosed inline": message("a , between two keys of a table, and }} at its end, on the same line"),
    "Unescaped": message("\\\\ for one \\, or a text between single quotes"),
    "Invalid hex": message("digits and a–f after \\u"),
    "Escaped character": message("a letter that exists after \\u"),
    "Unterminated": message("a quote at the end of a text"),
    "Expected \"'": message("a quote at the end of a text"),
    "Illegal character": message('a quote at the end of a text; one of several lines stands between """ and """'),
    "Found invalid character": message("no invisible letters"),
    "Invalid date": message("a day or a time that there is, such as 2022-08-01 or 2022-08-01T09:00:00"),
    "Invalid value": message(
        "a value: a text in quotes, a number, true, false, a day, or a list of those between [ and ]"
    ),
}


def load(text: str, where: str) -> tuple[dict[str, Any], dict[Path, int]]:
    """What a text holds, and the line of each key. A text that is no TOML is refused in words, with its line."""
    if depth_of(text) > DEEPEST:
        found = say("tables, lists or keys more than {most} deep", most=DEEPEST)
        refuse(where, found, say("{most} at most", most=DEEPEST))
    text = text.replace("\r\n", "\n")
    try:
        return tomllib.loads(text), lines_of(text)
    except tomllib.TOMLDecodeError as error:
        _refuse_syntax(text, where, str(error))
    except ValueError:  # the one thing that the parser leaves to Python
        refuse(where, say("a number with thousands of digits"), say("numbers of a usual length"))


def _refuse_syntax(text: str, where: str, why: str) -> NoReturn:
    lines = text.split("\n")
    at = re.search(r"\(at line (\d+), column \d+\)$", why)
    line = int(at[1]) if at else len(text.rstrip("\n").split("\n"))
    if re.search(r"= *\d{4}-\d", lines[line - 1]) and why.startswith("Expected newline"):
        why = "Invalid date"  # a 13th month is taken for a number with something after it
    meant = [meaning for begins, meaning in _MEANINGS.items() if why.startswith(begins)]
    found: Text = clip(lines[line - 1].strip()) if lines[line - 1].strip() else say("an empty line")
    refuse(say("{file}: line {line:,}", file=where, line=line), found, say(meant[0]) if meant else why)


def lines_of(text: str) -> dict[Path, int]:
    """The line, from 1, on which each key stands; of a table, its header or the first key that made it.

    For texts that the standard parser takes: this one only asks what is where.
    """
    return _Reader(text).lines


def headers_of(text: str) -> list[tuple[Path, int, int]]:
    """Each [table] and [[table]] in order: its path, its line, and the line on which what comes before it ends. The
    text's end is the last of them, with an empty path."""
    reader = _Reader(text)
    return [*reader.headers, ((), text.count("\n") + 2, reader.end_before(len(reader.marks)))]


def depth_of(text: str) -> int:
    """How deep brackets and dotted keys nest at most, so that a parser need not find out by failing."""
    depth = deepest = dots = 0
    for _, mark, _ in _marks(text):
        depth = max(depth + (mark in "[{") - (mark in "]}"), 0)
        dots = 0 if mark in "=,[]{}\n" else dots + (mark == ".")
        deepest = max(deepest, depth, dots)
    return deepest


class _Reader:
    """Goes through the marks of a text once, and notes where keys are."""

    def __init__(self, text: str) -> None:
        self.marks = list(_marks(text))
        self.place = 0
        self.lines: dict[Path, int] = {}
        self.headers: list[tuple[Path, int, int]] = []
        self.counts: dict[Path, int] = {}  # of tables in each [[array]]
        self.table: Path = ()
        while self.skip_newlines():
            self.statement()

    @property
    def next(self) -> str:
        return self.marks[self.place][1] if self.place < len(self.marks) else ""

    def skip_newlines(self) -> bool:
        while self.next == "\n":
            self.place += 1
        return self.place < len(self.marks)

    def statement(self) -> None:
        if self.next == "[":
            self.header()
        else:
            self.pair(self.table)

    def header(self) -> None:
        opening = self.place
        while self.next == "[":
            self.place += 1
        double = self.place - opening == 2
        keys = self.keys()
        self.place += 2 if double else 1
        path: Path = ()
        for i, (key, line) in enumerate(keys):
            path = (*path, key)
            self.note(path, line)
            last = i == len(keys) - 1
            if last and double:
                self.counts[path] = self.counts.get(path, 0) + 1
            if path in self.counts:
                path = (*path, self.counts[path] - 1)  # a name means the newest of its tables
                self.note(path, line)
        self.headers.append((path, self.marks[opening][2], self.end_before(opening)))
        self.table = path

    def end_before(self, place: int) -> int:
        """The last line of what comes before a mark; 0 where nothing does."""
        while place and self.marks[place - 1][1] == "\n":
            place -= 1
        if not place:
            return 0
        _, text, line = self.marks[place - 1]
        return line + text.count("\n")

    def pair(self, table: Path) -> None:
        path = table
        for key, line in self.keys():
            path = (*path, key)
            self.note(path, line)
        self.place += 1  # the =
        self.value(path)

    def keys(self) -> list[tuple[str, int]]:
        """A key with its dots, each part with its line."""
        found = []
        while True:
            kind, text, line = self.marks[self.place]
            found.append((_decoded(text) if kind == "text" else text, line))
            self.place += 1
            if self.next != ".":
                return found
            self.place += 1

    def value(self, path: Path) -> None:
        if self.next == "[":
            self.array(path)
        elif self.next == "{":
            self.inline_table(path)
        else:
            while self.next not in ("", "\n", ",", "]", "}"):
                self.place += 1

    def array(self, path: Path) -> None:
        self.place += 1
        count = 0
        while self.skip_newlines() and self.next != "]":
            self.note((*path, count), self.marks[self.place][2])
            self.value((*path, count))
            count += 1
            self.skip_newlines()
            self.place += self.next == ","
        self.place += 1

    def inline_table(self, path: Path) -> None:
        self.place += 1
        while self.next not in ("", "}"):
            self.pair(path)
            self.place += self.next == ","
        self.place += 1

    def note(self, path: Path, line: int) -> None:
        self.lines.setdefault(path, line)


def _marks(text: str) -> Iterator[tuple[str, str, int]]:
    """Kind, text and line of all that is neither space nor comment."""
    line, place = 1, 0
    while found := _TOKEN.match(text, place):
        place = found.end()
        if found.lastgroup != "space":
            yield str(found.lastgroup), found[0], line
        line += found[0].count("\n")


def _decoded(quoted: str) -> str:
    """A quoted key without its quotes and escapes."""
    return next(iter(tomllib.loads(f"{quoted} = 0")))
