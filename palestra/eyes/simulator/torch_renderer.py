"""Many eyes at a time, with torch: the second back-end of the renderer in renderer.py, for training on a GPU.

What stays still of a person before a camera is painted once by renderer.py and kept on the device as a plate
(torch_plates.py); what moves is computed here for a whole batch. Pictures agree with renderer.py's to a few grey levels
(its test says how far), differences being lashes, which are splatted instead of drawn, and
rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from palestra.eyes.simulator.renderer import EDGE_MM, EDGE_SHINE, NARROW_PX, SHUTTER
from palestra.eyes.simulator.skin import SCLERA_MARGIN_PX
from palestra.eyes.simulator.torch_filters import blurred, compressed, gaussian
from palestra.eyes.simulator.torch_glints import reflections, with_glints
from palestra.eyes.simulator.torch_lashes import lash_shade
from palestra.eyes.simulator.torch_lids import Lids, heights
from palestra.eyes.simulator.torch_plates import (
    HEIGHT,
    NUMBERS,
    WHITE_HEIGHT,
    WHITE_WIDTH,
    WIDTH,
    Plates,
    plate_of,
    plates_of,
    stack,
)
from palestra.eyes.simulator.torch_pose import Eye, Grid, Looks, Row, traced

__all__ = [  # who trains needs this module alone
    "HEIGHT",
    "NUMBERS",
    "WIDTH",
    "Looks",
    "Pictures",
    "Plates",
    "blurred",
    "compressed",
    "plate_of",
    "plates_of",
    "render",
    "stack",
]

BLUR_TAPS = 13


@dataclass(frozen=True)
class Pictures:
    """Half-size pictures as grey levels 0 … 255 in float32, and their masks; the full size if asked for."""

    image: Tensor  # (b, H, W)
    mask: Tensor  # (b, H, W) uint8
    pupil_px: Tensor  # (b, 2) centre of the pupil as if it lay on its plane, in full-size pixels
    upper_px: Tensor  # (b, W) where the upper lid's margin crosses each half-size column, in full-size pixels
    lower_px: Tensor


def render(plates: Plates, looks: Looks, noise: bool = True, step: int = 2) -> Pictures:
    """All pictures of a batch; step 1 gives the full size of 640 × 400, 2 the half."""
    at = looks.plate
    row = Row(plates.numbers[at])
    eye = Eye(row, plates.camera[at], looks)
    grid = Grid(at.device, 2)
    cover, value = _iris(eye, plates.iris[at], grid, looks.smear_px)
    lids = Lids.of(eye, grid.columns)
    grey = _compose(plates, at, eye, lids, grid, cover, value)
    fine = grid if step == 2 else Grid(at.device, 1)
    if step == 1:
        grey = functional.interpolate(grey[:, None], scale_factor=2, mode="bilinear")[:, 0]
    mask, upper, lower = _mask(plates, at, eye, lids, fine)
    cornea, mirrored, white = reflections(eye, plates.leds[at])
    grey = with_glints(grey, mask, eye, fine, cornea, mirrored, white)
    grey = grey * (1 - lash_shade(plates.lashes[at], eye, lids, fine))
    if noise:
        grey = grey + row.noise_sd[:, :, None] / step * torch.randn_like(grey)  # a pixel of the half is four
    grey = grey.round().clamp(0, 255)
    if step == 1:
        grey = compressed(grey, row.quality[:, 0])
    return Pictures(grey, mask, eye.pupil_px, upper, lower)


def _iris(eye: Eye, texture: Tensor, grid: Grid, smear_px: Tensor | None) -> tuple[Tensor, Tensor]:
    """(b, H, W) how much of each pixel is not white, and that part's reflectance, blurred."""
    if smear_px is None:
        cover, value = _iris_light(eye, texture, grid, torch.zeros_like(eye.middle_px))
    else:
        seen = [_iris_light(eye, texture, grid, share * smear_px) for share in SHUTTER]
        cover, value = (torch.stack(part).mean(0) for part in zip(*seen, strict=True))
    kernel = gaussian(eye.row.blur_px / 2, BLUR_TAPS)
    return blurred(cover, kernel), blurred(value, kernel)


def _iris_light(eye: Eye, texture: Tensor, grid: Grid, moved_px: Tensor) -> tuple[Tensor, Tensor]:
    row = eye.row
    across, down, limbus = traced(eye, grid, moved_px)
    radius, angle = torch.hypot(across, down), torch.remainder(torch.atan2(down, across), 2 * torch.pi)
    half_pupil = eye.looks.pupil_mm[:, None, None] / 2
    limbus_mm = row.limbus_mm[:, :, None]
    from_pupil = radius - half_pupil
    ring = from_pupil / (0.95 * limbus_mm - half_pupil) * 2 - 1  # -1 … 1 over the texture's rows
    spoke = angle / torch.pi - 1
    shade = functional.grid_sample(
        texture[:, None].float(), torch.stack([spoke, ring], -1), padding_mode="border", align_corners=True
    )[:, 0]
    cover = ((limbus_mm - 0.1 - limbus) / 0.5 + 0.5).clamp(0, 1)
    pixel_mm = (4 * row.limbus_mm / row.window_px)[:, :, None]
    value = cover * shade * (from_pupil / pixel_mm + 0.5).clamp(0, 1)
    away = (limbus - row.contact_lens_mm[:, :, None]) / EDGE_MM
    edge = torch.exp(-(away**2)) - 0.6 * torch.exp(-((away - 2) ** 2))
    worn = (row.contact_lens_mm > 0)[:, :, None]
    return cover, value + torch.where(worn, EDGE_SHINE * row.sclera_tone[:, :, None] * edge, 0.0)


def _lut(table: Tensor, px: Tensor) -> Tensor:
    """Light by distance from a margin, as eye_skin.Margins keeps it."""
    index = (2 * px + 128).round().clamp(0, 255).long()
    return table.gather(1, index.flatten(1)).view_as(px)


def _compose(plates: Plates, at: Tensor, eye: Eye, lids: Lids, grid: Grid, cover: Tensor, value: Tensor) -> Tensor:
    """Grey levels of ball, lids and skin; see Renderer._compose."""
    rows = grid.rows[None, :, None]
    upper, lower, crease = (rows - lids.upper[:, None], lids.lower[:, None] - rows, rows - lids.crease[:, None])
    blur = eye.row.blur_px[:, :, None]
    sharp = 1 / (0.6 + 0.5 * blur)
    beyond = lids.beyond[:, None]
    near = torch.exp(-beyond.clamp(min=0) / 9)
    folded = (-beyond / 60).clamp(0, 1) ** 0.7
    above_lower = (lower * sharp + 0.5).clamp(0, 1)
    inside = (upper * sharp + 0.5).clamp(0, 1) * above_lower * (beyond <= 0)
    margins = plates.margins[at]
    haze = plates.haze[at].float()
    ball = _eyeball(plates, at, eye, cover, value) + haze
    ball = ball + _lut(margins[:, 3], lower) * plates.tear_gain[at][:, None]
    painted = plates.skin[at].float()
    lid = _lid_skin(plates.lid[at], upper) * plates.face_gain[at] + 0.8 * haze
    on_lid = (crease * sharp + 0.5).clamp(0, 1) * above_lower * folded
    painted = painted + (lid - painted) * on_lid
    opening = eye.looks.opening[:, None, None].clamp(0, 1)
    fold = 1 + (_lut(margins[:, 2], crease) - 1) * folded * (0.3 + 0.7 * opening)
    shade = _lut(margins[:, 1], lower) * _lut(margins[:, 0], upper)
    moving = (painted + (ball - painted) * inside) * fold * (1 + (shade - 1) * near)
    moving = (moving * plates.through[at] + plates.added[at]).clamp(0, 255)
    return torch.where(_in_region(plates.inside[at], 1), moving, plates.picture[at].float())


def _in_region(bounds: Tensor, scale: int) -> Tensor:
    """(b, H, W) where a picture moves at all."""
    x = (torch.arange(WIDTH * scale, device=bounds.device) + 0.5) / scale
    y = (torch.arange(HEIGHT * scale, device=bounds.device) + 0.5) / scale
    left, top, right, bottom = (bounds[:, k, None] for k in range(4))
    return ((y > top) & (y < bottom))[:, :, None] & ((x > left) & (x < right))[:, None]


def _lid_skin(lid: Tensor, upper: Tensor) -> Tensor:
    """The upper lid's skin, which slides with its margin; rows beyond its ends are mirrored."""
    place = upper * -0.5
    place = torch.where(place < 0, -place - 1, place).clamp(0, HEIGHT - 1.001)
    low = place.floor()
    share, index = place - low, low.long()
    return lid.gather(1, index).float() * (1 - share) + lid.gather(1, index + 1).float() * share


def _eyeball(plates: Plates, at: Tensor, eye: Eye, cover: Tensor, value: Tensor) -> Tensor:
    """Grey levels of the ball between the lids; its white follows the gaze by whole pixels."""
    margin = SCLERA_MARGIN_PX
    rest = torch.cat([eye.row.rest_x_px, eye.row.rest_y_px], 1)
    moved = (eye.middle_px / 2).floor() - rest / 2  # on even pixels, as the window that renderer.py puts on the iris
    shift = margin - moved.clamp(-margin, margin).trunc().long()
    device = cover.device
    y = shift[:, 1, None, None] + torch.arange(HEIGHT, device=device)[None, :, None]
    x = shift[:, 0, None, None] + torch.arange(WIDTH, device=device)[None, None, :]
    flat = (at[:, None, None] * WHITE_HEIGHT + y) * WHITE_WIDTH + x
    white = plates.white.view(-1)[flat].float()
    white = white * (1 - cover) + value
    white = white * (1 - plates.caruncle[at]) + plates.caruncle_value[at]
    return white * plates.ball_gain[at]


def _mask(plates: Plates, at: Tensor, eye: Eye, lids: Lids, grid: Grid) -> tuple[Tensor, Tensor, Tensor]:
    """(b, H, W) 0 background, 1 sclera, 2 iris, 3 pupil, and the margins' heights."""
    rows = grid.rows[None, :, None]
    upper, beyond = (lids.upper, lids.beyond) if grid.step == 2 else heights(eye, lids.upper_mm, grid.columns)
    lower = lids.lower if grid.step == 2 else heights(eye, lids.lower_mm, grid.columns)[0]
    seen = (rows >= upper[:, None]) & (rows <= lower[:, None]) & (beyond <= 0)[:, None]
    clear = plates.clear[at] > 0.5
    if grid.step == 1:
        clear = clear.repeat_interleave(2, 1).repeat_interleave(2, 2)
    seen = seen & clear & _in_region(plates.inside[at], 2 // grid.step)
    across, down, limbus = traced(eye, grid, torch.zeros_like(eye.middle_px))
    iris = (limbus < eye.row.limbus_mm[:, :, None]) & ((lower - upper) >= NARROW_PX)[:, None]
    pupil = iris & (torch.hypot(across, down) < eye.looks.pupil_mm[:, None, None] / 2)
    return (seen * (1 + iris.to(torch.uint8) + pupil.to(torch.uint8))).to(torch.uint8), upper, lower
