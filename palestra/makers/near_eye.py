"""A synthetic near-eye data set: people look at points on a plane, both eyes are photographed."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.formats.near_eye import write_points
from palestra.makers.common import (
    HALF_PUPIL_DISTANCE_CM,
    SEGMENTATION_PEOPLE,
    draw_cast,
    eye_of,
    headset,
    render,
    rng_for,
    write_made,
    write_people,
    write_png,
)
from palestra.records import Order, Part, Plan
from palestra.worlds.eye import Look, Renderer
from palestra.worlds.people import Profile, scaled
from palestra.worlds.targets import plane_points

TRACK = "near-eye-gaze-v1"
PLANE_MM = 1000.0
HALF_WIDTH_MM, HALF_HEIGHT_MM = 364.0, 268.0  # 20° and 15°
CALIBRATION = 5  # frames of each test group whose point is given
EYES = ("left", "right")


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
class _Group:
    split: str  # train, test
    person: str
    group: str
    frames: int


def plan(order: Order) -> Plan:
    groups = _groups(order)
    parts = [
        Part(f"{group.split}/{group.person}/{group.group}", group.frames, partial(_write_group, order, group))
        for group in groups
    ]
    sample = _Group("test", "P01", "sample", _SIZES[order.size].frames if "images" in order.without else 16)
    return Plan(parts, Part("sample", sample.frames, partial(_write_group, order, sample)), partial(_finish, order))


def _people(order: Order) -> dict[str, Profile]:
    size = _SIZES[order.size]
    return draw_cast(order, scaled(SEGMENTATION_PEOPLE, size.train_people + size.new_people))


def _groups(order: Order) -> list[_Group]:
    size = _SIZES[order.size]
    people = list(_people(order))
    train, new = people[: size.train_people], people[size.train_people :]
    known = sorted(rng_for(order, "known").permutation(train)[: size.known_people].tolist())
    asked = [("train", train, 1, size.train_groups)]
    asked += [("test", known, 1 + size.train_groups, size.known_groups), ("test", new, 1, size.new_groups)]
    return [
        _Group(split, person, f"G{number:02d}", size.frames)
        for split, chosen, first, count in asked
        for person in chosen
        for number in range(first, first + count)
    ]


def _write_group(order: Order, group: _Group, folder: Path) -> None:
    names = (group.split, group.person, group.group)
    points = plane_points(group.frames, HALF_WIDTH_MM, HALF_HEIGHT_MM, rng_for(order, "points", *names))
    # Micrometres: finer digits would only make files larger.
    points = np.round(points, 3)
    frames = [f"{i:04d}" for i in range(group.frames)]
    table = pl.DataFrame({"frame": frames, "x": points[:, 0], "y": points[:, 1]})
    home = folder / group.split / group.person / group.group
    if group.split == "train":
        write_points(table, home / "labels.csv")
    else:
        write_points(table, folder / "truth" / group.person / f"{group.group}.csv")
        chosen = rng_for(order, "calibration", *names).choice(group.frames, CALIBRATION, replace=False)
        write_points(table[np.sort(chosen)], home / "calibration.csv")
    if "images" not in order.without:
        _write_pictures(order, group, points, home)


def _write_pictures(order: Order, group: _Group, points: NDArray[np.float64], home: Path) -> None:
    profile = _people(order)[group.person]
    names = (group.split, group.person, group.group)
    body = rng_for(order, "body", *names)
    pupil_mm = np.clip(body.normal(3.6, 0.25, len(points)) + body.normal(0, 0.5), 2.0, 6.5)
    opening = np.clip(body.normal(0.9, 0.08, len(points)), 0.45, 1.0)
    for eye in EYES:
        renderer = Renderer(eye_of(order, group.person, profile, eye), headset(order, *names, eye))
        noise = rng_for(order, "noise", *names, eye)
        (home / eye).mkdir(parents=True, exist_ok=True)
        for i, gaze in enumerate(_gaze(points, eye)):
            picture = render(renderer, Look(gaze, float(pupil_mm[i]), float(opening[i])), eye, noise)
            write_png(picture.image, home / eye / f"{i:04d}.png")


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
    (folder / "data.toml").write_text(
        f"# Points: x to the right, y up, as the person sees them; the origin is straight ahead.\n"
        f'plane_distance = {PLANE_MM}\nunit = "mm"\n'
    )
    write_made(order, TRACK, folder)
