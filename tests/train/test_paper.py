"""What goes to where training is: everything that a contestant has, and no label that is hidden from them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from palestra.tracks.eye_segmentation import format as openeds_segmentation  # noqa: E402
from palestra.tracks.gaze_prediction import format as openeds_gaze  # noqa: E402
from train import paper  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("paper")
    paper.write_gaze(made, "tiny")
    paper.write_segmentation(made, "tiny")
    return made


def test_gaze_has_the_labels_of_training_and_validation_people_alone(folder, tiny):
    kept = np.load(folder / "gaze.npz")
    assert {name for name in kept if name.startswith("labels")} == {"labels_train", "labels_validation"}
    data = tiny("gaze-prediction-v1")
    names = {split: kept[f"names_{split}"].tolist() for split in ("train", "validation", "test")}
    assert names["test"] == sorted(openeds_gaze.read_sequences(data))
    for split in ("train", "validation"):
        labels = openeds_gaze.read_labels(data, split)
        assert names[split] == sorted(labels["sequence"].unique())
        first = labels.filter(labels["sequence"] == names[split][0]).sort("frame").select(openeds_gaze.VECTOR)
        assert kept[f"labels_{split}"][0] == pytest.approx(first.to_numpy(), abs=1e-4)


def test_segmentation_draws_the_masks_of_given_labels_alone(folder, tiny):
    kept = np.load(folder / "segmentation.npz")
    assert not [name for name in kept if "mask" in name]
    frames = openeds_segmentation.read_frames(tiny("eye-segmentation-v1"))
    places = {(f"S_{s}", n) for s, n in zip(kept["sequence"].tolist(), kept["frame"].tolist(), strict=True)}
    assert places == set(frames.select("sequence", "frame").iter_rows())
    given = {(f"S_{kept['sequence'][row]}", int(kept["frame"][row])) for row in kept["labelled"]}
    assert given == set(frames.filter(frames["labelled"]).select("sequence", "frame").iter_rows())
    asked = {tuple(line.split("/")) for line in (folder / "asked.txt").read_text().split()}
    assert not {(sequence, int(frame)) for sequence, frame in asked} & given
