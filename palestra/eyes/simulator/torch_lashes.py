"""Lashes of a batch of eyes, splatted with torch; see eye_optics.lash_curves."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from palestra.eyes.simulator import optics
from palestra.eyes.simulator.torch_filters import blurred, gaussian
from palestra.eyes.simulator.torch_lids import Lids
from palestra.eyes.simulator.torch_pose import Eye, Grid, unit_of

LASH_POINTS = 128  # splats along a lash at full size, about a pixel apart


def lash_shade(lashes: Tensor, eye: Eye, lids: Lids, grid: Grid) -> Tensor:
    """(b, H, W) how much light the lashes take: points splatted along each, thinner and paler towards the tip."""
    share = torch.linspace(0, 1, LASH_POINTS // grid.step, device=lashes.device)
    points = _points_px(_knots_px(lashes, eye, lids), share)
    thick = lashes[..., 5]
    span = (points[:, :, 1:] - points[:, :, :-1]).norm(dim=-1)
    span = torch.cat([span, span[..., -1:]], -1)
    layer = _splatted(points, _darkness(share, thick) * span / grid.step**2, grid)
    # A splat is two pixels wide; of those of full size lashes have three, with mascara five.
    sizes = (3, 5) if grid.step == 1 else (1, 3)
    fine, thicker = (functional.avg_pool2d(layer[:, None], size, 1, size // 2)[:, 0] for size in sizes)
    layer = torch.where((thick.amax(1) > 2)[:, None, None], thicker, fine).clamp(max=1)
    blur = (0.4 + 0.25 * eye.row.blur_px) / grid.step
    return eye.row.lash_dark[:, :, None] * blurred(layer, gaussian(blur, 5))


def _knots_px(lashes: Tensor, eye: Eye, lids: Lids) -> Tensor:
    """(b, n, 6, 2) the points between which renderer.py draws straight pieces; their corners are kept."""
    along, length, curl, splay, side, _ = lashes.unbind(-1)
    margin = torch.where((side > 0)[..., None], _along(lids.upper_mm, along), _along(lids.lower_mm, along))
    axes = torch.tensor(optics.LID_AXES_MM, dtype=torch.float32, device=lashes.device)
    outward = unit_of(margin / axes**2)
    upward = unit_of(torch.tensor([0.0, 1.0, 0.0], device=lashes.device) - outward * outward[..., 1:2])
    opening = eye.looks.opening[:, None].clamp(0, 1)
    droop = torch.where(side > 0, eye.row.lash_droop + 0.55 * (1 - opening), 0.0)
    knots = torch.tensor(optics.LASH_STEPS, dtype=torch.float32, device=lashes.device)
    reach = knots * length[..., None]
    bend = (knots**2 * curl[..., None] - droop[..., None] * knots) * length[..., None] * side[..., None]
    lean = torch.tensor([1.0, 0.0, 0.0], device=lashes.device) * splay[..., None] * 0.5
    forward = 0.8 * reach[..., None] * (outward + lean)[:, :, None]
    path = margin[:, :, None] + forward + bend[..., None] * upward[:, :, None]
    return eye.project(path.flatten(1, 2)).view(*lashes.shape[:2], len(knots), 2)


def _points_px(knots_px: Tensor, share: Tensor) -> Tensor:
    """Points at these shares of each lash's length."""
    place = share * (knots_px.shape[2] - 1)
    first = place.floor().clamp(max=knots_px.shape[2] - 2).long()
    part = (place - first)[:, None]
    return knots_px[:, :, first] * (1 - part) + knots_px[:, :, first + 1] * part


def _darkness(share: Tensor, thick: Tensor) -> Tensor:
    """In renderer.py: full black and a pixel wider to the third knot, then 200, then thin and 130."""
    level = torch.where(share < 0.4, 1.0, torch.where(share < 0.8, 200 / 255, 130 / 255))
    wider = torch.where(share < 0.4, 1.0, torch.where(share < 0.8, 0.0, -1.0))
    # OpenCV fills 1, 3, 5 and 5 pixels across for a thickness of 1, 2, 3 and 4.
    width = torch.where(thick[..., None] > 0, (2 * (thick[..., None] + wider) - 1).clamp(1.0, 5.0), 0.0)
    return level * width


def _along(curve: Tensor, along: Tensor) -> Tensor:
    """Points (b, n, 3) of curves (b, 81, 3) at shares (b, n) of their length."""
    place = along.clamp(0, 1) * (curve.shape[1] - 1)
    low = place.floor().clamp(max=curve.shape[1] - 2)
    index = low.long()[..., None].expand(-1, -1, 3)
    share = (place - low)[..., None]
    return curve.gather(1, index) * (1 - share) + curve.gather(1, index + 1) * share


def _splatted(points: Tensor, amount: Tensor, grid: Grid) -> Tensor:
    """Each point's amount shared between the four pixels around it."""
    height, width = len(grid.rows), len(grid.columns)
    where = (points - (grid.step - 1) / 2) / grid.step
    low = where.floor()
    share = where - low
    layer = torch.zeros(len(points), height * width, device=points.device)
    for dx in (0, 1):
        for dy in (0, 1):
            x, y = low[..., 0] + dx, low[..., 1] + dy
            weight = (share[..., 0] if dx else 1 - share[..., 0]) * (share[..., 1] if dy else 1 - share[..., 1])
            weight = weight * ((x >= 0) & (x < width) & (y >= 0) & (y < height))
            index = (y.clamp(0, height - 1) * width + x.clamp(0, width - 1)).long()
            layer.scatter_add_(1, index.flatten(1), (amount * weight).flatten(1))
    return layer.view(-1, height, width)
