"""The surface that a head is tracked by: a map of distances from its axis, made to be looked up quickly."""

import zipfile
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.errors import refuse
from palestra.formats import read_bytes, write_bytes
from palestra.studio.track.head_shape import DEGREES, HEIGHTS, LOW_M, MODES, MOST_DEG, SHAPE, STEP_DEG, STEP_M
from palestra.text import say

Floats = NDArray[np.float64]
Map = NDArray[np.float32]

MAX_BYTES = 2_000_000
MOST_AT_ONCE = 30_000  # points: OpenCV's pictures have fewer than 32,767 rows
SURE = 0.3  # weight of a place that was seen often enough to be tracked by


@dataclass(frozen=True)
class Surface:
    """Where a template's skin is along the way from the axis through points, and how it lies there."""

    gap_m: Map  # (n,) from the skin outwards to the point, at right angles to the skin
    normal: Map  # (n, 3) of the head's frame
    sure: Map  # (n,) 0 to 1; 0 outside the map


@dataclass(frozen=True)
class Template:
    """A head, in its own frame."""

    radius: Floats  # (heights, directions)
    sure: Floats  # (heights, directions): 1 where it is well known
    values: Floats  # of the modes

    @cached_property
    def maps(self) -> Map:
        """(heights, directions, 4): distance, how it changes by radian and by metre, sureness."""
        by_height, by_radian = np.gradient(self.radius, STEP_M, np.radians(STEP_DEG))
        return np.stack([self.radius, by_radian, by_height, self.sure], axis=-1).astype(np.float32)

    def at(self, points: Map) -> Surface:
        """The surface near points (n, 3) of the head's frame."""
        x, y, z = points.T
        out = np.maximum(np.hypot(x, z), np.float32(1e-4))
        column = (np.degrees(np.arctan2(x, z)) + np.float32(MOST_DEG)) / np.float32(STEP_DEG)
        row = (y - np.float32(LOW_M)) / np.float32(STEP_M)
        radius, by_radian, by_height, sure = self._looked_up(column, row).T
        inside = (row > 0) & (row < len(HEIGHTS) - 1) & (column > 0) & (column < len(DEGREES) - 1)
        turn = by_radian / out
        length = np.sqrt(1 + turn**2 + by_height**2)
        ex, ez = x / out, z / out  # outwards; (ez, 0, −ex) is along the turn
        normal = np.stack([ex - turn * ez, -by_height, ez + turn * ex], axis=1) / length[:, None]
        return Surface((out - radius) / length, normal, np.where(inside, sure, np.float32(0)))

    def _looked_up(self, column: Map, row: Map) -> Map:
        parts = [
            cv2.remap(
                self.maps,
                column[first : first + MOST_AT_ONCE].astype(np.float32)[:, None],
                row[first : first + MOST_AT_ONCE].astype(np.float32)[:, None],
                cv2.INTER_LINEAR,
                borderMode=cv2.BORDER_CONSTANT,
                borderValue=(1.0, 0.0, 0.0, 0.0),
            )[:, 0]
            for first in range(0, max(len(column), 1), MOST_AT_ONCE)
        ]
        return np.asarray(parts[0] if len(parts) == 1 else np.concatenate(parts), np.float32)

    @cached_property
    def spots(self) -> tuple[Map, Map]:
        """Places (n, 3) spread over what is well known, and their normals."""
        coarse = self.sure[1:-1:2, 1:-1:2]
        rows, columns = (2 * part + 1 for part in np.nonzero(coarse > SURE))
        phi, radius = np.radians(DEGREES[columns]), self.radius[rows, columns]
        points = np.stack([radius * np.sin(phi), HEIGHTS[rows], radius * np.cos(phi)], axis=1).astype(np.float32)
        return points, self.at(points).normal


def write_template(file: Path, template: Template) -> None:
    """Kept for a person's other sessions."""
    whole = BytesIO()
    np.savez_compressed(whole, radius=template.radius, sure=template.sure, values=template.values)
    write_bytes(file, whole.getvalue())


def read_template(file: Path) -> Template:
    try:
        with np.load(BytesIO(read_bytes(file, MAX_BYTES)), allow_pickle=False) as kept:
            parts = [np.asarray(kept[name], np.float64) for name in ("radius", "sure", "values")]
    except (ValueError, KeyError, OSError, zipfile.BadZipFile, EOFError) as error:
        refuse(str(file), say("a file that cannot be read ({error})", error=str(error)[:80]), say("a head's shape"))
    shapes = [part.shape for part in parts]
    if shapes != [SHAPE, SHAPE, (len(MODES),)] or not all(np.isfinite(part).all() for part in parts):
        refuse(str(file), str(shapes), say("a head's shape, as `palestra studio track head` writes it"))
    return Template(*parts)
