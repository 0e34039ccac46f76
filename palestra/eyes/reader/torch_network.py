"""The reader's network in torch, for those who train it: from the drawn world, or further on one device.

Needs the extra `train`. Weights come out of the ONNX file that is run otherwise, in which normalisation was folded into
the convolutions; here it goes on from there as a scale and a shift for each channel.
"""

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor, nn
from torch.nn import functional

from palestra.eyes.reader.image_input import COLUMNS, ROWS

# Yaw and pitch of the optical axis in radians, as the camera sees it (to the picture's right, and up; 0 is into the
# lens), the logarithm of their variance, and as logits: whether there is one eye, its opening, whether it is left.
FACTS = 6


class Block(nn.Module):
    """Two 3 × 3 convolutions, the second beside what the first gave: small networks have no shortcut to spare."""

    def __init__(self, into: int, out: int, stride: int = 1) -> None:
        super().__init__()
        self.first = nn.Conv2d(into, out, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(out)
        self.second = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(out)

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.relu(self.first_norm(self.first(x)))
        return functional.relu(inner + self.second_norm(self.second(inner)))


class Reader(nn.Module):
    """A small U-Net whose deepest layer also tells facts about the whole picture.

    It begins and ends at half the size of its pictures, where few pixels need wide layers; each pixel there tells the
    classes of four.
    """

    def __init__(self, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, widths[0], 5, 2, 2, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU())
        self.down = nn.ModuleList(Block(a, b, 2) for a, b in pairwise(widths))
        self.deep = Block(widths[-1], widths[-1])
        self.side = nn.ModuleList(nn.Conv2d(b, a, 1) for a, b in pairwise(widths))
        self.up = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, a, 3, 1, 1, bias=False), nn.BatchNorm2d(a), nn.ReLU()) for a in widths[:-1]
        )
        self.last = nn.Conv2d(widths[0], 16, 1)
        self.facts = nn.Sequential(nn.Linear(widths[-1] * 12, 64), nn.ReLU(), nn.Linear(64, FACTS))

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (n, 4, 200, 320) and facts (n, 6) of pictures (n, 1, 200, 320)."""
        seen = [self.stem(pictures)]
        for block in self.down:
            seen.append(block(seen[-1]))
        x = self.deep(seen[-1])
        # Where in the picture something is matters: means over 3 × 4 parts, not over all.
        parts = functional.interpolate(x, (12, 20), mode="bilinear", align_corners=False)
        facts = self.facts(functional.avg_pool2d(parts, (4, 5)).flatten(1))
        for level in range(len(self.up) - 1, -1, -1):
            x = self.up[level](seen[level] + _enlarged(self.side[level](x), seen[level].shape[2:]))
        return functional.pixel_shuffle(self.last(x), 2), facts


def _enlarged(x: Tensor, size: torch.Size) -> Tensor:
    """To a size; onnxruntime is five times as fast where it is told that this is twice as large."""
    high, wide = int(size[0]), int(size[1])
    if (high, wide) == (2 * int(x.shape[2]), 2 * int(x.shape[3])):
        return functional.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
    return functional.interpolate(x, (high, wide), mode="bilinear", align_corners=False)


def from_onnx(content: bytes) -> Reader:
    """The network of an ONNX file that `write` or the training wrote, ready to be trained further."""
    graph = onnx.load_model_from_string(content).graph
    arrays = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    for node in graph.node:  # the exporter keeps one of several arrays that are the same
        if node.op_type == "Identity" and node.input[0] in arrays:
            arrays[node.output[0]] = arrays[node.input[0]]
    folded = {
        _module(node.name): [arrays[name] for name in node.input[1:]]
        for node in graph.node
        if node.op_type in ("Conv", "Gemm")
    }
    levels = sum(name.startswith("down.") and name.endswith(".first") for name in folded)
    first = ["stem.0", *(f"down.{level}.first" for level in range(levels))]
    network = Reader(tuple(len(folded[name][0]) for name in first))
    for name, (weight, bias) in folded.items():
        _fill(network, name, weight, bias)
    return network.eval()


def _module(node: str) -> str:
    """`down.0.first` of /down.0/first/Conv, `stem.0` of /stem/stem.0/Conv."""
    parts = node.strip("/").split("/")[:-1]
    return ".".join(
        part for part, after in zip(parts, [*parts[1:], ""], strict=True) if not after.startswith(f"{part}.")
    )


@torch.no_grad()
def _fill(network: Reader, name: str, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> None:
    layer = network.get_submodule(name)
    assert isinstance(layer, nn.Conv2d | nn.Linear)
    layer.weight.copy_(torch.from_numpy(weight.copy()))
    if layer.bias is not None:
        layer.bias.copy_(torch.from_numpy(bias.copy()))
        return
    norm = network.get_submodule(f"{name[:-1]}1" if name.endswith(".0") else f"{name}_norm")
    assert isinstance(norm, nn.BatchNorm2d) and norm.running_var is not None and norm.running_mean is not None
    norm.running_mean.zero_()
    norm.running_var.fill_(1 - norm.eps)
    norm.weight.fill_(1)
    norm.bias.copy_(torch.from_numpy(bias.copy()))


def to_onnx(network: Reader) -> bytes:
    """For onnxruntime, any number of pictures at a time."""
    some = {name: {0: "n"} for name in ("pictures", "logits", "facts")}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "network.onnx"
        torch.onnx.export(
            network.eval(),
            (torch.zeros(2, 1, ROWS, COLUMNS),),
            str(file),
            dynamo=False,
            opset_version=17,
            dynamic_axes=some,
            input_names=["pictures"],
            output_names=["logits", "facts"],
        )
        return file.read_bytes()
