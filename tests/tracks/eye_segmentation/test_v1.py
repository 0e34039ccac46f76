import pickle
import shutil
import zipfile

import numpy as np
import polars as pl
import pytest

from palestra import registry
from palestra.errors import Refused
from palestra.scoring import score
from palestra.scoring.submission import collect
from palestra.tracks.eye_segmentation import format as openeds
from palestra.tracks.eye_segmentation.masks import encode_mask, npy_bytes, png_bytes

TRACK = registry.track("eye-segmentation-v1")


@pytest.fixture
def data(tiny):
    return tiny(TRACK.id)


@pytest.fixture
def masks(data):
    """A mask for every unlabelled frame: the truth where there is one, else noise."""
    rng = np.random.default_rng(0)
    hidden = openeds.read_hidden(data)
    true = {trial: openeds.open_mask(file, key) for trial, file, key in hidden.rows()}
    wrong = rng.integers(0, 4, openeds.SHAPE, np.uint8)
    return {trial: true.get(trial, wrong) for trial in TRACK.trials(data)["trial"]}


def submitted(masks):
    return pl.DataFrame(
        {"trial": list(masks), "mask_file": openeds.INLINE, "mask_key": [encode_mask(mask) for mask in masks.values()]}
    )


def test_truth_as_answer_scores_exactly_one(data, masks, tmp_path):
    TRACK.writes(submitted(masks), tmp_path / "a.json")
    answers = collect(TRACK, tmp_path / "a.json", TRACK.trials(data))
    result = score.score(TRACK, score.load(TRACK, data), answers, "truth").result
    assert {found.value for found in result.metrics.values()} == {1.0}


@pytest.mark.parametrize("kind", ["json", "folder of png", "folder of npy", "zip of png", "zip with a top folder"])
def test_every_way_to_send_masks_scores_the_same(data, masks, tmp_path, kind):
    some = {trial: np.where(mask == 3, 2, mask).astype(np.uint8) for trial, mask in masks.items()}
    place = tmp_path / "a"
    if kind == "json":
        place = tmp_path / "a.json"
        TRACK.writes(submitted(some), place)
    else:
        suffix, encode = (".npy", npy_bytes) if "npy" in kind else (".png", png_bytes)
        top = "mine/" if "top" in kind else ""
        for trial, mask in some.items():
            file = place / top / trial.replace(".npy", suffix)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(encode(mask))
        if "zip" in kind:
            shutil.make_archive(str(tmp_path / "a"), "zip", place)
            place = tmp_path / "a.zip"
    answers = collect(TRACK, place, TRACK.trials(data))
    found = score.score(TRACK, score.load(TRACK, data), answers, "me").result.metrics
    expected = score.score(TRACK, score.load(TRACK, data), submitted(some), "me").result.metrics
    assert found == expected
    assert found["iou_pupil"].value == 0.0


def test_miou_agrees_with_scikit_learn_on_all_pixels_at_once(data, masks):
    sklearn = pytest.importorskip("sklearn.metrics")
    rolled = {trial: np.roll(mask, 7, axis=1) for trial, mask in masks.items()}
    result = score.score(TRACK, score.load(TRACK, data), submitted(rolled), "me").result
    hidden = openeds.read_hidden(data)["trial"].to_list()
    true, found = (np.concatenate([of[trial].ravel() for trial in hidden]) for of in (masks, rolled))
    each = sklearn.jaccard_score(true, found, average=None, labels=range(4))
    assert result.metrics["miou"].value == pytest.approx(each.mean(), abs=1e-12)
    for name, value in zip(openeds.CLASSES, each, strict=True):
        assert result.metrics[f"iou_{name}"].value == pytest.approx(value, abs=1e-12)
    per_image = [
        sklearn.jaccard_score(
            masks[trial].ravel(), rolled[trial].ravel(), average="macro",
            labels=np.union1d(masks[trial], rolled[trial]),
        )
        for trial in hidden
    ]  # fmt: skip
    assert result.metrics["miou_image"].value == pytest.approx(np.mean(per_image), abs=1e-12)


def test_a_missing_mask_finds_nothing(data, masks):
    hidden = openeds.read_hidden(data)["trial"]
    answers = submitted(masks).filter(~pl.col("trial").is_in(hidden.implode()))
    metrics = score.score(TRACK, score.load(TRACK, data), answers, "me").result.metrics
    assert metrics["miou"].value == 0.0
    assert metrics["miou_image"].value == 0.0


def test_a_class_that_the_truth_lacks_does_not_count(data, masks):
    rows = score.score(TRACK, score.load(TRACK, data), submitted(masks), "me").rows
    none = rows.with_columns(both_pupil=0, true_pupil=0, found_pupil=0)
    result = score.summarise(TRACK, none, "me", score._provenance(TRACK, "", "", 0, None))
    assert result.metrics["miou"].value == 1.0
    invented = rows.with_columns(both_pupil=0, true_pupil=0)
    result = score.summarise(TRACK, invented, "me", score._provenance(TRACK, "", "", 0, None))
    assert result.metrics["miou"].value == 1.0
    assert result.metrics["iou_pupil"].value == 0.0


def test_a_broken_mask_is_refused_whether_it_is_scored_or_not(data, masks, tmp_path):
    hidden = set(openeds.read_hidden(data)["trial"])
    for chosen in (next(t for t in masks if t in hidden), next(t for t in masks if t not in hidden)):
        answers = submitted(masks).with_columns(
            mask_key=pl.when(pl.col("trial") == chosen).then(pl.lit("AAAA")).otherwise("mask_key")
        )
        with pytest.raises(Refused) as caught:
            score.score(TRACK, score.load(TRACK, data), answers, "me")
        assert caught.value.count == 1


def test_the_release_s_pickle_is_read_as_truth(data, masks, tmp_path):
    copy = tmp_path / openeds.RELEASE
    shutil.copytree(data / openeds.RELEASE, copy, ignore=shutil.ignore_patterns("*.png"))
    (copy / "test_GT").mkdir()
    hidden = openeds.read_hidden(data)["trial"].to_list()
    (copy / "test_GT" / openeds.PICKLE).write_bytes(pickle.dumps({trial: masks[trial] for trial in hidden}))
    result = score.score(TRACK, score.load(TRACK, copy), submitted(masks), "me").result
    assert result.metrics["miou"].value == 1.0
    assert result.unit == "sequence"


def test_a_release_without_lists_is_read_from_its_folders(data, tmp_path):
    copy = tmp_path / openeds.RELEASE
    shutil.copytree(data / openeds.RELEASE, copy)
    (copy / "images.txt").unlink()
    (copy / "labels.txt").unlink()
    assert TRACK.trials(copy).equals(TRACK.trials(data))


def test_an_archive_that_cannot_be_opened_in_any_order_is_refused(data, tmp_path):
    (tmp_path / "a.tar.gz").write_bytes(b"x")
    with pytest.raises(Refused, match=r"a \.zip"):
        collect(TRACK, tmp_path / "a.tar.gz", TRACK.trials(data))


def test_a_mask_in_two_forms_is_refused(data, masks, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as out:
        for trial, mask in masks.items():
            out.writestr(trial, npy_bytes(mask))
        first = next(iter(masks))
        out.writestr(first.replace(".npy", ".png"), png_bytes(masks[first]))
    with pytest.raises(Refused, match="more than one mask"):
        collect(TRACK, tmp_path / "a.zip", TRACK.trials(data))


def test_digests_follow_the_masks_and_not_where_they_lie(data, masks, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(data, copy, ignore=shutil.ignore_patterns("*.png"))
    assert score.load(TRACK, copy).digest == score.load(TRACK, data).digest
    TRACK.writes(submitted(masks), tmp_path / "a.json")
    TRACK.writes(submitted(masks), tmp_path / "b.json")
    TRACK.writes(submitted(masks | {next(iter(masks)): np.zeros(openeds.SHAPE, np.uint8)}), tmp_path / "c.json")
    trials = TRACK.trials(data)
    found = [score.digest(TRACK, collect(TRACK, tmp_path / f"{name}.json", trials)) for name in "abc"]
    assert found[0] == found[1] != found[2]
    file = next((copy / "truth").glob("S_*/*.npy"))
    np.save(file, np.zeros(openeds.SHAPE, np.uint8))
    assert score.load(TRACK, copy).digest != score.load(TRACK, data).digest


def test_faults_do_not_tell_which_frames_are_scored(data, masks):
    broken = submitted(masks).with_columns(mask_key=pl.lit("AAAA"))
    with pytest.raises(Refused) as checked:
        score.look_into(TRACK, broken)
    with pytest.raises(Refused) as scored:
        score.score(TRACK, score.load(TRACK, data), broken, "me")
    assert scored.value.faults == checked.value.faults
    assert scored.value.count == checked.value.count == len(masks)


def test_a_tar_that_is_called_a_zip_is_refused(data, masks, tmp_path):
    import tarfile

    with tarfile.open(tmp_path / "a.zip", "w:gz") as out:
        out.addfile(tarfile.TarInfo("S_0/0.npy"))
    with pytest.raises(Refused, match="no zip"):
        collect(TRACK, tmp_path / "a.zip", TRACK.trials(data))


def test_masks_of_wide_integers_are_accepted_in_a_folder(data, masks, tmp_path):
    for trial, mask in masks.items():
        (tmp_path / "m" / trial).parent.mkdir(parents=True, exist_ok=True)
        np.save(tmp_path / "m" / trial, mask.astype(np.int64))
    answers = collect(TRACK, tmp_path / "m", TRACK.trials(data))
    assert score.score(TRACK, score.load(TRACK, data), answers, "me").result.metrics["miou"].value == 1.0


def test_what_a_file_manager_leaves_behind_is_no_trial(data, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(data, copy, ignore=shutil.ignore_patterns("*.png"))
    (copy / "truth" / "S_0" / "._1.npy").write_bytes(b"x")
    (copy / "truth" / ".DS_Store").write_bytes(b"x")
    assert TRACK.truth(copy)["trial"].to_list() == TRACK.truth(data)["trial"].to_list()
