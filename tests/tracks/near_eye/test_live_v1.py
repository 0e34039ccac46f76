import math
import shutil
import zipfile
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from palestra import registry
from palestra.contract import check_track
from palestra.datasets import make, redact
from palestra.errors import PalestraError, Refused
from palestra.live.answers import answers_of, hear
from palestra.live.stream import Decision
from palestra.records import Order
from palestra.scoring import score
from palestra.scoring.leaderboard import board
from palestra.tracks.near_eye import format as on_disk
from palestra.tracks.near_eye import live_figures
from palestra.tracks.near_eye import live_maker as maker
from tests.english import english

TRACK = registry.track("near-eye-live-v1")


@pytest.fixture
def data(tiny):
    return tiny(TRACK.id)


@pytest.fixture
def bare(data, tmp_path):
    """A copy without pictures, to be changed."""
    copy = tmp_path / "bare"
    shutil.copytree(data, copy, ignore=shutil.ignore_patterns("*.png"))
    return copy


def answers(data, off_mm=0.0):
    """The true points, or points beside them."""
    return TRACK.truth(data).select("trial", x=pl.col("truth_x") + off_mm, y="truth_y")


def scored(data, given, name="me"):
    return score.score(TRACK, score.load(TRACK, data), given, name)


def pe(data, given):
    return scored(data, given).result.metrics["pe_deg"].value


def test_the_track_keeps_the_contract(data):
    check_track(TRACK, data)


def test_three_testers_look_at_thirty_points_each(data):
    trials = TRACK.trials(data)
    assert trials.columns == ["trial", "tester", "point"]
    assert trials["trial"].to_list()[:2] == ["T1/01", "T1/02"]
    assert {
        tester: part["point"].to_list() for (tester,), part in trials.partition_by("tester", as_dict=True).items()
    } == {tester: list(range(1, 31)) for tester in ("T1", "T2", "T3")}


def test_testers_are_in_nobody_s_training_data(data):
    known = {path.name for path in (data / "train").iterdir()}
    assert not known & set(TRACK.trials(data)["tester"])
    assert len(known) == 4


def test_testers_have_bare_eyes_and_glasses(data):
    assert set(TRACK.truth(data)["glasses"]) == {True, False}


def test_points_are_all_over_the_display_in_no_order(data):
    for part in TRACK.truth(data).partition_by("tester"):
        x, y = part["truth_x"].to_numpy(), part["truth_y"].to_numpy()
        assert x.min() < -200 < 200 < x.max()
        assert y.min() < -150 < 150 < y.max()
        assert abs(np.corrcoef(np.arange(30), x)[0, 1]) < 0.5
        assert (np.diff(x) < 0).any() and (np.diff(x) > 0).any()


@pytest.mark.parametrize(("size", "frames"), [("tiny", 4 * 12), ("small", 10 * 2 * 60), ("paper", 15 * 7 * 330)])
def test_sizes_differ_in_training_data_alone(size, frames):
    parts = maker.plan(Order(size, 0, ("images",))).parts
    weights = {split: sum(part.weight for part in parts if part.name.startswith(split)) for split in ("train", "test")}
    assert weights == {"train": frames, "test": 90}


def test_training_data_is_that_of_the_offline_track(data):
    labels = on_disk.read_points(data, "train")
    assert labels.columns == ["person", "group", "frame", "x", "y"]
    for key in labels.select(on_disk.KEY).rows():
        assert all(on_disk.image_file(data, "train", key, eye).is_file() for eye in ("left", "right"))


def test_contestants_get_neither_the_truth_nor_the_pictures_of_testers(data, tmp_path):
    redact.pack(TRACK, data, tmp_path / "view.zip", lambda count: None)
    with zipfile.ZipFile(tmp_path / "view.zip") as view:
        assert {name.split("/")[0] for name in view.namelist()} == {"data.toml", "people.csv", "points.csv", "train"}
        view.extractall(tmp_path / "view")
    assert TRACK.trials(tmp_path / "view").equals(TRACK.trials(data))


def test_a_data_set_without_a_list_of_points_is_read_from_its_folders(data, tmp_path):
    copy = tmp_path / "data"
    shutil.copytree(data, copy)
    (copy / "points.csv").unlink()
    (copy / "people.csv").unlink()
    assert TRACK.trials(copy).equals(TRACK.trials(data))
    assert "glasses" not in TRACK.truth(copy).columns
    assert [sitting.name for sitting in TRACK.stream.sittings(copy)] == ["T1", "T2", "T3"]


def test_each_tester_is_a_sitting_with_an_hour_before_it(data):
    sittings = TRACK.stream.sittings(data)
    assert [(one.name, one.count, one.decisions, one.seconds, one.window_s) for one in sittings] == [
        (tester, 30, 30, 58.5, 3600.0) for tester in ("T1", "T2", "T3")
    ]


def test_pictures_are_due_half_a_second_after_each_point_appears(data):
    ticks = list(TRACK.stream.sittings(data)[1].ticks())
    assert [tick.due_s for tick in ticks] == [0.5 + 2 * k for k in range(30)]
    assert {tick.deadline_s for tick in ticks} == {1.0}
    assert [tick.trial for tick in ticks] == TRACK.trials(data).filter(tester="T2")["trial"].to_list()
    assert [dict(tick.about) for tick in ticks] == [{"tester": 2, "point": k} for k in range(1, 31)]


def test_both_eyes_are_sent_as_arrays_and_differ_from_point_to_point(data):
    ticks = list(TRACK.stream.sittings(data)[0].ticks())
    for tick in ticks:
        assert list(tick.payload) == ["left", "right"]
        assert {(eye.shape, eye.dtype.name) for eye in tick.payload.values()} == {((400, 640), "uint8")}
    assert not any(np.array_equal(one.payload["left"], other.payload["left"]) for one, other in pairwise(ticks))


def test_ticks_are_read_anew_and_only_as_they_are_sent(data, tmp_path):
    copy = tmp_path / "data"
    shutil.copytree(data, copy)
    sitting = TRACK.stream.sittings(copy)[0]
    ticks = iter(sitting.ticks())
    next(ticks)
    shutil.rmtree(copy / "test" / "T1")
    with pytest.raises(Refused):
        next(ticks)


@pytest.mark.parametrize("spoil", [lambda file: file.unlink(), lambda file: file.write_bytes(b"\x89PNG"),
                                   lambda file: shutil.copy(_small_picture(file.parent), file)],
                         ids=["missing", "broken", "small"])  # fmt: skip
def test_a_picture_that_cannot_be_sent_is_told_before_the_first_point(data, tmp_path, spoil):
    copy = tmp_path / "data"
    shutil.copytree(data, copy)
    spoil(copy / "test" / "T3" / "right" / "30.png")
    with pytest.raises(Refused, match=r"30\.png"):
        TRACK.stream.sittings(copy)


def _small_picture(folder):
    import cv2

    cv2.imwrite(str(folder / ".small.png"), np.zeros((40, 64), np.uint8))
    return folder / ".small.png"


def test_a_data_set_made_without_pictures_has_trials_and_no_stream(tmp_path):
    order = Order(without=("images",))
    make.run(TRACK, order, make.plan(TRACK, order), tmp_path / "d", lambda weight: None)
    assert TRACK.trials(tmp_path / "d").height == TRACK.truth(tmp_path / "d").height == 90
    with pytest.raises(Refused, match=r"01\.png"):
        TRACK.stream.sittings(tmp_path / "d")


@pytest.mark.parametrize(
    "said",
    [[12, -3.5], (12.0, -3.5), {"x": 12, "y": -3.5}, {"answer": [12.0, -3.5]}, {"answer": (12, -3.5), "took_s": 0.1},
     np.array([12.0, -3.5]), [np.float32(12), np.float64(-3.5)], {"answer": np.array([12, -3.5], np.float32)}],
    ids=str,
)  # fmt: skip
def test_a_point_is_heard_in_every_way_it_may_be_said(said):
    assert TRACK.hear(said) == {"x": 12.0, "y": -3.5}
    assert all(type(value) is float for value in TRACK.hear(said).values())


@pytest.mark.parametrize(
    "said",
    [12, None, "1,2", b"12", [1.0], [1.0, 2.0, 3.0], [], ["1", "2"], [True, False], [1.0, math.nan], [math.inf, 0.0],
     [1.0, None], [[1.0], [2.0]], {"x": 1.0}, {"x": 1.0, "y": True}, {"answer": 5}, {"answer": {"x": 1, "y": 2}}, {},
     [10**400, 0], [1j, 0], np.zeros((2, 1)), np.array([True, False]), np.array(["1", "2"])],
    ids=lambda said: repr(said)[:30],
)  # fmt: skip
def test_what_is_no_point_is_told_in_words(said):
    with pytest.raises(ValueError, match=r"returned .*, expected two finite numbers \[x, y\]"):
        TRACK.hear(said)


def test_a_long_answer_makes_a_short_message():
    for said in ([0.0] * 1_000_000, "x" * 1_000_000, np.zeros(1_000_000), {str(i): i for i in range(100_000)}):
        with pytest.raises(ValueError, match="returned") as caught:
            TRACK.hear(said)
        assert len(str(caught.value)) < 200


def test_a_point_beyond_all_bounds_still_has_an_angle(data):
    far = answers(data).with_columns(x=pl.lit(1e308), y=pl.lit(-1e308))
    assert scored(data, far).rows["error_deg"].is_between(60, 120).all()


def test_truth_as_answer_scores_exactly_zero(data):
    metrics = scored(data, answers(data)).result.metrics
    assert {name: found.value for name, found in metrics.items()} == {
        "pe_deg": 0.0, "p50_deg": 0.0, "p95_deg": 0.0, "mean_deg": 0.0, "misses": 0.0
    }  # fmt: skip


def test_the_error_is_the_angle_seen_from_between_the_eyes(data):
    row = scored(data, answers(data, off_mm=50.0)).rows.row(7, named=True)
    a, b = ((row[x], row["truth_y"], 1000.0) for x in ("x", "truth_x"))
    cosine = sum(p * q for p, q in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)
    assert row["error_deg"] == pytest.approx(math.degrees(math.acos(cosine)), abs=1e-6)


def test_of_ninety_points_four_misses_are_free_and_the_fifth_is_a_cliff(data):
    perfect, near = answers(data), answers(data, off_mm=10.0)
    assert pe(data, perfect[4:]) == 0.0
    assert pe(data, perfect[5:]) == 90.0
    assert pe(data, near[4:]) < 1.0
    assert pe(data, near[5:]) > 90.0


def test_misses_are_counted_and_each_costs_180_degrees(data):
    found = scored(data, answers(data).filter(~pl.col("trial").is_in(["T1/03", "T3/30"])))
    assert found.result.metrics["misses"].value == 2.0
    assert [row["misses"] for row in found.result.by["tester"]] == [1.0, 0.0, 1.0]
    missed = found.rows.filter(~pl.col("answered"))
    assert missed["error_deg"].to_list() == [180.0, 180.0]


def test_three_testers_are_too_few_for_an_interval(data):
    result = scored(data, answers(data)).result
    assert result.unit == "tester"
    assert {(found.low, found.high) for found in result.metrics.values()} == {(None, None)}


def test_of_teams_with_the_same_pe_the_one_with_fewer_misses_stands_higher(data):
    entries = [scored(data, answers(data)[missed:], f"missed {missed}") for missed in (4, 0, 5, 2)]
    entries.append(scored(data, answers(data)[: 90 - 2], "missed 2 others"))
    places = [(place.rank, place.entrant) for place in board(TRACK, entries)]
    assert places == [(1, "missed 0"), (2, "missed 2"), (2, "missed 2 others"), (4, "missed 4"), (5, "missed 5")]


def decided(data, trial, latency_s, said, note=""):
    answered_s = None if latency_s is None else 0.5 + latency_s
    return Decision("me", trial, 0.5, 0.5, answered_s, 1.0, said, note)


def test_a_live_run_is_scored_with_late_and_malformed_answers_as_misses(data):
    truth = {row["trial"]: [row["truth_x"], row["truth_y"]] for row in TRACK.truth(data).iter_rows(named=True)}
    decisions = [decided(data, trial, 0.2, point) for trial, point in truth.items()]
    decisions[0] = decided(data, "T1/01", None, None, "late")
    decisions[1] = decided(data, "T1/02", 0.1, "left")
    found = scored(data, answers_of(TRACK, TRACK.trials(data), [hear(TRACK, one) for one in decisions]))
    assert found.result.metrics["misses"].value == 2.0
    assert found.result.metrics["pe_deg"].value == 0.0
    *_, table = english(TRACK.display.charts(found.rows))
    assert table.rows[0][:6] == ["T1", 30, 2, "90.000°", 200, 200]
    assert table.rows[0][6].startswith("1 × late; 1 × returned 'left'")
    assert table.rows[-1][:4] == ["All", 90, 2, "0.000°"]


def test_pe_after_each_point_ends_at_the_result(data):
    errors = np.random.default_rng(0).gamma(2, 1, 90)
    given = answers(data).with_columns(x=1000 * np.tan(np.radians(errors)))
    found = scored(data, given)
    running = live_figures.running_pe(found.rows["error_deg"])
    assert len(running) == 90
    assert running[0] == found.rows["error_deg"][0]
    assert running[-1] == found.result.metrics["pe_deg"].value
    assert running[19] == np.mean(np.sort(found.rows["error_deg"].to_numpy()[:20])[[9, 18]])


@pytest.mark.parametrize("missed", [0, 1, 5, 90])
def test_charts_are_drawn_whatever_was_missed(data, missed):
    progress, errors, table = english(TRACK.display.charts(scored(data, answers(data, 20.0)[missed:]).rows))
    assert all(chart.svg.startswith("<svg") for chart in (progress, errors))
    assert "one miss puts PE at 90° or more; of all 90 it takes 5" in progress.note
    assert (f"{missed} point" in errors.note) == (missed > 0)
    assert [row[2] for row in table.rows][-1] == missed


def test_a_picture_shows_both_eyes_and_the_plan(data):
    row = scored(data, answers(data, 30.0)).rows.row(0, named=True)
    assert TRACK.display.picture(data, row).shape == (400, 640 + 8 + 640 + 8 + 400, 3)


def test_the_page_of_the_data_set_does_not_show_where_testers_look(data, bare):
    shutil.rmtree(bare / "truth")
    people, directions = english(TRACK.dataset.describe(bare))
    assert [row[0] for row in people.rows] == ["train", "test", "total"]
    assert TRACK.dataset.describe(data)[1].svg == directions.svg


def test_an_organiser_may_change_the_times(data):
    other = registry.track(TRACK.id, {"deadline_s": "0.5", "every_s": "3", "window_s": "0"})
    sitting = other.stream.sittings(data)[0]
    assert (sitting.seconds, sitting.window_s) == (0.5 + 29 * 3, 0.0)
    assert next(iter(sitting.ticks())).deadline_s == 0.5


@pytest.mark.parametrize(
    ("name", "value"), [("deadline_s", "0"), ("every_s", "-1"), ("window_s", "nan"), ("every_s", "inf")]
)
def test_times_that_make_no_sense_are_refused(name, value):
    with pytest.raises(PalestraError, match=name):
        registry.track(TRACK.id, {name: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: (data / "data.toml").unlink(), "data.toml"),
        (lambda data: shutil.rmtree(data / "truth"), "truth"),
        (lambda data: (data / "truth" / "T2.csv").unlink(), "no place for T2/01"),
        (lambda data: (data / "truth" / "T1.csv").write_text("point,x,y\n01,1,2\n"), "no place for T1/02"),
        (lambda data: (data / "truth" / "T1.csv").write_text("frame,x,y\n01,1,2\n"), "the header point,x,y"),
        (lambda data: (data / "truth" / "T1.csv").write_text("point,x,y\n01,a,2\n"), "2 numbers"),
        (lambda data: (data / "points.csv").write_text("tester\nT1\n"), "tester,point"),
        (lambda data: (data / "points.csv").write_text("tester,point\n"), "no points"),
    ],
)
def test_a_broken_data_set_is_told_in_words(bare, change, message):
    change(bare)
    with pytest.raises(Refused, match=message):
        TRACK.truth(bare)
