"""Finds the mirror and the screen's target in pairs of colour and depth pictures.

The mirror's rim has ArUco markers on paper (4 × 4, 50 of them), which the depth camera measures where the glass is.
The target is a disc of one colour on a screen that is dark otherwise. It is found by how likely its pixels have that
colour, and its depth is the median of its pixels.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.errors import Faults, PalestraError
from palestra.studio.calibrate.files import CameraFile
from palestra.studio.calibrate.pictures import grey
from palestra.studio.calibrate.screen import Seen
from palestra.studio.calibrate.tables import read_table
from palestra.studio.capture.source import Image
from palestra.studio.capture.sources.depth import COLOUR
from palestra.studio.capture.sources.played import read_picture
from palestra.text import Text, say, say_count

Floats = NDArray[np.float64]

TARGETS = "targets.csv"
MARKERS = cv2.aruco.DICT_4X4_50
HUE_SIGMA_DEG = 12.0
LIKELY = 0.2  # of a pixel's colour, at least
LEAST_SATURATION, LEAST_VALUE = 0.35, 0.25
LEAST_PIXELS = 12
LEAST_DEPTHS = 8
MOST_POINTS = 20_000  # of a mirror: more tell nothing new
MM = 1e-3


@dataclass(frozen=True)
class Target:
    """A disc in a picture."""

    centre: Floats  # (2,)
    depth_m: float


def find_targets(folder: Path, camera: CameraFile, colour: str) -> tuple[Seen, dict[str, Floats], list[Text]]:
    """Targets and markers of all pictures that targets.csv names (picture, mirror, sx, sy)."""
    table = read_table(folder / TARGETS, ("sx", "sy"), ("picture", "mirror"))
    hue = _hue(colour)
    names = sorted(set(table.texts["mirror"]))
    clouds: dict[str, list[Floats]] = {name: [] for name in names}
    mirror, pixels, points, missed = [], [], [], 0
    for (picture, depth), name, shown in zip(
        _pairs(folder, table.texts["picture"], camera), table.texts["mirror"], table.numbers("sx", "sy"), strict=True
    ):
        clouds[name].append(marker_points(picture, depth, camera))
        target = find_target(picture, depth, hue)
        if target is None:
            missed += 1
            continue
        mirror.append(names.index(name))
        pixels.append(shown)
        points.append(_rays(camera, target.centre[None])[0] * target.depth_m)
    if not points:
        raise PalestraError(
            say("The target of colour {colour} was found in none of {count} pictures. Show one disc on a dark screen, "
                "dim the room, and give its colour: --colour 255,0,255.", colour=colour, count=len(table))
        )  # fmt: skip
    none = say_count("In {count} picture no target was found.", "In {count} pictures no target was found.", missed)
    told: list[Text] = [none] if missed else []
    found = {name: _thinned(np.concatenate(parts)) for name, parts in clouds.items()}
    return Seen(np.array(mirror), np.array(pixels), np.array(points)), found, told


def find_target(picture: Image, depth: Image, hue_deg: float) -> Target | None:
    """The largest disc of the colour, if there is one that has depth."""
    hsv = cv2.cvtColor(picture.astype(np.float32) / 255, cv2.COLOR_BGR2HSV)
    off = np.abs((hsv[..., 0] - hue_deg + 180) % 360 - 180)
    likely = np.exp(-0.5 * (off / HUE_SIGMA_DEG) ** 2) * (hsv[..., 1] > LEAST_SATURATION) * (hsv[..., 2] > LEAST_VALUE)
    count, labels, stats, _ = cv2.connectedComponentsWithStats((likely > LIKELY).astype(np.uint8))
    if count < 2:
        return None
    blob = labels == 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))
    v, u = np.nonzero(blob)
    depths = depth[blob]
    depths = depths[depths > 0]
    if len(u) < LEAST_PIXELS or len(depths) < LEAST_DEPTHS:
        return None
    weights = (likely * hsv[..., 1] * hsv[..., 2])[blob]
    centre = np.array([np.average(u, weights=weights), np.average(v, weights=weights)])
    return Target(centre, float(np.median(depths)) * MM)


def marker_points(picture: Image, depth: Image, camera: CameraFile) -> Floats:
    """(n, 3): what the depth camera measures on the markers of a mirror."""
    detector = cv2.aruco.ArucoDetector(cv2.aruco.getPredefinedDictionary(MARKERS))
    corners, _, _ = detector.detectMarkers(grey(picture))
    inside = np.zeros(depth.shape, np.uint8)
    for quad in corners:
        cv2.fillConvexPoly(inside, np.rint(quad[0]).astype(np.int32), 1)
    v, u = np.nonzero((cv2.erode(inside, np.ones((3, 3), np.uint8)) > 0) & (depth > 0))
    return _rays(camera, np.column_stack([u, v]).astype(float)) * (depth[v, u] * MM)[:, None]


def _thinned(points: Floats) -> Floats:
    return points[:: -(-len(points) // MOST_POINTS) or 1]


def _rays(camera: CameraFile, pixels: Floats) -> Floats:
    """(n, 3): where pixels look, with a depth of one."""
    if not len(pixels):
        return np.zeros((0, 3))
    flat = cv2.undistortPoints(pixels[:, None], camera.matrix, camera.lens)[:, 0]
    return np.column_stack([flat, np.ones(len(flat))])


def _pairs(folder: Path, names: list[str], camera: CameraFile) -> Iterator[tuple[Image, Image]]:
    colours = next((folder / name for name in COLOUR if (folder / name).is_dir()), folder / COLOUR[0])
    faults = Faults()
    for name in names:
        for place in (colours, folder / "depth"):
            if not (place / name).is_file():
                faults.add(str(place / name), say("nothing there"), say("the picture that {file} names", file=TARGETS))
    faults.finish()
    for name in names:
        picture, depth = read_picture(colours / name), read_picture(folder / "depth" / name)
        size = (camera.height, camera.width)
        if picture.shape[:2] != size or depth.shape != size or picture.ndim != 3 or depth.dtype != np.uint16:
            raise PalestraError(
                say("{name}: a picture of {shape} and a depth of {depth} ({type}); expected colour, and 16 bits of "
                    "depth in millimetres brought to the colour camera, both of {size}.",
                    name=name, shape=_size(picture), depth=_size(depth), type=depth.dtype, size=f"{size[1]}×{size[0]}")
            )  # fmt: skip
        yield picture, depth


def _size(image: Image) -> str:
    return f"{image.shape[1]}×{image.shape[0]}"


def _hue(colour: str) -> float:
    """The hue of a colour that is written as red,green,blue."""
    try:
        red, green, blue = (int(part) for part in colour.split(","))
    except ValueError:
        red = green = blue = -1
    if not all(0 <= part <= 255 for part in (red, green, blue)) or max(red, green, blue) - min(red, green, blue) < 100:
        raise PalestraError(
            say("{colour!r} is no colour that stands out; expected red,green,blue from 0 to 255, such as 255,0,255.",
                colour=colour)
        )  # fmt: skip
    pixel = np.array([[[blue, green, red]]], np.float32) / 255
    return float(cv2.cvtColor(pixel, cv2.COLOR_BGR2HSV)[0, 0, 0])
