"""Answers that say what cannot be are refused, whatever the track, before any truth is looked at."""

import numpy as np
import polars as pl
import pytest

from palestra import registry
from palestra.errors import Refused
from palestra.scoring import collect

GAZE, PREDICTION = registry.track("near-eye-gaze-v1", {}), registry.track("gaze-prediction-v1", {})


def sent(track, trials, file, **changes):
    """A template in which the first answer is another one."""
    answers = track.blank(trials)
    first = np.arange(answers.height) == 0
    columns = {name: pl.Series(np.where(first, value, answers[name].to_numpy())) for name, value in changes.items()}
    track.writes(answers.with_columns(**columns), file)
    return collect(track, file, trials)


@pytest.mark.parametrize("x", [2_000.0, -9e5])
def test_a_point_miles_away_is_refused_with_its_trial_and_what_was_expected(tiny, tmp_path, x):
    trials = GAZE.trials(tiny("near-eye-gaze-v1"))
    with pytest.raises(Refused, match=r"within 60° of straight ahead") as refusal:
        sent(GAZE, trials, tmp_path / "a.csv", x=x)
    assert refusal.value.count == 1
    assert trials["trial"][0] in str(refusal.value.faults[0].where)


def test_a_point_at_the_edge_of_sight_is_taken(tiny, tmp_path):
    trials = GAZE.trials(tiny("near-eye-gaze-v1"))
    assert sent(GAZE, trials, tmp_path / "a.csv", x=1_700.0)["x"][0] == 1_700.0


def test_a_look_behind_the_head_is_refused(tiny, tmp_path):
    trials = PREDICTION.trials(tiny("gaze-prediction-v1"))
    with pytest.raises(Refused, match=r"within 60° of straight ahead \(z\)"):
        sent(PREDICTION, trials, tmp_path / "a.json", z=-1.0)
    assert sent(PREDICTION, trials, tmp_path / "b.json", x=0.5)["x"][0] == 0.5


def test_what_is_not_plausible_is_refused_where_gaps_are_charged_too(tiny, tmp_path):
    trials = GAZE.trials(tiny("near-eye-gaze-v1"))
    file = tmp_path / "a.csv"
    answers = GAZE.blank(trials).with_columns(y=pl.lit(-5e4))
    GAZE.writes(answers, file)
    with pytest.raises(Refused) as refusal:
        collect(GAZE, file, trials, allow_missing=True)
    assert refusal.value.count == trials.height
