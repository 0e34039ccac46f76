"""A near-infrared close-up of an eye, 640 × 400 grey, with its exact mask: what a headset's camera would see.

The canonical eye is the left one, nasal corner at the image's left. For a right eye mirror the gaze, render, and flip
the picture. Axes are the headset's: origin at the eyeball's centre, X to the person's left, Y up, Z out of the face.
"""

from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from palestra.worlds import eye_optics as optics
from palestra.worlds import eye_skin as skin
from palestra.worlds.people import Profile

Array = npt.NDArray[Any]
Ellipse = tuple[float, float, float, float, float]  # centre x, centre y, long axis, short axis (px), angle (deg)

HEIGHT, WIDTH = skin.HEIGHT, skin.WIDTH
BACKGROUND, SCLERA, IRIS, PUPIL = 0, 1, 2, 3
TRACE_PX = 8  # spacing of the rays that are traced through the cornea; between them the map is smooth
NARROW_PX = 5.0  # a gap below this shows lashes and tears, not an iris


@dataclass(frozen=True)
class Glasses:
    """A pair of glasses as worn before this eye."""

    centre_mm: tuple[float, float]
    half_mm: tuple[float, float]  # half width and half height of the lens
    squareness: float  # exponent of the outline: 1 is an ellipse, less is squarer
    thick_px: int
    shine: float  # grey level of the light along the frame
    tilt: tuple[float, float]  # slope of the lens in x and y, which decides where it mirrors the LEDs


@dataclass(frozen=True)
class Person:
    """An eye and what is around it. Tones are near-infrared reflectances between 0 and 1."""

    profile: Profile
    eyeball_mm: float  # radius
    cornea_mm: float  # radius of curvature
    iris_mm: float  # diameter
    pupil_mm: float  # diameter at rest in a dim headset
    pupil_offset_mm: tuple[float, float]  # of the pupil's centre on the iris
    kappa_h_deg: float  # visual axis nasal of the optical axis
    kappa_v_deg: float  # visual axis above the optical axis
    fissure_mm: float  # corner to corner
    corner_shift_mm: float  # of the fissure's middle against the eyeball's
    tilt_deg: float  # temporal corner above the nasal one
    upper_mm: float  # upper lid above the eyeball's centre, wide open and looking ahead
    lower_mm: float  # lower lid below it
    upper_peak: float  # where along the fissure the lid is highest, 0 nasal … 1 temporal
    lower_peak: float
    crease_mm: float  # fold above the upper margin
    crease_depth: float  # how dark the fold is, 0 … 1
    skin_tone: float
    iris_tone: float
    sclera_tone: float
    iris_contrast: float
    limbus_dark: float
    collarette: float  # its place between pupil and limbus
    vessels: int
    pores: float
    oil: float  # sparkle of the skin
    wrinkles: int
    eye_bag: float
    brow_mm: float  # brow above the eyeball's centre
    brow_relief_mm: float
    brow_dark: float
    lash_count: int
    lash_mm: float
    lash_curl: float
    lash_droop: float  # how far they hang before the eye
    lash_px: int  # thickness near the root
    lash_dark: float
    liner: float  # darkness of make-up along the margins
    lid_shadow: float
    glasses: Glasses | None
    texture_seed: int


@dataclass(frozen=True)
class Camera:
    """A headset's camera and its LEDs as worn before this eye."""

    position_mm: Array  # (3,)
    rotation: Array  # (3, 3) rows: image right, image down, viewing direction
    focal_px: float
    centre_px: tuple[float, float]
    leds_mm: Array  # (n, 3)
    led_power: Array  # (n,) about 1
    exposure: float  # share of full scale that a white surface before the eye would reach
    haze: float  # grey level of a pupil
    noise_sd: float  # grey levels
    blur_px: float  # Gaussian sd at the pupil's edge
    glint_px: float  # radius of an LED's reflection
    vignette_px: tuple[float, float]  # its centre
    vignette_start: float  # of half the image diagonal
    vignette_depth: float  # light lost in the corners
    rim_px: tuple[float, float, float] | None  # circle (x, y, radius) outside which the device itself is black

    def project(self, points_mm: Array) -> Array:
        """Pixels (…, 2) of points (…, 3)."""
        seen = (points_mm - self.position_mm) @ self.rotation.T
        return np.asarray(seen[..., :2] / np.maximum(seen[..., 2:], 1.0) * self.focal_px + self.centre_px)

    def rays(self, pixels: Array) -> Array:
        """Unit directions (…, 3) into which pixels (…, 2) look."""
        flat = (pixels - np.asarray(self.centre_px)) / self.focal_px
        return optics.unit(flat @ self.rotation[:2] + self.rotation[2])


@dataclass(frozen=True)
class Look:
    """What an eye does at one moment."""

    gaze: Array  # (3,) unit vector, the visual axis
    pupil_mm: float  # diameter
    opening: float  # 0 closed … 1 fully open


@dataclass(frozen=True)
class Picture:
    """One rendered moment. Ellipses are whole, as if no lid hid a part; None when nothing of them shows."""

    image: npt.NDArray[np.uint8]  # (400, 640)
    mask: npt.NDArray[np.uint8]  # (400, 640): 0 background, 1 sclera, 2 iris, 3 pupil
    pupil: Ellipse | None
    iris: Ellipse | None
    glints: Array  # (n, 2) px, LED reflections on the cornea that no lid covers


def mirrored(vector: Array) -> Array:
    """The same direction or place for the other eye: x negated, for (..., 3) arrays."""
    return np.multiply(vector, [-1.0, 1.0, 1.0])


_IRIS_TONES = {"brown": 0.27, "hazel": 0.3, "green": 0.32, "blue": 0.33}
_SKIN_TONES = {"caucasian": 0.68, "asian": 0.66, "other": 0.57}


def draw_person(profile: Profile, rng: np.random.Generator) -> Person:
    """Anatomy around textbook means; appearance by what the profile tells."""
    asian, years = profile.ethnicity == "asian", profile.age - 30
    folded = rng.random() > (0.45 if asian else 0.05)
    thick_lashes = profile.makeup and rng.random() < 0.8
    return Person(
        profile=profile,
        eyeball_mm=float(np.clip(rng.normal(12.0, 0.35), 11.2, 12.9)),
        cornea_mm=float(np.clip(rng.normal(7.8, 0.25), 7.2, 8.5)),
        iris_mm=float(np.clip(rng.normal(11.8, 0.35), 11.0, 12.6)),
        pupil_mm=float(np.clip(rng.normal(3.4, 0.5) - 0.012 * years, 2.3, 5.2)),
        pupil_offset_mm=(float(rng.normal(-0.2, 0.12)), float(rng.normal(0.05, 0.1))),
        kappa_h_deg=float(np.clip(rng.normal(4.0, 1.5), 0.0, 8.0)),
        kappa_v_deg=float(np.clip(rng.normal(1.0, 1.5), -2.5, 4.5)),
        fissure_mm=float(np.clip(rng.normal(27.6, 1.2), 25.0, 30.5)),
        corner_shift_mm=float(rng.normal(0.4, 0.4)),
        tilt_deg=float(rng.normal(6.0 if asian else 3.5, 2.0)),
        upper_mm=float(np.clip(rng.normal(3.7 if asian else 4.3, 0.9) - 0.02 * years, 1.8, 6.3)),
        lower_mm=float(np.clip(rng.normal(5.2, 0.5), 4.0, 6.4)),
        upper_peak=float(rng.uniform(0.42, 0.52)),
        lower_peak=float(rng.uniform(0.52, 0.62)),
        crease_mm=float(np.clip(rng.normal(2.2 if folded else 4.0, 0.9), 0.5, 5.5)),
        crease_depth=float(rng.uniform(0.25, 0.55) if folded else rng.uniform(0.03, 0.12)),
        skin_tone=float(np.clip(rng.normal(_SKIN_TONES[profile.ethnicity], 0.05), 0.42, 0.82)),
        iris_tone=float(np.clip(rng.normal(_IRIS_TONES[profile.eye_colour], 0.045), 0.17, 0.45)),
        sclera_tone=float(np.clip(rng.normal(0.5, 0.045), 0.38, 0.62)),
        iris_contrast=float(rng.uniform(0.08, 0.2) + (0.0 if profile.eye_colour == "brown" else 0.05)),
        limbus_dark=float(rng.uniform(0.15, 0.42)),
        collarette=float(rng.uniform(0.22, 0.36)),
        vessels=int(rng.integers(4, 20)),
        pores=float(rng.uniform(0.015, 0.045)),
        oil=float(rng.uniform(0.0, 0.12)),
        wrinkles=int(rng.integers(2, 6)) + max(0, years) // 3,
        eye_bag=float(rng.uniform(0.0, 0.16)),
        brow_mm=float(rng.normal(19.0, 2.0)),
        brow_relief_mm=float(rng.uniform(5.0, 12.0)),
        brow_dark=float(rng.uniform(0.3, 0.7)),
        lash_count=int(rng.integers(45, 80) + (25 if thick_lashes else 0)),
        lash_mm=float(rng.uniform(5.0, 8.0) + (1.5 if profile.sex == "female" else 0.0)),
        lash_curl=float(rng.uniform(0.25, 0.75) - (0.15 if asian else 0.0)),
        lash_droop=float(rng.uniform(0.1, 0.95)),
        lash_px=3 if thick_lashes else 2,
        lash_dark=float(rng.uniform(0.72, 0.95) if thick_lashes else rng.uniform(0.25, 0.65)),
        liner=float(rng.uniform(0.25, 0.6) if profile.makeup else 0.0),
        lid_shadow=float(rng.uniform(0.25, 0.55)),
        glasses=_draw_glasses(rng) if profile.glasses else None,
        texture_seed=int(rng.integers(2**31)),
    )


def _draw_glasses(rng: np.random.Generator) -> Glasses:
    return Glasses(
        centre_mm=(float(rng.normal(1.0, 1.5)), float(rng.normal(-1.0, 1.5))),
        half_mm=(float(rng.uniform(18, 25)), float(rng.uniform(9.5, 17))),
        squareness=float(rng.uniform(0.45, 0.95)),
        thick_px=int(rng.integers(8, 42)),
        shine=float(rng.uniform(10, 170)),
        tilt=(float(rng.normal(0, 0.12)), float(rng.normal(-0.08, 0.14))),
    )


def _facing(position_mm: Array, target_mm: Array, roll_deg: float) -> Array:
    forward = optics.unit(target_mm - position_mm)
    right = optics.unit(np.cross(forward, [0.0, 1.0, 0.0]))
    down = np.cross(forward, right)
    cosine, sine = np.cos(np.radians(roll_deg)), np.sin(np.radians(roll_deg))
    return np.stack([cosine * right + sine * down, cosine * down - sine * right, forward])


def _draw_leds(rng: np.random.Generator) -> tuple[Array, Array]:
    """A full ring around the headset's lens, or an arc of a few; never quite even in power."""
    ring = rng.random() < 0.6
    count = int(rng.integers(8, 13) if ring else rng.integers(4, 8))
    start = rng.uniform(0, 2 * np.pi)
    angle = start + np.arange(count) * 2 * np.pi / count if ring else rng.uniform(-2.6, -0.5) + np.arange(count) * 0.62
    radius_mm = rng.uniform(20, 29, 2)
    leds = np.stack(
        [radius_mm[0] * np.cos(angle), radius_mm[1] * np.sin(angle), np.full(count, rng.uniform(26, 36))], 1
    )
    leds += rng.normal(0, 0.6, (count, 3))
    side = rng.vonmises(np.pi / 2, 0.5)  # more often from above
    power = 1 + rng.uniform(0.2, 0.85) * np.cos(angle - side) + rng.normal(0, 0.08, count)
    # Many headsets have a light close to the face on one side, which burns that side out.
    reach_mm, close_z_mm, close_power = rng.uniform(22, 32), rng.uniform(16, 24), rng.uniform(0.8, 3.5)
    if rng.random() < 0.55:
        close = [reach_mm * np.cos(side), 0.8 * reach_mm * np.sin(side), close_z_mm]
        leds, power = np.concatenate([leds, [close]]), np.append(power, close_power)
    return leds, np.clip(power, 0.15, 4.0)


def draw_camera(rng: np.random.Generator) -> Camera:
    """A device: where its camera and LEDs sit, and how it exposes, blurs and darkens."""
    distance_mm = rng.uniform(44, 60)
    yaw_deg, pitch_deg = rng.normal(4, 10), rng.uniform(-23, 6)
    position = optics.turn(yaw_deg, pitch_deg)[:, 2] * distance_mm
    target = np.array([rng.normal(0.0, 1.3), rng.normal(0.3, 1.3), 8.0])
    leds, power = _draw_leds(rng)
    rimmed = rng.random() < 0.3
    rim_at = rng.uniform(-0.6 * np.pi, 0.6 * np.pi) - np.pi / 2  # towards the top: what is black is below
    rim = float(320 + 90 * np.cos(rim_at)), float(200 + 90 * np.sin(rim_at)), float(rng.uniform(350, 430))
    return Camera(
        position_mm=position,
        rotation=_facing(position, target, float(rng.normal(0, 3))),
        focal_px=float((distance_mm - 10.5) * np.clip(rng.normal(15.8, 0.6), 14.4, 17.2)),
        centre_px=(float(rng.normal(320, 12)), float(rng.normal(205, 14))),
        leds_mm=leds,
        led_power=power,
        exposure=float(np.exp(rng.uniform(np.log(0.36), np.log(1.1)))),
        haze=float(np.clip(rng.normal(32, 6), 18, 50)),
        noise_sd=float(rng.uniform(1.3, 2.2)),
        blur_px=float(rng.uniform(1.9, 3.6)),
        glint_px=float(rng.uniform(1.1, 2.6)),
        vignette_px=(float(rng.normal(320, 25)), float(rng.normal(200, 20))),
        vignette_start=float(rng.uniform(0.2, 0.6)),
        vignette_depth=float(rng.uniform(0.35, 0.98)),
        rim_px=rim if rimmed else None,
    )


def slipped(camera: Camera, rng: np.random.Generator, mm: float) -> Camera:
    """Another wearing position of the same device: camera and LEDs move and turn together by about `mm`."""
    move = rng.normal(0, mm, 3) * [1.0, 1.0, 0.7]
    yaw_deg, pitch_deg = rng.normal(0, 0.8 * mm, 2)
    rotation = optics.turn(float(yaw_deg), float(pitch_deg))
    pivot_mm = np.array([0.0, 0.0, 12.0])  # a headset rocks on the face, not around the eye's centre
    return replace(
        camera,
        position_mm=(camera.position_mm - pivot_mm) @ rotation.T + pivot_mm + move,
        rotation=camera.rotation @ rotation.T,
        leds_mm=(camera.leds_mm - pivot_mm) @ rotation.T + pivot_mm + move,
    )


@dataclass(frozen=True)
class _Window:
    """The iris and pupil in a square of the picture, before any lid covers them."""

    left: int
    top: int
    cover: Array  # half size: 0 sclera … 1 iris or pupil, blurred
    value: Array  # half size: reflectance, already weighted with cover
    iris: Array  # full size, uint8 0 or 1, exact
    pupil: Array


class Renderer:
    """Everything of one person before one camera that does not move, and what it takes to add what does."""

    def __init__(self, person: Person, camera: Camera) -> None:
        self._person, self._camera = person, camera
        self._ball = optics.ball_of(person)
        rng = np.random.default_rng(person.texture_seed)
        self._iris_texture = skin.iris_texture(person, rng)
        self._lashes = tuple(optics.draw_lashes(person, upper, rng) for upper in (True, False))
        self._region = self._moving_region()
        self._columns = self._region.half_columns_px
        self._rows = self._region.half_rows_px
        self._still = skin.paint_still(person, camera, self._region, rng)
        self._margins = skin.shade_margins(person, camera)
        self._column_map = np.tile(np.arange(len(self._columns), dtype=np.float32), (len(self._rows), 1))
        self._place_window()
        # Noise as two unsigned tiles, what to add and what to take: saturating uint8 sums are the fastest.
        grain = skin.noise_bank()[0][: HEIGHT + 128, : WIDTH + 256] * np.float32(camera.noise_sd)
        self._more, self._less = cv2.convertScaleAbs(np.maximum(grain, 0)), cv2.convertScaleAbs(np.minimum(grain, 0))

    def _moving_region(self) -> skin.Region:
        high, low = (optics.lids_at(self._person, pitch_deg, 1.15) for pitch_deg in (25.0, -25.0))
        upper, lower = (
            np.concatenate([self._camera.project(curve) for curve in (lids.crease_mm, lids.lower_mm)])
            for lids in (high, low)
        )
        shut = optics.lids_at(self._person, -25.0, 0.0)
        lashes = [optics.lash_curves(self._lashes[side], lids) for side, lids in ((0, high), (0, shut), (1, low))]
        ends = np.concatenate([upper, lower, *(self._camera.project(path).reshape(-1, 2) for path in lashes)])
        left, top = np.clip(ends.min(0) - 24, 0, [WIDTH - 64, HEIGHT - 64]).astype(int) // 2 * 2
        right, bottom = np.clip(ends.max(0) + 24, 64, [WIDTH, HEIGHT]).astype(int) // 2 * 2
        return skin.Region(int(left), int(top), int(right), int(bottom))

    def _place_window(self) -> None:
        """The window holds the nearest, frontal iris with room for blur; a multiple of the ray spacing."""
        near_mm = float(np.linalg.norm(self._camera.position_mm)) - self._ball.limbus_z_mm - 0.5
        span_px = self._person.iris_mm * self._camera.focal_px / near_mm + 8 * self._camera.blur_px
        self._window_px = int(np.ceil(span_px / TRACE_PX)) * TRACE_PX
        steps = (np.arange(self._window_px // TRACE_PX) + 0.5) * TRACE_PX - 0.5
        self._trace_grid = np.stack(np.meshgrid(steps, steps), axis=-1)
        self._rest_px = self._camera.project(np.array([0.0, 0.0, self._ball.limbus_z_mm]))

    def render(self, look: Look, rng: np.random.Generator) -> Picture:
        noise_y, noise_x = int(rng.integers(128)), int(rng.integers(256))
        rotation = optics.eye_rotation(self._person, look.gaze)
        lids = optics.lids_at(self._person, optics.angles_deg(look.gaze)[1], look.opening)
        window = self._window(rotation, look.pupil_mm)
        mask = self._mask(window, lids)
        moving = cv2.convertScaleAbs(self._compose(window, lids))
        image = self._still.picture.copy()
        region = image[self._region.full]
        cv2.resize(moving, region.shape[::-1], dst=region, interpolation=cv2.INTER_LINEAR)
        cornea_px, white_px = optics.reflections(self._ball, self._camera, rotation)
        for place_px in cornea_px:
            self._add_glint(image, mask, place_px, self._camera.glint_px, 620)
        for place_px in white_px:  # rough, so wider and dimmer
            self._add_glint(image, mask, place_px, 1.8 * self._camera.glint_px, 260 * self._camera.exposure)
        self._add_lashes(region, lids)
        image = cv2.add(image, self._more[noise_y : noise_y + HEIGHT, noise_x : noise_x + WIDTH])
        image = cv2.subtract(image, self._less[noise_y : noise_y + HEIGHT, noise_x : noise_x + WIDTH])
        return self._picture(image, mask, window, cornea_px)

    def _window(self, rotation: Array, pupil_mm: float) -> _Window:
        """Traces a few rays through the cornea and fills in between."""
        ball, size = self._ball, self._window_px
        middle = self._camera.project(rotation[:, 2] * ball.limbus_z_mm)
        left, top = (int(value) // 2 * 2 - size // 2 for value in middle)
        rays = self._camera.rays(self._trace_grid + [left, top]) @ rotation
        traced = optics.trace_iris(ball, self._camera.position_mm @ rotation, rays).astype(np.float32)
        traced[..., :2] -= np.asarray(self._person.pupil_offset_mm, np.float32)
        across, down, limbus = cv2.split(cv2.resize(traced, (size, size), interpolation=cv2.INTER_CUBIC))
        iris = (limbus < ball.limbus_mm).view(np.uint8)
        pupil = (cv2.magnitude(across, down) < pupil_mm / 2).view(np.uint8) & iris
        cover, value = self._iris_light(traced, pupil_mm)
        return _Window(left, top, cover, value, iris, pupil)

    def _iris_light(self, traced: Array, pupil_mm: float) -> tuple[Array, Array]:
        half = self._window_px // 2
        across, down, limbus = cv2.split(cv2.resize(traced, (half, half), interpolation=cv2.INTER_CUBIC))
        radius, angle = cv2.cartToPolar(across, down)
        from_pupil = radius - np.float32(pupil_mm / 2)
        ring = from_pupil * np.float32((skin.IRIS_RINGS - 1) / (0.95 * self._ball.limbus_mm - pupil_mm / 2))
        spoke = angle * np.float32(skin.IRIS_SPOKES / (2 * np.pi))
        texture = cv2.remap(self._iris_texture, spoke, ring, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        pixel_mm = 2 * self._person.iris_mm / self._window_px
        cover = np.clip((np.float32(self._ball.limbus_mm - 0.1) - limbus) * np.float32(1 / 0.5) + 0.5, 0, 1)
        beside_pupil = np.clip(from_pupil * np.float32(1 / pixel_mm) + 0.5, 0, 1)
        both = cv2.merge([cover, cover * texture * beside_pupil])
        cover, value = cv2.split(cv2.GaussianBlur(both, (0, 0), self._camera.blur_px / 2))
        return cover, value

    def _overlap(self, window: _Window, step: int) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
        """The part that window and region share, in steps of pixels: its place in the region, and in the window."""
        size = self._window_px // step
        left, top = (window.left - self._region.left) // step, (window.top - self._region.top) // step
        width, height = self._region.right - self._region.left, self._region.bottom - self._region.top
        x = np.clip([left, left + size], 0, width // step)
        y = np.clip([top, top + size], 0, height // step)
        return (slice(*y), slice(*x)), (slice(y[0] - top, y[1] - top), slice(x[0] - left, x[1] - left))

    def _mask(self, window: _Window, lids: optics.Lids) -> npt.NDArray[np.uint8]:
        columns = np.arange(self._region.left, self._region.right, dtype=np.float64)
        rows = np.arange(self._region.top, self._region.bottom, dtype=np.float32)[:, None]
        upper, beyond = optics.column_heights(self._camera, lids.upper_mm, columns)
        lower, _ = optics.column_heights(self._camera, lids.lower_mm, columns)
        upper[beyond > 0] = HEIGHT  # no eye beyond its corners
        inside = ((rows >= upper) & (rows <= lower)).view(np.uint8) & self._still.clear
        here, there = self._overlap(window, 1)
        wide = ((lower - upper)[here[1]] >= NARROW_PX).view(np.uint8)
        inside[here] *= 1 + (window.iris[there] + window.pupil[there]) * wide
        mask = np.zeros((HEIGHT, WIDTH), np.uint8)
        mask[self._region.full] = inside
        return mask

    def _compose(self, window: _Window, lids: optics.Lids) -> Array:
        """Half-size grey levels of ball, lids and skin, with the light that the margins leave."""
        still, rows, margins = self._still, self._rows, self._margins
        upper_px, beyond_px = optics.column_heights(self._camera, lids.upper_mm, self._columns)
        lower_px, _ = optics.column_heights(self._camera, lids.lower_mm, self._columns)
        crease_px, _ = optics.column_heights(self._camera, lids.crease_mm, self._columns)
        upper, lower, crease = rows - upper_px, lower_px - rows, rows - crease_px
        sharp = np.float32(1 / (0.6 + 0.5 * self._camera.blur_px))
        near = np.exp(-np.maximum(beyond_px, 0) / 9)  # margins fade into the skin beyond the corners
        folded = np.clip(-beyond_px / 60, 0, 1) ** 0.7  # and the fold before it reaches them
        above_lower = np.clip(lower * sharp + 0.5, 0, 1)
        inside = np.clip(upper * sharp + 0.5, 0, 1) * above_lower * (beyond_px <= 0)
        by_lower = cv2.addWeighted(lower, 2, lower, 0, 128, dtype=cv2.CV_8U)
        eye = self._eyeball(window) + cv2.LUT(by_lower, margins.tear) * still.tear_gain
        outside = still.skin.copy()
        end = int(np.clip((upper_px.max() - self._region.top) / 2 + 4, 1, len(rows)))  # no lid skin further down
        sliding = cv2.remap(
            still.lid,
            self._column_map[:end],
            upper[:end] * np.float32(-0.5),
            cv2.INTER_LINEAR,
            None,
            cv2.BORDER_REFLECT,
        )
        lid = sliding * still.face_gain[:end] + still.haze[:end] * np.float32(0.8)
        on_lid = np.clip(crease[:end] * sharp + 0.5, 0, 1) * above_lower[:end] * folded
        outside[:end] += (lid - outside[:end]) * on_lid
        by_upper = cv2.addWeighted(upper, 2, upper, 0, 128, dtype=cv2.CV_8U)
        by_crease = cv2.addWeighted(crease, 2, crease, 0, 128, dtype=cv2.CV_8U)
        # A closing lid smoothes its own fold.
        fold = 1 + cv2.LUT(by_crease, margins.crease - 1) * (folded * np.float32(0.3 + 0.7 * min(lids.opening, 1.0)))
        shade = cv2.LUT(by_lower, margins.lower) * cv2.LUT(by_upper, margins.upper)
        picture = (outside + (eye - outside) * inside) * fold * (1 + (shade - 1) * near)
        return np.asarray(picture if still.through is None else picture * still.through + still.added)

    def _eyeball(self, window: _Window) -> Array:
        """Grey levels of the ball between the lids, before they shade it."""
        here, there = self._overlap(window, 2)
        margin = skin.SCLERA_MARGIN_PX
        moved_px = np.array([window.left, window.top]) + self._window_px / 2 - self._rest_px
        x, y = margin - np.clip(moved_px / 2, -margin, margin).astype(int)
        white = self._still.white[y : y + len(self._rows), x : x + len(self._columns)].copy()
        white[here] = white[here] * (1 - window.cover[there]) + window.value[there]
        white = white * (1 - self._still.caruncle) + self._still.caruncle_value
        return np.asarray(white * self._still.ball_gain + self._still.haze)

    def _add_glint(self, image: Array, mask: Array, place_px: Array, radius_px: float, peak: float) -> None:
        """A spot where the eye is not covered, saturated in the middle."""
        reach = int(4 * radius_px) + 2
        left, top = (int(value) - reach for value in place_px)
        if left < 0 or top < 0 or left + 2 * reach >= WIDTH or top + 2 * reach >= HEIGHT:
            return
        part = slice(top, top + 2 * reach), slice(left, left + 2 * reach)
        spot = optics.spot(place_px - [left, top], radius_px, 2 * reach)
        image[part] = np.minimum(image[part] + peak * spot * (mask[part] > 0), 255)

    def _add_lashes(self, region: Array, lids: optics.Lids) -> None:
        person = self._person
        layer: Array = np.zeros(region.shape, np.uint8)
        for lashes, thick_px in zip(self._lashes, (person.lash_px, 1), strict=True):
            path = self._camera.project(optics.lash_curves(lashes, lids)) - [self._region.left, self._region.top]
            path = np.round(np.clip(path, -2000, 2000) * 8).astype(np.int32)
            for points, level, extra_px in ((6, 130, -1), (5, 200, 0), (3, 255, 1)):  # thinner towards the tip
                cv2.polylines(layer, list(path[:, :points]), False, level, max(1, thick_px + extra_px), cv2.LINE_8, 3)
        layer = cv2.GaussianBlur(layer, (5, 5), 0.4 + 0.25 * self._camera.blur_px)
        left_over = cv2.convertScaleAbs(layer, alpha=-person.lash_dark, beta=255)
        cv2.multiply(region, left_over, dst=region, scale=1 / 255)

    def _picture(self, image: Array, mask: Array, window: _Window, glints_px: Array) -> Picture:
        origin = float(window.left), float(window.top)
        shown = int(mask.max())
        pupil = optics.ellipse_of(window.pupil, origin) if shown == PUPIL else None
        iris = optics.ellipse_of(window.iris, origin) if shown >= IRIS else None
        at = np.clip(np.round(glints_px).astype(int), 0, [WIDTH - 1, HEIGHT - 1])
        return Picture(image, mask, pupil, iris, glints_px[mask[at[:, 1], at[:, 0]] >= IRIS])
