"""Emotion from EEG, second by second: differential entropy, normalised by the person's past, and a linear model."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palestra.records import Solution
from palestra.solutions.emotion_features import FEELINGS, Features, Listener

WEIGHTS = Path(__file__).parent / "weights" / "emotion_linear.npz"


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


SOLUTION = Solution(
    "emotion-eeg-v1",
    "entropy",
    "differential entropy, running normalisation, linear model",
    learns="palestra.solutions.emotion_eeg_learner:Entropies",
    plays="palestra.solutions.emotion_eeg_entropy:Linear",
    weights="emotion_linear.npz",
)
