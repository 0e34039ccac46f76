import math
import string
import tracemalloc
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from palestra.errors import Refused
from palestra.formats import csv_table
from palestra.formats.csv_careful import Layout, read_carefully
from palestra.formats.csv_table import read_table, write_table
from tests.formats.strangers import refusal, result_or_refusal, run_bounded, says

KEY = ("person", "group", "frame")
POINT = {"x": pl.Float64, "y": pl.Float64}
TRIALS = pl.DataFrame(
    {
        "trial": ["p1/1/007", "p1/1/008", "p2/1/007"],
        "person": ["p1", "p1", "p2"],
        "group": ["1", "1", "1"],
        "frame": ["007", "008", "007"],
        "glasses": [True, True, False],
    }
)
GOOD = b"person,group,frame,x,y\np1,1,007,1,2\np1,1,008,3.5,-4e-1\np2,1,007,0,0.25\n"
ANSWERS = pl.DataFrame({"trial": TRIALS["trial"], "x": [1.0, 3.5, 0.0], "y": [2.0, -0.4, 0.25]})
quick = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "team.csv"


def read(file: Path, data: bytes | str, **changed: Any) -> pl.DataFrame:
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    asked: dict[str, Any] = {"key": KEY, "columns": POINT, "expected": TRIALS} | changed
    return read_table(file, **asked)


def both_ways(file: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> pl.DataFrame:
    """The answers, which the fast reader takes and the careful reader reads alike."""
    with monkeypatch.context() as patch:
        patch.setattr(csv_table, "read_carefully", lambda *_: pytest.fail("the fast reader passed it on"))
        fast = read(file, data)
    layout = Layout(file, KEY, POINT, TRIALS, 1e6)
    assert fast.equals(read_carefully(data.decode("utf-8-sig"), layout))
    return fast


def test_a_good_file_gives_trial_and_columns_in_the_order_of_the_trials(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = both_ways(file, GOOD, monkeypatch)
    assert answers.equals(ANSWERS)
    assert answers.schema == ANSWERS.schema


def test_habits_that_cost_nothing_are_taken_by_the_fast_reader(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = GOOD.splitlines(keepends=True)
    for habit in (
        GOOD.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + GOOD,
        GOOD + b"\n\n\n",
        GOOD.rstrip(),
        b"".join([lines[0], lines[3], lines[1], lines[2]]),
        GOOD.replace(b",3.5", b", 3.5"),
        b"y,frame,x,group,person\n2,007,1,1,p1\n-.4,008,3.5,1,p1\n0.25,007,0,1,p2\n",
    ):
        assert both_ways(file, habit, monkeypatch).equals(ANSWERS), habit


@pytest.mark.parametrize(
    "habit",
    [
        GOOD.replace(b",", b" ,\t").replace(b"p2", b" p2"),
        GOOD.replace(b"p1", b'"p1"').replace(b"3.5", b'"3.5"'),
        GOOD.replace(b"p1", b' "p1"'),
        GOOD.replace(b"\np2", b"\n\n  \np2"),
        GOOD + b" \n\t\n",
        GOOD.replace(b"\n", b"\r"),
        GOOD.replace(b"\n", b"\r\n", 2),
        GOOD.replace(b"3.5", b"+35.0E-1").replace(b"2\n", b"2.\n", 1),
        GOOD.replace(b"person,group", b' "person", group '),
    ],
)
def test_harmless_habits_are_accepted(file: Path, habit: bytes) -> None:
    assert read(file, habit).equals(ANSWERS)


def row(line: int, text: str) -> str:
    """A good file with another text for one line."""
    lines = GOOD.decode().splitlines()
    lines[line - 1] = text
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("data", "where", "found", "expected"),
    [
        (b"", "team.csv", "an empty file", "something"),
        (b"\n\n", "team.csv", "no header", "person,group,frame,x,y"),
        (b"\xef\xbb\xbf", "team.csv", "no header", "person,group,frame,x,y"),
        (b"person,group,frame,x,y\n", "team.csv", "a header and no rows", "3 rows"),
        (b"person,group,frame,x,y", "team.csv", "a header and no rows", "3 rows"),
        (row(1, "person,group,frame,x"), "line 1", "no column 'y'", "person,group,frame,x,y"),
        (row(1, "person,group,frame,x,x"), "line 1", "the column 'x' 2 times", "each once"),
        (row(1, "person,group,frame,x,y,z"), "line 1", "the column 'z'", "no others"),
        (row(1, "person,group,frame,X,y"), "line 1", "the column 'X'", "no others"),
        (row(1, "person;group;frame;x;y"), "line 1", "'person;group;frame;x;y'", "separated by commas"),
        (row(1, "person\tgroup\tframe\tx\ty"), "line 1", "the header", "separated by commas"),
        (GOOD.split(b"\n", 1)[1], "line 1", "the column 'p1'", "person,group,frame,x,y"),
        (GOOD.decode().encode("utf-16"), "team.csv", "UTF-16", "UTF-8"),
        (GOOD.decode().encode("utf-16-le"), "line 1, byte 2", "UTF-16", "UTF-8"),
        (GOOD.replace(b"p2", b"\xfc2"), "line 4, byte 1", "0xfc, which is not UTF-8 (Latin-1", "UTF-8"),
        (GOOD.replace(b"p2", b"p\0"), "line 4, byte 2", "a NUL byte", "UTF-8"),
        (row(3, "p1,1,008,3,5,-0,4"), "line 3", "7 cells (decimal commas", "5 cells: person,group,frame,x,y"),
        (row(3, "p1,1,008,3"), "line 3", "4 cells", "5 cells"),
        (row(3, "p1"), "line 3", "1 cells", "5 cells"),
        (row(3, "p1,1,008,3,4,"), "line 3", "6 cells", "5 cells"),
        (row(3, "p1,1,008,3.5°,4"), "line 3, column x", "'3.5°'", "a number"),
        (row(3, "p1,1,008,3,1_0"), "line 3, column y", "'1_0'", "a number"),
        (row(3, "p1,1,008,3,0x10"), "line 3, column y", "'0x10'", "a number"),
        (row(3, "p1,1,008,3,٣"), "line 3, column y", "'٣'", "a number"),
        (row(3, "p1,1,008,3,NA"), "line 3, column y", "'NA'", "a number"),
        (row(3, "p1,1,008,3," + "1" * 9000), "line 3, column y", "'111", "a number"),
        (row(3, "p1,1,008,3,1e7"), "line 3, column y", "'1e7'", "at most ±1e+06"),
        (row(3, "p1,1,008,-1000001,1"), "line 3, column x", "'-1000001'", "at most ±1e+06"),
        (row(3, "p1,1,008,1,1e999"), "line 3, column y", "'1e999'", "at most ±1e+06"),
        (row(3, "p1,1,007,1,1"), "line 3", "person 'p1', group '1', frame '007', which line 2 has", "one row"),
        (row(3, "p1,1,8,1,1"), "line 3", "a row for person 'p1', group '1', frame '8'", "frame '008', perhaps"),
        (row(3, "p3,1,008,1,1"), "line 3", "a row for person 'p3'", "a trial of this data set (person 'p2', perhaps)"),
        (row(3, "p2,1,008,1,1"), "line 3", "a row for person 'p2'", "a trial of this data set"),
        (row(3, ",,,,"), "line 3", "a row for person '', group '', frame ''", "a trial"),
        (row(3, 'p1,1,008,"3,4'), "line 3", "a row that cannot be read (unexpected end", "separated by commas"),
        (row(3, 'p1,1,"008"9,3,4'), "line 3", "a row that cannot be read", "separated by commas"),
        (row(3, 'p1,1,008,3,"4\n5"'), "line 3, column y", r"'4\n5'", "a number"),
        (row(3, "p1,1,008,\N{EM SPACE}3,4"), "line 3, column x", "3'", "a number"),
        (row(3, "# note,1,008,3,4"), "line 3", "a row for person '# note'", "a trial"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    file: Path, data: bytes | str, where: str, found: str, expected: str
) -> None:
    refused = refusal(read, file, data)
    says(refused, where, found, expected)
    assert refused.usable is None


@pytest.mark.parametrize(
    ("data", "where", "found", "left"),
    [
        (row(3, ""), "team.csv", "no row for person 'p1', group '1', frame '008'", [0, 2]),
        (row(3, "p1,1,008,,4"), "line 3, column x", "an empty cell", [0, 2]),
        (row(3, 'p1,1,008,4,""'), "line 3, column y", "an empty cell", [0, 2]),
        (row(3, "p1,1,008,3,NaN"), "line 3, column y", "'NaN'", [0, 2]),
        (row(3, "p1,1,008,nan,nan"), "line 3, column x", "'nan'", [0, 2]),
        (row(2, "p1,1,007,inf,1"), "line 2, column x", "'inf'", [1, 2]),
        (row(2, "p1,1,007,1,-Infinity"), "line 2, column y", "'-Infinity'", [1, 2]),
    ],
)
def test_gaps_leave_the_other_answers_usable(
    file: Path, data: bytes | str, where: str, found: str, left: list[int]
) -> None:
    refused = refusal(read, file, data)
    says(refused, where, found, "")
    assert refused.count == 1
    assert refused.usable.equals(ANSWERS[left])


def test_the_first_twenty_faults_and_the_count_are_given(file: Path) -> None:
    trials = pl.DataFrame({"trial": [f"t{number}" for number in range(1000)]})
    text = "trial,x\n" + "".join(f"t{number},oops\n" for number in range(600))
    refused = refusal(read, file, text, key="trial", columns={"x": pl.Float64}, expected=trials)
    assert refused.count == 1000
    assert [fault.where for fault in refused.faults[:2]] == ["team.csv: line 2, column x", "team.csv: line 3, column x"]
    refused = refusal(read, file, "trial,x\nt5,1\n", key="trial", columns={"x": pl.Float64}, expected=trials)
    assert (refused.count, refused.usable.rows()) == (999, [("t5", 1.0)])


def test_a_cell_beyond_all_measure_is_refused(file: Path) -> None:
    trials = pl.DataFrame({"trial": [f"t{number}" for number in range(1000)]})
    text = "trial,x\nt1,1\nt2," + "1" * 200_000
    refused = refusal(read, file, text, key="trial", columns={"x": pl.Float64}, expected=trials)
    says(refused, "line 3", "field larger than field limit", "separated by commas")


def test_far_too_many_rows_are_not_all_looked_at(file: Path) -> None:
    refused = refusal(read, file, GOOD + b"x\n" * 5000)
    assert refused.count == 1004


def test_whole_numbers_and_texts(file: Path) -> None:
    trials = pl.DataFrame({"trial": ["a", "b"]})
    asked: dict[str, Any] = {"key": "trial", "columns": {"n": pl.Int64, "s": pl.String}, "expected": trials}
    for text in ("trial,n,s\na,3,x y\nb,-4, é \n", 'trial,n,s\nb,-4,é\na,3.0,"x y"\n'):
        assert read(file, text, **asked).rows() == [("a", 3, "x y"), ("b", -4, "é")]
    for cell in ("3.5", "1e2", "x"):
        says(
            refusal(read, file, f"trial,n,s\na,{cell},x\nb,1,y\n", **asked), "line 2, column n", cell, "a whole number"
        )
    for cell in ("99999999999999999999", "9" * 400):
        refused = refusal(read, file, f"trial,n,s\na,{cell},x\nb,1,y\n", **asked, limit=math.inf)
        says(refused, "line 2, column n", "9999999", "a whole number of at most")
    says(refusal(read, file, "trial,n,s\na,1,\nb,1,y\n", **asked), "line 2, column s", "an empty cell", "a text")
    says(refusal(read, file, "trial,n,s\na,1,  \nb,1,y\n", **asked), "line 2, column s", "an empty cell", "a text")


def test_keys_of_other_types_are_compared_as_texts(file: Path) -> None:
    trials = pl.DataFrame({"trial": ["a", "b"], "frame": [1, 2]})
    answers = read(file, "frame,x\n2,5\n1,4\n", key=("frame",), columns={"x": pl.Float64}, expected=trials)
    assert answers.rows() == [("a", 4.0), ("b", 5.0)]


def test_a_huge_line_is_refused_at_once_in_little_memory(file: Path) -> None:
    with file.open("wb") as out:
        out.write(b"person,group,frame,x,y\n")
        out.truncate(2 << 30)
    tracemalloc.start()
    says(refusal(read_table, file, KEY, POINT, TRIALS), "team.csv", "2.1 GB", "at most 66.3 kB")
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    "filling", ["','", "'1'", "'\\n'", "'\"'", "'p,'", "'a\\n'", "'\\U0001F600'", "'1,1,1,1,1\\n'"]
)
def test_the_worst_files_of_the_largest_size_take_bounded_memory_and_time(file: Path, filling: str) -> None:
    run_bounded(
        f"""
        import polars as pl
        from palestra.errors import Refused
        from palestra.formats.csv_table import read_table
        trials = pl.DataFrame({{"trial": [str(number) for number in range(20_000)]}})
        size = trials.height * 256
        text = ("trial,x\\n" + {filling} * size).encode()[:size]
        with open({str(file)!r}, "wb") as out:
            out.write(text)
        try:
            read_table({str(file)!r}, "trial", {{"x": pl.Float64}}, trials)
        except Refused as refused:
            assert len(str(refused)) < 10_000
        else:
            raise AssertionError
        """,
        megabytes=600,
    )


@quick
@given(st.binary(max_size=300))
@example(b"\x00")
@example(b"\xef\xbb\xbf\xef\xbb\xbf")
def test_arbitrary_bytes_are_refused(tmp_path: Path, data: bytes) -> None:
    refusal(read, tmp_path / "a.csv", data)


@quick
@given(st.text("person,group,frame,x,y p1207\n\r\t\"'.eE+-#nainf;é\x00", max_size=200))
def test_texts_that_look_like_tables_are_read_or_refused(tmp_path: Path, text: str) -> None:
    result_or_refusal(read, tmp_path / "a.csv", "person,group,frame,x,y\n" + text)


PIECES = [b"", b"p1", b"nan", b"inf", b"\xff", b"\xc3\xa9", *(bytes([byte]) for byte in b",\n\"\t 09e.-#\r\0_+'")]


def test_a_cell_too_many_at_the_very_end_is_refused(file: Path) -> None:
    from palestra.errors import Refused

    with pytest.raises(Refused, match="line 4: found 6 cells"):
        read(file, GOOD.rstrip(b"\n") + b",")


@quick
@given(st.data())
def test_mutated_files_are_read_alike_by_both_readers_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    """The careful reader is the authority: what the fast one takes, it takes too, with the same values."""
    mutated = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(mutated) - 1))
        piece = data.draw(st.sampled_from(PIECES))
        mutated[at : at + data.draw(st.integers(0, 2))] = piece
    file = tmp_path / "a.csv"
    answers = result_or_refusal(read, file, bytes(mutated))
    if answers is not None:
        careful = read_carefully(mutated.decode("utf-8-sig"), Layout(file, KEY, POINT, TRIALS, 1e6))
        assert answers.equals(careful)


names = st.text(string.ascii_letters + string.digits + "_-. é漢/#", min_size=1, max_size=8).map(str.strip).filter(bool)
numbers = st.floats(-1e6, 1e6)


@quick
@given(st.data())
def test_generated_files_come_back_exactly_whatever_the_order_and_habits(tmp_path: Path, data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.tuples(names, names), min_size=1, max_size=8, unique=True))
    values = data.draw(
        st.lists(st.tuples(numbers, st.integers(-1000, 1000), names), min_size=len(keys), max_size=len(keys))
    )
    trials = pl.DataFrame({"trial": [f"{number}" for number in range(len(keys))]}).with_columns(
        pl.DataFrame(keys, schema={"k": pl.String, "l": pl.String}, orient="row")
    )
    columns = {"f": pl.Float64, "i": pl.Int64, "s": pl.String}
    truth = trials.select("trial").hstack(pl.DataFrame(values, schema=columns, orient="row"))
    frame = trials.hstack(truth.select("f", "i", "s")).drop("trial")
    frame = frame[data.draw(st.permutations(range(frame.height)))].select(data.draw(st.permutations(frame.columns)))
    file = tmp_path / "a.csv"
    write_table(frame, file)
    text = file.read_bytes()
    assert read(file, text, key=("k", "l"), columns=columns, expected=trials).equals(truth)
    layout = Layout(file, ("k", "l"), columns, trials, 1e6)
    assert read_carefully(text.decode(), layout).equals(truth)
    spaced = text.replace(b",", b" , ") if b'"' not in text else text
    assert read(file, spaced.replace(b"\n", b"\r\n"), key=("k", "l"), columns=columns, expected=trials).equals(truth)


@quick
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_written_floats_read_back_exactly(tmp_path: Path, values: list[float]) -> None:
    trials = pl.DataFrame({"trial": [str(number) for number in range(len(values))]})
    file = tmp_path / "a.csv"
    write_table(trials.with_columns(x=pl.Series(values, dtype=pl.Float64)), file)
    answers = read_table(file, "trial", {"x": pl.Float64}, trials, limit=math.inf)
    assert [value.hex() for value in answers["x"]] == [value.hex() for value in values]


def test_a_written_table_has_plain_line_ends_and_short_floats(file: Path) -> None:
    write_table(pl.DataFrame({"a": ["x", 'y"z'], "b": [0.1, 1e-300]}), file)
    assert file.read_bytes() == b'a,b\nx,0.1\n"y""z",1e-300\n'
    assert [path.name for path in file.parent.iterdir()] == ["team.csv"]


def test_asking_for_a_column_twice_is_our_own_mistake(file: Path) -> None:
    with pytest.raises(ValueError, match="twice"):
        read(file, GOOD, columns={"frame": pl.String})
    with pytest.raises(ValueError, match="told apart"):
        read(file, "group,x\n1,2\n", key=("group",), columns={"x": pl.Float64})


# Bounds of one column

COUNTS = pl.DataFrame({"trial": ["a", "b"]})


def counted(tmp_path, *values, **given):
    file = tmp_path / "counts.csv"
    file.write_text("trial,yawns\n" + "".join(f"{trial},{value}\n" for trial, value in zip("ab", values, strict=True)))
    return read_table(file, key="trial", columns={"yawns": pl.Int64}, expected=COUNTS, **given)


def test_a_column_may_have_bounds_of_its_own(tmp_path):
    assert counted(tmp_path, 0, 60, bounds={"yawns": (0, 60)})["yawns"].to_list() == [0, 60]
    for value in (-3, 61):
        with pytest.raises(Refused) as refused:
            counted(tmp_path, 0, value, bounds={"yawns": (0, 60)})
        (fault,) = refused.value.faults
        assert (fault.found, fault.expected) == (f"'{value}'", "a whole number from 0 to 60")
    assert counted(tmp_path, -3, 60, limit=60)["yawns"].to_list() == [-3, 60], "without them the limit holds"


def test_bounds_of_a_column_that_is_none_are_a_slip_of_whoever_wrote_them(tmp_path):
    with pytest.raises(ValueError, match="bounds are given for yawn, expected columns of numbers: yawns"):
        counted(tmp_path, 0, 1, bounds={"yawn": (0, 60)})
