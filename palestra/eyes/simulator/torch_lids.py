"""Lid margins of a batch of eyes, with torch; see optics.lids_at."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from palestra.eyes.simulator import optics
from palestra.eyes.simulator.torch_pose import Eye


@dataclass(frozen=True)
class Lids:
    """Margins and crease as curves (b, 81, 3) mm and as heights (b, columns) px."""

    upper_mm: Tensor
    lower_mm: Tensor
    upper: Tensor
    lower: Tensor
    crease: Tensor
    beyond: Tensor  # (b, columns) px beyond the corners, negative within

    @staticmethod
    def of(eye: Eye, columns: Tensor) -> Lids:
        upper_mm, lower_mm, crease_mm = _lid_curves(eye)
        upper, beyond = heights(eye, upper_mm, columns)
        lower, _ = heights(eye, lower_mm, columns)
        crease, _ = heights(eye, crease_mm, columns)
        return Lids(upper_mm, lower_mm, upper, lower, crease, beyond)


def _lid_curves(eye: Eye) -> tuple[Tensor, Tensor, Tensor]:
    """See optics.lids_at."""
    row, along = eye.row, torch.linspace(0, 1, 81, device=eye.axis.device)[None]
    opening = eye.looks.opening[:, None].clamp(0, 1.15)
    lift = (row.eyeball_mm * eye.gaze_pitch[:, None].sin()).clamp(-5.5, 4.0)
    half = row.fissure_mm / 2
    flat = (2 * along - 1) * half
    base = -1.2 + (flat + row.corner_shift_mm + half) * torch.tan(torch.deg2rad(row.tilt_deg))
    x = flat + row.corner_shift_mm
    top = row.upper_mm + 0.68 * lift
    bottom = row.lower_mm - 0.3 * lift - 1.1 * (1 - opening.clamp(max=1))
    lower = base - (bottom - 1.2) * _bump(along, row.lower_peak, 0.62)
    widest = base + (top + 1.2) * _bump(along, row.upper_peak, 0.55)
    middle = torch.full_like(half, 0.5)
    sliver = optics.CLOSED_GAP_MM * _bump(along, middle, 0.3).clamp(max=1)
    upper = lower + sliver + (widest - lower).clamp(min=0) * opening
    fold = widest + (row.crease_mm + 0.3) * (0.4 + 0.6 * _bump(along, torch.full_like(half, 0.48), 0.4))
    fold = fold - 0.1 * (1 - opening) * (widest - lower)
    curves = (upper, lower, torch.maximum(fold, upper + 0.3))
    wide, high, deep = (float(value) for value in optics.LID_AXES_MM)

    def on_surface(y: Tensor) -> Tensor:
        depth = 1 - (x / wide) ** 2 - (y / high) ** 2
        return torch.stack([x, y, deep * depth.clamp(min=0.05).sqrt()], -1)

    first, second, third = (on_surface(curve) for curve in curves)
    return first, second, third


def _bump(along: Tensor, peak: Tensor, power: float) -> Tensor:
    height = along ** (power * peak / (1 - peak)) * (1 - along) ** power
    lake = 0.5 + 0.5 * (along / 0.16).clamp(0, 1) ** 1.5
    return height / height.amax(1, keepdim=True) * lake


def heights(eye: Eye, curve_mm: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """See optics.column_heights."""
    points = eye.project(curve_mm)
    x, y = points[..., 0].contiguous(), points[..., 1]
    wanted = columns[None].expand(len(x), -1).contiguous()
    right = torch.searchsorted(x, wanted).clamp(1, x.shape[1] - 1)
    x0, x1, y0, y1 = x.gather(1, right - 1), x.gather(1, right), y.gather(1, right - 1), y.gather(1, right)
    share = ((wanted - x0) / (x1 - x0).clamp(min=1e-6)).clamp(0, 1)
    return y0 + share * (y1 - y0), torch.maximum(x[:, :1] - wanted, wanted - x[:, -1:])
