"""A trial as a picture: both eyes, where the person looked and what was answered."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.report import beside, plane, read_image


def picture(eyes: Iterable[Path], row: Mapping[str, Any]) -> NDArray[np.uint8]:
    """Both eyes, with the true point and the answer on a small plan of the display."""
    points = {"truth": (row["truth_x"], row["truth_y"]), "answer": (row["x"], row["y"])}
    return beside(*map(read_image, eyes), plane(points, half_width=0.45 * row["truth_distance"]))
