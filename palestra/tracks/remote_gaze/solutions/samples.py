"""Samples of remote-gaze-v1 as arrays, and directions as answers. Frames without a head are not answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.metrics.transforms import World
from palestra.records import Material
from palestra.text import say
from palestra.tracks.remote_gaze.eyediap import EYES, POSE

Floats = NDArray[np.float64]

SIDES = ("left", "right")
LOOKING = "OK"  # the state of a frame in which the person looks at the target


@dataclass(frozen=True)
class Rows:
    """Frames in which the head was found."""

    table: pl.DataFrame
    heads: Floats  # (n, 3, 3) from the head to the world
    places: Floats  # (n, 3) of the heads
    eyes: World  # (n, 2, 3)

    @classmethod
    def of(cls, table: pl.DataFrame) -> Rows:
        pose, eyes = _floats(table, POSE), _floats(table, EYES)
        return cls(table, pose[:, :9].reshape(-1, 3, 3), pose[:, 9:], World(eyes.reshape(-1, 2, 3)))

    def __len__(self) -> int:
        return self.table.height

    @property
    def people(self) -> NDArray[np.str_]:
        return np.asarray(self.table["person"].to_list(), dtype=str)

    @property
    def everybody(self) -> list[str]:
        return self.table["person"].unique(maintain_order=True).to_list()

    def sights(self) -> World:
        """(n, 2, 3) where the eyes looked, unit; for rows to learn from alone."""
        lines = _floats(self.table, [f"truth_{side}_v{axis}" for side in SIDES for axis in "xyz"]).reshape(-1, 2, 3)
        return World(lines / np.linalg.norm(lines, axis=-1, keepdims=True))


def tracked(material: Material) -> Rows:
    """What can be answered."""
    return Rows.of(material.rows.drop_nulls([*POSE, *EYES]))


def to_learn_from(material: Material) -> Rows:
    """What has a target, and nobody saw that the person did not look at it."""
    rows = material.rows.drop_nulls([*POSE, *EYES, "truth_left_vx", "truth_right_vx"])
    rows = rows.filter(pl.col("truth_state").is_null() | (pl.col("truth_state") == LOOKING))
    if rows.is_empty():
        raise PalestraError(
            say("There is no frame to learn from: none has a head, a target and somebody who looks at it.")
        )
    return Rows.of(rows)


def answers(rows: Rows, directions: World) -> pl.DataFrame:
    """Lines that begin at the given eyes."""
    columns = {}
    for which, side in enumerate(SIDES):
        for axis, name in enumerate("xyz"):
            columns[f"{side}_o{name}"] = rows.eyes[:, which, axis]
            columns[f"{side}_v{name}"] = directions[:, which, axis]
    return rows.table.select("trial").with_columns(**{name: pl.Series(values) for name, values in columns.items()})


def no_answers(rows: Rows) -> pl.DataFrame:
    """For a test in which no head was found."""
    return answers(rows, World(np.zeros((0, 2, 3))))


def _floats(table: pl.DataFrame, names: Sequence[str]) -> Floats:
    return np.stack([table[name].to_numpy() for name in names], axis=1).astype(np.float64)
