"""A synthetic gaze-prediction data set: people follow the two patterns, short clips of one eye are kept."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.datasets import rng_for, write_made
from palestra.errors import PalestraError
from palestra.eyes.cohort import GAZE_PEOPLE, draw_cast, eye_of, flipped, headset, write_people, write_png
from palestra.eyes.simulator.movements import MOVEMENTS, Trace, draw_mover, pick_windows, watch
from palestra.eyes.simulator.people import Profile, scaled
from palestra.eyes.simulator.renderer import Renderer
from palestra.eyes.simulator.scene import Camera, Look, Person, mirrored
from palestra.eyes.simulator.targets import FARTHEST_CM, NEAREST_CM, STATUSES, Targets, random_pattern, ring_pattern
from palestra.formats import replacing
from palestra.records import Order, Part, Plan
from palestra.text import say
from palestra.tracks.gaze_prediction.format import GIVEN, RELEASE, STEPS, write_labels

TRACK = "gaze-prediction-v1"
PATTERNS = ("ring", "random")
EYES: tuple[Literal["left", "right"], ...] = ("left", "right")
FRAMES = {"train": 100, "validation": GIVEN + len(STEPS), "test": GIVEN + len(STEPS)}
MAX_RECORDINGS = 40  # per person, pattern and eye; a person who blinks all the time ends here
POOR_SHARE = 0.12  # of people, with fewer valid clips than asked for; others fill up


@dataclass(frozen=True)
class _Size:
    people: dict[str, int]
    clips: dict[str, int]  # per person, pattern and eye
    both_eyes: bool = True  # else the left follows the ring and the right the random targets


_SIZES = {
    "tiny": _Size({"train": 3, "validation": 1, "test": 5}, {"train": 1, "validation": 1, "test": 1}, both_eyes=False),
    "small": _Size({"train": 8, "validation": 2, "test": 8}, {"train": 1, "validation": 1, "test": 2}),
    "paper": _Size({"train": 32, "validation": 8, "test": 40}, {"train": 10, "validation": 40, "test": 40}),
}


@dataclass(frozen=True)
class Share:
    """One person's part of a split: how many clips of each pattern and eye, and their names."""

    split: str
    person: str
    clips: dict[tuple[str, Literal["left", "right"]], list[str]]  # (pattern, eye) → sequence names

    @property
    def sequences(self) -> int:
        return sum(map(len, self.clips.values()))


def plan(order: Order) -> Plan:
    everybody = shares(order)
    # Without pictures a sequence still costs its simulation.
    unit = {split: 1 if "images" in order.without else _pictures(split) for split in FRAMES}
    parts = [
        Part(f"{share.split}/{share.person}", share.sequences * unit[share.split], partial(_write_share, order, share))
        for share in everybody
    ]
    first = everybody[0]
    # One sequence with its pictures tells enough; without them, some more even out what is written once.
    names = ["sample"] if "images" not in order.without else [f"sample-{i}" for i in range(8)]
    sample = Share(first.split, first.person, {("ring", "left"): names})
    weight = unit[first.split] * len(names)
    return Plan(parts, Part("sample", weight, partial(_write_share, order, sample)), partial(_finish, order))


def _people(order: Order) -> dict[str, dict[str, Profile]]:
    """Disjoint people for each split, stratified as the paper's Table 2 counts them."""
    people, first = {}, 1
    for split, count in _SIZES[order.size].people.items():
        people[split] = draw_cast(order, scaled(GAZE_PEOPLE[split], count), first)
        first += count
    return people


def shares(order: Order) -> list[Share]:
    found = []
    for split, people in _people(order).items():
        counts = _counts(order, split, list(people))
        names = iter(rng_for(order, "names", split).permutation(sum(counts.values())))
        for person in people:
            clips = {
                (pattern, eye): [f"{next(names):04d}" for _ in range(counts[person, pattern, eye])]
                for pattern, eye in _filmed(order)
            }
            found.append(Share(split, person, clips))
    return found


def _counts(order: Order, split: str, people: list[str]) -> dict[tuple[str, str, str], int]:
    """Clips per person, pattern and eye: the same for all, but others make up for people with too few valid ones."""
    asked = _SIZES[order.size].clips[split]
    rng = rng_for(order, "counts", split)
    filmed = _filmed(order)
    counts: dict[tuple[str, str, str], int] = {
        (person, pattern, eye): asked for person in people for pattern, eye in filmed
    }
    if asked < 10:
        return counts
    poor = [person for person in people if rng.random() < POOR_SHARE]
    rich = [person for person in people if person not in poor]
    for pattern, eye in filmed if rich else ():
        for person in poor:
            lost = int(asked * rng.uniform(0.05, 0.4))
            counts[person, pattern, eye] -= lost
            for helper in rng.choice(rich, lost):
                counts[str(helper), pattern, eye] += 1
    return counts


def _filmed(order: Order) -> list[tuple[str, Literal["left", "right"]]]:
    if _SIZES[order.size].both_eyes:
        return [(pattern, eye) for pattern in PATTERNS for eye in EYES]
    return list(zip(PATTERNS, EYES, strict=True))


def _pictures(split: str) -> int:
    """Pictures of a sequence that are written: a test sequence ends where the prediction begins."""
    return GIVEN if split == "test" else FRAMES[split]


@dataclass(frozen=True)
class _Clip:
    """Some frames in a row of a recording, as the data set keeps them: seen from the mirrored side where it is one."""

    eye: str
    targets: Targets
    trace: Trace
    frames: slice


@dataclass(frozen=True)
class Film:
    """What one eye of a person does through one pattern: who is before which camera, and the clips, by name."""

    split: str
    person: Person
    camera: Camera
    looks: dict[str, list[Look]]
    labels: dict[str, NDArray[np.float64]]  # (n, 3) as the data set gives them


def films(order: Order, share: Share) -> Iterator[Film]:
    """All that is filmed of a person, before anything is drawn."""
    for (_, eye), clips in _takes(order, share):
        yield Film(
            share.split,
            *_scene(order, share, eye),
            {name: _looks(clip, share.split) for name, clip in clips.items()},
            {name: _labels(clip) for name, clip in clips.items()},
        )


def _takes(order: Order, share: Share) -> Iterator[tuple[tuple[str, Literal["left", "right"]], dict[str, _Clip]]]:
    for (pattern, eye), names in share.clips.items():
        yield (pattern, eye), dict(zip(names, _clips(order, share, pattern, eye), strict=True))


def _scene(order: Order, share: Share, eye: str) -> tuple[Person, Camera]:
    """The headset sits the same for all clips of a person, as in one session."""
    profile = _people(order)[share.split][share.person]
    return eye_of(order, share.person, profile, eye), headset(order, share.person, eye)


def _write_share(order: Order, share: Share, folder: Path) -> None:
    frames = []
    for (_, eye), clips in _takes(order, share):
        renderer = Renderer(*_scene(order, share, eye))
        for name, clip in clips.items():
            _write_clip(order, renderer, clip, share.split, name, folder)
            frames.append(_about_frames(clip, share.split, name))
    kept = folder / "truth" / "parts"
    kept.mkdir(parents=True, exist_ok=True)
    pl.concat(frames).write_parquet(kept / f"{share.split}-{share.person}.parquet")


def _clips(order: Order, share: Share, pattern: str, eye: Literal["left", "right"]) -> list[_Clip]:
    """As many valid clips as asked for, from one recording after another."""
    mover = draw_mover(rng_for(order, "mover", share.person))
    rng = rng_for(order, "watch", share.person, pattern, eye)
    length, wanted = FRAMES[share.split], len(share.clips[pattern, eye])
    clips: list[_Clip] = []
    for _ in range(MAX_RECORDINGS):
        depth_cm = rng.uniform(NEAREST_CM, FARTHEST_CM)
        targets = ring_pattern(depth_cm) if pattern == "ring" else random_pattern(rng)
        trace = watch(targets, mover, eye, rng)
        # A recording gives at most a third of the clips where more than one is asked for, so that depths vary.
        starts = pick_windows(trace.valid, length, min(wanted - len(clips), -(-wanted // 3)), rng)
        clips += [_Clip(eye, targets, trace, slice(int(start), int(start) + length)) for start in starts]
        if len(clips) == wanted:
            return clips
    raise PalestraError(
        say(
            "{person} gives only {number} of {wanted} clips; choose another --seed.",
            person=share.person,
            number=len(clips),
            wanted=wanted,
        )
    )


def _write_clip(order: Order, renderer: Renderer, clip: _Clip, split: str, name: str, folder: Path) -> None:
    home = folder / RELEASE / split
    labels = folder / "truth" / "labels" if split == "test" else home / "labels"
    write_labels(_labels(clip), labels / f"{name}.txt")
    pictures = home / "sequences" / name
    pictures.mkdir(parents=True, exist_ok=True)
    if "images" in order.without:
        return
    noise = rng_for(order, "noise", split, name)
    for i, look in enumerate(_looks(clip, split)):
        write_png(flipped(renderer.render(look, noise)).image, pictures / f"{i:03d}.png")


def _looks(clip: _Clip, split: str) -> list[Look]:
    """What is photographed of a clip, for the renderer: it knows left eyes, and a right one is one seen in a mirror."""
    shown = slice(clip.frames.start, clip.frames.start + _pictures(split))
    trace = clip.trace
    gaze = trace.gaze[shown] if clip.eye == "left" else mirrored(trace.gaze[shown])
    rows = zip(gaze, trace.pupil_mm[shown], trace.opening[shown], strict=True)
    return [Look(direction, float(pupil_mm), float(opening)) for direction, pupil_mm, opening in rows]


def _labels(clip: _Clip) -> NDArray[np.float64]:
    return _aligned(clip.trace.label[clip.frames], clip.eye)


def _aligned(vectors: NDArray[np.float64], eye: str) -> NDArray[np.float64]:
    """Vectors as the data set gives them: the eye on the camera's right, the person's left, is mirrored."""
    return mirrored(vectors) if eye == "left" else vectors


def _about_frames(clip: _Clip, split: str, name: str) -> pl.DataFrame:
    """What the public release tells of each frame."""
    trace, at = clip.trace, clip.frames
    targets = _aligned(clip.targets.point_cm[at], clip.eye)
    cornea = _aligned(trace.cornea_cm[at], clip.eye)
    label = _aligned(trace.label[at], clip.eye)
    # The point of gaze: as far along the labelled direction as the target is.
    point = cornea + label * np.linalg.norm(targets - cornea, axis=1, keepdims=True)
    count = len(label)
    kinds = {"target": targets, "gaze_point": point, "cornea": cornea}
    vectors = {f"{kind}_{axis}_cm": kinds[kind][:, i] for kind in kinds for i, axis in enumerate("xyz")}
    return pl.DataFrame(
        {
            "sequence": [name] * count,
            "split": [split] * count,
            "frame": np.arange(count),
            "movement": np.array(MOVEMENTS)[trace.movement[at]],
            "target_status": np.array(STATUSES)[clip.targets.status[at]],
            **vectors,
        }
    )


def _finish(order: Order, folder: Path) -> None:
    """The tables over all sequences. It may be stopped and called again: the parts go only when all is written."""
    truth = folder / "truth"
    rows = [
        {"sequence": name, "split": share.split, "person": share.person, "eye": eye, "pattern": pattern}
        for share in shares(order)
        for (pattern, eye), names in share.clips.items()
        for name in names
    ]
    pl.DataFrame(rows).sort("split", "sequence").write_csv(truth / "sequences.csv")
    everybody = {name: who for people in _people(order).values() for name, who in people.items()}
    write_people(everybody, truth / "people.csv")
    write_made(order, TRACK, folder)
    parts, gone = truth / "parts", truth / "parts-merged"
    if parts.is_dir():
        frames = pl.concat(pl.read_parquet(file) for file in sorted(parts.glob("*.parquet")))
        with replacing(truth / "frames.parquet") as fresh:
            frames.sort("split", "sequence", "frame").write_parquet(fresh)
        parts.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
