"""A synthetic near-eye data set: people look at points on a plane, both eyes are photographed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.datasets import rng_for, write_made
from palestra.eyes.cohort import (
    HALF_PUPIL_DISTANCE_CM,
    SEGMENTATION_PEOPLE,
    draw_cast,
    eye_of,
    headset,
    render,
    write_people,
    write_png,
)
from palestra.eyes.simulator.people import Profile, scaled
from palestra.eyes.simulator.renderer import Renderer
from palestra.eyes.simulator.scene import Look
from palestra.eyes.simulator.targets import plane_points
from palestra.records import Order, Part, Plan
from palestra.tracks.near_eye.format import EYES, PLANE_MM, write_geometry, write_points

TRACK = "near-eye-gaze-v1"
HALF_WIDTH_MM, HALF_HEIGHT_MM = 364.0, 268.0  # 20° and 15°
CALIBRATION = 5  # frames of each test group whose point is given
SAMPLE_FRAMES = 16  # enough pictures to tell bytes and time from


@dataclass(frozen=True)
class _Size:
    train_people: int
    train_groups: int
    known_people: int  # of the training people, tested in new groups
    known_groups: int
    new_people: int
    new_groups: int
    frames: int  # per group


_SIZES = {
    "tiny": _Size(6, 1, 5, 1, 5, 1, 15),
    "small": _Size(10, 2, 5, 1, 5, 2, 60),
    "paper": _Size(15, 7, 5, 3, 5, 10, 2310),
}


@dataclass(frozen=True)
class Group:
    """Frames of one person, taken without taking the headset off."""

    split: str  # train, test
    person: str
    group: str
    frames: int

    @property
    def names(self) -> tuple[str, str, str]:
        """What its randomness goes by."""
        return self.split, self.person, self.group


def plan(order: Order) -> Plan:
    people = _people(order)
    parts = [_part(order, group, people[group.person]) for group in _groups(order)]
    sample = Group("test", "P01", "sample", _SIZES[order.size].frames if "images" in order.without else SAMPLE_FRAMES)
    return Plan(parts, _part(order, sample, people["P01"]), partial(_finish, order))


def _part(order: Order, group: Group, profile: Profile) -> Part:
    return Part("/".join(group.names), group.frames, partial(_write_group, order, group, profile))


def _people(order: Order) -> dict[str, Profile]:
    size = _SIZES[order.size]
    return draw_cast(order, scaled(SEGMENTATION_PEOPLE, size.train_people + size.new_people))


def _groups(order: Order) -> list[Group]:
    size = _SIZES[order.size]
    people = list(_people(order))
    train, new = people[: size.train_people], people[size.train_people :]
    known = sorted(rng_for(order, "known").permutation(train)[: size.known_people].tolist())
    asked = [("train", train, 1, size.train_groups)]
    asked += [("test", known, 1 + size.train_groups, size.known_groups), ("test", new, 1, size.new_groups)]
    return [
        Group(split, person, f"G{number:02d}", size.frames)
        for split, chosen, first, count in asked
        for person in chosen
        for number in range(first, first + count)
    ]


def _write_group(order: Order, group: Group, profile: Profile, folder: Path) -> None:
    if group.split == "train":
        write_training_group(order, group, profile, folder)
        return
    table = draw_points(order, group.names, [f"{i:04d}" for i in range(group.frames)])
    home = folder.joinpath(*group.names)
    write_points(table, folder / "truth" / group.person / f"{group.group}.csv")
    chosen = rng_for(order, "calibration", *group.names).choice(group.frames, CALIBRATION, replace=False)
    write_points(table[np.sort(chosen)], home / "calibration.csv")
    write_pictures(order, group.names, profile, table, home)


def write_training_group(order: Order, group: Group, profile: Profile, folder: Path) -> None:
    """Write the labels and pictures of a group whose points contestants get."""
    table = draw_points(order, group.names, [f"{i:04d}" for i in range(group.frames)])
    home = folder.joinpath(*group.names)
    write_points(table, home / "labels.csv")
    write_pictures(order, group.names, profile, table, home)


def draw_points(order: Order, names: Sequence[str], frames: Sequence[str]) -> pl.DataFrame:
    """Where the person looks in each frame (frame, x, y), in random order."""
    points = plane_points(len(frames), HALF_WIDTH_MM, HALF_HEIGHT_MM, rng_for(order, "points", *names))
    # Micrometres: finer digits would only make files larger.
    points = np.round(points, 3)
    return pl.DataFrame({"frame": frames, "x": points[:, 0], "y": points[:, 1]})


def write_pictures(order: Order, names: Sequence[str], profile: Profile, points: pl.DataFrame, home: Path) -> None:
    """Photograph both eyes at every point, unless pictures are left out. The second of `names` is the person's."""
    if "images" in order.without:
        return
    body = rng_for(order, "body", *names)
    pupil_mm = np.clip(body.normal(3.6, 0.25, len(points)) + body.normal(0, 0.5), 2.0, 6.5)
    opening = np.clip(body.normal(0.9, 0.08, len(points)), 0.45, 1.0)
    for eye in EYES:
        renderer = Renderer(eye_of(order, names[1], profile, eye), headset(order, *names, eye))
        noise = rng_for(order, "noise", *names, eye)
        (home / eye).mkdir(parents=True, exist_ok=True)
        for i, gaze in enumerate(_gaze(points.select("x", "y").to_numpy(), eye)):
            picture = render(renderer, Look(gaze, float(pupil_mm[i]), float(opening[i])), eye, noise)
            write_png(picture.image, home / eye / f"{points['frame'][i]}.png")


def _gaze(points: NDArray[np.float64], eye: str) -> NDArray[np.float64]:
    """From one eye to the points. Points count x to the person's right, headset axes to the left."""
    side_mm = HALF_PUPIL_DISTANCE_CM * (10 if eye == "left" else -10)
    vectors = np.column_stack((-points[:, 0] - side_mm, points[:, 1], np.full(len(points), PLANE_MM)))
    gaze: NDArray[np.float64] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return gaze


def _finish(order: Order, folder: Path) -> None:
    write_people(_people(order), folder / "people.csv")
    rows = [
        {"person": group.person, "group": group.group, "frame": f"{i:04d}", "x": 0.0, "y": 0.0}
        for group in _groups(order)
        if group.split == "test"
        for i in range(group.frames)
    ]
    pl.DataFrame(rows).write_csv(folder / "template.csv")
    write_geometry(folder)
    write_made(order, TRACK, folder)
