"""LED reflections on a batch of eyes, with torch; see optics.reflections."""

from __future__ import annotations

import torch
from torch import Tensor

from palestra.eyes.simulator.renderer import GLINT, GLINT_ON_WHITE, LENS_MIRROR, PUPIL
from palestra.eyes.simulator.torch_pose import Eye, Grid, unit_of

NOWHERE_PX = -1e4


def reflections(eye: Eye, leds: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """LEDs on the cornea, in the eye's own lens and on the white, (b, n, 2) px; far outside where there is none."""

    def mirror(centre: Tensor, radius: Tensor) -> Tensor:
        camera = eye.position[:, None]
        normal = unit_of(camera - centre).expand_as(leds)
        for _ in range(7):
            point = centre + radius * normal
            normal = unit_of(unit_of(leds - point) + unit_of(camera - point))
        return centre + radius * normal

    row, there = eye.row, leds[..., 2] > -500
    on_cornea = mirror((eye.axis * row.cornea_z_mm)[:, None], row.cornea_mm[:, :, None])
    on_white = mirror(torch.zeros_like(eye.axis)[:, None], row.eyeball_mm[:, :, None])
    hits = ((on_cornea @ eye.axis[:, :, None])[..., 0] > row.limbus_z_mm + 0.1) & there
    beside = ((on_white @ eye.axis[:, :, None])[..., 0] < row.limbus_z_mm - 0.3) & there
    cornea, white = eye.project(on_cornea), eye.project(on_white)
    pupil = eye.pupil_px[:, None]
    lens = pupil - LENS_MIRROR * (cornea - pupil)
    return (
        torch.where(hits[..., None], cornea, NOWHERE_PX),
        torch.where(hits[..., None], lens, NOWHERE_PX),
        torch.where(beside[..., None], white, NOWHERE_PX),
    )


def with_glints(
    grey: Tensor, mask: Tensor, eye: Eye, grid: Grid, cornea: Tensor, lens: Tensor, white: Tensor
) -> Tensor:
    row = eye.row
    eye_shows, pupil_shows = (mask > 0).float(), (mask == PUPIL).float()
    grey = (grey + GLINT * _spots(cornea, row.glint_px, grid) * eye_shows).clamp(max=255)
    grey = (grey + GLINT * row.lens_shine[:, :, None] * _spots(lens, row.glint_px, grid) * pupil_shows).clamp(max=255)
    rough = GLINT_ON_WHITE * row.exposure[:, :, None] * _spots(white, 1.8 * row.glint_px, grid)
    return (grey + rough * eye_shows).clamp(max=255)


def _spots(places: Tensor, radius: Tensor, grid: Grid) -> Tensor:
    """The sum of round lights with halos, as products of one row and one column each; see optics.spot."""
    along_x = -(((grid.columns - places[..., :1]) / radius[:, :, None]) ** 2)
    along_y = -(((grid.rows - places[..., 1:]) / radius[:, :, None]) ** 2)
    core = along_y.exp().transpose(1, 2) @ along_x.exp()
    halo = (0.2 * along_y).exp().transpose(1, 2) @ (0.2 * along_x).exp()
    return core + 0.03 * halo
