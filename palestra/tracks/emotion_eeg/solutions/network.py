"""Emotion from EEG by a small recurrent network that hears one second after the other and remembers what it needs."""

import numpy as np

from palestra import model_cards
from palestra.tracks.emotion_eeg.solutions.features import FEELINGS, Features, Listener

WEIGHTS, USUAL = "emotion_network", "emotion_network_usual"


class Network(Listener):
    """Runs the network with onnxruntime, on one core: others need theirs."""

    def __init__(self) -> None:
        super().__init__(USUAL)
        self._session = model_cards.session(WEIGHTS)
        self.begin()

    def begin(self) -> None:
        shape = self._session.get_inputs()[1].shape
        self._memory = np.zeros(shape, np.float32)

    def decide(self, features: Features) -> int:
        heard = {"features": features[None, None].astype(np.float32), "memory": self._memory}
        votes, self._memory = self._session.run(None, heard)
        return int(votes[0, 0, :FEELINGS].argmax())
