"""Who sits before the cameras: what a head's shape, skin, hair and eyes are drawn from."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Colour = tuple[float, float, float]  # red, green and blue as they reflect, 0 to 1

PEOPLE, WOMEN = 16, 4  # as the report counts them

# Reflectances of skin from pale to dark, and of hair and irises, with how often each is drawn.
_SKINS: tuple[Colour, ...] = (
    (0.69, 0.47, 0.37), (0.62, 0.40, 0.30), (0.56, 0.36, 0.25),
    (0.46, 0.28, 0.18), (0.33, 0.19, 0.12), (0.20, 0.11, 0.07),
)  # fmt: skip
_SKIN_SHARES = (0.26, 0.28, 0.20, 0.14, 0.08, 0.04)
_HAIRS: tuple[Colour, ...] = (
    (0.018, 0.015, 0.014), (0.045, 0.028, 0.018), (0.11, 0.062, 0.034), (0.30, 0.19, 0.095), (0.26, 0.25, 0.245),
)  # fmt: skip
_HAIR_SHARES = (0.30, 0.34, 0.18, 0.10, 0.08)
_IRISES: tuple[Colour, ...] = ((0.085, 0.042, 0.020), (0.14, 0.085, 0.035), (0.16, 0.17, 0.085), (0.16, 0.24, 0.32))
_IRIS_SHARES = (0.55, 0.17, 0.10, 0.18)
_DARK_SKIN = 0.36  # red reflectance below which hair and irises are dark


@dataclass(frozen=True)
class Person:
    """One participant. Lengths in millimetres; left and right are the person's own."""

    woman: bool
    skin: Colour
    hair: Colour
    hair_length: str  # bald, short, long
    hair_thick_mm: float
    hairline_mm: float  # above the usual one
    beard: float  # 0 shaved, 1 full
    width: float  # of the head, beside the usual one
    height: float
    depth: float
    jaw: float
    nose_mm: float  # how much further than usual it stands out
    nose_width: float
    lips: float  # fullness, about 1
    chin_mm: float
    cheeks_mm: float
    brow_mm: float  # how far the bone above the eyes stands out
    brow_dark: float
    eyes_mm: Floats  # (2, 3) eyeball centres, left and right, in the head's frame
    fissure_mm: float  # from corner to corner of an eye
    opening_mm: float  # between the lids, looking ahead
    tilt_mm: float  # by which the outer corner is higher
    hood: float  # how much of the upper lid a fold covers
    lashes: float
    kappa_deg: Floats  # (2, 2) the optical axis beside the visual one: to the temple and up
    iris: Colour
    iris_mm: float  # radius
    texture_seed: int


def draw_people(rng: np.random.Generator) -> list[Person]:
    """The participants: their seats are drawn, how many women there are is not."""
    women = set(rng.permutation(PEOPLE)[:WOMEN].tolist())
    return [draw_person(index in women, rng) for index in range(PEOPLE)]


def draw_person(woman: bool, rng: np.random.Generator) -> Person:
    skin = _mixed(_SKINS, _SKIN_SHARES, rng)
    dark = skin[0] < _DARK_SKIN
    short = "bald" if rng.random() < 0.12 else "short"
    half_mm = float(rng.normal(30.6 if woman else 31.6, 1.3))
    eyes = np.array([[half_mm, 4.0, 68.0], [-half_mm, 4.0, 68.0]])
    eyes += np.array([0.0, rng.normal(0, 1.5), rng.normal(0, 1.2)])
    kappa = np.array([[5.0, 1.5]]) + rng.normal(0, [[1.1, 0.9]]) + rng.normal(0, 0.5, (2, 2))
    smaller = 0.96 if woman else 1.0
    return Person(
        woman=woman,
        skin=skin,
        hair=_HAIRS[0] if dark else _HAIRS[int(rng.choice(len(_HAIRS), p=_HAIR_SHARES))],
        hair_length="long" if woman else short,
        hair_thick_mm=float(rng.uniform(13, 20) if woman else rng.uniform(5, 14)),
        hairline_mm=float(rng.normal(0, 3) if woman else rng.normal(3, 7)),
        beard=0.0 if woman else float(rng.choice([0.05, 0.3, 0.55, 1.0], p=[0.35, 0.35, 0.18, 0.12])),
        width=float(smaller * rng.normal(1, 0.035)),
        height=float(smaller * rng.normal(1, 0.03)),
        depth=float(smaller * rng.normal(1, 0.03)),
        jaw=float(rng.normal(0.93 if woman else 1.0, 0.05)),
        nose_mm=float(rng.normal(-1.5 if woman else 0.5, 2.0)),
        nose_width=float(rng.normal(1.22 if dark else 1.0, 0.09)),
        lips=float(np.clip(rng.normal(1.15 if woman or dark else 0.9, 0.2), 0.5, 1.6)),
        chin_mm=float(rng.normal(0, 2.0)),
        cheeks_mm=float(rng.normal(0, 2.0)),
        brow_mm=float(rng.normal(1.5 if woman else 4.0, 1.0)),
        brow_dark=float(rng.uniform(0.55, 0.95)),
        eyes_mm=eyes,
        fissure_mm=float(rng.normal(28.6, 0.9)),
        opening_mm=float(np.clip(rng.normal(10.4, 0.7), 9.0, 12.0)),
        tilt_mm=float(rng.normal(1.2, 1.0)),
        hood=float(rng.uniform(0.1, 0.9)),
        lashes=float(rng.uniform(0.75, 1.0) if woman else rng.uniform(0.35, 0.65)),
        kappa_deg=kappa,
        iris=_IRISES[0] if dark else _mixed(_IRISES, _IRIS_SHARES, rng),
        iris_mm=float(rng.normal(5.9, 0.15)),
        texture_seed=int(rng.integers(2**31)),
    )


def _mixed(colours: tuple[Colour, ...], shares: tuple[float, ...], rng: np.random.Generator) -> Colour:
    """One of the colours, a little lighter, darker or redder than it is listed."""
    chosen = np.array(colours[int(rng.choice(len(colours), p=shares))])
    red, green, blue = chosen * np.exp(rng.normal(0, 0.05) + rng.normal(0, 0.025, 3))
    return float(red), float(green), float(blue)
