"""What training wrote comes into the package: weights that are shipped, answers, and what the cards say."""

import shutil

import pytest

pytest.importorskip("torch")

from palestra import model_cards
from tests.eye_networks import cards_like, weights_in
from train import results, ship


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "weights"
    folder.mkdir()
    for file in cards_like("eye_segmentation_*.toml"):
        shutil.copy(file, folder)
    monkeypatch.setattr(ship, "PREDICTIONS", tmp_path / "predictions")
    with weights_in(folder):
        yield folder


def trained(folder, weights):
    """A run's folder: a network, its answers, and answers in another way."""
    folder.mkdir(exist_ok=True)
    for name in (f"{weights}.onnx", f"{weights}.zip", f"{weights}_alone.zip"):
        (folder / name).write_text(name)
    told = {"predictions": f"{weights}.zip", "others": [f"{weights}_alone.zip"], "checked": {"miou": 0.5}}
    results.note(folder, results.Learnt(weights, 7, 1.5, **told))


def test_weights_that_are_shipped_come_with_their_answers_and_card(package, tmp_path):
    trained(tmp_path / "run", "eye_segmentation_palestra")
    assert ship.ship_all(tmp_path / "run") == ["eye_segmentation_palestra"]
    card = model_cards.card("eye_segmentation_palestra")
    assert model_cards.weights("eye_segmentation_palestra") == b"eye_segmentation_palestra.onnx"
    assert (card.parameters, card.train_s, card.checked) == (7, 1.5, {"miou": 0.5}) and card.predictions
    kept = {file.name for file in (tmp_path / "predictions").iterdir()}
    assert kept == {"eye_segmentation_palestra.zip", "eye_segmentation_palestra_alone.zip"}


def test_what_older_answers_scored_is_no_longer_on_the_card(package, tmp_path):
    model_cards.stamp("eye_segmentation_palestra", scores={"miou": 0.9}, predictions="older")
    trained(tmp_path / "run", "eye_segmentation_palestra")
    ship.ship_all(tmp_path / "run", "abc123")
    card = model_cards.card("eye_segmentation_palestra")
    assert not card.scores and card.predictions not in ("", "older") and card.commit == "abc123"


def test_who_trains_a_large_network_can_run_it(package, tmp_path):
    trained(tmp_path / "run", "eye_segmentation_jhu")
    ship.ship_all(tmp_path / "run", unshipped=True)
    assert model_cards.weights("eye_segmentation_jhu") == b"eye_segmentation_jhu.onnx"


def test_of_large_networks_only_the_digest_comes(package, tmp_path):
    trained(tmp_path / "run", "eye_segmentation_jhu")
    ship.ship_all(tmp_path / "run")
    card = model_cards.card("eye_segmentation_jhu")
    assert (
        not model_cards.is_there("eye_segmentation_jhu")
        and card.sha256
        and card.bytes == len("eye_segmentation_jhu.onnx")
    )
    assert not card.shipped and "shipped = false" in (package / "eye_segmentation_jhu.toml").read_text()


def test_of_a_network_that_was_trained_twice_the_last_run_counts(tmp_path):
    for train_s in (1.0, 2.0):
        results.note(tmp_path, results.Learnt("x", 1, train_s))
    (learnt,) = results.read(tmp_path)
    assert learnt.train_s == 2.0
