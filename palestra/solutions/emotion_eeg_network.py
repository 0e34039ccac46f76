"""Emotion from EEG by a small recurrent network that hears one second after the other and remembers what it needs."""

from pathlib import Path

import numpy as np

from palestra.records import Solution
from palestra.solutions.emotion_features import FEELINGS, Features, Listener

WEIGHTS = Path(__file__).parent / "weights" / "emotion_network.onnx"


class Network(Listener):
    """Runs the network with onnxruntime, on one core: others need theirs."""

    def __init__(self) -> None:
        import onnxruntime

        super().__init__(WEIGHTS.with_suffix(".npz"))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(WEIGHTS, options, providers=["CPUExecutionProvider"])
        self.begin()

    def begin(self) -> None:
        shape = self._session.get_inputs()[1].shape
        self._memory = np.zeros(shape, np.float32)

    def decide(self, features: Features) -> int:
        heard = {"features": features[None, None].astype(np.float32), "memory": self._memory}
        votes, self._memory = self._session.run(None, heard)
        return int(votes[0, 0, :FEELINGS].argmax())


SOLUTION = Solution(
    "emotion-eeg-v1",
    "network",
    "a small recurrent network on the same features",
    plays="palestra.solutions.emotion_eeg_network:Network",
    weights="emotion_network.onnx",
)
