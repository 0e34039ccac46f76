"""Solutions of gaze-prediction-v1 that run networks: with any weights, without any, and with those that are shipped."""

from dataclasses import replace
from itertools import chain

import numpy as np
import polars as pl
import pytest

from palestra import model_cards, registry
from palestra.errors import PalestraError, Refused
from palestra.evaluation import solve
from palestra.eyes import resize
from palestra.eyes.simulator.movements import draw_mover, saccade_course
from palestra.tracks.gaze_prediction import format as openeds
from palestra.tracks.gaze_prediction.solutions import networks
from tests.eye_networks import cards_like

TRACK = "gaze-prediction-v1"
FORECASTER = "gaze_prediction_palestra_forecast"


@pytest.fixture
def other_weights(tmp_path, monkeypatch):
    """A folder of cards as they are, and weights that a test puts there."""
    registry.solution(TRACK, "palestra")  # all solutions are imported before, as some look for their weights then
    folder = tmp_path / "weights"
    folder.mkdir()
    for file in cards_like("gaze_prediction_*.toml"):
        lines = [line for line in file.read_text().splitlines() if not line.startswith(("sha256", "bytes"))]
        (folder / file.name).write_text("\n".join(line for line in lines if line) + "\n")
    monkeypatch.setattr(model_cards, "FOLDERS", (folder,))
    for kept in (model_cards.card, model_cards.session):
        kept.cache_clear()
    yield folder
    for kept in (model_cards.card, model_cards.session):
        kept.cache_clear()


NETWORKS = {
    "baseline": ["gaze_prediction_baseline"],
    "random-b": ["gaze_prediction_random_b"],
    "eymazing": ["gaze_prediction_eymazing", "gaze_prediction_eymazing_forecast"],
    "konovalov": ["gaze_prediction_konovalov", "gaze_prediction_konovalov_forecast"],
    "palestra": ["gaze_prediction_palestra", FORECASTER],
}


def write_untrained(folder):
    """Networks as they are before they learn anything: enough to run."""
    torch = pytest.importorskip("torch")
    from train import gaze_ahead, gaze_axis, gaze_baseline, gaze_eymazing, gaze_konovalov, gaze_random_b
    from train.gaze_common import write_estimator, write_network
    from train.gaze_forecast import LSTM

    torch.manual_seed(0)
    write_estimator(gaze_baseline.Network(), folder / "gaze_prediction_baseline.onnx")
    write_estimator(gaze_random_b.Network(small=True), folder / "gaze_prediction_random_b.onnx")
    write_estimator(gaze_axis.Network(gaze_axis.LITTLE), folder / "gaze_prediction_palestra.onnx")
    write_network(gaze_ahead.Forecaster(8), torch.zeros(3, 50, 2), folder / f"{FORECASTER}.onnx", ("past", "ahead"))
    for name, script in (("eymazing", gaze_eymazing), ("konovalov", gaze_konovalov)):
        write_estimator(script.Network(small=True), folder / f"gaze_prediction_{name}.onnx")
        file = folder / f"gaze_prediction_{name}_forecast.onnx"
        write_network(LSTM(8), torch.zeros(3, 50, 3), file, ("past", "ahead"))


@pytest.fixture
def few(tiny, tmp_path):
    """The tiny data set with its first two test sequences alone."""
    whole, data = openeds.release(tiny(TRACK)), tmp_path / "few" / openeds.RELEASE
    (data / "test" / "sequences").mkdir(parents=True)
    (data / "train").symlink_to(whole / "train")
    for name in openeds.read_sequences(tiny(TRACK))[:2]:
        (data / "test" / "sequences" / name).symlink_to(whole / "test" / "sequences" / name)
    return data.parent


def test_every_solution_answers_every_trial_with_weights_that_a_user_trained(other_weights, few, tmp_path):
    write_untrained(other_weights)
    track, data = registry.track(TRACK), few
    for name in NETWORKS:
        solution = replace(registry.solution(TRACK, name), weights=None)  # whatever is shipped
        answers = solve.solve(track, solution, data, {}, tmp_path / f"{name}.json")
        vectors = answers.select("x", "y", "z").to_numpy()
        assert answers.height == track.trials(data).height
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-6), name


@pytest.mark.parametrize("name", list(NETWORKS))
def test_without_weights_it_is_said_what_brings_them(name, other_weights, tiny, tmp_path):
    track, solution = registry.track(TRACK), replace(registry.solution(TRACK, name), weights=None)
    words = f"make train-gaze-{name}"
    with pytest.raises(PalestraError, match=words):
        solve.solve(track, solution, tiny(TRACK), {}, tmp_path / "a.json")
    assert not (tmp_path / "a.json").exists()


def test_every_network_has_a_card():
    for name in chain.from_iterable(NETWORKS.values()):
        found = model_cards.card(name)
        assert found.track == TRACK and found.make.startswith("make train-gaze-") and found.parameters > 1000


def test_pictures_of_any_size_come_out_in_the_network_s(tiny):
    found = networks.pictures(tiny(TRACK), "test", registry.track(TRACK).trials(tiny(TRACK))["sequence"][0], (0, 7))
    assert found.shape == (2, 1, *resize.SIZE) and found.dtype == np.float32
    assert 0 <= found.min() < 60 < found.max() <= 255
    even = networks.shrunk(np.full((200, 333), 77, np.uint8))
    assert even.shape == resize.SIZE and (even == 77).all()


# ── What the shipped forecaster knows. ────────────────────────────────────────────────────────────────────────────────

shipped = pytest.mark.skipif(not model_cards.is_there(FORECASTER), reason="its weights are not there")


def still(count=8):
    """An eye that does not move, with the noise from frame to frame that its own estimator has on validation people."""
    rng = np.random.default_rng(0)
    return np.array([8.0, -5.0]) + np.array([0.062, 0.102]) * rng.standard_normal((count, 50, 2))


@shipped
def test_an_eye_that_is_still_is_held_about_as_well_as_by_its_last_frames():
    found = networks.ask(FORECASTER, still(64))
    off = np.linalg.norm(found - [8.0, -5.0], axis=-1).mean()
    held = np.linalg.norm(still(64)[:, -3:].mean(axis=1) - [8.0, -5.0], axis=-1).mean()
    assert off < 1.3 * held


@shipped
def test_a_saccade_under_way_goes_on_and_comes_to_rest_where_its_speed_says():
    rng = np.random.default_rng(1)
    mover = replace(draw_mover(rng), speed_spread=0.0)
    step = np.array([14.0, 4.0])
    course = np.cumsum(saccade_course(step, mover, rng), axis=0)  # by ms
    way = np.concatenate([np.zeros((470, 2)), course, np.repeat(course[-1:], 200, 0)])[::10] - [6.0, 2.0]
    found = networks.ask(FORECASTER, way[None, :50])[0]
    end, last = step - [6.0, 2.0], way[49]
    assert np.linalg.norm(found[-1] - end) < 0.5 * np.linalg.norm(last - end)


@shipped
def test_where_somebody_looks_does_not_change_how_a_still_eye_is_held():
    far = still() + [4.0, 3.0]
    assert networks.ask(FORECASTER, far) - [4.0, 3.0] == pytest.approx(networks.ask(FORECASTER, still()), abs=0.3)


@pytest.mark.parametrize("name", ["baseline", "palestra"])
def test_training_sequences_that_are_too_short_are_refused_in_words(name, monkeypatch, tmp_path):
    vectors = {axis: [0.0] * 20 for axis in ("x", "y")} | {"z": [1.0] * 20}
    short = pl.DataFrame({"sequence": ["a"] * 20, "frame": range(20), **vectors})
    monkeypatch.setattr(openeds, "read_labels", lambda *_: short)
    with pytest.raises(Refused, match="training sequence"):
        registry.resolve(registry.solution(TRACK, name).solves).fit(tmp_path, {})
