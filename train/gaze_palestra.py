"""Our solution for gaze-prediction-v1: a small estimator that corrects itself, and a forecaster that knows saccades.

    python -m train.gaze_palestra --data FOLDER --out OUT

1. The estimator (train/gaze_axis.py) tells where an eye's optical axis points before its camera, and learns that from
   pictures without end of drawn people and devices as well as from the data set's training people.
2. Sequences of one eye are found by their looks, and as everybody watches the same patterns, each eye's offset is told
   by where its estimates lie as a whole (bias_correction.py). No label of a validation or test person is used for this.
3. The forecaster (train/gaze_ahead.py) is a GRU that learns from people who are simulated and have the estimator's
   noise: how far validation people's estimates jitter, and how far whole sequences of them are off their labels.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from palestra.tracks.gaze_prediction.solutions import published
from palestra.tracks.gaze_prediction.solutions.bias_correction import LOOKED_AT, Known, known_of
from train.eye_world import World
from train.gaze_ahead import learn_forecaster
from train.gaze_axis import Network, learn_estimator, little
from train.gaze_common import (
    GIVEN,
    STEPS,
    Seen,
    Settings,
    errors_deg,
    estimates,
    parameters,
    run,
    to_angles,
    to_vectors,
    validation_pe,
    write_estimator,
    write_network,
    write_predictions,
)
from train.gaze_traces import Watching

NAME = "palestra"
SETTINGS = Settings(train_s=200.0, forecast_s=40.0, epochs=100, batch=512, rate=2e-3, decay=0.02)
WORLD_PEOPLE, SMALL_WORLD = 1536, 4
JOBS = 3000  # of traces: about a million


def train(seen: Seen, out: Path, settings: Settings) -> dict[str, float]:
    # The world first: it copies this process to paint people, which is best done while nothing else runs in it.
    world = World(SMALL_WORLD if settings.small else WORLD_PEOPLE, seen.device, settings.seed)
    with Watching(settings.seed, 1 if settings.small else JOBS) as watching:
        network, epochs = learn_estimator(NAME, seen, world, settings)
        return {"epochs": epochs} | _forecast(seen, network, watching, out, settings)


def _forecast(seen: Seen, network: Network, watching: Watching, out: Path, settings: Settings) -> dict[str, float]:
    """What is left once pictures can be read: correct each eye, learn to forecast, predict, write."""
    traces = torch.from_numpy(watching.collect()).to(seen.device)
    own = {split: known(network, seen, split, watching) for split in ("validation", "test")}
    raw = {split: estimates(network, seen.pictures[split][:, :GIVEN]) for split in own}
    past = {split: _corrected(raw[split], own[split], seen.names[split]) for split in own}
    eyes = {split: len({id(one) for one in own[split].corrections.values()}) for split in own}
    print(f"{NAME}: eyes found {eyes}; rules on the same estimates: {compare(seen, past['validation'])}", flush=True)
    forecaster = learn_forecaster(NAME, seen, past["validation"], traces, settings)
    with torch.no_grad():
        pe = validation_pe(seen, to_vectors(forecaster(past["validation"])))
        plain = validation_pe(seen, to_vectors(forecaster(raw["validation"])))
        write_predictions(out, NAME, seen.names["test"], to_vectors(forecaster(past["test"])))
    true = seen.labels["validation"][:, :GIVEN]
    found = {
        "estimation_deg": float(errors_deg(to_vectors(raw["validation"]), true).mean()),
        "calibrated_deg": float(errors_deg(to_vectors(past["validation"]), true).mean()),
        "validation_pe_deg": pe,
        "uncalibrated_pe_deg": plain,
        "parameters": parameters(network) + parameters(forecaster),
    }
    write_estimator(network, out / "gaze_prediction_palestra.onnx")
    file = out / "gaze_prediction_palestra_forecast.onnx"
    write_network(forecaster, torch.zeros(3, GIVEN, 2), file, ("past", "ahead"))
    return found


def known(network: Network, seen: Seen, split: str, watching: Watching) -> Known:
    """What is found out about a split's eyes, as palestra solve does."""
    angles = {part: _double(estimates(network, seen.pictures[part][:, list(LOOKED_AT)])) for part in ("train", split)}
    labels = _double(to_angles(seen.labels["train"][:, list(LOOKED_AT)]))
    trained = little(seen.pictures["train"]), angles["train"], labels
    return known_of(trained, seen.names[split], (little(seen.pictures[split]), angles[split]), watching.each)


def _double(found: Tensor) -> np.ndarray:
    return found.cpu().numpy().astype(np.float64)


def _corrected(found: Tensor, known: Known, names: list[str]) -> Tensor:
    """Estimates (sequences, frames, 2) with what is known of their eyes."""
    better = [known(name, one) for name, one in zip(names, _double(found), strict=True)]
    return torch.from_numpy(np.array(better)).to(found)


def compare(seen: Seen, past: Tensor) -> str:
    """What rules come to on the same estimates."""
    vectors = _double(to_vectors(past))
    held = np.repeat(vectors[:, -3:].mean(1)[:, None], STEPS, axis=1)
    rules = {"hold": held, "rule": published.ahead(vectors)}
    errors = {name: validation_pe(seen, torch.from_numpy(found).to(past)) for name, found in rules.items()}
    return ", ".join(f"{name} {error:.3f}°" for name, error in errors.items())


if __name__ == "__main__":
    run(NAME, train, SETTINGS, __doc__)
