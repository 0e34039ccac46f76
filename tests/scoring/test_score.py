"""Scoring on a track small enough to check by hand."""

import numpy as np
import polars as pl
import pytest

from palestra.authoring import Slip
from palestra.errors import Faults, PalestraError, Refused
from palestra.records import Draws, Metric, Study, Track
from palestra.reduce import mean_of, mean_of_shares, mean_over
from palestra.scoring import score as scoring
from palestra.scoring import score_file
from tests.changed import changed


def track_of(trials, truth, **changes):
    def score(rows):
        return rows.with_columns(error=(pl.col("number") - pl.col("truth_number")).abs().cast(pl.Float64))

    settings = {
        "id": "number-v1",
        "title": "Numbers",
        "trials": lambda data: trials,
        "truth": lambda data: truth,
        "score": score,
        "metrics": (Metric("mean_error", "", "lower", mean_of("error")),),
        "missing": {"error": 100.0},
    }
    return changed(Track(**settings), **changes)


@pytest.fixture
def numbers():
    names = [f"t{i:02d}" for i in range(24)]
    trials = pl.DataFrame({"trial": names, "unit": [f"u{i % 6}" for i in range(24)]})
    truth = pl.DataFrame({"trial": names, "truth_number": list(range(24))})
    answers = truth.select("trial", number=pl.col("truth_number") + 1)
    return trials, truth, answers


def test_a_missing_answer_keeps_its_row_and_is_charged(numbers, tmp_path):
    trials, truth, answers = numbers
    scored = scoring.score(track_of(trials, truth), scoring.load(track_of(trials, truth), tmp_path), answers[2:], "me")
    assert scored.rows["trial"].to_list() == truth["trial"].to_list()
    assert scored.rows["error"].to_list() == [100.0, 100.0] + [1.0] * 22
    assert scored.result.metrics["mean_error"].value == pytest.approx((200 + 22) / 24)


def test_no_answers_at_all_cost_the_most_and_are_no_nan(numbers, tmp_path):
    trials, truth, answers = numbers
    assert scoring.score(
        track_of(trials, truth), scoring.load(track_of(trials, truth), tmp_path), answers.clear(), "me"
    ).result.metrics["mean_error"].value == pytest.approx(100)


def test_chunks_do_not_change_scores(numbers, tmp_path):
    trials, truth, answers = numbers
    whole = scoring.score(track_of(trials, truth), scoring.load(track_of(trials, truth), tmp_path), answers, "me")
    pieces = scoring.score(
        track_of(trials, truth, chunk=5), scoring.load(track_of(trials, truth, chunk=5), tmp_path), answers, "me"
    )
    assert whole.rows.equals(pieces.rows)
    assert whole.result.metrics == pieces.result.metrics


def test_the_order_of_answers_does_not_matter(numbers, tmp_path):
    trials, truth, answers = numbers
    shuffled = scoring.score(
        track_of(trials, truth), scoring.load(track_of(trials, truth), tmp_path), answers.reverse(), "me"
    )
    assert shuffled.rows.equals(
        scoring.score(track_of(trials, truth), scoring.load(track_of(trials, truth), tmp_path), answers, "me").rows
    )


def test_fewer_than_five_units_have_no_interval(numbers, tmp_path):
    trials, truth, answers = numbers
    few = trials.with_columns(unit=pl.Series([f"u{i % 4}" for i in range(24)]))
    found = scoring.score(
        track_of(few, truth), scoring.load(track_of(few, truth), tmp_path), answers, "me"
    ).result.metrics["mean_error"]
    assert (found.low, found.high) == (None, None)


def test_the_interval_resamples_units_and_not_trials(tmp_path):
    # Six people, each with one error of its own on 50 trials: resampling trials would give a far narrower interval.
    names = [f"t{i:03d}" for i in range(300)]
    units = np.repeat(np.arange(6), 50)
    trials = pl.DataFrame({"trial": names, "unit": units})
    truth = pl.DataFrame({"trial": names, "truth_number": np.zeros(300)})
    answers = pl.DataFrame({"trial": names, "number": units.astype(float)})
    found = scoring.score(
        track_of(trials, truth), scoring.load(track_of(trials, truth), tmp_path), answers, "me"
    ).result.metrics["mean_error"]
    draws = np.random.default_rng(0).integers(0, 6, (20_000, 6)).mean(axis=1)
    assert found.low == pytest.approx(np.quantile(draws, 0.025), abs=0.2)
    assert found.high == pytest.approx(np.quantile(draws, 0.975), abs=0.2)


def test_a_track_without_any_of_its_units_says_so(numbers, tmp_path):
    trials, truth, answers = numbers
    with pytest.raises(PalestraError, match="column person"):
        track = track_of(trials, truth, units=("person",))
        scoring.score(track, scoring.load(track, tmp_path), answers, "me")


def test_groups_are_broken_down_where_the_data_has_them(numbers, tmp_path):
    trials, truth, answers = numbers
    truth = truth.with_columns(half=pl.Series(["a", "b"] * 12))
    track = track_of(trials, truth, groups=("half", "absent"))
    result = scoring.score(track, scoring.load(track, tmp_path), answers, "me").result
    assert [row["half"] for row in result.by["half"]] == ["a", "b"]
    assert [row["trials"] for row in result.by["half"]] == [12, 12]
    assert "absent" not in result.by


def test_faults_of_all_chunks_are_told_together(numbers, tmp_path):
    trials, truth, answers = numbers

    def score(rows):
        faults = Faults()
        for trial in rows["trial"]:
            faults.add(trial, "a broken answer", "a whole one")
        faults.finish()

    with pytest.raises(Refused) as caught:
        scoring.score(
            track_of(trials, truth, chunk=5, score=score),
            scoring.load(track_of(trials, truth, chunk=5, score=score), tmp_path),
            answers,
            "me",
        )
    assert caught.value.count == 24


def test_answers_that_no_truth_is_for_are_looked_into(numbers, tmp_path):
    trials, truth, answers = numbers
    seen = []
    track = track_of(trials, truth[:4], inspect=lambda rows: seen.extend(rows["trial"]))
    assert scoring.score(track, scoring.load(track, tmp_path), answers, "me").rows.height == 4
    assert seen == answers["trial"][4:].to_list()


def test_provenance_tells_data_and_answers_apart(numbers, tmp_path):
    trials, truth, answers = numbers
    one = scoring.score(
        track_of(trials, truth), scoring.load(track_of(trials, truth), tmp_path), answers, "me"
    ).result.provenance
    other = scoring.score(
        track_of(trials, truth), scoring.load(track_of(trials, truth), tmp_path), answers.with_columns(number=0), "me"
    ).result.provenance
    assert one.data == other.data
    assert one.answers != other.answers
    assert one.code == other.code


def test_saved_scores_give_the_same_result_again(numbers, tmp_path, monkeypatch):
    trials, truth, answers = numbers
    track = track_of(trials, truth)
    monkeypatch.setattr("palestra.registry.track", lambda name, settings: track)
    scored = scoring.score(track, scoring.load(track, tmp_path), answers, "me")
    score_file.save(scored, tmp_path / "scores.parquet")
    loaded = score_file.load(tmp_path / "scores.parquet")
    assert loaded.rows.equals(scored.rows)
    assert score_file.rescore(loaded).result == scored.result


@pytest.mark.parametrize("content", [b"", b"not parquet", b"PAR1" + bytes(40) + b"PAR1"])
def test_a_file_that_holds_no_scores_is_refused_in_words(tmp_path, content):
    (tmp_path / "x.parquet").write_bytes(content)
    with pytest.raises(PalestraError, match=r"x\.parquet"):
        score_file.load(tmp_path / "x.parquet")


def test_a_parquet_without_a_result_is_refused_in_words(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(PalestraError, match="without a Result"):
        score_file.load(tmp_path / "x.parquet")


def test_reducers_agree_with_plain_numpy():
    rng = np.random.default_rng(3)
    rows = pl.DataFrame({"error": rng.exponential(2, 400), "step": np.arange(400) % 4})
    unit_of = np.arange(400) % 10
    weights = rng.multinomial(10, np.full(10, 0.1), 20).astype(float)
    draws = Draws(unit_of, weights)
    for r in range(20):
        times = weights[r, unit_of].astype(int)
        drawn = np.repeat(rows["error"].to_numpy(), times)
        steps = np.repeat(rows["step"].to_numpy(), times)
        assert mean_of("error")(rows, draws)[r] == pytest.approx(drawn.mean())
        by_hand = np.mean([np.sort(drawn)[int(np.ceil(p * len(drawn) / 100)) - 1] for p in (50, 95)])
        assert mean_of_shares("error", 0.5, 0.95)(rows, draws)[r] == by_hand
        each = [drawn[steps == step].mean() for step in range(4)]
        assert mean_over("step", mean_of("error"))(rows, draws)[r] == pytest.approx(np.mean(each))


def test_a_double_row_in_the_data_is_told_and_not_scored_twice(numbers, tmp_path):
    trials, truth, _ = numbers
    for track in (track_of(trials, pl.concat([truth, truth[:1]])), track_of(pl.concat([trials, trials[:1]]), truth)):
        with pytest.raises(PalestraError, match=r"t00 is in the (truth|trials) more than once"):
            scoring.load(track, tmp_path)


def test_trials_of_nobody_in_particular_are_a_unit_of_their_own(numbers, tmp_path):
    trials, truth, answers = numbers
    unknown = trials.with_columns(unit=pl.when(pl.col("unit") == "u0").then(None).otherwise("unit"))
    track = track_of(unknown, truth)
    result = scoring.score(track, scoring.load(track, tmp_path), answers, "me").result
    assert result.metrics["mean_error"].low == 1.0
    assert [row["unit"] for row in result.by["unit"]] == ["u1", "u2", "u3", "u4", "u5", None]


def test_a_number_that_some_resamples_lack_has_no_interval(numbers, tmp_path):
    trials, truth, answers = numbers
    truth = truth.with_columns(rare=pl.Series(["a"] + ["b"] * 23))
    metric = Metric("mean_error", "", "lower", mean_over("rare", mean_of("error")))
    track = track_of(trials, truth, metrics=(metric,))
    found = scoring.score(track, scoring.load(track, tmp_path), answers, "me").result.metrics["mean_error"]
    assert (found.value, found.low, found.high) == (1.0, None, None)


def test_rows_tell_which_trials_were_answered(numbers, tmp_path):
    trials, truth, answers = numbers
    track = track_of(trials, truth)
    rows = scoring.score(track, scoring.load(track, tmp_path), answers[2:], "me").rows
    assert rows["answered"].to_list() == [False, False] + [True] * 22


def test_names_with_numbers_are_sorted_as_people_count():
    names = ["S_10", "S_2", None, "S_1", 3]
    assert sorted(names, key=scoring._natural) == [3, "S_1", "S_2", "S_10", None]


def test_truth_of_something_that_is_no_trial_is_told(numbers, tmp_path):
    trials, truth, _ = numbers
    with pytest.raises(PalestraError, match="t00, which is none of its trials"):
        scoring.load(track_of(trials[1:], truth), tmp_path)


def test_the_code_digest_covers_the_whole_package_of_an_outside_track(tmp_path):
    (tmp_path / "challenge").mkdir()
    for name in ("__init__.py", "v1.py", "format.py"):
        (tmp_path / "challenge" / name).write_text("")
    (tmp_path / "alone_v1.py").write_text("")

    def digest(name: str) -> str:
        scoring._source_digest.cache_clear()
        return scoring._source_digest(tmp_path / name)

    package, alone = digest("challenge/v1.py"), digest("alone_v1.py")
    (tmp_path / "challenge" / "format.py").write_text("changed = True")
    assert digest("challenge/v1.py") != package
    assert digest("alone_v1.py") == alone, "what lies beside a file is not its own"


def test_answers_must_not_bring_a_column_of_the_truth(numbers, tmp_path):
    trials, truth, answers = numbers
    track = track_of(trials, truth.with_columns(level=pl.lit(1)))
    with pytest.raises(Refused, match="found a column 'level', expected no column that the truth has"):
        scoring.score(track, scoring.load(track, tmp_path), answers.with_columns(level=pl.lit(0)), "me")


def nothing_to_rank(trials, truth, **changes):
    """A track whose protocol ranks what this data does not have."""
    metric = Metric("moving", "", "lower", lambda rows, draws: np.full(len(draws.weights), np.nan))
    study = Study(pieces=lambda data: [], samples=lambda data, names: truth, protocols=())
    return track_of(trials, truth, metrics=(metric,), study=study, **changes)


def test_data_that_lacks_what_a_protocol_ranks_has_no_number_and_is_kept_and_read_so(numbers, tmp_path):
    trials, truth, answers = numbers
    track = nothing_to_rank(trials, truth)
    scored = scoring.score(track, scoring.load(track, tmp_path), answers, "me")
    score_file.save(scored, tmp_path / "scores.parquet")
    assert np.isnan(score_file.load(tmp_path / "scores.parquet").result.metrics["moving"].value)


def test_a_protocol_that_has_something_to_rank_has_a_number(numbers, tmp_path):
    trials, truth, answers = numbers

    def reduce(rows, draws):
        return np.full(len(draws.weights), np.nan if rows["answered"].all() else 1.0)

    track = changed(nothing_to_rank(trials, truth), metrics=(Metric("moving", "", "lower", reduce),))
    with pytest.raises(Slip, match="its metric moving came out as nan"):
        scoring.score(track, scoring.load(track, tmp_path), answers, "me")
