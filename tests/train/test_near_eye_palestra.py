"""The near-eye network in its small form: it learns, goes on where it was, and tells the same once it is written."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from palestra import model_cards  # noqa: E402
from palestra.tracks.near_eye import live_format  # noqa: E402
from palestra.tracks.near_eye.solutions import networks  # noqa: E402
from palestra.tracks.near_eye.solutions.live_palestra import REACH_MM, Palestra  # noqa: E402
from palestra.tracks.near_eye.solutions.networks import NETWORK, TOLD  # noqa: E402
from tests.eye_networks import weights_in  # noqa: E402
from train import near_eye_palestra as script  # noqa: E402

torch.set_num_threads(1)  # others need theirs
FULL = (400, 640)


@pytest.fixture(scope="module")
def world():
    return script.Lessons(4, "cpu", 3, compiled=False)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    made, checked = script.train(replace(script.SMALL, steps=1), tmp_path_factory.mktemp("work"))
    assert 0 < checked["pupil_px"] <= checked["pupil_p95_px"]
    with torch.no_grad():
        made.facts.bias[-1] = 50.0  # it takes every eye for open, as nothing is told of others
    return made


@pytest.fixture
def trained(network, tmp_path):
    """While this lasts, the small network is the one in the package."""
    shutil.copy(model_cards.path(NETWORK).with_suffix(".toml"), tmp_path)
    card = tmp_path / f"{NETWORK}.toml"
    card.write_text("".join(line for line in card.read_text().splitlines(True) if not line.startswith("sha256")))
    script.write(network, tmp_path / f"{NETWORK}.onnx")
    with weights_in(tmp_path):
        yield


def test_pupils_are_where_the_mask_has_them(world):
    looks = world.looks(24)
    looks = replace(looks, opening=torch.ones_like(looks.opening))
    drawn = world._render(world.plates, looks)
    away = []
    for mask, place in zip(drawn.mask, drawn.pupil_px, strict=True):
        rows, columns = torch.nonzero(mask == 3).float().unbind(1)
        if len(rows) > 100:
            away.append(float(torch.hypot(2 * columns.mean() + 0.5 - place[0], 2 * rows.mean() + 0.5 - place[1])))
    assert len(away) > 5 and np.median(away) < 8  # lids cut, and the cornea bends light


def test_a_lesson_shows_what_it_teaches(world):
    pictures, shown, seen = world.lesson(6)
    assert pictures.shape == (6, 1, *script.SIZE) and shown.shape == (6, 6)
    assert pictures.mean((1, 2, 3)).abs().max() < 1e-3
    assert shown[:, 4:].abs().max() < 1.2 and set(seen.tolist()) <= {0.0, 1.0}


def test_who_tells_the_truth_is_punished_least(world):
    _, shown, seen = world.lesson(16)
    variances = torch.full((16, 1), -8.0)
    told = torch.cat([shown[:, :2], variances, shown[:, 2:], variances, 20 * (seen[:, None] - 0.5)], 1)
    right = script.loss_of(told, shown, torch.ones(16))
    for column in range(7):
        wrong = told.clone()
        wrong[:, column] += 0.1 if column != 2 else 5.0
        assert script.loss_of(wrong, shown, torch.ones(16)) > right + 0.05


def test_the_middle_of_a_map_is_finer_than_its_pixels():
    x, y = torch.meshgrid(torch.arange(64.0), torch.arange(40.0), indexing="xy")
    heat = -((x - 20.3) ** 2 + (y - 11.8) ** 2) / 4
    found = script._middle(heat[None, None])[0]
    assert found.tolist() == pytest.approx([(2 * 20.3 + 1) / 64 - 1, (2 * 11.8 + 1) / 40 - 1], abs=1e-4)


def test_training_goes_on_where_it_was_stopped(tmp_path, capsys):
    script.train(replace(script.SMALL, steps=1), tmp_path)
    script.train(script.SMALL, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    epochs = [line.split(",")[0] for line in lines if ": epoch" in line]
    assert epochs == ["looker-0: epoch 1", "looker-0: epoch 2"]


def test_time_that_is_spent_ends_training(tmp_path, capsys):
    script.train(replace(script.SMALL, train_s=0.0), tmp_path)
    assert "epoch" not in capsys.readouterr().out


def test_the_written_network_tells_what_the_trained_one_tells(network, trained):
    half = torch.nn.functional.interpolate(torch.rand(1, 1, 25, 40) * 255, (200, 320), mode="bicubic").clamp(0, 255)
    half = half.round()
    small = torch.nn.functional.interpolate(half, script.SIZE, mode="bilinear", antialias=True)[:, 0]
    with torch.no_grad():
        expected, features = network(script.normalised(small))
    whole = half[0, 0].repeat_interleave(2, 0).repeat_interleave(2, 1).numpy().astype(np.uint8)
    told, found = networks.ask(whole)
    assert len(told) == TOLD == len(script.TOLD)
    assert told == pytest.approx(expected[0].numpy(), abs=2e-3)
    assert found == pytest.approx(features[0].numpy(), abs=2e-3)


def test_its_rows_are_as_wide_as_solutions_expect(trained):
    image = np.random.default_rng(0).integers(0, 256, FULL, dtype=np.uint8)
    assert networks.rows([image]).shape == (1, networks.COLUMNS)
    frames = networks.frames(np.zeros((3, networks.COLUMNS)))
    parts = frames.places, frames.extras, frames.looks
    assert sum(part.shape[1] for part in parts) == networks.COLUMNS


def test_live_it_answers_whatever_it_is_shown(trained):
    rng, program = np.random.default_rng(0), Palestra()
    assert program.algorithm() == [0, 0]
    for image in (np.zeros(FULL, np.uint8), rng.integers(0, 256, FULL, dtype=np.uint8), np.full(FULL, 255, np.uint8)):
        assert image.shape == live_format.SHAPE
        program.get_data(image, image)
        assert (np.abs(program.algorithm()) <= REACH_MM).all()


def test_a_network_of_full_size_fits_into_the_package(tmp_path):
    settings = script.USUAL
    whole = script.Looker(settings.widths, settings.features)
    script.write(whole, tmp_path / "n.onnx")
    assert (tmp_path / "n.onnx").stat().st_size < 5_000_000
    assert sum(part.numel() for part in whole.parameters()) == model_cards.card(NETWORK).parameters
