"""What makes pictures of real eyes harder than drawn ones: light, wet edges, reflections and make-up, with torch.

Each condition has a slider: 0 leaves a picture as it is, 1 is the most that training draws, and test sets go beyond. No
condition changes what the mask should be: a white that is darker than the skin beside it stays the white.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

SCLERA = 1
HALF_WIDTH = 320  # pixels across in which sizes here are told


class Chance(Protocol):
    """Where random numbers come from."""

    def uniform(self, low: float, high: float, *size: int) -> Tensor: ...

    def normal(self, *size: int) -> Tensor: ...


@dataclass(frozen=True)
class Scene:
    """Pictures of eyes and where their lids are."""

    image: Tensor  # (n, h, w) grey levels 0 … 255
    mask: Tensor  # (n, h, w) 0 background, 1 sclera, 2 iris, 3 pupil
    upper: Tensor  # (n, w) row of the upper lid's margin in each column
    lower: Tensor

    @property
    def unit(self) -> float:
        """Pixels here for one of a picture that is 320 wide."""
        return self.image.shape[2] / HALF_WIDTH

    @property
    def rows(self) -> Tensor:
        return torch.arange(self.image.shape[1], device=self.image.device, dtype=torch.float32)[None, :, None]

    @property
    def columns(self) -> Tensor:
        return torch.arange(self.image.shape[2], device=self.image.device, dtype=torch.float32)[None, None]

    def slit(self) -> tuple[Tensor, Tensor]:
        """(n, 1, 1) the columns between which the eye is open."""
        there = (self.mask > 0).any(1)
        wide = there.shape[1]
        left = torch.where(there.any(1), there.float().argmax(1), wide // 3)
        right = torch.where(there.any(1), wide - 1 - there.flip(1).float().argmax(1), 2 * wide // 3)
        return left[:, None, None].float(), right[:, None, None].float()


Condition = Callable[[Scene, Tensor, Chance], Tensor]  # a scene, sliders (n, 1, 1), chance → pictures (n, h, w)


def uneven_light(scene: Scene, slider: Tensor, chance: Chance) -> Tensor:
    """Skin that is lit brighter than the white between the lids, each by a smooth field of its own."""
    skin, white = (_soft((scene.mask == part).float(), 2, scene.unit) for part in (0, SCLERA))
    gain = slider * (1.1 * _field(scene, chance) * skin - 0.8 * _field(scene, chance) * white)
    return scene.image * gain.exp()


def burnt_cheek(scene: Scene, slider: Tensor, chance: Chance) -> Tensor:
    """Skin right under the lower lid that a near light burns out."""
    left, right = scene.slit()
    count, unit = len(scene.image), scene.unit
    x = left + (right - left) * _each(chance, 0.1, 0.9, count)
    y = _at(scene.lower, x) + unit * _each(chance, 3, 45, count)
    wide, high = unit * _each(chance, 20, 80, count), unit * _each(chance, 8, 40, count)
    blob = torch.exp(-(((scene.columns - x) / wide) ** 2) - ((scene.rows - y) / high) ** 2)
    skin = _soft((scene.mask == 0).float(), 1, unit)
    return scene.image * torch.exp(1.4 * slider * blob * skin)


def shaded_corners(scene: Scene, slider: Tensor, chance: Chance) -> Tensor:
    """The white in shade towards both ends of the slit, down to three tenths of its light."""
    left, right = scene.slit()
    count = len(scene.image)
    along = (2 * (scene.columns - left) / (right - left).clamp(min=1) - 1).clamp(-1, 1)
    share = torch.where(along < 0, _each(chance, 0, 1, count), _each(chance, 0, 1, count))
    start = _each(chance, 0.1, 0.7, count)
    ramp = ((along.abs() - start) / (1 - start)).clamp(0, 1)
    ramp = ramp**2 * (3 - 2 * ramp)
    white = _soft((scene.mask == SCLERA).float(), 2, scene.unit)
    return scene.image * (1 - (0.7 * slider).clamp(max=0.95) * share * ramp * white)


def lens_ring(scene: Scene, slider: Tensor, chance: Chance) -> Tensor:
    """The rim of the headset's lens as a bright arc, and less light beyond it."""
    count, unit = len(scene.image), scene.unit
    high, wide = scene.image.shape[1:]
    radius = unit * _each(chance, 90, 300, count)
    turn = _each(chance, 0, 2 * torch.pi, count)
    reach = unit * _each(chance, 75, 170, count) - radius  # of the arc from the picture's middle
    x, y = wide / 2 + reach * turn.cos(), high / 2 + reach * turn.sin()
    beyond = torch.hypot(scene.columns - x, scene.rows - y) - radius
    line = torch.exp(-((beyond / (unit * _each(chance, 0.8, 4, count))) ** 2))
    dark = (beyond / (4 * unit)).clamp(0, 1) * _each(chance, 0, 0.9, count)
    return scene.image * (1 - (slider * dark).clamp(max=0.95)) + 130 * slider * _each(chance, 0.2, 1, count) * line


def tear_glints(scene: Scene, slider: Tensor, chance: Chance, most: int = 10) -> Tensor:
    """Sparks on the tear film: along the lower lid, a few on the white and along the upper lid."""
    left, right = scene.slit()
    count, unit = len(scene.image), scene.unit
    x = left + (right - left) * chance.uniform(0.02, 0.98, count, most, 1)
    lower, upper = (line.gather(1, x[..., 0].long().clamp(0, line.shape[1] - 1)) for line in (scene.lower, scene.upper))
    kind = chance.uniform(0, 1, count, most)
    share = torch.where(kind < 0.6, 0.06 * chance.uniform(0, 1, count, most), chance.uniform(0, 1, count, most))
    share = torch.where(kind > 0.85, 0.97, share)
    y = (lower + share * (upper - lower))[..., None]
    radius = unit * chance.uniform(0.5, 2.2, count, most, 1)
    long = radius * chance.uniform(1, 3, count, most, 1)
    level = 230 * slider * chance.uniform(0.2, 1, count, most, 1) * (chance.uniform(0, 1, count, most, 1) < 0.6)
    across = torch.exp(-(((scene.columns - x) / long) ** 2))
    down = torch.exp(-(((scene.rows.transpose(1, 2) - y) / radius) ** 2))
    return scene.image + (level * down).transpose(1, 2) @ across


def bright_lid_margin(scene: Scene, slider: Tensor, chance: Chance) -> Tensor:
    """The upper lid's wet edge, and the fold above it, brighter than the white."""
    count, unit = len(scene.image), scene.unit
    wide = unit * _each(chance, 1.5, 5, count)
    above = scene.upper[:, None] - scene.rows
    patchy = functional.interpolate(chance.uniform(0, 1, count, 1, 6), scene.image.shape[2], mode="linear")
    left, right = scene.slit()
    within = ((scene.columns - left + 6 * unit).clamp(min=0) * (right + 6 * unit - scene.columns).clamp(min=0)) > 0
    band = torch.exp(-(((above - wide) / wide) ** 2)) * (above > -0.5) * within
    return scene.image * torch.exp(0.9 * slider * patchy * band)


def glasses_streaks(scene: Scene, slider: Tensor, chance: Chance, most: int = 7) -> Tensor:
    """A row of lights mirrored by a lens, drawn out along one direction, often across the eye."""
    left, right, slider = (part[:, None] for part in (*scene.slit(), slider))
    count, unit = len(scene.image), scene.unit
    high = scene.image.shape[1]
    turn = _each(chance, 0, torch.pi, count, 1)
    row_turn = turn + _each(chance, 0.4, 2.7, count, 1)
    x = left + (right - left) * _each(chance, -0.1, 1.1, count, 1)
    y = high * _each(chance, 0.25, 0.75, count, 1)
    apart = unit * _each(chance, 5, 22, count, 1)
    long, thick = unit * _each(chance, 4, 30, count, 1), unit * _each(chance, 0.8, 3, count, 1)
    level = slider * _each(chance, 40, 255, count, most) * (_each(chance, 0, 1, count, most) < 0.75)
    step = (torch.arange(most, device=x.device)[None, :, None, None] - most // 2) * apart
    middle = x + step * row_turn.cos(), y + step * row_turn.sin()
    return scene.image + (level * _bars(scene, middle, turn, long, thick)).sum(1)


def mascara(scene: Scene, slider: Tensor, chance: Chance, most: int = 14) -> Tensor:
    """Lashes glued to dark bars that hang from the upper lid across the eye, and a few that stand on the lower one."""
    left, right, slider = (part[:, None] for part in (*scene.slit(), slider))
    count, unit = len(scene.image), scene.unit

    def each(low: float, high: float) -> Tensor:
        return _each(chance, low, high, count, most)

    root = (torch.arange(most, device=scene.image.device)[None, :, None, None] + each(0, 1)) / most
    x = left + (right - left) * root
    below = each(0, 1) < 0.2
    margin = torch.where(below, _at(scene.lower, x), _at(scene.upper, x))
    half = unit * each(4, 20) * torch.where(below, 0.5, 1.0)
    lean = (root - 0.5) * 1.2 + each(-0.35, 0.35)  # a fan
    way = torch.where(below, 0.6, each(-0.6, 1.0))  # most lie before the eye, some above it
    middle = x + way * half * lean.sin(), margin + way * half * lean.cos()
    dark = slider * each(0.35, 0.95) * (each(0, 1) < 0.7)
    bars = _bars(scene, middle, torch.pi / 2 - lean, half, unit * each(0.5, 1.8))
    return scene.image * (1 - (dark * bars).clamp(0, 1)).prod(1)


CONDITIONS: dict[str, Condition] = {
    "uneven light": uneven_light,
    "burnt cheek": burnt_cheek,
    "shaded corners": shaded_corners,
    "lens ring": lens_ring,
    "tear glints": tear_glints,
    "bright lid margin": bright_lid_margin,
    "glasses streaks": glasses_streaks,
    "mascara": mascara,
}
# How often training draws each; its slider is then anywhere between 0 and 1.
SHARES = {
    "uneven light": 0.8,
    "burnt cheek": 0.4,
    "shaded corners": 0.5,
    "lens ring": 0.15,
    "tear glints": 0.35,
    "bright lid margin": 0.35,
    "glasses streaks": 0.1,
    "mascara": 0.15,
}


def under(name: str, scene: Scene, slider: float, chance: Chance) -> Tensor:
    """Pictures under one condition, all with the same slider."""
    sliders = torch.full((len(scene.image), 1, 1), slider, device=scene.image.device)
    return CONDITIONS[name](scene, sliders, chance).clamp(0, 255)


@torch.no_grad()
def varied(scene: Scene, chance: Chance) -> Tensor:
    """Pictures (n, h, w) each under conditions that are drawn for it."""
    image, count = scene.image, len(scene.image)
    for name, share in SHARES.items():
        # As many as the share says, not by chance: a compiled step knows the sizes of everything.
        rows = chance.uniform(0, 1, count).argsort()[: round(share * count)]
        if len(rows):
            some = Scene(image[rows], scene.mask[rows], scene.upper[rows], scene.lower[rows])
            changed = CONDITIONS[name](some, chance.uniform(0, 1, len(rows), 1, 1), chance).clamp(0, 255)
            image = image.index_copy(0, rows, changed)
    return image


def _each(chance: Chance, low: float, high: float, count: int, *most: int) -> Tensor:
    """One number for each picture, or `most` for each."""
    return chance.uniform(low, high, count, *most, 1, 1)


def _field(scene: Scene, chance: Chance) -> Tensor:
    """(n, h, w) between 0 and 1, smooth over a third of the picture and more."""
    coarse = chance.normal(len(scene.image), 1, 4, 6) + chance.normal(len(scene.image), 1, 1, 1)
    return functional.interpolate(coarse, scene.image.shape[1:], mode="bicubic", align_corners=False)[:, 0].sigmoid()


def _soft(part: Tensor, reach: float, unit: float) -> Tensor:
    """A part with borders that many pixels of a 320 wide picture wide, both ways."""
    size = 2 * max(round(reach * unit), 1) + 1
    return functional.avg_pool2d(part[:, None], size, 1, size // 2, count_include_pad=False)[:, 0]


def _at(line: Tensor, x: Tensor) -> Tensor:
    """Rows of lines (n, w) in columns (n, 1, 1) or (n, k, 1, 1)."""
    return line.gather(1, x.flatten(1).long().clamp(0, line.shape[1] - 1)).view_as(x)


def _bars(scene: Scene, middle: tuple[Tensor, Tensor], turn: Tensor, half: Tensor, thick: Tensor) -> Tensor:
    """(n, k, h, w) the light of bars, 1 along their middles; what is told of them has the shape (n, k, 1, 1)."""
    dx, dy = scene.columns - middle[0], scene.rows - middle[1]
    along, off = dx * turn.cos() + dy * turn.sin(), dy * turn.cos() - dx * turn.sin()
    return torch.exp(-((along / half) ** 4) - (off / thick) ** 2)
