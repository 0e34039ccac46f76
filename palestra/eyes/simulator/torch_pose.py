"""How each eye of a batch stands before its camera, and where the rays of its pixels go, with torch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from palestra.eyes.simulator import optics
from palestra.eyes.simulator.torch_plates import HEIGHT, NUMBERS, WIDTH

_AT = {name: i for i, name in enumerate(NUMBERS)}


@dataclass(frozen=True)
class Looks:
    """What eyes do, one row each."""

    plate: Tensor  # (b,) which person and camera
    gaze: Tensor  # (b, 3) unit vectors
    pupil_mm: Tensor  # (b,)
    opening: Tensor  # (b,)
    smear_px: Tensor | None = None  # (b, 2)


class Row:
    """Numbers of each picture of a batch, by name, as (b, 1) columns."""

    def __init__(self, numbers: Tensor) -> None:
        self._numbers = numbers

    def __getattr__(self, name: str) -> Tensor:
        return self._numbers[:, _AT[name]].unsqueeze(1)


class Grid:
    """Centres of a picture's pixels, in full-size pixels."""

    def __init__(self, device: torch.device, step: int) -> None:
        self.step = step
        middle = (step - 1) / 2
        self.columns = torch.arange(WIDTH * 2 // step, device=device) * float(step) + middle
        self.rows = torch.arange(HEIGHT * 2 // step, device=device) * float(step) + middle


def _turn(yaw: Tensor, pitch: Tensor) -> Tensor:
    """(b, 3, 3), columns the ball's own axes; see vectors.turn."""
    cy, sy, cp, sp = yaw.cos(), yaw.sin(), pitch.cos(), pitch.sin()
    zero = torch.zeros_like(cy)
    rows = [cy, -sy * sp, sy * cp, zero, cp, sp, -sy, -cy * sp, cy * cp]
    return torch.stack(rows, -1).reshape(-1, 3, 3)


class Eye:
    """How each eye of a batch stands before its camera."""

    def __init__(self, row: Row, camera: Tensor, looks: Looks) -> None:
        self.row, self.looks = row, looks
        self.position, self.axes = camera[:, 0], camera[:, 1:]
        x, y, z = looks.gaze.unbind(1)
        self.gaze_pitch = torch.atan2(y, torch.hypot(x, z))
        kappa_h, kappa_v = (torch.deg2rad(value[:, 0]) for value in (row.kappa_h_deg, row.kappa_v_deg))
        self.rotation = _turn(torch.atan2(x, z) + kappa_h, self.gaze_pitch - kappa_v)
        self.axis = self.rotation[:, :, 2]
        self.middle_px = self.project((self.axis * row.limbus_z_mm)[:, None])[:, 0]
        on_iris = torch.cat([row.offset_x_mm, row.offset_y_mm, row.iris_z_mm], 1)
        self.pupil_px = self.project((self.rotation @ on_iris[:, :, None]).transpose(1, 2))[:, 0]

    def project(self, points_mm: Tensor) -> Tensor:
        """Pixels (b, n, 2) of points (b, n, 3)."""
        seen = (points_mm - self.position[:, None]) @ self.axes.transpose(1, 2)
        flat = seen[..., :2] / seen[..., 2:].clamp(min=1.0) * self.row.focal_px[:, :, None]
        return flat + torch.cat([self.row.centre_x_px, self.row.centre_y_px], 1)[:, None]


def traced(eye: Eye, grid: Grid, moved_px: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where each pixel's ray meets the iris through the cornea, and how far from the axis it passes the limbus."""
    row = eye.row
    axes = eye.axes @ eye.rotation  # image right, image down, forward, in the ball's own axes
    x = ((grid.columns - row.centre_x_px - moved_px[:, :1]) / row.focal_px)[:, None, :]
    y = ((grid.rows - row.centre_y_px - moved_px[:, 1:]) / row.focal_px)[:, :, None]
    ray = [axes[:, 0, k, None, None] * x + axes[:, 1, k, None, None] * y + axes[:, 2, k, None, None] for k in range(3)]
    length = torch.rsqrt(ray[0] ** 2 + ray[1] ** 2 + ray[2] ** 2)
    rx, ry, rz = (part * length for part in ray)
    px, py, pz = (value[:, None, None] for value in (eye.position[:, None] @ eye.rotation)[:, 0].unbind(1))
    cornea, radius = row.cornea_z_mm[:, :, None], row.cornea_mm[:, :, None]
    fz = pz - cornea
    along = rx * px + ry * py + rz * fz
    far = px**2 + py**2 + fz**2 - radius**2
    reach = -along - (along**2 - far).clamp(min=0).sqrt()
    sx, sy, sz = px + reach * rx, py + reach * ry, pz + reach * rz
    size = torch.rsqrt(sx**2 + sy**2 + (sz - cornea) ** 2)
    nx, ny, nz = sx * size, sy * size, (sz - cornea) * size
    cosine = -(nx * rx + ny * ry + nz * rz)
    ratio = 1 / optics.AQUEOUS_INDEX
    bend = ratio * cosine - (1 - ratio**2 * (1 - cosine**2)).sqrt()
    to_iris = (row.iris_z_mm[:, :, None] - sz) / (ratio * rz + bend * nz).clamp(max=-0.05)
    across = sx + to_iris * (ratio * rx + bend * nx) - row.offset_x_mm[:, :, None]
    down = sy + to_iris * (ratio * ry + bend * ny) - row.offset_y_mm[:, :, None]
    to_limbus = (row.limbus_z_mm[:, :, None] - pz) / rz.clamp(max=-0.05)
    return across, down, torch.hypot(px + to_limbus * rx, py + to_limbus * ry)


def unit_of(vectors: Tensor) -> Tensor:
    unit: Tensor = vectors / vectors.norm(dim=-1, keepdim=True)
    return unit
