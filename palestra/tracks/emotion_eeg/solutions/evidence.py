"""Emotion from EEG by evidence: the same linear model, whose votes are carried over the current video.

Where one video ends and the next begins is not told, so it is inferred: a belief about what is felt is kept from second
to second, and may change by way of "no video". It is a hidden Markov model, of which only the past is used.
"""

import numpy as np
from numpy.typing import NDArray

from palestra.tracks.emotion_eeg.solutions.entropy import Linear
from palestra.tracks.emotion_eeg.solutions.features import FEELINGS, Features

NO_VIDEO = FEELINGS  # the state between videos


class Belief:
    """How likely each feeling is now. `weight` is how much one second's votes count: neighbours say nearly the same."""

    def __init__(self, weight: float, video_s: float, pause_s: float) -> None:
        self._weight = weight
        self._next = np.zeros((FEELINGS + 1, FEELINGS + 1))  # from → to, in a second
        self._next[range(FEELINGS), range(FEELINGS)] = 1 - 1 / video_s
        self._next[:FEELINGS, NO_VIDEO] = 1 / video_s
        self._next[NO_VIDEO] = 1 / pause_s / FEELINGS
        self._next[NO_VIDEO, NO_VIDEO] = 1 - 1 / pause_s
        self.forget()

    def forget(self) -> None:
        self._now = np.full(FEELINGS + 1, 0.1 / FEELINGS)
        self._now[NO_VIDEO] = 0.9

    def after(self, votes: NDArray[np.float64]) -> int:
        """The likeliest feeling, now that a second has voted (log likelihoods of the feelings, and of no video)."""
        likely = np.exp(self._weight * (votes - votes.max()))
        now = (self._now @ self._next) * likely
        self._now = now / now.sum()
        return int(self._now[:FEELINGS].argmax())


class Evidence(Linear):
    """The linear model with a memory."""

    def __init__(self) -> None:
        super().__init__()
        self._belief = Belief(*(float(self.file[name]) for name in ("evidence", "video_s", "pause_s")))

    def begin(self) -> None:
        self._belief.forget()

    def decide(self, features: Features) -> int:
        return self._belief.after(self.votes(features))
