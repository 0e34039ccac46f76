"""How both networks that draw masks do where real pictures are unlike drawn ones: light, reflections, framing.

Strangers before devices of their own, each condition a quarter beyond what training draws at most (torch_conditions),
each framing at its own extremes. The same people and looks are in every line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from palestra import console
from palestra.eyes.reader.read_eye import Reading, read
from palestra.eyes.simulator import torch_conditions
from palestra.eyes.simulator.renderer import PUPIL, Renderer
from palestra.eyes.simulator.scene import Camera, Look, draw_camera, draw_person
from palestra.metrics.angles import to_vectors
from palestra.metrics.iou import count_overlap, mean_iou_global
from palestra.tracks.eye_segmentation import segment
from train.tables_page import markdown
from train.tables_people import profile, stranger

PEOPLE, LOOKS = 40, 2
BEYOND = 1.25  # of the most that training draws
WRONG = 0.05  # of the iris's width, that the middle of a pupil which is sure may be off
Image = NDArray[Any]


@dataclass(frozen=True)
class Shot:
    """A picture with its true mask, and what was drawn of lids, pupil and iris."""

    image: Image
    mask: Image
    pupil: tuple[float, float] | None  # its middle, where some of it shows
    iris_px: float
    lids: Image | None = None  # (2, 9, 2) points along both margins


class Chance:
    """Random numbers of a seed."""

    def __init__(self, *seed: int) -> None:
        self._generator = torch.Generator().manual_seed(int(stranger(*seed).integers(2**62)))

    def uniform(self, low: float, high: float, *size: int) -> Tensor:
        return low + (high - low) * torch.rand(*size, generator=self._generator)

    def normal(self, *size: int) -> Tensor:
        return torch.randn(*size, generator=self._generator)


Framed = Callable[[Shot, np.random.Generator], Shot]


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    title: str
    condition: str | None = None
    opening: tuple[float, float] = (0.8, 1.0)
    focal: float = 1.0  # of the camera's own: less shows more of the face
    framing: Framed | None = None


def closer(low: float, high: float, shape: float) -> Framed:
    """A part around the pupil in which the iris takes so much of the width; `shape` is its height over its width."""

    def cut(shot: Shot, rng: np.random.Generator) -> Shot:
        wide = round(shot.iris_px / rng.uniform(low, high))
        wide = min(wide, shot.image.shape[1], int(shot.image.shape[0] / shape))
        high_px = round(wide * shape)
        x, y = (shot.pupil or (320.0, 200.0)) + rng.normal(0, 0.04 * wide, 2)
        left = int(np.clip(x - wide / 2, 0, shot.image.shape[1] - wide))
        top = int(np.clip(y - high_px / 2, 0, shot.image.shape[0] - high_px))
        there = slice(top, top + high_px), slice(left, left + wide)
        pupil = shot.pupil and (shot.pupil[0] - left, shot.pupil[1] - top)
        image, mask = (np.ascontiguousarray(part[there]) for part in (shot.image, shot.mask))
        return replace(shot, image=image, mask=mask, pupil=pupil, lids=None)

    return cut


def turned(most_deg: float) -> Framed:
    def turn(shot: Shot, rng: np.random.Generator) -> Shot:
        high, wide = shot.image.shape
        angle = rng.choice([-1.0, 1.0]) * rng.uniform(0.6, 1.0) * most_deg
        matrix = cv2.getRotationMatrix2D((wide / 2, high / 2), angle, 1.0)
        image = cv2.warpAffine(shot.image, matrix, (wide, high), borderMode=cv2.BORDER_REPLICATE)
        mask = cv2.warpAffine(shot.mask, matrix, (wide, high), flags=cv2.INTER_NEAREST)
        pupil = shot.pupil and tuple(float(part) for part in matrix @ [*shot.pupil, 1.0])
        return replace(shot, image=image, mask=mask, pupil=pupil, lids=None)  # type: ignore[arg-type]

    return turn


PORTRAIT, CLOSE, TINY, TURNED = "portrait, 250 × 400", "close-up", "tiny", "turned by 11 to 19°"
LINES = [
    Line("as drawn"),
    *(Line(name, condition=name) for name in torch_conditions.CONDITIONS),
    Line("squint", opening=(0.25, 0.45)),
    Line(PORTRAIT, focal=0.65, framing=closer(0.40, 0.55, 1.6)),
    Line(CLOSE, framing=closer(0.55, 0.80, 1.0)),
    Line(TINY, focal=0.5),
    Line(TURNED, framing=turned(19.0)),
]
FRAMINGS = (PORTRAIT, CLOSE, TINY, TURNED)
# Of the reader before it learnt from these conditions (weights of commit 53c6900, its rules as of then), and mIoU of
# the segmentation before it did (weights of commit ce64011), which took pictures of one size alone.
BEFORE = {
    "as drawn": ("0.977", "99%", "0 of 79", "0.979"),
    "uneven light": ("0.897", "92%", "0 of 74", "0.857"),
    "burnt cheek": ("0.976", "99%", "0 of 79", "0.976"),
    "shaded corners": ("0.971", "99%", "0 of 79", "0.970"),
    "lens ring": ("0.972", "98%", "0 of 78", "0.972"),
    "tear glints": ("0.976", "99%", "0 of 79", "0.977"),
    "bright lid margin": ("0.974", "99%", "0 of 79", "0.974"),
    "glasses streaks": ("0.966", "96%", "1 of 77", "0.965"),
    "mascara": ("0.973", "99%", "0 of 79", "0.972"),
    "squint": ("0.905", "13%", "0 of 9", "0.893"),
    "portrait, 250 × 400": ("0.954", "90%", "0 of 72", ""),
    "close-up": ("0.912", "20%", "0 of 16", ""),
    "tiny": ("0.933", "96%", "2 of 77", "0.801"),
    "turned by 11 to 19°": ("0.974", "99%", "0 of 79", "0.973"),
}


def shots(line: Line, people: int = PEOPLE, looks: int = LOOKS) -> Iterator[Shot]:
    for number in range(people):
        rng = stranger(3, number)
        person, camera = draw_person(profile(rng, number % 4 == 0), rng), draw_camera(rng)
        renderer = Renderer(person, replace(camera, focal_px=line.focal * camera.focal_px))
        for look in range(looks):
            yield _shot(renderer, line, camera, person.pupil_mm, rng, (number, look))


def _shot(
    renderer: Renderer, line: Line, camera: Camera, pupil_mm: float, rng: np.random.Generator, which: tuple[int, int]
) -> Shot:
    gaze = to_vectors(rng.uniform(-18, 18), rng.uniform(-15, 12))
    drawn = renderer.render(Look(gaze, pupil_mm * rng.uniform(0.9, 1.3), rng.uniform(*line.opening)), rng)
    shown = drawn.pupil is not None and (drawn.mask == PUPIL).sum() > 0.25 * np.pi / 4 * drawn.pupil[2] * drawn.pupil[3]
    pupil = (drawn.pupil[0], drawn.pupil[1]) if shown and drawn.pupil else None
    iris_px = drawn.iris[2] if drawn.iris else 176.0 * line.focal
    shot = Shot(drawn.image, drawn.mask, pupil, iris_px, drawn.lids)
    if line.condition:
        shot = replace(shot, image=conditioned(shot, line.condition, BEYOND, Chance(4, *which)))
    return line.framing(shot, rng) if line.framing else shot


def conditioned(shot: Shot, name: str, slider: float, chance: Chance) -> Image:
    """The picture under one condition of torch_conditions."""
    assert shot.lids is not None
    columns = np.arange(shot.image.shape[1])
    upper, lower = (np.interp(columns, *line[np.argsort(line[:, 0])].T) for line in shot.lids)
    parts = (torch.from_numpy(np.asarray(part, np.float32))[None] for part in (shot.image, upper, lower))
    image, above, below = parts
    scene = torch_conditions.Scene(image, torch.from_numpy(shot.mask)[None], above, below)
    return torch_conditions.under(name, scene, slider, chance)[0].round().to(torch.uint8).numpy()


@dataclass(frozen=True)
class Outcome:
    """What a line comes to."""

    tries: int
    segmentation: float  # mIoU of our segmentation, each picture alone
    miou: float  # of annotate, over all pictures
    asked: int  # pictures whose pupil shows
    found: int  # of these, pupils that are sure
    wrong: int  # of the sure ones

    def cells(self) -> list[str]:
        sure = self.found / max(self.asked, 1)
        return [f"{self.miou:.3f}", f"{sure:.0%}", f"{self.wrong} of {self.found}", f"{self.segmentation:.3f}"]


def outcome(line: Line, people: int = PEOPLE, looks: int = LOOKS) -> Outcome:
    ours, masks, true, asked, found, wrong, tries = [], [], [], 0, 0, 0, 0
    for shot in shots(line, people, looks):
        tries += 1
        reading = read(shot.image)
        true.append(shot.mask)
        masks.append(reading.mask)
        ours.append(segment([shot.image])[0])
        asked += shot.pupil is not None
        if told_for_sure(reading):
            found += shot.pupil is not None
            wrong += is_wrong(shot, reading)
    return Outcome(tries, _miou(true, ours), _miou(true, masks), asked, found, wrong)


def told_for_sure(reading: Reading) -> bool:
    return reading.sure and reading.pupil is not None


def is_wrong(shot: Shot, reading: Reading) -> bool:
    """A sure pupil whose middle is off, or where none shows."""
    assert reading.pupil
    if shot.pupil is None:
        return True
    return bool(np.hypot(reading.pupil.x - shot.pupil[0], reading.pupil.y - shot.pupil[1]) > WRONG * shot.iris_px)


def _miou(true: list[Image], found: list[Image]) -> float:
    counts = [count_overlap(mask, other) for mask, other in zip(true, found, strict=True)]
    sums = [np.sum([one[part] for one in counts], axis=0, keepdims=True) for part in range(3)]
    return float(mean_iou_global(*sums)[0])


def tables(work: Path, size: str) -> dict[str, str]:
    rows = []
    with console.progress("conditions", len(LINES)) as advance:
        for line in LINES:
            *annotate_before, segmentation_before = BEFORE[line.title]
            *annotate_now, segmentation_now = outcome(line).cells()
            rows.append([line.title, *annotate_before, *annotate_now, segmentation_before, segmentation_now])
            advance(1)
    was = ["annotate before", "sure before", "wrong before"]
    head = ["pictures", *was, "annotate", "sure", "wrong", "segmentation before", "segmentation"]
    return {"conditions": markdown(head, rows)}


if __name__ == "__main__":
    print(*tables(Path(), "paper").values())
