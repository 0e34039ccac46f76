"""A head before cameras: what a colour camera and a depth camera see of a person who looks somewhere."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from palestra.metrics.transforms import Camera, Head, Pose, World
from palestra.tracks.remote_gaze.simulator.ball import draw_ball, put_ball
from palestra.tracks.remote_gaze.simulator.eyes import Layer, Light, Sight, draw_eye, optical_axis
from palestra.tracks.remote_gaze.simulator.maps import Map
from palestra.tracks.remote_gaze.simulator.motion import NECK_M, Motion
from palestra.tracks.remote_gaze.simulator.person import Person
from palestra.tracks.remote_gaze.simulator.room import Lighting, Room, stand
from palestra.tracks.remote_gaze.simulator.shape import Surface
from palestra.tracks.remote_gaze.simulator.stage import UP
from palestra.tracks.remote_gaze.simulator.view import Box, Met, View, gap_at, meet

Picture = npt.NDArray[np.uint8]

HIDDEN_M = 0.006  # skin this much before the lids hides them


@dataclass(frozen=True)
class Look:
    """What changes from frame to frame."""

    head: Pose[Head, World]
    gaze: World  # (2, 3) unit: the visual axes of the left and the right eye
    opening: float = 1.0  # of the lids
    pupil_mm: float = 3.4
    ball: World | None = None  # (3,) its middle


def look_at(motion: Motion, frame: int) -> Look:
    """What a recording shows in a frame."""
    return Look(
        head=Pose(motion.rotations[frame], motion.translations[frame]),
        gaze=World(motion.gaze[frame]),
        opening=float(motion.opening[frame]),
        pupil_mm=float(motion.pupil_mm[frame]),
        ball=None if motion.pixels is not None else World(motion.target[frame]),
    )


class Renderer:
    """One camera before one person in one room."""

    def __init__(self, person: Person, surface: Surface, room: Room, camera: Camera, seat: World) -> None:
        """`seat` is where the head is at rest."""
        self.person, self.surface, self.camera, self.lighting = person, surface, camera, room.lighting
        still = stand(camera, room, person, World(seat + NECK_M), UP)
        self._still = _levels(still.light)
        self._still_far = still.far_m
        self._red = np.ascontiguousarray(surface.albedo[..., 0])
        self._noise = _noise_bank(camera, room.lighting.noise)
        self._sharp = max(1, round(camera.width / 640))

    def picture(self, look: Look, rng: np.random.Generator) -> Picture:
        """(h, w, 3) red, green and blue. The generator gives the camera's noise and nothing else."""
        image = self._still.copy()
        view = View.of(self.camera, look.head)
        box = self._box(view)
        if not box.empty:
            met, first = meet(self.surface, view, box, coarse=2 * self._sharp)
            self._paint(image, view, box, look, (met, first))
        if look.ball is not None:
            draw_ball(image, self.camera, look.ball, self.lighting, UP)
        self._add_noise(image, rng)
        return image

    def depth_m(self, look: Look) -> tuple[Map, Map]:
        """(h, w) metres along the camera's axis, and how much of a sensor's light each place sends back."""
        far, bright = self._still_far.copy(), np.ones_like(self._still_far)
        view = View.of(self.camera, look.head)
        box = self._box(view)
        if not box.empty:
            met, _ = meet(self.surface, view, box, coarse=2 * self._sharp)
            inside, reflects = far[box.slices], bright[box.slices]
            nearer = (self._cover(met) > 0.5) & (met.far_m < inside)
            np.copyto(inside, met.far_m, where=nearer)
            red = cv2.remap(self._red, *met.spots, cv2.INTER_NEAREST)
            np.copyto(reflects, np.asarray(red, np.float32), where=nearer)
        if look.ball is not None:
            put_ball(far, bright, self.camera, look.ball)
        return far, bright

    def _box(self, view: View) -> Box:
        return view.box(self.surface.corners_m)

    def _cover(self, met: Met) -> Map:
        """How much of each pixel the head covers. Thin gaps, as where hair stands off a cheek, are closed."""
        pixel_m = met.far_m / np.float32(self.camera.intrinsics[0, 0])
        cover = np.clip(np.float32(1.1) - met.gap_m / pixel_m, 0, 1)
        kernel = np.ones((4 * self._sharp + 1, 4 * self._sharp + 1), np.uint8)
        return np.asarray(cv2.morphologyEx(cover, cv2.MORPH_CLOSE, kernel), np.float32)

    def _paint(self, image: Picture, view: View, box: Box, look: Look, mets: tuple[Met, Met]) -> None:
        met, first = mets
        shadow = self._shadow(view, first, met.far_m.shape)
        colour = _shaded(self.surface, met, view, self.lighting, shadow)
        for which in (0, 1):
            self._add_eye(colour, box, met, self._eye(which, view, look))
        cover = self._cover(met) * (met.far_m < self._still_far[box.slices])
        cover = np.asarray(cv2.GaussianBlur(cover, (3, 3), 0.5 * self._sharp**0.5), np.float32)
        behind = image[box.slices]
        drawn = cv2.GaussianBlur(np.sqrt(np.clip(colour, 0, 1)) * np.float32(255), (0, 0), 0.45 * self._sharp**0.5)
        behind[...] = (behind + cover[..., None] * (drawn - behind) + np.float32(0.5)).astype(np.uint8)

    def _shadow(self, view: View, first: Met, shape: tuple[int, ...]) -> Map:
        """How much of the main light reaches each pixel past nose, brows and chin: soft, from the coarse grid."""
        key = (view.head.rotation.T @ self.lighting.key).astype(np.float32)
        light = np.ones_like(first.far_m)
        for away_m in (0.006, 0.012, 0.022, 0.036, 0.055):
            there = (place + np.float32(away_m) * way for place, way in zip(first.place, key, strict=True))
            light = np.minimum(light, gap_at(self.surface, *there) / np.float32(0.22 * away_m) + np.float32(0.55))
        soft = cv2.GaussianBlur(np.clip(light, 0, 1), (3, 3), 0)
        grown = cv2.resize(soft, None, fx=2 * self._sharp, fy=2 * self._sharp, interpolation=cv2.INTER_LINEAR)
        return np.asarray(grown[: shape[0], : shape[1]], np.float32)

    def _eye(self, which: int, view: View, look: Look) -> Layer:
        back = view.head.rotation.T
        axis = optical_axis(self.person, which, back @ look.gaze[which])
        lamps = np.stack([back @ self.lighting.key, back @ self.lighting.fill])
        around = 0.5 * (self.lighting.above + self.lighting.below) + 0.6 * self.lighting.fill_colour
        light = Light(lamps[0], self.lighting.key_colour, around, lamps, self.lighting.lamp_deg)
        sight = Sight(axis, look.opening, look.pupil_mm)
        return draw_eye(self.person, which, view, sight, light, over=3 if self._sharp == 1 else 2)

    def _add_eye(self, colour: Map, box: Box, met: Met, layer: Layer) -> None:
        left, top = max(layer.box.left, box.left), max(layer.box.top, box.top)
        right, bottom = min(layer.box.right, box.right), min(layer.box.bottom, box.bottom)
        if right <= left or bottom <= top:
            return
        mine = slice(top - box.top, bottom - box.top), slice(left - box.left, right - box.left)
        its = slice(top - layer.box.top, bottom - layer.box.top), slice(left - layer.box.left, right - layer.box.left)
        seen = met.far_m[mine][..., None] > layer.far_m[its] - HIDDEN_M
        skin = colour[mine]
        painted = skin * (1 - layer.cover[its]) + layer.colour[its]
        np.copyto(skin, painted, where=seen)

    def _add_noise(self, image: Picture, rng: np.random.Generator) -> None:
        more, less = self._noise
        spare = more.shape[0] - image.shape[0]
        down, across = rng.integers(0, spare + 1, 2)
        part = slice(down, down + image.shape[0]), slice(across, across + image.shape[1])
        cv2.add(image, more[part], image)
        cv2.subtract(image, less[part], image)


def _shaded(surface: Surface, met: Met, view: View, lighting: Lighting, shadow: Map) -> Map:
    """The light that skin and hair send to the camera."""
    normal = cv2.remap(surface.normal, *met.spots, cv2.INTER_LINEAR)
    albedo = cv2.remap(surface.albedo, *met.spots, cv2.INTER_LINEAR)
    gloss = cv2.remap(surface.gloss, *met.spots, cv2.INTER_LINEAR)
    back = view.head.rotation.T
    key, fill, up = back @ lighting.key, back @ lighting.fill, back @ np.array([0.0, 1, 0])
    eye = view.origin_m / np.linalg.norm(view.origin_m)
    halfway = (key + eye) / np.linalg.norm(key + eye)
    parts = normal @ np.stack([key, fill, up, halfway], axis=1).astype(np.float32)
    towards = np.clip(parts[..., 0], -1, 1)
    # Light goes some way through skin, red the furthest: the edge of the shade is soft and warm.
    soft = (np.clip((towards + w) / (1 + w), 0, 1) * shadow ** np.float32(1 - w) for w in (0.22, 0.10, 0.06))
    light = np.dstack([*soft]) * lighting.key_colour.astype(np.float32)
    light += np.clip(parts[..., 1:2], 0, 1) * lighting.fill_colour.astype(np.float32)
    sky, ground = lighting.above.astype(np.float32), lighting.below.astype(np.float32)
    light += (np.float32(0.5) + np.float32(0.5) * parts[..., 2:3]) * (sky - ground) + ground
    shine = gloss * shadow * np.clip(parts[..., 3], 0, 1) ** 16 * np.float32(0.16)
    return np.asarray(albedo * light + shine[..., None], np.float32)


def _levels(light: Map) -> Picture:
    return np.asarray(np.sqrt(np.clip(light, 0, 1)) * 255 + 0.5, np.uint8)


def _noise_bank(camera: Camera, noise: float) -> tuple[Picture, Picture]:
    """What a camera adds and takes away: larger than a picture, so that every frame takes another part of it."""
    rng = np.random.default_rng(camera.width)
    spare = 61
    grain = rng.standard_normal((camera.height + spare, camera.width + spare, 3), dtype=np.float32)
    grain = np.round(noise * 1.5 * cv2.GaussianBlur(grain, (0, 0), 0.55))
    return np.clip(grain, 0, 255).astype(np.uint8), np.clip(-grain, 0, 255).astype(np.uint8)
