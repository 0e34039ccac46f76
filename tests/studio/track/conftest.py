"""Scenes that several tests look at, drawn once."""

from dataclasses import dataclass

import numpy as np
import pytest

from palestra.metrics.transforms import Head, Pose, World
from palestra.studio.track.head_fit import fit
from palestra.studio.track.head_start import Reach
from palestra.studio.track.head_template import Template
from tests.studio.track.recorded import RIG
from tests.studio.track.scene import Look, Person, Scene, moving_head

FRAMES, SEAT = 48, (0.0, 0.0, 0.1)
NECK = np.array([0.0, -0.09, 0.07])


@dataclass(frozen=True)
class Sitting:
    """A person who turns their head."""

    scene: Scene
    heads: list[Pose[Head, World]]
    depths: list[np.ndarray]
    template: Template


@pytest.fixture(scope="session")
def sitting() -> Sitting:
    scene = Scene(Person(1), rng=np.random.default_rng(1))
    heads = moving_head(FRAMES, SEAT)
    depths = [scene.depth(Look(head, shoulders=NECK)) for head in heads]
    template = fit(RIG, depths[::3], Reach())
    assert template is not None
    return Sitting(scene, heads, depths, template)
