"""The networks of sparse segmentation as solutions: what they answer, and what is said where weights are missing."""

import shutil

import cv2
import numpy as np
import polars as pl
import pytest

from palestra import model_cards, registry
from palestra.errors import PalestraError, Refused
from palestra.tracks.eye_segmentation import format as openeds
from palestra.tracks.eye_segmentation.solutions import published, threshold

TRACK = "eye-segmentation-v1"
CARD = """solution = "x"
track = "eye-segmentation-v1"
script = "python -m train.x"
seed = 0
data = "none"
parameters = 1
trained = "not at all"
make = "make train-x"
"""


@pytest.fixture
def weights(tmp_path, monkeypatch):
    """A folder for weights of our own: `weights(name, network, shape)` writes one."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(model_cards, "FOLDERS", (tmp_path,))
    caches = (model_cards.card, model_cards.session)

    def write(name, network, shape):
        (tmp_path / f"{name}.toml").write_text(CARD)
        torch.onnx.export(
            network.eval(), (torch.zeros(1, *shape),), str(tmp_path / f"{name}.onnx"), dynamo=False, opset_version=17,
            input_names=["pictures"], output_names=["logits"], dynamic_axes={"pictures": {0: "n"}, "logits": {0: "n"}},
        )  # fmt: skip

    for cache in caches:
        cache.cache_clear()
    yield write
    for cache in caches:
        cache.cache_clear()


def one_sequence(data):
    trials = registry.track(TRACK).trials(data)
    return trials.filter(pl.col("sequence") == trials["sequence"][0])


@pytest.mark.parametrize("name", ["bts-digital", "tetelias", "jhu"])
def test_weights_that_are_not_shipped_are_refused_with_what_brings_them(name, tmp_path, monkeypatch):
    weights = f"eye_segmentation_{name.replace('-', '_')}"
    (tmp_path / f"{weights}.toml").write_bytes(model_cards.path(weights).with_suffix(".toml").read_bytes())
    monkeypatch.setattr(model_cards, "FOLDERS", (tmp_path,))  # where nobody has trained any
    with pytest.raises(PalestraError, match=f"make train-eye-segmentation-{name}"):
        registry.resolve(registry.solution(TRACK, name).solves).fit(tmp_path, {})


def test_a_dense_network_answers_with_its_most_likely_class(weights, tiny):
    torch = pytest.importorskip("torch")

    class Bright(torch.nn.Module):
        """What is brighter than 100 is sclera; nothing else is anything."""

        def forward(self, pictures):
            nothing = torch.zeros_like(pictures)
            return torch.cat([nothing, pictures - 100, nothing - 1, nothing - 1], 1)

    weights("bright", Bright(), (1, 400, 640))
    pictures = np.random.default_rng(0).integers(0, 255, (3, 400, 640)).astype(np.uint8)
    for mirrored in (False, True):
        found = published.Dense("bright", mirrored).classes(pictures)
        assert (found == (pictures > 100)).all()
    trials = one_sequence(tiny(TRACK))
    answers = published.Dense("bright").predict(tiny(TRACK), trials, None)
    assert answers["trial"].to_list() == trials["trial"].to_list()
    assert set(np.unique(openeds.open_mask(*answers.row(0)[1:]))) == {0, 1}


def test_ours_answers_every_frame_of_a_sequence(weights, tiny):
    torch = pytest.importorskip("torch")

    class Dark(torch.nn.Module):
        """The middle of the picture is open, and there what is dark is iris and what is darker pupil."""

        def forward(self, pictures):
            rows = torch.linspace(-1, 1, 200)[:, None].expand(200, 320)
            is_open = 5 - 20 * rows.abs().expand_as(pictures)
            return torch.cat([is_open, (70 - pictures) / 10, (45 - pictures) / 10], 1)

    weights("eye_segmentation_palestra", Dark(), (1, 200, 320))
    data, trials = tiny(TRACK), one_sequence(tiny(TRACK))
    solution = registry.resolve(registry.solution(TRACK, "palestra").solves)
    answers = solution.predict(data, trials, solution.fit(data, {}))
    assert answers["trial"].to_list() == trials["trial"].to_list()
    masks = [openeds.open_mask(*row[1:]) for row in answers.rows()]
    assert all(mask.shape == (400, 640) and mask.max() <= 3 for mask in masks)
    assert np.mean([mask.any() for mask in masks]) > 0.9


@pytest.mark.parametrize("name", ["threshold", "baseline", "palestra"])
def test_pictures_of_another_size_are_refused_in_words(name, tiny, tmp_path):
    track = registry.track(TRACK)
    data = tmp_path / "data"
    shutil.copytree(tiny(track.id), data)
    trial = track.trials(data).row(0, named=True)
    picture = openeds.image_file(data, trial["sequence"], trial["frame"])
    cv2.imwrite(str(picture), np.full((300, 500), 90, np.uint8))
    solution = registry.resolve(registry.solution(track.id, name).solves)
    model = solution.fit(data, {})
    part = track.trials(data).filter(pl.col("sequence") == trial["sequence"])
    with pytest.raises(Refused, match="found 500 × 300 pixels, expected 640 × 400 pixels"):
        solution.predict(data, part, model)


def test_labels_of_closed_eyes_alone_leave_the_iris_its_usual_size():
    closed = threshold.learn(np.zeros(openeds.SHAPE, np.uint8))
    mask = threshold._segment(np.full(openeds.SHAPE, 90, np.uint8), [closed])
    assert mask.shape == openeds.SHAPE and mask.max() <= 3
