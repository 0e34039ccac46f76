import base64
import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palestra.formats.json_strings import scan_strings
from tests.formats.strangers import refusal, result_or_refusal, run_bounded, says

GOOD = '{"S_0/1.npy": "AAEC",\n "S_0/2.npy": "",\n\n "S_1/1.npy" : "/+8="}\n'
quick = settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "team.json"


def scan(file: Path, data: str | bytes, **limits: Any) -> pl.DataFrame:
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return scan_strings(file, 10_000_000, **limits)


def strings(file: Path, ranges: pl.DataFrame) -> dict[str, str]:
    data = file.read_bytes()
    return {key: data[start:stop].decode() for key, start, stop, _ in ranges.rows()}


def test_keys_and_the_bytes_of_their_values_are_found(file: Path) -> None:
    ranges = scan(file, GOOD)
    assert strings(file, ranges) == json.loads(GOOD)
    assert ranges["line"].to_list() == [1, 2, 4]
    assert ranges.schema == {"key": pl.String, "start": pl.Int64, "stop": pl.Int64, "line": pl.Int64}


@pytest.mark.parametrize("empty", ["{}", " {\n} ", "\ufeff{}"])
def test_an_empty_object_has_no_strings(file: Path, empty: str) -> None:
    assert scan(file, empty).height == 0


def test_escapes_in_keys_are_decoded_and_escaped_slashes_in_values_are_left_to_the_reader(file: Path) -> None:
    ranges = scan(file, r'{"S_0\/1.npy": "A\/B\/", "\u0053\"2": "ab", "c": "\/"}')
    assert strings(file, ranges) == {"S_0/1.npy": r"A\/B\/", 'S"2': "ab", "c": r"\/"}


@pytest.mark.parametrize(
    ("data", "where", "found", "expected"),
    [
        ("", "team.json", "an empty file", "something"),
        ("[1]", "line 1, byte 1", "b'[1]'", "an object"),
        ("{", "line 1, byte 2", "the end of the file", "a key in quotes"),
        ('{"a"', "line 1, byte 2", "b'\"a\"'", "a colon"),
        ('{"a":', "line 1, byte 6", "the end of the file", "a text in quotes"),
        ('{"a": "AAA', "line 1, byte 7", "a value without an end", "a text in quotes"),
        ('{"a": "AAA"', "line 1, byte 12", "the end of the file", "a comma or the end"),
        ('{"a": "AAA",}', "line 1, byte 13", "b'}'", "a key in quotes"),
        ('{"a": "AAA"} x', "line 1, byte 14", "something after the object", "nothing"),
        ('{"a": "AAA" "b": ""}', "line 1, byte 12", 'b\' "b": ""}\'', "a comma"),
        ("{a: 1}", "line 1, byte 2", "b'a: 1}'", "a key in quotes"),
        ('{"a":\n {"b": "c"}}', "line 2, byte 8", 'b\'{"b": "c"}}\'', "a text in quotes"),
        ('{"a": ["c"]}', "line 1, byte 7", "b'[\"c\"]}'", "a text in quotes"),
        ('{"a": "",\n"b": 12.5}', "line 2, key 'b'", "12.5", "a text in quotes"),
        ('{"a": null, "b": ""}', "line 1, key 'a'", "null", "a text in quotes"),
        ('{"a": true}', "line 1, key 'a'", "true", "a text in quotes"),
        ('{"a": "",\n"a": ""}', "line 2, key 'a'", "a key that line 1 has", "each key once"),
        ('{"a": "", "\\u0061": ""}', "line 1, key 'a'", "a key that line 1 has", "each key once"),
        (r'{"a": "A\u0041"}', "line 1, key 'a'", "a value with escapes", "base64"),
        (r'{"a": "A\"", "b": "\n"}', "line 1, key 'b'", "a value with escapes", "base64"),
        (r'{"a": "A\"}', "line 1, byte 7", "a value without an end", "a text in quotes"),
        ('{"' + "a" * 257 + '": ""}', "line 1, byte 2", "b'\"aaa", "at most 256 bytes"),
        (r'{"a\x": ""}', "line 1, byte 9", r"the key b'a\\x'", "UTF-8"),
        (r'{"\ud800": ""}', "line 1, byte 12", "the key", "UTF-8"),
        (b'{"\xfc": ""}', "line 1, byte 7", "the key", "UTF-8"),
        ('{"a\n": ""}', "line 1, byte 2", "b'\"a", "a key in quotes"),
        (GOOD.encode("utf-16"), "line 1, byte 1", r"b'\xff", "an object"),
        ('{"a": "' + "A" * 2000 + '"}', "line 1, byte 7", "a value without an end", "at most 1.0 kB"),
        ('{"a": "' + r"A\/" * 2000 + '"}', "line 1, byte 7", "a value without an end", "at most 1.0 kB"),
        ('{"a": "", "a": "", "c": "", "d": "", "e": ""}', "line 1", "more than 4 keys", "at most 4"),
        ('{"a": "", "b": "", "c": "", "d": "", "e": ""}', "line 1", "more than 4 keys", "at most 4"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    file: Path, data: str | bytes, where: str, found: str, expected: str
) -> None:
    says(refusal(scan, file, data, max_keys=4, max_value_bytes=1000), where, found, expected)


def test_the_first_twenty_faults_and_the_count_are_given(file: Path) -> None:
    refused = refusal(scan, file, "{" + ",\n".join(f'"k{number}": {number}' for number in range(90)) + "}")
    assert (refused.count, len(refused.faults)) == (90, 20)
    assert refused.faults[2].where == "team.json: line 3, key 'k2'"


def test_a_large_object_is_scanned_whole(file: Path) -> None:
    value = base64.b64encode(os.urandom(3000)).decode()
    names = [f"S_{number // 150}/{number % 150}.npy" for number in range(27_871)]
    file.write_text("{" + ", ".join(f'"{name}": "{value}"' for name in names) + "}")
    ranges = scan_strings(file, 1 << 30)
    assert ranges["key"].to_list() == names
    assert (ranges["stop"] - ranges["start"]).unique().to_list() == [4000]


@pytest.mark.parametrize("start", ["", "{", '{"', '{"a": "', '{"a": ', '{"a": ""', r'{"a": "\\/'])
def test_two_gigabytes_without_quotes_take_little_memory(file: Path, start: str) -> None:
    with file.open("wb") as out:
        out.write(start.encode())
        out.truncate(2_000_000_000)
    run_bounded(
        f"""
        from palestra.errors import Refused
        from palestra.formats.json_strings import scan_strings
        try:
            scan_strings({str(file)!r}, 1 << 31)
        except Refused:
            pass
        else:
            raise AssertionError
        """,
        megabytes=250,
    )


@pytest.mark.parametrize("filling", ['"', "\\\\", '"a":"",', '"a":"\\\\/",', " ", "\\\\/", '{"a":', '"a":1,'])
def test_the_worst_files_take_bounded_memory_and_time(file: Path, filling: str) -> None:
    run_bounded(
        f"""
        from palestra.errors import Refused
        from palestra.formats.json_strings import scan_strings
        for start in ('{{', '{{"a": "'):
            with open({str(file)!r}, "w") as out:
                out.write(start + '''{filling}''' * (3_000_000 // len('''{filling}''')))
            try:
                scan_strings({str(file)!r}, 1 << 31, max_keys=100_000)
            except Refused as refused:
                assert len(str(refused)) < 10_000
            else:
                raise AssertionError
        """,
        megabytes=250,
    )


@quick
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_scanned_or_refused(tmp_path: Path, data: bytes) -> None:
    result_or_refusal(scan, tmp_path / "a.json", data)


@quick
@given(st.data())
def test_what_is_taken_is_what_a_parser_finds(tmp_path: Path, data: st.DataObject) -> None:
    mutated = GOOD
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(mutated) - 1))
        piece = data.draw(st.text('{}[],:"S01\\/ u\n', max_size=2))
        mutated = mutated[:at] + piece + mutated[at + data.draw(st.integers(0, 3)) :]
    file = tmp_path / "a.json"
    ranges = result_or_refusal(scan, file, mutated)
    if ranges is not None:
        found = {key: value.replace("\\/", "/") for key, value in strings(file, ranges).items()}
        assert found == json.loads(mutated, strict=False)  # line ends in values are left to the decoder of base64


@quick
@given(st.dictionaries(st.text(max_size=12), st.text("ABCxyz019+/=", max_size=12)), st.booleans(), st.booleans())
def test_what_encoders_write_is_found(tmp_path: Path, given: dict[str, str], ascii: bool, indented: bool) -> None:
    given = {key: value for key, value in given.items() if key.isprintable()}
    file = tmp_path / "a.json"
    ranges = scan(file, json.dumps(given, ensure_ascii=ascii, indent=2 if indented else None))
    assert strings(file, ranges) == given
