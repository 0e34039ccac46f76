"""Five frames bring an eye home, whoever cannot be read is left out, and live nobody is asked for any."""

from dataclasses import replace

import cv2
import numpy as np
import polars as pl
import pytest

from palestra.errors import PalestraError
from palestra.metrics.angles import angles_deg_columns
from palestra.metrics.quantiles import at_shares
from palestra.tracks.near_eye import format as on_disk
from palestra.tracks.near_eye import live_format
from palestra.tracks.near_eye.solutions import gaze_palestra as gaze
from palestra.tracks.near_eye.solutions import live_palestra as live
from palestra.tracks.near_eye.solutions import networks
from palestra.tracks.near_eye.solutions.calibration import FEW, Frames, fit_anybody, fit_own, fit_usual
from palestra.tracks.near_eye.solutions.networks import as_left

NOISE = 0.004  # a quarter of a degree


def eye(rng, count):
    """Frames of one eye: a home, slopes and a bend of its own, and points on the plane that it looks at."""
    points = rng.uniform((-0.36, -0.27), (0.36, 0.27), (count, 2))
    slopes = np.array([[0.5, 0.0], [0.0, -0.5]]) * (1 + rng.normal(0, 0.05, (2, 1))) + rng.normal(0, 0.01, (2, 2))
    bent = points - 0.2 * points**3 + rng.normal(0, 0.05) * (points[:, :1] * points[:, 1:])
    places = rng.normal(1.5, 0.12, 2) + bent @ slopes
    unclear = rng.random(count) < 0.1
    places += rng.normal(0, np.where(unclear, 10, 1)[:, None] * NOISE / 2, (count, 2))
    # What else is seen tells roughly how the headset sits, and how clear the frame is.
    extras = np.hstack([places, points]) + rng.normal(0, 0.05, (count, 4))
    return Frames(places, extras, unclear[:, None] + rng.normal(0, 0.1, (count, 1))), points


def eyes(rng, people, count=30):
    found = [eye(rng, count) for _ in range(people)]
    parts = [np.concatenate([getattr(one, name) for one, _ in found]) for name in ("places", "extras", "looks")]
    return Frames(*parts), np.concatenate([points for _, points in found]), np.repeat(np.arange(people), count)


@pytest.fixture(scope="module")
def usual():
    return fit_usual(*eyes(np.random.default_rng(0), 24))


@pytest.fixture(scope="module")
def anybody():
    frames, points, _ = eyes(np.random.default_rng(0), 24)
    return fit_anybody(frames, points)


def off(found, points):
    return np.linalg.norm(found - points, axis=1)


def test_five_frames_make_an_eye_several_times_better(usual, anybody):
    rng, with_five, without = np.random.default_rng(1), [], []
    for _ in range(12):
        frames, points = eye(rng, 60)
        with_five += off(fit_own(usual, frames[np.arange(5)], points[:5])(frames)[0], points)[5:].tolist()
        without += off(anybody(frames)[0], points)[5:].tolist()
    assert np.median(with_five) < np.median(without) / 3
    assert np.median(with_five) < 2.5 * NOISE


def test_more_frames_never_hurt_much_and_fewer_than_three_tell_nothing(usual):
    frames, points = eye(np.random.default_rng(2), 200)
    medians = [
        np.median(off(fit_own(usual, frames[np.arange(n)], points[:n])(frames)[0], points)) for n in (3, 5, 20, 100)
    ]
    assert medians[-1] < medians[0] and medians[-1] < 1.5 * NOISE
    assert fit_own(usual, frames[np.arange(FEW - 1)], points[: FEW - 1]) is None


def test_it_knows_how_sure_it_is(usual):
    rng, ratio, doubts = np.random.default_rng(3), [], []
    for _ in range(12):
        frames, points = eye(rng, 60)
        found, variance = fit_own(usual, frames[np.arange(5)], points[:5])(frames)
        ratio += (np.abs(found - points) / np.sqrt(variance))[5:].ravel().tolist()
        doubts.append((frames.looks[:, 0] > 0.5, variance[:, 0]))
    assert 0.8 < np.mean(np.array(ratio) < 2) < 0.99
    unclear, variance = (np.concatenate(part) for part in zip(*doubts, strict=True))
    assert np.median(variance[unclear]) > 3 * np.median(variance[~unclear])


def test_one_misread_frame_among_five_does_not_spoil_an_eye(usual):
    rng, clean, spoilt = np.random.default_rng(4), [], []
    for _ in range(12):
        frames, points = eye(rng, 60)
        told = points[:5].copy()
        clean += off(fit_own(usual, frames[np.arange(5)], told)(frames)[0], points)[5:].tolist()
        told[2] += 0.2  # 11°
        spoilt += off(fit_own(usual, frames[np.arange(5)], told)(frames)[0], points)[5:].tolist()
    assert np.median(spoilt) < 5 * np.median(clean)


@pytest.fixture(scope="module")
def model(tiny):
    data = tiny("near-eye-gaze-v1")
    return gaze.fit(data, {})


@pytest.fixture(scope="module")
def groups(tiny):
    """Some test groups with the truth, each looked at once."""
    data = tiny("near-eye-gaze-v1")
    truth = on_disk.read_points(data, "truth")
    parts = truth.partition_by("person", "group", maintain_order=True)[::3]
    return [(gaze.seen_of(data, part), part.select("x", "y").to_numpy()) for part in parts]


def errors_deg(model, groups, **how):
    found = []
    for seen, points in groups:
        told, scored = gaze.answers(model, seen, **how), np.setdiff1d(np.arange(len(points)), seen.known)
        found.append(angles_deg_columns(*told[scored].T, 1000.0, *points[scored].T, 1000.0))
    return np.concatenate(found)


def test_pe_with_five_frames_is_at_least_twice_as_good_as_without(model, groups):
    with_five, without = (
        at_shares(errors_deg(model, groups, calibrated=how), (0.5, 0.95)).mean() for how in (True, False)
    )
    assert with_five < without / 2
    assert with_five < 2.5


def test_an_eye_that_cannot_be_read_leaves_the_answer_to_the_other(model, groups):
    seen, _ = groups[0]
    blind = seen.rows.copy()
    blind[:, 0] = np.nan
    one = gaze.answers(model, replace(seen, rows=blind))
    assert np.isfinite(one).all() and np.abs(one).max() > 100
    blind[7] = np.nan
    assert gaze.answers(model, replace(seen, rows=blind))[7].tolist() == [0, 0]


def test_calibration_frames_that_cannot_be_read_leave_what_anybody_s_eyes_tell(model, groups):
    seen, _ = groups[0]
    blind = seen.rows.copy()
    blind[seen.known] = np.nan
    told = gaze.answers(model, replace(seen, rows=blind))
    clear = np.setdiff1d(np.arange(len(told)), seen.known)
    assert told[clear] == pytest.approx(gaze.answers(model, seen, calibrated=False)[clear])


def test_in_a_mirror_both_eyes_look_the_other_way(model, groups):
    seen, _ = groups[0]
    mirrored = replace(seen, rows=seen.rows[:, ::-1], points=seen.points * [-1, 1])
    assert gaze.answers(model, mirrored) == pytest.approx(gaze.answers(model, seen) * [-1, 1], abs=1e-6)


def test_so_many_training_frames_are_looked_at_that_it_ends():
    keys = [("P1", f"G{i:02d}", f"{j:04d}") for i in range(40) for j in range(500 if i else 3)]
    frames = pl.DataFrame(keys, schema=["person", "group", "frame"], orient="row")
    chosen = gaze.sampled(frames)
    assert chosen.height == 39 * gaze.MOST_TRAINING_FRAMES // 40 + 3
    assert chosen.equals(gaze.sampled(frames)) and chosen.n_unique() == chosen.height


def test_training_pictures_without_eyes_are_refused_in_words(tmp_path):
    home = tmp_path / "train" / "P01" / "G01"
    for side in on_disk.EYES:
        (home / side).mkdir(parents=True)
        cv2.imwrite(str(home / side / "0000.png"), np.full((400, 640), 90, np.uint8))
    (home / "labels.csv").write_text("frame,x,y\n0000,1,2\n")
    (tmp_path / "data.toml").write_text("plane_distance = 1000.0\n")
    with pytest.raises(PalestraError, match="found 0 eyes that can be read"):
        gaze.fit(tmp_path, {})


def test_nothing_is_read_where_there_is_no_eye():
    rows = networks.rows([np.full((400, 640), 90, np.uint8)])
    assert rows.shape == (1, networks.COLUMNS) and np.isnan(rows).all()


def test_a_right_eye_is_seen_in_a_mirror():
    image = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert as_left(image, "left") is image
    assert as_left(image, "right").tolist() == image[:, ::-1].tolist()


def told(x_mm, y_mm, variances=(0.01, 0.01)):
    """What a network that knows everything tells of both eyes, the right one in a mirror."""
    across = [side * x_mm - live.APART_MM for side in (-1, 1)]
    return [live.Told(np.array([x, y_mm]) / live.PLANE_MM, one) for x, one in zip(across, variances, strict=True)]


@pytest.mark.parametrize("point", [(0.0, 0.0), (300.0, -200.0), (-120.0, 250.0)])
def test_both_eyes_and_each_alone_meet_at_the_point(point):
    left, right = told(*point)
    for eyes in ([left, right], [left, None], [None, right]):
        assert live.looked_at(eyes) == pytest.approx(point)
    assert live.looked_at([None, None]) is None


def test_the_surer_eye_counts_for_more():
    left, right = told(100.0, 0.0, (0.001, 0.05))[0], told(-100.0, 0.0, (0.001, 0.05))[1]
    x, _ = live.looked_at([left, right])
    assert 90 < x < 100


def test_what_all_answers_are_off_by_is_taken_back_with_time():
    rng = np.random.default_rng(0)
    points = rng.uniform(-live.REACH_MM, live.REACH_MM, (60, 2)) + [60.0, -40.0]
    early, late = (live.usually_off(points[:n].sum(axis=0), float(n)) for n in (1, 60))
    assert np.abs(early).max() < 25  # one answer tells nearly nothing
    assert np.linalg.norm(late - [60.0, -40.0]) < 0.5 * np.linalg.norm([60.0, -40.0])


@pytest.fixture(scope="module")
def testers(tiny):
    """Both eyes of some testers at some points, and where those are."""
    data = tiny("near-eye-live-v1")
    points = live_format.read_truth(data)[::6]
    pictures = [tuple(live_format.read_eyes(data, *key).values()) for key in points.select(live_format.KEY).rows()]
    return pictures, points.select("x", "y").to_numpy()


def test_live_it_is_far_better_than_looking_straight_ahead(testers):
    program, found = live.Palestra(), []
    pictures, points = testers
    for left, right in pictures:
        program.get_data(left, right)
        found.append(program.algorithm())
    off_deg = angles_deg_columns(*np.array(found).T, 1000.0, *points.T, 1000.0)
    assert at_shares(off_deg, (0.5, 0.95)).mean() < 9  # straight ahead: 18


def test_live_who_sees_nothing_answers_straight_ahead_and_later_as_before(testers):
    program, dark = live.Palestra(), np.zeros(live_format.SHAPE, np.uint8)
    program.get_data(dark, dark)
    assert program.algorithm() == [0, 0]
    program.get_data(*testers[0][0])
    before = program.algorithm()
    program.get_data(dark, dark)
    assert program.algorithm() == before != [0, 0]
