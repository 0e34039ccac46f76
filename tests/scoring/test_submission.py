import math

import numpy as np
import polars as pl
import pytest

from palestra.authoring import Slip
from palestra.errors import Faults, PalestraError, Refused
from palestra.records import Metric
from palestra.scoring import score as scoring
from palestra.scoring.submission import collect, most_bytes
from tests.scoring.test_score import track_of

TRIALS = pl.DataFrame({"trial": ["a", "b", "c"], "unit": ["x", "y", "z"]})
TRUTH = pl.DataFrame({"trial": ["a", "b", "c"], "truth_number": [1, 2, 3]})


@pytest.fixture
def file(tmp_path):
    (tmp_path / "x.csv").write_text("something")
    return tmp_path / "x.csv"


def reading(names):
    """A track whose reader is careless: it returns whatever is there."""
    found = pl.DataFrame({"trial": names, "number": range(len(names))})
    return track_of(TRIALS, TRUTH, read=lambda file, trials: found)


@pytest.mark.parametrize(
    ("names", "where", "found"),
    [
        (["a", "b", "c", "c"], "trial 'c'", "more than one answer"),
        (["a", "b", "c", "d"], "trial 'd'", "an answer"),
        (["a", "b"], "trial c", "no answer"),
    ],
)
def test_a_careless_reader_is_made_up_for(file, names, where, found):
    with pytest.raises(Refused) as caught:
        collect(reading(names), file, TRIALS)
    assert [(where in fault.where, fault.found) for fault in caught.value.faults] == [(True, found)]


def test_gaps_alone_can_be_allowed(file):
    assert collect(reading(["a", "b"]), file, TRIALS, allow_missing=True)["trial"].to_list() == ["a", "b"]


def test_other_faults_are_never_allowed(file):
    with pytest.raises(Refused):
        collect(reading(["a", "b", "d"]), file, TRIALS, allow_missing=True)


def test_a_reader_s_own_gaps_can_be_allowed(file):
    def answers(file, trials):
        faults = Faults()
        faults.gap("row 1", "NaN", "a number")
        faults.finish(usable=pl.DataFrame({"trial": ["b"], "number": [1]}))

    track = track_of(TRIALS, TRUTH, read=answers)
    assert collect(track, file, TRIALS, allow_missing=True)["trial"].to_list() == ["b"]


def test_a_track_without_files_says_so(file):
    with pytest.raises(PalestraError, match="takes no files"):
        collect(track_of(TRIALS, TRUTH), file, TRIALS)


NAIVE = track_of(
    TRIALS,
    TRUTH,
    read=lambda file, trials: pl.read_csv(file),
    blank=lambda trials: trials.select("trial", number=pl.lit(0.0)),
)
WHOLE = "trial,number\na,1\nb,2\nc,3\n"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (WHOLE.replace("2", "NaN"), ["x.csv, trial 'b', column number: found nan, expected a value"]),
        (WHOLE.replace("2", ""), ["x.csv, trial 'b', column number: found nothing, expected a value"]),
        (WHOLE.replace("2", "inf"), ["x.csv, trial 'b', column number: found inf, expected a finite number"]),
        (WHOLE.replace("2", "-inf"), ["x.csv, trial 'b', column number: found -inf, expected a finite number"]),
        (WHOLE.replace("2", "-1e300"), ["column number: found -1e+300, expected a finite number, 1e+100 at most"]),
        (WHOLE.replace("2", "two"), ["x.csv, trial 'b', column number: found 'two', expected a number"]),
        (f"{WHOLE}b,2\n", ["x.csv, trial 'b': found more than one answer, expected one answer"]),
        (f"{WHOLE}d,2\n", ["x.csv, trial 'd': found an answer, expected no such trial in this data set"]),
        (WHOLE[:-4], ["x.csv, trial c: found no answer, expected one answer"]),
        (WHOLE.replace("number", "nmber"), ["found no column number", "found a column 'nmber'"]),
        (WHOLE.replace("number", "truth_number"), ["found no column number", "found a column 'truth_number'"]),
        ("", ["found an empty file"]),
        ("trial,number\na,1\nb,2,7\nc,3\n", ["found what cannot be read"]),
        ("trial,number\n1,1\n2,2\n3,3\n", ["trial '1': found an answer"] + 5 * [""]),
    ],
)
def test_what_a_naive_reader_lets_through_is_refused(file, text, faults):
    file.write_text(text)
    with pytest.raises(Refused) as caught:
        collect(NAIVE, file, TRIALS)
    assert caught.value.count == len(faults)
    assert all(part in str(fault) for part, fault in zip(faults, caught.value.faults, strict=True))


def test_an_oversize_file_is_refused_before_a_naive_reader_sees_it(file):
    file.write_text(WHOLE + "\n" * most_bytes(NAIVE.files, TRIALS))
    with pytest.raises(Refused, match=r"at most 1\.1 MB"):
        collect(track_of(TRIALS, TRUTH, read=lambda *_: pytest.fail("it was read")), file, TRIALS)


@pytest.mark.parametrize("gap", ["NaN", ""])
def test_a_naive_reader_s_gaps_can_be_allowed(file, gap):
    file.write_text(WHOLE.replace("2", gap))
    assert collect(NAIVE, file, TRIALS, allow_missing=True)["trial"].to_list() == ["a", "c"]


@pytest.mark.parametrize("wrong", [WHOLE.replace("2", "inf"), f"{WHOLE}b,2\n"])
def test_infinities_and_doubles_are_no_gaps(file, wrong):
    file.write_text(wrong)
    with pytest.raises(Refused):
        collect(NAIVE, file, TRIALS, allow_missing=True)


def test_many_faults_are_counted_and_few_are_shown(file):
    names = [f"t{number}" for number in range(1000)]
    trials = pl.DataFrame({"trial": names, "unit": names})
    file.write_text("trial,number\n" + "".join(f"{name},inf\n" for name in names))
    with pytest.raises(Refused, match="and 980 more"):
        collect(NAIVE, file, trials)


def test_answers_come_in_the_order_of_the_trials(file):
    file.write_text("trial,number\nc,3\na,1\nb,2\n")
    assert collect(NAIVE, file, TRIALS).rows() == [("a", 1), ("b", 2), ("c", 3)]


@pytest.mark.parametrize(("text", "found"), [("1.5", "1.5"), ("two", "'two'"), ("1e30", None)])
def test_whole_numbers_are_asked_for_where_the_template_has_them(file, text, found):
    counts = track_of(
        TRIALS, TRUTH, read=NAIVE.files.read, blank=lambda trials: trials.select("trial", number=pl.lit(0))
    )
    file.write_text(WHOLE.replace("2", "2.0"))
    assert collect(counts, file, TRIALS)["number"].to_list() == [1, 2, 3]
    file.write_text(WHOLE.replace("2", text))
    if found:
        with pytest.raises(Refused, match=f"found {found}, expected a whole number"):
            collect(counts, file, TRIALS)
    else:
        assert collect(counts, file, TRIALS)["number"].to_list() == [1, 1e30, 3]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, 1e300])
@pytest.mark.parametrize(
    "around",
    [
        lambda number: [number],
        lambda number: [[number], []],
        lambda number: {"x": 0.0, "y": [number]},
    ],
    ids=["list", "lists", "fields"],
)
def test_numbers_in_lists_and_fields_are_looked_at(file, around, wrong):
    found = pl.DataFrame({"trial": ["a", "b", "c"], "number": [around(1.0), around(wrong), around(3.0)]})
    with pytest.raises(Refused, match="trial 'b', column number"):
        collect(track_of(TRIALS, TRUTH, read=lambda file, trials: found), file, TRIALS)


def test_a_template_that_leaves_values_out_lets_answers_do_so(file):
    track = track_of(
        TRIALS,
        TRUTH,
        read=NAIVE.files.read,
        blank=lambda trials: trials.select("trial", number=pl.lit(None, pl.Float64)),
    )
    file.write_text(WHOLE.replace("2", ""))
    assert collect(track, file, TRIALS)["number"].to_list() == [1, None, 3]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_metric_that_is_no_number_is_the_track_s_fault(file, value):
    metric = Metric("odd", "", "lower", lambda rows, draws: [value] * len(draws.weights))
    track = track_of(TRIALS, TRUTH, metrics=(metric,))
    answers = TRIALS.select("trial", number=pl.lit(1))
    with pytest.raises(Slip, match=f"number-v1: .*: its metric odd came out as {value}"):
        scoring.score(track, scoring.load(track, file.parent), answers, "me")


@pytest.mark.parametrize("error", [KeyError("answers"), TypeError("'int' is not iterable"), RecursionError("too deep")])
def test_what_a_naive_reader_stumbles_over_is_in_the_file(file, error):
    def stumbles(file, trials):
        raise error

    with pytest.raises(Refused, match=rf"x\.csv: found what cannot be read \({type(error).__name__}"):
        collect(track_of(TRIALS, TRUTH, read=stumbles), file, TRIALS)


@pytest.mark.parametrize("error", [NameError("name 'pd' is not defined"), FileNotFoundError("names.csv")])
def test_what_is_wrong_with_the_track_is_not_blamed_on_the_file(file, error):
    def fails(file, trials):
        raise error

    with pytest.raises(type(error)):
        collect(track_of(TRIALS, TRUTH, read=fails), file, TRIALS)


@pytest.mark.parametrize("column", ["unit", "truth_number", "latency_s"])
def test_without_a_template_columns_that_scoring_has_itself_are_refused(file, column):
    file.write_text(f"trial,number,{column}\na,1,1\nb,2,2\nc,3,3\n")
    with pytest.raises(Refused, match=f"found a column '{column}'"):
        collect(track_of(TRIALS, TRUTH, read=NAIVE.files.read), file, TRIALS)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, 1e300])
def test_numbers_in_arrays_are_looked_at(file, wrong):
    numbers = pl.Series("number", np.array([[[1.0, 2.0]], [[1.0, wrong]], [[3.0, 4.0]]]))
    found = pl.DataFrame({"trial": ["a", "b", "c"], "number": numbers})
    with pytest.raises(Refused, match="trial 'b', column number"):
        collect(track_of(TRIALS, TRUTH, read=lambda file, trials: found), file, TRIALS)
