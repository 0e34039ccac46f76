"""A short form of benchmarks/oracle.py: hidden answers cannot be computed from the scores of one's own submissions."""

import re

import numpy as np
import pytest

from benchmarks import oracle, oracle_contest
from benchmarks.oracle_attacks import ATTACKS
from palestra.contest.log import events as e


def test_from_scores_with_all_digits_ten_submissions_compute_most_hidden_points(tmp_path):
    """What the attacks can do, so that the next test says something."""
    assert oracle.learnt(tmp_path / "c", "one-point probes", "exact", 10, 0.0, seed=1) > 0.5


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "pinned median" else ()) for name in ATTACKS]
)
def test_ten_submissions_do_not_tell_where_hidden_points_are(tmp_path, name):
    assert oracle.learnt(tmp_path / "c", name, "rounded", 10, 0.0, seed=1) < 0.05


def test_nothing_that_a_team_reads_has_a_digit_or_a_table_of_the_hidden_part(tmp_path):
    with oracle_contest.served(tmp_path / "c", seed=2) as served:
        team = served.team("scout")
        answers = np.random.default_rng(0).uniform(-300, 300, served.hidden.points.shape)
        seen = team.submit(served.hidden.names, answers)
        oracle_contest.work_off(served.contest, served.home, "report")
        one = served.contest.state.submissions[seen.page["id"]]
        (score,) = one.scores
        assert score.report  # it is there, and nobody is shown it
        assert (seen.result["by"], seen.result["provenance"]["data"]) == ({}, "")
        assert set(seen.result["metrics"]) == {"pe_deg"}
        assert seen.page["report"] == "" and seen.page["rounded"] and seen.board["rounded"]
        digits = [str(number)[:8] for part in (score.metrics, score.shown) for found in part.values()
                  for number in (found.value, found.low, found.high)]  # fmt: skip
        places = [
            f"/submissions/{one.id}", f"/submissions/{one.id}/report", "/phases/gaze", "/boards/gaze",
            "/boards/gaze/print",
            "/screen", "/", "/audit", f"/api/submissions/{one.id}", f"/api/submissions/{one.id}/result",
            "/api/boards/gaze", "/api/phases/gaze/submissions", "/api/contest",
        ]  # fmt: skip
        for place in places:
            text = team.read(place)
            assert not [found for found in digits if found in text], place
            assert not re.search(r"\bP0\d\b", text), place  # nobody is named
        organiser = served.team("olga", "organiser")
        assert str(score.metrics["p95_deg"].value)[:8] in organiser.read(f"/api/submissions/{one.id}")


def test_what_was_rounded_is_all_there_after_the_release(tmp_path):
    with oracle_contest.served(tmp_path / "c", seed=2) as served:
        team = served.team("scout")
        seen = team.submit(served.hidden.names, np.zeros_like(served.hidden.points))
        now = served.contest.now()
        served.contest.act(
            "system", lambda state, _: [e.PhaseMoved("gaze", 0, now - 1, "over"), e.BoardReleased("gaze")]
        )
        result = team.read(f"/api/submissions/{seen.page['id']}/result")
        assert '"by":{"person":[{' in result and "rounded_to" not in result
