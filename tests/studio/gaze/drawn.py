"""Drawn eyes before a headset's camera: what the room sees, and what is true."""

from dataclasses import replace

import numpy as np

from palestra.eyes.cohort import SEGMENTATION_PEOPLE
from palestra.eyes.simulator.people import draw_profiles
from palestra.eyes.simulator.renderer import Picture, Renderer
from palestra.eyes.simulator.scene import Camera, Look, Person, draw_camera, draw_person
from palestra.eyes.simulator.vectors import turn
from palestra.studio.gaze.model import Seen
from palestra.studio.gaze.rig import Array, Rig, RigFile

KNOWN_DEG = [(yaw, pitch) for pitch in (-10.0, 0.0, 10.0) for yaw in (-12.0, 0.0, 12.0)]
FAR_MM = 1000.0
OPENING = 0.95


def people(count: int) -> list[Person]:
    """People without glasses: a lens moves reflections, and the model knows none."""
    profiles = draw_profiles(SEGMENTATION_PEOPLE, np.random.default_rng(0))
    drawn = (draw_person(profile, np.random.default_rng(i)) for i, profile in enumerate(profiles))
    return [one for one in drawn if one.glasses is None][:count]


def camera(number: int) -> Camera:
    return draw_camera(np.random.default_rng(100 + number))


def slipped(one: Camera, number: int) -> Camera:
    """The headset as it sits after it slipped: by a millimetre or two, and turned a little."""
    rng = np.random.default_rng(200 + number)
    moved, turned = rng.normal(0, 1.2, 3), turn(*rng.normal(0, 1.0, 2))
    return replace(
        one,
        position_mm=turned @ one.position_mm + moved,
        rotation=one.rotation @ turned.T,
        leds_mm=one.leds_mm @ turned.T + moved,
    )


def rig_of(one: Camera) -> Rig:
    return Rig(
        RigFile(
            one.focal_px, list(one.centre_px), one.position_mm.tolist(), one.rotation.tolist(), one.leds_mm.tolist()
        )
    )


def direction(yaw_deg: float, pitch_deg: float) -> Array:
    yaw, pitch = np.radians([yaw_deg, pitch_deg])
    return np.array([np.sin(yaw) * np.cos(pitch), np.sin(pitch), np.cos(yaw) * np.cos(pitch)])


def picture(renderer: Renderer, person: Person, gaze: Array, seed: int) -> Picture:
    return renderer.render(Look(gaze, person.pupil_mm, OPENING), np.random.default_rng(seed))


def seen_in(one: Picture, seed: int, noise_px: float = 0.3) -> Seen:
    """What a good reader would find: the places of pupil and reflections, a little off."""
    assert one.pupil is not None
    rng = np.random.default_rng(seed)
    glints = one.glints + rng.normal(0, noise_px, one.glints.shape)
    rng.shuffle(glints)  # nobody says which light each is of
    pupil = np.array(one.pupil[:2]) + rng.normal(0, noise_px, 2)
    return Seen((float(pupil[0]), float(pupil[1])), [(float(x), float(y)) for x, y in glints])
