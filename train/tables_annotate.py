"""How `palestra annotate` reads pictures of all kinds, and whether it knows when it cannot: for docs/annotate.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra import console, model_cards
from palestra.annotation.orientation import CLEAR, VOTES
from palestra.annotation.overlay import overlay, sheet
from palestra.eyes.reader.ellipses import Ellipse
from palestra.eyes.reader.read_eye import read, uprightness
from palestra.eyes.reader.settings import Settings
from palestra.eyes.simulator import optics
from palestra.eyes.simulator.renderer import Renderer
from palestra.eyes.simulator.scene import Look, draw_camera, draw_person
from palestra.metrics.angles import to_vectors
from train.tables_page import markdown
from train.tables_people import profile, stranger

MANY, FEW = 48, 24
FAR = 0.3  # of the pupil's long axis: a pupil whose middle is off by more is somewhere else
SHEET = Path("docs/images/annotate.jpg")
Image = NDArray[Any]


@dataclass(frozen=True)
class Try:
    """A picture and, where it shows an eye, what is true of it."""

    image: Image
    pupil: tuple[float, float, float] | None = None  # centre and long axis, px
    axis: tuple[float, float] | None = None  # yaw to the picture's right and pitch up, degrees


def eye(number: int, opening: tuple[float, float] = (0.8, 1.0)) -> Try:
    """A stranger before a device of their own; every fourth wears glasses."""
    rng = stranger(1, number)
    person, camera = draw_person(profile(rng, number % 4 == 0), rng), draw_camera(rng)
    gaze = to_vectors(rng.uniform(-18, 18), rng.uniform(-15, 12))
    look = Look(gaze, person.pupil_mm * rng.uniform(0.9, 1.3), rng.uniform(*opening))
    picture = Renderer(person, camera).render(look, rng)
    right, down, forward = camera.rotation @ optics.eye_rotation(person, gaze)[:, 2]
    axis = np.degrees(np.arctan2(right, -forward)), np.degrees(np.arctan2(-down, np.hypot(right, forward)))
    return Try(picture.image, picture.pupil and picture.pupil[:3], (float(axis[0]), float(axis[1])))


def eyes(count: int, **more: tuple[float, float]) -> list[Try]:
    return [eye(number, **more) for number in range(count)]


# ── The same eye in another picture. ──────────────────────────────────────────────────────────────────────────────────


def mirrored(one: Try) -> Try:
    pupil = one.pupil and (one.image.shape[1] - 1 - one.pupil[0], *one.pupil[1:])
    return Try(np.ascontiguousarray(one.image[:, ::-1]), pupil, one.axis and (-one.axis[0], one.axis[1]))


def upside_down(one: Try) -> Try:
    high, wide = one.image.shape
    pupil = one.pupil and (wide - 1 - one.pupil[0], high - 1 - one.pupil[1], one.pupil[2])
    axis = one.axis and (-one.axis[0], -one.axis[1])
    return Try(np.ascontiguousarray(one.image[::-1, ::-1]), pupil, axis)


def deep(one: Try) -> Try:
    return replace(one, image=one.image.astype(np.uint16) * 257)


def resized(one: Try, factor: float) -> Try:
    way = cv2.INTER_AREA if factor < 1 else cv2.INTER_LINEAR
    image = cv2.resize(one.image, None, fx=factor, fy=factor, interpolation=way)
    pupil = one.pupil and ((one.pupil[0] + 0.5) * factor - 0.5, (one.pupil[1] + 0.5) * factor - 0.5,
                           one.pupil[2] * factor)  # fmt: skip
    return Try(image, pupil, one.axis)


def cut(one: Try, width: int) -> Try:
    """A part as wide as that, around the pupil, with all rows."""
    middle = one.pupil[0] if one.pupil else one.image.shape[1] / 2
    left = int(np.clip(middle - width / 2, 0, one.image.shape[1] - width))
    pupil = one.pupil and (one.pupil[0] - left, *one.pupil[1:])
    return Try(np.ascontiguousarray(one.image[:, left : left + width]), pupil, one.axis)


def upright(one: Try) -> Try:
    """As other headsets send it: fewer columns, more rows; what no camera drew is a mirror image."""
    narrow = cut(one, 400)
    pupil = narrow.pupil and (narrow.pupil[0], narrow.pupil[1] + 120, narrow.pupil[2])
    return replace(narrow, image=cv2.copyMakeBorder(narrow.image, 120, 120, 0, 0, cv2.BORDER_REFLECT), pupil=pupil)


def blurred(one: Try, px: float) -> Try:
    return replace(one, image=cv2.GaussianBlur(one.image, None, px))


def two(number: int) -> Try:
    """As of a whole face: two eyes side by side."""
    left, right = (resized(some, 0.5).image for some in (eye(number), mirrored(eye(number + 100))))
    return Try(np.hstack([left, right]))


# ── No eye at all. ────────────────────────────────────────────────────────────────────────────────────────────────────


def _skin(rng: np.random.Generator, image: Image) -> Image:
    return cv2.resize(image[:100, :160], (640, 400), interpolation=cv2.INTER_CUBIC)


def _pieces(rng: np.random.Generator, image: Image) -> Image:
    pieces = image.reshape(5, 80, 8, 80).transpose(0, 2, 1, 3).reshape(40, 80, 80)
    return np.ascontiguousarray(rng.permutation(pieces).reshape(5, 8, 80, 80).transpose(0, 2, 1, 3).reshape(400, 640))


def _noise(rng: np.random.Generator, image: Image) -> Image:
    return rng.integers(0, 256, (400, 640)).astype(np.uint8)


def _clouds(rng: np.random.Generator, image: Image) -> Image:
    soft = cv2.resize(rng.normal(size=(7, 11)), (640, 400), interpolation=cv2.INTER_CUBIC)
    return np.clip(120 + 50 * soft, 0, 255).astype(np.uint8)


def _slope(rng: np.random.Generator, image: Image) -> Image:
    across, down = rng.uniform(-100, 100, 2)
    x, y = np.linspace(-1, 1, 640)[None], np.linspace(-1, 1, 400)[:, None]
    return np.clip(128 + across * x + down * y, 0, 255).astype(np.uint8)


def _text(rng: np.random.Generator, image: Image) -> Image:
    page = np.full((400, 640), 235, np.uint8)
    for line in range(12):
        letters = "".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz "), 34))
        cv2.putText(page, letters, (20, 30 + 32 * line), cv2.FONT_HERSHEY_SIMPLEX, 0.9, 30, 2, cv2.LINE_AA)
    return page


def _circles(rng: np.random.Generator, image: Image) -> Image:
    page = np.full((400, 640), 170, np.uint8)
    for _ in range(12):
        place = int(rng.integers(640)), int(rng.integers(400))
        cv2.circle(page, place, int(rng.integers(8, 60)), int(rng.integers(20, 240)), -1, cv2.LINE_AA)
    return page


def _rings(rng: np.random.Generator, image: Image) -> Image:
    page, middle = np.full((400, 640), 150, np.uint8), (int(rng.integers(200, 440)), int(rng.integers(120, 280)))
    for radius in range(150, 0, -int(rng.integers(12, 30))):
        cv2.circle(page, middle, radius, int(rng.integers(20, 240)), -1, cv2.LINE_AA)
    return page


NO_EYES = (_skin, _pieces, _noise, _clouds, _slope, _text, _circles, _rings)


def nothing(count: int) -> list[Try]:
    """As many of each kind."""
    return [Try(kind(stranger(2, number), eye(number).image)) for kind in NO_EYES for number in range(count)]


# ── The table. ────────────────────────────────────────────────────────────────────────────────────────────────────────

ROWS: dict[str, Callable[[], Iterable[Try]]] = {
    "open eyes at 640 × 400, a quarter with glasses": lambda: eyes(MANY),
    "mirrored": lambda: map(mirrored, eyes(FEW)),
    "upside down": lambda: map(upside_down, eyes(FEW)),
    "in 16 bit": lambda: map(deep, eyes(FEW)),
    "at 200 × 125": lambda: (resized(one, 0.3125) for one in eyes(FEW)),
    "at 80 × 50": lambda: (resized(one, 0.125) for one in eyes(FEW)),
    "square, 400 × 400": lambda: (cut(one, 400) for one in eyes(FEW)),
    "upright, 400 × 640": lambda: (upright(one) for one in eyes(FEW)),
    "too near, 400 × 640": lambda: (cut(resized(one, 1.6), 400) for one in eyes(FEW)),
    "blurred by 3 px": lambda: (blurred(one, 3) for one in eyes(FEW)),
    "blurred by 6 px": lambda: (blurred(one, 6) for one in eyes(FEW)),
    "blurred by 12 px": lambda: (blurred(one, 12) for one in eyes(FEW)),
    "lids half closed": lambda: eyes(FEW, opening=(0.4, 0.55)),
    "closed eyes": lambda: eyes(FEW, opening=(0.0, 0.0)),
    "two eyes": lambda: map(two, range(FEW)),
    "no eye: skin, eyes in pieces, noise, clouds, slopes, text, circles, rings": lambda: nothing(FEW // 2),
}


HEAD = ["pictures", "how many", "sure of the pupil", "far off among these", "its centre off, px", "its long axis off",
        "sure of the gaze", "the eye's axis off"]  # fmt: skip


def tables(work: Path, size: str) -> dict[str, str]:
    found = []
    with console.progress("annotating", len(ROWS)) as advance:
        for tries in ROWS.values():
            found.append(outcome(list(tries())))
            advance(1)
    if size == "paper":
        draw_sheet(SHEET)
        model_cards.stamp("eye_reader", scores=found[0].scores())
    return {"annotate": markdown(HEAD, [[title, *one.cells()] for title, one in zip(ROWS, found, strict=True)])}


def draw_sheet(file: Path) -> None:
    """As `palestra annotate` makes it, of some of these pictures."""
    shown = [*(eye(number) for number in range(6)), resized(eye(6), 0.25), cut(eye(7), 400), eye(8, (0.4, 0.5)),
             eye(2, (0.0, 0.0)), two(3), nothing(1)[3]]  # fmt: skip
    cells = []
    for number, one in enumerate(shown, 1):
        reading = read(one.image)
        cells.append((f"eye-{number:02}.png", overlay(one.image, reading), reading.sure, "; ".join(reading.why)))
    cv2.imwrite(str(file), sheet(cells)[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 88])


@dataclass(frozen=True)
class Outcome:
    """How many pictures are read for sure, and how far off those are."""

    tries: int
    sure: int  # of the pupil
    far: int  # of these: off by more than FAR of the iris's width, or no open eye at all
    pupil: NDArray[np.float64]  # (2, 2), or nothing: 50 and 95 % of how far centre and long axis are off
    gaze_sure: int
    axis: NDArray[np.float64]  # (2,), or nothing

    def cells(self) -> list[str]:
        first = [str(self.tries), f"{self.sure / self.tries:.0%}", str(self.far)]
        centre, long = (f"{half:.1f} / {most:.1f}" for half, most in self.pupil.T) if len(self.pupil) else ("", "")
        axis = "{:.1f} / {:.1f}°".format(*self.axis) if len(self.axis) else ""
        return [*first, centre, long and f"{long} %", f"{self.gaze_sure / self.tries:.0%}", axis]

    def scores(self) -> dict[str, float]:
        named = {"sure": self.sure / self.tries, "gaze_sure": self.gaze_sure / self.tries}
        for share, (centre, long), axis in zip((50, 95), self.pupil, self.axis, strict=True):
            named |= {f"pupil_px_p{share}": centre, f"pupil_percent_p{share}": long, f"axis_deg_p{share}": axis}
        return {name: round(float(value), 4) for name, value in named.items()}


def outcome(tries: list[Try]) -> Outcome:
    """As of the pictures of one folder, which is read the way up that its pictures vote for."""
    votes = [uprightness(one.image) for one in tries[:VOTES]]
    settings = Settings(upside_down=sum(votes) < CLEAR * len(votes))
    pairs = [(one, read(one.image, settings)) for one in tries]
    sure = [(one, reading.pupil) for one, reading in pairs if reading.pupil]
    off = [pupil_off(one.pupil, found) for one, found in sure if one.pupil]
    far = sum(one.pupil is None or pupil_off(one.pupil, found)[0] > FAR * found.long for one, found in sure)
    axes = [axis_off_deg(one.axis, reading.gaze_deg) for one, reading in pairs if one.axis and reading.gaze_deg]
    gaze_sure = sum(reading.gaze_deg is not None for _, reading in pairs)
    return Outcome(len(tries), len(sure), far, _spread(off), gaze_sure, _spread(axes))


def _spread(values: list[Any]) -> NDArray[np.float64]:
    return np.percentile(np.array(values), [50, 95], axis=0) if values else np.zeros(0)


def pupil_off(true: tuple[float, float, float], found: Ellipse) -> tuple[float, float]:
    return float(np.hypot(found.x - true[0], found.y - true[1])), 100 * abs(found.long / true[2] - 1)


def axis_off_deg(true: tuple[float, float], found: tuple[float, float]) -> float:
    a, b = to_vectors(*true), to_vectors(*found)
    return float(np.degrees(np.arccos(np.clip(a @ b, -1, 1))))
