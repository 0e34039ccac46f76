"""Weights for one device: the reader learns on from a folder of its pictures, labelled and not.

First it learns from the user's masks. Then it reads the other pictures, and those whose mask it is sure of are learnt
from as well. A fifth of the labels is held out; on these the old and the new reader are compared, and weights that do
worse are not kept.
"""

import datetime
import importlib.util
import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np

from palestra import model_cards
from palestra.annotation.device_windows import Eye, eye_of
from palestra.annotation.items import Items
from palestra.annotation.jobs import Job
from palestra.annotation.labels import Label, overlap_counts, pooled_miou
from palestra.annotation.orientation import Orientation, is_upside_down
from palestra.annotation.overlay import overlay
from palestra.errors import PalestraError
from palestra.eyes.reader.network import NAME
from palestra.eyes.reader.read_eye import Reading, estimate
from palestra.eyes.reader.settings import Settings
from palestra.formats import write_bytes
from palestra.report import png
from palestra.text import say

SCRIPT = "palestra adapt"
UNFINISHED = "weights in the making"  # on a card that nobody keeps
FIRST_STEPS, SECOND_STEPS = 170, 90  # on labels alone, and with what is read for sure then
LEAST_TO_SPLIT = 3
OTHERS = 16  # pictures without a label that are learnt from
ASKED = 40  # of which so many are read, to find those that are sure
HELD_OUT = 5  # one label in so many
SHOWN = 4  # held-out pictures in the picture of before and after
WIDE = 420  # pixels of each there


@dataclass(frozen=True)
class Score:
    """How well a reader does on held-out labels."""

    miou: float | None  # of all pixels together, where there are masks
    pupil_off: float | None  # median, of a picture's width

    def told(self, suffix: str) -> dict[str, float]:
        named = {f"miou_{suffix}": self.miou, f"pupil_off_{suffix}": self.pupil_off}
        return {name: round(value, 4) for name, value in named.items() if value is not None}

    def __str__(self) -> str:
        miou = [] if self.miou is None else [f"mIoU {self.miou:.3f}"]
        return ", ".join(
            [*miou, *([] if self.pupil_off is None else [f"pupil off by {self.pupil_off:.2%} of the width"])]
        )

    def beats(self, other: "Score") -> bool:
        if self.miou is not None and other.miou is not None:
            return self.miou > other.miou
        if self.pupil_off is not None and other.pupil_off is not None:
            return self.pupil_off < other.pupil_off
        return True


@dataclass(frozen=True)
class Adapted:
    """What came of it."""

    before: Score | None  # on held-out labels, where there are some
    after: Score | None
    kept: bool
    labelled: int
    held_out: int
    others: int  # pictures without a label that were learnt from
    picture: Path | None  # of before and after

    def values(self, out: Path) -> dict[str, object]:
        """As JSON has it."""
        figures = {
            **(self.before.told("before") if self.before else {}),
            **(self.after.told("after") if self.after else {}),
        }
        counts = {"labelled": self.labelled, "held_out": self.held_out, "others": self.others}
        return {"weights": str(out) if self.kept else None, **counts, **figures}


def require_out(out: Path) -> None:
    """Refuse to write over what is not weights of ours."""
    if out.suffix != ".onnx":
        raise PalestraError(say("{out}: weights end in .onnx. Name such a file as --out.", out=out))
    for file in (out, out.with_suffix(".toml"), out.with_suffix(".png")):
        if file.is_dir() or (file.exists() and not _was_ours(out)):
            raise PalestraError(
                say("{file} is there and was not written by `palestra adapt`. Name another --out.", file=file)
            )


def _was_ours(out: Path) -> bool:
    try:
        return model_cards.card_of(out).script == SCRIPT
    except PalestraError:
        return False


def require_torch() -> None:
    """Said before anything is read: training needs what reading does not."""
    for name in ("torch", "onnx"):
        if importlib.util.find_spec(name) is None:
            raise PalestraError(
                say("`palestra adapt` needs {name}, which is missing: pip install 'palestra[train]'.", name=name)
            )


def steps_of(labels: Sequence[Label]) -> int:
    """How many steps of training there will be at most."""
    return (FIRST_STEPS if any(label.mask is not None for label in labels) else 0) + SECOND_STEPS


def adapt(
    jobs: Sequence[Job], labels: Sequence[Label], out: Path, orientation: Orientation, advance: Callable[[int], None]
) -> Adapted:
    """Train, compare, and keep the weights at `out` with their card and a picture of before and after."""
    require_torch()
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait must not take the cores from other programs
    from palestra.annotation.device_training import Trainer

    began = time.perf_counter()
    usual = Settings(upside_down=is_upside_down(jobs, orientation, Settings()))
    learnt, held_out = split(labels)
    trainer = Trainer(model_cards.weights(NAME))
    eyes = [eye_of(label.image, label.mask, usual) for label in learnt if label.mask is not None]
    with tempfile.TemporaryDirectory() as folder:
        so_far = usual
        if eyes:
            trainer.learn(eyes, [], FIRST_STEPS, advance)
            so_far = _kept_at(
                Path(folder) / "first.onnx", trainer.content(), _card(trainer.parameters, UNFINISHED, 0.0, {}), usual
            )
        others = _sure_eyes(jobs, {label.name for label in labels}, so_far)
        if not eyes and not others:
            raise PalestraError(
                say("There is nothing to learn from: no picture is read for sure. Label a few masks, with --labels.")
            )
        if others:
            trainer.learn(eyes, others, SECOND_STEPS, advance)
        took_s, content = time.perf_counter() - began, trainer.content()
        fresh = _kept_at(Path(folder) / "last.onnx", content, _card(trainer.parameters, UNFINISHED, 0.0, {}), usual)
        before, after = (_readings(held_out, settings) for settings in (usual, fresh))
    scores = (score(held_out, before), score(held_out, after)) if held_out else (None, None)
    kept = scores[0] is None or scores[1] is None or scores[1].beats(scores[0])
    picture = out.with_suffix(".png") if held_out else None
    if kept:
        figures = {
            key: value
            for one, when in zip(scores, ("before", "after"), strict=True)
            if one
            for key, value in one.told(when).items()
        }
        what = f"{len(eyes)} labelled pictures and {len(others)} that were read for sure, of one device"
        _kept_at(out, content, _card(trainer.parameters, what, took_s, figures), usual)
    if picture:
        write_bytes(picture, before_and_after(held_out, before, after))
    return Adapted(scores[0], scores[1], kept, len(eyes), len(held_out), len(others), picture)


def split(labels: Sequence[Label]) -> tuple[list[Label], list[Label]]:
    """What is learnt from, and every fifth, which is held out; of fewer than three nothing can be spared."""
    if len(labels) < LEAST_TO_SPLIT:
        return list(labels), []
    spared = max(len(labels) // HELD_OUT, 1)
    which = {(2 * number + 1) * len(labels) // (2 * spared) for number in range(spared)}
    return (
        [label for at, label in enumerate(labels) if at not in which],
        [label for at, label in enumerate(labels) if at in which],
    )


def _sure_eyes(jobs: Sequence[Job], labelled: set[str], settings: Settings) -> list[Eye]:
    """Pictures without a label, from all over the folder, whose masks the reader is sure of."""
    rest = [job for job in jobs if job.name not in labelled]
    asked = [rest[at * len(rest) // ASKED] for at in range(ASKED)] if len(rest) > ASKED else rest
    found: list[Eye] = []
    for item in Items(asked):
        picture = item.picture()
        if isinstance(picture, str):
            continue
        reading = estimate(picture, settings)
        if reading.is_sure("mask") and reading.is_sure("pupil"):
            found.append(eye_of(picture, reading.mask, settings))
        if len(found) == OTHERS:
            break
    return found


def _kept_at(file: Path, content: bytes, card: model_cards.Card, settings: Settings) -> Settings:
    model_cards.write_weights(file, content, card)
    return replace(settings, weights=file)


def _card(parameters: int, data: str, took_s: float, figures: Mapping[str, float]) -> model_cards.Card:
    known = model_cards.card(NAME)
    return model_cards.Card(
        solution="annotate",
        track="pictures of one device",
        script=SCRIPT,
        seed=0,
        data=data,
        parameters=parameters,
        trained=f"From {NAME}, sha256 {known.sha256}, on {datetime.date.today().isoformat()}",
        make="palestra adapt FOLDER --labels DIR",
        train_s=round(took_s, 1),
        checked=figures,
    )


# ── Before and after. ─────────────────────────────────────────────────────────────────────────────────────────────────


def _readings(labels: Sequence[Label], settings: Settings) -> list[Reading]:
    return [estimate(label.image, settings) for label in labels]


def score(labels: Sequence[Label], readings: Sequence[Reading]) -> Score:
    """How well readings fit labels; a pupil that is not found is as far off as the picture is wide."""
    counts = [
        overlap_counts(label.mask, reading.mask)
        for label, reading in zip(labels, readings, strict=True)
        if label.mask is not None
    ]
    off = []
    for label, reading in zip(labels, readings, strict=True):
        if point := label.pupil_point():
            found, width = reading.pupil, label.image.shape[1]
            off.append(math.hypot(found.x - point[0], found.y - point[1]) / width if found else 1.0)
    return Score(pooled_miou(counts) if counts else None, float(np.median(off)) if off else None)


def before_and_after(labels: Sequence[Label], before: Sequence[Reading], after: Sequence[Reading]) -> bytes:
    """A PNG: each held-out picture as the old and as the new reader has it, side by side."""
    rows = []
    for label, *both in list(zip(labels, before, after, strict=True))[:SHOWN]:
        shown = [overlay(label.image, reading) for reading in both]
        height = round(WIDE * shown[0].shape[0] / shown[0].shape[1])
        rows.append(np.hstack([cv2.resize(one, (WIDE, height), interpolation=cv2.INTER_AREA) for one in shown]))
    return png(np.vstack(rows))
