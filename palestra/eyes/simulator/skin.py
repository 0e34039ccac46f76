"""What stays still between two looks, painted once: skin with its light, brow and folds, and all that lies over it."""

from dataclasses import dataclass

import cv2
import numpy as np

from palestra.eyes.simulator.glasses import cover_of
from palestra.eyes.simulator.layers import (
    HALF_SIZE,
    HEIGHT,
    WIDTH,
    Array,
    Region,
    cut_out,
    enlarged,
    halved,
    noise_bank,
)
from palestra.eyes.simulator.light import MOST_LIGHT, Face, ball_light, face_seen, falloff, vignette
from palestra.eyes.simulator.optics import lids_at
from palestra.eyes.simulator.scene import Camera, Person
from palestra.eyes.simulator.textures import lid_texture, sclera_texture
from palestra.eyes.simulator.vectors import angles_deg

SPECK_SD = 1.9  # oily skin sparkles where it is rougher than this, in its sheen even sooner
MOST_SPARK = 3.0  # what a spark mirrors at most, of what skin scatters
HARD_LIGHT = 0.45  # exposure from which on lights are small and strong
SCLERA_MARGIN_PX = 50  # half-size: how far the white's texture may follow the gaze


def skin_albedo(person: Person, camera: Camera, face: Face, rng: np.random.Generator) -> Array:
    """Skin with blotches, pores, wrinkles and brow hair."""
    grain, fine, mid, coarse = noise_bank()
    size = HALF_SIZE
    rough = 1 + 0.05 * cut_out(coarse, *size, rng) + 0.028 * cut_out(mid, *size, rng)
    rough += person.pores * (cut_out(fine, *size, rng) + 0.8 * cut_out(grain, *size, rng))
    specks = 0.6 * cut_out(fine, *size, rng) + 0.8 * cut_out(grain, *size, rng)
    sheen = enlarged(face.sheen)
    # Dim headsets have broad, even lights, which leave no hard sparks.
    most = MOST_SPARK * min(camera.exposure / HARD_LIGHT, 1.0)
    sparks = np.clip(person.oil * (specks - SPECK_SD + 1.1 * sheen), 0, most)
    rough += sheen * (person.sheen + sparks)
    skin = np.asarray(person.skin_tone * rough * _wrinkles(person, camera, rng), dtype=np.float32)
    skin *= _brow(person, camera, rng)
    # The inner corner and the socket below the eye have thin, darker skin.
    x, y = face.points_mm[..., 0], face.points_mm[..., 1]
    dark = 0.16 * np.exp(-(((x + 15) / 6) ** 2) - ((y - 1) / 7) ** 2) + person.eye_bag * np.exp(
        -((x / 14) ** 2) - ((y + 11) / 3.5) ** 2
    )
    return np.asarray(skin * enlarged(1 - dark))


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
    return 1 - person.brow_dark / 255 * halved(hairs)


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
    lens, fading, cover = vignette(device), falloff(device), cover_of(person, device, rng)
    face = face_seen(person, camera)
    scale = 255 * camera.exposure * lens
    veil = camera.haze * (0.15 + 0.85 * np.minimum(lens * fading, 1.3))  # stray light reaches the corners too
    face_gain = np.clip(fading * enlarged(face.light), 0.05, MOST_LIGHT) * scale
    painted = 0.8 * veil + face_gain * skin_albedo(person, camera, face, rng)
    painted = cv2.GaussianBlur(painted.astype(np.float32), (0, 0), 0.2 * camera.blur_px)
    ball_gain = np.clip(fading * ball_light(camera), 0.05, 3.0) * scale
    rows, columns = len(region.half_rows_px), len(region.half_columns_px)
    caruncle, caruncle_value = _caruncle(person, camera, region, rng)
    through = np.ones(HALF_SIZE, np.float32) if cover is None else cover.through
    added = np.zeros(HALF_SIZE, np.float32) if cover is None else cover.added
    picture = cv2.convertScaleAbs(painted * through + added)
    clear = (cv2.resize(through, (WIDTH, HEIGHT)) > 0.4).astype(np.uint8)
    return Still(
        picture=cv2.resize(picture, (WIDTH, HEIGHT), interpolation=cv2.INTER_LINEAR),
        skin=np.ascontiguousarray(painted[region.half]),
        haze=np.ascontiguousarray(veil[region.half], dtype=np.float32),
        face_gain=np.ascontiguousarray(face_gain[region.half], dtype=np.float32),
        ball_gain=np.asarray(ball_gain[region.half] * _corner_shade(person, camera, region), dtype=np.float32),
        lid=lid_texture(person, HALF_SIZE[0], columns, rng),
        white=sclera_texture(person, rows + 2 * SCLERA_MARGIN_PX, columns + 2 * SCLERA_MARGIN_PX, rng),
        caruncle=caruncle,
        caruncle_value=caruncle_value,
        tear_gain=_tear_line(camera, columns, rng),
        through=None if cover is None else np.ascontiguousarray(through[region.half]),
        added=np.ascontiguousarray(added[region.half]),
        clear=np.ascontiguousarray(clear[region.full]),
    )


def _tear_line(camera: Camera, columns: int, rng: np.random.Generator) -> Array:
    """Grey levels of the water along the lower lid: a thin uneven line, with sparks where it mirrors an LED."""
    uneven = np.abs(cv2.GaussianBlur(rng.standard_normal((1, columns)).astype(np.float32), (0, 0), 6.0))[0]
    sparks = int(rng.integers(0, 1 + len(camera.leds_mm) * 2 // 3))
    place, width = rng.uniform(0.1, 0.9, sparks) * columns, rng.uniform(0.6, 3.0, sparks)
    level = 400 * rng.uniform(0.1, 1.0, sparks) * np.sqrt(camera.exposure)
    shapes = np.exp(-(((np.arange(columns)[:, None] - place) / width) ** 2))
    return np.asarray(110 * camera.exposure * uneven / uneven.max() + shapes @ level, dtype=np.float32)


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
