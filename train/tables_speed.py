"""How long networks take for one picture on one core, beside a ResNet-18 at 256 × 160 in the same run.

Time does not hang on weights: all but ours are built and timed untrained.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from torch import nn

from palestra import model_cards
from train import (
    gaze_baseline,
    gaze_eymazing,
    gaze_konovalov,
    gaze_random_b,
    segmentation_baseline,
    segmentation_bts_digital,
    segmentation_common,
    segmentation_jhu,
    segmentation_tetelias,
)
from train.networks import ResNet
from train.tables_page import markdown

SIZE = (160, 256)  # height and width that estimators take
FULL = (segmentation_common.HEIGHT, segmentation_common.WIDTH)
ROUNDS = 12
Session = onnxruntime.InferenceSession


def _ensemble(network: Callable[[], nn.Module], members: int) -> nn.Module:
    return segmentation_common.Ensemble([network() for _ in range(members)])


# As many members as each solution's script trains.
UNTRAINED: dict[str, tuple[Callable[[], nn.Module], tuple[int, int]]] = {
    "ResNet-18 at 256 × 160": (lambda: ResNet(3), SIZE),
    "gaze, baseline": (gaze_baseline.Network, SIZE),
    "gaze, random_b": (lambda: gaze_random_b.Network(small=False), SIZE),
    "gaze, EyMazing": (lambda: gaze_eymazing.Network(small=False), SIZE),
    "gaze, Konovalov": (lambda: gaze_konovalov.Network(small=False), SIZE),
    "segmentation, baseline": (segmentation_baseline.Network, FULL),
    "segmentation, BTS Digital": (
        lambda: _ensemble(segmentation_bts_digital.Network, segmentation_bts_digital.FOLDS),
        FULL,
    ),
    "segmentation, tetelias": (lambda: _ensemble(segmentation_tetelias.DABNet, segmentation_tetelias.MEMBERS), FULL),
    "segmentation, JHU": (lambda: _ensemble(segmentation_jhu.UNet, segmentation_jhu.MEMBERS), FULL),
}
OURS = {
    "gaze, ours": "gaze_prediction_palestra",
    "segmentation, ours": "eye_segmentation_palestra",
    "near-eye, ours": "near_eye_palestra",
    "`palestra annotate`, one look": "eye_reader",
}


def tables(work: Path, size: str) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        sessions = {title: _untrained(Path(folder), *known) for title, known in UNTRAINED.items()}
        sessions |= {title: model_cards.session(name) for title, name in OURS.items() if model_cards.is_there(name)}
        seconds = timed(sessions)
    first = seconds["ResNet-18 at 256 × 160"]
    ordered = sorted(seconds, key=lambda title: seconds[title])
    rows = [[title, f"{1000 * seconds[title]:.1f}", f"{first / seconds[title]:.2f}×"] for title in ordered]
    return {"speed": markdown(["network", "ms a picture", "as fast as ResNet-18"], rows)}


def _untrained(folder: Path, build: Callable[[], nn.Module], shape: tuple[int, int]) -> Session:
    file = folder / f"{len(list(folder.iterdir()))}.onnx"
    example = torch.full((1, 1, *shape), 90.0)
    torch.onnx.export(build().eval(), (example,), str(file), dynamo=False, opset_version=17)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return Session(str(file), options, providers=["CPUExecutionProvider"])


def timed(sessions: dict[str, Session], rounds: int = ROUNDS) -> dict[str, float]:
    """The median of some rounds each, taken in turns: what else the machine does then meets all alike."""
    feeds = {title: _feed(session) for title, session in sessions.items()}
    spent: dict[str, list[float]] = {title: [] for title in sessions}
    for _ in range(rounds + 1):
        for title, session in sessions.items():
            began = time.perf_counter()
            session.run(None, feeds[title])
            spent[title].append(time.perf_counter() - began)
    return {title: float(np.median(some[1:])) for title, some in spent.items()}  # the first one warms up


def _feed(session: Session) -> dict[str, Any]:
    (given,) = session.get_inputs()
    shape = [part if isinstance(part, int) else 1 for part in given.shape]
    return {given.name: np.random.default_rng(0).uniform(0, 255, shape).astype(np.float32)}
