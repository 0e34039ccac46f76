import polars as pl
import pytest

from palestra.errors import Faults, PalestraError, Refused
from palestra.scoring.submission import collect
from tests.scoring.test_score import track_of

TRIALS = pl.DataFrame({"trial": ["a", "b", "c"], "unit": ["x", "y", "z"]})
TRUTH = pl.DataFrame({"trial": ["a", "b", "c"], "truth_number": [1, 2, 3]})


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
def test_a_careless_reader_is_made_up_for(tmp_path, names, where, found):
    with pytest.raises(Refused) as caught:
        collect(reading(names), tmp_path / "x.csv", TRIALS)
    assert [(where in fault.where, fault.found) for fault in caught.value.faults] == [(True, found)]


def test_gaps_alone_can_be_allowed(tmp_path):
    assert collect(reading(["a", "b"]), tmp_path / "x", TRIALS, allow_missing=True)["trial"].to_list() == ["a", "b"]


def test_other_faults_are_never_allowed(tmp_path):
    with pytest.raises(Refused):
        collect(reading(["a", "b", "d"]), tmp_path / "x", TRIALS, allow_missing=True)


def test_a_reader_s_own_gaps_can_be_allowed(tmp_path):
    def answers(file, trials):
        faults = Faults()
        faults.gap("row 1", "NaN", "a number")
        faults.finish(usable=pl.DataFrame({"trial": ["b"], "number": [1]}))

    track = track_of(TRIALS, TRUTH, read=answers)
    assert collect(track, tmp_path / "x", TRIALS, allow_missing=True)["trial"].to_list() == ["b"]


def test_a_track_without_files_says_so(tmp_path):
    with pytest.raises(PalestraError, match="takes no files"):
        collect(track_of(TRIALS, TRUTH), tmp_path / "x", TRIALS)
