"""Who is seen and by what: the eye with what is around it, the headset's camera with its LEDs, and where the eye looks.

The canonical eye is the left one, nasal corner at the image's left. For a right eye mirror the gaze, render, and flip
the picture. Axes are the headset's: origin at the eyeball's centre, X to the person's left, Y up, Z out of the face.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from palestra.eyes.simulator.people import Profile
from palestra.eyes.simulator.vectors import turn, unit

Array = npt.NDArray[Any]

LENS_TO_EYE_M = 0.011
GLASSES_Z_MM = 21.0  # how far before the ball's centre glasses are worn
DIM_CD_M2 = 60.0  # a headset's display, where people have the pupil that their record tells


@dataclass(frozen=True)
class Glasses:
    """A pair of glasses as worn before this eye."""

    centre_mm: tuple[float, float]
    half_mm: tuple[float, float]  # half width and half height of the lens
    squareness: float  # exponent of the outline: 1 is an ellipse, less is squarer
    thick_px: int
    shine: float  # grey level of the light along the frame
    tilt: tuple[float, float]  # slope of the lens in x and y, which decides where it mirrors the LEDs
    power: float  # dioptres; a minus lens makes the eye behind it look smaller


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
    sheen: float  # what smooth skin mirrors of the LEDs, of what it scatters
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
    lash_tufts: int  # bars that mascara glues them to, 0 without
    lash_dark: float
    liner: float  # darkness of make-up along the margins
    lid_shadow: float
    glasses: Glasses | None
    texture_seed: int
    contact_lens_mm: float  # radius of its edge on the white, 0 without one
    lens_shine: float  # what the eye's own lens mirrors, of what the cornea does


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
    falloff: tuple[float, float]  # natural logarithm of the light that 200 px to the right and down take away
    rim_px: tuple[float, float, float] | None  # circle (x, y, radius) outside which the device itself is black
    ring_px: tuple[float, float, float] | None  # … and one within which a lens ring hides a corner
    rim_shine: float  # grey level of the light along them
    quality: int | None  # of the JPEG that it sends; None where it sends every bit

    def project(self, points_mm: Array) -> Array:
        """Pixels (…, 2) of points (…, 3)."""
        seen = (points_mm - self.position_mm) @ self.rotation.T
        return np.asarray(seen[..., :2] / np.maximum(seen[..., 2:], 1.0) * self.focal_px + self.centre_px)

    def rays(self, pixels: Array) -> Array:
        """Unit directions (…, 3) into which pixels (…, 2) look."""
        flat = (pixels - np.asarray(self.centre_px)) / self.focal_px
        return unit(flat @ self.rotation[:2] + self.rotation[2])


@dataclass(frozen=True)
class Look:
    """What an eye does at one moment."""

    gaze: Array  # (3,) unit vector, the visual axis
    pupil_mm: float  # diameter
    opening: float  # 0 closed … 1 fully open
    smear_px: tuple[float, float] = (0.0, 0.0)  # how far the eye moves in the picture while the shutter is open


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
        fissure_mm=float(np.clip(rng.normal(27.4, 4.0), 19.5, 34.5)),
        corner_shift_mm=float(rng.normal(0.4, 0.4)),
        tilt_deg=float(rng.normal(6.0 if asian else 3.5, 2.0)),
        upper_mm=float(np.clip(rng.normal(3.8 if asian else 4.8, 1.4) - 0.02 * years, 1.6, 7.9)),
        lower_mm=float(np.clip(rng.normal(5.2, 0.5), 4.0, 6.4)),
        upper_peak=float(rng.uniform(0.42, 0.52)),
        lower_peak=float(rng.uniform(0.52, 0.62)),
        crease_mm=float(np.clip(rng.normal(2.2 if folded else 4.0, 0.9), 0.5, 5.5)),
        crease_depth=float(rng.uniform(0.25, 0.55) if folded else rng.uniform(0.03, 0.12)),
        skin_tone=float(np.clip(rng.normal(_SKIN_TONES[profile.ethnicity], 0.05), 0.42, 0.82)),
        iris_tone=float(np.clip(rng.normal(_IRIS_TONES[profile.eye_colour], 0.055), 0.2, 0.5)),
        sclera_tone=float(np.clip(rng.normal(0.5, 0.045), 0.38, 0.62)),
        iris_contrast=float(rng.uniform(0.08, 0.2) + (0.0 if profile.eye_colour == "brown" else 0.05)),
        limbus_dark=float(rng.uniform(0.15, 0.42)),
        collarette=float(rng.uniform(0.22, 0.36)),
        vessels=int(rng.integers(4, 20)),
        pores=float(np.exp(rng.uniform(*np.log((0.02, 0.09))))),
        sheen=float(rng.uniform(0.0, 0.25)),
        oil=float(rng.uniform(3.0, 11.0) if rng.random() < 0.36 else np.exp(rng.uniform(*np.log((0.1, 3.0))))),
        wrinkles=int(rng.integers(2, 6)) + max(0, years) // 3,
        eye_bag=float(rng.uniform(0.0, 0.16)),
        brow_mm=float(rng.normal(17.5, 2.6)),
        brow_relief_mm=float(rng.uniform(5.0, 12.0)),
        brow_dark=float(rng.uniform(0.3, 0.7)),
        lash_count=int(rng.integers(45, 80) + (25 if thick_lashes else 0)),
        lash_mm=float(rng.uniform(5.0, 8.0) + (1.5 if profile.sex == "female" else 0.0)),
        lash_curl=float(rng.uniform(0.25, 0.75) - (0.15 if asian else 0.0)),
        lash_droop=float(rng.uniform(0.1, 0.95)),
        lash_px=3 if thick_lashes else 2,
        lash_tufts=int(rng.integers(16, 34)) if thick_lashes and rng.random() < 0.6 else 0,
        lash_dark=float(rng.uniform(0.72, 0.95) if thick_lashes else rng.uniform(0.25, 0.65)),
        liner=float(rng.uniform(0.25, 0.6) if profile.makeup else 0.0),
        lid_shadow=float(rng.uniform(0.25, 0.55)),
        glasses=_draw_glasses(rng) if profile.glasses else None,
        texture_seed=int(rng.integers(2**31)),
        contact_lens_mm=float(rng.uniform(6.8, 7.4)) if not profile.glasses and rng.random() < 0.15 else 0.0,
        lens_shine=float(rng.uniform(0.0, 0.2)),
    )


def _draw_glasses(rng: np.random.Generator) -> Glasses:
    return Glasses(
        centre_mm=(float(rng.normal(1.0, 1.5)), float(rng.normal(-1.0, 1.5))),
        half_mm=(float(rng.uniform(18, 25)), float(rng.uniform(9.5, 17))),
        squareness=float(rng.uniform(0.45, 0.95)),
        thick_px=int(rng.integers(8, 42)),
        shine=float(rng.uniform(10, 170)),
        tilt=(float(rng.normal(0, 0.12)), float(rng.normal(-0.08, 0.14))),
        power=float(np.clip(rng.normal(-2.2, 2.2), -8, 4)),
    )


def _facing(position_mm: Array, target_mm: Array, roll_deg: float) -> Array:
    forward = unit(target_mm - position_mm)
    right = unit(np.cross(forward, [0.0, 1.0, 0.0]))
    down = np.cross(forward, right)
    cosine, sine = np.cos(np.radians(roll_deg)), np.sin(np.radians(roll_deg))
    return np.stack([cosine * right + sine * down, cosine * down - sine * right, forward])


def _draw_leds(dim: bool, rng: np.random.Generator) -> tuple[Array, Array]:
    """A full ring around the headset's lens, or an arc of a few; never quite even in power."""
    ring = rng.random() < (0.15 if dim else 0.7)
    count = int(rng.integers(8, 20) if ring else rng.integers(4, 8))
    start = rng.uniform(0, 2 * np.pi)
    angle = start + np.arange(count) * 2 * np.pi / count if ring else rng.uniform(-2.6, -0.5) + np.arange(count) * 0.62
    near = rng.random() < 0.3  # around the camera instead of the display's lens: then glints fall on the pupil
    radius_mm = rng.uniform(13, 19, 2) if near else rng.uniform(21, 30, 2)
    leds = np.stack(
        [radius_mm[0] * np.cos(angle), radius_mm[1] * np.sin(angle), np.full(count, rng.uniform(26, 36))], 1
    )
    leds += rng.normal(0, 0.6, (count, 3))
    side = rng.vonmises(np.pi / 2, 0.5)  # more often from above
    power = 1 + rng.uniform(0.2, 0.85) * np.cos(angle - side) + rng.normal(0, 0.08, count)
    # Many headsets have a light close to the face on one side, which burns that side out.
    reach_mm, close_z_mm, close_power = rng.uniform(22, 32), rng.uniform(16, 24), rng.uniform(0.8, 4.5)
    if not dim and rng.random() < 0.65:
        close = [reach_mm * np.cos(side), 0.8 * reach_mm * np.sin(side), close_z_mm]
        leds, power = np.concatenate([leds, [close]]), np.append(power, close_power)
    return leds, np.clip(power, 0.15, 7.0)


def _draw_falloff(dim: bool, rng: np.random.Generator) -> tuple[float, float]:
    """Most headsets light the brow more than the cheek, some far more; dim ones are even."""
    if dim:
        return float(rng.normal(0, 0.1)), float(rng.normal(0.12, 0.12))
    steep = rng.random() < 0.4
    return float(rng.normal(0, 0.22)), float(rng.uniform(0.8, 2.6) if steep else rng.normal(0.0, 0.3))


def _draw_rim(rng: np.random.Generator) -> tuple[float, float, float]:
    """A round view as wide as the picture or far wider, so that its edge is an arc or a bar; mostly below the eye."""
    towards, gap_px = rng.normal(np.pi / 2, 0.7), rng.uniform(125, 225)
    radius_px = np.exp(rng.uniform(*np.log((260.0, 1500.0))))
    reach_px = gap_px - radius_px
    return float(320 + reach_px * np.cos(towards)), float(200 + reach_px * np.sin(towards)), float(radius_px)


def _draw_ring(rng: np.random.Generator) -> tuple[float, float, float]:
    side, above = rng.choice([-1.0, 1.0]), rng.choice([-1.0, 1.0])
    x, y = 320 + side * rng.uniform(290, 370), 200 + above * rng.uniform(190, 250)
    return float(x), float(y), float(rng.uniform(70, 170))


def draw_camera(rng: np.random.Generator) -> Camera:
    """A device: where its camera and LEDs sit, and how it exposes, blurs and darkens.

    A third of them are dim: few even lights, short exposure, dark corners; such headsets are in use, and models that
    learnt from bright ones fail on them.
    """
    dim = rng.random() < 0.35
    distance_mm = rng.uniform(44, 60)
    yaw_deg, pitch_deg = rng.normal(4, 10), rng.uniform(-23, 6)
    position = turn(yaw_deg, pitch_deg)[:, 2] * distance_mm
    target = np.array([rng.normal(0.0, 2.6), np.clip(rng.normal(0.6, 3.8), -5.5, 6.5), 8.0])
    leds, power = _draw_leds(dim, rng)
    right, down = _draw_falloff(dim, rng)
    exposure = np.exp(rng.uniform(*np.log((0.24, 0.42) if dim else (0.55, 1.48))) - 0.45 * max(down, 0))
    return Camera(
        position_mm=position,
        rotation=_facing(position, target, float(rng.normal(0, 3))),
        focal_px=float((distance_mm - 10.5) * np.clip(rng.normal(16.1, 1.5), 12.8, 19.8)),
        centre_px=(float(rng.normal(320, 12)), float(rng.normal(205, 14))),
        leds_mm=leds,
        led_power=power,
        exposure=float(max(exposure, 0.25)),  # with less, nothing of the eye could be seen
        haze=float(np.clip(rng.normal(33, 3) if dim else rng.normal(34, 13), 14, 64)),
        noise_sd=float(rng.uniform(0.6, 2.6)),
        blur_px=float(rng.uniform(1.6, 3.7)),
        glint_px=float(rng.uniform(0.8, 1.8) if dim else rng.uniform(1.1, 3.4)),
        vignette_px=(float(rng.normal(320, 25)), float(rng.normal(200, 20) if dim else rng.uniform(20, 260))),
        vignette_start=float(rng.uniform(0.0, 0.4) if dim else rng.uniform(0.2, 0.6)),
        vignette_depth=float(rng.uniform(0.9, 1.0) if dim else rng.uniform(0.2, 0.97)),
        falloff=(right, down),
        rim_px=_draw_rim(rng) if rng.random() < (0.05 if dim else 0.4 + 0.2 * down) else None,
        ring_px=_draw_ring(rng) if rng.random() < (0.05 if dim else 0.25) else None,
        rim_shine=float(rng.uniform(0, 1) ** 3 * 240),
        quality=int(rng.integers(45, 96)) if rng.random() < 0.2 else None,
    )


def through_lens(camera: Camera, glasses: Glasses | None) -> Camera:
    """The camera that sees an eye behind a lens: what is there shrinks or grows around the lens's centre."""
    if glasses is None:
        return camera
    size = 1 + LENS_TO_EYE_M * glasses.power
    fixed = camera.project(np.array([*glasses.centre_mm, GLASSES_Z_MM]))
    x, y = fixed + size * (np.asarray(camera.centre_px) - fixed)
    return replace(camera, focal_px=size * camera.focal_px, centre_px=(float(x), float(y)))


def pupil_in_light(person: Person, cd_m2: float) -> float:
    """The pupil's diameter in mm at this luminance: Moon and Spencer's curve, shifted to this person's size."""
    narrowing = 3 * (np.tanh(0.4 * np.log10(cd_m2)) - np.tanh(0.4 * np.log10(DIM_CD_M2)))
    return float(np.clip(person.pupil_mm - narrowing, 1.8, 8.0))


def slipped(camera: Camera, rng: np.random.Generator, mm: float) -> Camera:
    """Another wearing position of the same device: camera and LEDs move and turn together by about `mm`."""
    move = rng.normal(0, mm, 3) * [1.0, 1.0, 0.7]
    yaw_deg, pitch_deg = rng.normal(0, 0.8 * mm, 2)
    rotation = turn(float(yaw_deg), float(pitch_deg))
    pivot_mm = np.array([0.0, 0.0, 12.0])  # a headset rocks on the face, not around the eye's centre
    return replace(
        camera,
        position_mm=(camera.position_mm - pivot_mm) @ rotation.T + pivot_mm + move,
        rotation=camera.rotation @ rotation.T,
        leds_mm=(camera.leds_mm - pivot_mm) @ rotation.T + pivot_mm + move,
    )
