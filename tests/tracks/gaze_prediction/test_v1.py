import json
import shutil

import numpy as np
import polars as pl
import pytest

from palestra import registry
from palestra.errors import Refused
from palestra.scoring import score
from palestra.scoring.submission import collect
from palestra.tracks.gaze_prediction import format as openeds

TRACK = registry.track("gaze-prediction-v1")


@pytest.fixture
def data(tiny):
    return tiny(TRACK.id)


def perfect(data):
    return TRACK.truth(data).select("trial", **{name: f"truth_{name}" for name in "xyz"})


def test_truth_as_answer_scores_exactly_zero(data, tmp_path):
    TRACK.writes(perfect(data), tmp_path / "a.json")
    answers = collect(TRACK, tmp_path / "a.json", TRACK.trials(data))
    result = score.score(TRACK, score.load(TRACK, data), answers, "truth").result
    assert {found.value for found in result.metrics.values()} == {0.0}


def test_pe_is_the_mean_over_steps_of_the_mean_over_sequences(data):
    rng = np.random.default_rng(0)
    noisy = perfect(data).with_columns(pl.col("x") + pl.Series(rng.normal(0, 0.1, 5 * 10)))
    scored = score.score(TRACK, score.load(TRACK, data), noisy, "me")
    by_step = scored.result.by["step"]
    assert [row["step"] for row in by_step] == [1, 2, 3, 4, 5]
    for name in ("pe_deg", "p50_deg", "p75_deg", "p95_deg"):
        assert scored.result.metrics[name].value == pytest.approx(np.mean([row[name] for row in by_step]))
    vectors = [scored.rows.select(f"{prefix}{axis}" for axis in "xyz").to_numpy() for prefix in ("", "truth_")]
    cosine = np.sum(vectors[0] * vectors[1], axis=1) / np.prod([np.linalg.norm(v, axis=1) for v in vectors], axis=0)
    errors = np.degrees(np.arccos(cosine))
    assert scored.result.metrics["pe_deg"].value == pytest.approx(errors.mean(), abs=1e-6)


def test_the_length_of_a_vector_does_not_matter(data):
    longer = perfect(data).with_columns(pl.col("x") * 3, pl.col("y") * 3, pl.col("z") * 3)
    assert score.score(TRACK, score.load(TRACK, data), longer, "me").result.metrics["pe_deg"].value == pytest.approx(
        0, abs=1e-6
    )


def test_every_trial_is_scored_once_though_names_begin_anew_in_each_split(data):
    truth = TRACK.truth(data)
    assert truth["trial"].to_list() == TRACK.trials(data)["trial"].to_list()
    assert set(truth["movement"]) <= {"fixation", "pursuit", "saccade"}


def test_people_are_resampled_where_the_release_names_them_and_sequences_where_not(data, tmp_path):
    assert score.score(TRACK, score.load(TRACK, data), perfect(data), "me").result.unit == "person"
    copy = tmp_path / "challenge"
    shutil.copytree(data, copy, ignore=shutil.ignore_patterns("*.png", "sequences.csv", "people.csv", "*.parquet"))
    assert score.score(TRACK, score.load(TRACK, copy), perfect(data), "me").result.unit == "sequence"


def test_the_public_release_with_labels_beside_the_pictures_is_read(data, tmp_path):
    shutil.copytree(data / openeds.RELEASE, tmp_path / "release", ignore=shutil.ignore_patterns("*.png"))
    shutil.copytree(data / "truth" / "labels", tmp_path / "release" / "test" / "labels")
    assert (
        TRACK.truth(tmp_path / "release")
        .select("trial", "truth_x")
        .equals(TRACK.truth(data).select("trial", "truth_x"))
    )


@pytest.mark.parametrize("vector", [[0, 0, 0], ["NaN"] * 3, None])
def test_a_useless_vector_is_refused_and_costs_180_degrees_when_allowed(data, tmp_path, vector):
    trials = TRACK.trials(data)
    TRACK.writes(perfect(data), tmp_path / "a.json")
    answers = json.loads((tmp_path / "a.json").read_text())
    sequence = trials["sequence"][0]
    if vector is None:
        del answers[sequence]["52"]
    else:
        answers[sequence]["52"] = vector
    text = json.dumps(answers).replace('"NaN"', "NaN")
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(Refused) as caught:
        collect(TRACK, tmp_path / "a.json", trials)
    assert caught.value.count == 1
    usable = collect(TRACK, tmp_path / "a.json", trials, allow_missing=True)
    scored = score.score(TRACK, score.load(TRACK, data), usable, "me")
    worst = scored.rows.filter(pl.col("error_deg") > 0)
    assert worst.select("trial", "error_deg").rows() == [(f"{sequence}/52", 180.0)]


def test_a_release_without_test_labels_says_where_they_belong(data, tmp_path):
    shutil.copytree(data / openeds.RELEASE, tmp_path / openeds.RELEASE, ignore=shutil.ignore_patterns("*.png"))
    with pytest.raises(Refused, match="the test labels"):
        TRACK.truth(tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [("050,nan,0,1", "3 numbers"), ("x50,0,0,1", "a number such as 000"), ("051,0,0,1", "more than one row")],
)
def test_a_broken_label_is_told_in_words(data, tmp_path, line, message):
    copy = tmp_path / "copy"
    shutil.copytree(data, copy, ignore=shutil.ignore_patterns("*.png"))
    file = sorted((copy / "truth" / "labels").glob("*.txt"))[0]
    lines = file.read_text().splitlines()
    lines[50] = line
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(Refused, match=message):
        TRACK.truth(copy)


def test_a_folder_that_hides_itself_is_no_sequence(data, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(data, copy, ignore=shutil.ignore_patterns("*.png"))
    (copy / openeds.RELEASE / "test" / "sequences" / ".ipynb_checkpoints").mkdir()
    assert TRACK.trials(copy).equals(TRACK.trials(data))


def test_the_truth_is_found_from_within_the_release(data, monkeypatch):
    from pathlib import Path

    monkeypatch.chdir(data / openeds.RELEASE)
    assert TRACK.truth(Path()).height == TRACK.truth(data).height


def test_a_double_sequence_in_the_metadata_is_told(data, tmp_path):
    from palestra.errors import PalestraError

    copy = tmp_path / "copy"
    shutil.copytree(data, copy, ignore=shutil.ignore_patterns("*.png"))
    file = copy / "truth" / "sequences.csv"
    double = next(line for line in file.read_text().splitlines() if ",test," in line)
    file.write_text(file.read_text() + double + "\n")
    with pytest.raises(PalestraError, match="more than once"):
        score.load(TRACK, copy)
