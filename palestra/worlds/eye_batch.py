"""Many eyes at a time, with torch: the second back-end of the renderer in eye.py, for training on a GPU.

What stays still of a person before a camera is painted once by eye.py and kept on the device as a plate; what moves is
computed here for a whole batch. Pictures agree with eye.py's to a few grey levels (tests/worlds/test_eye_batch.py says
how far), differences being lashes, which are splatted instead of drawn, and rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from palestra.worlds import eye_optics as optics
from palestra.worlds import eye_skin as skin
from palestra.worlds.eye import (
    EDGE_MM,
    EDGE_SHINE,
    LENS_MIRROR,
    NARROW_PX,
    PUPIL,
    SHUTTER,
    Array,
    Renderer,
)

HEIGHT, WIDTH = skin.HALF_SIZE  # a batch is composed at half size, as a single picture is
MOST_LEDS = 18
MOST_LASHES = 160
LASH_POINTS = 128  # splats along a lash at full size, about a pixel apart
BLUR_TAPS = 13
WHITE_HEIGHT, WHITE_WIDTH = HEIGHT + 2 * skin.SCLERA_MARGIN_PX, WIDTH + 2 * skin.SCLERA_MARGIN_PX


@dataclass(frozen=True)
class Plates:
    """What stays still of n people, each before a camera: stacked, on one device. Layers are in half precision."""

    picture: Tensor  # (n, H, W) grey levels outside the moving region
    skin: Tensor
    haze: Tensor
    face_gain: Tensor
    ball_gain: Tensor
    caruncle: Tensor
    caruncle_value: Tensor
    through: Tensor
    added: Tensor
    clear: Tensor
    lid: Tensor  # (n, H, W) row 0 at the margin
    white: Tensor  # (n, H + margins, W + margins)
    iris: Tensor  # (n, rings, spokes + 1)
    margins: Tensor  # (n, 4, 256) upper, lower, crease, tear
    tear_gain: Tensor  # (n, W)
    inside: Tensor  # (n, 4) left, top, right, bottom of the moving region, half-size pixels
    numbers: Tensor  # (n, len(NUMBERS)) of person and camera
    camera: Tensor  # (n, 4, 3) position, then the rows of the rotation
    leds: Tensor  # (n, MOST_LEDS, 3), missing ones far behind the head
    lashes: Tensor  # (n, MOST_LASHES, 6) along, length, curl, splay, side, thickness; missing ones of no thickness

    def __len__(self) -> int:
        return len(self.picture)

    def to(self, device: str | torch.device) -> Plates:
        return Plates(**{field.name: getattr(self, field.name).to(device) for field in fields(self)})


# What a picture's geometry and light depend on, one number each.
NUMBERS = (
    *("eyeball_mm", "cornea_mm", "limbus_mm", "limbus_z_mm", "cornea_z_mm", "iris_z_mm"),
    *("offset_x_mm", "offset_y_mm", "kappa_h_deg", "kappa_v_deg", "fissure_mm", "corner_shift_mm", "tilt_deg"),
    *("upper_mm", "lower_mm", "upper_peak", "lower_peak", "crease_mm", "lash_dark", "lash_droop"),
    *("focal_px", "centre_x_px", "centre_y_px", "blur_px", "glint_px", "exposure", "noise_sd", "quality"),
    *("rest_x_px", "rest_y_px", "contact_lens_mm", "sclera_tone", "lens_shine", "window_px"),
)
_AT = {name: i for i, name in enumerate(NUMBERS)}


def plates_of(renderers: Sequence[Renderer]) -> Plates:
    """Take over what each renderer has painted."""
    return stack([plate_of(renderer) for renderer in renderers])


def stack(plates: Sequence[dict[str, Array]]) -> Plates:
    """Plates as `plate_of` gives them, which other processes may have painted."""
    return Plates(**{name: torch.from_numpy(np.stack([plate[name] for plate in plates])) for name in plates[0]})


def plate_of(renderer: Renderer) -> dict[str, Array]:
    """One renderer's layers, laid into the whole picture."""
    kept = renderer.kept()
    still, region, person, camera, ball = kept.still, kept.region, kept.person, kept.camera, kept.ball

    def laid(layer: Array | None, beyond: float = 0.0, size: tuple[int, int] = (HEIGHT, WIDTH)) -> Array:
        """A layer of the region in its place in the picture."""
        whole = np.full(size, beyond, np.float16)
        if layer is not None:
            top, left = region.top // 2, region.left // 2
            whole[top : top + layer.shape[0], left : left + layer.shape[1]] = layer
        return whole

    def halved(full: Array) -> Array:
        return np.asarray(full.reshape(len(full) // 2, 2, -1, 2).mean((1, 3), dtype=np.float32))

    columns = slice(region.left // 2, region.right // 2)
    lid, tear = np.zeros((HEIGHT, WIDTH), np.float16), np.zeros(WIDTH, np.float32)
    lid[:, columns], tear[columns] = still.lid, still.tear_gain
    lashes = np.zeros((MOST_LASHES, 6), np.float32)
    rows = [
        (along, length, curl, splay, one.side, thick)
        for one, thick in zip(kept.lashes, (person.lash_px, 1), strict=True)
        for along, length, curl, splay in zip(one.along, one.length_mm, one.curl, one.splay, strict=True)
    ][:MOST_LASHES]
    lashes[: len(rows)] = rows
    leds = np.full((MOST_LEDS, 3), [0.0, 0.0, -1000.0], np.float32)
    leds[: len(camera.leds_mm)] = camera.leds_mm
    margins = kept.margins
    values = {
        **{name: getattr(ball, name) for name in ("cornea_mm", "limbus_mm", "limbus_z_mm", "cornea_z_mm", "iris_z_mm")},
        **{name: getattr(camera, name) for name in ("focal_px", "blur_px", "glint_px", "exposure", "noise_sd")},
        "offset_x_mm": person.pupil_offset_mm[0],
        "offset_y_mm": person.pupil_offset_mm[1],
        "centre_x_px": camera.centre_px[0],
        "centre_y_px": camera.centre_px[1],
        "rest_x_px": kept.rest_px[0],
        "rest_y_px": kept.rest_px[1],
        "quality": camera.quality or 0,
        "window_px": kept.window_px,
    }
    return {
        "picture": halved(still.picture).astype(np.float16),
        "skin": laid(still.skin),
        "haze": laid(still.haze),
        "face_gain": laid(still.face_gain),
        "ball_gain": laid(still.ball_gain),
        "caruncle": laid(still.caruncle),
        "caruncle_value": laid(still.caruncle_value),
        "through": laid(still.through, 1.0) if still.through is not None else np.ones((HEIGHT, WIDTH), np.float16),
        "added": laid(still.added if still.through is not None else None),
        "clear": laid(halved(still.clear)),
        "lid": lid,
        "white": laid(still.white, size=(WHITE_HEIGHT, WHITE_WIDTH)),
        "iris": kept.iris_texture.astype(np.float16),
        "margins": np.stack([margins.upper, margins.lower, margins.crease, margins.tear]).astype(np.float32),
        "tear_gain": tear,
        "inside": np.array([region.left, region.top, region.right, region.bottom], np.float32) / 2,
        "numbers": np.array(
            [values[name] if name in values else getattr(person, name) for name in NUMBERS], np.float32
        ),
        "camera": np.vstack([camera.position_mm, camera.rotation]).astype(np.float32),
        "leds": leds,
        "lashes": lashes,
    }


@dataclass(frozen=True)
class Looks:
    """What eyes do, one row each."""

    plate: Tensor  # (b,) which person and camera
    gaze: Tensor  # (b, 3) unit vectors
    pupil_mm: Tensor  # (b,)
    opening: Tensor  # (b,)
    smear_px: Tensor | None = None  # (b, 2)


@dataclass(frozen=True)
class Pictures:
    """Half-size pictures as grey levels 0 … 255 in float32, and their masks; the full size if asked for."""

    image: Tensor  # (b, H, W)
    mask: Tensor  # (b, H, W) uint8
    pupil_px: Tensor  # (b, 2) centre of the pupil as if it lay on its plane, in full-size pixels
    upper_px: Tensor  # (b, W) where the upper lid's margin crosses each half-size column, in full-size pixels
    lower_px: Tensor


class _Row:
    """Numbers of each picture of a batch, by name, as (b, 1) columns."""

    def __init__(self, numbers: Tensor) -> None:
        self._numbers = numbers

    def __getattr__(self, name: str) -> Tensor:
        return self._numbers[:, _AT[name]].unsqueeze(1)


def render(plates: Plates, looks: Looks, noise: bool = True, step: int = 2) -> Pictures:
    """All pictures of a batch; step 1 gives the full size of 640 × 400, 2 the half."""
    at = looks.plate
    row = _Row(plates.numbers[at])
    eye = _Eye(row, plates.camera[at], looks)
    grid = _Grid(at.device, 2)
    cover, value = _iris(eye, plates.iris[at], grid, looks.smear_px)
    lids = _Lids.of(eye, grid.columns)
    grey = _compose(plates, at, eye, lids, grid, cover, value)
    fine = grid if step == 2 else _Grid(at.device, 1)
    if step == 1:
        grey = functional.interpolate(grey[:, None], scale_factor=2, mode="bilinear")[:, 0]
    mask, upper, lower = _mask(plates, at, eye, lids, fine)
    cornea, mirrored, white = _reflections(eye, plates.leds[at])
    grey = _add_glints(grey, mask, eye, fine, cornea, mirrored, white)
    grey = grey * (1 - _lashes(plates.lashes[at], eye, lids, fine))
    if noise:
        grey = grey + row.noise_sd[:, :, None] * torch.randn_like(grey)
    grey = grey.round().clamp(0, 255)
    if step == 1:
        grey = compressed(grey, row.quality[:, 0])
    return Pictures(grey, mask, eye.pupil_px, upper, lower)


class _Grid:
    """Centres of a picture's pixels, in full-size pixels."""

    def __init__(self, device: torch.device, step: int) -> None:
        self.step = step
        middle = (step - 1) / 2
        self.columns = torch.arange(WIDTH * 2 // step, device=device) * float(step) + middle
        self.rows = torch.arange(HEIGHT * 2 // step, device=device) * float(step) + middle


def _turn(yaw: Tensor, pitch: Tensor) -> Tensor:
    """(b, 3, 3), columns the ball's own axes; see optics.turn."""
    cy, sy, cp, sp = yaw.cos(), yaw.sin(), pitch.cos(), pitch.sin()
    zero = torch.zeros_like(cy)
    rows = [cy, -sy * sp, sy * cp, zero, cp, sp, -sy, -cy * sp, cy * cp]
    return torch.stack(rows, -1).reshape(-1, 3, 3)


class _Eye:
    """How each eye of a batch stands before its camera."""

    def __init__(self, row: _Row, camera: Tensor, looks: Looks) -> None:
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


def _iris(eye: _Eye, texture: Tensor, grid: _Grid, smear_px: Tensor | None) -> tuple[Tensor, Tensor]:
    """(b, H, W) how much of each pixel is not white, and that part's reflectance, blurred."""
    if smear_px is None:
        cover, value = _iris_light(eye, texture, grid, torch.zeros_like(eye.middle_px))
    else:
        seen = [_iris_light(eye, texture, grid, share * smear_px) for share in SHUTTER]
        cover, value = (torch.stack(part).mean(0) for part in zip(*seen, strict=True))
    kernel = _gaussian(eye.row.blur_px / 2, BLUR_TAPS)
    return blurred(cover, kernel), blurred(value, kernel)


def _iris_light(eye: _Eye, texture: Tensor, grid: _Grid, moved_px: Tensor) -> tuple[Tensor, Tensor]:
    row = eye.row
    across, down, limbus = _traced(eye, grid, moved_px)
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


def _traced(eye: _Eye, grid: _Grid, moved_px: Tensor) -> tuple[Tensor, Tensor, Tensor]:
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


def _gaussian(sigma: Tensor, taps: int) -> Tensor:
    """(b, taps) for a spread (b, 1) each."""
    steps = torch.arange(taps, device=sigma.device) - taps // 2
    weights = torch.exp(-(steps**2) / (2 * sigma**2))
    return weights / weights.sum(1, keepdim=True)


def blurred(pictures: Tensor, kernel: Tensor) -> Tensor:
    """Along both axes, each picture with its own kernel."""
    taps = kernel.shape[1]
    reach = taps // 2
    height, width = pictures.shape[1:]
    weights = kernel[:, :, None, None].unbind(1)
    wide = functional.pad(pictures[:, None], (reach, reach, 0, 0), mode="replicate")[:, 0]
    across = sum(weights[k] * wide[:, :, k : k + width] for k in range(taps))
    assert isinstance(across, Tensor)
    tall = functional.pad(across[:, None], (0, 0, reach, reach), mode="replicate")[:, 0]
    down = sum(weights[k] * tall[:, k : k + height] for k in range(taps))
    assert isinstance(down, Tensor)
    return down


@dataclass(frozen=True)
class _Lids:
    """Margins and crease as curves (b, 81, 3) mm and as heights (b, columns) px."""

    upper_mm: Tensor
    lower_mm: Tensor
    upper: Tensor
    lower: Tensor
    crease: Tensor
    beyond: Tensor  # (b, columns) px beyond the corners, negative within

    @staticmethod
    def of(eye: _Eye, columns: Tensor) -> _Lids:
        upper_mm, lower_mm, crease_mm = _lid_curves(eye)
        upper, beyond = _heights(eye, upper_mm, columns)
        lower, _ = _heights(eye, lower_mm, columns)
        crease, _ = _heights(eye, crease_mm, columns)
        return _Lids(upper_mm, lower_mm, upper, lower, crease, beyond)


def _lid_curves(eye: _Eye) -> tuple[Tensor, Tensor, Tensor]:
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


def _heights(eye: _Eye, curve_mm: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """See optics.column_heights."""
    points = eye.project(curve_mm)
    x, y = points[..., 0].contiguous(), points[..., 1]
    wanted = columns[None].expand(len(x), -1).contiguous()
    right = torch.searchsorted(x, wanted).clamp(1, x.shape[1] - 1)
    x0, x1, y0, y1 = x.gather(1, right - 1), x.gather(1, right), y.gather(1, right - 1), y.gather(1, right)
    share = ((wanted - x0) / (x1 - x0).clamp(min=1e-6)).clamp(0, 1)
    return y0 + share * (y1 - y0), torch.maximum(x[:, :1] - wanted, wanted - x[:, -1:])


def _lut(table: Tensor, px: Tensor) -> Tensor:
    """Light by distance from a margin, as eye_skin.Margins keeps it."""
    index = (2 * px + 128).round().clamp(0, 255).long()
    return table.gather(1, index.flatten(1)).view_as(px)


def _compose(plates: Plates, at: Tensor, eye: _Eye, lids: _Lids, grid: _Grid, cover: Tensor, value: Tensor) -> Tensor:
    """Grey levels of ball, lids and skin; see Renderer._compose."""
    rows = grid.rows[None, :, None]
    upper, lower, crease = (
        rows - lids.upper[:, None],
        lids.lower[:, None] - rows,
        rows - lids.crease[:, None],
    )
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


def _eyeball(plates: Plates, at: Tensor, eye: _Eye, cover: Tensor, value: Tensor) -> Tensor:
    """Grey levels of the ball between the lids; its white follows the gaze by whole pixels."""
    margin = skin.SCLERA_MARGIN_PX
    rest = torch.cat([eye.row.rest_x_px, eye.row.rest_y_px], 1)
    moved = (eye.middle_px / 2).floor() - rest / 2  # on even pixels, as the window that eye.py puts around the iris
    shift = margin - moved.clamp(-margin, margin).trunc().long()
    device = cover.device
    y = shift[:, 1, None, None] + torch.arange(HEIGHT, device=device)[None, :, None]
    x = shift[:, 0, None, None] + torch.arange(WIDTH, device=device)[None, None, :]
    flat = (at[:, None, None] * WHITE_HEIGHT + y) * WHITE_WIDTH + x
    white = plates.white.view(-1)[flat].float()
    white = white * (1 - cover) + value
    white = white * (1 - plates.caruncle[at]) + plates.caruncle_value[at]
    return white * plates.ball_gain[at]


def _mask(plates: Plates, at: Tensor, eye: _Eye, lids: _Lids, grid: _Grid) -> tuple[Tensor, Tensor, Tensor]:
    """(b, H, W) 0 background, 1 sclera, 2 iris, 3 pupil, and the margins' heights."""
    rows = grid.rows[None, :, None]
    upper, beyond = (lids.upper, lids.beyond) if grid.step == 2 else _heights(eye, lids.upper_mm, grid.columns)
    lower = lids.lower if grid.step == 2 else _heights(eye, lids.lower_mm, grid.columns)[0]
    seen = (rows >= upper[:, None]) & (rows <= lower[:, None]) & (beyond <= 0)[:, None]
    clear = plates.clear[at] > 0.5
    if grid.step == 1:
        clear = clear.repeat_interleave(2, 1).repeat_interleave(2, 2)
    seen = seen & clear & _in_region(plates.inside[at], 2 // grid.step)
    across, down, limbus = _traced(eye, grid, torch.zeros_like(eye.middle_px))
    iris = (limbus < eye.row.limbus_mm[:, :, None]) & ((lower - upper) >= NARROW_PX)[:, None]
    pupil = iris & (torch.hypot(across, down) < eye.looks.pupil_mm[:, None, None] / 2)
    return (seen * (1 + iris.to(torch.uint8) + pupil.to(torch.uint8))).to(torch.uint8), upper, lower


def _unit(vectors: Tensor) -> Tensor:
    unit: Tensor = vectors / vectors.norm(dim=-1, keepdim=True)
    return unit


NOWHERE_PX = -1e4


def _reflections(eye: _Eye, leds: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """LEDs on the cornea, in the eye's own lens and on the white, (b, n, 2) px; far outside where there is none."""

    def mirror(centre: Tensor, radius: Tensor) -> Tensor:
        camera = eye.position[:, None]
        normal = _unit(camera - centre).expand_as(leds)
        for _ in range(7):
            point = centre + radius * normal
            normal = _unit(_unit(leds - point) + _unit(camera - point))
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


def _add_glints(
    grey: Tensor, mask: Tensor, eye: _Eye, grid: _Grid, cornea: Tensor, lens: Tensor, white: Tensor
) -> Tensor:
    row = eye.row
    eye_shows, pupil_shows = (mask > 0).float(), (mask == PUPIL).float()
    grey = (grey + 620 * _spots(cornea, row.glint_px, grid) * eye_shows).clamp(max=255)
    grey = (grey + 620 * row.lens_shine[:, :, None] * _spots(lens, row.glint_px, grid) * pupil_shows).clamp(max=255)
    rough = 260 * row.exposure[:, :, None] * _spots(white, 1.8 * row.glint_px, grid)
    return (grey + rough * eye_shows).clamp(max=255)


def _spots(places: Tensor, radius: Tensor, grid: _Grid) -> Tensor:
    """The sum of round lights with halos, as products of one row and one column each; see optics.spot."""
    along_x = -(((grid.columns - places[..., :1]) / radius[:, :, None]) ** 2)
    along_y = -(((grid.rows - places[..., 1:]) / radius[:, :, None]) ** 2)
    core = along_y.exp().transpose(1, 2) @ along_x.exp()
    halo = (0.2 * along_y).exp().transpose(1, 2) @ (0.2 * along_x).exp()
    return core + 0.03 * halo


def _lashes(lashes: Tensor, eye: _Eye, lids: _Lids, grid: _Grid) -> Tensor:
    """(b, H, W) how much light the lashes take: points splatted along each, thinner and paler towards the tip."""
    along, length, curl, splay, side, thick = (lashes[..., k] for k in range(6))
    margin = torch.where((side > 0)[..., None], _along(lids.upper_mm, along), _along(lids.lower_mm, along))
    axes = torch.tensor(optics.LID_AXES_MM, dtype=torch.float32, device=lashes.device)
    outward = _unit(margin / axes**2)
    up = torch.tensor([0.0, 1.0, 0.0], device=lashes.device)
    upward = _unit(up - outward * outward[..., 1:2])
    opening = eye.looks.opening[:, None].clamp(0, 1)
    droop = torch.where(side > 0, eye.row.lash_droop + 0.55 * (1 - opening), 0.0)
    share = torch.linspace(0, 1, LASH_POINTS // grid.step, device=lashes.device)
    # eye.py draws straight pieces between 6 points; their corners are kept.
    knots = torch.tensor(optics.LASH_STEPS, dtype=torch.float32, device=lashes.device)
    reach = knots * length[..., None]
    bend = (knots**2 * curl[..., None] - droop[..., None] * knots) * length[..., None] * side[..., None]
    lean = torch.tensor([1.0, 0.0, 0.0], device=lashes.device) * splay[..., None] * 0.5
    path = (
        margin[:, :, None]
        + 0.8 * reach[..., None] * (outward + lean)[:, :, None]
        + bend[..., None] * upward[:, :, None]
    )
    count = lashes.shape[1]
    knots_px = eye.project(path.flatten(1, 2)).view(len(lashes), count, len(knots), 2)
    place = share * (len(knots) - 1)
    first = place.floor().clamp(max=len(knots) - 2).long()
    part = (place - first)[:, None]
    points = knots_px[:, :, first] * (1 - part) + knots_px[:, :, first + 1] * part
    span = (points[:, :, 1:] - points[:, :, :-1]).norm(dim=-1)
    span = torch.cat([span, span[..., -1:]], -1)
    # In eye.py: full black and a pixel wider to the third knot, then 200, then thin and 130.
    level = torch.where(share < 0.4, 1.0, torch.where(share < 0.8, 200 / 255, 130 / 255))
    wider = torch.where(share < 0.4, 1.0, torch.where(share < 0.8, 0.0, -1.0))
    # OpenCV fills 1, 3, 5 and 5 pixels across for a thickness of 1, 2, 3 and 4.
    width = torch.where(thick[..., None] > 0, (2 * (thick[..., None] + wider) - 1).clamp(1.0, 5.0), 0.0)
    amount = level * width * span / grid.step**2
    layer = _splatted(points, amount, grid)
    # A splat is two pixels wide; of those of full size lashes have three, with mascara five.
    sizes = (3, 5) if grid.step == 1 else (1, 3)
    fine, thicker = (functional.avg_pool2d(layer[:, None], size, 1, size // 2)[:, 0] for size in sizes)
    layer = torch.where((thick.amax(1) > 2)[:, None, None], thicker, fine)
    layer = layer.clamp(max=1)
    blur = (0.4 + 0.25 * eye.row.blur_px) / grid.step
    return eye.row.lash_dark[:, :, None] * blurred(layer, _gaussian(blur, 5))


def _along(curve: Tensor, along: Tensor) -> Tensor:
    """Points (b, n, 3) of curves (b, 81, 3) at shares (b, n) of their length."""
    place = along.clamp(0, 1) * (curve.shape[1] - 1)
    low = place.floor().clamp(max=curve.shape[1] - 2)
    index = low.long()[..., None].expand(-1, -1, 3)
    share = (place - low)[..., None]
    return curve.gather(1, index) * (1 - share) + curve.gather(1, index + 1) * share


def _splatted(points: Tensor, amount: Tensor, grid: _Grid) -> Tensor:
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


# The quantisation of luminance in the JPEG standard, at quality 50.
_TABLE = [
    [16, 11, 10, 16, 24, 40, 51, 61],
    [12, 12, 14, 19, 26, 58, 60, 55],
    [14, 13, 16, 24, 40, 57, 69, 56],
    [14, 17, 22, 29, 51, 87, 80, 62],
    [18, 22, 37, 56, 68, 109, 103, 77],
    [24, 35, 55, 64, 81, 104, 113, 92],
    [49, 64, 78, 87, 103, 121, 120, 101],
    [72, 92, 95, 98, 112, 100, 103, 99],
]


def compressed(grey: Tensor, quality: Tensor) -> Tensor:
    """What a JPEG of this quality keeps of pictures (b, H, W); of quality 0 everything."""
    count, height, width = grey.shape
    k = torch.arange(8, device=grey.device, dtype=torch.float32)
    cosines = torch.cos((2 * k[None] + 1) * k[:, None] * torch.pi / 16) / 2
    cosines[0] /= 2**0.5
    scale = torch.where(quality < 50, 5000 / quality.clamp(min=1), 200 - 2 * quality)[:, None, None]
    table = torch.tensor(_TABLE, device=grey.device, dtype=torch.float32)
    steps = ((table * scale + 50) / 100).floor().clamp(1, 255)[:, None, None]
    blocks = grey.view(count, height // 8, 8, width // 8, 8).transpose(2, 3) - 128
    coded = (cosines @ blocks @ cosines.T / steps).round() * steps
    again = (cosines.T @ coded @ cosines).transpose(2, 3).reshape(count, height, width) + 128
    return torch.where((quality > 0)[:, None, None], again.round().clamp(0, 255), grey)
