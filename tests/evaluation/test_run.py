"""A protocol gives the same numbers wherever its folds run, and no fold is done twice."""

import io
import os
import shutil
from concurrent.futures import Future
from pathlib import Path

import polars as pl
import pytest

from palestra.console import as_json
from palestra.errors import PalestraError, UnknownName
from palestra.evaluation import run as benching
from palestra.evaluation.fold_job import run
from palestra.executors.processes import ProcessExecutor, Raised
from palestra.scoring import score
from tests.evaluation.benches import LEARNERS, SESSIONS, answered, bench_on, learner, noted, write_data


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_data(tmp_path_factory.mktemp("eyediap"))


@pytest.fixture(scope="module")
def one():
    executor = ProcessExecutor(1)
    yield executor
    executor.close()


@pytest.fixture
def one_fold(data):
    """All sessions by one training, so that what fails in it fails alone."""
    return bench_on(data, "cross-data", train_data=data)


@pytest.fixture
def notes(tmp_path) -> Path:
    (tmp_path / "notes").mkdir()
    return tmp_path / "notes"


@pytest.fixture
def kept(tmp_path) -> Path:
    return tmp_path / "kept"


def test_one_worker_and_two_give_the_same_to_the_last_bit(data, one, tmp_path):
    bench, who = bench_on(data), learner("HeadPose")
    two = ProcessExecutor(2)
    try:
        found = [answered(bench, who, executor, tmp_path / name) for executor, name in ((one, "1"), (two, "2"))]
    finally:
        two.close()
    assert found[0].equals(found[1])
    files = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in "12"]
    assert files[0] == files[1] and len(files[0]) == len(SESSIONS)
    sheet = score.load(bench.track, data)
    results = [benching.scored(bench, who, answers, sheet).result for answers in found]
    assert as_json([results[0].metrics, results[0].by]) == as_json([results[1].metrics, results[1].by])
    assert 0 < results[0].metrics["error_deg"].value < 90
    assert results[0].provenance.settings["protocol"] == "1-FT"


def test_a_second_run_repeats_no_fold(data, one, notes, kept):
    bench, who = bench_on(data), learner("HeadPose", notes=notes)
    first = answered(bench, who, one, kept)
    assert noted(notes, "fit") == dict.fromkeys(SESSIONS, 1)
    steps: list[int] = []
    assert benching.answers(bench, who, one, kept, steps.append).equals(first)
    assert noted(notes, "fit") == dict.fromkeys(SESSIONS, 1)
    assert steps == [len(SESSIONS)]


def test_where_the_data_lies_does_not_count(data, one, notes, kept, tmp_path):
    who = learner("HeadPose", notes=notes)
    first = answered(bench_on(data), who, one, kept)
    shutil.copytree(data, tmp_path / "moved")
    assert answered(bench_on(tmp_path / "moved"), who, one, kept).equals(first)
    assert noted(notes, "fit").total() == len(SESSIONS)


def test_all_is_done_anew_where_one_asks_for_it(data, one, notes, kept):
    bench, who = bench_on(data), learner("HeadPose", notes=notes)
    first = answered(bench, who, one, kept)
    assert answered(bench, who, one, kept, fresh=True).equals(first)
    assert noted(notes, "fit") == dict.fromkeys(SESSIONS, 2)


def test_another_program_option_seed_or_protocol_is_another_fold(data, one, notes, kept, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(LEARNERS.read_text())
    answered(bench_on(data), learner("HeadPose", file, notes=notes), one, kept)
    trained = [noted(notes, "fit").total()]

    def again(bench, **options) -> None:
        answered(bench, learner("HeadPose", file, notes=notes, **options), one, kept)
        trained.append(noted(notes, "fit").total())

    again(bench_on(data), strength=2)
    again(bench_on(data, seed=1))
    again(bench_on(data, "leave-one-person-out"))
    file.write_text(file.read_text() + "\n# changed\n")
    again(bench_on(data))
    assert trained == [4, 8, 12, 16, 20]


def test_what_a_program_imports_from_beside_it_is_part_of_it(data, one, notes, kept, tmp_path):
    (tmp_path / "helping_hand.py").write_text("SCALE = 1\n")
    file = tmp_path / "mine.py"
    file.write_text("import helping_hand\n" + LEARNERS.read_text())
    answered(bench_on(data), learner("HeadPose", file, notes=notes), one, kept)
    (tmp_path / "helping_hand.py").write_text("SCALE = 2\n")
    answered(bench_on(data), learner("HeadPose", file, notes=notes), one, kept)
    assert noted(notes, "fit").total() == 2 * len(SESSIONS)


def test_a_changed_data_file_is_another_data_set(data, one, notes, kept, tmp_path):
    copy, who = tmp_path / "data", learner("HeadPose", notes=notes)
    shutil.copytree(data, copy)
    first = answered(bench_on(copy), who, one, kept)
    pose = copy / "Data" / SESSIONS[0] / "head_pose.txt"
    lines = pose.read_text().splitlines()
    lines[3], lines[4] = (f"{i};{lines[j].partition(';')[2]}" for i, j in ((2, 4), (3, 3)))
    pose.write_text("\n".join(lines) + "\n")
    assert not answered(bench_on(copy), who, one, kept).equals(first)
    assert noted(notes, "fit").total() == 2 * len(SESSIONS)


def test_long_files_count_with_pieces_and_their_time(tmp_path, monkeypatch):
    monkeypatch.setattr(benching, "WHOLE_BYTES", 1 << 18)
    film = tmp_path / "film.mov"
    film.write_bytes(bytes(1 << 20))
    first = benching.data_digest(tmp_path)
    assert benching.data_digest(tmp_path) == first
    with film.open("r+b") as opened:
        opened.seek(100_000)
        opened.write(b"x")
    assert benching.data_digest(tmp_path) != first


def test_sessions_that_are_links_are_looked_into(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "a.txt").write_text("1")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "session").symlink_to(tmp_path / "far")
    first = benching.data_digest(tmp_path / "data")
    (tmp_path / "far" / "a.txt").write_text("2")
    assert benching.data_digest(tmp_path / "data") != first


def test_a_fold_whose_process_ended_is_tried_again(data, one, notes, kept):
    again = answered(bench_on(data), learner("CrashesOnce", notes=notes), one, kept)
    assert again.equals(answered(bench_on(data), learner("HeadPose"), one, kept))
    assert noted(notes, "fit").total() == len(SESSIONS) + 1


def test_a_program_that_always_crashes_is_named_after_three_tries(one_fold, one, notes, kept):
    with pytest.raises(
        PalestraError, match=r"learners.py:Crashes, in the fold that tests 1_A.* and 1 more, ended 3.*7"
    ):
        answered(one_fold, learner("Crashes", notes=notes), one, kept)
    assert noted(notes, "fit").total() == benching.TRIES


def test_an_error_of_the_program_is_shown_with_its_traceback(one_fold, one, kept):
    with pytest.raises(PalestraError) as told:
        answered(one_fold, learner("Raises"), one, kept)
    for words in ("learners.py:Raises", "the fold that tests 1_A_FT_S", "Traceback", "no sunshine today"):
        assert words in str(told.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("NoTable", "expected a polars table"),
        ("UnknownTrial", "answered elsewhere/1_A_FT_S/0, which it was not asked"),
        ("DoubleTrial", "answered 1_A_FT_S/0 more than once"),
        ("StrangeColumn", "the column 'sure', expected trial, left_ox"),
        ("NotANumber", "left_vx = nan for 1_A_FT_S/0"),
        ("Words", "left_vx as String, expected Float64"),
    ],
)
def test_a_wrong_answer_is_named_in_words(one_fold, one, kept, name, words):
    with pytest.raises(PalestraError) as told:
        answered(one_fold, learner(name), one, kept)
    assert words in str(told.value)
    assert "Traceback" not in str(told.value)


def test_folds_that_are_done_are_kept_though_another_failed(data, kept):
    """All are done at once, and one of them has failed: the others are written before it is told."""

    class Done:
        name, capacity = "done", 1

        def submit(self, work, job):
            future: Future[bytes] = Future()
            if job.fold.tests[0][1].piece == SESSIONS[0]:
                future.set_exception(Raised("palestra.errors.PalestraError: not this one"))
            else:
                future.set_result(b"answers")
            return future

        def end(self, future):
            raise AssertionError("nothing runs")

    with pytest.raises(PalestraError, match="not this one"):
        answered(bench_on(data), learner("HeadPose"), Done(), kept)
    assert len(list(kept.iterdir())) == len(SESSIONS) - 1


def test_cards_of_this_machine_are_shared_out_among_processes(data, notes, kept, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,7")
    executor = ProcessExecutor(1)
    try:
        answered(bench_on(data), learner("Watched", notes=notes), executor, kept)
    finally:
        executor.close()
    assert noted(notes, "cards") == {"5": len(SESSIONS)}  # a process keeps the card that it got first


def test_each_fold_has_one_thread_and_this_process_keeps_its_own(data, notes, kept, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    executor = ProcessExecutor(1)
    try:
        answered(bench_on(data), learner("Watched", notes=notes), executor, kept)
    finally:
        executor.close()
    assert set(noted(notes, "threads")) == {"1 1"}
    assert set(noted(notes, "polars")) == {"1"}
    assert "OMP_NUM_THREADS" not in os.environ


def test_the_answers_are_those_of_the_folds_done_by_hand(data, one, kept):
    bench, who = bench_on(data, "2-FT"), learner("HeadPose")
    whole = answered(bench, who, one, kept)
    by_hand = [one.submit(run, job).result(120) for job in benching._jobs(bench, who, [])]
    assert whole.equals(pl.concat(pl.read_parquet(io.BytesIO(part)) for part in by_hand))


def test_a_protocol_that_learns_elsewhere_needs_to_know_where(data):
    with pytest.raises(PalestraError, match="--train-data"):
        bench_on(data, "cross-data")


def test_another_data_set_is_learnt_from(data, one, notes, kept, tmp_path):
    elsewhere = write_data(tmp_path / "elsewhere")
    bench = bench_on(data, "cross-data", train_data=elsewhere)
    found = answered(bench, learner("HeadPose", notes=notes), one, kept)
    assert noted(notes, "fit") == {" ".join(sorted(SESSIONS)): 1}
    assert found["trial"].str.starts_with("elsewhere/").all()
    assert score.load(bench.track, data).truth.height > 0


def test_names_that_are_none_are_told_with_the_nearest(data):
    with pytest.raises(UnknownName, match="1-FT"):
        bench_on(data, "1-TF")
    with pytest.raises(PalestraError, match="expected a class NoPredict with fit"):
        learner("NoPredict")
    with pytest.raises(PalestraError, match="there is no such file"):
        learner("X", Path("nowhere.py"))
