import math
import shutil
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from palestra import registry
from palestra.errors import Refused
from palestra.scoring import score
from palestra.scoring.submission import collect

TRACK = registry.track("near-eye-gaze-v1")


@pytest.fixture
def data(tiny):
    return tiny(TRACK.id)


def perfect(data):
    """The truth of all frames, calibration included, as answers."""
    whole = registry.track(TRACK.id, {"score_calibration": "true"}).truth(data)
    return whole.select("trial", x="truth_x", y="truth_y")


def test_truth_as_answer_scores_exactly_zero(data, tmp_path):
    TRACK.writes(perfect(data), tmp_path / "a.csv")
    answers = collect(TRACK, tmp_path / "a.csv", TRACK.trials(data))
    result = score.score(TRACK, score.load(TRACK, data), answers, "truth").result
    assert {name: found.value for name, found in result.metrics.items()} == {
        "pe_deg": 0.0, "p50_deg": 0.0, "p95_deg": 0.0, "mean_deg": 0.0
    }  # fmt: skip


def test_pe_is_the_mean_of_the_values_at_the_ceiled_positions(data):
    answers = perfect(data).with_columns(pl.col("x") + pl.Series(np.linspace(0, 300, len(TRACK.trials(data)))))
    scored = score.score(TRACK, score.load(TRACK, data), answers, "me")
    errors = []
    for row in scored.rows.iter_rows(named=True):
        a, b = ((row[x], row[y], 1000.0) for x, y in (("x", "y"), ("truth_x", "truth_y")))
        dot = math.sumprod(a, b) if hasattr(math, "sumprod") else sum(p * q for p, q in zip(a, b, strict=True))
        errors.append(math.degrees(math.acos(min(1.0, dot / math.dist(a, (0, 0, 0)) / math.dist(b, (0, 0, 0))))))
    errors.sort()
    p50, p95 = (errors[math.ceil(Fraction(p, 100) * len(errors)) - 1] for p in (50, 95))
    assert scored.result.metrics["p50_deg"].value == pytest.approx(p50, abs=1e-5)
    assert scored.result.metrics["p95_deg"].value == pytest.approx(p95, abs=1e-5)
    assert scored.result.metrics["pe_deg"].value == pytest.approx((p50 + p95) / 2, abs=1e-5)


def test_calibration_frames_must_be_there_and_are_not_scored(data, tmp_path):
    trials = TRACK.trials(data)
    given = trials.filter("calibration")
    groups = trials.n_unique(["person", "group"])
    assert given.height == 5 * groups
    assert TRACK.truth(data).height == trials.height - given.height
    TRACK.writes(perfect(data).join(given, on="trial", how="anti"), tmp_path / "a.csv")
    with pytest.raises(Refused) as caught:
        collect(TRACK, tmp_path / "a.csv", trials)
    assert caught.value.count == given.height


def test_calibration_frames_are_scored_when_the_organiser_says_so(data):
    wider = registry.track(TRACK.id, {"score_calibration": "true"})
    assert wider.truth(data).height == TRACK.trials(data).height


def test_known_and_new_people_are_told_apart(data):
    rows = TRACK.truth(data)
    known = {path.name for path in (data / "train").iterdir()}
    assert set(rows.filter(people="known")["person"]) <= known
    assert not set(rows.filter(people="new")["person"]) & known
    assert rows.filter(people="known")["person"].n_unique() == 5
    assert rows.filter(people="new")["person"].n_unique() == 5


def test_a_missing_answer_counts_180_degrees(data):
    last = TRACK.truth(data)["trial"][-1]
    scored = score.score(TRACK, score.load(TRACK, data), perfect(data).filter(pl.col("trial") != last), "me")
    assert scored.rows["error_deg"].to_list()[-1] == 180.0
    assert scored.rows["yaw_deg"].null_count() == 0


def test_the_report_has_every_number_of_the_document(data):
    result = score.score(TRACK, score.load(TRACK, data), perfect(data), "me").result
    assert set(result.metrics) == {"pe_deg", "p50_deg", "p95_deg", "mean_deg"}
    assert {"person", "people", "glasses", "group"} <= set(result.by)


def test_real_data_without_a_template_or_people_is_read(data, tmp_path):
    copy = tmp_path / "data"
    shutil.copytree(data, copy)
    (copy / "template.csv").unlink()
    (copy / "people.csv").unlink()
    assert TRACK.trials(copy).sort("trial").equals(TRACK.trials(data).sort("trial"))
    assert "glasses" not in TRACK.truth(copy).columns


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: (data / "data.toml").unlink(), "data.toml"),
        (lambda data: (data / "data.toml").write_text("plane_distance = -1\n"), "a distance above 0"),
        (lambda data: (data / "data.toml").write_text("plane_distance = [\n"), "not TOML"),
        (lambda data: shutil.rmtree(data / "truth"), "truth"),
        (lambda data: next((data / "truth").glob("*/*.csv")).write_text("frame,x,y\n0000,1,2\n"), "no point for"),
        (lambda data: next((data / "truth").glob("*/*.csv")).write_text("frame,x\n0000,1\n"), "the header frame,x,y"),
        (lambda data: next((data / "truth").glob("*/*.csv")).write_text("frame,x,y\n0000,a,2\n"), "2 numbers"),
    ],
)
def test_a_broken_data_set_is_told_in_words(data, tmp_path, change, message):
    copy = tmp_path / "data"
    shutil.copytree(data, copy, ignore=shutil.ignore_patterns("*.png"))
    change(copy)
    with pytest.raises(Refused, match=message):
        TRACK.truth(copy)
