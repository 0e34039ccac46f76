"""What networks that were trained for gaze-prediction-v1 say of a sequence's pictures."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra import model_cards
from palestra.errors import refuse
from palestra.eyes.pupil import read_grey
from palestra.eyes.resize import as_networks_take_it
from palestra.metrics.angles import to_angles
from palestra.text import say
from palestra.tracks.gaze_prediction import format as openeds

Array = NDArray[np.float64]
Floats = NDArray[np.float32]


def pictures(data: Path, split: str, sequence: str, frames: Iterable[int]) -> Floats:
    """(n, 1, *SIZE) grey levels of a sequence's frames."""
    files = [openeds.image_file(data, split, sequence, frame) for frame in frames]
    return np.stack([shrunk(read_grey(file)) for file in files])[:, None]


def shrunk(image: NDArray[np.uint8]) -> Floats:
    """(160, 256), in whole grey levels as the pictures had that these networks learnt from."""
    return np.round(as_networks_take_it(image))


def ask(network: str, given: NDArray[Any]) -> Array:
    """A network's output, (n, …), for n pictures or sequences."""
    session = model_cards.session(network)
    (found,) = session.run(None, {session.get_inputs()[0].name: given.astype(np.float32)})
    return np.asarray(found, np.float64)


def histories(data: Path, sequences: list[str], network: str) -> Array:
    """(sequences, 50, numbers): what an estimator says of every given frame of test sequences."""
    return np.array([ask(network, pictures(data, "test", name, range(openeds.GIVEN))) for name in sequences])


def training_angles(data: Path) -> Array:
    """(sequences, frames, 2) of the training labels, degrees; sequences of the usual length only."""
    labels = openeds.read_labels(data, "train")
    clips = labels.partition_by("sequence", maintain_order=True)
    usual = max((clip.height for clip in clips), default=0)
    least = openeds.GIVEN + len(openeds.STEPS)
    if usual < least:
        refuse(
            str(data),
            say("training sequences of at most {usual} labelled frames", usual=usual),
            say("some of {least} or more", least=least),
        )
    return np.array([angles_of(clip) for clip in clips if clip.height == usual])


def angles_of(labels: pl.DataFrame) -> Array:
    return np.stack(to_angles(labels.select(openeds.VECTOR).to_numpy()), axis=-1)


def unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))
