"""How much worse each network gets where pictures are harder than those it learnt from.

The same new people look the same ways in every row; only what the row names is different. The headset is that of the
data sets at the paper's size, which the networks of both OpenEDS tracks learnt from; none of these people is in them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra import console, model_cards
from palestra.eyes.cohort import flipped, headset, render
from palestra.eyes.reader.read_eye import read
from palestra.eyes.simulator.renderer import Picture, Renderer
from palestra.eyes.simulator.scene import Camera, Look, Person, draw_person, mirrored, slipped
from palestra.eyes.simulator.vectors import turn
from palestra.metrics.angles import to_angles, to_vectors
from palestra.metrics.iou import count_overlap, mean_iou_global
from palestra.records import Order
from palestra.tracks.eye_segmentation.solutions.palestra import WEIGHTS, classes_of, told
from palestra.tracks.eye_segmentation.solutions.published import Dense
from palestra.tracks.gaze_prediction.solutions.networks import ask, shrunk
from palestra.tracks.near_eye.solutions import networks
from train.tables_page import markdown
from train.tables_people import profile, stranger

PEOPLE, LOOKS = 40, 6
CONE_DEG = 20.0
Array = NDArray[Any]
Changed = tuple[Person, Camera, float]  # and how far the lids are open, of what they were


@dataclass(frozen=True)
class Condition:
    name: str
    change: Callable[[Person, Camera, np.random.Generator], Changed]


def _turned(camera: Camera, yaw_deg: float, pitch_deg: float) -> Camera:
    """The camera moved around the eye; its LEDs stay where they are."""
    rotation = turn(yaw_deg, pitch_deg)
    return replace(camera, position_mm=camera.position_mm @ rotation.T, rotation=camera.rotation @ rotation.T)


def _with_glasses(person: Person, camera: Camera, rng: np.random.Generator) -> Changed:
    return replace(person, glasses=draw_person(replace(person.profile, glasses=True), rng).glasses), camera, 1.0


CONDITIONS = [
    Condition("as in the data sets", lambda person, camera, rng: (person, camera, 1.0)),
    Condition("with glasses", _with_glasses),
    Condition("lids half closed", lambda person, camera, rng: (person, camera, 0.5)),
    Condition("slipped by 4 mm", lambda person, camera, rng: (person, slipped(camera, rng, 4.0), 1.0)),
    Condition("blurred by 4 px more", lambda p, c, rng: (p, replace(c, blur_px=float(np.hypot(c.blur_px, 4))), 1.0)),
    Condition("camera 12° further out", lambda person, camera, rng: (person, _turned(camera, 12.0, 0.0), 1.0)),
    Condition("camera 12° further down", lambda person, camera, rng: (person, _turned(camera, 0.0, -12.0), 1.0)),
]


@dataclass(frozen=True)
class Shot:
    """A picture as the data sets have it, with the nose at the right, and what is true of it."""

    person: int
    picture: Picture
    angles: Array  # (2,) of the gaze, degrees


def shots(condition: Condition, people: int = PEOPLE, looks: int = LOOKS) -> list[Shot]:
    made = []
    for number in range(people):
        rng = stranger(number)
        eye = draw_person(profile(rng), rng)
        seen = headset(Order(size="paper"), "hard", number)
        eye, camera, opening = condition.change(eye, seen, stranger(number, 1))
        renderer = Renderer(eye, camera)
        for _ in range(looks):
            yaw, pitch = rng.uniform(-CONE_DEG, CONE_DEG, 2)
            gaze = to_vectors(np.array([yaw]), np.array([pitch]))[0]
            look = Look(gaze, eye.pupil_mm * rng.uniform(0.9, 1.15), opening * rng.uniform(0.85, 1.0))
            picture = flipped(render(renderer, look, "left", rng))
            made.append(Shot(number, picture, np.array(to_angles(mirrored(gaze)))))
    return made


# ── What is measured: a title, what it needs, and a cell from shots. ──────────────────────────────────────────────────


def _miou(found: Sequence[Array], seen: Sequence[Shot]) -> str:
    counts = [count_overlap(shot.picture.mask, mask) for shot, mask in zip(seen, found, strict=True)]
    sums = [np.sum([one[part] for one in counts], axis=0, keepdims=True) for part in range(3)]
    return f"{float(mean_iou_global(*sums)[0]):.3f}"


def _dense(weights: str) -> Callable[[Sequence[Shot]], str]:
    def cell(seen: Sequence[Shot]) -> str:
        return _miou([Dense(weights).classes(shot.picture.image[None])[0] for shot in seen], seen)

    return cell


def _ours(seen: Sequence[Shot]) -> str:
    return _miou([classes_of(told(shot.picture.image[None])[0]) for shot in seen], seen)


def _reader(seen: Sequence[Shot]) -> str:
    readings = [read(shot.picture.image) for shot in seen]
    sure = [at for at, reading in enumerate(readings) if reading.sure]
    if not sure:
        return "never sure"
    kept = _miou([readings[at].mask for at in sure], [seen[at] for at in sure])
    return f"{kept} of {len(sure) / len(seen):.0%}"


def _estimator(weights: str) -> Callable[[Sequence[Shot]], str]:
    def cell(seen: Sequence[Shot]) -> str:
        return _off(ask(weights, np.stack([shrunk(shot.picture.image) for shot in seen])[:, None]), seen)

    return cell


def _off(found: Array, seen: Sequence[Shot]) -> str:
    """Mean errors of angles (n, 2), as they are and after each eye's own mean error is taken off."""
    off = found - np.array([shot.angles for shot in seen])
    who = np.array([shot.person for shot in seen])
    means = np.array([off[who == number].mean(axis=0) for number in who])
    return " / ".join(f"{np.linalg.norm(each, axis=1).mean():.2f}°" for each in (off, off - means))


def _near_eye(seen: Sequence[Shot]) -> str:
    """Of the eyes that it takes for open; it looks at left eyes, and pictures here are of left eyes in a mirror."""
    told = [networks.ask(np.ascontiguousarray(shot.picture.image[:, ::-1])) for shot in seen]
    read = [at for at, one in enumerate(told) if one is not None]
    found = np.degrees([one[0][:2] for one in told if one is not None]) * (-1, 1)
    of = f" of {len(read) / len(seen):.0%}" if len(read) < len(seen) else ""
    return _off(found, [seen[at] for at in read]) + of


CELLS: dict[str, tuple[str, Callable[[Sequence[Shot]], str]]] = {
    "segmentation, baseline": ("eye_segmentation_baseline", _dense("eye_segmentation_baseline")),
    "segmentation, ours, frame by frame": (WEIGHTS, _ours),
    "`palestra annotate`": ("eye_reader", _reader),
    "gaze, baseline": ("gaze_prediction_baseline", _estimator("gaze_prediction_baseline")),
    "gaze, ours": ("gaze_prediction_palestra", _estimator("gaze_prediction_palestra")),
    "near-eye, ours": (networks.NETWORK, _near_eye),
}


def tables(work: Path, size: str) -> dict[str, str]:
    there = {title: cell for title, (weights, cell) in CELLS.items() if model_cards.is_there(weights)}
    rows = []
    with console.progress("hard pictures", len(CONDITIONS)) as advance:
        for condition in CONDITIONS:
            seen = shots(condition)
            rows.append([condition.name, *(cell(seen) for cell in there.values())])
            advance(1)
    return {"hard": markdown(["", *there], rows)}
