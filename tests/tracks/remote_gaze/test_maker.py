"""Synthetic recordings of heads have the sessions, lengths and files that the report counts."""

import hashlib
from collections import Counter

import numpy as np
import pytest

from palestra.records import Order
from palestra.tracks.remote_gaze import eyediap, maker

PAPER = Order("paper", 0, ("video",))
FRAMES = 4


def tree(folder):
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def write(order, names, folder, frames=FRAMES):
    for name in names:
        maker._write(order, eyediap.name_of(name), frames, folder)
    maker._finish(order, folder)
    return folder


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """A few frames of the tiny set, with each of the videos somewhere."""
    return write(Order(), ("1_A_DS_S", "1_A_FT_S", "14_A_FT_S", "14_B_FT_S"), tmp_path_factory.mktemp("few"))


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Whole recordings of the paper's length, without their videos."""
    names = ("14_A_DS_M", "14_A_CS_S", "14_A_FT_S", "14_B_FT_M")
    folder = tmp_path_factory.mktemp("long")
    for name in names:
        maker._write(PAPER, eyediap.name_of(name), maker._frames(PAPER, eyediap.name_of(name)), folder)
    maker._finish(PAPER, folder)
    return folder


def test_the_paper_s_size_has_94_recordings_of_two_and_a_half_and_three_minutes():
    plan = maker.plan(Order("paper"))
    assert [part.name for part in plan.parts] == [str(name) for name in eyediap.ALL]
    lengths = Counter(maker._frames(PAPER, name) for name in eyediap.ALL)
    assert lengths == {4500: 84, 5400: 10}
    assert sum(person.woman for person in maker._people(PAPER)) == 4


def test_nearly_all_recordings_of_the_paper_s_size_have_all_videos():
    videos = Counter(maker._videos(Order("paper"), name) for name in eyediap.ALL)
    assert videos == {("rgb_vga", "rgb_hd", "depth"): 89, ("rgb_vga", "depth"): 5}
    assert not any(maker._videos(PAPER, name) for name in eyediap.ALL)


def test_the_tiny_set_has_three_people_of_whom_one_came_twice():
    names = maker._names(Order())
    assert {name.person for name in names} == {1, 2, 14}
    assert len(names) == 20
    assert {(name.target, name.head) for name in names if name.condition == "B"} == {("FT", "S"), ("FT", "M")}


def test_the_small_set_shows_20_places_of_the_screen_in_each_half():
    order = Order("small", 0, ("video",))
    assert len(maker.plan(order).parts) == 94
    size = maker._SIZES["small"]
    assert size.frames * size.every / 30 / 1.1 / 2 >= 20


def test_the_same_order_gives_the_same_bytes_and_another_seed_others(few, tmp_path):
    for kept in (maker._people, maker._surface, maker._renderer):
        kept.cache_clear()
    again = write(Order(), ("1_A_DS_S", "1_A_FT_S", "14_A_FT_S", "14_B_FT_S"), tmp_path / "again")
    assert tree(again) == tree(few)
    other = tree(write(Order(seed=1, without=("video",)), ("1_A_DS_S",), tmp_path / "other"))
    first = tree(few)
    assert not any(other[name] == first[name] for name in other if name.startswith("Data/") and name in first)


def test_what_is_written_reads_as_eyediap(few):
    assert [str(name) for name in eyediap.sessions(few)] == ["1_A_DS_S", "1_A_FT_S", "14_A_FT_S", "14_B_FT_S"]
    for name in eyediap.sessions(few):
        table = eyediap.frames(few, name)
        assert table.height == FRAMES
        with eyediap.video(few, name, "rgb_vga") as video:
            assert len(video) == FRAMES
            assert video[FRAMES - 1].shape == (480, 640, 3)
    assert eyediap.has_video(few, eyediap.name_of("1_A_DS_S"), "rgb_hd")
    assert not eyediap.has_video(few, eyediap.name_of("1_A_DS_S"), "depth")


def test_depth_videos_show_the_person_at_the_tracked_distance(few):
    name = eyediap.name_of("1_A_FT_S")
    model, camera = eyediap.depth_model(few, name), eyediap.camera(few, name, "depth")
    row = eyediap.frames(few, name).drop_nulls("left_x").row(0, named=True)
    with eyediap.video(few, name, "depth") as video:
        metres = eyediap.depth_m(eyediap.disparity_of(video[row["frame"]]), model)
    eye = np.array([row["left_x"], row["left_y"], row["left_z"]])
    column, line = camera.project(eye).round().astype(int)
    behind = float(camera.pose.back()(eye)[2]) - metres[line - 1 : line + 2, column - 1 : column + 2]
    assert np.nanmedian(behind) == pytest.approx(0.013, abs=0.01)  # the lids stand before the eyeball's middle


def test_day_b_is_another_day(few):
    tables = {c: eyediap.frames(few, eyediap.name_of(f"14_{c}_FT_S")).drop_nulls("tz") for c in "AB"}
    far = {c: 1 - float(table["tz"].mean()) for c, table in tables.items()}
    assert far["A"] == pytest.approx(1.2, abs=0.08)
    assert abs(far["A"] - far["B"]) > 0.06
    bright = []
    for c in "AB":
        with eyediap.video(few, eyediap.name_of(f"14_{c}_FT_S"), "rgb_vga") as video:
            bright.append(video[0][60:].mean())
    assert abs(bright[0] - bright[1]) > 5


def test_blinks_and_distractions_are_annotated_but_not_where_the_target_jumps(long):
    assert eyediap.frames(long, eyediap.name_of("14_A_DS_M"))["state"].null_count() == 4500
    for name in ("14_A_CS_S", "14_A_FT_S", "14_B_FT_M"):
        counts = dict(eyediap.frames(long, eyediap.name_of(name))["state"].value_counts().iter_rows())
        assert set(counts) == {"OK", "BK", "NL"}
        assert counts["OK"] > 0.8 * sum(counts.values())


def test_heads_are_lost_now_and_then_and_eyes_with_them(long):
    for name in eyediap.sessions(long):
        table = eyediap.frames(long, name)
        assert 0 < table["tx"].null_count() < 0.1 * table.height
        assert table["tx"].is_null().equals(table["left_x"].is_null())


def test_eyes_are_where_equation_4_puts_them(long):
    name = eyediap.name_of("14_A_FT_S")
    table = eyediap.frames(long, name).drop_nulls("tx")
    turns = table.select(f"r{i}{j}" for i in range(3) for j in range(3)).to_numpy().reshape(-1, 3, 3)
    left = turns @ eyediap.eyeballs(long, 14)[0] + table.select("tx", "ty", "tz").to_numpy()
    assert np.abs(left - table.select("left_x", "left_y", "left_z").to_numpy()).max() < 1e-9


def test_the_ball_is_seen_by_all_cameras_in_most_frames(long):
    name = eyediap.name_of("14_A_FT_S")
    ball = eyediap.frames(long, name).select("target_x", "target_y", "target_z").drop_nulls().to_numpy()
    for which in eyediap.VIDEOS:
        camera = eyediap.camera(long, name, which)
        seen = camera.project(ball)
        inside = (seen > 0).all(axis=1) & (seen < (camera.width, camera.height)).all(axis=1)
        assert inside.mean() > 0.95


def test_the_seed_is_told_with_the_truth_alone(few):
    told = [str(file.relative_to(few)) for file in few.rglob("*.t*") if "seed" in file.read_text()]
    assert told == ["truth/made.toml"]


def test_the_sample_has_videos_in_the_shares_of_the_whole(tmp_path):
    plan = maker.plan(Order("small"))
    weights = {part.name: part.weight for part in plan.parts}
    assert weights["1_A_FT_S"] == 7 * weights["3_A_FT_S"]
    counts = plan.sample.write.args[-1]
    assert counts == {"rgb_vga": 45, "rgb_hd": 3, "depth": 1}
    assert plan.sample.weight / sum(weights.values()) == pytest.approx(45 / (94 * 240), rel=0.02)
    maker.plan(PAPER).sample.write(tmp_path)  # without videos it is one whole recording
    assert eyediap.frames(tmp_path, eyediap.ALL[0]).height == 4500
