"""The network of remote-gaze-v1: as it is shipped, and as it is trained."""

import sys

import numpy as np
import onnxruntime
import pytest

from palestra import model_cards
from palestra.tracks.remote_gaze.solutions.network import WEIGHTS
from tests import ROOT
from tests.test_layers import STANDARD, imports


def ask(file, pictures, heads):
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    return session.run(None, {"pictures": pictures, "heads": heads})


def eyes(count):
    rng = np.random.default_rng(0)
    pictures, heads = rng.uniform(0, 255, (count, 2, 32, 48)), rng.normal(0, 0.3, (count, 2, 2))
    return pictures.astype(np.float32), heads.astype(np.float32)


def test_it_is_small_and_takes_any_number_of_people():
    assert model_cards.path(WEIGHTS).stat().st_size < 1_000_000
    for count in (1, 5):
        looks, known = ask(model_cards.path(WEIGHTS), *eyes(count))
        assert looks.shape == (count, 2, 2) and known.shape[:2] == (count, 2)


def test_in_a_mirror_left_and_right_change_places():
    pictures, heads = eyes(3)
    looks, _ = ask(model_cards.path(WEIGHTS), pictures, heads)
    mirrored, _ = ask(model_cards.path(WEIGHTS), pictures[:, ::-1].copy(), heads[:, ::-1].copy())
    assert mirrored[:, ::-1] == pytest.approx(looks, abs=1e-4)


def test_light_does_not_change_where_it_thinks_that_somebody_looks():
    pictures, heads = eyes(2)
    looks, _ = ask(model_cards.path(WEIGHTS), pictures, heads)
    darker, _ = ask(model_cards.path(WEIGHTS), 0.7 * pictures, heads)
    assert darker == pytest.approx(looks, abs=0.05)


@pytest.fixture(scope="module")
def training():
    pytest.importorskip("torch")
    import train.remote_gaze_network as training

    return training


def test_what_is_written_tells_what_the_network_tells(training, tmp_path):
    import torch

    torch.manual_seed(1)
    network = training.Network(training.Settings()).eval()
    training.write(network, tmp_path / "n.onnx")
    pictures, heads = eyes(4)
    with torch.no_grad():
        looks, known = network(torch.from_numpy(pictures), torch.from_numpy(heads))
    found = ask(tmp_path / "n.onnx", pictures, heads)
    assert found[0] == pytest.approx(looks.numpy(), abs=1e-4) and found[1] == pytest.approx(known.numpy(), abs=1e-3)


def test_people_are_drawn_learnt_from_and_a_stopped_training_goes_on(training, tmp_path, capsys):
    settings = training.Settings(people=2, places=1, frames=6, epochs=1, batch=4, channels=(4, 8, 8, 8))
    shots = []
    for number in range(2):
        file = tmp_path / f"{number}.npz"
        assert training.photograph(number, settings, np.inf, file)
        shots.append(training.Shot(**np.load(file)))
        assert shots[-1].pictures.shape == (6, 2, 32, 48) and np.abs(shots[-1].looks).max() < 1.5
    assert not training.photograph(2, settings, 0.0, tmp_path / "late.npz"), "the time is up"
    known = [training.tensors_of(shot) for shot in shots]
    training.learn(*known, settings, tmp_path / "n.pt")
    training.learn(*known, training.replace(settings, epochs=3), tmp_path / "n.pt")
    assert capsys.readouterr().out.count("epoch 1:") == 1


def test_the_same_person_is_drawn_each_time_and_others_are_others(training, tmp_path):
    settings = training.Settings(people=2, places=1, frames=2)
    files = [tmp_path / name for name in ("a.npz", "b.npz", "c.npz")]
    for number, file in zip((5, 5, 6), files, strict=True):
        training.photograph(number, settings, np.inf, file)
    first, same, other = (np.load(file)["pictures"] for file in files)
    assert (first == same).all() and (first != other).any()


@pytest.mark.parametrize(
    "file", ["train/remote_gaze_network.py", "palestra/tracks/remote_gaze/solutions/virtual_camera.py"]
)
def test_training_needs_nothing_that_bare_machines_lack(file):
    outside = {name.split(".")[0] for name in imports(ROOT / file, whole=True)} - {"palestra"}
    assert outside <= STANDARD | set(sys.stdlib_module_names)
