"""Whose fault it is when a job comes to nothing, and what each side is told of it."""

import dataclasses
import shutil
import zipfile

import numpy as np
import polars as pl
import pytest

from palestra import registry
from palestra.contest.log import events as e
from palestra.contest.workers import score
from palestra.contest.workers.jobs import do
from palestra.contest.workers.score import Other
from palestra.errors import PalestraError
from palestra.records import Study
from palestra.sandbox import backends
from tests.changed import changed as changed_track
from tests.contest.bundles import Home

TRACK = "near-eye-gaze-v1"


@pytest.fixture
def home(tmp_path, tiny):
    return Home(tmp_path, TRACK, tiny(TRACK))


@pytest.fixture
def blank(home):
    """A submission in order."""
    track, file = registry.track(TRACK), home.folder / "blank.csv"
    track.writes(track.blank(track.trials(home.folder / "data")), file)
    return file


def is_ours(failure, *secrets):
    """The platform's fault, of which a contestant reads nothing but that it is."""
    assert failure is not None and failure.fault == "platform"
    assert failure.message == score.OUR_FAULT
    return all(secret in failure.trace for secret in secrets)


@pytest.mark.parametrize("kind", ["check", "score"])
def test_truth_that_cannot_be_read_is_no_contestants_fault_and_nothing_of_it_is_told(tmp_path, tiny, blank, kind):
    broken = tmp_path / "broken"
    shutil.copytree(tiny(TRACK), broken)
    truth = next(path for path in sorted((broken / "truth").rglob("*.csv")))
    truth.write_text(truth.read_text() + "secret,of,the,truth\n")
    (tmp_path / "contest").mkdir()
    home = Home(tmp_path / "contest", TRACK, broken)
    assert is_ours(do(home.assignment(kind, blank)).failure, "OursToMend", "truth")


def changed(file):
    """A table whose last number is another one."""
    text = file.read_text().rstrip("\n")
    file.write_text(text[:-1] + ("1" if text[-1] != "1" else "2") + "\n")


def test_a_mended_truth_counts_from_the_next_submission_on(tmp_path, tiny, blank):
    shutil.copytree(tiny(TRACK), tmp_path / "mended")
    (tmp_path / "contest").mkdir()
    home = Home(tmp_path / "contest", TRACK, tmp_path / "mended")
    first = score.sheet_of(home.assignment("score", blank))
    assert score.sheet_of(home.assignment("score", blank)) is first, "it is kept between jobs"
    changed(next(path for path in sorted((tmp_path / "mended" / "truth").rglob("*.csv"))))
    assert score.sheet_of(home.assignment("score", blank)).digest != first.digest


def test_a_set_that_is_scored_again_reads_its_data_anew(home, blank):
    first = score.sheet_of(home.assignment("score", blank))
    again = score.sheet_of(home.assignment("score", blank, rescoring="r1"))
    assert again is not first
    assert score.sheet_of(home.assignment("score", blank, rescoring="r1")) is again


@pytest.mark.parametrize("kind", ["check", "score"])
def test_a_file_that_the_store_has_lost_is_no_contestants_fault(home, blank, kind):
    assignment = home.assignment(kind, blank)
    shutil.rmtree(home.store)
    assert is_ours(do(assignment).failure, "no file")


def test_what_is_lost_of_another_team_is_no_contestants_fault(home, blank):
    assignment = home.assignment("score", blank, others=(Other("s0", "0" * 64),))
    assert is_ours(do(assignment).failure, "no file")


def test_a_bundle_is_not_refused_because_nothing_can_run_it_here(tmp_path, tiny, monkeypatch):
    def choose(trusted=False):
        raise PalestraError("No sandbox works here.")

    home = Home(tmp_path, "near-eye-live-v1", tiny("near-eye-live-v1"))
    monkeypatch.setattr(backends, "choose", choose)
    assert is_ours(do(home.assignment("check", home.bundle("good"))).failure, "No sandbox works here.")


@pytest.mark.parametrize("wrong", ["NaN", "inf", "1e300", "many"])
def test_a_file_that_a_careless_reader_lets_through_is_refused_by_the_check(home, blank, monkeypatch, wrong):
    track = registry.track(TRACK)

    def read(file, trials):
        first = pl.int_range(pl.len()) == 0
        return track.blank(trials).with_columns(x=pl.when(first).then(pl.lit(wrong)).otherwise(pl.lit("1")))

    careless = changed_track(track, read=read)
    monkeypatch.setattr(registry, "track", lambda name, settings=None: careless)
    (refused,) = do(home.assignment("check", blank)).bodies
    assert isinstance(refused, e.SubmissionRefused) and refused.count == 1


@pytest.mark.parametrize(
    "error", [IndexError("string index out of range"), IsADirectoryError(21, "Is a directory"), OSError("torn")]
)
@pytest.mark.parametrize("where", ["read", "inspect"])
def test_what_a_reader_has_no_words_for_is_a_refusal_and_its_traceback_is_the_organisers(
    home, blank, monkeypatch, error, where
):
    def fail(*given):
        raise error

    unready = changed_track(registry.track(TRACK), **{where: fail})
    monkeypatch.setattr(registry, "track", lambda name, settings=None: unready)
    outcome = do(home.assignment("check", blank))
    assert outcome.failure is None, "it counts as the contestant's, and is not tried again for nothing"
    (refused,) = outcome.bodies
    assert isinstance(refused, e.SubmissionRefused) and "what cannot be read" in refused.faults[0]
    assert "in fail" in home.files.read(refused.trace).decode() and "in fail" not in refused.faults[0]


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), OSError(5, "Input/output error"), MemoryError()]
)
def test_a_disk_that_fails_under_a_reader_is_no_contestants_fault(home, blank, monkeypatch, error):
    def fail(*given):
        raise error

    unready = changed_track(registry.track(TRACK), read=fail)
    monkeypatch.setattr(registry, "track", lambda name, settings=None: unready)
    assert is_ours(do(home.assignment("check", blank)).failure, "in fail")


def test_a_zip_with_a_member_without_a_name_is_read_and_not_tried_three_times(tmp_path, tiny):
    home = Home(tmp_path, "near-eye-live-v1", tiny("near-eye-live-v1"))
    with zipfile.ZipFile(home.bundle("odd"), "a") as archive:
        archive.writestr("nameless", "x")
        archive.infolist()[-1].filename = ""
    outcome = do(home.assignment("check", tmp_path / "odd.zip"))
    assert outcome.failure is None and isinstance(outcome.bodies[0], e.SubmissionAccepted)


def test_a_board_that_has_nothing_to_be_ordered_by_is_the_organisers_to_mend(home, blank, monkeypatch):
    track = registry.track(TRACK)
    metric = dataclasses.replace(track.ranks, reduce=lambda rows, draws: np.full(len(draws.weights), np.nan))
    study = Study(pieces=lambda data: [], samples=lambda data, names: pl.DataFrame(), protocols=())
    track = changed_track(track, metrics=(metric, *track.metrics[1:]), study=study)
    monkeypatch.setattr(registry, "track", lambda name, settings=None: track)
    assert is_ours(do(home.assignment("score", blank)).failure, "by which the board of phase live is ordered")
