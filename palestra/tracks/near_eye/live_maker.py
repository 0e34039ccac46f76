"""A synthetic data set for the live near-eye contest: people to learn from, and three testers whom nobody has seen.

The rules fix the live part, so it is 3 testers × 30 points at every size. Of training data they say nothing beyond the
offline part's, which is 119 GB; the paper size here has its people and groups and a seventh of its frames: 15 people ×
7 groups × 330 frames.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from palestra.datasets import rng_for, write_made
from palestra.eyes.cohort import SEGMENTATION_PEOPLE, draw_cast, write_people
from palestra.eyes.simulator.people import Profile, draw_profiles, scaled
from palestra.formats import write_table
from palestra.records import Order, Part, Plan
from palestra.tracks.near_eye.format import write_geometry
from palestra.tracks.near_eye.maker import (
    SAMPLE_FRAMES,
    Group,
    draw_points,
    write_pictures,
    write_training_group,
)

TRACK = "near-eye-live-v1"
TESTERS, POINTS = 3, 30


@dataclass(frozen=True)
class _Size:
    people: int
    groups: int  # of each person
    frames: int  # of each group


_SIZES = {"tiny": _Size(4, 1, 12), "small": _Size(10, 2, 60), "paper": _Size(15, 7, 330)}


def plan(order: Order) -> Plan:
    size, people = _SIZES[order.size], _people(order)
    groups = [Group("train", person, f"G{1 + i:02d}", size.frames) for person in people for i in range(size.groups)]
    parts = [_training_part(order, group, people[group.person]) for group in groups]
    parts += [
        Part(f"test/{tester}", POINTS, partial(_write_tester, order, tester, profile))
        for tester, profile in _testers(order).items()
    ]
    sample = Group("train", "P01", "sample", size.frames if "images" in order.without else SAMPLE_FRAMES)
    return Plan(parts, _training_part(order, sample, people["P01"]), partial(_finish, order))


def _training_part(order: Order, group: Group, profile: Profile) -> Part:
    return Part("/".join(group.names), group.frames, partial(write_training_group, order, group, profile))


def _people(order: Order) -> dict[str, Profile]:
    return draw_cast(order, scaled(SEGMENTATION_PEOPLE, _SIZES[order.size].people))


def _testers(order: Order) -> dict[str, Profile]:
    """Three people with eyes of their own, one of them with glasses. Named T: a P of some size is never one of them."""
    profiles = draw_profiles(scaled(SEGMENTATION_PEOPLE, TESTERS), rng_for(order, "testers"))
    return {f"T{1 + i}": profile for i, profile in enumerate(profiles)}


def _points() -> list[str]:
    """Points are named in the order of play."""
    return [f"{1 + i:02d}" for i in range(POINTS)]


def _write_tester(order: Order, tester: str, profile: Profile, folder: Path) -> None:
    names = ("test", tester)
    table = draw_points(order, names, _points())
    file = folder / "truth" / f"{tester}.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_table(table.rename({"frame": "point"}), file)
    write_pictures(order, names, profile, table, folder / "test" / tester)


def _finish(order: Order, folder: Path) -> None:
    testers = _testers(order)
    write_people({**_people(order), **testers}, folder / "people.csv")
    rows = [{"tester": tester, "point": point} for tester in testers for point in _points()]
    pl.DataFrame(rows).write_csv(folder / "points.csv")
    write_geometry(folder)
    write_made(order, TRACK, folder)
