"""Synthetic data sets have the splits, sizes and people that the papers count."""

import hashlib
from collections import Counter

import cv2
import numpy as np
import polars as pl
import pytest

from palestra import parallel, registry
from palestra.datasets import make as making
from palestra.datasets.redact import shown
from palestra.eyes import cohort
from palestra.metrics.angles import to_angles
from palestra.records import Order
from palestra.tracks.eye_segmentation import format as openeds_segmentation
from palestra.tracks.eye_segmentation import maker as segmentation_maker
from palestra.tracks.gaze_prediction import format as openeds_gaze
from palestra.tracks.gaze_prediction import maker as gaze_maker
from palestra.tracks.near_eye import format as near_eye
from palestra.tracks.near_eye import maker as near_eye_maker

PAPER = Order("paper", 0, ("images",))
LABELS = (".csv", ".pkl", "goals.json")


def tree(folder):
    """Digest of every file in a folder."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def make(track_id, order, folder):
    track = registry.track(track_id)
    making.run(track, order, making.plan(track, order), folder, lambda weight: None)
    return folder


@pytest.mark.parametrize("track_id", sorted(registry.tracks()))
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(track_id, tiny, unpictured, tmp_path):
    made, again = tree(tiny(track_id)), tree(unpictured(track_id))
    other = tree(make(track_id, Order(seed=1, without=("images",)), tmp_path / "other"))
    track = registry.track(track_id)
    partly = tuple(map(str, track.dataset.in_part(tiny(track_id)))) if track.dataset.in_part else ()
    labels = [name for name in other if name in made and name.startswith((*track.dataset.hidden, *partly))]
    labels = [name for name in labels if name.endswith(LABELS) or name.endswith(("_tracking.txt", "_coordinates.txt"))]
    assert labels
    assert all(again[name] == made[name] != other[name] for name in labels)


@pytest.mark.parametrize("track_id", sorted(registry.tracks()))
def test_parts_with_their_pictures_are_the_same_to_the_byte_when_they_are_made_again(track_id, tiny, tmp_path):
    made = tree(tiny(track_id))
    parts = sorted(making.plan(registry.track(track_id), Order()).parts, key=lambda part: part.weight)
    for part in parts[:2]:
        part.write(tmp_path)
    again = {name: digest for name, digest in tree(tmp_path).items() if name in made}
    assert again and again.items() <= made.items()


@pytest.mark.slow
@pytest.mark.parametrize("track_id", sorted(registry.tracks()))
def test_a_whole_set_is_the_same_to_the_byte_when_it_is_made_again(track_id, tiny, tmp_path):
    assert tree(make(track_id, Order(), tmp_path / "again")) == tree(tiny(track_id))


@pytest.mark.parametrize("track_id", ["near-eye-gaze-v1", "gaze-prediction-v1"])
def test_the_number_of_processes_does_not_change_the_bytes(track_id, unpictured, tmp_path, monkeypatch):
    order, alone = Order(without=("images",)), tree(unpictured(track_id))
    monkeypatch.setenv(parallel.WORKERS, "2")
    assert tree(make(track_id, order, tmp_path / "parallel")) == alone


@pytest.mark.parametrize("stop_at", ["rename", "rmtree"])
def test_a_stop_while_the_last_tables_are_written_loses_nothing(stop_at, unpictured, tmp_path, monkeypatch):
    import shutil
    from pathlib import Path

    order, whole = Order(without=("images",)), tree(unpictured("gaze-prediction-v1"))

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(*((Path, "rename") if stop_at == "rename" else (shutil, "rmtree")), stop)
        with pytest.raises(KeyboardInterrupt):
            make("gaze-prediction-v1", order, tmp_path / "stopped")
    assert tree(make("gaze-prediction-v1", order, tmp_path / "stopped")) == whole


def test_pictures_are_grey_640_by_400(tiny):
    for track_id in set(registry.tracks()) - {"emotion-eeg-v1", "tabletop-manip-v1", "remote-gaze-v1"}:
        file = next(tiny(track_id).rglob("*.png"))
        image = cv2.imread(str(file), cv2.IMREAD_UNCHANGED)
        assert (image.shape, image.dtype) == ((400, 640), np.uint8)


def test_near_eye_has_the_contest_s_numbers_at_paper_size():
    groups = near_eye_maker._groups(PAPER)
    frames = Counter()
    for group in groups:
        frames[group.split] += group.frames
    assert frames == {"train": 15 * 7 * 2310, "test": 150_150}
    test = [group for group in groups if group.split == "test"]
    known = {group.person for group in groups if group.split == "train"}
    assert len(test) == 65
    assert Counter(Counter(group.person for group in test if group.person in known).values()) == {3: 5}
    assert Counter(Counter(group.person for group in test if group.person not in known).values()) == {10: 5}
    names = [(group.person, group.group) for group in groups]
    assert len(set(names)) == len(names), "a known person's test groups are new ones"


def test_near_eye_calibration_is_part_of_the_truth(tiny):
    data = tiny("near-eye-gaze-v1")
    given, truth = near_eye.read_points(data, "calibration"), near_eye.read_points(data, "truth")
    assert given.join(truth, on=given.columns, how="semi").height == given.height
    assert set(given.group_by("person", "group").len()["len"]) == {5}


def test_gaze_prediction_has_the_paper_s_numbers_at_paper_size():
    shares = gaze_maker.shares(PAPER)
    people = gaze_maker._people(PAPER)
    assert {split: len(who) for split, who in people.items()} == {"train": 32, "validation": 8, "test": 40}
    assert len({name for who in people.values() for name in who}) == 80
    total = Counter()
    for share in shares:
        total[share.split] += share.sequences
    assert total == {"train": 1280, "validation": 1280, "test": 6400}
    # Some people have too few valid clips, and others fill up.
    test = [share.sequences for share in shares if share.split == "test"]
    assert min(test) < 160 < max(test)


def test_sequence_names_do_not_tell_the_person():
    shares = [share for share in gaze_maker.shares(PAPER) if share.split == "test"]
    names = [name for share in shares for clips in share.clips.values() for name in clips]
    assert sorted(names) == [f"{i:04d}" for i in range(6400)]
    assert names != sorted(names)


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_people_are_stratified_as_table_2_counts_them(split):
    census, people = cohort.GAZE_PEOPLE[split], gaze_maker._people(PAPER)[split].values()
    assert Counter(who.sex for who in people) == Counter(census.sex)
    assert Counter(who.ethnicity for who in people) == Counter(census.ethnicity)
    assert sum(who.glasses for who in people) == census.glasses
    assert sum(who.makeup for who in people) == census.makeup
    old = sum(who.age > 40 for who in people)
    assert old == census.age["41+"]


def test_test_sequences_hold_50_pictures_and_no_labels(tiny):
    data = tiny("gaze-prediction-v1")
    root = data / openeds_gaze.RELEASE / "test"
    assert not (root / "labels").exists()
    for sequence in (root / "sequences").iterdir():
        assert sorted(path.name for path in sequence.iterdir()) == [f"{i:03d}.png" for i in range(50)]
    assert openeds_gaze.read_labels(data, "test").group_by("sequence").len()["len"].unique().to_list() == [55]
    assert openeds_gaze.read_labels(data, "train").group_by("sequence").len()["len"].unique().to_list() == [100]


def test_labels_are_unit_vectors_that_follow_the_target(tiny):
    data = tiny("gaze-prediction-v1")
    labels = openeds_gaze.read_labels(data, "train")
    vectors = labels.select("x", "y", "z").to_numpy()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-9)
    frames = openeds_gaze.read_frames(data).filter(split="train", target_status="static")
    both = frames.join(labels, on=("sequence", "frame"))
    target = both.select(f"target_{axis}_cm" for axis in "xyz").to_numpy()
    eye = both.select(f"cornea_{axis}_cm" for axis in "xyz").to_numpy()
    away = np.stack(to_angles(target - eye)) - np.stack(to_angles(both.select("x", "y", "z").to_numpy()))
    assert np.median(np.abs(away)) < 1.0


def test_the_mirrored_eyes_look_the_same_way_round(tiny):
    """Whichever eye it was, the cornea's centre lies on the same side in what is written."""
    frames = openeds_gaze.read_frames(tiny("gaze-prediction-v1"))
    assert (frames["cornea_x_cm"] < 0).all()


def test_segmentation_has_the_paper_s_numbers_at_paper_size():
    sequences = segmentation_maker.sequences(PAPER)
    assert len(sequences) == 200
    assert len({item.person for item in sequences}) == 74
    frames, given = [item.frames for item in sequences], [len(item.given) for item in sequences]
    assert (sum(frames), min(frames) >= 136, max(frames) <= 181) == (29_476, True, True)
    assert (sum(given), min(given) >= 6, max(given) <= 14) == (1_605, True, True)
    assert {len(item.hidden) for item in sequences} == {5}
    assert all(not set(item.given) & set(item.hidden) for item in sequences)
    assert sum(frames) - sum(given) == 27_871


def test_hidden_labels_lie_in_the_same_sequences_as_the_given_ones(tiny):
    data = tiny("eye-segmentation-v1")
    frames = openeds_segmentation.read_frames(data)
    hidden = openeds_segmentation.read_hidden(data)
    per_sequence = hidden.group_by(pl.col("trial").str.split("/").list.first()).len()
    assert set(per_sequence["len"]) == {5}
    assert per_sequence.height == frames["sequence"].n_unique()
    given = frames.filter("labelled").select(pl.format("{}/{}.npy", "sequence", "frame").alias("trial"))
    assert hidden.join(given, on="trial", how="semi").is_empty()


def test_masks_have_the_four_classes(tiny):
    data = tiny("eye-segmentation-v1")
    seen = {int(value) for _, file, key in openeds_segmentation.read_hidden(data).rows()
            for value in np.unique(openeds_segmentation.open_mask(file, key))}  # fmt: skip
    assert seen == {0, 1, 2, 3}


@pytest.mark.parametrize("seed", range(5))
def test_numbers_between_bounds_add_up(seed):
    found = cohort.split_total(50, 6, 14, 401, np.random.default_rng(seed))
    assert (sum(found), min(found) >= 6, max(found) <= 14) == (401, True, True)


@pytest.mark.parametrize("track_id", sorted(registry.tracks()))
def test_what_contestants_get_does_not_tell_the_seed(track_id, tiny):
    """Whoever knows the seed can make the truth again."""
    data, track = tiny(track_id), registry.track(track_id)
    told = [file for file in data.rglob("*") if file.suffix in (".toml", ".txt", ".csv", ".json")]
    given = set(told) & set(shown(track, data))
    assert any("seed" in file.read_text() for file in told if file not in given)
    assert not any("seed" in file.read_text() for file in given)
