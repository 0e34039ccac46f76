"""A synthetic emotional-EEG data set: people watch 28 films under a cap, one recording each.

There are no pictures to leave out, so what an order is `without` changes nothing.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from palestra.datasets import rng_for, write_made
from palestra.records import Order, Part, Plan
from palestra.tracks.emotion_eeg.experiment import (
    ANNOUNCED,
    BLOCK_END,
    BLOCK_START,
    CHANNELS,
    EXPERIMENT_END,
    EXPERIMENT_START,
    FILMS,
    ODD,
    RATE_HZ,
    ROWS,
    VALENCES,
    VIDEO_END,
    VIDEO_START,
    Event,
    Film,
    batch_of,
    from_batch_2,
)
from palestra.tracks.emotion_eeg.format import open_recording, prepare_test, write_recording
from palestra.tracks.emotion_eeg.simulator import Difficulty, Segment, What, draw_brain, stream

TRACK = "emotion-eeg-v1"
# The usual recipe then gets about what is published: 39.7 % where 53 people teach, 42.9 % where 80 do (docs/worlds.md).
DIFFICULTY = Difficulty(shared=0.16, film=0.16)
BATCH_1_PEOPLE, TRAIN_PEOPLE = 54, 80  # test people have the numbers after them
FILMS_PER_BLOCK = 4
VOLTS_PER_UV = 1e-6  # batch 2 is in volts
JITTER_S = 0.03  # by which a film's length differs between people, as a serial port marks it
SURPLUS_S = {22: 7.0, 27: 12.0}  # of the odd films; how much too long 27 was, nobody wrote down
BLOCK_S = 2.0  # made at once: few enough samples that BLAS starts no threads, which would cost more than they bring
Range = tuple[float, float]


@dataclass(frozen=True)
class _Pace:
    """How long the parts of a sitting last, in s: something between two numbers, drawn anew each time."""

    share: float  # of a film's length that is shown, within the two limits
    least_s: float
    most_s: float
    begin_s: Range  # eyes open, then as long closed
    fixation_s: Range
    report_s: Range
    rest_s: Range  # between two films of a block
    maths_s: Range  # between blocks, and a rest after it
    pause_s: Range


@dataclass(frozen=True)
class _Size:
    train: int
    test: int
    pace: _Pace
    dtype: Literal["float32", "float64"]


# At full length about 1.5 h, of which 47 min lie in blocks.
_FULL = _Pace(1.0, 0.0, math.inf, (60, 90), (5, 5), (4, 10), (30, 33), (170, 280), (90, 170))
_BRISK = _Pace(15 / 66, 8.0, math.inf, (5, 8), (3, 3), (2, 4), (2, 4), (8, 12), (4, 8))
_HASTY = _Pace(1.0, 5.0, 5.0, (1, 2), (1, 1.2), (0.4, 0.6), (0.2, 0.6), (0.8, 1.2), (0.5, 1.0))
_SIZES = {
    "tiny": _Size(3, 5, _HASTY, "float32"),
    "small": _Size(10, 6, _BRISK, "float32"),
    "paper": _Size(80, 18, _FULL, "float64"),  # as the real ones are
}


@dataclass(frozen=True)
class _Person:
    split: str  # train, test
    number: int

    @property
    def name(self) -> str:
        return f"sub{self.number:03d}"


@dataclass
class _Tape:
    """A sitting as it goes on: what is on when, and the triggers. Times are samples."""

    now: int = 0
    segments: list[Segment] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def mark(self, code: int, before: int = 0) -> None:
        self.events.append(Event(self.now - before, code))

    def show(self, what: What, seconds: float, film: Film | None = None) -> None:
        stop = self.now + max(1, round(seconds * RATE_HZ))
        video, emotion = (film.video, film.emotion.label) if film else (None, None)
        self.segments.append(Segment(self.now / RATE_HZ, stop / RATE_HZ, what, video, emotion))
        self.now = stop

    @property
    def seconds(self) -> int:
        return math.ceil(self.now / RATE_HZ)


def plan(order: Order) -> Plan:
    size = _SIZES[order.size]
    parts = [
        Part(f"{who.split}/{who.name}", _sitting(order, who, size.pace).seconds, partial(_write_person, order, who))
        for who in _people(order)
    ]
    # As short as a sitting can be: an hour of EEG takes a minute, and only the bytes of a second matter.
    sample = Part("sample", _sitting(order, _SAMPLE, _HASTY).seconds, partial(_write_sample, order))
    return Plan(parts, sample, partial(_finish, order))


_SAMPLE = _Person("train", 0)


def _people(order: Order) -> list[_Person]:
    """Some of the 80 training people, both batches among them, and test people, all of the second batch."""
    size, rng = _SIZES[order.size], rng_for(order, "numbers")
    first = round(size.train * BATCH_1_PEOPLE / TRAIN_PEOPLE)
    older = 1 + rng.permutation(BATCH_1_PEOPLE)[:first]
    newer = 1 + BATCH_1_PEOPLE + rng.permutation(TRAIN_PEOPLE - BATCH_1_PEOPLE)[: size.train - first]
    train = [_Person("train", number) for number in sorted([*older.tolist(), *newer.tolist()])]
    return train + [_Person("test", TRAIN_PEOPLE + 1 + i) for i in range(size.test)]


def _write_person(order: Order, who: _Person, folder: Path) -> None:
    size = _SIZES[order.size]
    file = folder / who.split / f"{who.name}.pkl"
    blocks = _blocks(order, who, _sitting(order, who, size.pace))
    if who.split == "train":
        write_recording(blocks, file, size.dtype)
        return
    # As it was recorded, for as long as it takes to shuffle it. Whoever makes this part again overwrites it.
    raw = file.with_name(f".{who.name}.raw")
    write_recording(blocks, raw, size.dtype)
    shuffled, _ = prepare_test(open_recording(raw), rng_for(order, "shuffle", who.number))
    write_recording(shuffled, file, size.dtype)
    raw.unlink()


def _write_sample(order: Order, folder: Path) -> None:
    blocks = _blocks(order, _SAMPLE, _sitting(order, _SAMPLE, _HASTY))
    write_recording(blocks, folder / f"{_SAMPLE.name}.pkl", _SIZES[order.size].dtype)


def _sitting(order: Order, who: _Person, pace: _Pace) -> _Tape:
    """What this person goes through, from some seconds before the 250 to some after the 251."""
    rng, tape = rng_for(order, "sitting", who.number), _Tape()
    tape.show("rest", rng.uniform(1, 2))
    tape.mark(EXPERIMENT_START)
    for what in ("rest", "closed"):
        tape.show(what, rng.uniform(*pace.begin_s))
    for block in _programme(rng):
        tape.mark(BLOCK_START)
        for i, film in enumerate(block):
            if i:
                tape.show("rest", rng.uniform(*pace.rest_s))
            _show_film(tape, film, who, pace, rng)
        tape.mark(BLOCK_END)
        tape.show("maths", rng.uniform(*pace.maths_s))
        tape.show("rest", rng.uniform(*pace.pause_s))
    tape.mark(EXPERIMENT_END)
    tape.show("rest", rng.uniform(1, 2))
    return tape


def _programme(rng: np.random.Generator) -> list[list[Film]]:
    """The films in blocks of one valence each, everything else by chance."""
    blocks = []
    for valence in VALENCES:
        films = [film for film in FILMS if film.emotion.valence == valence]
        order = [films[i] for i in rng.permutation(len(films))]
        blocks += [order[at : at + FILMS_PER_BLOCK] for at in range(0, len(order), FILMS_PER_BLOCK)]
    return [blocks[i] for i in rng.permutation(len(blocks))]


def _show_film(tape: _Tape, film: Film, who: _Person, pace: _Pace, rng: np.random.Generator) -> None:
    usual_s = {odd.video: odd.usual_s for odd in ODD}.get(film.video, film.seconds)
    seconds = min(max(usual_s * pace.share, pace.least_s), pace.most_s)
    before_s, after_s = _surplus(film, who) if seconds == usual_s else (0.0, 0.0)
    tape.show("fixation", rng.uniform(*pace.fixation_s))
    tape.mark(film.video, before=ANNOUNCED)
    tape.mark(VIDEO_START)
    if before_s:  # another scene of the same film, which is not meant to move anybody
        tape.show("video", before_s)
    tape.show("video", seconds + rng.uniform(-JITTER_S, JITTER_S), film)
    if after_s:
        tape.show("rest", after_s)
    tape.mark(VIDEO_END)
    tape.show("report", rng.uniform(*pace.report_s))


def _surplus(film: Film, who: _Person) -> tuple[float, float]:
    """Seconds before and after an odd film. Shortened films have none: readers tell odd ones by their full length."""
    crops = [odd.crop for odd in ODD if odd.video == film.video and who.number in odd.people]
    surplus_s = SURPLUS_S.get(film.video, 0.0)
    return surplus_s * ("start" in crops), surplus_s * ("end" in crops)


def _blocks(order: Order, who: _Person, sitting: _Tape) -> Iterator[NDArray[Any]]:
    """The recording, 33 × n at a time, in the unit and the order of rows of the person's batch."""
    batch = batch_of(who.number)
    triggers = np.zeros(sitting.now, np.uint8)
    triggers[[event.sample for event in sitting.events]] = [event.code for event in sitting.events]
    brain = draw_brain(rng_for(order, "brain", who.number), DIFFICULTY)
    done = 0
    for eeg_uv in stream(brain, sitting.segments, rng_for(order, "eeg", who.number), RATE_HZ, BLOCK_S):
        block = np.empty((ROWS, eeg_uv.shape[1]))
        block[:CHANNELS] = from_batch_2(eeg_uv, batch)
        block[:CHANNELS] *= VOLTS_PER_UV if batch == 2 else 1
        block[-1] = triggers[done : done + block.shape[1]]
        done += block.shape[1]
        yield block


def _finish(order: Order, folder: Path) -> None:
    write_made(order, TRACK, folder, hidden="test")
