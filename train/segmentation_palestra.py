"""Ours for sparse segmentation: a small network that learnt the world, and then the time of each sequence.

The network (0.6 M parameters, 320 × 200) tells three things of each place: whether the eye is open there, whether the
iris is there, were it not covered, and the same of the pupil. It learns from the given labels and, in equal parts, from
people and devices that no data set has (train/eye_world.py), framed and spoilt as for the reader of `palestra
annotate`, so that pictures of any device and size may come. What a sequence's own labels and its other frames add is
worked out afterwards, without training: palestra/tracks/eye_segmentation/solutions/sequence.py.

    python -m train.segmentation_palestra --data FOLDER --out FOLDER
"""

import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from palestra.tracks.eye_segmentation.solutions.sequence import ALL, Steps, agreed
from train import segmentation_common as common
from train import segmentation_views as views
from train.eye_world import Drawn, Framing, Spoiling, World, framed, spoilt
from train.eye_world import moved as framed_anew
from train.learning import DEVICE, Schedule, learn
from train.segmentation_common import Data, Made
from train.segmentation_losses import IGNORED

TRAIN_S = 170.0
PEOPLE = 2048
SQUINTS = 0.12  # share of drawn pictures
SCHEDULE = Schedule(TRAIN_S, steps=20_000, rate=3e-3, batch=256, decay=1e-2, epoch=250)
EDGE = 8.0  # how much more a pixel near an edge counts: the rest is soon learnt
SIZE = (200, 320)
FRAMING, SPOILING = Framing(), Spoiling()
# What each step of segment_time adds is told for labels left out; the last is what is used.
MEASURED = (Steps(discs=False), Steps(lids=False), Steps(choose=False), ALL)
Array = np.ndarray[Any, np.dtype[Any]]


def layer(into: int, out: int, stride: int = 1, size: int = 3) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(into, out, size, stride, size // 2, bias=False), nn.BatchNorm2d(out), nn.ReLU())


class Network(nn.Module):
    """(n, 1, 200, 320) grey levels → (n, 3, 200, 320) logits: open, iris, pupil."""

    def __init__(self, widths: tuple[int, ...] = (16, 32, 64, 96, 128)) -> None:
        super().__init__()
        self.enter = layer(1, widths[0], 2, 5)
        self.down = nn.ModuleList(nn.Sequential(layer(a, b, 2), layer(b, b)) for a, b in pairwise(widths))
        self.across = nn.ModuleList(nn.Conv2d(b, a, 1) for a, b in zip(widths[-2::-1], widths[:0:-1], strict=True))
        self.up = nn.ModuleList(layer(width, width) for width in widths[-2::-1])
        self.last = nn.Conv2d(widths[0], 12, 3, padding=1)

    def forward(self, pictures: Tensor) -> Tensor:
        seen = [self.enter(views.normal(pictures.float()))]
        for block in self.down:
            seen.append(block(seen[-1]))
        x = seen.pop()
        for across, block in zip(self.across, self.up, strict=True):
            beside = seen.pop()
            x = block(beside + functional.interpolate(across(x), size=beside.shape[2:], mode="nearest"))
        return functional.pixel_shuffle(self.last(x), 2)  # each place of the half tells four pixels


def targets(masks: Tensor) -> tuple[Tensor, Tensor]:
    """(b, 3, 200, 320) shares of each pixel that are open, iris and pupil, and how much each of these is known.

    Masks may have the full or the half size. Iris and pupil are known where the eye is open, and only there.
    """
    step = masks.shape[1] // SIZE[0]
    known = functional.avg_pool2d((masks != IGNORED)[:, None].float(), step) == 1
    parts = [((masks >= part) & (masks != IGNORED))[:, None].float() for part in (1, 2, 3)]
    is_open, iris, pupil = (functional.avg_pool2d(part, step) for part in parts)
    share = torch.cat([is_open, iris / is_open.clamp(min=1e-3), pupil / is_open.clamp(min=1e-3)], 1)
    return share, known * torch.cat([torch.ones_like(is_open), is_open, is_open], 1)


def loss(found: Tensor, share: Tensor, known: Tensor) -> Tensor:
    """Cross-entropy of the three, over what is known; edges count more."""
    around = functional.max_pool2d(share, 5, 1, 2) + functional.max_pool2d(-share, 5, 1, 2)
    weight = known * (1 + EDGE * (around > 0))
    each = functional.binary_cross_entropy_with_logits(found.float(), share, weight, reduction="none")
    return (each.sum((0, 2, 3)) / weight.sum((0, 2, 3)).clamp(min=1)).sum()


def drawn(world: World, count: int) -> tuple[Tensor, Tensor]:
    """Pictures (n, 1, 200, 320) and masks of anybody in any light, near and far, within margins and without."""
    return world.quick(_framed)(world, framed_anew(world, world.batch(count), FRAMING))


def _framed(world: World, seen: Drawn) -> tuple[Tensor, Tensor]:
    image, seen = framed(world, spoilt(world, seen.image, SPOILING), seen, FRAMING)
    return image[:, None], seen.mask


def halved(pictures: Tensor) -> Tensor:
    return functional.avg_pool2d(pictures, 2)


def classes(found: Tensor) -> Tensor:
    """(b, 400, 640) from logits (b, 3, 200, 320) alone, without what time adds."""
    full = functional.interpolate(found, scale_factor=2.0, mode="bilinear", align_corners=False) > 0
    return (full[:, 0] * (1 + full[:, 1] * (1 + 1 * full[:, 2]))).to(torch.uint8)


@torch.no_grad()
def told(network: nn.Module, data: Data, rows: Tensor) -> Tensor:
    """Logits (n, 3, 200, 320) in half precision."""
    network.eval()
    some = rows.split(256 if DEVICE == "cuda" else 4)
    return torch.cat([network(halved(data.floats(part))).half() for part in some])


def train(data: Data, work: Path, train_s: float, small: bool) -> Made:
    schedule = SCHEDULE.small() if small else replace(SCHEDULE, train_s=train_s)
    network = common.placed(Network(*([(4, 8, 8, 8, 8)] if small else [])), schedule.seed)
    world = World(2 if small else PEOPLE, DEVICE, squints=SQUINTS, hard=True)
    learnt, aside = data.shares()
    rows, masks = data.labelled[learnt], data.masks[learnt]
    half = schedule.batch // 2
    drawn(world, half)  # compiles, which is not training

    def loss_of() -> Tensor:
        at = torch.randint(len(rows), (half,), device=DEVICE)
        seen, true = views.moved(data.floats(rows[at]), masks[at], 6.0, 1.15, 0.08)
        fresh, hers = drawn(world, half)
        pictures = torch.cat([views.relit(halved(seen), 0.2, 0.15, 2.0), fresh])
        both = zip(targets(true), targets(hers), strict=True)
        return loss(common.asked(network, pictures), *(torch.cat(pair) for pair in both))

    def alone(rows: Tensor) -> Tensor:
        return torch.cat([classes(part.float()) for part in told(network, data, rows).split(64)])

    def check() -> str:
        mean, each = common.miou(alone(data.labelled[aside]), data.masks[aside])
        return f"left out mIoU {mean:.4f} ({' '.join(f'{part:.3f}' for part in each)}) frame by frame"

    learn(network, loss_of, schedule, check, work / "segmentation_palestra.pt")
    mean = 0.0
    for steps in MEASURED:
        mean, each = common.miou(Timed(network, data, learnt, steps)(data.labelled[aside]), data.masks[aside])
        print(f"{steps}: left out mIoU {mean:.4f} ({' '.join(f'{part:.3f}' for part in each)})", flush=True)
    everything = Timed(network, data, torch.arange(len(data.masks), device=data.masks.device), ALL)
    return Made(
        name="palestra",
        network=network,
        masks=everything,
        validation=mean,
        trained=f"on {len(learnt):,} given labels and {len(world.plates):,} other people, "
        f"at most {schedule.train_s:.0f} s",
        others={"palestra_alone": alone},
        inputs=(1, *SIZE),
    )


class Timed:
    """Masks of frames, each from its whole sequence and the labels given there."""

    def __init__(self, network: nn.Module, data: Data, labels: Tensor, steps: Steps) -> None:
        self.network, self.data, self.labels, self.steps = network, data, labels, steps

    def __call__(self, rows: Tensor) -> Tensor:
        made = torch.zeros(len(rows), common.HEIGHT, common.WIDTH, dtype=torch.uint8)
        sequences = self.data.sequence[rows]
        names = sequences.unique().tolist()
        jobs = ((self._job(name, rows[sequences == name]), self.steps) for name in names)
        for name, masks in zip(names, _in_processes(jobs), strict=True):
            made[(sequences == name).cpu()] = torch.from_numpy(masks)
        return made.to(rows.device)

    def _job(self, sequence: int, rows: Tensor) -> tuple[Array, ...]:
        """Logits of a whole sequence, which of them are labelled, the labels, and which masks are wanted."""
        every = (self.data.sequence == sequence).nonzero()[:, 0]
        mine = self.labels[self.data.sequence[self.data.labelled[self.labels]] == sequence]
        given = torch.searchsorted(every, self.data.labelled[mine])
        wanted = torch.searchsorted(every, rows)
        parts = told(self.network, self.data, every), given, self.data.masks[mine], wanted
        return tuple(part.cpu().numpy() for part in parts)


Job = tuple[tuple[Array, ...], Steps]


def _worked(job: Job) -> Array:
    (logits, given, masks, wanted), steps = job
    cv2.setNumThreads(1)
    return agreed(logits.astype(np.float32), given, masks, wanted, steps)


def _in_processes(jobs: Iterable[Job]) -> Iterable[Array]:
    """Sequence by sequence on all cores; a few at a time, as logits are large."""
    if DEVICE == "cpu":
        yield from map(_worked, jobs)
        return
    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(cores) as pool:
        waiting = []
        for job in jobs:
            waiting.append(pool.submit(_worked, job))
            if len(waiting) >= 2 * cores:
                yield waiting.pop(0).result()
        yield from (one.result() for one in waiting)


if __name__ == "__main__":
    common.alone(train, __doc__, TRAIN_S)
