"""Networks that several trained solutions share, in plain torch."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from palestra.eyes.reader.torch_network import Block as Block


class _Residual(nn.Module):
    """Two 3 × 3 convolutions beside a shortcut."""

    def __init__(self, into: int, out: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(into, out, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(out)
        self.second = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(out)
        same = stride == 1 and into == out
        self.short = (
            nn.Identity() if same else nn.Sequential(nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))
        )

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.relu(self.first_norm(self.first(x)))
        return functional.relu(self.second_norm(self.second(inner)) + self.short(x))


class ResNet(nn.Module):
    """ResNet-18 for grey pictures: its stem, four stages of two blocks each, the mean over all places, one layer."""

    def __init__(self, outputs: int, widths: tuple[int, ...] = (64, 128, 256, 512)) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, widths[0], 7, 2, 3, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU())
        blocks, into = [], widths[0]
        for stage, width in enumerate(widths):
            blocks += [_Residual(into, width, 1 + (stage > 0)), _Residual(width, width, 1)]
            into = width
        self.blocks = nn.Sequential(*blocks)
        self.last = nn.Linear(into, outputs)

    def features(self, pictures: Tensor) -> Tensor:
        """(n, width) from (n, 1, height, width)."""
        stem = functional.max_pool2d(self.stem(pictures), 3, 2, 1)
        return torch.mean(self.blocks(stem), dim=(2, 3))

    def forward(self, pictures: Tensor) -> Tensor:
        out: Tensor = self.last(self.features(pictures))
        return out
