import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.live.answers import answers_of
from palestra.live.answers import hear as hear_decision
from palestra.live.standings import LATENCIES, Standings
from palestra.live.stream import Decision
from palestra.records import Display, Metric, StreamAnswers, Track
from palestra.reduce import mean_of, mean_of_shares
from palestra.scoring import score as scoring
from palestra.text import say
from tests.changed import changed

ACCURACY = Metric("accuracy", "", "higher", mean_of("right"))
PE = Metric("pe_deg", "deg", "lower", mean_of_shares("error_deg", 0.5, 0.95))


def hear(answer):
    if type(answer) is not int or not 0 <= answer <= 8:
        raise ValueError(say("returned {value}, expected a whole number from 0 to {last}", value=repr(answer), last=8))
    return {"label": answer}


def live_track(trials=12, people=3, unscored=0, **changes):
    """Which of nine is it? The truth of trial number i is i % 9; the last ones may have none."""
    names = [f"P{i * people // trials}/{i:05d}" for i in range(trials)]
    table = pl.DataFrame({"trial": names, "person": [name[:2] for name in names]})
    truth = table.select("trial", truth_label=pl.int_range(pl.len()) % 9).head(trials - unscored)

    def score(rows):
        off = (pl.col("label") - pl.col("truth_label")).abs()
        return rows.with_columns(right=(off == 0).cast(pl.Int32), error_deg=off.cast(pl.Float64))

    track = Track(
id="which-v1",
title="Which of nine",
trials=lambda data: table,
truth=lambda data: truth,
score=score,
metrics=(ACCURACY, PE),
missing={"right": 0, "error_deg": 180.0},
units=("person",),
blank=lambda trials: trials.select("trial", label=pl.lit(0, pl.Int64)),
stream=StreamAnswers(
sittings=lambda data: [],
hear=hear,
),
display=Display(
error="error_deg",
),
)  # fmt: skip
    return changed(track, **changes)


def decision(entrant, trial, answer, latency_s=0.1, note="", deadline_s=0.5):
    """An answer, or none where it is None."""
    answered_s = None if answer is None else 1.0 + latency_s
    note = note or ("no answer in time" if answer is None else "")
    return Decision(entrant, trial, 1.0, 1.0, answered_s, deadline_s, answer, note)


def heard(*words, **how):
    """A decision as a run hands it on."""
    return hear_decision(TRACK, decision(*words, **how))


def begin(track, *names):
    sheet = scoring.load(track, None)
    return Standings(track, sheet, list(names)), sheet.trials["trial"].to_list(), sheet


TRACK = live_track()
odd = st.sampled_from([12, "seven", True, [1], math.nan])
answers = st.one_of(st.none(), st.integers(0, 8), st.integers(0, 8), odd)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(answers, answers, st.booleans()), min_size=1, max_size=12), st.sampled_from([ACCURACY, PE]))
def test_the_live_value_is_the_final_score(said, ranks):
    track = live_track(unscored=2, metrics=(ranks,))
    standings, trials, sheet = begin(track, "a", "b")
    decisions = {"a": [], "b": []}
    for trial, (*both, look) in zip(trials, said, strict=False):
        for name, answer in zip("ab", both, strict=True):
            decisions[name].append(heard(name, trial, answer))
            standings.decided(decisions[name][-1])
        if look:
            standings.update()
    scored = [trial for trial in trials[: len(said)] if trial in set(sheet.truth["trial"])]
    for standing in standings.update():
        told = answers_of(track, sheet.trials, decisions[standing.name])
        rows = scoring.score_trials(track, sheet, told).filter(pl.col("trial").is_in(scored))
        assert standing.value == pytest.approx(ranks.reduce(rows, scoring.whole(rows))[0])


def test_when_all_is_decided_the_value_is_that_of_the_result():
    track = live_track(trials=20)
    standings, trials, sheet = begin(track, "a")
    all_of_it = [heard("a", trial, None if i % 7 == 3 else i % 5) for i, trial in enumerate(trials)]
    for one in all_of_it:
        standings.decided(one)
    result = scoring.score(track, sheet, answers_of(track, sheet.trials, all_of_it), "a").result
    assert standings.update()[0].value == pytest.approx(result.metrics["accuracy"].value)


@pytest.mark.parametrize("ranks", [ACCURACY, PE], ids=["higher is better", "lower is better"])
def test_the_best_stands_first_whichever_way_the_metric_goes(ranks):
    standings, trials, _ = begin(live_track(metrics=(ranks,)), "bad", "silent", "good", "new")
    for i, trial in enumerate(trials[:6]):
        standings.decided(heard("good", trial, i % 9))
        standings.decided(heard("bad", trial, (i + (i % 2)) % 9))
        standings.decided(heard("silent", trial, None))
    assert [one.name for one in standings.update()] == ["good", "bad", "silent", "new"]
    assert standings.all["new"].value is None


def test_equal_ones_stay_in_the_order_in_which_they_came():
    standings, trials, _ = begin(live_track(), "b", "a")
    for name in "ab":
        standings.decided(heard(name, trials[0], 0))
    assert [one.name for one in standings.update()] == ["b", "a"]


def test_a_missed_answer_is_charged():
    standings, trials, _ = begin(live_track(metrics=(PE,)), "a")
    standings.decided(heard("a", trials[0], None))
    (one,) = standings.update()
    assert (one.value, one.decided, one.missed, one.last_note) == (180.0, 1, 1, "no answer in time")


def test_what_a_miss_costs_may_depend_on_the_trial():
    def missed(gaps):
        return gaps.with_columns(right=pl.lit(0), error_deg=pl.col("truth_label").cast(pl.Float64))

    standings, trials, _ = begin(live_track(metrics=(PE,), missing=missed), "a")
    standings.decided(heard("a", trials[5], None))
    assert standings.update()[0].value == 5.0


def test_an_answer_that_the_track_does_not_understand_is_missed_and_says_why():
    standings, trials, _ = begin(live_track(), "a")
    standings.decided(heard("a", trials[0], 12))
    (one,) = standings.update()
    assert (one.missed, one.value) == (1, 0.0)
    assert str(one.last_note) == "returned 12, expected a whole number from 0 to 8"
    assert one.latency_s(0.5) is None


def test_the_last_note_stays_when_things_go_well_again():
    standings, trials, _ = begin(live_track(), "a")
    standings.decided(heard("a", trials[0], None, note="it crashed"))
    standings.decided(heard("a", trials[1], 1))
    assert standings.all["a"].last_note == "it crashed"


def test_a_trial_without_truth_is_counted_and_not_scored():
    standings, trials, _ = begin(live_track(unscored=1), "a")
    standings.decided(heard("a", trials[-1], 3))
    (one,) = standings.update()
    assert (one.decided, one.value) == (1, None)
    assert one.latency_s(0.5) == pytest.approx(0.1)


def test_percentiles_are_values_that_were_there_and_of_the_newest_answers():
    standings, trials, _ = begin(live_track(), "a")
    for latency_s in [9.0] * 50 + [*np.linspace(0.001, 0.4, LATENCIES)]:
        standings.decided(heard("a", trials[0], 1, latency_s=latency_s))
    one = standings.all["a"]
    assert len(one.latencies_s) == LATENCIES
    assert one.latency_s(1.0) == pytest.approx(0.4)
    assert any(one.latency_s(0.5) == pytest.approx(value) for value in one.latencies_s)


def test_a_metric_that_has_no_value_yet_is_no_score():
    nothing = Metric("odd", "", "higher", lambda rows, draws: np.array([math.nan]))
    standings, trials, _ = begin(live_track(metrics=(nothing,)), "a", "b")
    standings.decided(heard("a", trials[0], 0))
    assert [one.value for one in standings.update()] == [None, None]


def test_nothing_new_changes_nothing():
    standings, trials, _ = begin(live_track(), "a")
    standings.decided(heard("a", trials[0], 0))
    before = standings.update()[0].value
    assert standings.update()[0].value == before == 1.0


def test_the_deadline_in_force_is_known():
    standings, trials, _ = begin(live_track(), "a")
    assert standings.deadline_s is None
    standings.decided(heard("a", trials[0], 0, deadline_s=0.25))
    assert standings.deadline_s == 0.25
