"""TOML with lines: every key is found where it stands, and what is no TOML is told in words."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.contest.rules import toml_lines
from palestra.errors import Refused


def toml(value: Any) -> str:
    """A value as TOML, in the simplest way."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(letter):08x}" for letter in value) + '"'
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml(key)} = {toml(item)}" for key, item in value.items()) + " }"
    return value.isoformat() if hasattr(value, "isoformat") else repr(value)


# Lines


def test_every_key_has_its_line():
    text = (
        '# "\n[a]\nb = { c = """\n[x]\n""", d = 1 } # {\n[[e]]\nf.g = 1.5\n"h.i" = [\n  1, # ]\n  { j = 2 },\n]\n'
        "[e.k]\nl = '\"'\n[[e]]\n"
    )
    assert toml_lines.lines_of(text) == {
        ("a",): 2, ("a", "b"): 3, ("a", "b", "c"): 3, ("a", "b", "d"): 5, ("e",): 6, ("e", 0): 6, ("e", 0, "f"): 7,
        ("e", 0, "f", "g"): 7, ("e", 0, "h.i"): 8, ("e", 0, "h.i", 0): 9, ("e", 0, "h.i", 1): 10,
        ("e", 0, "h.i", 1, "j"): 10, ("e", 0, "k"): 12, ("e", 0, "k", "l"): 13, ("e", 1): 14,
    }  # fmt: skip


KEYS = st.text(st.characters(codec="utf-8"), max_size=4)
VALUES = st.recursive(
    st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=6) | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, VALUES), st.lists(st.dictionaries(KEYS, VALUES, max_size=3), max_size=4))
def test_lines_are_found_for_all_that_the_standard_parser_finds(top, tables):
    text = "".join(f"{toml(key)} = {toml(value)}\n" for key, value in top.items() if key != "t")
    for table in tables:
        text += "\n# [t] \"'\n[[t]]\n" + "".join(f"{toml(key)} = {toml(value)}\n" for key, value in table.items())
    values, lines = toml_lines.load(text, "here")
    assert set(lines) == set(paths(values))
    for path, line in lines.items():
        if isinstance(path[-1], str):
            assert toml(path[-1]) in text.splitlines()[line - 1] or path[-1] == "t"


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for key, item in items for path in [(*here, key), *paths(item, (*here, key))]]


# What is no TOML


def fault_of(text: str) -> str:
    with pytest.raises(Refused) as refusal:
        toml_lines.load(text, "contest.toml")
    return str(refusal.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[contest]\nid = "cup\n', "line 2: found 'id = \"cup', expected a quote at the end of a text"),
        ("[contest]\nid = cup\n", "line 2: found 'id = cup', expected a value: a text in quotes"),
        ("[contest\n", "line 1: found '[contest', expected ] at the end"),
        ("[contest]\n[contest]\n", "line 2: found '[contest]', expected each table once"),
        ("a = 1\na = 2\n", "line 2: found 'a = 2', expected each key once"),
        ("a = [1\n\n", "line 1: found 'a = [1', expected a , between two values"),
        ("\nopens = 2022-13-01", "line 2: found 'opens = 2022-13-01', expected a day or a time that there is"),
        ("a = 2022-02-30", "line 1: found 'a = 2022-02-30', expected a day or a time that there is"),
        ("a = " + "9" * 5_000, "found a number with thousands of digits"),
        ("a = " + "[" * 3_000, "found tables, lists or keys more than 16 deep"),
        ("a" + ".a" * 100_000 + " = 1", "found tables, lists or keys more than 16 deep"),
    ],
    ids=range(11),
)
def test_what_is_no_toml_is_told_in_words(text, expected):
    assert expected in fault_of(text)


def test_every_complaint_of_the_parser_has_words():
    source = Path(tomllib._parser.__file__).read_text()  # type: ignore[attr-defined]
    said = re.findall(r'suffixed_err\(\s*src, \w*pos, f?"(.*?)"\s*\)', source)
    assert len(said) > 15
    for message in said:
        if not message.startswith("Expected {"):  # an end of a text that is missing; tested above
            assert any(message.startswith(begins) for begins in toml_lines._MEANINGS), message
