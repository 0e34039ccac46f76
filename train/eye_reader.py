"""The network behind `palestra annotate`: a picture of an eye in, its four classes and a few facts out.

    python -m train.eye_reader --work FOLDER --out OUT/eye_reader.onnx

It learns from the world alone (train/eye_world.py): other people, devices, light, focus and framing in every batch, and
pictures without an eye, with two, or in pieces, so that it can say that it does not know. A larger network learns
first; the one that is shipped then learns from the same pictures, and from what the larger one says of them. Both keep
their state in FOLDER after every 300 batches; started again, they go on from there.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from palestra.eyes.reader.torch_network import Reader, to_onnx
from train import command, eye_settings
from train.eye_world import (
    Drawn,
    Framing,
    Spoiling,
    World,
    angles,
    framed,
    moved,
    normalised,
    nothing_there,
    spoilt,
    world_and_others,
)
from train.learning import DEVICE, learn, on

WHAT = "A small U-Net of 200 × 320 pixels with a head for facts, taught by the drawn world and by a larger one"
SQUINTS = 0.12  # share of pictures


@dataclass(frozen=True)
class Settings(eye_settings.Settings):
    without: float = 0.14  # share of pictures that do not show one eye
    teacher_s: float = 0.0  # how long the larger network learns, before train_s begin
    teacher_widths: tuple[int, ...] = ()
    heed: float = 0.5  # how much what the larger one says counts, beside what is true


USUAL = Settings(
    people=4096,
    batch=256,
    epoch=300,
    steps=30_000,
    train_s=460.0,
    decay=1e-2,
    widths=(16, 32, 64, 112, 128),
    teacher_s=300.0,
    teacher_widths=(32, 64, 112, 160, 192),
)
SMALL = Settings(
    people=4,
    batch=4,
    steps=2,
    epoch=1,
    train_s=1e6,
    decay=1e-2,
    widths=(8, 8, 8, 8, 8),
    teacher_s=1e6,
    teacher_widths=(8, 16, 8, 8, 8),
)


SPOILING, FRAMING = Spoiling(), Framing()
SHOWN = 0.35  # of its iris, from which on an eye is in a picture; below, whether it is one is not asked


def lesson(world: World, settings: Settings) -> tuple[Tensor, ...]:
    """Pictures, masks, axis angles (n, 2), opening, whether each shows one eye, whether a left one, and how surely."""
    return world.quick(_taught)(world, world.batch(settings.batch), settings.without)


def _taught(world: World, drawn: Drawn, without: float) -> tuple[Tensor, ...]:
    drawn = moved(world, drawn, FRAMING)
    count = len(drawn.image)
    others = round(without * count)  # the first ones: who they show is drawn by chance
    one = torch.arange(count, device=world.device) >= others
    image = torch.cat([nothing_there(world, drawn.image[:others]), drawn.image[others:]])
    image = spoilt(world, image, SPOILING)
    image, drawn = framed(world, image, drawn, FRAMING)
    mask = torch.where(one[:, None, None], drawn.mask, torch.zeros_like(drawn.mask))
    clear = ~one | (drawn.shown >= SHOWN)
    opening = drawn.opening.clamp(0, 1)
    return normalised(image), mask.long(), angles(drawn.axis), opening, one.float(), drawn.left, clear.float()


def loss_of(told: tuple[Tensor, Tensor], taught: tuple[Tensor, ...]) -> Tensor:
    logits, facts = told[0].float(), told[1].float()
    mask, angles, opening, one, left, clear = taught
    picture = functional.cross_entropy(logits, mask) + 0.5 * (1 - overlap(logits.softmax(1), mask).mean())
    off = ((facts[:, :2] - angles) ** 2).sum(1)
    there = one * clear
    seen = there * (opening > 0.25)
    gaze = (seen * (off * torch.exp(-facts[:, 2]) / 2 + facts[:, 2])).sum() / seen.sum().clamp(min=1)

    def told_apart(column: int, truth: Tensor, weight: Tensor) -> Tensor:
        each = functional.binary_cross_entropy_with_logits(facts[:, column], truth, reduction="none")
        return (weight * each).mean()

    known, lids, side = told_apart(3, one, clear), told_apart(4, opening, there), told_apart(5, left, there)
    return picture + 0.05 * gaze + 0.2 * known + 0.2 * lids + 0.1 * side


def heeded(told: tuple[Tensor, Tensor], larger: tuple[Tensor, Tensor], taught: tuple[Tensor, ...]) -> Tensor:
    """How far a network is from what a larger one says of the same pictures: classes, and where the eye looks."""
    mine, hers = (logits.float().log_softmax(1) for logits in (told[0], larger[0]))
    classes = (hers.exp() * (hers - mine)).sum(1).mean()
    seen = taught[3] * taught[5] * (taught[2] > 0.25)
    off = ((told[1][:, :2].float() - larger[1][:, :2].float()) ** 2).sum(1)
    gaze = (seen * off * torch.exp(-told[1][:, 2].float().detach()) / 2).sum() / seen.sum().clamp(min=1)
    return classes + 0.05 * gaze


def overlap(shares: Tensor, mask: Tensor) -> Tensor:
    """(4,) soft overlap of each class over the batch."""
    parts = [mask == part for part in range(4)]
    both = torch.stack([(shares[:, part] * there).sum() for part, there in enumerate(parts)])
    wanted = torch.stack([there.sum() for there in parts])
    return (2 * both + 1) / (shares.sum((0, 2, 3)) + wanted + 1)


@torch.no_grad()
def tested(network: nn.Module, world: World, settings: Settings, batches: int = 8) -> dict[str, float]:
    """How well it does on people that it does not know."""
    counts = torch.zeros(4, 4, device=DEVICE)
    off, right, total = [], 0.0, 0.0
    for _ in range(batches):
        pictures, mask, angles, opening, one, _, clear = lesson(world, settings)
        logits, facts = network(pictures)
        there = one * clear > 0
        pairs = 4 * mask[there] + logits[there].argmax(1)
        counts += torch.bincount(pairs.flatten(), minlength=16).view(4, 4)
        apart = (facts[:, :2].float() - angles).norm(dim=1)[there & (opening > 0.25)]
        off.append(torch.rad2deg(apart))
        right += float((clear * ((facts[:, 3] > 0) == (one > 0))).sum())
        total += float(clear.sum())
    hit = counts.diagonal()
    each = hit / (counts.sum(0) + counts.sum(1) - hit)
    axis = float(torch.cat(off).median())
    return {"miou": float(each.mean()), "axis_deg": axis, "eye_or_not": right / total}


def train(settings: Settings, work: Path) -> tuple[Reader, dict[str, float]]:
    """The network, and how well it does on people left out."""
    torch.manual_seed(settings.seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    world, others = world_and_others(settings.people, settings.seed, DEVICE, squints=SQUINTS, hard=True)

    def learnt(name: str, widths: tuple[int, ...], train_s: float, larger: Reader | None) -> Reader:
        network = on(Reader(widths))
        quick, quick_larger = world.quick(network), None if larger is None else world.quick(larger)
        quick_loss, quick_heeded = world.quick(loss_of), world.quick(heeded)

        def loss() -> Tensor:
            pictures, *taught = lesson(world, settings)
            pictures = pictures.contiguous(memory_format=torch.channels_last)
            with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
                told = quick(pictures)
                with torch.no_grad():
                    hers = None if quick_larger is None else quick_larger(pictures)
            true = quick_loss(told, tuple(taught))
            return true + settings.heed * quick_heeded(told, hers, tuple(taught)) if hers is not None else true

        def check() -> str:
            return command.told(tested(network, others, settings))

        loss().backward()  # compiles, which is not training
        schedule = replace(settings, train_s=train_s).schedule
        learn(network, loss, schedule, check, work / f"{name}-{settings.seed}.pt")
        return network

    larger = learnt("larger", settings.teacher_widths, settings.teacher_s, None) if settings.teacher_s else None
    network = learnt("reader", settings.widths, settings.train_s, larger)
    return network, tested(network, others, settings)


def write(network: Reader, file: Path) -> None:
    file.write_bytes(to_onnx(network.cpu().to(memory_format=torch.contiguous_format)))


if __name__ == "__main__":
    command.run(__doc__, USUAL, train, write, lambda asked: asked.told(WHAT))
