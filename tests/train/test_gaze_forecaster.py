"""The forecaster's training in its small form: the world that it learns from, the network, and what is written."""

from dataclasses import replace

import numpy as np
import onnxruntime
import pytest

torch = pytest.importorskip("torch")

from palestra import model_cards  # noqa: E402
from train import gaze_forecaster as script  # noqa: E402
from train.gaze_forecaster_world import (  # noqa: E402
    BEFORE,
    GIVEN,
    LENGTH,
    STEPS,
    Ranges,
    Windows,
    World,
    lagging,
    median3,
    median5,
    profile,
    remembered,
)

torch.set_num_threads(1)  # others need theirs
STILL = Ranges(slow=0.0, turns=0.0, coloured=0.0, slower=0.0, rounded=0.0, dropped=0.0, spiky=0.0, burst=0.0, moved=0.0)


def drawn(count=2000, ranges=None):
    torch.manual_seed(5)
    return World("cpu", ranges).batch(count)


def test_a_batch_has_windows_of_all_rates_around_their_last_sample():
    made = drawn()
    assert made.past.shape == (2000, GIVEN, 2) and made.ahead.shape == (2000, STEPS, 2)
    assert made.past[:, -1].abs().max() == 0 and made.past.isfinite().all() and made.ahead.isfinite().all()
    assert made.hz.min() >= 60 and made.hz.max() <= 1000 and 0.4 < (made.hz < 200).float().mean() < 0.7
    assert torch.equal(made.past, drawn().past), "the same seed draws the same windows"


def test_its_faults_are_in_what_is_given_and_not_in_what_is_asked_for():
    torch.manual_seed(0)
    smooth = torch.zeros(3000, LENGTH, 2)
    given, jump = World("cpu", replace(STILL, spiky=1.0))._with_faults(smooth)
    assert given.abs().max() > 1 and jump.abs().max() == 0
    given, jump = World("cpu", replace(STILL, moved=1.0))._with_faults(smooth)
    assert torch.equal(given, jump) and jump[:, BEFORE + GIVEN :].abs().max() > 1, "a tracker that jumped stays there"


def test_what_is_asked_for_without_noise_is_what_is_measured_but_for_noise():
    made = drawn(ranges=replace(STILL, noise_deg=(0.05, 0.05)))
    off = (made.ahead - made.clean).norm(dim=2)
    assert 0.02 < off.mean() < 0.08 and (off.quantile(0.99) < 0.25)


def test_missing_samples_are_held_or_bridged():
    torch.manual_seed(0)
    ramp = torch.arange(float(LENGTH))[None, :, None].expand(500, LENGTH, 2)
    given, jump = World("cpu", replace(STILL, dropped=1.0))._with_faults(ramp)
    held = (given[:, 1:] == given[:, :-1]).any(dim=(1, 2))
    assert jump.abs().max() == 0 and 0.3 < held.float().mean() < 0.9
    assert torch.equal(given[~held], ramp[~held]), "a line bridges a line exactly"


def test_an_eye_at_rest_moves_by_its_drift_and_noise_alone():
    made = drawn(ranges=replace(STILL, saccades=0.0, noise_deg=(0.01, 0.01)))
    quick = made.hz > 500
    assert made.ahead[quick].norm(dim=2).mean() < 0.04


def test_saccades_lie_on_the_main_sequence():
    torch.manual_seed(0)
    world = World("cpu", replace(STILL, noise_deg=(1e-4, 1e-4)))
    time_s = torch.arange(LENGTH) / 1000 - 0.02
    path = world.gaze(time_s.expand(20_000, LENGTH), 3)
    speed = 1000 * (path[:, 1:] - path[:, :-1]).norm(dim=2).amax(1)
    size = (path[:, -1] - path[:, 0]).norm(dim=1)
    whole = (size > 4) & (size < 6) & ((path[:, 1] - path[:, 0]).norm(dim=1) < 0.01)
    whole &= (path[:, -1] - path[:, -2]).norm(dim=1) < 0.01
    assert whole.sum() > 20 and 180 < speed[whole].median() < 340, "real ones of 5°: 234 to 316 deg/s"


def test_filters_do_what_their_names_say():
    torch.manual_seed(0)
    rows = torch.randn(4, 20, 2)
    windows = rows.unfold(1, 5, 1)
    assert torch.equal(median5(rows)[:, 2:-2], windows.median(-1).values)
    assert torch.equal(median3(rows)[:, 2:-2], windows[..., 1:4].median(-1).values)
    keep = torch.full((4, 1, 1), 0.6)
    slow, fast = rows[:, 0], lagging(rows, keep)
    for at in range(1, 20):
        slow = 0.6 * slow + 0.4 * rows[:, at]
        assert torch.allclose(fast[:, at], slow, atol=1e-6)
    assert torch.allclose(remembered(torch.ones(4, 20, 2), keep)[:, -1], torch.tensor(2.5), atol=1e-3)
    share = torch.linspace(0, 1, 11)
    assert profile(share, torch.tensor(1.0))[[0, 5, 10]].tolist() == pytest.approx([0, 0.5, 1])


def test_rules_are_within_reach_exactly():
    weights = script.rules()
    assert torch.allclose(weights.sum(0), torch.ones(1), atol=1e-5), "each leaves a still eye where it is"
    line = torch.arange(1.0 - GIVEN, 1)
    ahead = (line[:, None, None] * weights).sum(0)
    straight = (ahead - torch.arange(1.0, 6)).abs().amax(1) < 1e-4
    assert straight.sum() >= 15 and (ahead[0] == 0).all(), "many draw a line on, the first holds the last sample"


@pytest.fixture(scope="module")
def untrained():
    torch.manual_seed(1)
    return script.Forecaster(16).eval()


def test_a_window_that_is_turned_or_mirrored_has_the_same_answer_turned_or_mirrored(untrained):
    made = drawn(300)
    angle = torch.tensor(0.7)
    turn = torch.stack([torch.stack([angle.cos(), angle.sin()]), torch.stack([-angle.sin(), angle.cos()])])
    for change in (turn, torch.diag(torch.tensor([-1.0, 1.0]))):
        with torch.no_grad():
            ahead, radius = untrained(made.past, made.hz)
            changed, same = untrained(made.past @ change, made.hz)
        off = (changed - ahead @ change).norm(dim=2).amax(1) / radius.amax(1)
        assert off.quantile(0.98) < 1e-2, "but where rounding decides to which side an even window is turned"
        assert (same / radius - 1).abs().amax(1).quantile(0.98) < 1e-2


def test_whoever_is_nearer_and_whose_radius_holds_four_of_five_is_punished_least():
    torch.manual_seed(0)
    ahead, nothing = torch.randn(5000, STEPS, 2), torch.zeros(5000, STEPS, 2)
    asked = Windows(nothing, ahead, nothing, nothing)
    right = 1.794 * torch.ones(5000, STEPS)  # holds 80 % of what is off by 1 on each axis
    best = script.loss_of((nothing, right), asked, 2.0)
    assert script.loss_of((nothing + 0.5, right), asked, 2.0) > best
    for wrong in (0.5 * right, 2 * right):
        told = script.loss_of((nothing, wrong.requires_grad_()), asked, 0.0)
        (push,) = torch.autograd.grad(told, wrong)
        assert (push.sum() < 0) == bool(wrong[0, 0] < 1), "too small a radius grows, too large a one shrinks"


def test_training_goes_on_where_it_was_stopped_and_what_is_written_tells_the_same(tmp_path, capsys):
    script.train(replace(script.SMALL, steps=1), tmp_path)
    network, checked = script.train(script.SMALL, tmp_path)
    assert checked["error_deg"] > 0 and checked["hold_deg"] > 0 and 0 <= checked["held"] <= 1
    epochs = [line.split(",")[0] for line in capsys.readouterr().out.splitlines() if ": epoch" in line]
    assert epochs == ["forecaster-0: epoch 1", "forecaster-0: epoch 2"]
    made = drawn(40)
    with torch.no_grad():
        expected = network(made.past, made.hz)
    script.write(network, tmp_path / "n.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "n.onnx"))
    given = {"past": made.past.numpy(), "hz": made.hz.numpy()}
    for told, true in zip(session.run(None, given), expected, strict=True):
        np.testing.assert_allclose(told, true.numpy(), rtol=1e-3, atol=1e-4)


def test_a_few_steps_teach_it_something(tmp_path):
    settings = replace(script.SMALL, steps=150, epoch=75, batch=256, drawn=8, hidden=32, checked=2000)
    torch.manual_seed(settings.seed)
    before = script.tested(script.Forecaster(settings.hidden), drawn())["error_deg"]
    network, _ = script.train(settings, tmp_path)
    assert script.tested(network, drawn())["error_deg"] < 0.9 * before


def test_a_network_of_full_size_is_the_one_on_the_card():
    count = sum(part.numel() for part in script.Forecaster().parameters())
    assert count == model_cards.card("gaze_forecaster").parameters
