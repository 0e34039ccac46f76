"""A headset's camera and lights, as its maker or a calibration tells. All in the headset's own axes, in millimetres."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.text import say

Array = NDArray[np.float64]
Triple = Annotated[list[float], msgspec.Meta(min_length=3, max_length=3)]
LEAST_LIGHTS = 2  # that a cornea is found by
SQUARE = 1e-3  # by which the rows of a rotation may fail to be one


class RigFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a rig's file says."""

    focal_px: Annotated[float, msgspec.Meta(gt=0)]
    centre_px: Annotated[list[float], msgspec.Meta(min_length=2, max_length=2)]
    position_mm: Triple
    rotation: Annotated[list[Triple], msgspec.Meta(min_length=3, max_length=3)]  # image right, image down, view
    lights_mm: Annotated[list[Triple], msgspec.Meta(min_length=LEAST_LIGHTS, max_length=100)]


class Rig:
    """Where the camera is, what it sees, and where the lights are."""

    def __init__(self, file: RigFile) -> None:
        self.focal_px, self.centre_px = file.focal_px, np.array(file.centre_px)
        self.position_mm, self.rotation = np.array(file.position_mm), np.array(file.rotation)
        self.lights_mm = np.array(file.lights_mm)

    def project(self, points_mm: Array) -> Array:
        """Pixels (…, 2) of points (…, 3); what is behind the camera is far outside of the picture."""
        seen = (points_mm - self.position_mm) @ self.rotation.T
        return np.asarray(seen[..., :2] / np.maximum(seen[..., 2:], 1e-3) * self.focal_px + self.centre_px)

    def rays(self, pixels: Array) -> Array:
        """Unit directions (…, 3) into which pixels (…, 2) look."""
        flat = (np.asarray(pixels) - self.centre_px) / self.focal_px
        return unit(flat @ self.rotation[:2] + self.rotation[2])


def unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def read_rig(file: Path) -> Rig:
    """A rig from its TOML file."""
    try:
        found: Any = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), RigFile)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise PalestraError(
            say("{file}: {error}. Expected focal_px, centre_px, position_mm, rotation and lights_mm of the headset.",
                file=file, error=error)
        ) from None  # fmt: skip
    rotation = np.array(found.rotation)
    if not np.allclose(rotation @ rotation.T, np.eye(3), atol=SQUARE) or np.linalg.det(rotation) < 0:
        raise PalestraError(
            say("{file}: rotation is no rotation. Expected three rows of length 1 at right angles: image right, image "
                "down, and the direction of view.", file=file)
        )  # fmt: skip
    return Rig(found)
