"""The networks of gaze-prediction-v1, and pictures that are varied together with what they show."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import onnxruntime  # noqa: E402

from palestra.eyes.simulator import torch_renderer  # noqa: E402
from palestra.eyes.simulator.people import Profile  # noqa: E402
from palestra.eyes.simulator.renderer import Renderer  # noqa: E402
from palestra.eyes.simulator.scene import draw_camera, draw_person  # noqa: E402
from palestra.eyes.simulator.vectors import turn as turned_axes  # noqa: E402
from train import gaze_ahead, gaze_axis, gaze_baseline, gaze_eymazing, gaze_konovalov, gaze_random_b  # noqa: E402
from train.gaze_common import (  # noqa: E402
    SIZE,
    parameters,
    shifted,
    to_angles,
    to_vectors,
    turned,
    write_estimator,
    write_network,
)
from train.gaze_forecast import LSTM  # noqa: E402

torch.set_num_threads(1)  # others need theirs


def test_networks_are_as_large_as_they_were_published():
    assert parameters(gaze_baseline.Network()) == pytest.approx(206_000, rel=0.02)
    assert parameters(gaze_konovalov.EfficientNet(3)) == pytest.approx(4_010_000, rel=0.01)
    assert parameters(gaze_random_b.Network(small=False)) == pytest.approx(11_170_000, rel=0.01)
    assert parameters(gaze_eymazing.Network(small=False)) == parameters(gaze_random_b.Network(small=False))


def test_the_baseline_has_thirteen_convolutions():
    layers = gaze_baseline.Network().modules()
    assert sum(isinstance(layer, torch.nn.Conv2d) for layer in layers) == 13


def ask(file, **given):
    return onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"]).run(None, given)[0]


def estimators():
    return {
        "baseline": gaze_baseline.Network(),
        "random-b": gaze_random_b.Network(small=True),
        "eymazing": gaze_eymazing.Network(small=True),
        "konovalov": gaze_konovalov.Network(small=True),
        "palestra": gaze_axis.Network(gaze_axis.LITTLE),
    }


@pytest.mark.parametrize("name", list(estimators()))
def test_a_written_estimator_tells_what_the_network_tells(name, tmp_path):
    torch.manual_seed(1)
    network = estimators()[name].eval()
    pictures = torch.randint(0, 255, (2, 1, *SIZE)).float()
    with torch.no_grad():
        told = network(pictures).numpy()
    write_estimator(network, tmp_path / "n.onnx")
    assert ask(tmp_path / "n.onnx", pictures=pictures.numpy()) == pytest.approx(told, abs=1e-3)


@pytest.mark.parametrize(("kind", "axes"), [(LSTM, 3), (gaze_ahead.Forecaster, 2)])
def test_a_written_forecaster_tells_what_the_network_tells(kind, axes, tmp_path):
    torch.manual_seed(1)
    network, past = kind(8).eval(), torch.randn(5, 50, axes)
    with torch.no_grad():
        told = network(past).numpy()
    write_network(network, torch.zeros(3, 50, axes), tmp_path / "n.onnx", ("past", "ahead"))
    assert ask(tmp_path / "n.onnx", past=past.numpy()) == pytest.approx(told, abs=1e-4)


def straight_ahead():
    """A person whose pupil sits in the middle, before a camera straight ahead, and plates of both."""
    rng = np.random.default_rng(0)
    profile = Profile(sex="male", age=30, ethnicity="other", glasses=False, makeup=False, eye_colour="brown")
    person = replace(draw_person(profile, rng), kappa_h_deg=0.0, kappa_v_deg=0.0, pupil_offset_mm=(0.0, 0.0))
    camera = replace(
        draw_camera(rng),
        position_mm=np.array([0.0, 0.0, 52.0]),
        rotation=np.array([[1.0, 0, 0], [0, -1.0, 0], [0, 0, -1.0]]),
        centre_px=(319.5, 199.5),
    )
    return camera, torch_renderer.plates_of([Renderer(person, camera)])


def pupils(plates, gaze):
    """Where the pupil's plane is in each picture, against the middle, in pixels."""
    count = len(gaze)
    looks = torch_renderer.Looks(
        torch.zeros(count, dtype=torch.long), gaze, torch.full((count,), 3.0), torch.ones(count)
    )
    return torch_renderer.render(plates, looks, noise=False).pupil_px - torch.tensor([319.5, 199.5])


def dot(middle_px):
    """A picture (n, 1, 400, 640) that is bright about one place each."""
    y, x = torch.meshgrid(torch.arange(400) - 199.5, torch.arange(640) - 319.5, indexing="ij")
    away = torch.hypot(x - middle_px[:, 0, None, None], y - middle_px[:, 1, None, None])
    return torch.exp(-((away / 10) ** 2))[:, None]


def middle_of(pictures):
    y, x = torch.meshgrid(torch.arange(400) - 199.5, torch.arange(640) - 319.5, indexing="ij")
    total = pictures[:, 0].sum((1, 2))
    return torch.stack([(pictures[:, 0] * axis).sum((1, 2)) / total for axis in (x, y)], 1)


def test_gaze_turns_with_the_picture():
    _, plates = straight_ahead()
    gaze = to_vectors(torch.tensor([[12.0, 3.0], [-8.0, 10.0], [5.0, -9.0]]))
    turn, mirror = torch.deg2rad(torch.tensor([20.0, -35.0, 10.0])), torch.tensor([1.0, 1.0, -1.0])
    moved, after = turned(dot(pupils(plates, gaze)), gaze, turn, mirror)
    assert middle_of(moved).numpy() == pytest.approx(pupils(plates, after).numpy(), abs=0.6)
    assert after.norm(dim=1).numpy() == pytest.approx(1.0, abs=1e-5)


def test_a_shift_turns_the_gaze_as_a_turned_camera_does():
    camera, _ = straight_ahead()
    pictures, gaze = torch.zeros(1, 1, 400, 640), to_vectors(torch.tensor([[6.0, -4.0]]))
    for yaw_deg, pitch_deg in ((2.0, 0.0), (0.0, -1.5)):
        axes = turned_axes(yaw_deg, pitch_deg)
        other = replace(camera, rotation=camera.rotation @ axes.T)
        eye = np.zeros(3)
        move = torch.from_numpy(other.project(eye) - camera.project(eye)).float()[None]
        _, after = shifted(pictures, gaze, move, camera.focal_px)
        # What stands still in the headset's axes, in those that turned with the camera.
        assert after[0].numpy() == pytest.approx(gaze[0].numpy() @ axes, abs=2e-3)
        assert not np.allclose(after[0].numpy(), gaze[0].numpy(), atol=1e-2)


def test_a_shift_moves_the_picture_the_way_it_says():
    moved, _ = shifted(dot(torch.tensor([[20.0, -10.0]])), to_vectors(torch.zeros(1, 2)), torch.tensor([[7.0, 4.0]]), 1)
    assert middle_of(moved)[0].numpy() == pytest.approx([27.0, -6.0], abs=0.3)


def test_a_turned_camera_sees_what_it_would_and_its_axes_turn_back():
    camera, _ = straight_ahead()
    camera = replace(camera, focal_px=640.0 * gaze_axis.FOCAL_WIDTHS)
    gaze = to_vectors(torch.tensor([[9.0, -3.0]]))
    axes = turned_axes(3.0, -4.0)
    roll = np.array([[np.cos(0.1), np.sin(0.1), 0], [-np.sin(0.1), np.cos(0.1), 0], [0, 0, 1]])
    other = replace(camera, rotation=roll @ camera.rotation @ axes.T)
    point = np.array([2.0, -1.5, 11.0])  # something on the eye
    as_axes = np.diag([1.0, -1.0, -1.0])  # right, down and ahead → right, up and back
    turn = torch.from_numpy(as_axes @ other.rotation @ camera.rotation.T @ as_axes).float()[None]
    seen = torch.from_numpy(camera.project(point)).float()[None] - torch.tensor([319.5, 199.5])
    moved = gaze_axis.by_turned_camera(dot(seen), turn, torch.ones(1))
    assert middle_of(moved)[0].numpy() == pytest.approx(other.project(point) - [319.5, 199.5], abs=0.5)
    before, after = (torch.from_numpy(as_axes @ one.rotation).float() @ gaze[0] for one in (camera, other))
    back = gaze_axis.turned_back(to_angles(after[None]), turn)
    assert back[0].numpy() == pytest.approx(to_angles(before).numpy(), abs=1e-3)


def test_a_zoom_makes_things_larger_about_the_middle():
    moved = gaze_axis.by_turned_camera(dot(torch.tensor([[40.0, -20.0]])), torch.eye(3)[None], torch.tensor([1.1]))
    assert middle_of(moved)[0].numpy() == pytest.approx([44.0, -22.0], abs=0.3)


def test_turns_are_small_and_turn_nothing_but_directions():
    turn = gaze_axis.turns(50, "cpu")
    assert torch.allclose(turn @ turn.mT, torch.eye(3).expand(50, 3, 3), atol=1e-5)
    away = torch.rad2deg(torch.acos(turn[:, 2, 2].clamp(max=1)))
    assert 2 < away.max() <= 1.5 * gaze_axis.TURN_DEG
