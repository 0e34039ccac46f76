"""Pictures for reports: eyes, masks laid over them, points on a plan. All are RGB, eight bits a channel.

Words in them are in one language, that of `words_drawn_in`: `write` puts them there, in letters that OpenCV brings.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.text import Text, in_language, say, say_as

Image = NDArray[np.uint8]
Colour = tuple[int, int, int]

# Okabe and Ito's colours, which people with any colour vision tell apart; the page and the figures use them too.
BLUE, SKY, GREEN = (0, 114, 178), (86, 180, 233), (0, 158, 115)
ORANGE, VERMILION, PURPLE = (230, 159, 0), (213, 94, 0), (204, 121, 167)
CLASS_COLOURS: Mapping[int, Colour] = {1: SKY, 2: ORANGE, 3: PURPLE}  # sclera, iris, pupil
DARK, AXIS, GRID, PAPER, BLANK = (60, 64, 70), (160, 165, 172), (225, 228, 232), (255, 255, 255), (205, 208, 212)
SIDE = 400  # pixels of a plan, as high as the eye pictures beside it
MARGIN = 10
TRUTH, ANSWER = say_as("picture", "truth"), say_as("picture", "answer")
_language: ContextVar[str] = ContextVar("language", default="en")


@contextmanager
def words_drawn_in(language: str) -> Iterator[None]:
    """Pictures and films that are made meanwhile have their words in this language."""
    before = _language.set(language)
    try:
        yield
    finally:
        _language.reset(before)


def write(
    image: Image, text: Text, at: tuple[int, int], colour: Colour = DARK, size: int = 20, weight: int = 400
) -> int:
    """Write a line, its letters `size` pixels high, from the left end of its base line; returns where it ends."""
    (end, _), _ = cv2.putText(image, _chosen(text), at, colour, _font(), size, weight)
    return int(end)


def written_px(text: Text, size: int = 20, weight: int = 400) -> int:
    """How wide a line comes out."""
    left, _, width, _ = cv2.getTextSize((1, 1), _chosen(text), (0, 0), _font(), size, weight)
    return int(left + width)


def wrapped(text: Text, width_px: int, size: int = 20) -> list[str]:
    """A text in lines of at most this width; Chinese may be parted between any two letters."""
    lines, line = [], ""
    for part in re.findall(r"[\u3000-\u9fff\uff00-\uffef]|[^\s\u3000-\u9fff\uff00-\uffef]+|\s+", _chosen(text)):
        if line and written_px((line + part).rstrip(), size) > width_px:
            lines.append(line.rstrip())
            line = ""
        line += part if line or part.strip() else ""
    return [*lines, line]


def shortened(text: Text, width_px: int, size: int = 20, weight: int = 400) -> str:
    """A line of at most this width, with an ellipsis where it was cut."""
    words = _chosen(text)
    if written_px(words, size, weight) <= width_px:
        return words
    while words and written_px(f"{words}…", size, weight) > width_px:
        words = words[:-1]
    return f"{words}…"


def _chosen(text: Text) -> str:
    return in_language(text, _language.get())


def _font() -> cv2.FontFace:
    return cv2.FontFace("sans")  # Latin, Greek and Chinese letters, whatever fonts a machine has


def read_image(file: Path, missing: Text = "") -> Image:
    """A picture from disk; where there is none, a grey card that says so, so that a report can go on."""
    if not file.is_file():
        return _card(missing or say("no picture in this data set"))
    image = cv2.imdecode(np.fromfile(file, np.uint8), cv2.IMREAD_COLOR) if file.stat().st_size else None
    if image is None:
        return _card(say("this picture cannot be read"))
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), np.uint8)


def beside(*images: Image, gap: int = 8) -> Image:
    """Pictures in a row, all as high as the first."""
    height = images[0].shape[0]
    spacer = np.full((height, gap, 3), PAPER, np.uint8)
    parts: list[Image] = []
    for image in images:
        parts += [spacer, _scaled(_rgb(image), height / image.shape[0], height)]
    return np.hstack(parts[1:])


def plane(points: Mapping[str, tuple[float, float]], half_width: float) -> Image:
    """A square plan, +x to the right and +y up: the truth as a green dot, the answer as an orange ring.

    A point beyond the plan is drawn where the line to it crosses the border; a missing or infinite one is left out.
    """
    image = np.full((SIDE, SIDE, 3), PAPER, np.uint8)
    _draw_grid(image)
    places = {name: _place(point, half_width) for name, point in points.items() if _is_point(point)}
    truth, answer = places.get("truth"), places.get("answer")
    if truth and answer:
        truth, answer = _clipped(truth, answer)
        cv2.line(image, truth, answer, DARK, 1, cv2.LINE_AA)
    if truth:
        _draw_truth(image, _inside(truth))
    if answer:
        _draw_answer(image, _inside(answer))
    _draw_legend(image, "answer" in points)
    return image


def overlay(image: Image, mask: NDArray[np.uint8], alpha: float = 0.45) -> Image:
    """A picture with the classes of a mask tinted and outlined."""
    painted = _rgb(image).copy()
    height, width = painted.shape[:2]
    if mask.shape != (height, width):
        mask = np.asarray(cv2.resize(mask, (width, height), interpolation=cv2.INTER_NEAREST), np.uint8)
    for number, colour in CLASS_COLOURS.items():
        inside = mask == number
        painted[inside] = (1 - alpha) * painted[inside] + alpha * np.array(colour)
        outlines, _ = cv2.findContours(inside.astype(np.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
        cv2.drawContours(painted, outlines, -1, colour, 2)
    return painted


def png(image: Image) -> bytes:
    """The picture as a PNG file."""
    done, data = cv2.imencode(".png", cv2.cvtColor(_rgb(image), cv2.COLOR_RGB2BGR))
    if not done:
        raise ValueError(f"a picture of shape {image.shape} cannot be written as PNG")
    return bytes(data)


def contact_sheet(images: Sequence[Image], columns: int, width: int, gap: int = 8) -> Image:
    """Pictures in rows of `columns`, the whole `width` pixels wide, on white."""
    cell = max((width - gap * (columns - 1)) // columns, 1)
    scaled = [_scaled(_rgb(image), cell / image.shape[1]) for image in images]
    rows = [scaled[start : start + columns] for start in range(0, len(scaled), columns)]
    heights = [max(image.shape[0] for image in row) for row in rows]
    sheet = np.full((max(sum(heights) + gap * (len(rows) - 1), 1), width, 3), PAPER, np.uint8)
    top = 0
    for row, height in zip(rows, heights, strict=True):
        for column, image in enumerate(row):
            left = column * (cell + gap)
            sheet[top : top + image.shape[0], left : left + image.shape[1]] = image
        top += height + gap
    return sheet


def at_most(image: Image, width: int) -> Image:
    """The picture, made smaller if it is wider than `width` pixels."""
    return image if image.shape[1] <= width else _scaled(_rgb(image), width / image.shape[1])


def _card(text: Text) -> Image:
    card, size = np.full((SIDE, 640, 3), BLANK, np.uint8), 24
    write(card, text, ((640 - written_px(text, size)) // 2, (SIDE + size) // 2), size=size)
    return card


def _rgb(image: Image) -> Image:
    return image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)


def _scaled(image: Image, factor: float, height: int | None = None) -> Image:
    """The picture `factor` times as large; `height` keeps rounding from making it a pixel taller or shorter."""
    size = (max(round(image.shape[1] * factor), 1), height or max(round(image.shape[0] * factor), 1))
    if size == (image.shape[1], image.shape[0]):
        return image
    # Only area averaging makes pictures smaller without noise from skipped pixels.
    how = cv2.INTER_AREA if factor < 1 else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, size, interpolation=how), np.uint8)


def _is_point(point: tuple[float | None, float | None]) -> bool:
    return all(value is not None and math.isfinite(value) for value in point)


def _place(point: tuple[float, float], half_width: float) -> tuple[int, int]:
    """The pixel of a point, no farther out than OpenCV's integers can follow."""
    scale = (SIDE / 2 - MARGIN) / half_width
    x, y = (max(min(value * scale, 1e6), -1e6) for value in point)
    return round(SIDE / 2 + x), round(SIDE / 2 - y)


def _clipped(a: tuple[int, int], b: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    inner = SIDE - 2 * MARGIN
    crosses, start, end = cv2.clipLine((MARGIN, MARGIN, inner, inner), a, b)
    return ((start[0], start[1]), (end[0], end[1])) if crosses else (_inside(a), _inside(b))


def _inside(place: tuple[int, int]) -> tuple[int, int]:
    x, y = (max(min(value, SIDE - 1 - MARGIN), MARGIN) for value in place)
    return x, y


def _draw_grid(image: Image) -> None:
    for step in range(9):
        at = MARGIN + round(step * (SIDE - 2 * MARGIN) / 8)
        colour = AXIS if step == 4 else GRID
        cv2.line(image, (at, MARGIN), (at, SIDE - MARGIN), colour, 1)
        cv2.line(image, (MARGIN, at), (SIDE - MARGIN, at), colour, 1)
    cv2.rectangle(image, (MARGIN, MARGIN), (SIDE - MARGIN, SIDE - MARGIN), DARK, 1)


def _draw_legend(image: Image, with_answer: bool) -> None:
    top = SIDE - MARGIN - 36
    cv2.rectangle(image, (MARGIN + 1, top), (MARGIN + 232, SIDE - MARGIN - 1), PAPER, cv2.FILLED)
    _draw_truth(image, (MARGIN + 18, top + 18))
    write(image, TRUTH, (MARGIN + 34, top + 25))
    if with_answer:
        _draw_answer(image, (MARGIN + 126, top + 18))
        write(image, ANSWER, (MARGIN + 144, top + 25))


def _draw_truth(image: Image, at: tuple[int, int]) -> None:
    cv2.circle(image, at, 7, GREEN, cv2.FILLED, cv2.LINE_AA)


def _draw_answer(image: Image, at: tuple[int, int]) -> None:
    cv2.circle(image, at, 9, VERMILION, 3, cv2.LINE_AA)
