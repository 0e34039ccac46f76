"""Frames of EYEDIAP as the report's figure 5 has them: VGA, HD around the head and depth, with what was tracked."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.metrics.transforms import Camera, Head, Pose, World
from palestra.records import Film
from palestra.report import (
    BLANK,
    BLUE,
    DARK,
    GREEN,
    ORANGE,
    PAPER,
    SKY,
    VERMILION,
    Colour,
    beside,
    write,
    written_px,
)
from palestra.text import Text, Words, joined, say, say_as
from palestra.tracks.remote_gaze import eyediap

Image = NDArray[np.uint8]
Floats = NDArray[np.float64]

WIDTH, HEIGHT = 640, 480  # of a panel
AXIS_M, AHEAD_M = 0.05, 0.13  # of the head's axes, and how far before its origin they stand, to be seen
NEAR_M = 0.05  # rays end this far before a camera: what is behind it has no place in its picture
BALL_M = 0.02  # the ball's radius
SHOWN_M = (0.4, 1.8)  # near is white, far is black
SCREEN = (1340, 740)  # pixels of the screen that people looked at
STRIP = 34  # pixels of the words under the pictures
LETTER_PX = 17
STATES: dict[str, Text] = {"OK": "OK", "BK": say_as("label", "blink"), "NL": say("not looking")}
TITLES: dict[str, Text] = {"rgb_vga": "VGA", "rgb_hd": "HD", "depth": say_as("camera", "depth")}


@dataclass(frozen=True)
class Panel:
    """A camera's picture, or a part of it, and where points of the world are on it."""

    image: Image
    camera: Camera
    corner: tuple[float, float] = (0.0, 0.0)  # of the part, in the camera's pixels
    scale: float = 1.0

    def at(self, points: Floats) -> Floats:
        return (np.asarray(self.camera.project(World(points))) - self.corner) * self.scale


def picture(data: Path, session: eyediap.Name, frame: int, answered: Floats | None = None) -> Image:
    """One frame of a recording, with the lines of sight that somebody answered: (eyes, origin and direction, 3)."""
    with Drawing(data, session) as drawing:
        return drawing.frame(frame, answered)


def film(data: Path, session: eyediap.Name) -> Film:
    """A whole recording."""
    return Film(_pictures(data, session), eyediap.RATE_HZ)


def _pictures(data: Path, session: eyediap.Name) -> Iterator[Image]:
    with Drawing(data, session) as drawing:
        for frame in range(drawing.table.height):
            yield drawing.frame(frame)


class Drawing(contextlib.ExitStack):
    """A recording that is being looked at: its numbers, and its videos open."""

    def __init__(self, data: Path, session: eyediap.Name) -> None:
        super().__init__()
        self.session, self.table = session, eyediap.frames(data, session)
        there = [which for which in eyediap.VIDEOS if eyediap.has_video(data, session, which)]
        self.videos = {which: self.enter_context(eyediap.video(data, session, which)) for which in there}
        # Where there is no video at all, what was tracked is drawn on a blank picture.
        self.cameras = {which: eyediap.camera(data, session, which) for which in there or eyediap.VIDEOS[:1]}
        self.model = eyediap.depth_model(data, session) if "depth" in there else None

    def frame(self, index: int, answered: Floats | None = None) -> Image:
        if not 0 <= index < self.table.height:
            raise IndexError(f"{self.session}: frame {index} of {self.table.height}")
        row = self.table.row(index, named=True)
        panels = [self._panel(which, index, row) for which in self.cameras]
        for panel in panels:
            _draw_tracked(panel, row, ball=not self.session.on_screen)
            for line in answered if answered is not None else ():
                _draw_answer(panel, line, row)
        if row["sx"] is not None:
            _draw_screen(panels[0].image, (row["sx"], row["sy"]))
        for panel, which in zip(panels, self.cameras, strict=True):
            _title(panel.image, TITLES[which])
        return _with_words(beside(*(panel.image for panel in panels)), self._words(index, row))

    def _panel(self, which: eyediap.Which, index: int, row: Mapping[str, Any]) -> Panel:
        camera, video = self.cameras[which], self.videos.get(which)
        shown = np.full((camera.height, camera.width, 3), BLANK, np.uint8) if video is None else video[index]
        if which == "depth" and self.model is not None:
            shown = _grey(shown, self.model)
        if which == "rgb_hd":
            return _around(shown, camera, _middle(row))
        return _fitted(shown, camera)

    def _words(self, index: int, row: Mapping[str, Any]) -> Words:
        told: list[Text] = [str(self.session), say("frame {number}", number=index)]
        if row["state"]:
            told.append(STATES[row["state"]])
        if row["tx"] is None:
            told.append(say("no head found"))
        return joined(told, "   ")


def _grey(shown: Image, model: eyediap.DepthModel) -> Image:
    """Metres as grey, black where nothing came back; the frame's number stays white."""
    metres = eyediap.depth_m(eyediap.disparity_of(shown), model)
    near, far = SHOWN_M
    grey = np.nan_to_num(np.clip((far - metres) / (far - near), 0.05, 1.0) * 255).astype(np.uint8)
    grey[shown[..., 0] != 0] = 255
    return np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2RGB), np.uint8)


# --- where things are


def _points(row: Mapping[str, Any], columns: tuple[str, ...]) -> Floats | None:
    """Points of a row, (points, 3); None where they are not known."""
    if row[columns[0]] is None:
        return None
    return np.array([row[column] for column in columns], np.float64).reshape(-1, 3)


def _middle(row: Mapping[str, Any]) -> Floats | None:
    """Between the eyes."""
    eyes = _points(row, eyediap.EYES)
    return None if eyes is None else eyes.mean(axis=0)


def _fitted(image: Image, camera: Camera) -> Panel:
    """A whole picture in a panel's size."""
    scale = min(WIDTH / camera.width, HEIGHT / camera.height)
    canvas = np.full((HEIGHT, WIDTH, 3), BLANK, np.uint8)
    resized = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_LINEAR)
    canvas[: resized.shape[0], : resized.shape[1]] = resized[:HEIGHT, :WIDTH]
    return Panel(canvas, camera, scale=scale)


def _around(image: Image, camera: Camera, middle: Floats | None) -> Panel:
    """A panel's size of a picture, pixel by pixel, around a point of the world, or around the picture's middle."""
    if camera.width < WIDTH or camera.height < HEIGHT:
        return _fitted(image, camera)
    x, y = (camera.width / 2, camera.height / 2) if middle is None else camera.project(World(middle))
    left = int(np.clip(x - WIDTH / 2, 0, camera.width - WIDTH))
    top = int(np.clip(y - HEIGHT / 2, 0, camera.height - HEIGHT))
    return Panel(image[top : top + HEIGHT, left : left + WIDTH].copy(), camera, (left, top))


# --- what is drawn


def _draw_tracked(panel: Panel, row: Mapping[str, Any], ball: bool) -> None:
    eyes, target, pose = (_points(row, columns) for columns in (eyediap.EYES, eyediap.TARGET, eyediap.POSE))
    if eyes is not None and target is not None:
        for eye in eyes:
            _draw_ray(panel, eye, target[0])
    if target is not None and ball:
        _draw_ball(panel, target[0])
    if pose is not None:
        _draw_axes(panel, Pose(pose[:3], pose[3]))
    for eye in panel.at(eyes) if eyes is not None else ():
        _draw_cross(panel.image, eye)


def _draw_answer(panel: Panel, line: Floats, row: Mapping[str, Any]) -> None:
    """An answered line, as long as the way to the target."""
    origin, sight = line
    target, length = _points(row, eyediap.TARGET), float(np.linalg.norm(sight))
    if np.isfinite(line).all() and length > 0:
        far = 0.5 if target is None else float(np.linalg.norm(target[0] - origin))
        _draw_ray(panel, origin, origin + sight * (far / length), BLUE)


def _draw_ray(panel: Panel, eye: Floats, target: Floats, colour: Colour = ORANGE) -> None:
    """From an eye to the target, or to where the ray passes the camera."""
    depths = np.asarray(panel.camera.pose.back()(World(np.stack([eye, target]))))[:, 2]
    if depths[0] <= NEAR_M:
        return
    share = 1.0 if depths[1] >= NEAR_M else (depths[0] - NEAR_M) / (depths[0] - depths[1])
    ends = panel.at(np.stack([eye, eye + share * (target - eye)]))
    _draw_line(panel.image, ends[0], ends[1], colour, 2)


def _draw_ball(panel: Panel, target: Floats) -> None:
    centre = panel.at(target)
    if not np.isfinite(centre).all():
        return
    depth = float(np.asarray(panel.camera.pose.back()(World(target)))[2])
    radius = BALL_M * panel.camera.intrinsics[0, 0] * panel.scale / depth
    for colour, thickness in ((DARK, 3), (ORANGE, 2)):
        cv2.circle(panel.image, _pixel(centre), max(round(radius), 3), colour, thickness, cv2.LINE_AA)


def _draw_axes(panel: Panel, head: Pose[Head, World]) -> None:
    origin = np.array([0.0, 0.0, AHEAD_M])
    points = panel.at(np.asarray(head(Head(origin + AXIS_M * np.vstack([np.zeros(3), np.eye(3)])))))
    for tip, name, colour in zip(points[1:], "xyz", (VERMILION, GREEN, BLUE), strict=True):
        _draw_line(panel.image, points[0], tip, colour, 2)
        if np.isfinite(tip).all():
            _write(panel.image, name, _pixel(tip + (4, 4)), colour)


def _draw_cross(image: Image, at: Floats) -> None:
    for reach in ((6, 0), (0, 6)):
        _draw_line(image, at - reach, at + reach, SKY, 2)


def _draw_screen(image: Image, at: tuple[float, float]) -> None:
    """The screen, small, in the lower right corner, and the point on it."""
    scale = 0.1
    width, height = (round(side * scale) for side in SCREEN)
    left, top = WIDTH - width - 8, HEIGHT - height - 8
    cv2.rectangle(image, (left, top), (left + width, top + height), PAPER, cv2.FILLED)
    cv2.rectangle(image, (left, top), (left + width, top + height), DARK, 1)
    place = _pixel(np.array([left, top]) + scale * np.array(at))
    cv2.circle(image, place, 4, ORANGE, cv2.FILLED, cv2.LINE_AA)


def _draw_line(image: Image, start: Floats, end: Floats, colour: Colour, thickness: int) -> None:
    """A line with a dark rim, so that it is seen before anything; nothing where an end has no place."""
    if not (np.isfinite(start).all() and np.isfinite(end).all()):
        return
    crosses, first, last = cv2.clipLine((-20, -20, WIDTH + 40, HEIGHT + 40), _pixel(start), _pixel(end))
    if crosses:
        cv2.line(image, first, last, DARK, thickness + 2, cv2.LINE_AA)
        cv2.line(image, first, last, colour, thickness, cv2.LINE_AA)


def _pixel(place: Floats) -> tuple[int, int]:
    """No farther out than OpenCV's integers can follow."""
    x, y = np.clip(place, -1e6, 1e6)
    return round(float(x)), round(float(y))


def _with_words(image: Image, words: Text) -> Image:
    strip = np.full((STRIP, image.shape[1], 3), PAPER, np.uint8)
    write(strip, words, (8, 24))
    return np.vstack([image, strip])


def _title(image: Image, words: Text) -> None:
    _write(image, words, (WIDTH - written_px(words, LETTER_PX) - 10, 22), PAPER)


def _write(image: Image, words: Text, at: tuple[int, int], colour: Colour) -> None:
    """With a dark rim, so that it is seen before anything."""
    for right, down in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        write(image, words, (at[0] + right, at[1] + down), DARK, LETTER_PX)
    write(image, words, at, colour, LETTER_PX)
