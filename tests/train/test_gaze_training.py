"""Training for gaze-prediction-v1 in its small form, on pictures that are made at once."""

import json
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from tests.train.gaze_fake import seen  # noqa: E402
from train import (  # noqa: E402
    gaze_ahead,
    gaze_axis,
    gaze_baseline,
    gaze_eymazing,
    gaze_konovalov,
    gaze_palestra,
    gaze_random_b,
    results,
)
from train.gaze_common import Course, errors_deg, learn, reported, to_angles, to_vectors  # noqa: E402
from train.gaze_forecast import windows  # noqa: E402
from train.gaze_traces import traces  # noqa: E402

torch.set_num_threads(1)  # others need theirs


def small(script, folder):
    return replace(script.SETTINGS, small=True, weights=True, work=folder / "work")


@pytest.mark.parametrize(
    ("script", "files"),
    [
        (gaze_baseline, ["gaze_prediction_baseline.onnx"]),
        (gaze_palestra, ["gaze_prediction_palestra.onnx", "gaze_prediction_palestra_forecast.onnx"]),
        (gaze_random_b, ["gaze_prediction_random_b.onnx"]),
        (gaze_eymazing, ["gaze_prediction_eymazing.onnx", "gaze_prediction_eymazing_forecast.onnx"]),
        (gaze_konovalov, ["gaze_prediction_konovalov.onnx", "gaze_prediction_konovalov_forecast.onnx"]),
    ],
)
def test_a_script_trains_predicts_every_test_sequence_and_writes_its_networks(script, files, tmp_path):
    data = seen(eyes=2, clips=1)
    line = reported(script.NAME, script.train, data, tmp_path, small(script, tmp_path))
    found = json.loads(line.removeprefix(f"{script.NAME} RESULT "))
    assert {"estimation_deg", "validation_pe_deg", "parameters", "wall_s"} <= set(found)
    assert all((tmp_path / file).is_file() for file in files)
    noted = {learnt.weights: learnt for learnt in results.read(tmp_path)}
    assert {f"{name}.onnx" for name in noted} == set(files) and all(learnt.sha256 for learnt in noted.values())
    first = noted[files[0].removesuffix(".onnx")]
    assert first.epochs == 1 and first.device and "epochs" not in first.checked
    answers = json.loads((tmp_path / first.predictions).read_text())
    assert sorted(answers) == data.names["test"]
    for steps in answers.values():
        assert list(steps) == ["50", "51", "52", "53", "54"]
        assert np.linalg.norm(list(steps.values()), axis=1) == pytest.approx(1.0, abs=1e-4)


def course(folder, **changes):
    settings = {"name": "x", "train_s": 60.0, "epochs": 3, "batch": 8, "rate": 0.1, "seed": 0, "work": folder}
    return Course(**{**settings, **changes})


def train_line(course):
    """A line through points, learnt as networks are; what is printed of each epoch is its slope."""
    torch.manual_seed(0)
    network = nn.Linear(1, 1)
    x = torch.linspace(-1, 1, 64)[:, None]
    best = torch.optim.Adam(network.parameters(), course.rate)
    learn(
        network,
        best,
        len(x),
        lambda rows: (network(x[rows]) - 2 * x[rows]).square().mean(),
        lambda: f"slope {network.weight.item():.2f}",
        course,
    )
    return network.weight.item(), best.param_groups[0]["lr"]


def test_a_stopped_training_goes_on_where_it_was(tmp_path, capsys):
    train_line(course(tmp_path, epochs=2))
    slope, _ = train_line(course(tmp_path, epochs=30))
    told = capsys.readouterr().out
    assert told.count("x epoch 1:") == told.count("x epoch 2:") == told.count("x epoch 3:") == 1
    assert slope == pytest.approx(2.0, abs=0.2)


def test_training_ends_with_its_time_and_with_a_rate_of_nothing(tmp_path, capsys):
    _, rate = train_line(course(tmp_path, train_s=1e-9, epochs=1000))
    assert capsys.readouterr().out.count("epoch") == 1
    assert rate < 1e-6


def test_angles_and_vectors_are_two_ways_to_say_the_same():
    angles = torch.tensor([[10.0, -20.0], [0.0, 0.0], [-35.0, 15.0]])
    assert to_angles(3 * to_vectors(angles)).numpy() == pytest.approx(angles.numpy(), abs=1e-4)
    apart = errors_deg(to_vectors(torch.tensor([0.0, 0.0])), to_vectors(torch.tensor([0.001, 0.0])))
    assert float(apart) == pytest.approx(0.001, rel=0.02)


def test_windows_end_where_their_labels_begin():
    frames = torch.arange(100.0)[None, :, None].expand(2, 100, 3)
    past, ahead = windows(frames, frames)
    assert past.shape[1:] == (50, 3) and ahead.shape[1:] == (5, 3)
    assert torch.equal(ahead[:, 0], past[:, -1] + 1)


def test_traces_stay_in_the_field_and_are_the_same_each_time():
    one = traces(0, 0, people=1)
    assert one.shape[1:] == (2, 55, 2) and len(one) > 40
    assert np.abs(one).max() < 35
    assert np.abs(one[:, 0] - one[:, 1]).mean() < 1.0, "labels are near the truth"
    assert np.array_equal(one, traces(0, 0, people=1)) and not np.array_equal(one, traces(0, 1, people=1))


def test_noise_is_measured_as_it_was_added():
    torch.manual_seed(0)
    true = torch.from_numpy(traces(0, 0, people=2)[:, 0])
    noisy = true + torch.tensor([0.2, 0.4]) * torch.randn_like(true)
    assert gaze_ahead.jitter_deg(noisy).numpy() == pytest.approx([0.2, 0.4], rel=0.15)


def test_rare_directions_weigh_more():
    angles = torch.randn(500, 2) * 8
    weights = gaze_baseline.rarity(angles)
    far = angles.norm(dim=1) > 14
    assert weights[far].mean() > 2 * weights[~far].mean() and weights.mean() == pytest.approx(1.0, abs=1e-4)


def test_what_all_eyes_are_off_by_is_left_to_the_camera():
    network = gaze_axis.Network(gaze_axis.LITTLE)
    beside = gaze_axis.Learning(network, 3)
    nn.init.normal_(beside.off.weight)
    off = beside.off_deg(torch.arange(3)).detach()
    assert off.mean(0).numpy() == pytest.approx(0.0, abs=1e-5) and off.abs().max() > 1
    axis = torch.tensor([[12.0, -7.0], [-20.0, 35.0]])
    assert network.before(axis).detach().numpy() == pytest.approx(axis.numpy()), "no camera is known to begin with"
