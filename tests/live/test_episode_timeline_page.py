"""What is told of a run in worlds: how long was thought, and what was wrong."""

import numpy as np

from palestra.live.entrant_history import Acts, read_acts
from palestra.live.episode import Step
from palestra.live.episode_timeline_page import blocks
from palestra.live.recording import Head, Recorder, Recording, Who
from palestra.live.scored_run import ScoredRun
from palestra.live.stream import Decision
from palestra.live.terminal_summary import summary_lines
from palestra.registry import track
from tests.changed import changed
from tests.english import english


def recorded(folder, steps):
    head = Head(
        "tabletop-manip-v1",
        {},
        "data",
        "fast",
        0,
        [Who("red", "x", None, "01-red.rec")],
        ["a", "b"],
        2,
        "2026-01-01T00:00:00+00:00",
        "0",
    )
    recorder = Recorder(folder / "run", head)
    for step in steps:
        recorder.moved("red", step)
    recorder.decided(Decision("red", "a", 0.0, 0.0, 1.5, None, {"seconds": 1.5}, ""))
    recorder.close()
    return Recording(folder / "run")


def run_of(folder, steps):
    track_without = changed(track("tabletop-manip-v1"), review=None)
    return ScoredRun(track_without, folder, recorded(folder, steps), {}, {})


STEPS = [
    Step(0, None, None, 0.0, ""),
    Step(1, [0.0] * 8, 0.02, 0.003, ""),
    Step(2, [0.0] * 8, 0.04, 0.0, "answered an array of the shape (3,)"),
]


def test_steps_are_read_as_they_were_written(tmp_path):
    run = recorded(tmp_path, STEPS)
    assert [moved.step for moved in run.steps("red")] == STEPS
    acts = read_acts(run, "red")
    assert (acts.cases, acts.periods, acts.late_s) == (1, 3, 0.003)
    assert acts.thought_s.tolist() == [0.02, 0.04]
    assert acts.notes == {"answered an array of the shape (3,)": 1}


def test_a_terminal_is_told_in_a_few_lines(tmp_path):
    lines = summary_lines(run_of(tmp_path, STEPS), "red")
    assert lines[0] == "red: 1 of 2 cases, 3 actions"
    assert lines[1] == "  thought 2 times: p50 20 ms, p95 40 ms, at most 40 ms"
    assert lines[2] == "  1 × answered an array of the shape (3,)"


def test_who_never_answered_is_said_to(tmp_path):
    assert "it never answered" in summary_lines(run_of(tmp_path, STEPS[:1]), "red")[1]
    assert str(Acts(0, 0, np.array([]), 0.0, {}, []).thought) == "it never answered"


def test_a_page_tells_what_went_wrong(tmp_path):
    wrong, totals = english(blocks(run_of(tmp_path, STEPS), "red"))
    assert wrong.rows == [["answered an array of the shape (3,)", 1]]
    assert ["Answers", 2] in totals.rows
    assert totals.note == "The run was stopped before its end."
