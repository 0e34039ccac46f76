"""The network behind `palestra annotate` in its small form: it learns, goes on where it was, and is written whole."""

from dataclasses import replace

import numpy as np
import onnxruntime
import pytest

torch = pytest.importorskip("torch")

from palestra import model_cards  # noqa: E402
from train import eye_reader as script  # noqa: E402
from train.eye_world import HEIGHT, WIDTH, World  # noqa: E402

torch.set_num_threads(1)  # others need theirs


@pytest.fixture(scope="module")
def world():
    return World(4, "cpu", 3, compiled=False, squints=0.3, hard=True)


def test_a_lesson_teaches_no_mask_and_no_lids_where_there_is_no_eye(world):
    settings = replace(script.SMALL, batch=24, without=0.5)
    pictures, mask, angles, opening, one, left, clear = script.lesson(world, settings)
    assert pictures.shape == (24, 1, HEIGHT, WIDTH) and mask.shape == (24, HEIGHT, WIDTH)
    assert 0 < one.sum() < 24 and mask[one == 0].sum() == 0 and mask[one > 0].sum() > 0
    assert angles.shape == (24, 2) and opening.min() >= 0 and opening.max() <= 1
    assert set(left.tolist()) <= {0.0, 1.0} and clear[one == 0].min() == 1


def test_who_tells_the_truth_is_punished_least(world):
    _, *taught = script.lesson(world, replace(script.SMALL, batch=8, without=0.2))
    mask, angles, opening, one, left, _ = taught = [*taught[:5], torch.ones(8)]
    logits = 12 * torch.nn.functional.one_hot(mask, 4).movedim(3, 1).float()
    facts = torch.cat([angles, torch.full((8, 1), -6.0), torch.stack([20 * one - 10, torch.logit(opening, 1e-4),
                                                                      20 * left - 10], 1)], 1)  # fmt: skip
    right = script.loss_of((logits, facts), tuple(taught))
    assert script.loss_of((logits.roll(1, 1), facts), tuple(taught)) > right + 0.5
    for column in (0, 3, 5):
        wrong = facts.clone()
        wrong[:, column] = -wrong[:, column] + 0.2
        assert script.loss_of((logits, wrong), tuple(taught)) > right


def test_training_goes_on_where_it_was_stopped_and_what_is_written_tells_the_same(tmp_path, capsys):
    script.train(replace(script.SMALL, steps=1), tmp_path)
    network, checked = script.train(script.SMALL, tmp_path)
    assert 0 <= checked["miou"] <= 1 and 0 <= checked["eye_or_not"] <= 1 and checked["axis_deg"] > 0
    lines = capsys.readouterr().out.splitlines()
    epochs = [line.split(",")[0] for line in lines if ": epoch" in line]
    assert epochs == ["larger-0: epoch 1", "reader-0: epoch 1", "larger-0: epoch 2", "reader-0: epoch 2"]
    pictures = torch.randn(3, 1, HEIGHT, WIDTH)
    with torch.no_grad():
        expected = network(pictures)
    script.write(network, tmp_path / "n.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "n.onnx"))
    for told, true in zip(session.run(None, {"pictures": pictures.numpy()}), expected, strict=True):
        np.testing.assert_allclose(told, true.numpy(), atol=2e-3)


def test_what_a_larger_network_says_counts_by_how_far_it_is_from_the_own_answer(world):
    _, *taught = script.lesson(world, replace(script.SMALL, batch=8, without=0.0))
    taught[2], taught[5] = torch.ones(8), torch.ones(8)
    mine = torch.randn(8, 4, 20, 32), torch.zeros(8, 6)
    for part, least in ((0, 0.05), (1, 0.005)):
        hers = [part.clone() for part in mine]
        assert script.heeded(mine, tuple(hers), tuple(taught)) == pytest.approx(0, abs=1e-6)
        hers[part] = hers[part] + torch.randn_like(hers[part])
        assert script.heeded(mine, tuple(hers), tuple(taught)) > least


def test_a_network_of_full_size_is_the_one_on_the_card():
    whole = script.Reader(script.USUAL.widths)
    assert sum(part.numel() for part in whole.parameters()) == model_cards.card("eye_reader").parameters
