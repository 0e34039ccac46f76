"""What covers a head: the colour of the skin, hair, brows, lips and beard."""

import numpy as np
import numpy.typing as npt

from palestra.tracks.remote_gaze.simulator.maps import Grain, Map, lip, smoothed, spot, step
from palestra.tracks.remote_gaze.simulator.person import Person


def hair_of(person: Person, place: Map, grain: Grain) -> Map:
    """Where there is hair on the head, 0 to 1. Places are those of the plain head, in millimetres."""
    x, y, z = np.abs(place[..., 0]), place[..., 1], place[..., 2]
    burns = {"bald": 30.0, "short": -8.0, "long": -40.0}[person.hair_length]
    front = np.interp(x, [0, 22, 38, 50, 58, 64, 70], [66, 67, 61, 46, 26, burns, burns - 12]) + person.hairline_mm
    front = np.where(x > 62, np.minimum(front, burns + 14), front)
    nape = -120.0 if person.hair_length == "long" else -62.0
    behind = step(4 - z, 6 if person.hair_length == "long" else 3)
    above = step(y - (front * (1 - behind) + nape * behind + 1.0 * grain.middle + 1.2 * grain.strands), 2.5)
    if person.hair_length == "bald":
        above = above * np.clip((40 - y + 10 * grain.coarse) / 30, 0, 1) * step(-z - 2, 4)  # what is left is behind
    if person.hair_length == "long":
        return above
    ear = np.exp(-(np.abs((z + 8 + 0.2 * y) / 13) ** 4) - np.abs((y - 1) / 31) ** 4) * (x > 45)
    return np.asarray(above * (1 - ear), dtype=np.float32)


def hair_mm(person: Person, place: Map, hair: Map, grain: Grain) -> Map:
    """How far the hair stands off the skin."""
    thick = person.hair_thick_mm * (1 + 0.14 * grain.coarse)
    if person.hair_length == "long":  # it falls down and stands away below
        thick = thick + 7 * np.clip(-(place[..., 1] + 5) / 60, 0, 1)
    return np.asarray(smoothed(hair, 5.0 if person.hair_length == "long" else 2.0) * thick, dtype=np.float32)


def beard_of(person: Person, place: Map) -> Map:
    """How much hair there is on the lower face, 0 to 1."""
    x, y, z = np.abs(place[..., 0]), place[..., 1], place[..., 2]
    cheek = np.interp(x, [0, 16, 30, 45, 58, 68], [-46, -48, -62, -48, -26, -8]).astype(np.float32)
    lips = np.maximum(lip(place, -57, 5.0, 22), lip(place, -65, 5.5, 20))
    cover = step(cheek - y, 2.5) * step(z - 2, 4) * (1 - np.clip(1.4 * lips, 0, 1))
    return np.asarray(person.beard * cover, dtype=np.float32)


def beard_mm(beard: Map, grain: Grain) -> Map:
    return np.asarray(np.clip(beard - 0.4, 0, 1) * (5 + 0.5 * grain.fine), dtype=np.float32)


def albedo_of(person: Person, place: Map, hair: Map, grain: Grain) -> Map:
    """What each place reflects of red, green and blue."""
    skin, dark = np.array(person.skin, dtype=np.float32), np.array(person.hair, dtype=np.float32)
    colour = _skin(person, place, grain)
    rose = np.array([0.86, 0.56, 0.55], dtype=np.float32) ** (1.3 if person.woman else 0.9)
    lips = np.clip(1.25 * np.maximum(lip(place, -57.0, 4.2, 22.5), lip(place, -65, 5.2, 20)), 0, 1)
    colour = _over(colour, lips, skin * rose)
    colour *= (1 - 0.75 * lip(place, -60.8, 1.1, 23))[..., None]
    colour *= (1 - 0.85 * spot(place, (6.6 * person.nose_width, -38.6), (3.4, 2.2), 2.5))[..., None]
    for cover in (beard_of(person, place) * np.clip(0.72 + 0.16 * grain.fine, 0, 0.9), _brows(person, place, grain)):
        colour = _over(colour, cover, 0.85 * dark + 0.06 * skin)
    shine = dark * (1 + 0.2 * grain.strands + 0.25 * grain.coarse).clip(0.3, 2.5)[..., None]
    return _over(colour, hair, shine)


def _over(under: Map, cover: npt.NDArray[np.floating], colour: Map) -> Map:
    return np.asarray(under + cover[..., None] * (colour - under), dtype=np.float32)


def _skin(person: Person, place: Map, grain: Grain) -> Map:
    """Bare skin: redder where blood is near, darker about the eyes, with a mole here and there."""
    colour = np.array(person.skin, dtype=np.float32) * (1 + 0.035 * grain.coarse + 0.03 * grain.middle)[..., None]
    x, y, z = np.moveaxis(place, -1, 0)
    ears = np.exp(-(np.abs((z + 8) / 12) ** 4) - np.abs(y / 30) ** 4) * (np.abs(x) > 45)
    flush = spot(place, (40, -30), (19, 17)) + 0.9 * spot(place, (0, -33), (16, 12)) + 0.9 * ears
    flush += 0.6 * spot(place, (0, -88), (18, 12))
    colour *= 1 - flush[..., None] * np.array([0.02, 0.13, 0.14], dtype=np.float32)
    eye_x, eye_y = float(person.eyes_mm[0, 0]), float(person.eyes_mm[0, 1])
    tired = spot(place, (eye_x - 2, eye_y - 8), (16, 6)) + 0.6 * spot(place, (eye_x, eye_y + 6), (17, 8))
    colour *= 1 - tired[..., None] * np.array([0.10, 0.14, 0.11], dtype=np.float32)
    moles = ((grain.fine > 3.5) & (grain.coarse > 0)).astype(np.float32)
    return np.asarray(colour * (1 - 0.9 * smoothed(moles, 0.8))[..., None], dtype=np.float32)


def _brows(person: Person, place: Map, grain: Grain) -> Map:
    x, y, z = np.abs(place[..., 0]), place[..., 1], place[..., 2]
    middle = float(person.eyes_mm[0, 1]) + 16.5 + np.interp(x, [8, 20, 38, 52], [-1.5, 1.5, 3.5, -2.5])
    half = np.interp(x, [8, 14, 34, 52], [3.0, 4.2, 3.2, 1.4]) * (0.75 if person.woman else 1.05)
    ends = np.clip((x - 8) / 5, 0, 1) * np.clip((54 - x) / 6, 0, 1)
    body = np.clip(1.3 - ((y - middle) / half) ** 2, 0, 1) * ends * (z > 0)
    return np.asarray(np.clip(body * (0.9 + 0.12 * grain.fine), 0, 1) * person.brow_dark, dtype=np.float32)
