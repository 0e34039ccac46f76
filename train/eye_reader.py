"""The network behind `palestra annotate`: a picture of an eye in, its four classes and a few facts out.

    python -m train.eye_reader --work FOLDER --out OUT/eye_reader.onnx

It learns from the world alone (train/eye_world.py): other people, devices, light, focus and framing in every batch, and
pictures without an eye, with two, or in pieces, so that it can say that it does not know. It keeps
FOLDER/reader-SEED.pt after every 150 batches; started again, it goes on from there.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from palestra.eyes.reader.torch_network import Reader
from train import eye_command
from train.eye_world import (
    HEIGHT,
    WIDTH,
    Spoiling,
    World,
    angles,
    moved,
    normalised,
    nothing_there,
    spoilt,
    world_and_others,
)
from train.learning import DEVICE, learn, on

WHAT = "A small U-Net of 200 × 320 pixels with a head for facts, on pictures that are drawn and spoilt as it learns"


@dataclass(frozen=True)
class Settings(eye_command.Settings):
    without: float = 0.14  # share of pictures that do not show one eye


USUAL = Settings(people=4096, steps=4500, train_s=340.0, decay=1e-2, widths=(32, 48, 80, 112, 128))
SMALL = Settings(people=4, batch=4, steps=2, epoch=1, train_s=1e6, decay=1e-2, widths=(8, 8, 8, 8, 8))


def lesson(world: World, settings: Settings) -> tuple[Tensor, ...]:
    """Pictures, masks, axis angles (n, 2), opening, whether each shows one eye, and whether that is a left one."""
    drawn = moved(world, world.batch(settings.batch), SPOILING)
    instead = nothing_there(world, drawn)
    one = world.uniform(0, 1, settings.batch) >= settings.without
    image = spoilt(world, torch.where(one[:, None, None], drawn.image, instead), SPOILING)
    mask = torch.where(one[:, None, None], drawn.mask, torch.zeros_like(drawn.mask))
    return normalised(image), mask.long(), angles(drawn.axis), drawn.opening.clamp(0, 1), one.float(), drawn.left


SPOILING = Spoiling()


def loss_of(told: tuple[Tensor, Tensor], taught: tuple[Tensor, ...]) -> Tensor:
    logits, facts = told[0].float(), told[1].float()
    mask, angles, opening, one, left = taught
    picture = functional.cross_entropy(logits, mask) + 0.5 * (1 - overlap(logits.softmax(1), mask).mean())
    off = ((facts[:, :2] - angles) ** 2).sum(1)
    seen = one * (opening > 0.25)
    gaze = (seen * (off * torch.exp(-facts[:, 2]) / 2 + facts[:, 2])).sum() / seen.sum().clamp(min=1)
    known = functional.binary_cross_entropy_with_logits(facts[:, 3], one)
    lids = (one * functional.binary_cross_entropy_with_logits(facts[:, 4], opening, reduction="none")).mean()
    side = (one * functional.binary_cross_entropy_with_logits(facts[:, 5], left, reduction="none")).mean()
    return picture + 0.05 * gaze + 0.2 * known + 0.2 * lids + 0.1 * side


def overlap(shares: Tensor, mask: Tensor) -> Tensor:
    """(4,) soft overlap of each class over the batch."""
    wanted = functional.one_hot(mask, 4).movedim(3, 1).float()
    both = (shares * wanted).sum((0, 2, 3))
    return (2 * both + 1) / (shares.sum((0, 2, 3)) + wanted.sum((0, 2, 3)) + 1)


@torch.no_grad()
def tested(network: nn.Module, world: World, settings: Settings, batches: int = 8) -> dict[str, float]:
    """How well it does on people that it does not know."""
    counts = torch.zeros(4, 4, device=DEVICE)
    off, right, total = [], 0.0, 0
    for _ in range(batches):
        pictures, mask, angles, opening, one, _ = lesson(world, settings)
        logits, facts = network(pictures)
        there = one > 0
        pairs = 4 * mask[there] + logits[there].argmax(1)
        counts += torch.bincount(pairs.flatten(), minlength=16).view(4, 4)
        apart = (facts[:, :2].float() - angles).norm(dim=1)[there & (opening > 0.25)]
        off.append(torch.rad2deg(apart))
        right += float(((facts[:, 3] > 0) == there).float().sum())
        total += len(one)
    hit = counts.diagonal()
    each = hit / (counts.sum(0) + counts.sum(1) - hit)
    axis = float(torch.cat(off).median())
    return {"miou": float(each.mean()), "axis_deg": axis, "eye_or_not": right / total}


def train(settings: Settings, work: Path) -> tuple[Reader, dict[str, float]]:
    """The network, and how well it does on people left out."""
    torch.manual_seed(settings.seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    world, others = world_and_others(settings.people, settings.seed, DEVICE)
    network = on(Reader(settings.widths))
    lesson(world, settings)  # compiles, which is not training

    def loss() -> Tensor:
        pictures, *taught = lesson(world, settings)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
            told = network(pictures.contiguous(memory_format=torch.channels_last))
        return loss_of(told, tuple(taught))

    def check() -> str:
        return eye_command.told(tested(network, others, settings))

    learn(network, loss, settings.schedule, check, work / f"reader-{settings.seed}.pt")
    return network, tested(network, others, settings)


def write(network: Reader, file: Path) -> None:
    """For onnxruntime, any number of pictures at a time."""
    example = torch.zeros(2, 1, HEIGHT, WIDTH)
    names = {"input_names": ["pictures"], "output_names": ["logits", "facts"]}
    some = {name: {0: "n"} for name in ("pictures", "logits", "facts")}
    plain = network.cpu().eval().to(memory_format=torch.contiguous_format)
    torch.onnx.export(plain, (example,), str(file), dynamo=False, opset_version=17, dynamic_axes=some, **names)


if __name__ == "__main__":
    eye_command.run(__doc__, USUAL, train, write, WHAT)
