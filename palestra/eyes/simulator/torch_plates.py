"""What stays still of people before cameras: painted by renderer.py, kept on a device for torch_renderer.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from palestra.eyes.simulator.layers import HALF_SIZE, Array, Region
from palestra.eyes.simulator.renderer import Kept, Renderer
from palestra.eyes.simulator.skin import SCLERA_MARGIN_PX

HEIGHT, WIDTH = HALF_SIZE  # a batch is composed at half size, as a single picture is
WHITE_HEIGHT, WHITE_WIDTH = HEIGHT + 2 * SCLERA_MARGIN_PX, WIDTH + 2 * SCLERA_MARGIN_PX
MOST_LEDS = 20
MOST_LASHES = 160

# What a picture's geometry and light depend on, one number each.
NUMBERS = (
    *("eyeball_mm", "cornea_mm", "limbus_mm", "limbus_z_mm", "cornea_z_mm", "iris_z_mm"),
    *("offset_x_mm", "offset_y_mm", "kappa_h_deg", "kappa_v_deg", "fissure_mm", "corner_shift_mm", "tilt_deg"),
    *("upper_mm", "lower_mm", "upper_peak", "lower_peak", "crease_mm", "lash_dark", "lash_droop"),
    *("focal_px", "centre_x_px", "centre_y_px", "blur_px", "glint_px", "exposure", "noise_sd", "quality"),
    *("rest_x_px", "rest_y_px", "contact_lens_mm", "sclera_tone", "lens_shine", "window_px"),
)


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


def plates_of(renderers: Sequence[Renderer]) -> Plates:
    """Take over what each renderer has painted."""
    return stack([plate_of(renderer) for renderer in renderers])


def stack(plates: Sequence[dict[str, Array]]) -> Plates:
    """Plates as `plate_of` gives them, which other processes may have painted."""
    return Plates(**{name: torch.from_numpy(np.stack([plate[name] for plate in plates])) for name in plates[0]})


def plate_of(renderer: Renderer) -> dict[str, Array]:
    """One renderer's layers, laid into the whole picture, and its numbers."""
    kept = renderer.kept()
    camera, region, margins = kept.camera, kept.region, kept.margins
    return {
        **_layers(kept),
        "iris": kept.iris_texture.astype(np.float16),
        "margins": np.stack([margins.upper, margins.lower, margins.crease, margins.tear]).astype(np.float32),
        "inside": np.array([region.left, region.top, region.right, region.bottom], np.float32) / 2,
        "numbers": _numbers(kept),
        "camera": np.vstack([camera.position_mm, camera.rotation]).astype(np.float32),
        "leds": _filled(camera.leds_mm, MOST_LEDS, [0.0, 0.0, -1000.0]),
        "lashes": _filled(_lash_rows(kept), MOST_LASHES, [0.0] * 6),
    }


def _layers(kept: Kept) -> dict[str, Array]:
    still, region = kept.still, kept.region
    columns = slice(region.left // 2, region.right // 2)
    lid, tear = np.zeros((HEIGHT, WIDTH), np.float16), np.zeros(WIDTH, np.float32)
    lid[:, columns], tear[columns] = still.lid, still.tear_gain
    names = ("skin", "haze", "face_gain", "ball_gain", "caruncle", "caruncle_value")
    covered = still.through is not None
    return {
        **{name: _laid(getattr(still, name), region) for name in names},
        "picture": _halved(still.picture).astype(np.float16),
        "through": _laid(still.through, region, beyond=1.0),
        "added": _laid(still.added if covered else None, region),
        "clear": _laid(_halved(still.clear), region),
        "white": _laid(still.white, region, size=(WHITE_HEIGHT, WHITE_WIDTH)),
        "lid": lid,
        "tear_gain": tear,
    }


def _laid(layer: Array | None, region: Region, beyond: float = 0.0, size: tuple[int, int] = (HEIGHT, WIDTH)) -> Array:
    """A layer of the region in its place in the picture."""
    whole = np.full(size, beyond, np.float16)
    if layer is not None:
        top, left = region.top // 2, region.left // 2
        whole[top : top + layer.shape[0], left : left + layer.shape[1]] = layer
    return whole


def _halved(full: Array) -> Array:
    return np.asarray(full.reshape(len(full) // 2, 2, -1, 2).mean((1, 3), dtype=np.float32))


def _filled(rows: Array, count: int, missing: list[float]) -> Array:
    """As many rows as all have, so that they can be stacked."""
    filled = np.full((count, len(missing)), missing, np.float32)
    filled[: len(rows)] = rows[:count]
    return filled


def _lash_rows(kept: Kept) -> Array:
    sides = [
        np.stack(
            [
                one.along,
                one.length_mm,
                one.curl,
                one.splay,
                *np.broadcast_to([[one.side], [thick]], (2, len(one.along))),
            ],
            1,
        )
        for one, thick in zip(kept.lashes, (kept.person.lash_px, 1), strict=True)
    ]
    return np.concatenate(sides)


def _numbers(kept: Kept) -> Array:
    person, camera, ball = kept.person, kept.camera, kept.ball
    values = {
        **{name: getattr(ball, name) for name in ("cornea_mm", "limbus_mm", "limbus_z_mm", "cornea_z_mm", "iris_z_mm")},
        **{name: getattr(camera, name) for name in ("focal_px", "blur_px", "glint_px", "exposure", "noise_sd")},
        **dict(zip(("offset_x_mm", "offset_y_mm"), person.pupil_offset_mm, strict=True)),
        **dict(zip(("centre_x_px", "centre_y_px"), camera.centre_px, strict=True)),
        **dict(zip(("rest_x_px", "rest_y_px"), kept.rest_px, strict=True)),
        "quality": camera.quality or 0,
        "window_px": kept.window_px,
    }
    return np.array([values[name] if name in values else getattr(person, name) for name in NUMBERS], np.float32)
