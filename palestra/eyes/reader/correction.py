"""A small correction of what the network says of a device, learnt from a few labels without training the network.

The classes' logits are added to by a linear function of themselves, of the light at a pixel and around it, and of the
row: enough to move a boundary that is always drawn on the wrong side of a shade. Pupils are shifted and scaled by what
they were off on average.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.eyes.reader.ellipses import Ellipse

CLASSES = 4
AROUND_PX = (4.0, 16.0)  # of the network's picture, over which the light around a pixel is taken
FEATURES = 2 * CLASSES + len(AROUND_PX) + 5
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Correction:
    weights: NDArray[np.float32] | None = None  # (FEATURES, 4), added to log shares
    pupil_shift: tuple[float, float] = (0.0, 0.0)  # of the iris's width, as the eye is read: right and down
    pupil_scale: float = 1.0

    @property
    def digest(self) -> bytes:
        weights = b"" if self.weights is None else self.weights.tobytes()
        return weights + np.array([*self.pupil_shift, self.pupil_scale]).tobytes()

    def corrected(self, logits: Floats, pictures: Floats) -> Floats:
        """Logits (n, 4, 200, 320) of normalised pictures (n, 200, 320)."""
        if self.weights is None:
            return logits
        return np.stack(
            [
                shares + np.moveaxis(features_of(shares, seen) @ self.weights, -1, 0)
                for shares, seen in zip(log_shares(logits), pictures, strict=True)
            ]
        )

    def of_pupil(self, pupil: Ellipse, iris: Ellipse) -> Ellipse:
        right, down = self.pupil_shift
        return pupil._replace(
            x=pupil.x + right * iris.long,
            y=pupil.y + down * iris.long,
            long=pupil.long * self.pupil_scale,
            short=pupil.short * self.pupil_scale,
        )


def log_shares(logits: Floats) -> Floats:
    """(n, 4, …) logits less what all classes have in common."""
    highest = logits.max(axis=1, keepdims=True)
    total = np.log(np.exp(logits - highest).sum(axis=1, keepdims=True)) + highest
    return np.asarray(np.maximum(logits - total, -12.0), np.float32)


def features_of(shares: Floats, seen: Floats) -> Floats:
    """(200, 320, FEATURES) of log shares (4, 200, 320) and the normalised picture (200, 320)."""
    around = [cv2.GaussianBlur(seen, (0, 0), px) for px in AROUND_PX]
    soft = [cv2.GaussianBlur(part, (0, 0), AROUND_PX[0]) for part in shares]
    row = np.repeat(np.linspace(-1, 1, len(seen), dtype=np.float32)[:, None], seen.shape[1], axis=1)
    light = np.clip(seen, -4, 4)
    # Log shares reach far: a tenth of them is as large as the other features.
    parts = [*(0.1 * shares), *(0.1 * np.stack(soft)), *around, light, light**2, seen - around[-1], row, 0 * row + 1]
    return np.stack(parts, axis=-1).astype(np.float32)
