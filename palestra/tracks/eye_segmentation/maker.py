"""A synthetic sparse-segmentation data set: sequences at 5 Hz, a few frames of each labelled, five labels hidden."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from palestra.datasets import rng_for, write_made
from palestra.eyes.cohort import (
    SEGMENTATION_PEOPLE,
    draw_cast,
    eye_of,
    flipped,
    headset,
    split_total,
    write_people,
    write_png,
)
from palestra.eyes.simulator.movements import Trace, draw_mover, watch
from palestra.eyes.simulator.people import Profile, scaled
from palestra.eyes.simulator.renderer import Renderer
from palestra.eyes.simulator.scene import Camera, Look, Person, mirrored
from palestra.eyes.simulator.targets import FARTHEST_CM, NEAREST_CM, ring_pattern
from palestra.records import Order, Part, Plan
from palestra.tracks.eye_segmentation.format import RELEASE

TRACK = "eye-segmentation-v1"
HIDDEN = 5  # hidden labels per sequence
EVERY = 20  # of the 100 frames in a second, one is kept: 5 Hz


@dataclass(frozen=True)
class _Size:
    people: int
    sequences: int
    frames: tuple[int, int, int]  # least and most per sequence, all together
    labels: tuple[int, int, int]  # given labels: least and most per sequence, all together


_SIZES = {
    "tiny": _Size(6, 6, (18, 22, 120), (3, 5, 24)),
    "small": _Size(16, 24, (55, 65, 1440), (4, 8, 144)),
    "paper": _Size(74, 200, (136, 181, 29_476), (6, 14, 1_605)),
}


@dataclass(frozen=True)
class Sequence:
    name: str
    person: str
    eye: Literal["left", "right"]
    frames: int
    given: tuple[int, ...]
    hidden: tuple[int, ...]


def plan(order: Order) -> Plan:
    parts = [_part(order, item) for item in sequences(order)]
    # About as many frames for each label as in the whole.
    sample = _part(order, Sequence("S_sample", "P01", "left", 24, (0,), (1,)))
    return Plan(parts, sample, partial(_finish, order))


def _part(order: Order, sequence: Sequence) -> Part:
    labels = len(sequence.given) + len(sequence.hidden)
    weight = labels if "images" in order.without else sequence.frames
    return Part(sequence.name, weight, partial(_write_sequence, order, sequence))


def _people(order: Order) -> dict[str, Profile]:
    return draw_cast(order, scaled(SEGMENTATION_PEOPLE, _SIZES[order.size].people))


def sequences(order: Order) -> list[Sequence]:
    """Every person is in at least one sequence, many in several: folds by sequence share people."""
    size, rng = _SIZES[order.size], rng_for(order, "sequences")
    people = list(_people(order))
    more = rng.choice(people, size.sequences - len(people)).tolist()
    cast = rng.permutation([*people, *more]).tolist()
    frames = split_total(size.sequences, *size.frames, rng)
    labels = split_total(size.sequences, *size.labels, rng)
    made = []
    for k, (person, count, given) in enumerate(zip(cast, frames, labels, strict=True)):
        chosen = rng.choice(count, given + HIDDEN, replace=False).tolist()
        eye: Literal["left", "right"] = "left" if rng.random() < 0.5 else "right"
        made.append(
            Sequence(f"S_{k}", person, eye, count, tuple(sorted(chosen[:given])), tuple(sorted(chosen[given:])))
        )
    return made


def scene(order: Order, sequence: Sequence) -> tuple[Person, Camera]:
    """Who is before which camera."""
    profile = _people(order)[sequence.person]
    return eye_of(order, sequence.person, profile, sequence.eye), headset(order, sequence.name)


def _write_sequence(order: Order, sequence: Sequence, folder: Path) -> None:
    renderer = Renderer(*scene(order, sequence))
    noise = rng_for(order, "noise", sequence.name)
    home, truth = folder / RELEASE / "participant" / sequence.name, folder / "truth" / sequence.name
    home.mkdir(parents=True, exist_ok=True)
    truth.mkdir(parents=True, exist_ok=True)
    for n, look in enumerate(looks(order, sequence)):
        if "images" in order.without and n not in sequence.given + sequence.hidden:
            continue
        # All sequences look the same way round: the eye on the camera's right, the person's left, is mirrored.
        picture = flipped(renderer.render(look, noise))
        if "images" not in order.without:
            write_png(picture.image, home / f"{n}.png")
        if n in sequence.given:
            np.save(home / f"label_{n}.npy", picture.mask)
        elif n in sequence.hidden:
            np.save(truth / f"{n}.npy", picture.mask)


def looks(order: Order, sequence: Sequence) -> list[Look]:
    """The ring pattern at 5 Hz, walked again where it is too short. Blinks stay: this subset keeps them."""
    mover = draw_mover(rng_for(order, "mover", sequence.person))
    rng = rng_for(order, "watch", sequence.name)
    found: list[Look] = []
    while len(found) < sequence.frames:
        trace = watch(ring_pattern(rng.uniform(NEAREST_CM, FARTHEST_CM)), mover, sequence.eye, rng)
        found += [_look(trace, sequence.eye, at) for at in range(0, len(trace.time_s), EVERY)]
    return found[: sequence.frames]


def _look(trace: Trace, eye: str, at: int) -> Look:
    gaze = trace.gaze[at] if eye == "left" else mirrored(trace.gaze[at])
    return Look(gaze, float(trace.pupil_mm[at]), float(trace.opening[at]))


def _finish(order: Order, folder: Path) -> None:
    filmed = sequences(order)
    images = [f"{item.name}/{n}.png" for item in filmed for n in range(item.frames)]
    labels = [f"{item.name}/label_{n}.npy" for item in filmed for n in item.given]
    (folder / RELEASE / "images.txt").write_text("\n".join(images) + "\n")
    (folder / RELEASE / "labels.txt").write_text("\n".join(labels) + "\n")
    rows = [{"sequence": item.name, "person": item.person, "eye": item.eye} for item in filmed]
    pl.DataFrame(rows).write_csv(folder / "truth" / "sequences.csv")
    write_people(_people(order), folder / "truth" / "people.csv")
    write_made(order, TRACK, folder)
