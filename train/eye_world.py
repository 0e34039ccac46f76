"""Pictures without end, of people and devices that no data set has: what the networks for eyes learn from.

People and cameras are drawn with seeds that begin with PEOPLE_SEED, while data sets draw theirs from an order's seed
and name (eyes/cohort.py): nobody that a solution is tested on is learnt from. Plates are painted on all cores,
pictures are drawn and spoilt on the GPU as they are needed, and none is seen twice, but for a run that was stopped and
started again: it begins with the same ones.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from palestra.eyes.simulator import torch_conditions, torch_renderer
from palestra.eyes.simulator.people import Census, draw_profiles, scaled
from palestra.eyes.simulator.renderer import IRIS, Renderer
from palestra.eyes.simulator.scene import DIM_CD_M2, draw_camera, draw_person

PEOPLE_SEED = 20_200_525
CENSUS = Census(
    {"female": 50, "male": 50},
    {"asian": 34, "caucasian": 40, "other": 26},
    {"21–25": 20, "26–30": 20, "31–40": 30, "41+": 30},
    glasses=25,
    makeup=22,
)
HEIGHT, WIDTH = torch_renderer.HEIGHT, torch_renderer.WIDTH


@dataclass(frozen=True)
class Drawn:
    """A batch of pictures and all that is known of them."""

    image: Tensor  # (n, 200, 320) grey levels
    mask: Tensor  # (n, 200, 320) uint8
    gaze: Tensor  # (n, 3) visual axis, in the headset's axes
    axis: Tensor  # (n, 3) optical axis as the camera sees it: x to the picture's right, y up, z to the camera
    opening: Tensor  # (n,)
    left: Tensor  # (n,) 1 where the nasal corner is at the picture's left, 0 where it is mirrored
    iris: Tensor  # (n, 2) where the pupil's middle is, -1 … 1 along each side of the picture
    shown: Tensor  # (n,) how much of the iris that was seen at first is still in the picture


Function = TypeVar("Function", bound=Callable[..., object])


class World:
    """Some thousand people, each before a device of their own, on one card."""

    def __init__(
        self, people: int, device: str, seed: int = 0, compiled: bool = True, squints: float = 0.0, hard: bool = False
    ) -> None:
        """Compiled, pictures are drawn eight times as fast, after three quarters of a minute: for those that train.

        `squints` is a share of pictures; `hard` ones are under the conditions of torch_conditions.
        """
        self._squints, self._hard = squints, hard
        profiles = draw_profiles(scaled(CENSUS, people), np.random.default_rng([PEOPLE_SEED, seed]))
        jobs = [(profile, [PEOPLE_SEED, seed, i]) for i, profile in enumerate(profiles)]
        with ProcessPoolExecutor() as pool:
            self.plates = torch_renderer.stack(list(pool.map(_painted, jobs, chunksize=8))).to(device)
        self.device = device
        self.generator = torch.Generator(device).manual_seed(PEOPLE_SEED + seed)
        self.compiled = compiled and device == "cuda"
        self._render = self.quick(torch_renderer.render)
        self._varied = self.quick(torch_conditions.varied)

    def quick(self, function: Function) -> Function:
        """Compiled where the world is: what runs over every pixel of a batch takes a tenth of the time then."""
        return torch.compile(function, dynamic=False) if self.compiled else function  # type: ignore[return-value]

    def uniform(self, low: float, high: float, *size: int) -> Tensor:
        return low + (high - low) * torch.rand(*size, device=self.device, generator=self._chance)

    def normal(self, *size: int) -> Tensor:
        return torch.randn(*size, device=self.device, generator=self._chance)

    @property
    def _chance(self) -> torch.Generator | None:
        """What is compiled draws from the device's own generator: none other can be compiled."""
        return None if torch.compiler.is_compiling() else self.generator

    def looks(self, count: int) -> torch_renderer.Looks:
        """Anybody looking anywhere, in any light, a tenth of them with lids that are all but closed."""
        plate = torch.randint(len(self.plates), (count,), device=self.device, generator=self.generator)
        yaw, pitch = (torch.deg2rad(self.uniform(-reach, reach, count)) for reach in (26.0, 21.0))
        gaze = torch.stack([yaw.sin() * pitch.cos(), pitch.sin(), yaw.cos() * pitch.cos()], 1)
        # Moon and Spencer's curve, as scene.pupil_in_light has it, over the light of headsets and rooms.
        bright = self.uniform(math.log10(0.5), math.log10(1500.0), count)
        rest = 3.4 + 0.5 * self.normal(count)
        pupil = (rest - 3 * (torch.tanh(0.4 * bright) - math.tanh(0.4 * math.log10(DIM_CD_M2)))).clamp(1.8, 7.5)
        kind = self.uniform(0, 1, count)
        awake = (0.88 + 0.12 * self.normal(count)).clamp(0.4, 1.05)
        opening = torch.where(kind < 0.65, awake, torch.where(kind < 0.9, self.uniform(0.2, 0.95, count), 0.0))
        opening = torch.where(kind >= 0.9, self.uniform(0.0, 0.2, count), opening)
        opening = torch.where(kind < self._squints, self.uniform(0.15, 0.45, count), opening)
        return torch_renderer.Looks(plate, gaze, pupil, opening)

    @torch.no_grad()
    def batch(self, count: int) -> Drawn:
        looks = self.looks(count)
        pictures = self._render(self.plates, looks)
        image, all_of_it = pictures.image, torch.ones_like(looks.opening)
        if self._hard:
            lids = ((line + 0.5) / 2 - 0.5 for line in (pictures.upper_px, pictures.lower_px))
            image = self._varied(torch_conditions.Scene(image, pictures.mask, *lids), self)
        size = torch.tensor([WIDTH, HEIGHT], device=image.device)
        iris = (pictures.pupil_px + 0.5) / size - 1
        axis = self._axis(looks)
        return Drawn(image, pictures.mask, looks.gaze, axis, looks.opening, all_of_it, iris, all_of_it)

    def _axis(self, looks: torch_renderer.Looks) -> Tensor:
        number = {name: self.plates.numbers[looks.plate, i] for i, name in enumerate(torch_renderer.NUMBERS)}
        x, y, z = looks.gaze.unbind(1)
        yaw = torch.atan2(x, z) + torch.deg2rad(number["kappa_h_deg"])
        pitch = torch.atan2(y, torch.hypot(x, z)) - torch.deg2rad(number["kappa_v_deg"])
        axis = torch.stack([yaw.sin() * pitch.cos(), pitch.sin(), yaw.cos() * pitch.cos()], 1)
        seen = (self.plates.camera[looks.plate, 1:] @ axis[:, :, None])[:, :, 0]  # image right, image down, forward
        return seen * torch.tensor([1.0, -1.0, -1.0], device=self.device)


SomeWorld = TypeVar("SomeWorld", bound=World)


def world_and_others(
    people: int,
    seed: int,
    device: str,
    kind: type[SomeWorld] = World,  # type: ignore[assignment]
    **more: float,
) -> tuple[SomeWorld, SomeWorld]:
    """A world to learn from, and other people in it to see how well that goes."""
    began = time.monotonic()
    world = kind(people, device, 2 * seed + 1, **more)  # type: ignore[arg-type]
    others = kind(max(people // 16, 4), device, 2 * seed + 2, False, **more)  # type: ignore[arg-type]
    print(f"{len(world.plates) + len(others.plates)} people painted in {time.monotonic() - began:.0f} s", flush=True)
    return world, others


def _painted(job: tuple[object, list[int]]) -> dict[str, np.ndarray]:
    profile, seed = job
    rng = np.random.default_rng(seed)
    return torch_renderer.plate_of(Renderer(draw_person(profile, rng), draw_camera(rng)))  # type: ignore[arg-type]


def angles(vectors: Tensor) -> Tensor:
    """(n, 2) yaw and pitch in radians."""
    x, y, z = vectors.unbind(1)
    return torch.stack([torch.atan2(x, z), torch.atan2(y, torch.hypot(x, z))], 1)


@dataclass(frozen=True)
class Spoiling:
    """How far pictures are spoilt, so that a network learns eyes and not one headset."""

    gamma: float = 0.5  # natural logarithm, both ways
    contrast: float = 0.55
    blur_px: float = 1.6
    noise: float = 7.0


@dataclass(frozen=True)
class Framing:
    """How far pictures are moved, and how much of a picture may be a margin around it."""

    turn_deg: float = 15.0
    usual: tuple[float, float] = (0.6, 1.5)  # sizes of most pictures; an iris is 0.27 of the width at 1
    wide: tuple[float, float] = (0.4, 3.2)  # … and of the others: irises from 0.11 to 0.87 of the width
    others: float = 0.4  # share of these
    shift: float = 0.2  # of the picture
    margins: float = 0.5  # share of pictures with margins
    inner: float = 0.3  # the smallest side of a picture within its margins


@torch.no_grad()
def moved(world: World, drawn: Drawn, framing: Framing) -> Drawn:
    """Turned, made larger or smaller, shifted and mirrored at random: picture, mask and the axis together."""
    count = len(drawn.image)
    turn = torch.deg2rad(world.uniform(-1, 1, count) * framing.turn_deg)
    usual, wide = (torch.exp(world.uniform(*map(math.log, sizes), count)) for sizes in (framing.usual, framing.wide))
    size = torch.where(world.uniform(0, 1, count) < framing.others, wide, usual)
    squeeze = torch.exp(0.08 * world.normal(count))
    side = torch.where(world.uniform(0, 1, count) < 0.5, -1.0, 1.0)
    # Of an eye that fills the picture the iris stays in sight: the larger, the nearer to it is the new middle.
    middle = drawn.iris * (size - 1).clamp(0, 1)[:, None]
    shift = middle + world.uniform(-framing.shift, framing.shift, count, 2) * 2 / size.clamp(min=1)[:, None]
    ratio = WIDTH / HEIGHT
    cosine, sine = turn.cos() / size, turn.sin() / size
    # From places in the new picture to places in the old one, both counted -1 … 1 along each side.
    across = torch.stack([side * cosine * squeeze, -side * sine / ratio, shift[:, 0]], 1)
    down = torch.stack([sine * ratio * squeeze, cosine, shift[:, 1]], 1)
    grid = functional.affine_grid(torch.stack([across, down], 1), [count, 1, HEIGHT, WIDTH], align_corners=False)
    image = functional.grid_sample(drawn.image[:, None], grid, padding_mode="border", align_corners=False)[:, 0]
    mask = functional.grid_sample(drawn.mask[:, None].float(), grid, mode="nearest", align_corners=False)[:, 0]
    x, y, z = drawn.axis.unbind(1)
    x = x * side
    # The picture turns the other way round than the grid that it is read with.
    axis = torch.stack([x * turn.cos() - y * turn.sin(), x * turn.sin() + y * turn.cos(), z], 1)
    before = (drawn.mask >= IRIS).sum((1, 2)) * size**2 / squeeze
    shown = torch.where(before > 0, (mask >= IRIS).sum((1, 2)) / before.clamp(min=1), 1.0).clamp(max=1)
    return Drawn(
        image,
        mask.to(torch.uint8),
        drawn.gaze,
        axis,
        drawn.opening,
        (side > 0).float(),
        drawn.iris,
        drawn.shown * shown,
    )


@torch.no_grad()
def framed(world: World, image: Tensor, drawn: Drawn, framing: Framing) -> tuple[Tensor, Drawn]:
    """Some pictures as parts of a window that is wider or higher than they are: smeared, mirrored, black or grey there.

    What is in the margins belongs to no eye, also where it looks like one.
    """
    count, device = len(image), image.device
    narrow = world.uniform(framing.inner, 1.0, count)
    other = world.uniform(0.8, 1.0, count)
    upright = world.uniform(0, 1, count) < 0.5
    half = torch.stack([torch.where(upright, narrow, other), torch.where(upright, other, narrow)], 1)
    half = torch.where((world.uniform(0, 1, count) < framing.margins)[:, None], half, 1.0)
    middle = (1 - half) * world.uniform(-1, 1, count, 2) * (world.uniform(0, 1, count, 1) < 0.5)
    x = ((torch.arange(WIDTH, device=device) + 0.5) / WIDTH * 2 - 1)[None] - middle[:, :1]
    y = ((torch.arange(HEIGHT, device=device) + 0.5) / HEIGHT * 2 - 1)[None] - middle[:, 1:]
    inside = (x.abs() <= half[:, :1])[:, None, :] & (y.abs() <= half[:, 1:])[:, :, None]
    kind = world.uniform(0, 1, count)[:, None]
    places = []
    for off, reach, centre in ((x, half[:, :1], middle[:, :1]), (y, half[:, 1:], middle[:, 1:])):
        # Every 2 × reach the picture turns back: 0 … 4 × reach, and from there as it came.
        there = (off + reach).remainder(4 * reach)
        back = torch.where(there > 2 * reach, 4 * reach - there, there) - reach
        places.append(torch.where(kind < 0.4, torch.maximum(torch.minimum(off, reach), -reach), back) + centre)
    grid = torch.stack([places[0][:, None, :].expand(-1, HEIGHT, -1), places[1][:, :, None].expand(-1, -1, WIDTH)], -1)
    seen = functional.grid_sample(image[:, None], grid, padding_mode="border", align_corners=False)[:, 0]
    level = torch.where(kind < 0.85, 0.0, world.uniform(0, 255, count)[:, None])[:, :, None]
    seen = torch.where(inside | (kind < 0.7)[:, :, None], torch.where(inside, image, seen), level)
    mask = drawn.mask * inside
    before = (drawn.mask >= IRIS).sum((1, 2))
    shown = torch.where(before > 0, (mask >= IRIS).sum((1, 2)) / before.clamp(min=1), 1.0)
    return seen, replace(drawn, mask=mask, shown=drawn.shown * shown)


@torch.no_grad()
def spoilt(world: World, image: Tensor, spoiling: Spoiling) -> Tensor:
    """Other light, contrast, focus and noise, streaks and blots, as pictures (n, 200, 320) of grey levels."""
    count = len(image)

    def per(low: float, high: float) -> Tensor:
        return world.uniform(low, high, count)[:, None, None]

    x = torch.linspace(-1, 1, WIDTH, device=image.device)[None, None]
    y = torch.linspace(-1, 1, HEIGHT, device=image.device)[None, :, None]
    light = 1 + per(-0.5, 0.5) * x + per(-0.5, 0.5) * y
    light = light * (1 - per(-0.1, 0.9).clamp(min=0) * ((x**2 + y**2) / 2).clamp(max=1))
    image = (image * light.clamp(min=0.05)).clamp(0, 255) / 255
    image = image ** torch.exp(per(-spoiling.gamma, spoiling.gamma))
    middle = image.mean((1, 2), keepdim=True)
    image = (image - middle) * torch.exp(per(-spoiling.contrast, 0.4 * spoiling.contrast)) + middle + per(-0.12, 0.12)
    image = image + _streaks(world, count)
    image = _focus(world, image, spoiling.blur_px)
    grain = world.normal(count, HEIGHT, WIDTH)
    rough = functional.avg_pool2d(grain[:, None], 3, 1, 1)[:, 0] * 2
    grain = torch.where(per(0, 1) < 0.5, grain, rough)
    image = 255 * image + per(0, 1) ** 2 * spoiling.noise * grain
    return image.clamp(0, 255)


def _focus(world: World, image: Tensor, most_px: float) -> Tensor:
    """Blurred with a spread of its own each."""
    sigma = most_px * world.uniform(0, 1, len(image)) ** 2 + 0.05
    steps = torch.arange(9, device=image.device) - 4
    kernel = torch.exp(-(steps**2) / (2 * sigma[:, None] ** 2))
    kernel = kernel / kernel.sum(1, keepdim=True)
    return torch_renderer.blurred(image, kernel)


def _streaks(world: World, count: int, most: int = 5) -> Tensor:
    """Bright or dark bars and spots: reflections on lenses, hair, frames, dirt. Most pictures have none."""

    def each(low: float, high: float) -> Tensor:
        return world.uniform(low, high, count, most, 1, 1)

    dx = torch.arange(WIDTH, device=world.device)[None, None, None] - each(0, WIDTH)
    dy = torch.arange(HEIGHT, device=world.device)[None, None, :, None] - each(0, HEIGHT)
    turn, long, thick = each(0, math.pi), each(2, 60), each(0.8, 5)
    level = torch.where(each(0, 1) < 0.18, each(-0.6, 1.0), 0.0)
    along, off = (dx * turn.cos() + dy * turn.sin()) / long, (dy * turn.cos() - dx * turn.sin()) / thick
    return (level * torch.exp(-(along**4) - off**2)).sum(1)


@torch.no_grad()
def nothing_there(world: World, image: Tensor) -> Tensor:
    """Pictures (n, 200, 320) that do not show one eye, made of such that do."""
    count = len(image)
    if not count:
        return image
    soft = functional.interpolate(world.normal(count, 1, 7, 11), (HEIGHT, WIDTH), mode="bicubic", align_corners=False)[
        :, 0
    ]
    fine = functional.interpolate(world.normal(count, 1, 40, 64), (HEIGHT, WIDTH), mode="bilinear")[:, 0]
    clouds = 110 + 60 * soft + world.uniform(0, 40, count)[:, None, None] * fine
    flat = world.uniform(0, 255, count)[:, None, None].expand_as(image) + 2 * world.normal(*image.shape)
    # Skin alone: a corner of a picture, enlarged.
    corner = functional.interpolate(image[:, None, :50, :80], (HEIGHT, WIDTH), mode="bicubic")[:, 0]
    # Two eyes: two pictures side by side, as of a whole face.
    small = functional.interpolate(image[:, None], (HEIGHT, WIDTH // 2), mode="bilinear", antialias=True)[:, 0]
    # Often they are one person's, a mirror image of each other.
    other = torch.where(world.uniform(0, 1, count, 1, 1) < 0.5, small, small.roll(1, 0))
    both = torch.cat([small, other.flip(2)], 2)
    # Pieces in disorder: the light and lines of an eye, and no eye.
    pieces = image.view(count, 5, 40, 8, 40).permute(0, 1, 3, 2, 4).reshape(count, 40, 40, 40)
    pieces = pieces[:, world.uniform(0, 1, 40).argsort()]
    pieces = pieces.view(count, 5, 8, 40, 40).permute(0, 1, 3, 2, 4).reshape(count, HEIGHT, WIDTH)
    bars = 120 + 90 * torch.sign(torch.sin(fine * 3 + soft * 6))
    # Two eyes and skin are what people really have; the others keep a network from seeing eyes everywhere.
    kinds = torch.stack([both, both, both, corner, corner, clouds, flat, pieces, bars], 1)
    kind = world.uniform(0, kinds.shape[1], count).long().clamp(max=kinds.shape[1] - 1)
    return kinds[torch.arange(count, device=image.device), kind].clamp(0, 255)


def normalised(image: Tensor) -> Tensor:
    """(n, 1, H, W) as networks take pictures: each with mean 0 and spread 1, flat ones less."""
    flat = image.flatten(1)
    mean, spread = flat.mean(1), flat.std(1).clamp(min=8.0)
    return ((image - mean[:, None, None]) / spread[:, None, None])[:, None]
