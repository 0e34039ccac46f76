"""Drawn strangers in pictures of all kinds, with all that is true of them: for what `palestra annotate` is judged by.

A picture is drawn once and then handed over as somebody's camera might: of any shape and size, near or far, turned,
in other light, out of focus, cut by its edges, with a margin or without.
"""

from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.eyes.reader.ellipses import Ellipse
from palestra.eyes.simulator import optics
from palestra.eyes.simulator.renderer import Renderer
from palestra.eyes.simulator.scene import Look, draw_camera, draw_person
from palestra.metrics.angles import to_vectors
from train.tables_annotate import NO_EYES
from train.tables_people import profile, stranger

Image = NDArray[Any]
Rng = np.random.Generator
NOTHING = 0.1
FILLS = (cv2.BORDER_REPLICATE, cv2.BORDER_CONSTANT)  # what lies beyond what was drawn


@dataclass(frozen=True)
class Drawn:
    """A picture, and what is true of the eye in it; without a mask it shows none that is open."""

    image: Image
    mask: NDArray[np.uint8] | None = None
    pupil: Ellipse | None = None
    iris: Ellipse | None = None
    axis_deg: tuple[float, float] | None = None  # optical axis: to the picture's right, and up


def drawn(rng: Rng, opening: tuple[float, float] = (0.25, 1.0)) -> Drawn:
    """A stranger before a device of their own; every fourth wears glasses."""
    person, camera = draw_person(profile(rng, bool(rng.random() < 0.25)), rng), draw_camera(rng)
    gaze = to_vectors(rng.uniform(-20, 20), rng.uniform(-16, 13))
    picture = Renderer(person, camera).render(
        Look(gaze, person.pupil_mm * rng.uniform(0.8, 1.4), rng.uniform(*opening)), rng
    )
    right, down, forward = camera.rotation @ optics.eye_rotation(person, gaze)[:, 2]
    yaw, pitch = np.arctan2(right, -forward), np.arctan2(-down, np.hypot(right, forward))
    pupil, iris = (Ellipse(*map(float, one)) if one else None for one in (picture.pupil, picture.iris))
    return Drawn(picture.image, picture.mask, pupil, iris, (float(np.degrees(yaw)), float(np.degrees(pitch))))


@dataclass(frozen=True)
class Placing:
    """Where in a picture of another shape what was drawn comes to lie."""

    width: int
    height: int
    zoom: float
    x: float  # where the iris goes, of the width
    y: float
    turn_deg: float = 0.0
    mirrored: bool = False
    fill: int = cv2.BORDER_REPLICATE
    level: float = 0.0  # of a constant fill


def placed(one: Drawn, to: Placing) -> Drawn:
    """The same eye there; its mask, its ellipses and its axis with it."""
    if to.mirrored:
        one = _mirrored(one)
    middle = one.iris or Ellipse(one.image.shape[1] / 2, one.image.shape[0] / 2, 0, 0, 0)
    turn = np.radians(to.turn_deg)
    rotation = to.zoom * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])  # clockwise on screen
    shift = np.array([to.x * to.width, to.y * to.height]) - rotation @ [middle.x, middle.y]
    way = np.hstack([rotation, shift[:, None]])
    source = cv2.GaussianBlur(one.image, None, 0.45 / to.zoom) if to.zoom < 0.8 else one.image
    size = to.width, to.height
    image = cv2.warpAffine(source, way, size, flags=cv2.INTER_LINEAR, borderMode=to.fill, borderValue=(to.level,) * 3)
    assert one.mask is not None
    mask = cv2.warpAffine(one.mask, way, size, flags=cv2.INTER_NEAREST, borderMode=cv2.BORDER_CONSTANT)
    pupil, iris = (found and _moved(found, way, to) for found in (one.pupil, one.iris))
    return Drawn(image, mask, pupil, iris, one.axis_deg and _axis_turned(one.axis_deg, turn))


def _moved(ellipse: Ellipse, way: NDArray[np.float64], to: Placing) -> Ellipse:
    x, y = way @ [ellipse.x, ellipse.y, 1]
    angle = (ellipse.angle_deg + to.turn_deg) % 180
    return Ellipse(float(x), float(y), ellipse.long * to.zoom, ellipse.short * to.zoom, angle)


def _axis_turned(axis_deg: tuple[float, float], turn: float) -> tuple[float, float]:
    x, y, z = to_vectors(*axis_deg)
    x, y = x * np.cos(turn) + y * np.sin(turn), -x * np.sin(turn) + y * np.cos(turn)
    return float(np.degrees(np.arctan2(x, z))), float(np.degrees(np.arctan2(y, np.hypot(x, z))))


def _mirrored(one: Drawn) -> Drawn:
    width = one.image.shape[1]
    pupil, iris = (
        found and found._replace(x=width - 1 - found.x, angle_deg=(180 - found.angle_deg) % 180)
        for found in (one.pupil, one.iris)
    )
    assert one.mask is not None
    image, mask = np.ascontiguousarray(one.image[:, ::-1]), np.ascontiguousarray(one.mask[:, ::-1])
    return Drawn(image, mask, pupil, iris, one.axis_deg and (-one.axis_deg[0], one.axis_deg[1]))


def somehow(rng: Rng, iris_px: float) -> Placing:
    """A picture of any of the shapes that people hand over; the iris 0.15 to 0.85 of its width."""
    width, height = ((640, 400), (400, 640), (400, 400), (320, 240), (200, 200), (160, 100), (640, 480), (192, 192))[
        int(rng.choice(8, p=(0.34, 0.16, 0.1, 0.1, 0.1, 0.04, 0.1, 0.06)))
    ]
    share = float(np.exp(rng.uniform(np.log(0.15), np.log(0.85)))) if rng.random() < 0.5 else rng.uniform(0.22, 0.42)
    room = max(0.5 - 0.55 * share, 0.04)
    return Placing(
        width=width,
        height=height,
        zoom=share * width / iris_px,
        x=rng.uniform(0.5 - room, 0.5 + room),
        y=rng.uniform(0.4, 0.62),
        turn_deg=rng.uniform(-12, 12),
        mirrored=bool(rng.random() < 0.5),
        fill=FILLS[int(rng.random() < 0.3)],
        level=float(rng.choice((0.0, 110.0))),
    )


def spoilt(one: Drawn, rng: Rng) -> Drawn:
    """In other light, contrast, focus and grain; a third stays as it is."""
    if rng.random() < 0.33:
        return one
    height, width = one.image.shape
    x, y = np.meshgrid(np.linspace(-1, 1, width), np.linspace(-1, 1, height))
    image = one.image.astype(np.float64)
    if one.mask is not None and rng.random() < 0.4:  # skin and sclera in light of their own
        lift = np.where(one.mask == 0, np.exp(rng.uniform(0, 0.8)), np.where(one.mask == 1, rng.uniform(0.55, 1), 1.0))
        image = image * cv2.GaussianBlur(lift, None, max(width / 100, 0.8))
    light = 1 + rng.uniform(-0.45, 0.45) * x + rng.uniform(-0.45, 0.45) * y - rng.uniform(0, 0.4) * (x**2 + y**2)
    image = 255 * (np.clip(image * np.clip(light, 0.05, None), 0, 255) / 255) ** np.exp(rng.uniform(-0.5, 0.5))
    image = (image - image.mean()) * np.exp(rng.uniform(-0.6, 0.2)) + image.mean() + rng.uniform(-25, 25)
    blur = rng.uniform(0, 1) ** 2 * 0.012 * width
    image = cv2.GaussianBlur(image, None, blur) if blur > 0.3 else image
    image += rng.normal(size=image.shape) * rng.uniform(0, 1) ** 2 * 9
    return replace(one, image=np.clip(image, 0, 255).astype(np.uint8))


def picture(*number: int) -> Drawn:
    """The stranger of that number, somehow; one picture in ten shows no eye."""
    rng = stranger(*number)
    one = drawn(rng)
    if rng.random() < NOTHING:
        kind = NO_EYES[int(rng.integers(len(NO_EYES)))]
        return Drawn(kind(rng, one.image))
    if one.iris is None:
        return replace(one, mask=None)
    return spoilt(placed(one, somehow(rng, one.iris.long)), rng)
