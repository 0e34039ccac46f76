"""Synthetic recordings in EYEDIAP's format: 16 people before a screen or a ball, seen by three cameras.

What is written is what the real data set has: the target, and the head as a tracker finds it. Where people truly look,
which misses the target by a little and lags behind it, is not written down.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palestra.datasets import rng_for, write_made
from palestra.eyes.simulator.movements import draw_mover
from palestra.records import Order, Part, Plan
from palestra.tracks.remote_gaze import eyediap
from palestra.tracks.remote_gaze.eyediap.calibration import camera_text
from palestra.tracks.remote_gaze.simulator.depth import Kinect, Sensor, draw_sensor
from palestra.tracks.remote_gaze.simulator.head import Renderer, look_at
from palestra.tracks.remote_gaze.simulator.motion import Motion, Script, record
from palestra.tracks.remote_gaze.simulator.person import Person, draw_people
from palestra.tracks.remote_gaze.simulator.room import draw_room
from palestra.tracks.remote_gaze.simulator.shape import Surface, surface_of
from palestra.tracks.remote_gaze.simulator.stage import Cameras, cameras, screen_file, seat
from palestra.tracks.remote_gaze.simulator.tracker import approximate_eyes_m, track

TRACK = "remote-gaze-v1"
SECONDS = {"A": 150, "B": 180}
WITHOUT_HD = 5  # recordings of the paper's size that lack this video, as some real ones do
SHOWN_IN_THE_REPORT = ("1_A_FT_M", "13_B_FT_S", "3_A_DS_S", "15_A_CS_M", "8_A_CS_M")  # with all their videos
SAMPLE_FRAMES = 45  # of VGA: enough to tell bytes and time from
COSTS = {"rgb_vga": 1, "rgb_hd": 4, "depth": 2}  # time and bytes of a frame, beside VGA's


@dataclass(frozen=True)
class _Size:
    people: tuple[int, ...]
    frames: int | None  # of each recording; None: as long as the real ones
    every: int  # of the frames at 30 Hz one is kept, so that short recordings still show many targets
    hd: tuple[str, ...] | None  # which recordings have the video; None: nearly all
    depth: tuple[str, ...] | None


_SIZES = {
    "tiny": _Size((1, 2, 14), 40, 12, ("1_A_DS_S",), ("1_A_FT_S",)),
    "small": _Size(
        tuple(range(1, 17)), 240, 6,
        ("1_A_DS_S", "2_A_DS_S", "1_A_CS_S", "2_A_CS_S", "1_A_FT_S", "2_A_FT_S"), ("1_A_FT_S", "14_B_FT_S"),
    ),
    "paper": _Size(tuple(range(1, 17)), None, 1, None, None),
}  # fmt: skip


def plan(order: Order) -> Plan:
    parts = [_part(order, name, _frames(order, name)) for name in _names(order)]
    return Plan(parts, _sample(order, parts), partial(_finish, order))


def _sample(order: Order, parts: Sequence[Part]) -> Part:
    """Some frames of every video, in the shares that the data set has of them; without videos, one whole recording."""
    names = _names(order)
    totals: Counter[str] = Counter()
    for name in names:
        totals.update(dict.fromkeys(_videos(order, name), _frames(order, name)))
    if not totals:
        return parts[0]
    share = SAMPLE_FRAMES / totals["rgb_vga"]
    counts = {video: max(1, round(share * total)) for video, total in totals.items()}
    weight = max(1, round(share * sum(part.weight for part in parts)))
    return Part("sample", weight, partial(_write_sample, order, names[0], counts))


def _write_sample(order: Order, name: eyediap.Name, counts: Mapping[str, int], folder: Path) -> None:
    for video, frames in counts.items():
        _shoot(order, name, frames, (video,), folder / video)
        _leave_out_depth_table(order, name, folder / video)  # one to a recording, which a few frames would not tell


def _part(order: Order, name: eyediap.Name, frames: int) -> Part:
    return Part(str(name), frames * _cost(order, name), partial(_write, order, name, frames))


def _names(order: Order) -> list[eyediap.Name]:
    return [name for name in eyediap.ALL if name.person in _SIZES[order.size].people]


def _frames(order: Order, name: eyediap.Name) -> int:
    return _SIZES[order.size].frames or SECONDS[name.condition] * eyediap.RATE_HZ


def _videos(order: Order, name: eyediap.Name) -> tuple[str, ...]:
    """The videos that a recording has."""
    size = _SIZES[order.size]
    if {"video", "images"} & set(order.without):
        return ()
    with_hd = str(name) in size.hd if size.hd is not None else str(name) not in _lacking_hd(order)
    with_depth = size.depth is None or str(name) in size.depth
    return ("rgb_vga", *(("rgb_hd",) if with_hd else ()), *(("depth",) if with_depth else ()))


def _lacking_hd(order: Order) -> set[str]:
    names = [str(name) for name in eyediap.ALL if str(name) not in SHOWN_IN_THE_REPORT]
    return set(rng_for(order, "lacking").permutation(names)[:WITHOUT_HD].tolist())


def _cost(order: Order, name: eyediap.Name) -> int:
    return max(1, sum(COSTS[video] for video in _videos(order, name)))


@cache
def _people(order: Order) -> list[Person]:
    return draw_people(rng_for(order, "people"))


@lru_cache(maxsize=2)  # of 32 MB each; recordings of a person come one after another
def _surface(order: Order, person: int) -> Surface:
    return surface_of(_people(order)[person - 1])


def _cameras(order: Order, name: eyediap.Name) -> Cameras:
    """As they were calibrated on the day."""
    return cameras(rng_for(order, "cameras", name.condition))


def _sensor(order: Order, name: eyediap.Name) -> Sensor:
    camera = _cameras(order, name)["depth"]
    return draw_sensor(camera.height, camera.width, rng_for(order, "sensor"))


@lru_cache(maxsize=3)  # a recording's three cameras
def _renderer(order: Order, name: eyediap.Name, which: str) -> Renderer:
    person, place = _people(order)[name.person - 1], rng_for(order, "room", name.condition)
    room = draw_room(name.condition, place, rng_for(order, "light", name.condition, name.person))
    return Renderer(
        person,
        _surface(order, name.person),
        room,
        _cameras(order, name)[which],
        seat(name.target, name.condition, rng_for(order, "seat", name)),
    )


def _write(order: Order, name: eyediap.Name, frames: int, folder: Path) -> None:
    videos = _videos(order, name)
    _shoot(order, name, frames, videos, folder)
    if "depth" not in videos:
        _leave_out_depth_table(order, name, folder)


def _shoot(order: Order, name: eyediap.Name, frames: int, videos: Sequence[str], folder: Path) -> None:
    """Record so many frames and write them with these videos."""
    person, mover = _people(order)[name.person - 1], draw_mover(rng_for(order, "mover", name.person))
    script = Script(
        name.target,
        name.head,
        seat(name.target, name.condition, rng_for(order, "seat", name)),
        frames,
        _SIZES[order.size].every,
    )
    motion = record(script, person, mover, screen_file().display, rng_for(order, "motion", name))
    pictures = {which: _pictures(order, name, motion, which) for which in videos}
    eyediap.write_session(folder, _recording(order, name, script, motion), pictures)


def _leave_out_depth_table(order: Order, name: eyediap.Name, folder: Path) -> None:
    """Two megabytes of a table say what disparities mean; where there are none, the camera alone is told."""
    file = folder / "Data" / str(name) / "depth_calibration.txt"
    file.write_text(camera_text(_cameras(order, name)["depth"]))


def _recording(order: Order, name: eyediap.Name, script: Script, motion: Motion) -> eyediap.Recording:
    """What the data set says of the frames."""
    eyes_m = approximate_eyes_m(_people(order)[name.person - 1], rng_for(order, "eyes", name.person))
    sensor = _sensor(order, name)
    found = track(motion, eyes_m, script.every, rng_for(order, "tracker", name))
    return eyediap.Recording(
        name=name,
        rotations=found.rotations,
        translations=found.translations,
        eyes=found.eyes,
        target=found.target,
        screen=motion.pixels,
        states=None if name.target == "DS" else _states(motion),
        available=found.available,
        cameras=_cameras(order, name),
        depth=eyediap.DepthModel(sensor.k, sensor.alpha, sensor.beta),
    )


def _states(motion: Motion) -> list[str]:
    """What somebody who watches the video notes down."""
    both = zip(motion.blinking.tolist(), motion.away.tolist(), strict=True)
    return ["BK" if blinking else "NL" if away else "OK" for blinking, away in both]


def _pictures(
    order: Order, name: eyediap.Name, motion: Motion, which: str
) -> Iterator[NDArray[np.uint8] | NDArray[np.uint16]]:
    """The frames of one video, drawn as they are asked for."""
    renderer, noise = _renderer(order, name, which), rng_for(order, "noise", name, which)
    kinect = Kinect(_sensor(order, name), float(renderer.camera.intrinsics[0, 0])) if which == "depth" else None
    for frame in range(len(motion.opening)):
        look = look_at(motion, frame)
        yield kinect.disparity(*renderer.depth_m(look), noise) if kinect else renderer.picture(look, noise)


def _finish(order: Order, folder: Path) -> None:
    screen = screen_file()
    numbers = sorted({name.person for name in _names(order)})
    people = {n: approximate_eyes_m(_people(order)[n - 1], rng_for(order, "eyes", n)) for n in numbers}
    eyediap.write_metadata(folder, (screen.rotation, screen.translation, screen.metres_per_pixel), people)
    (folder / "truth").mkdir(exist_ok=True)
    write_made(order, TRACK, folder)
