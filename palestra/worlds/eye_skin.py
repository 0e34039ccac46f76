"""What stays still between two looks: light, skin, brow, glasses, and the textures of iris, sclera and lids.

Still layers have half the picture's size: the focus blur leaves nothing finer. A half-size pixel i covers the pixels
2i and 2i + 1, so its centre lies at 2i + 0.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import numpy.typing as npt

from palestra.worlds.eye_optics import GLASSES_Z_MM, LID_AXES_MM, angles_deg, lids_at, unit

if TYPE_CHECKING:  # the records import this module
    from palestra.worlds.eye_scene import Camera, Person

Array = npt.NDArray[Any]

HEIGHT, WIDTH = 400, 640
HALF_SIZE = HEIGHT // 2, WIDTH // 2
CELL_PX = 10  # light and relief are smooth: they are computed on a coarse grid and enlarged
IRIS_RINGS, IRIS_SPOKES = 64, 512
BANK = 1024
MOST_LIGHT = 5.0
SCLERA_MARGIN_PX = 50  # half-size: how far the white's texture may follow the gaze


@lru_cache(maxsize=1)
def noise_bank() -> tuple[Array, Array, Array, Array]:
    """Tiles of unit noise: grain, then ever softer blotches. The same for all; people take different cut-outs."""
    rng = np.random.default_rng(20200525)
    grain = rng.standard_normal((BANK, BANK), dtype=np.float32)
    tiles = [grain]
    for size, sigma in ((BANK, 1.5), (BANK // 4, 1.5), (BANK // 16, 1.5)):
        tile: Array = rng.standard_normal((size, size), dtype=np.float32)
        tile = cv2.resize(cv2.GaussianBlur(tile, (0, 0), sigma), (BANK, BANK), interpolation=cv2.INTER_CUBIC)
        tiles.append(((tile - tile.mean()) / tile.std()).astype(np.float32))
    return tiles[0], tiles[1], tiles[2], tiles[3]


def cut_out(tile: Array, height: int, width: int, rng: np.random.Generator) -> Array:
    """A random part of a tile, mirrored at random."""
    top, left = rng.integers(0, BANK - height + 1), rng.integers(0, BANK - width + 1)
    part = tile[top : top + height, left : left + width]
    return part[:: 1 - 2 * int(rng.integers(2)), :: 1 - 2 * int(rng.integers(2))]


def _coarse_pixels() -> Array:
    """Centres of the coarse grid's cells, placed where cv2.resize expects them."""
    x = (np.arange(WIDTH // CELL_PX) + 0.5) * CELL_PX - 0.5
    y = (np.arange(HEIGHT // CELL_PX) + 0.5) * CELL_PX - 0.5
    return np.stack(np.meshgrid(x, y), axis=-1)


def _enlarged(coarse: Array) -> Array:
    return np.asarray(cv2.resize(coarse.astype(np.float32), HALF_SIZE[::-1], interpolation=cv2.INTER_CUBIC))


def _halved(picture: Array) -> Array:
    return np.asarray(cv2.resize(picture, HALF_SIZE[::-1], interpolation=cv2.INTER_AREA).astype(np.float32))


def light_on(camera: Camera, points_mm: Array, normals: Array) -> Array:
    """Light that falls on a surface from all LEDs, 1 on a forward-facing spot before the eye."""

    def received(points: Array, facing: Array) -> Array:
        to_led = camera.leds_mm - points[..., None, :]
        distance = np.sqrt((to_led**2).sum(-1))
        cosine = np.maximum((to_led * facing[..., None, :]).sum(-1) / distance, 0)
        # Headset LEDs are broad and many surfaces send light back, so light wraps a little around edges.
        return np.asarray((camera.led_power * (0.2 + 0.8 * cosine) / distance**2).sum(-1))

    reference = received(np.array([0.0, 0.0, 12.0]), np.array([0.0, 0.0, 1.0]))
    # A light that all but touches the skin burns it out; more than that would ring when the grid is enlarged.
    return np.minimum(received(points_mm, normals) / reference, MOST_LIGHT)


def _face_depth(person: Person, x_mm: Array, y_mm: Array) -> Array:
    """Z of the face: the lids' bulge in a socket between brow, nose and cheek."""
    bulge = 8.0 * np.exp(-((x_mm / 13.0) ** 2) - (y_mm / 9.5) ** 2)
    brow = person.brow_relief_mm * np.exp(-(((y_mm - person.brow_mm) / 7.0) ** 2))
    nose = 13.0 / (1 + np.exp((x_mm + 21.0) / 3.0))
    cheek = 8.0 / (1 + np.exp((y_mm + 15.5) / 2.8))
    temple = 1.4 * np.logaddexp(0, (x_mm - 12.0) / 4.0)
    return np.asarray(5.0 + bulge + brow + nose + cheek - temple)


@dataclass(frozen=True)
class Face:
    """The face as the camera meets it, on the coarse grid."""

    points_mm: Array
    light: Array


def face_seen(person: Person, camera: Camera) -> Face:
    rays = camera.rays(_coarse_pixels())
    depth = np.full(rays.shape[:2], 10.0)
    for _ in range(4):  # along each ray, towards the depth that the face has there
        points = camera.position_mm + ((depth - camera.position_mm[2]) / rays[..., 2])[..., None] * rays
        depth = 0.5 * depth + 0.5 * _face_depth(person, points[..., 0], points[..., 1])
    x, y = points[..., 0], points[..., 1]
    depth = _face_depth(person, x, y)
    slope_x = _face_depth(person, x + 0.4, y) - _face_depth(person, x - 0.4, y)
    slope_y = _face_depth(person, x, y + 0.4) - _face_depth(person, x, y - 0.4)
    normals = unit(np.stack([-slope_x / 0.8, -slope_y / 0.8, np.ones_like(x)], axis=-1))
    surface = np.stack([x, y, depth], axis=-1)
    hollow = cv2.GaussianBlur(depth, (0, 0), 4.0) - depth
    return Face(surface, light_on(camera, surface, normals) * (1 - np.clip(hollow * 0.14, -0.1, 0.5)))


def ball_light(camera: Camera) -> Array:
    """Light on the ball for every pixel. It is lit as the lids' ellipsoid, which reaches to both corners."""
    origin, rays = camera.position_mm / LID_AXES_MM, camera.rays(_coarse_pixels()) / LID_AXES_MM
    square, along = (rays**2).sum(-1), rays @ origin
    inside = along**2 - square * (origin @ origin - 1)
    points = origin + ((-along - np.sqrt(np.maximum(inside, 0))) / square)[..., None] * rays
    light = light_on(camera, points * LID_AXES_MM, unit(points / LID_AXES_MM))
    return _enlarged(cv2.GaussianBlur(light, (0, 0), 1.0))


def vignette(camera: Camera) -> Array:
    """What the lens lets through towards the corners, and nothing beyond the device's own rim."""
    x, y = np.moveaxis(_coarse_pixels(), -1, 0)
    far = np.hypot((x - camera.vignette_px[0]) / 377, (y - camera.vignette_px[1]) / 377)
    ramp = np.clip((far - camera.vignette_start) / (1.05 - camera.vignette_start), 0, 1)
    return _enlarged(1 - camera.vignette_depth * ramp**2 * (3 - 2 * ramp))


def rim_shadow(camera: Camera) -> Array | None:
    """How much of each pixel the device's rim leaves, 1 … 0, or None where no rim is in view."""
    if camera.rim_px is None:
        return None
    clear = np.zeros((HEIGHT, WIDTH), np.uint8)
    x, y, radius = (round(value) for value in camera.rim_px)
    cv2.circle(clear, (x, y), radius, 255, -1)
    return _halved(cv2.GaussianBlur(clear, (0, 0), 3.0)) / 255


def skin_albedo(person: Person, camera: Camera, face: Face, rng: np.random.Generator) -> Array:
    """Skin with blotches, pores, wrinkles and brow hair."""
    grain, fine, mid, coarse = noise_bank()
    size = HALF_SIZE
    rough = 1 + 0.05 * cut_out(coarse, *size, rng) + 0.028 * cut_out(mid, *size, rng)
    rough += person.pores * (cut_out(fine, *size, rng) + 0.35 * cut_out(grain, *size, rng))
    rough += person.oil * np.maximum(cut_out(fine, *size, rng) - 2.1, 0)
    skin = np.asarray(person.skin_tone * rough * _wrinkles(person, camera, rng), dtype=np.float32)
    skin *= _brow(person, camera, rng)
    # The inner corner and the socket below the eye have thin, darker skin.
    x, y = face.points_mm[..., 0], face.points_mm[..., 1]
    dark = 0.16 * np.exp(-(((x + 15) / 6) ** 2) - ((y - 1) / 7) ** 2) + person.eye_bag * np.exp(
        -((x / 14) ** 2) - ((y + 11) / 3.5) ** 2
    )
    return np.asarray(skin * _enlarged(1 - dark))


def _wrinkles(person: Person, camera: Camera, rng: np.random.Generator) -> Array:
    """Thin dark lines: crow's feet at the temple, arcs below the eye."""
    lines = np.zeros(HALF_SIZE, np.uint8)
    strength = rng.uniform(40, 130)
    for index in range(person.wrinkles):
        sweep = np.linspace(0, 1, 12)
        if index % 2:  # temple
            angle = np.radians(rng.uniform(-40, 35))
            reach = rng.uniform(5, 12)
            x_mm = 14.5 + rng.uniform(0, 3) + sweep * reach * np.cos(angle)
            y_mm = 1.0 + sweep * reach * np.sin(angle) + rng.uniform(-1, 1) * sweep**2
        else:
            begin, width = rng.uniform(-13, -6), rng.uniform(8, 18)
            x_mm = begin + sweep * width
            y_mm = -person.lower_mm - rng.uniform(2.0, 7.0) - rng.uniform(0, 2) * np.sin(np.pi * sweep)
        path = camera.project(np.stack([x_mm, y_mm, np.full(12, 9.0)], axis=-1))
        cv2.polylines(lines, [np.round(path * 4).astype(np.int32)], False, strength * rng.uniform(0.4, 1), 1, 8, 3)
    return 1 - cv2.GaussianBlur(lines, (0, 0), 1.2).astype(np.float32) * (0.55 / 255)


def _brow(person: Person, camera: Camera, rng: np.random.Generator) -> Array:
    """What the brow's hair leaves of the light."""
    hairs = np.zeros((HEIGHT, WIDTH), np.uint8)
    count = 480
    x_mm = rng.uniform(-18, 22, count)
    y_mm = person.brow_mm + 1.5 - 0.012 * (x_mm - 2) ** 2 + rng.normal(0, 1.5, count)
    lean = np.stack([rng.uniform(0.8, 3.0, count), rng.uniform(-0.2, 1.6, count)], axis=-1)
    root = np.stack([x_mm, y_mm, np.full(count, 13.0)], axis=-1)
    tip = root + np.pad(lean, ((0, 0), (0, 1)))
    ends = np.round(camera.project(np.stack([root, tip], axis=1)) * 8).astype(np.int32)
    cv2.polylines(hairs, list(ends), False, 255, 1, cv2.LINE_8, 3)
    return 1 - person.brow_dark / 255 * _halved(hairs)


def iris_texture(person: Person, rng: np.random.Generator) -> Array:
    """Near-infrared iris, rings × spokes from the pupil's edge to the limbus: fibres, collarette, crypts."""
    _, fine, mid, coarse = noise_bank()
    size = (IRIS_RINGS, IRIS_SPOKES)
    ring = np.linspace(0, 1, IRIS_RINGS, dtype=np.float32)[:, None]
    fibres = cv2.resize(cut_out(fine, 8, IRIS_SPOKES, rng), size[::-1], interpolation=cv2.INTER_CUBIC)
    fibres = 0.7 * fibres + 0.6 * cv2.resize(cut_out(mid, 40, IRIS_SPOKES, rng), size[::-1])
    crypts = np.minimum(cut_out(mid, *size, rng) + 0.9, 0) * np.exp(-(((ring - 0.45) / 0.28) ** 2))
    blotch = cut_out(coarse, *size, rng)
    wave = person.collarette + 0.05 * blotch[IRIS_RINGS // 2]
    collarette = np.exp(-(((ring - wave) / 0.09) ** 2)) - 0.5 * np.exp(-(((ring - wave + 0.16) / 0.1) ** 2))
    value = 1 + person.iris_contrast * (0.55 * fibres + 0.8 * crypts + 0.55 * collarette + 0.35 * blotch)
    value *= 1 - 0.12 * np.exp(-ring / 0.05) - person.limbus_dark * np.clip((ring - 0.72) / 0.28, 0, 1) ** 2
    seam = np.minimum(np.arange(IRIS_SPOKES), np.arange(IRIS_SPOKES)[::-1]) / 24  # the last spoke meets the first
    blend = np.clip(0.5 + 0.5 * seam, 0, 1).astype(np.float32)
    value = blend * value + (1 - blend) * value[:, ::-1]
    value = np.concatenate([value, value[:, :1]], axis=1)  # so that interpolation may run over the seam
    return np.asarray(np.clip(value, 0.25, 2.2) * person.iris_tone, dtype=np.float32)


def sclera_texture(person: Person, height: int, width: int, rng: np.random.Generator) -> Array:
    """White of the eye with blotches and vessels that creep in from both sides."""
    _, _, mid, coarse = noise_bank()
    value = 1 + 0.06 * cut_out(coarse, height, width, rng) + 0.02 * cut_out(mid, height, width, rng)
    vessels = np.zeros((height, width), np.uint8)
    for index in range(person.vessels):
        from_left = index % 2 == 0
        steps = rng.normal(0, 2, (9, 2)) + [rng.uniform(4, 9) * (1 if from_left else -1), 0]
        start = [rng.uniform(-0.1, 0.15) * width if from_left else rng.uniform(0.85, 1.1) * width]
        path = np.cumsum(steps, axis=0) + [start[0], rng.uniform(0.2, 0.8) * height]
        cv2.polylines(vessels, [np.round(path * 8).astype(np.int32)], False, int(rng.integers(60, 255)), 1, 8, 3)
    soft = cv2.GaussianBlur(vessels, (0, 0), 0.9).astype(np.float32) / 255
    return np.asarray(person.sclera_tone * value * (1 - 0.28 * soft), dtype=np.float32)


def lid_texture(person: Person, height: int, width: int, rng: np.random.Generator) -> Array:
    """Skin of the upper lid, row 0 at its margin: smooth, with fine creases along the lid."""
    grain, fine, mid, coarse = noise_bank()
    along = cv2.resize(cut_out(fine, height, max(2, width // 10), rng), (width, height), interpolation=cv2.INTER_LINEAR)
    value = 1 + 0.05 * cut_out(coarse, height, width, rng) + 0.035 * cut_out(mid, height, width, rng)
    value += person.pores * (1.2 * along + 0.8 * cut_out(fine, height, width, rng))
    value += 0.25 * person.pores * cut_out(grain, height, width, rng)
    return np.asarray(person.skin_tone * value, dtype=np.float32)


@dataclass(frozen=True)
class Spectacles:
    """What glasses lay over the picture."""

    through: Array  # 1 where the lens is clear, less under the frame
    added: Array  # grey levels of reflections and of the frame's own shine


def spectacles(person: Person, camera: Camera, rng: np.random.Generator) -> Spectacles | None:
    if person.glasses is None:
        return None
    through = np.full((HEIGHT, WIDTH), 255, np.uint8)
    shine = np.zeros((HEIGHT, WIDTH), np.uint8)
    rim = person.glasses
    turn = np.linspace(0, 2 * np.pi, 97)
    corner = np.abs(np.cos(turn)) ** rim.squareness, np.abs(np.sin(turn)) ** rim.squareness
    x_mm = rim.centre_mm[0] + np.sign(np.cos(turn)) * corner[0] * rim.half_mm[0]
    y_mm = rim.centre_mm[1] + np.sign(np.sin(turn)) * corner[1] * rim.half_mm[1]
    path = camera.project(np.stack([x_mm, y_mm, np.full(97, GLASSES_Z_MM)], axis=-1))
    outline = np.round(np.clip(path, -4000, 4000) * 8).astype(np.int32)
    cv2.polylines(through, [outline], True, 0, rim.thick_px, cv2.LINE_AA, 3)
    highlight = outline + np.array([8, -round(rim.thick_px * 2.4)], np.int32)
    cv2.polylines(shine, [highlight], True, round(rim.shine), max(2, rim.thick_px // 5), cv2.LINE_AA, 3)
    _draw_lens_reflections(shine, person, camera, rng)
    clear = _halved(cv2.GaussianBlur(through, (0, 0), 1.2 + 0.5 * camera.blur_px)) / 255
    return Spectacles(0.05 + 0.9 * clear, _halved(cv2.GaussianBlur(shine, (0, 0), 1.3)))


def _draw_lens_reflections(shine: Array, person: Person, camera: Camera, rng: np.random.Generator) -> None:
    """A lens mirrors the LEDs like a slightly tilted plane: a row of spots drawn out along one direction."""
    assert person.glasses is not None
    normal = unit(np.array([*person.glasses.tilt, 1.0]))
    plane_mm = np.array([0.0, 0.0, GLASSES_Z_MM])
    behind = camera.leds_mm - 2 * ((camera.leds_mm - plane_mm) @ normal)[:, None] * normal
    streak = rng.normal(0, 5, 2) + [6, 0]
    for spot, power in zip(camera.project(behind), camera.led_power, strict=True):
        if np.abs(spot).max() > 2000 or rng.random() > 0.75:
            continue
        for _ in range(int(rng.integers(1, 3))):  # front and back of the lens
            start = spot + rng.normal(0, 6, 2)
            ends = np.round(np.stack([start - streak, start + streak]) * 8).astype(np.int32)
            level = int(np.clip(rng.uniform(120, 320) * power, 40, 255))
            cv2.polylines(shine, [ends], False, level, int(rng.integers(2, 6)), cv2.LINE_AA, 3)


@dataclass(frozen=True)
class Region:
    """The part of the picture that lids, lashes and gaze can change, on even pixels."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def full(self) -> tuple[slice, slice]:
        return slice(self.top, self.bottom), slice(self.left, self.right)

    @property
    def half(self) -> tuple[slice, slice]:
        return slice(self.top // 2, self.bottom // 2), slice(self.left // 2, self.right // 2)

    @property
    def half_columns_px(self) -> Array:
        return np.arange(self.left, self.right, 2) + 0.5

    @property
    def half_rows_px(self) -> Array:
        return (np.arange(self.top, self.bottom, 2, dtype=np.float32) + np.float32(0.5))[:, None]


@dataclass(frozen=True)
class Still:
    """All that does not move: the whole picture, and half-size layers of the region."""

    picture: Array  # (400, 640) uint8, right everywhere outside the region
    skin: Array  # grey levels
    haze: Array  # grey levels that a black surface has
    face_gain: Array  # grey levels per reflectance on the lids
    ball_gain: Array  # … and between them
    lid: Array  # reflectance of the upper lid, row 0 at its margin
    white: Array  # reflectance of the sclera, with a margin of SCLERA_MARGIN_PX
    caruncle: Array  # how much of each pixel it takes
    caruncle_value: Array
    tear_gain: Array  # (columns,) grey levels of the tear line
    through: Array | None  # what glasses and the device's rim leave, None where there are none
    added: Array
    clear: Array  # uint8, full size: 0 where a frame or rim hides the eye


def paint_still(person: Person, device: Camera, camera: Camera, region: Region, rng: np.random.Generator) -> Still:
    """The device as it is draws what is before the eye; as it sees through glasses, what is behind them."""
    lens, glasses, rim = vignette(device), spectacles(person, device, rng), rim_shadow(device)
    face = face_seen(person, camera)
    scale = 255 * camera.exposure
    face_gain = lens * np.clip(_enlarged(face.light), 0.05, MOST_LIGHT) * scale
    painted = 0.8 * camera.haze * lens + face_gain * skin_albedo(person, camera, face, rng)
    painted = cv2.GaussianBlur(painted.astype(np.float32), (0, 0), 0.2 * camera.blur_px)
    ball_gain = lens * np.clip(ball_light(camera), 0.05, 3.0) * scale
    rows, columns = len(region.half_rows_px), len(region.half_columns_px)
    tear = np.abs(cv2.GaussianBlur(rng.standard_normal((1, columns)).astype(np.float32), (0, 0), 6.0))
    caruncle, caruncle_value = _caruncle(person, camera, region, rng)
    through = np.ones(HALF_SIZE, np.float32) if glasses is None else glasses.through
    added = np.zeros(HALF_SIZE, np.float32) if glasses is None else glasses.added
    if rim is not None:
        through, added = through * rim, added * rim + 6 * (1 - rim)
    picture = cv2.convertScaleAbs(painted * through + added)
    clear = (cv2.resize(through, (WIDTH, HEIGHT)) > 0.4).astype(np.uint8)
    return Still(
        picture=cv2.resize(picture, (WIDTH, HEIGHT), interpolation=cv2.INTER_LINEAR),
        skin=np.ascontiguousarray(painted[region.half]),
        haze=np.ascontiguousarray(camera.haze * lens[region.half], dtype=np.float32),
        face_gain=np.ascontiguousarray(face_gain[region.half], dtype=np.float32),
        ball_gain=np.asarray(ball_gain[region.half] * _corner_shade(person, camera, region), dtype=np.float32),
        lid=lid_texture(person, HALF_SIZE[0], columns, rng),
        white=sclera_texture(person, rows + 2 * SCLERA_MARGIN_PX, columns + 2 * SCLERA_MARGIN_PX, rng),
        caruncle=caruncle,
        caruncle_value=caruncle_value,
        tear_gain=tear / tear.max() * 110 * camera.exposure,
        through=None if rim is None and glasses is None else np.ascontiguousarray(through[region.half]),
        added=np.ascontiguousarray(added[region.half]),
        clear=np.ascontiguousarray(clear[region.full]),
    )


def _corner_shade(person: Person, camera: Camera, region: Region) -> Array:
    """Both corners lie deep between the lids."""
    lids = lids_at(person, 0.0, 1.0)
    shade = np.ones((len(region.half_rows_px), len(region.half_columns_px)))
    for corner, depth in ((lids.lower_mm[0], 0.2), (lids.lower_mm[-1], 0.4)):
        x, y = camera.project(corner)
        far = ((region.half_columns_px - x) / 42) ** 2 + ((region.half_rows_px - y) / 34) ** 2
        shade *= 1 - depth * np.exp(-far)
    return shade


def _caruncle(person: Person, camera: Camera, region: Region, rng: np.random.Generator) -> tuple[Array, Array]:
    """A knob of flesh in the nasal corner, and the fold beside it: its cover and its reflectance."""
    lids = lids_at(person, 0.0, 1.0)
    margin = camera.project((lids.lower_mm + lids.upper_mm) / 2)
    x, y = margin[7]
    across = max(12.0, float(margin[13, 0] - margin[2, 0]) * 0.5)
    far = np.hypot((region.half_columns_px - x) / across, (region.half_rows_px - y) / (0.8 * across))
    bumps = cut_out(noise_bank()[2], far.shape[0], far.shape[1], rng)
    cover = np.clip(2.2 - 2.0 * far, 0, 1).astype(np.float32)
    shape = (1.05 - 0.3 * np.clip(far, 0, 1.2) ** 2) * (1 + 0.1 * bumps) + 0.35 * np.exp(
        -(((region.half_columns_px - x + 3) / 5) ** 2) - ((region.half_rows_px - y + 4) / 4) ** 2
    )
    fold = 0.2 * np.exp(-(((far - 1.0) / 0.12) ** 2))
    return cover, np.asarray(0.95 * person.skin_tone * (shape - fold) * cover, dtype=np.float32)


@dataclass(frozen=True)
class Margins:
    """Light by distance from each margin, at half pixels from -64 to 63.5 (negative: on the skin above or below)."""

    upper: Array
    lower: Array
    crease: Array
    tear: Array


def shade_margins(person: Person, camera: Camera) -> Margins:
    px = (np.arange(256) - 128) / 2
    on_skin, in_eye = np.maximum(-px, 0), np.maximum(px, 0)
    from_below = float(np.clip(-angles_deg(camera.position_mm)[1] / 25, 0, 1))

    def soft(skin: Array, eye: Array) -> Array:
        sigma = 0.9 * camera.blur_px  # in half pixels: the lids are nearer and sharper than the pupil
        values = np.where(px < 0, skin, eye).astype(np.float32)[None]
        return np.asarray(cv2.GaussianBlur(values, (0, 0), sigma, borderType=cv2.BORDER_REPLICATE)[0])

    edge = 3 + 5 * from_below  # how much of the upper lid's thickness is seen
    roots = min(0.12 + 0.3 * person.lash_dark + 0.5 * person.liner, 0.8)
    upper = 1 + 0.1 * (on_skin < edge) - roots * np.exp(-(((on_skin - edge - 2) / 4) ** 2))
    upper *= 1 - 0.12 * np.exp(-on_skin / 25)
    shadow = 1 - person.lid_shadow * np.exp(-in_eye / 16) - 0.3 * np.exp(-in_eye / 3)
    wet = 12 - 5 * from_below  # the lower lid's bare rim
    lower = 1 + 0.16 * np.exp(-(((on_skin - wet / 2) / (wet / 2)) ** 4))
    lower -= (0.06 + 0.1 * person.lash_dark + 0.4 * person.liner) * np.exp(-(((on_skin - wet - 4) / 6) ** 2))
    lower -= 0.1 * np.exp(-(((on_skin - 42) / 9) ** 2))
    return Margins(
        upper=soft(upper, shadow),
        lower=soft(lower, 1 - 0.3 * np.exp(-in_eye / 5)),
        crease=soft(
            1 + 0.18 * person.crease_depth * np.exp(-on_skin / 16), 1 - person.crease_depth * np.exp(-in_eye / 8)
        ),
        tear=np.where(px > 0, np.exp(-(((px - 2) / 2.2) ** 2)), 0).astype(np.float32),
    )
