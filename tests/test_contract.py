"""Every track keeps the contract: those of the package, and one that lives outside it."""

import dataclasses

import polars as pl
import pytest

from palestra import registry
from palestra.contract import check_track
from palestra.errors import PalestraError
from tests import OUTSIDE
from tests.changed import changed


@pytest.fixture
def outside(monkeypatch):
    monkeypatch.setenv(registry.OUTSIDE, "")
    registry.add_folder(OUTSIDE)


@pytest.fixture
def clips(tmp_path):
    """A data set for the outside track."""
    names = [f"c{i}" for i in range(10)]
    (tmp_path / "truth").mkdir()
    pl.DataFrame({"trial": names, "unit": [f"p{i // 2}" for i in range(10)]}).write_csv(tmp_path / "clips.csv")
    pl.DataFrame({"trial": names, "truth_blinks": range(10)}).write_csv(tmp_path / "truth" / "clips.csv")
    return tmp_path


@pytest.mark.parametrize("track_id", sorted(registry.tracks()))
def test_a_track_of_the_package_keeps_the_contract(track_id, tiny):
    check_track(registry.track(track_id), tiny(track_id))


def test_a_track_outside_the_package_is_found_and_keeps_the_contract(outside, clips):
    check_track(registry.track("blink-count-v1"), clips)


def test_a_whole_track_takes_at_most_forty_lines():
    assert len((OUTSIDE / "blink_count_v1.py").read_text().splitlines()) <= 40


def test_an_outside_track_scores_a_file_on_the_command_line(outside, clips, cli):
    (clips / "a.csv").write_text("trial,blinks\n" + "".join(f"c{i},{i + 1}\n" for i in range(10)))
    found = cli("score", "blink-count-v1", clips / "a.csv", "--data", clips, "--json")
    assert found.json["metrics"]["mean_error"]["value"] == 1.0


@pytest.mark.parametrize(
    ("changes", "promise"),
    [
        ({"id": "Blink"}, "kebab-case"),
        ({"title": " "}, "title"),
        ({"metrics": ()}, "at least one metric"),
        ({"files": None}, "how answers arrive"),
        ({"error": "absent"}, "names as error"),
        ({"missing": {"error": float("nan")}}, r"and is a number \(found nan"),
        ({"missing": {"error": -1.0}}, "no better than answers"),
        ({"units": ("person",)}, "column person"),
    ],
)
def test_a_broken_promise_is_named(outside, clips, changes, promise):
    broken = changed(registry.track("blink-count-v1"), **changes)
    with pytest.raises(PalestraError, match=promise):
        check_track(broken, clips)


def test_truth_that_trials_show_is_found(outside, clips):
    track = registry.track("blink-count-v1")
    leaking = dataclasses.replace(track, trials=lambda data: track.trials(data).join(track.truth(data), on="trial"))
    with pytest.raises(PalestraError, match="show to contestants"):
        check_track(leaking, clips)


def test_a_trial_that_is_twice_in_the_truth_is_found(outside, clips):
    track = registry.track("blink-count-v1")
    doubled = dataclasses.replace(track, truth=lambda data: pl.concat([track.truth(data)] * 2))
    with pytest.raises(PalestraError, match="once in its truth"):
        check_track(doubled, clips)


@pytest.mark.parametrize(
    ("mended", "promise"),
    [
        (lambda answers: answers.unique("trial", maintain_order=True), "a second answer to a trial is refused"),
        (lambda answers: answers.filter(pl.col("trial").str.len_chars() == 2), "unknown trial is refused"),
        (lambda answers: answers.with_columns(pl.col("blinks").cast(pl.Float64).fill_nan(0.0)), "nan is refused"),
    ],
)
def test_a_reader_that_mends_what_it_should_refuse_is_found(outside, clips, mended, promise):
    def read(file, trials):
        return mended(pl.read_csv(file, schema_overrides={"trial": pl.String}))

    with pytest.raises(PalestraError, match=promise):
        check_track(changed(registry.track("blink-count-v1"), read=read), clips)


def test_a_reader_that_only_calls_polars_keeps_the_contract(outside, clips):
    check_track(changed(registry.track("blink-count-v1"), read=lambda file, trials: pl.read_csv(file)), clips)
