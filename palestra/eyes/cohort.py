"""What all makers of synthetic data share: seeds by name, people, pictures on disk."""

from dataclasses import asdict, replace
from pathlib import Path

import cv2
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.datasets import rng_for
from palestra.eyes.simulator.people import Census, Profile, draw_profiles
from palestra.eyes.simulator.renderer import Picture, Renderer
from palestra.eyes.simulator.scene import Camera, Look, Person, draw_camera, draw_person, mirrored, slipped
from palestra.records import Order

SLIP_MM = 1.5  # how far a headset sits from where it sat before
HALF_PUPIL_DISTANCE_CM = 3.2

# People of the OpenEDS 2020 subsets, as its Tables 2 and 3 count them. One age of the 74 is not given there: 41+ here.
GAZE_PEOPLE = {
    "train": Census({"female": 9, "male": 23}, {"asian": 10, "caucasian": 15, "other": 7},
                    {"21–25": 6, "26–30": 7, "31–40": 13, "41+": 6}, glasses=8, makeup=5),
    "validation": Census({"female": 3, "male": 5}, {"asian": 1, "caucasian": 4, "other": 3},
                         {"21–25": 2, "26–30": 1, "31–40": 3, "41+": 2}, glasses=2, makeup=0),
    "test": Census({"female": 12, "male": 28}, {"asian": 16, "caucasian": 17, "other": 7},
                   {"21–25": 10, "26–30": 10, "31–40": 14, "41+": 6}, glasses=11, makeup=5),
}  # fmt: skip
SEGMENTATION_PEOPLE = Census(
    {"female": 27, "male": 47}, {"asian": 31, "caucasian": 30, "other": 13},
    {"21–25": 17, "26–30": 15, "31–40": 25, "41+": 17}, glasses=21, makeup=14,
)  # fmt: skip


def draw_cast(order: Order, census: Census, first: int = 1) -> dict[str, Profile]:
    """People by id."""
    profiles = draw_profiles(census, rng_for(order, "people", first))
    return {f"P{first + i:02d}": profile for i, profile in enumerate(profiles)}


def eye_of(order: Order, person: str, profile: Profile, eye: str) -> Person:
    """One eye of a person. Both have the same look, and a visual axis, lens and iris pattern of their own."""
    drawn = draw_person(profile, rng_for(order, "eye", person))
    if eye == "left":
        return drawn
    other = draw_person(profile, rng_for(order, "eye", person, eye))
    return replace(drawn, kappa_h_deg=other.kappa_h_deg, kappa_v_deg=other.kappa_v_deg, texture_seed=other.texture_seed)


def headset(order: Order, *wearing: object) -> Camera:
    """The one device of a data set, as it sits this time."""
    return slipped(draw_camera(rng_for(order, "device")), rng_for(order, "wearing", *wearing), SLIP_MM)


def render(renderer: Renderer, look: Look, eye: str, rng: np.random.Generator) -> Picture:
    """A picture as the camera takes it: the renderer knows left eyes, and a right eye is one seen in a mirror."""
    if eye == "left":
        return renderer.render(look, rng)
    picture = renderer.render(replace(look, gaze=mirrored(look.gaze)), rng)
    return flipped(picture)


def flipped(picture: Picture) -> Picture:
    """Seen in a mirror. The outlines are dropped: whoever flips wants the pixels."""
    image, mask = (np.ascontiguousarray(pixels[:, ::-1]) for pixels in (picture.image, picture.mask))
    return replace(picture, image=image, mask=mask)


def write_png(image: NDArray[np.uint8], file: Path) -> None:
    # Level 1: sensor noise does not compress, and higher levels cost five times the time for a few per cent.
    file.write_bytes(cv2.imencode(".png", image, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes())


def write_people(people: dict[str, Profile], file: Path) -> None:
    columns = ("sex", "age", "ethnicity", "glasses", "makeup", "eye_colour")
    rows = [{"person": name, **{key: asdict(who)[key] for key in columns}} for name, who in people.items()]
    file.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows).write_csv(file)


def split_total(parts: int, low: int, high: int, total: int, rng: np.random.Generator) -> list[int]:
    """Whole numbers between two bounds, at random, that add up."""
    numbers = rng.integers(low, high + 1, parts)
    while (short := total - int(numbers.sum())) != 0:
        step = 1 if short > 0 else -1
        open_ = np.flatnonzero(numbers < high if step > 0 else numbers > low)
        numbers[rng.choice(open_, min(abs(short), len(open_)), replace=False)] += step
    return [int(number) for number in numbers]
