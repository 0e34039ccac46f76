"""What the network `eye_reader`, or one adapted from it to a device, says of windows of a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra import model_cards
from palestra.errors import PalestraError
from palestra.eyes.reader.ellipses import IRIS
from palestra.eyes.reader.image_input import COLUMNS, ROWS, Grey, Window, cut, normalised
from palestra.eyes.reader.settings import NAME, Settings
from palestra.text import say

if TYPE_CHECKING:
    import onnxruntime

BATCH = 4  # windows at a time: more need more memory and save nothing on one core


@dataclass(frozen=True, eq=False)
class Seen:
    """One window, as the picture has it also where it was looked at in a mirror."""

    window: Window
    shares: NDArray[np.float32]  # (4, 200, 320) how much speaks for background, white, iris and pupil, together 1
    yaw: float  # radians, to the picture's right
    pitch: float  # radians, up
    spread: float  # radians, by which both may be off
    one_eye: float  # 0 … 1, that there is exactly one
    opening: float  # of the lids, 0 … 1

    @property
    def ball(self) -> NDArray[np.bool_]:
        """Where iris and pupil are."""
        return np.asarray(self.shares[IRIS:].sum(axis=0) > 0.5)

    @property
    def worth(self) -> float:
        """How much there is to find here: one eye, and an iris that is told apart well."""
        ball = self.ball
        return self.one_eye * float(self.shares[IRIS:].sum(axis=0)[ball].mean()) if ball.any() else 0.0

    @property
    def doubt(self) -> float:
        """How far pixels are from being told apart, on average: 0 where there is no doubt."""
        return float(-np.log(np.maximum(self.shares.max(axis=0), 1e-6)).mean()) + 1e-6

    @property
    def eye(self) -> NDArray[np.bool_]:
        return np.asarray(self.shares[0] < 0.5)

    def middle(self) -> tuple[float, float, float] | None:
        """Of the largest piece of the iris, in the picture: x, y and how wide it is."""
        count, _, stats, centres = cv2.connectedComponentsWithStats(self.ball.astype(np.uint8))
        if count < 2:
            return None
        which = 1 + int(stats[1:, cv2.CC_STAT_AREA].argmax())
        size = self.window.width / self.shares.shape[2]
        x, y = (centres[which] + 0.5) * size
        return self.window.left + float(x), self.window.top + float(y), float(stats[which, cv2.CC_STAT_WIDTH]) * size


def session(settings: Settings) -> "onnxruntime.InferenceSession":
    """The network that these settings name."""
    return model_cards.session_at(settings.weights) if settings.weights else model_cards.session(NAME)


def require_reader(weights: Path) -> None:
    """Refuse weights that are those of another network."""
    found = model_cards.session_at(weights)
    inputs, outputs = ({one.name: one.shape[1:] for one in some} for some in (found.get_inputs(), found.get_outputs()))
    if inputs != {"pictures": [1, ROWS, COLUMNS]} or set(outputs) != {"logits", "facts"}:
        raise PalestraError(say("{file} is not a network that reads eyes: run `palestra adapt` again.", file=weights))


def look(picture: Grey, windows: Sequence[Window], settings: Settings, mirrored: bool = False) -> list[Seen]:
    """What the network says of each window."""
    found: list[Seen] = []
    network = session(settings)
    for at in range(0, len(windows), BATCH):
        some = windows[at : at + BATCH]
        pictures = np.stack([normalised(cut(picture, window)) for window in some])[:, None]
        if mirrored:
            pictures = np.ascontiguousarray(pictures[..., ::-1])
        logits, facts = network.run(["logits", "facts"], {"pictures": pictures})
        if settings.correction:
            logits = settings.correction.corrected(logits, pictures[:, 0])
        found += [_seen(*one, mirrored) for one in zip(some, _softmax(logits), facts, strict=True)]
    return found


def _seen(window: Window, shares: NDArray[np.float32], facts: NDArray[np.float32], mirrored: bool) -> Seen:
    yaw, pitch, log_variance, one_eye, opening, _ = (float(value) for value in facts)
    return Seen(
        window=window,
        shares=np.ascontiguousarray(shares[..., ::-1]) if mirrored else shares,
        yaw=-yaw if mirrored else yaw,
        pitch=pitch,
        spread=float(np.exp(0.5 * np.clip(log_variance, -20, 5))),
        one_eye=_sigmoid(one_eye),
        opening=_sigmoid(opening),
    )


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), np.float32)


def _sigmoid(logit: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(logit, -60, 60))))
