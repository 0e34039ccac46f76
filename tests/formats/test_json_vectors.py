import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from palestra.formats import json_vectors
from palestra.formats.json_vectors import read_vectors, write_vectors
from tests.formats.strangers import refusal, result_or_refusal, run_bounded, says

SEQUENCES, STEPS = ["8", "12"], ["50", "51"]
GOOD = '{"8": {"50": [0, 0.5, 1], "51": [0.1, -0.2, 3e-1]},\n "12": {"50": [1, 0, 0], "51": [0, 1, 0]}}'
ROWS = [("8", "50", 0, 0.5, 1), ("8", "51", 0.1, -0.2, 0.3), ("12", "50", 1, 0, 0), ("12", "51", 0, 1, 0)]
quick = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "team.json"


def read(file: Path, data: str | bytes) -> pl.DataFrame:
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_vectors(file, SEQUENCES, STEPS)


def test_a_good_file_gives_vectors_in_the_order_asked_for(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_vectors, "_Careful", None)  # the fast reader takes it
    vectors = read(file, GOOD)
    assert vectors.rows() == ROWS
    assert vectors.schema == {"sequence": pl.String, "step": pl.String} | dict.fromkeys("xyz", pl.Float64)
    swapped = '{"12": {"51": [0, 1, 0], "50": [1, 0, 0]}, "8": {"51": [0.1, -0.2, 0.3], "50": [0, 0.5, 1]}}'
    assert read(file, swapped).rows() == ROWS


@pytest.mark.parametrize(
    "habit", [GOOD.replace('"8"', '"\\u0038"'), "\ufeff" + GOOD, json.dumps(json.loads(GOOD), indent=4) + "\n\n"]
)
def test_harmless_habits_are_accepted(file: Path, habit: str) -> None:
    assert read(file, habit).rows() == ROWS


def change(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


@pytest.mark.parametrize(
    ("data", "where", "found", "expected"),
    [
        ("", "team.json", "an empty file", "something"),
        ("person,group", "line 1, column 1", "no valid JSON (Expecting value)", "an object"),
        (GOOD[:40], "line 1, column", "cut short", "an object"),
        (GOOD[:-1], "line 2, column", "cut short", "an object"),
        (GOOD[:15], "line 1, column", "cut short", "an object"),
        (GOOD + "x", "line 2, column 43", "no valid JSON (Extra data)", "an object"),
        (change('"50": [1', '"50" [1'), "line 2, column 14", "no valid JSON", "an object"),
        ("[1, 2]", "team.json", "an array", "an object"),
        ("7", "team.json", "the number 7.0", "an object"),
        ('"x"', "team.json", "the text 'x'", "an object"),
        ("null", "team.json", "null", "an object"),
        ("[" * 10_000, "line 1", "nesting deeper than 3", "an object"),
        ('{"8":' * 10_000, "line 1", "nesting deeper than 3", "an object"),
        (change("[1, 0, 0]", "[[1, 0, 0]]"), "line 2", "nesting deeper", "an object"),
        (GOOD[:-1] + ', "8": {}}', "sequence '8'", "the same key again", "each key once"),
        (change('"51": [0.1', '"50": [0.1'), "sequence '8', step '50'", "the same key again", "each key once"),
        (GOOD[:-1] + ', "9": {}}', "sequence '9'", "a sequence that is not asked for", "one of '8, 12'"),
        (change('"12"', '"\\ud800"'), r"sequence '\ud800'", "a sequence that is not asked for", "one of"),
        (
            change('"51": [0.1', '"55": [0.1'),
            "sequence '8', step '55'",
            "a step that is not asked for",
            "one of '50, 51'",
        ),
        (change('{"50": [1, 0, 0], "51": [0, 1, 0]}', "[1, 0, 0]"), "sequence '12'", "an array", '{"<step>"'),
        (change("[1, 0, 0]", "3"), "sequence '12', step '50'", "the number 3.0", "three numbers"),
        (change("[1, 0, 0]", "{}"), "sequence '12', step '50'", "an object", "three numbers"),
        (change("[1, 0, 0]", "[1, 0]"), "sequence '12', step '50'", "2 values", "three numbers"),
        (change("[1, 0, 0]", "[1, 0, 0, 0]"), "sequence '12', step '50'", "4 values", "three numbers"),
        (change("[1, 0, 0]", '[1, 0, "0"]'), "sequence '12', step '50'", "the text '0' among", "three numbers"),
        (change("[1, 0, 0]", "[1, null, 0]"), "sequence '12', step '50'", "null among", "three numbers"),
        (change("[1, 0, 0]", "[true, 0, 0]"), "sequence '12', step '50'", "true among", "three numbers"),
        (change("[1, 0, 0]", "[1e7, 0, 0]"), "sequence '12', step '50'", "[10000000.0, 0.0, 0.0]", "at most ±1e+06"),
        (change("[1, 0, 0]", "[1e999, 0, 0]"), "sequence '12', step '50'", "inf", "at most ±1e+06"),
        (change("[1, 0, 0]", f"[{'9' * 9000}, 0, 0]"), "sequence '12', step '50'", "inf", "at most ±1e+06"),
        (GOOD.encode("utf-16"), "team.json", "UTF-16", "UTF-8"),
        (GOOD.encode().replace(b'"12"', b'"\xfc"'), "line 2, byte 3", "0xfc", "UTF-8"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    file: Path, data: str | bytes, where: str, found: str, expected: str
) -> None:
    refused = refusal(read, file, data)
    says(refused, where, found, expected)
    assert refused.usable is None


@pytest.mark.parametrize(
    ("data", "where", "found", "left"),
    [
        (change(', "51": [0, 1, 0]', ""), "sequence '12', step '51'", "no vector", [0, 1, 2]),
        (GOOD[: GOOD.index(",\n")] + "}", "sequence '12', step '50'", "no vector", [0, 1]),
        ("{}", "sequence '8', step '50'", "no vector", []),
        (change("[1, 0, 0]", "[NaN, 0, 0]"), "sequence '12', step '50'", "NaN or an infinity", [0, 1, 3]),
        (change("[1, 0, 0]", "[1, 0, -Infinity]"), "sequence '12', step '50'", "NaN or an infinity", [0, 1, 3]),
        (change("[1, 0, 0]", "[0, 0.0, -0]"), "sequence '12', step '50'", "without length", [0, 1, 3]),
        (change("[1, 0, 0]", "[1e-200, 0, 0]"), "sequence '12', step '50'", "without length", [0, 1, 3]),
    ],
)
def test_gaps_leave_the_other_vectors_usable(file: Path, data: str, where: str, found: str, left: list[int]) -> None:
    refused = refusal(read, file, data)
    says(refused, where, found, "")
    assert refused.count == 4 - len(left)
    assert refused.usable.rows() == [ROWS[row] for row in left]


def test_the_whole_challenge_is_read_well_under_a_second(file: Path) -> None:
    sequences, steps = [str(number) for number in range(6400)], ["50", "51", "52", "53", "54"]
    vectors = np.random.default_rng(1).normal(size=(32_000, 3))
    frame = pl.DataFrame(
        {"sequence": np.repeat(sequences, 5), "step": steps * 6400}
        | {axis: vectors[:, at] for at, axis in enumerate("xyz")}
    )
    write_vectors(frame, file)
    assert file.read_bytes().count(b"\n") == 6402
    assert read_vectors(file, sequences, steps).equals(frame)
    missing = json.loads(file.read_bytes())
    for number in range(0, 6400, 2):
        del missing[str(number)]
    file.write_text(json.dumps(missing))
    refused = refusal(read_vectors, file, sequences, steps)
    assert (refused.count, refused.usable.height) == (16_000, 16_000)


def test_writing_refuses_what_could_not_be_read(file: Path) -> None:
    frame = pl.DataFrame({"sequence": ["a"], "step": ["50"], "x": [math.nan], "y": [0.0], "z": [1.0]})
    with pytest.raises(ValueError, match="finite"):
        write_vectors(frame, file)
    frame = frame.with_columns(x=pl.lit(0.0))
    with pytest.raises(ValueError, match="two vectors"):
        write_vectors(pl.concat([frame, frame]), file)
    assert not file.exists()


@pytest.mark.parametrize(
    "filling", ['"[],"', "'{\"\":'", "'\\\\\\\\\"'", "'\"\\\\\\\\\"'", "'1,'", "'9'", "' '", "'\"\":[],'"]
)
@pytest.mark.parametrize("start", ['{"8":[', '{"', ""])
def test_the_worst_files_take_bounded_memory_and_time(file: Path, start: str, filling: str) -> None:
    run_bounded(
        f"""
        from palestra.errors import Refused
        from palestra.formats.json_vectors import read_vectors
        with open({str(file)!r}, "w") as out:
            out.write({start!r} + {filling} * (3_000_000 // len({filling})))
        try:
            read_vectors({str(file)!r}, [str(n) for n in range(6400)], ["50", "51", "52", "53", "54"])
        except Refused as refused:
            assert len(str(refused)) < 10_000
        else:
            raise AssertionError
        """,
        megabytes=400,
    )


@quick
@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbf")
@example(b"{}")
def test_arbitrary_bytes_are_refused(tmp_path: Path, data: bytes) -> None:
    refusal(read, tmp_path / "a.json", data)


jsons = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["8", "12", "50", "51", "x"]), inner),
    max_leaves=12,
)


@quick
@given(jsons)
def test_any_json_is_read_or_refused(tmp_path: Path, value: Any) -> None:
    result_or_refusal(read, tmp_path / "a.json", json.dumps(value))


@quick
@given(st.data())
def test_mutated_files_are_read_as_a_parser_reads_them_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    mutated = GOOD
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(mutated) - 1))
        piece = data.draw(st.text('{}[],:"0158.-e \\n/u\n', max_size=2))
        mutated = mutated[:at] + piece + mutated[at + data.draw(st.integers(0, 3)) :]
    vectors = result_or_refusal(read, tmp_path / "a.json", mutated)
    if vectors is not None:
        parsed = json.loads(mutated)
        assert vectors.rows() == [(name, step, *parsed[name][step]) for name in SEQUENCES for step in STEPS]


components = st.floats(-1e6, 1e6)


@quick
@given(st.lists(st.tuples(components, components, components), min_size=4, max_size=4))
def test_written_vectors_read_back_exactly(tmp_path: Path, vectors: list[tuple[float, float, float]]) -> None:
    vectors = [vector if max(map(abs, vector)) > 1e-9 else (0.0, 0.0, 1.0) for vector in vectors]
    rows = [(*names[:2], *vector) for names, vector in zip(ROWS, vectors, strict=True)]
    frame = pl.DataFrame(rows, schema=["sequence", "step", "x", "y", "z"], orient="row")
    file = tmp_path / "a.json"
    write_vectors(frame, file)
    assert read_vectors(file, SEQUENCES, STEPS).equals(frame)
    careful = file.read_bytes().replace(b'"8"', b'"\\u0038"')
    assert read(file, careful).equals(frame)
