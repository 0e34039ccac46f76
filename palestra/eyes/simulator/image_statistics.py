"""Measures the synthetic pictures of eyes as real ones were measured, and sets the numbers beside each other."""

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np

from palestra.eyes.simulator.layers import HEIGHT, WIDTH, Array
from palestra.eyes.simulator.optics import ellipse_of
from palestra.eyes.simulator.people import Census, draw_profiles, scaled
from palestra.eyes.simulator.renderer import IRIS, PUPIL, SCLERA, Ellipse, Renderer
from palestra.eyes.simulator.scene import Look, draw_camera, draw_person, pupil_in_light
from palestra.metrics.angles import to_vectors

SPREAD = (5, 50, 95)  # percentiles of a line, as real-eyes.md gives it
RANGE = (5, 95)
MEDIAN = (50,)

SMALLEST_PUPIL_PX = 600  # below this area a lid hides too much of the pupil to measure it
BRIGHT, SPOT_PX = 235, 3  # grey level and area from which a spot counts
BURNT, BLACK = 250, 10
SPOT_HALO_PX, SOFT_EDGE_PX = 9, 9  # sides of the squares that a spot or an edge spoils
_PARTS = {"pupil": PUPIL, "iris": IRIS, "sclera": SCLERA}
NARROW_PX = 400
CORNER_PX, CENTRE_PX = 40, (50, 70)  # side of a corner's square; half height and half width of the centre
EDGE_PX = np.arange(-12, 13, 0.5)  # where a profile across the pupil's edge is read
EDGE_ENDS = 8  # readings at each end of it that tell the levels inside and outside
FEWEST_PROFILES = 20
FREQUENCIES = np.geomspace(0.02, 0.22, 13)  # cycles per px

_CENSUS = Census(
    sex={"female": 30, "male": 30},
    ethnicity={"asian": 15, "caucasian": 30, "other": 15},
    age={"21–25": 15, "26–30": 15, "31–40": 20, "41+": 10},
    glasses=12,
    makeup=10,
)


@dataclass(frozen=True)
class Row:
    """One line of the comparison."""

    quantity: str
    device_a: str
    device_b: str
    ours: str


@dataclass(frozen=True)
class _Line:
    """What two devices measured, and our measures beside it, each as its percentiles."""

    quantity: str
    device_a: str
    device_b: str
    ours: str  # names of measures in braces
    percentiles: tuple[int, ...] = SPREAD


# From real-eyes.md. A: 238 pictures of many people, 2019; B: 31 pictures of one person, 2020.
_LINES = (
    _Line("pupil grey level", "20 / 32 / 48", "32 / 33 / 36", "{pupil}"),
    _Line("iris", "54 / 78 / 103", "50 / 53 / 58", "{iris}"),
    _Line("sclera", "76 / 105 / 139", "58 / 64 / 69", "{sclera}"),
    _Line("skin", "84 / 122 / 143", "73 / 77 / 81", "{skin}"),
    _Line("sd inside pupil / iris / sclera (median)", "3 / 14 / 33",
          "3 / 7 / 11", "{pupil sd} / {iris sd} / {sclera sd}", MEDIAN),
    _Line("pupil to iris contrast, levels", "21 / 48 / 75", "15 / 19 / 24", "{contrast}"),
    _Line("pupil edge, 10–90 % width, px", "6 / 8 / 11", "6 / 9 / 11", "{edge}"),
    _Line("pupil long axis, px", "43 / 57 / 76", "54 / 57 / 60", "{pupil axis}"),
    _Line("pupil axis ratio", ".79 / .93 / .98", ".89 / .94 / .99", "{pupil ratio}"),
    _Line("iris width, px", "170 / 184 / 201", "181 / 188 / 192", "{iris width}"),
    _Line("pupil / iris width", ".24 / .31 / .42", ".28 / .31 / .33", "{pupil per iris}"),
    _Line("visible iris height / width", ".59 / .84 / .96", ".45 / .53 / .64", "{iris height}"),
    _Line("pupil centre, of width and height", ".26–.63, .33–.63", ".49–.63, .55–.74", "{pupil x}, {pupil y}", RANGE),
    _Line("eye corner to corner, of width", ".80 / .99 / 1.0 (often cut off)", ".53 / .58 / .60", "{corner to corner}"),
    _Line("lid opening / eye width", ".28 / .41 / .52", ".25 / .27 / .31", "{opening}"),
    _Line("share of sclera, iris, pupil (median)", ".081, .077, .009",
          ".033, .053, .010", "{sclera share}, {iris share}, {pupil share}", MEDIAN),
    _Line("bright spots on iris and pupil (≥ 235, ≥ 3 px)", "4 / 9 / 16, area 4 / 15 / 37 px",
          "3 / 4 / 6, area 4 / 11 / 20 px", "{spots}, area {spot area} px"),
    _Line("bright spots elsewhere", "15 / 60 / 117", "0 / 0 / 7", "{spots elsewhere}"),
    _Line("pixels ≥ 250", ".001 / .031 / .115", "≈ 0", "{burnt}"),
    _Line("left / right, top / bottom mean light", "1.2–1.8, .8–4.9", "1.2–1.3, 1.0–1.4",
          "{sideways}, {downwards}", RANGE),
    _Line("corner / centre light", ".35 / .59 / .93", ".19 / .29 / .40", "{corners}"),
    _Line("pixels ≤ 10", ".05–.14", "0", "{black}", RANGE),
    _Line("neighbour difference sd inside the pupil", "1.9 / 2.3 / 15", "2.5 / 2.9 / 11", "{grain}"),
    _Line("spectrum slope, log10 power per decade (.02–.22 cycles/px)", "−3.2 / −2.8 / −2.4",
          "−2.5 / −2.3 / −2.1", "{slope}"),
)  # fmt: skip


def statistics(rng: np.random.Generator, people: int = 400, looks: int = 1) -> list[Row]:
    """The table of two real headsets beside the same one of people here, each before a device of their own."""
    found = [measure(image, mask) for image, mask in _pictures(rng, people, looks)]
    kept = [one for one in found if one]
    if not kept:
        raise ValueError(f"no pupil is open enough to measure in {len(found)} pictures")
    joined = {name: np.concatenate([one[name] for one in kept]) for name in kept[0]}
    return [_row(line, joined) for line in _LINES]


def measure(image: Array, mask: Array) -> dict[str, Array]:
    """Every measure of one grey picture with its mask; one value each, more of spots; none if the pupil hides."""
    ellipse = ellipse_of((mask == PUPIL).astype(np.uint8), (0.0, 0.0))
    counts = np.bincount(mask.ravel(), minlength=PUPIL + 1)
    if ellipse is None or counts[PUPIL] < SMALLEST_PUPIL_PX or not counts.all():
        return {}
    areas, elsewhere = _spot_areas(image, mask >= IRIS), _spot_areas(image, mask < IRIS)
    single = {
        **_levels(image, mask),
        **_shapes(mask, ellipse),
        **_light(image),
        "spots": len(areas),
        "spots elsewhere": len(elsewhere),
        "slope": _spectrum_slope(image),
    }
    return {
        **{name: np.array([value], dtype=float) for name, value in single.items()},
        "spot area": areas,
        "edge": _edge_width(image, ellipse),
    }


def format_statistics(rows: list[Row]) -> str:
    """The rows as a table of text."""
    cells = _cells(rows)
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return "\n".join("  ".join(cell.ljust(widths[i]) for i, cell in enumerate(line)).rstrip() for line in cells)


def _cells(rows: list[Row]) -> list[tuple[str, ...]]:
    head = ("quantity", "device A", "device B", "ours")
    return [head, *((row.quantity, row.device_a, row.device_b, row.ours) for row in rows)]


def _pictures(rng: np.random.Generator, people: int, looks: int) -> Iterator[tuple[Array, Array]]:
    for profile in draw_profiles(scaled(_CENSUS, people), rng):
        person = draw_person(profile, rng)
        renderer = Renderer(person, draw_camera(rng))
        wide = rng.random() < 0.42
        for _ in range(looks):
            yaw_deg, pitch_deg = rng.uniform(-18, 18, 2)
            pupil_mm = pupil_in_light(person, float(np.exp(rng.uniform(*np.log((10.0, 700.0))))))
            opening = float(np.clip(rng.normal(0.88, 0.24), 0.35, 1.15))
            picture = renderer.render(Look(to_vectors(yaw_deg, pitch_deg), pupil_mm, opening), rng)
            shown = slice(None) if wide else _narrow_part(rng)
            yield picture.image[:, shown], picture.mask[:, shown]


def _narrow_part(rng: np.random.Generator) -> slice:
    """What a device sends that takes pictures upright, as device A does: 400 columns, often not around the eye."""
    left = int(np.clip(rng.normal(143, 53), 20, 240))
    return slice(left, left + NARROW_PX)


def _levels(image: Array, mask: Array) -> dict[str, float]:
    """Grey levels, as medians, and how they vary."""
    sclera, iris, pupil = (image[mask == part].astype(float) for part in (SCLERA, IRIS, PUPIL))
    inside = mask == PUPIL
    steps = np.diff(image.astype(float), axis=1)[inside[:, 1:] & inside[:, :-1]]
    return {
        "pupil": float(np.median(pupil)),
        "iris": float(np.median(iris)),
        "sclera": float(np.median(sclera)),
        "skin": float(np.median(image[mask < SCLERA])),
        **{f"{name} sd": _spread(image, mask == part) for name, part in _PARTS.items()},
        "contrast": float(np.median(iris) - np.median(pupil)),
        "grain": float(steps.std()),
    }


def _spread(image: Array, part: Array) -> float:
    """Of grey levels well inside a part of the eye, without bright spots: the spread of its own tone."""
    spots = cv2.dilate((image >= BRIGHT).astype(np.uint8), np.ones((SPOT_HALO_PX, SPOT_HALO_PX), np.uint8))
    inside = cv2.erode(part.astype(np.uint8), np.ones((SOFT_EDGE_PX, SOFT_EDGE_PX), np.uint8))
    levels = image[(inside > 0) & (spots == 0)]
    return float(levels.std()) if levels.size else 0.0


def _shapes(mask: Array, pupil: Ellipse) -> dict[str, float]:
    """Sizes and places; as in a hand-drawn mask, only what no lid hides."""
    height, width = mask.shape
    whole = HEIGHT * WIDTH  # both devices' pictures have as many pixels, however they are turned
    iris_width, iris_height = _extent(mask >= IRIS)
    eye_width, _ = _extent(mask > 0)
    return {
        "pupil axis": pupil[2],
        "pupil ratio": pupil[3] / pupil[2],
        "iris width": iris_width,
        "pupil per iris": pupil[2] / iris_width,
        "iris height": iris_height / iris_width,
        "pupil x": pupil[0] / width,
        "pupil y": pupil[1] / height,
        "corner to corner": eye_width / width,
        "opening": float(np.count_nonzero(mask, axis=0).max()) / eye_width,
        "sclera share": float((mask == SCLERA).sum()) / whole,
        "iris share": float((mask == IRIS).sum()) / whole,
        "pupil share": float((mask == PUPIL).sum()) / whole,
    }


def _extent(inside: Array) -> tuple[int, int]:
    """Width and height of the box around a region."""
    columns, rows = np.flatnonzero(inside.any(axis=0)), np.flatnonzero(inside.any(axis=1))
    return int(columns[-1] - columns[0] + 1), int(rows[-1] - rows[0] + 1)


def _light(image: Array) -> dict[str, float]:
    """How light spreads over the picture; from side to side, the brighter half over the darker one."""
    height, width = image.shape
    left_right = _ratio(image[:, : width // 2], image[:, width // 2 :])
    ends = np.r_[:CORNER_PX, -CORNER_PX:0]
    y, x = height // 2, width // 2
    return {
        "sideways": max(left_right, 1 / left_right),
        "downwards": _ratio(image[:y], image[y:]),
        "corners": _ratio(
            image[ends][:, ends], image[y - CENTRE_PX[0] : y + CENTRE_PX[0], x - CENTRE_PX[1] : x + CENTRE_PX[1]]
        ),
        "burnt": float((image >= BURNT).mean()),
        "black": float((image <= BLACK).mean()),
    }


def _ratio(above: Array, below: Array) -> float:
    return float(above.mean() / below.mean())


def _spot_areas(image: Array, region: Array) -> Array:
    bright = ((image >= BRIGHT) & region).astype(np.uint8)
    areas = cv2.connectedComponentsWithStats(bright)[2][1:, cv2.CC_STAT_AREA].astype(float)
    return np.asarray(areas[areas >= SPOT_PX])


def _edge_width(image: Array, pupil: Ellipse) -> Array:
    """From 10 to 90 % of the step, in the median profile across the pupil's edge; empty where there is no step."""
    x, y = _across_edge(pupil)
    height, width = image.shape
    seen = (x.min(1) >= 0) & (y.min(1) >= 0) & (x.max(1) <= width - 1) & (y.max(1) <= height - 1)
    if np.count_nonzero(seen) < FEWEST_PROFILES:
        return np.empty(0)
    profile = np.median(cv2.remap(image, x[seen], y[seen], cv2.INTER_LINEAR), axis=0)
    low, high = profile[:EDGE_ENDS].mean(), profile[-EDGE_ENDS:].mean()
    if high - low < 1:
        return np.empty(0)
    step = (profile - low) / (high - low)
    return np.array([EDGE_PX[np.argmax(step > 0.9)] - EDGE_PX[np.flatnonzero(step < 0.1)[-1]]])


def _across_edge(pupil: Ellipse) -> tuple[Array, Array]:
    """Pixels x and y (90, n) along lines from the pupil's centre through its edge."""
    centre_x, centre_y, long, short, angle_deg = pupil
    around, turned = np.linspace(0, 2 * np.pi, 90, endpoint=False), np.radians(angle_deg)
    edge = np.exp(1j * turned) * (np.cos(around) * long + 1j * np.sin(around) * short) / 2
    points = complex(centre_x, centre_y) + edge[:, None] + (edge / np.abs(edge))[:, None] * EDGE_PX
    return points.real.astype(np.float32), points.imag.astype(np.float32)


def _spectrum_slope(image: Array) -> float:
    height, width = image.shape
    windowed = (image - image.mean()) * np.outer(np.hanning(height), np.hanning(width))
    power = np.abs(np.fft.rfft2(windowed)) ** 2
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width))
    rings = np.digitize(frequency.ravel(), FREQUENCIES)
    sums, counts = (np.bincount(rings, weights) for weights in (power.ravel(), None))
    mean = (sums / counts)[1 : len(FREQUENCIES)]
    middle = np.sqrt(FREQUENCIES[:-1] * FREQUENCIES[1:])
    return float(np.polyfit(np.log10(middle), np.log10(mean), 1)[0])


def _row(line: _Line, found: dict[str, Array]) -> Row:
    between = "–" if line.percentiles == RANGE else " / "
    texts = {
        name: between.join(_text(float(value)) for value in np.percentile(values, line.percentiles))
        for name, values in found.items()
    }
    return Row(line.quantity, line.device_a, line.device_b, line.ours.format_map(texts))


def _text(value: float) -> str:
    """Two digits or so, as in real-eyes.md: no zero before the point, a true minus."""
    size = round(abs(value), 4)
    steps = (10, 1, 0.1, 0.001)  # one more decimal below each
    digits = 0 if size == round(size) else sum(size < step for step in steps)
    text = f"{size:.{digits}f}"
    return ("−" if value < 0 else "") + (text[1:] if text.startswith("0.") else text)
