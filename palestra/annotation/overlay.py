"""What was read of an eye, drawn onto its picture, with a line of words below it."""

import math
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.eyes.reader.ellipses import Ellipse
from palestra.eyes.reader.image_input import grey
from palestra.eyes.reader.read_eye import Reading
from palestra.report import CLASS_COLOURS, GREEN, Colour, Image, contact_sheet, shortened, write, written_px
from palestra.text import Text, joined, message, say

NARROWEST, WIDEST = 640, 1280  # pixels that an overlay is wide
TINT = 0.30
BAR, BAR_INK, SURE, UNSURE = (28, 31, 36), (236, 238, 241), (76, 196, 140), (240, 176, 60)
HALO = (18, 20, 24)
BAR_SHARE = 0.05  # of the width, how high the line of words is
CELL, COLUMNS = (392, 245), 4  # of a contact sheet
FINE = 4  # bits behind the point in which OpenCV takes places
TAG_PX = 14  # of the letters on a contact sheet
REASONS = {
    "too small": message("too small", "eye"),
    "too dark": message("too dark", "eye"),
    "too bright": message("too bright", "eye"),
    "no contrast": message("no contrast", "eye"),
    "no eye found": message("no eye found", "eye"),
    "two eyes": message("two eyes", "eye"),
    "eye closed": message("eye closed", "eye"),
    "upside down": message("upside down", "eye"),
    "pupil covered": message("pupil covered", "eye"),
    "iris covered": message("iris covered", "eye"),
    "not the shape of an eye": message("not the shape of an eye", "eye"),
    "too near": message("too near", "eye"),
    "hard to tell apart": message("hard to tell apart", "eye"),
    "readings disagree": message("readings disagree", "eye"),
    "gaze uncertain": message("gaze uncertain", "eye"),
    "out of focus": message("out of focus", "eye"),
    "cannot be read": message("cannot be read", "eye"),
    "empty file": message("empty file", "eye"),
    "not a picture": message("not a picture", "eye"),
    "damaged file": message("damaged file", "eye"),
    "too large": message("too large", "eye"),
    "too narrow": message("too narrow", "eye"),
}


def overlay(image: NDArray[np.generic], reading: Reading) -> Image:
    """The picture with mask, ellipses and gaze, large enough to be seen, and what they come to in words below."""
    width = image.shape[1]
    factor = min(max(width, NARROWEST), WIDEST) / width
    shown = _resized(_colours(image), factor)
    _tint(shown, reading.mask)
    line = max(round(shown.shape[1] / 480), 1)
    for found, number in ((reading.iris, 2), (reading.pupil, 3)):
        if found:
            _draw_ellipse(shown, found.scaled(factor), CLASS_COLOURS[number], line)
    for glint in reading.glints:
        _draw_glint(shown, glint, factor, line)
    if reading.pupil and reading.gaze_deg:
        across = reading.iris.long if reading.iris else 3 * reading.pupil.long
        _draw_gaze(shown, reading.pupil.scaled(factor), across * factor, reading.gaze_deg)
    return np.vstack([shown, _bar(shown.shape[1], *_words(reading))])


def without_bar(overlaid: Image) -> Image:
    return overlaid[: overlaid.shape[0] - _bar_px(overlaid.shape[1])]


def sheet(cells: Sequence[tuple[str, Image, bool, str]]) -> Image:
    """Overlays in rows: name, overlay, whether it is sure, and why not."""
    return contact_sheet([_cell(*cell) for cell in cells], COLUMNS, COLUMNS * (CELL[0] + 8) - 8)


def _colours(image: NDArray[np.generic]) -> Image:
    """RGB, eight bits; grey where the picture is deep or transparent, as that is what was looked at."""
    if image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3:
        return np.ascontiguousarray(np.asarray(image, np.uint8)[:, :, ::-1])
    return np.repeat(np.clip(grey(image), 0, 255).astype(np.uint8)[:, :, None], 3, axis=2)


def _resized(image: Image, factor: float) -> Image:
    size = round(image.shape[1] * factor), max(round(image.shape[0] * factor), 1)
    how = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(image, size, interpolation=how), np.uint8)


def _tint(shown: Image, mask: NDArray[np.uint8]) -> None:
    """Soft-edged colours: a mask of a small picture would show its steps."""
    size = shown.shape[1], shown.shape[0]
    for number, colour in CLASS_COLOURS.items():
        part = (mask == number).astype(np.float32)
        if not part.any():
            continue
        share = np.asarray(cv2.resize(part, size, interpolation=cv2.INTER_LINEAR))[:, :, None] * np.float32(TINT)
        shown[:] = shown * (1 - share) + share * np.array(colour, np.float32)
    eye = cv2.resize((mask > 0).astype(np.float32), size, interpolation=cv2.INTER_LINEAR) > 0.5
    outlines, _ = cv2.findContours(eye.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    cv2.polylines(shown, list(outlines), True, CLASS_COLOURS[1], max(round(size[0] / 640), 1), cv2.LINE_AA)


def _draw_ellipse(shown: Image, ellipse: Ellipse, colour: Colour, line: int) -> None:
    centre = _fine(ellipse.x, ellipse.y)
    axes = _fine(ellipse.long / 2, ellipse.short / 2)
    for ink, thick in ((HALO, line + 2), (colour, line)):
        cv2.ellipse(shown, centre, axes, ellipse.angle_deg, 0, 360, ink, thick, cv2.LINE_AA, FINE)


def _draw_glint(shown: Image, glint: tuple[float, float], factor: float, line: int) -> None:
    x, y = ((place + 0.5) * factor - 0.5 for place in glint)
    for ink, thick in ((HALO, line + 2), (SURE, line)):
        cv2.circle(shown, _fine(x, y), _fine(5 * line, 0)[0], ink, thick, cv2.LINE_AA, FINE)


def _draw_gaze(shown: Image, pupil: Ellipse, iris_px: float, gaze_deg: tuple[float, float]) -> None:
    """The optical axis as it comes out of the pupil; a dot where it comes straight at whoever looks."""
    yaw, pitch = np.radians(gaze_deg)
    way = np.array([math.sin(yaw) * math.cos(pitch), -math.sin(pitch)]) * 1.8 * iris_px
    line = max(round(shown.shape[1] / 260), 2)
    start = np.array([pupil.x, pupil.y])
    end, long = start + way, float(np.linalg.norm(way))
    for ink, more in ((HALO, 2), (GREEN, 0)):
        cv2.circle(shown, _fine(*start), _fine(1.6 * line + more / 2, 0)[0], ink, cv2.FILLED, cv2.LINE_AA, FINE)
        if long > 6 * line:
            cv2.line(shown, _fine(*start), _fine(*(end - way / long * 3 * line)), ink, line + more, cv2.LINE_AA, FINE)
            cv2.fillConvexPoly(shown, _head(end, way / long, 4.5 * line + more), ink, cv2.LINE_AA, FINE)


def _head(tip: NDArray[np.float64], way: NDArray[np.float64], size: float) -> NDArray[np.int32]:
    """The point of an arrow."""
    side = np.array([-way[1], way[0]])
    corners = [
        tip + 0.2 * size * way,
        tip - 0.9 * size * way + 0.5 * size * side,
        tip - 0.9 * size * way - 0.5 * size * side,
    ]
    return np.asarray(np.round(np.array(corners) * 2**FINE), np.int32)


def _fine(x: float, y: float) -> tuple[int, int]:
    return round(x * 2**FINE), round(y * 2**FINE)


def reason(why: str) -> Text:
    """What the table says is wrong, as people read it; the numbers behind a colon stay in the table."""
    known = why.partition(":")[0]
    return say(REASONS[known]) if known in REASONS else why


def _words(reading: Reading) -> tuple[Text, Colour, Text]:
    """A tag, its colour, and what there is to tell: every quantity that is sure, and why the others are not."""
    told: list[Text] = []
    if reading.gaze_deg:
        (yaw, pitch) = reading.gaze_deg
        told.append(say("gaze {sideways}, {upwards}", sideways=_sideways(yaw), upwards=_upwards(pitch)))
    if pupil := reading.pupil:
        told.append(say("pupil {long:.0f} × {short:.0f} px", long=pupil.long, short=pupil.short))
    if iris := reading.iris:
        told.append(say("iris {long:.0f} × {short:.0f} px", long=iris.long, short=iris.short))
    if told and reading.opening is not None:
        told.append(say("lids {share:.0f} % open", share=100 * reading.opening))
    if reading.why:
        told.append(joined(map(reason, reading.why)))
    tag, colour = (say("unsure"), UNSURE)
    if reading.sure:
        tag, colour = say("sure {certainty:.2f}", certainty=reading.certainty), SURE
    return tag, colour, joined(told, "    ")


def _sideways(yaw: float) -> Text:
    if yaw >= 0:
        return say("{degrees:.0f}° right", degrees=yaw)
    return say("{degrees:.0f}° left", degrees=-yaw)


def _upwards(pitch: float) -> Text:
    if pitch >= 0:
        return say("{degrees:.0f}° up", degrees=pitch)
    return say("{degrees:.0f}° down", degrees=-pitch)


def _bar_px(width: int) -> int:
    return round(BAR_SHARE * width)


def _bar(width: int, tag: Text, colour: Colour, words: Text) -> Image:
    height = _bar_px(width)
    bar = np.full((height, width, 3), BAR, np.uint8)
    size, base, margin = round(0.5 * height), round(0.68 * height), round(0.45 * height)
    after = write(bar, tag, (margin, base), colour, size, 650)
    room = width - margin - (after + margin)
    size = min(size, max(round(size * room / max(written_px(words, size, 400), 1)), 8))
    write(bar, words, (after + margin, base), BAR_INK, size, 400)
    return bar


def _cell(name: str, overlaid: Image, sure: bool, why: str) -> Image:
    """One picture of a contact sheet, on a card that is the same for all."""
    picture, strip = without_bar(overlaid), 26
    card = np.full((CELL[1] + strip, CELL[0], 3), BAR, np.uint8)
    factor = min(CELL[0] / picture.shape[1], CELL[1] / picture.shape[0])
    small = _resized(picture, factor)[: CELL[1], : CELL[0]]
    top, left = (CELL[1] - small.shape[0]) // 2, (CELL[0] - small.shape[1]) // 2
    card[top : top + small.shape[0], left : left + small.shape[1]] = small
    reasons = joined(map(reason, why.split("; "))) if why else say("unsure")
    tag, colour = (say("sure"), SURE) if sure else (reasons, UNSURE)
    short = shortened(tag, CELL[0] // 2, TAG_PX, 600)
    at = CELL[0] - 10 - written_px(short, TAG_PX, 600)
    write(card, short, (at, CELL[1] + 18), colour, TAG_PX, 600)
    write(card, shortened(name, at - 20, TAG_PX), (10, CELL[1] + 18), BAR_INK, TAG_PX)
    return card
