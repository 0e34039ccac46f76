"""What a learner is given in a fold: never the truth of what it is tested on."""

from pathlib import Path

import polars as pl
import pytest

from palestra.errors import PalestraError
from palestra.evaluation import run
from palestra.evaluation.fold_job import _checked
from palestra.executors.processes import ProcessExecutor
from palestra.registry import track
from tests.evaluation.benches import SESSIONS, answered, bench_on, learner, noted, write_data

ROWS = pl.DataFrame({"trial": ["a", "b"], "piece": ["x", "x"]})


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_data(tmp_path_factory.mktemp("eyediap"))


def test_a_learner_is_shown_heads_and_eyes_and_nothing_of_the_target(data, tmp_path):
    (tmp_path / "notes").mkdir()
    executor = ProcessExecutor(1)
    try:
        answered(bench_on(data, "3-FT"), learner("Watched", notes=tmp_path / "notes"), executor, tmp_path / "kept")
    finally:
        executor.close()
    (columns,) = noted(tmp_path / "notes", "columns")
    assert {"trial", "piece", "frame", "r00", "left_x", "right_z"} <= set(columns.split())
    assert not [name for name in columns.split() if name.startswith(("truth_", "target_", "sx", "sy", "state"))]
    tested = noted(tmp_path / "notes", "test")
    assert tested == dict.fromkeys(SESSIONS, 2)  # by its own first half, and by all others
    assert noted(tmp_path / "notes", "fit").total() == 2 * len(SESSIONS)


def test_answers_come_in_the_columns_and_kinds_of_the_track():
    answers = pl.DataFrame({"trial": ["b"], "left_vx": [1]})
    found = _checked(track("remote-gaze-v1"), "me", answers, ROWS)
    assert found.columns[:2] == ["trial", "left_ox"]
    assert found.row(0, named=True)["left_vx"] == 1.0
    assert found["left_vx"].dtype == pl.Float64
    assert found["right_vx"].null_count() == 1


def test_no_answer_is_null_and_infinity_is_none():
    answers = pl.DataFrame({"trial": ["a", "b"], "left_vx": [None, 1.0]})
    assert _checked(track("remote-gaze-v1"), "me", answers, ROWS)["left_vx"].to_list() == [None, 1.0]
    with pytest.raises(PalestraError, match="left_vx = inf for b"):
        _checked(track("remote-gaze-v1"), "me", answers.with_columns(left_vx=pl.col("left_vx") / 0), ROWS)


def test_trials_that_are_numbers_are_no_table_of_answers():
    with pytest.raises(PalestraError, match="a text `trial`"):
        _checked(track("remote-gaze-v1"), "me", pl.DataFrame({"trial": [1]}), ROWS)


def test_what_a_job_says_can_be_sent(data):
    """It goes to other machines: folders are whole, and nothing in it is a table."""
    (first, *_) = run._jobs(bench_on(data, "2-FT"), learner("HeadPose"), ["3"])
    assert Path(first.data).is_absolute() and Path(first.learner.rpartition(":")[0]).is_absolute()
    assert first.gpu == "3" and first.settings["protocol"] == "2-FT"
