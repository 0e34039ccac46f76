"""What the solutions for emotional EEG share: packets to seconds, seconds to features, features to what is usual."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra import model_cards
from palestra.tracks.emotion_eeg import statistics

PACKET, SECOND = 50, 250  # samples
CHANNELS = 32
FEELINGS, NEUTRAL = 9, 4  # labels
PEOPLE_START, BLOCK_START = 250, 242  # triggers
Features = NDArray[np.float64]


def entropies(seconds_uv: NDArray[Any]) -> Features:
    """Differential entropy of each second (n × 32 × 250, µV): n × 150."""
    return statistics.entropies(np.concatenate(list(seconds_uv), axis=1))


class Seconds:
    """Puts packets together. Seconds are counted anew from each block's start, as the contest asks for decisions."""

    def __init__(self) -> None:
        self._signal = np.zeros((CHANNELS, SECOND))
        self._packets = 0
        self._scale: float | None = None  # to microvolts; not known before the first packet

    def take(self, packet: NDArray[Any]) -> tuple[bool, Features | None]:
        """Whether somebody new sits down, and the features of the second that this packet completes."""
        triggers = packet[-1]
        somebody_new = bool((triggers == PEOPLE_START).any())
        samples = packet[:CHANNELS]
        if somebody_new or self._scale is None:
            # Microvolts or volts: no EEG in microvolts has a mean absolute value below 1.
            self._scale = 1e6 if np.abs(samples).mean() < 1 else 1.0
            self._packets = 0
        self._signal = np.concatenate([self._signal[:, samples.shape[1] :], samples * self._scale], axis=1)
        self._packets += 1
        complete = self._packets % (SECOND // PACKET) == 0
        if (triggers == BLOCK_START).any():
            self._packets = 0
        return somebody_new, entropies(self._signal[None])[0] if complete else None


class Usual:
    """What is usual for this person so far. It begins with what is usual for people, and that counts for some time."""

    def __init__(self, mean: Features, spread: Features, seconds: float) -> None:
        self.first = (mean, spread, seconds)
        self.forget()

    def forget(self) -> None:
        """Somebody new."""
        mean, spread, self._count = self.first
        self._sum, self._squares = mean * self._count, (spread**2 + mean**2) * self._count

    def normal(self, features: Features) -> Features:
        """The features in units of what is usual, this second among it."""
        self._count += 1
        self._sum = self._sum + features
        self._squares = self._squares + features**2
        mean = self._sum / self._count
        normal: Features = (features - mean) / np.sqrt(np.maximum(self._squares / self._count - mean**2, 1e-6))
        return normal


class Listener(ABC):
    """Turns packets into normalised features, a second at a time; which feeling they speak for, others decide."""

    def __init__(self, weights: str) -> None:
        self.file = model_cards.arrays(weights)
        self._seconds = Seconds()
        self._usual = Usual(self.file["mean"], self.file["spread"], float(self.file["usual_s"]))
        self._label = NEUTRAL  # until something is known

    def get_data(self, packet: NDArray[Any]) -> None:
        somebody_new, features = self._seconds.take(packet)
        if somebody_new:
            self._usual.forget()
            self._label = NEUTRAL
            self.begin()
        if features is not None:
            self._label = self.decide(self._usual.normal(features))

    def algorithm(self) -> int:
        return self._label

    def begin(self) -> None:  # noqa: B027 - not everybody remembers anything
        """Somebody new sits down."""

    @abstractmethod
    def decide(self, features: Features) -> int:
        """What a second speaks for."""
