"""A run's log: whole records, once each, whatever happens to the process or the disk."""

import os
from pathlib import Path

import polars as pl
import pytest

from palestra.errors import PalestraError
from palestra.studio.present.clock import PageClocks
from palestra.studio.present.onsets import onset_rows, summary_of, write_onsets
from palestra.studio.present.plans.geometry import Screen
from palestra.studio.present.plans.planning import plan_of
from palestra.studio.present.plans.stimuli import Emotion, Stimuli, Targets
from palestra.studio.present.reports import Report
from palestra.studio.present.run import LOG, Run
from palestra.studio.present.run_log import RunLog, read_log

SCREEN = Screen(531, 299, 600)
PAGE = "page-of-a-test"
GAZE = plan_of(Stimuli(SCREEN, (Targets(count=5),)))
FILMS = plan_of(Stimuli(SCREEN, (Emotion(),)))


@pytest.fixture
def run(tmp_path: Path):
    run = Run.open(tmp_path / "run", GAZE, "seed = 0")
    yield run
    run.close()


def onset(seq: int, event: int, planned_ms: float = 1000, frame_ms: float = 1004) -> Report:
    return Report(PAGE, seq, "onset", frame_ms, event, 0, planned_ms, frame_ms, seq)


def again(folder: Path) -> Run:
    return Run.open(folder, GAZE, "seed = 0")


def test_a_report_that_comes_twice_is_logged_once(run):
    assert run.take(onset(0, 0)) and not run.take(onset(0, 0))
    assert [record["event"] for record in run.close() if record["kind"] == "onset"] == [0]


def test_a_run_goes_on_after_the_last_event_in_its_log(run, tmp_path):
    run.take(onset(0, 0))
    run.take(onset(1, 1))
    run.close()
    other = again(tmp_path / "run")
    assert other.next == 2
    assert not other.take(onset(1, 1))  # it knows what was logged before
    other.close()


def test_a_film_that_did_not_end_is_shown_again_from_its_cross(tmp_path):
    film = next(event for event in FILMS.events if event.video)
    run = Run.open(tmp_path / "run", FILMS, "")
    run.take(onset(0, film.number))
    assert run.next == film.number - 2
    run.take(Report(PAGE, 1, "ended", 5000, film.number))
    assert run.next == film.number + 1
    run.close()


def test_a_record_that_a_crash_cut_is_taken_away_and_told(run, tmp_path):
    run.take(onset(0, 0))
    run.close()
    log = tmp_path / "run" / LOG
    log.write_bytes(log.read_bytes() + b'{"kind":"ons')
    other = again(tmp_path / "run")
    opened = [record for record in other.close() if record["kind"] == "opened"]
    assert [record["cut_bytes"] for record in opened] == [0, 12]


def test_a_full_disk_leaves_no_part_of_a_record(tmp_path, monkeypatch):
    log = RunLog(tmp_path / "log.jsonl")
    log.append({"kind": "one"})
    written = os.write

    def full(number: int, data: bytes) -> int:
        if len(data) > 10 and b"two" in data:
            return written(number, data[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            log.append({"kind": "two"})
    log.append({"kind": "three"})
    log.close()
    assert [record["kind"] for record in read_log(tmp_path / "log.jsonl")] == ["one", "three"]


def test_on_a_full_disk_no_report_is_lost_and_no_trigger_goes_out_twice(run, monkeypatch):
    def full(record: object) -> None:
        raise OSError(28, "No space left on device")

    sent = []
    run.on_onset = lambda report: (sent.append(report.event), run.write("trigger", event=report.event))
    with monkeypatch.context() as patch:
        patch.setattr(run._log, "append", full)
        for _ in range(2):
            with pytest.raises(OSError, match="No space"):
                run.take(onset(0, 0))
    assert run.take(onset(0, 0))
    assert sent == [0]
    assert [record["kind"] for record in run.close()] == ["opened", "trigger", "onset"]


def test_a_run_that_is_complete_is_left_as_it_is(run, tmp_path):
    run.take(Report(PAGE, 0, "finished", 1))
    run.close()
    before = (tmp_path / "run" / LOG).read_bytes()
    with pytest.raises(PalestraError, match="is complete"):
        again(tmp_path / "run")
    assert (tmp_path / "run" / LOG).read_bytes() == before


def test_a_run_of_other_stimuli_is_refused(run, tmp_path):
    run.close()
    with pytest.raises(PalestraError, match="holds a run of other stimuli"):
        Run.open(tmp_path / "run", FILMS, "")


def test_a_folder_with_something_else_is_refused_and_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(PalestraError, match="neither empty nor a run"):
        Run.open(tmp_path, GAZE, "")
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_two_processes_do_not_write_one_run(run, tmp_path):
    with pytest.raises(PalestraError, match="another process"):
        again(tmp_path / "run")


def test_an_event_that_the_plan_does_not_have_is_refused(run):
    with pytest.raises(PalestraError, match="event 99"):
        run.take(onset(0, 99))


def test_the_shortest_round_trip_tells_the_clocks_offset():
    clocks = PageClocks()
    assert clocks.on_host(PAGE, 0) is None
    for round_trip_ms, offset_s in ((5, 1.2), (1, 1.0), (9, 3.0)):
        clocks.note(PAGE, {"round_trip_ms": round_trip_ms, "offset_s": offset_s})
    assert clocks.on_host(PAGE, 500) == 1.5


def test_the_table_of_onsets_has_times_on_both_clocks_and_places(run, tmp_path):
    run.take(Report(PAGE, 0, "clock", 1, values={"offset_s": 100.0, "round_trip_ms": 1.0}))
    run.take(Report(PAGE, 1, "started", 1, 0, 0, values={"period_ms": 16.7}))
    run.take(onset(2, 0))
    run.take(Report(PAGE, 3, "dropped", 1, values={"count": 2, "gap_ms": 50.0}))
    run.take(onset(4, 1, 2100, 2140))
    records = run.close()
    write_onsets(tmp_path, GAZE, records)
    table = pl.read_parquet(tmp_path / "onsets.parquet")
    assert table["onset_s"].to_list() == [101.004, 102.14]
    assert table["off_ms"].to_list() == [4, 40]
    assert (table["x_mm"][0], table["y_mm"][0]) == GAZE.events[0].path.points[0]
    summary = summary_of(GAZE, records)
    assert (summary.shown, summary.dropped_frames, summary.within_a_frame, summary.off_most_ms) == (2, 2, 1, 40)


def test_a_run_without_onsets_has_an_empty_table(tmp_path):
    write_onsets(tmp_path, GAZE, [])
    assert len(pl.read_parquet(tmp_path / "onsets.parquet")) == 0
    assert onset_rows(GAZE, []) == []
