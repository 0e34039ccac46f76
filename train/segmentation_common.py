"""What the five trained solutions of eye-segmentation-v1 share: data on the card, masks, what is written.

Pictures and the given masks are drawn once and stay on the device. Everything is seeded; a stopped run goes on from its
last kept epoch. Of the hidden masks nothing is here: FOLDER/asked.txt names the frames that the scorer looks at, and is
read by `write_masks` alone, so that a megabyte is kept instead of a hundred.
"""

import argparse
import pickle
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from train import paper, results
from train.learning import DEVICE, on
from train.segmentation_losses import IGNORED

HEIGHT, WIDTH, CLASSES = 400, 640, 4
LEFT_OUT = 16  # every so many-th given label is not learnt from, and tells how well it goes


@dataclass(frozen=True)
class Data:
    """All frames, the masks of those that have a given label, and the sequence and number of each frame."""

    pictures: Tensor  # (n, 400, 640) uint8
    labelled: Tensor  # (m,) rows with a mask
    masks: Tensor  # (m, 400, 640) uint8
    sequence: Tensor  # (n,)
    frame: Tensor  # (n,)

    @property
    def unlabelled(self) -> Tensor:
        free = torch.ones(len(self.pictures), dtype=torch.bool, device=self.pictures.device)
        free[self.labelled] = False
        return free.nonzero()[:, 0]

    def shares(self) -> tuple[Tensor, Tensor]:
        """Labels to learn from and labels left out, as indices of `masks`: other frames of the same sequences."""
        every = torch.arange(len(self.masks), device=self.masks.device)
        aside = every % LEFT_OUT == 3
        return every[~aside], every[aside]

    def floats(self, rows: Tensor) -> Tensor:
        """(b, 1, 400, 640) grey levels."""
        return self.pictures[rows][:, None].float()


def open_data(folder: Path, device: str = DEVICE, small: bool = False) -> Data:
    """Draw the data set of a folder that train.paper wrote; in the small form only a little of it."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as aside:
        where = cut(folder, Path(aside)) if small else folder
        made = paper.segmentation(where, device)
    size = HEIGHT, WIDTH
    rows = torch.arange(len(made.sequence), device=device)
    pictures = torch.cat([image for image, _ in made.shots.pictures(rows, size)])
    masks = torch.cat([mask for _, mask in made.shots.pictures(made.labelled, size)])
    print(f"drew {len(pictures):,} pictures, {len(masks):,} masks in {time.perf_counter() - began:.0f} s", flush=True)
    return Data(pictures, made.labelled, masks, made.sequence, made.frame)


def cut(folder: Path, into: Path, sequences: int = 2, frames: int = 8) -> Path:
    """The first few frames of the first sequences, as a folder of its own; every other one is labelled."""
    kept = dict(np.load(folder / "segmentation.npz"))
    few = np.flatnonzero((kept["sequence"] < sequences) & (kept["frame"] < frames))
    part = {name: kept[name][few] for name in ("scene", "gaze", "pupil_mm", "opening", "sequence", "frame")}
    part["labelled"] = np.arange(0, len(few), 2)
    np.savez(into / "segmentation.npz", **part)
    scenes = pickle.loads((folder / "segmentation_scenes.pkl").read_bytes())  # noqa: S301 — our own file
    (into / "segmentation_scenes.pkl").write_bytes(pickle.dumps(scenes[: part["scene"].max() + 1]))
    return into


# --- networks


def placed(network: nn.Module, seed: int) -> nn.Module:
    """On the device in the layout that its convolutions like, with weights that depend on the seed alone."""
    torch.manual_seed(seed)
    for part in network.modules():
        if isinstance(part, nn.Conv2d | nn.BatchNorm2d | nn.PReLU):
            part.reset_parameters()
    return on(network)


def asked(network: nn.Module, pictures: Tensor) -> Tensor:
    """What a network says, in half precision where that is fast; nothing around it is: places need every digit."""
    with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
        found: Tensor = network(pictures)
    return found.float()


# --- predicting


@torch.no_grad()
def logits(network: nn.Module, pictures: Tensor, mirrored: bool = False) -> Tensor:
    """(b, 4, 400, 640) of grey pictures; with `mirrored`, the mean with what the mirror image gives."""
    network.eval()
    found = asked(network, pictures)
    return 0.5 * (found + asked(network, pictures.flip(3)).flip(3)) if mirrored else found


@torch.no_grad()
def masks_of(network: nn.Module, data: Data, rows: Tensor, mirrored: bool = False, sure: float = 0.0) -> Tensor:
    """(n, 400, 640) classes; pixels whose probability is below `sure` are IGNORED."""
    made = []
    for some in rows.split(64 if DEVICE == "cuda" else 4):
        chance, found = functional.softmax(logits(network, data.floats(some), mirrored), 1).max(1)
        made.append(torch.where(chance >= sure, found, IGNORED).to(torch.uint8))
    return torch.cat(made)


def miou(found: Tensor, true: Tensor) -> tuple[float, list[float]]:
    """Mean and each class's intersection over union, one confusion over all masks."""
    both = torch.zeros(CLASSES, CLASSES, dtype=torch.int64, device=found.device)
    for f, t in zip(found.split(64), true.split(64), strict=True):
        index = t.long() * CLASSES + f.long()
        both += torch.bincount(index.flatten(), minlength=CLASSES**2).view(CLASSES, CLASSES)
    hit = both.diagonal().double()
    every = (both.sum(0) + both.sum(1)).double() - hit
    each = (hit / every.clamp(min=1)).tolist()
    return sum(each) / CLASSES, each


def checker(network: nn.Module, data: Data, aside: Tensor) -> Callable[[], str]:
    """Says how well the network does on labels that it does not learn from."""

    def check() -> str:
        mean, each = miou(masks_of(network, data, data.labelled[aside]), data.masks[aside])
        return f"left out mIoU {mean:.4f} ({' '.join(f'{part:.3f}' for part in each)})"

    return check


class Ensemble(nn.Module):
    """The mean of what several networks say, as probabilities' logarithms."""

    def __init__(self, members: list[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, pictures: Tensor) -> Tensor:
        chances = [functional.softmax(member(pictures), 1) for member in self.members]
        return torch.log(torch.stack(chances).mean(0).clamp(min=1e-6))


# --- what comes out


@dataclass(frozen=True)
class Made:
    """A trained solution: its network, masks of frames, and what is told of it."""

    name: str  # of the solution: "bts_digital"
    network: nn.Module
    masks: Callable[[Tensor], Tensor]  # of rows of the data
    validation: float  # mIoU on labels left out
    trained: str
    others: Mapping[str, Callable[[Tensor], Tensor]] = field(default_factory=dict)  # what it would say in other ways
    inputs: tuple[int, int, int] = (1, HEIGHT, WIDTH)

    @property
    def weights(self) -> str:
        return f"eye_segmentation_{self.name}"

    @property
    def parameters(self) -> int:
        return sum(part.numel() for part in self.network.parameters())


def asked_rows(folder: Path, data: Data) -> tuple[list[str], Tensor]:
    """The frames that the scorer looks at, and their rows; in the small form only some of them are there."""
    places = zip(data.sequence.tolist(), data.frame.tolist(), strict=True)
    at = {f"S_{sequence}/{frame}": row for row, (sequence, frame) in enumerate(places)}
    names = [name for name in (folder / "asked.txt").read_text().split() if name in at]
    return names, torch.tensor([at[name] for name in names], dtype=torch.long, device=data.pictures.device)


def write_masks(file: Path, names: list[str], masks: Tensor) -> None:
    """A zip of S_k/n.png with classes as grey levels, as `palestra score` takes it."""
    with zipfile.ZipFile(file, "w") as out:
        for name, mask in zip(names, masks.cpu().numpy(), strict=True):
            packed = cv2.imencode(".png", mask, [cv2.IMWRITE_PNG_COMPRESSION, 9])[1].tobytes()
            out.writestr(zipfile.ZipInfo(f"{name}.png"), packed)


def write_onnx(made: Made, file: Path) -> None:
    """For onnxruntime, any number of pictures at a time."""
    network = made.network.cpu().float().eval().to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    example = torch.full((2, *made.inputs), 90.0)
    axes = {"pictures": {0: "n"}, "logits": {0: "n"}}
    torch.onnx.export(
        network, (example,), str(file), dynamo=False, opset_version=17, dynamic_axes=axes,
        input_names=["pictures"], output_names=["logits"],
    )  # fmt: skip


def write(made: Made, data: Data, folder: Path, out: Path, train_s: float) -> None:
    """Predictions of the asked frames, the weights, and what it came to."""
    out.mkdir(parents=True, exist_ok=True)
    names, rows = asked_rows(folder, data)
    predictions = f"segmentation_{made.name}.zip"
    write_masks(out / predictions, names, made.masks(rows))
    others = {f"segmentation_{other}.zip": masks for other, masks in made.others.items()}
    for file, masks in others.items():
        write_masks(out / file, names, masks(rows))
    write_onnx(made, out / f"{made.weights}.onnx")
    checked = {"miou": round(made.validation, 4)}
    results.note(
        out,
        results.Learnt(
            made.weights,
            made.parameters,
            round(train_s, 1),
            made.trained,
            checked,
            predictions=predictions,
            others=list(others),
        ),
    )


def work_in(folder: Path, small: bool) -> Path:
    """Where states are kept: a small run's networks are other ones, and must not be gone on from."""
    return folder / "small" if small else folder


Train = Callable[[Data, Path, float, bool], Made]


def alone(train: Train, doc: str | None, train_s: float) -> None:
    """The command line of a script that trains one solution."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="what `python -m train.paper FOLDER` wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("build/train"), help="where epochs are kept")
    parser.add_argument("--train-s", type=float, default=train_s, help="after which it ends")
    parser.add_argument("--small", action="store_true", help="a few pictures and steps, to see that it runs")
    options = parser.parse_args()
    data = open_data(options.data, small=options.small)
    began = time.perf_counter()
    made = train(data, work_in(options.work, options.small), options.train_s, options.small)
    write(made, data, options.data, options.out, time.perf_counter() - began)
    print(f"{made.name}: {made.parameters:,} parameters, left out mIoU {made.validation:.4f}, in {options.out}")
