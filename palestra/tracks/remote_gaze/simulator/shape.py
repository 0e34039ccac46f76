"""The surface of a head: how far the skin is from the head's middle in each direction, and what it looks like."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import cv2
import numpy as np
import numpy.typing as npt

from palestra.tracks.remote_gaze.simulator.maps import DRAWN_PX, SIDE_PX, Grain, Map, directions, lip, smoothed, spot
from palestra.tracks.remote_gaze.simulator.person import Person
from palestra.tracks.remote_gaze.simulator.skin import albedo_of, beard_mm, beard_of, hair_mm, hair_of

SMOOTHED_PX = 0.8
LID_MM = (17.0, 13.3, 13.3)  # half axes of the lids' surface about an eyeball
EYEBALL_MM = 12.0
JOINT_MM = 7.0  # how wide lids and face grow together


@dataclass(frozen=True)
class Surface:
    """A head's maps, SIDE_PX square."""

    radius_m: Map
    normal: Map  # (…, 3) outwards, in the head's frame
    albedo: Map  # (…, 3)
    gloss: Map
    reach_m: float  # the largest radius
    corners_m: npt.NDArray[np.float64]  # (8, 3) of a box about the head


def surface_of(person: Person) -> Surface:
    rng = np.random.default_rng(person.texture_seed)
    ways, grain, finer = directions(DRAWN_PX), Grain(DRAWN_PX, rng), Grain(SIDE_PX, rng)
    base = _base_mm(person, ways)
    place = base[..., None] * ways
    hair, beard = hair_of(person, place, grain), beard_of(person, place)
    radius = smoothed(base + _features_mm(person, place), SMOOTHED_PX)
    radius = _with_lids(person, ways, radius)
    albedo = albedo_of(person, place, hair, grain) * _cavities(radius)[..., None]
    radius += hair_mm(person, place, hair, grain) + beard_mm(beard, grain)
    radius, albedo, hair, beard = (_enlarged(drawn) for drawn in (radius, albedo, hair, beard))
    albedo *= (1 + 0.03 * finer.fine * (1 - hair) + 0.3 * finer.strands * hair)[..., None]
    bumpy = radius + (0.012 + 0.1 * beard) * finer.fine * (1 - hair) + 0.35 * finer.strands * hair
    return Surface(
        radius_m=radius / np.float32(1000),
        normal=_normals(bumpy, directions(SIDE_PX)),
        albedo=np.maximum(albedo, np.float32(0.002)),
        gloss=np.asarray((0.35 * (1 - hair) + 0.12 * hair) * (1 - 0.6 * beard), np.float32),
        reach_m=float(radius.max()) / 1000 + 0.002,
        corners_m=_corners_mm(radius) / 1000,
    )


def _corners_mm(radius: Map) -> npt.NDArray[np.float64]:
    """(8, 3) of a box about all places."""
    places = (radius[..., None] * directions(SIDE_PX))[::8, ::8].reshape(-1, 3)
    return np.array(list(product(*zip(places.min(axis=0), places.max(axis=0), strict=True))), dtype=np.float64)


def _enlarged(drawn: Map) -> Map:
    return np.asarray(cv2.resize(drawn, (SIDE_PX, SIDE_PX), interpolation=cv2.INTER_CUBIC), np.float32)


def _base_mm(person: Person, ways: Map) -> Map:
    """A skull and a face, each an ellipsoid, grown together."""
    wide, high, deep = person.width, person.height, person.depth
    skull = _ellipsoid_mm(ways, (0, 22 * high, -8 * deep), (75 * wide, 92 * high, 97 * deep))
    face = _ellipsoid_mm(ways, (0, -28 * high, 22 * deep), (64 * wide * person.jaw, 89 * high, 68 * deep))
    larger, smaller = np.maximum(skull, face), np.minimum(skull, face)
    return np.asarray(larger * (1 + (smaller / larger) ** 22) ** np.float32(1 / 22), dtype=np.float32)


def _ellipsoid_mm(ways: Map, centre_mm: Sequence[float], axes_mm: Sequence[float]) -> Map:
    """How far from the head's middle the far side of an ellipsoid is; 0 where it is not met."""
    axes = np.array(axes_mm, dtype=np.float32)
    way, start = ways / axes, np.array(centre_mm, dtype=np.float32) / axes
    a, b = np.einsum("ijk,ijk->ij", way, way), way @ start
    under = b**2 - a * (start @ start - 1)
    far = (b + np.sqrt(np.maximum(under, 0))) / a
    return np.asarray(np.where(under > 0, np.maximum(far, 0), 0), dtype=np.float32)


def _features_mm(person: Person, place: Map) -> Map:
    """What stands out of the plain head or sinks into it."""
    eye_x, eye_y = float(person.eyes_mm[0, 0]), float(person.eyes_mm[0, 1])
    height = -5.5 * spot(place, (eye_x - 1, eye_y + 1), (20, 13))
    height += 3.5 * spot(place, (eye_x, eye_y - 15), (17, 7))
    height += person.brow_mm * spot(place, (26, eye_y + 21), (23, 8), 2.5) + 2 * spot(place, (0, 24), (14, 11))
    height += (4 + person.cheeks_mm) * spot(place, (47, -17), (17, 14)) + 2 * spot(place, (34, -40), (18, 22))
    height -= 3 * spot(place, (66, 32), (16, 22))
    height += 6 * spot(place, (0, -58), (27, 21)) - 1.6 * spot(place, (0, -49), (3.2, 6))
    height += person.lips * (2.6 * lip(place, -56.5, 4.0, 23) + 3.6 * lip(place, -65.5, 4.6, 20))
    height -= 1.8 * lip(place, -60.8, 1.7, 24) + 2.5 * spot(place, (0, -75), (19, 6.5))
    height += (8 + person.chin_mm) * spot(place, (0, -88), (20, 14), 2.2)
    height -= 1.2 * _fold(place)
    return np.asarray(height + _nose_mm(person, place) + _ears_mm(place), dtype=np.float32)


def _fold(place: Map) -> Map:
    """The crease from the nose to the mouth's corner."""
    x, y, z = np.abs(place[..., 0]), place[..., 1], place[..., 2]
    line = 17 + 0.55 * (-34 - y)
    return np.asarray(np.exp(-(((x - line) / 3.5) ** 2) - np.abs((y + 48) / 16) ** 4) * (z > 0), dtype=np.float32)


def _nose_mm(person: Person, place: Map) -> Map:
    x, y, z = np.moveaxis(place, -1, 0)
    rows = np.array([-46.0, -42, -38.5, -34, -29, -20, -8, 3, 12, 26])
    high = np.array([0.0, 3, 12, 20, 22, 17, 9.5, 3.5, 1.5, 0])
    high[1:7] += person.nose_mm * np.array([0.3, 0.8, 1, 1, 0.9, 0.5])
    wide = np.array([15.0, 14.5, 13, 12, 11, 9.4, 8, 7, 8, 10]) * person.nose_width
    ridge = np.interp(y, rows, high) * np.exp(-(np.abs(x / np.interp(y, rows, wide)) ** 2.3))
    wings = 7 * spot(place, (13.0 * person.nose_width, -34), (5.5, 5.5))
    return np.asarray((ridge + wings) * (z > 0), dtype=np.float32)


def _ears_mm(place: Map) -> Map:
    x, y, z = np.moveaxis(place, -1, 0)
    back = (z + 8 + 0.2 * y) / 11
    shell = np.exp(-(np.abs(back) ** 4) - np.abs((y - 1) / 30) ** 4)
    hollow = np.exp(-((back + 0.1) ** 2) / 0.2 - ((y + 1) / 15) ** 2)
    return np.asarray((15 * shell - 8 * hollow) * (np.abs(x) > 45), dtype=np.float32)


def _with_lids(person: Person, ways: Map, radius: Map) -> Map:
    """The lids lie round the eyeballs, wherever those stand out of the socket."""
    left, right = (_ellipsoid_mm(ways, eye, LID_MM) for eye in person.eyes_mm)
    lids = np.where(ways[..., 2] > 0, np.maximum(left, right), 0)
    # Round where they join, so that no seam is seen.
    near = np.maximum(JOINT_MM - np.abs(lids - radius), 0)
    return np.asarray(np.maximum(lids, radius) + near**2 / (4 * JOINT_MM), dtype=np.float32)


def _cavities(radius: Map) -> Map:
    """Less light reaches what lies deeper than the skin about it."""
    light = np.ones_like(radius)
    for size_px, strength in ((2.0, 0.10), (6.0, 0.06), (18.0, 0.03)):
        light *= 1 - np.clip(strength * (smoothed(radius, size_px) - radius), -0.05, 0.4)
    return light


def _normals(radius: Map, ways: Map) -> Map:
    place = radius[..., None] * ways
    down = cv2.Sobel(place, cv2.CV_32F, 0, 1, ksize=3)
    across = cv2.Sobel(place, cv2.CV_32F, 1, 0, ksize=3)
    normal = np.cross(down, across)
    length = np.sqrt(np.einsum("ijk,ijk->ij", normal, normal))[..., None]
    return np.asarray(normal / np.maximum(length, 1e-12), dtype=np.float32)
