"""The solutions of remote-gaze-v1 learn and are tested as a protocol says, and see no truth in a test."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from palestra import registry
from palestra.errors import PalestraError, UnknownName
from palestra.evaluation import protocol_data as studying
from palestra.evaluation import run
from palestra.evaluation.learner_loader import load
from palestra.metrics.angles import angles_deg
from palestra.records import Material
from palestra.scoring import score
from palestra.tracks.remote_gaze.solutions import video_cache
from palestra.tracks.remote_gaze.solutions.samples import to_learn_from, tracked
from tests.tracks.remote_gaze.sessions import write_sessions

TRACK = "remote-gaze-v1"
ALL = [solution.name for solution in registry.solutions(TRACK) if solution.learns]
SEEING = [name for name in ALL if name != "head-pose"]


def learner(name):
    return load(registry.solution(TRACK, name).learns)()


@pytest.fixture(scope="module")
def data(tiny):
    return tiny(TRACK)


def error_deg(name, protocol, data, options=None):
    """What a benchmark says of a solution, all in this process."""
    bench = run.bench_of(registry.track(TRACK), protocol, data)
    study, parts = studying.study_of(bench.track), []
    for fold in studying.folds_of(study, bench.protocol, data):
        one = learner(name)
        material = studying.training(study, fold, data, None)
        one.fit(Material(data, material.rows, options or {}))
        for experiment, test in studying.tests(study, fold, data):
            given = one.predict(Material(data, test.rows, options or {}))
            parts.append(given.with_columns(studying.named(experiment)))
    blank = bench.track.blank(pl.concat(parts).select("trial")).drop("trial")
    answers = pl.concat(parts).with_columns(pl.lit(None, blank[c].dtype).alias(c) for c in ("sx", "sy"))
    contender = run.contender(bench.track, name, options or {})
    found = run.scored(bench, contender, answers, score.load(bench.track, data))
    return found.result.metrics["error_deg"].value


def session(data, name, half="all"):
    rows = registry.track(TRACK).study.samples(data, [name])
    middle = rows.height // 2
    return {"all": rows, "first": rows[:middle], "second": rows[middle:]}[half]


def test_all_four_are_there():
    assert ALL == ["appearance", "eye-model", "head-pose", "network"]


@pytest.mark.parametrize("name", SEEING)
def test_who_sees_the_eyes_knows_far_more_than_the_head_tells(name, data):
    assert error_deg(name, "1-FT", data) < 0.6 * error_deg("head-pose", "1-FT", data)


def test_across_people_the_network_is_better_than_the_head(data):
    assert error_deg("network", "3-FT", data) < 0.5 * error_deg("head-pose", "3-FT", data)


def test_heads_that_turn_to_what_they_look_at_tell_more_than_a_constant():
    rng = np.random.default_rng(4)
    heads = rng.uniform(-0.5, 0.5, (200, 2))
    rows = made_up(heads, looks=0.8 * heads + rng.normal(0, 0.03, (200, 2)))
    one = learner("head-pose")
    one.fit(Material(Path(), rows[:100]))
    given = one.predict(Material(Path(), studying.shown(rows[100:])))
    true = rows[100:].select("truth_left_vx", "truth_left_vy", "truth_left_vz").to_numpy()
    found = given.select("left_vx", "left_vy", "left_vz").to_numpy()
    constant = rows[:100].select("truth_left_vx", "truth_left_vy", "truth_left_vz").mean().to_numpy()
    assert angles_deg(found, true).mean() < 0.7 * angles_deg(np.repeat(constant, 100, axis=0), true).mean()


def made_up(heads, looks):
    """Rows of somebody at the world's middle whose face and eyes point along yaw and pitch."""
    from palestra.tracks.remote_gaze.simulator.stage import rotations

    count = len(heads)
    turned = rotations(np.concatenate([heads, np.zeros((count, 1))], axis=1))
    yaw, pitch = looks.T
    sights = np.stack([np.sin(yaw) * np.cos(pitch), np.sin(pitch), np.cos(yaw) * np.cos(pitch)], axis=1)
    columns = {f"r{i}{j}": turned[:, i, j] for i in range(3) for j in range(3)}
    columns |= dict.fromkeys(("tx", "ty", "tz"), np.zeros(count))
    columns |= {f"{side}_{axis}": np.zeros(count) for side in ("left", "right") for axis in "xyz"}
    columns |= {f"truth_{side}_v{axis}": sights[:, at] for side in ("left", "right") for at, axis in enumerate("xyz")}
    trials = {"trial": [f"t/{i}" for i in range(count)], "person": "1", "truth_state": "OK"}
    return pl.DataFrame({**columns, "trial": trials["trial"]}).with_columns(
        person=pl.lit(trials["person"]), truth_state=pl.lit(trials["truth_state"])
    )


@pytest.mark.parametrize("name", ALL)
def test_a_test_needs_no_truth_and_gives_the_same_twice(name, data):
    given = []
    for _ in range(2):
        one = learner(name)
        one.fit(Material(data, session(data, "1_A_DS_S", "first")))
        test = studying.shown(session(data, "1_A_DS_S", "second"))
        given.append(one.predict(Material(data, test)))
    assert given[0].equals(given[1])
    assert given[0].null_count().sum_horizontal()[0] == 0
    assert given[0].height == test.drop_nulls("left_x").height, "frames with a head, and no others"


@pytest.mark.parametrize("name", SEEING)
def test_pictures_are_seen_without_the_file_that_tells_the_target(name, data, tmp_path, monkeypatch):
    rows = session(data, "2_A_FT_S")
    copy = tmp_path / "Data" / "2_A_FT_S"
    copy.mkdir(parents=True)
    for file in (data / "Data" / "2_A_FT_S").iterdir():
        if file.name != "ball_tracking.txt":
            (copy / file.name).symlink_to(file)
    monkeypatch.setenv("PALESTRA_CACHE", str(tmp_path / "cache"))
    one = learner(name)
    one.fit(Material(data, rows[:20]))
    assert one.predict(Material(tmp_path, studying.shown(rows[20:]))).height > 10


@pytest.mark.parametrize("name", SEEING)
def test_a_stranger_is_answered_for_and_frames_without_a_head_are_not(name, data):
    one = learner(name)
    one.fit(Material(data, session(data, "1_A_CS_S")))
    stranger = studying.shown(session(data, "14_A_CS_S"))
    given = one.predict(Material(data, stranger))
    assert given.height == stranger.drop_nulls("left_x").height > 20
    lost = stranger.with_columns(pl.lit(None, pl.Float64).alias("left_x"))
    assert one.predict(Material(data, lost)).is_empty()


def test_blinks_and_lost_frames_are_not_learnt_from(data):
    rows = session(data, "1_A_FT_S")
    kept = to_learn_from(Material(data, rows)).table
    assert set(kept["truth_state"]) == {"OK"} and kept.height < rows.height
    assert len(tracked(Material(data, studying.shown(rows)))) >= kept.height
    with pytest.raises(PalestraError, match="no frame to learn from"):
        to_learn_from(Material(data, rows.with_columns(truth_state=pl.lit("BK"))))


def test_the_sharper_camera_is_used_where_there_is_one_and_the_other_elsewhere(data, tmp_path, monkeypatch):
    monkeypatch.setenv("PALESTRA_CACHE", str(tmp_path))
    for name in ("1_A_DS_S", "2_A_DS_S"):  # with an HD video, and without
        one, options = learner("eye-model"), {"camera": "hd"}
        one.fit(Material(data, session(data, name, "first"), options))
        assert one.predict(Material(data, studying.shown(session(data, name, "second")), options)).height > 5
    with pytest.raises(UnknownName, match="camera"):
        one.predict(Material(data, studying.shown(session(data, "2_A_DS_S")), {"camera": "thermal"}))


def test_a_recording_is_decoded_once(data, tmp_path, monkeypatch):
    monkeypatch.setenv("PALESTRA_CACHE", str(tmp_path))
    rows = tracked(Material(data, session(data, "2_A_CS_S")))
    first = video_cache.look(data, rows, video_cache.EYES)
    monkeypatch.setattr(video_cache.eyediap, "video", None)
    again = video_cache.look(data, rows, video_cache.EYES)
    assert (first.found == again.found).all() and first.found.shape == (len(rows), 2, 32, 48)


def test_what_is_kept_stays_small(tmp_path, monkeypatch):
    monkeypatch.setenv("PALESTRA_CACHE", str(tmp_path))
    monkeypatch.setattr(video_cache, "KEPT_BYTES", 3000)
    for number in range(6):
        assert (video_cache._kept(f"array {number}", lambda: np.zeros(100)) == 0).all()
    kept = sum(file.stat().st_size for file in (tmp_path / "remote-gaze").iterdir())
    assert 0 < kept <= 3000


def test_data_without_videos_is_refused_by_name(tmp_path):
    data = write_sessions(tmp_path, ["1_A_FT_S"])
    with pytest.raises(PalestraError, match=r"1_A_FT_S has no rgb_vga\.mov"):
        learner("appearance").fit(Material(data, session(data, "1_A_FT_S")))
