"""Emotion from EEG, second by second: differential entropy, normalised by the person's past, and a linear model."""

import numpy as np
from numpy.typing import NDArray

from palestra.tracks.emotion_eeg.solutions.features import FEELINGS, Features, Listener

WEIGHTS = "emotion_linear"


class Linear(Listener):
    """The likeliest feeling of each second by itself."""

    def __init__(self) -> None:
        super().__init__(WEIGHTS)

    def votes(self, features: Features) -> NDArray[np.float64]:
        """The log likelihood of each feeling and, last, of no video; up to what all share."""
        votes: NDArray[np.float64] = features @ self.file["weights"] + self.file["offsets"]
        return votes

    def decide(self, features: Features) -> int:
        return int(self.votes(features)[:FEELINGS].argmax())
