"""The paper's baseline of sparse segmentation: 7 + 7 blocks of separable convolutions on 128 × 128, 40 K parameters.

As published: LeakyReLU, skips that multiply what comes up by a guide of one channel, Adam 4e-3, batch 128, rotation and
intensity scaling. Scaled down: as many epochs as fit into 36 s of a GPU instead of 150, the rate falling
along a cosine. The paper does not tell widths and loss: chosen here so that there are 40 K parameters, and
cross-entropy.

    python -m train.segmentation_baseline --data FOLDER --out FOLDER
"""

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from train import segmentation_common as common
from train import segmentation_losses as losses
from train import segmentation_views as views
from train.learning import DEVICE, Schedule, learn
from train.segmentation_common import HEIGHT, WIDTH, Data, Made

SIDE = 128
TRAIN_S = 36.0
SCHEDULE = Schedule(TRAIN_S, steps=150 * 12, rate=4e-3, batch=128, epoch=120)
WIDTHS = (16, 24, 32, 48, 64, 72, 88)
STRIDES = (1, 2, 1, 2, 1, 2, 2)


class Block(nn.Module):
    """A separable convolution: 3 × 3 within each channel, then 1 × 1 across them."""

    def __init__(self, into: int, out: int, stride: int = 1) -> None:
        super().__init__()
        self.within = nn.Conv2d(into, into, 3, stride, 1, groups=into, bias=False)
        self.across = nn.Conv2d(into, out, 1, bias=False)
        self.norm = nn.BatchNorm2d(out)

    def forward(self, x: Tensor) -> Tensor:
        return functional.leaky_relu(self.norm(self.across(self.within(x))), 0.01)


class Small(nn.Module):
    """(n, 1, 128, 128) → (n, 4, 128, 128)."""

    def __init__(self) -> None:
        super().__init__()
        into = (1, *WIDTHS[:-1])
        self.down = nn.ModuleList(Block(*part) for part in zip(into, WIDTHS, STRIDES, strict=True))
        # The way up mirrors the way down; its first block stays at the bottom.
        outs = (*WIDTHS[-2::-1], WIDTHS[0])
        self.up = nn.ModuleList(Block(*part) for part in zip(WIDTHS[::-1], outs, strict=True))
        self.guides = nn.ModuleList(nn.Conv2d(width, 1, 1) for width in WIDTHS[-2::-1])
        self.last = nn.Conv2d(WIDTHS[0], common.CLASSES, 1)

    def forward(self, x: Tensor) -> Tensor:
        seen = []
        for block in self.down:
            x = block(x)
            seen.append(x)
        for block, guide, beside in zip(self.up[:-1], self.guides, seen[-2::-1], strict=True):
            x = block(x)
            if x.shape[2] != beside.shape[2]:
                x = functional.interpolate(x, scale_factor=2.0, mode="nearest")
            x = x * torch.sigmoid(guide(beside))
        x = self.up[-1](x)
        out: Tensor = self.last(x)
        return out


def means(many: int, few: int) -> Tensor:
    """(few, many) weights that shrink a line of pixels to the means of equal parts."""
    edges = torch.arange(few + 1) * (many / few)
    place = torch.arange(many)
    inside = torch.minimum(place + 1, edges[1:, None]) - torch.maximum(place, edges[:-1, None])
    return inside.clamp(min=0) * (few / many)


def lines(few: int, many: int) -> Tensor:
    """(many, few) weights that stretch a line of pixels, straight between their centres."""
    place = ((torch.arange(many) + 0.5) * (few / many) - 0.5).clamp(0, few - 1)
    return (1 - (place[:, None] - torch.arange(few)).abs()).clamp(min=0)


class Network(nn.Module):
    """Full pictures in, full logits out: the sizes are changed inside, as products with fixed matrices."""

    def __init__(self) -> None:
        super().__init__()
        self.small = Small()
        names = {"rows": means(HEIGHT, SIDE), "columns": means(WIDTH, SIDE).T}
        names |= {"tall": lines(SIDE, HEIGHT), "wide": lines(SIDE, WIDTH).T}
        for name, value in names.items():
            self.register_buffer(name, value.contiguous(), persistent=False)
        self.rows: Tensor
        self.columns: Tensor
        self.tall: Tensor
        self.wide: Tensor

    def shrunk(self, pictures: Tensor) -> Tensor:
        return self.rows @ pictures @ self.columns

    def forward(self, pictures: Tensor) -> Tensor:
        with torch.autocast(pictures.device.type, enabled=False):  # sizes are changed to the last digit
            shrunk = self.shrunk(pictures.float())
        small = self.small(views.normal(shrunk))
        with torch.autocast(pictures.device.type, enabled=False):
            full: Tensor = self.tall @ small.float() @ self.wide
        return full


def train(data: Data, work: Path, train_s: float, small: bool) -> Made:
    schedule = SCHEDULE.small() if small else replace(SCHEDULE, train_s=train_s)
    network = common.placed(Network(), schedule.seed)
    assert isinstance(network, Network)
    learnt, aside = data.shares()
    with torch.no_grad():
        pictures = torch.cat([network.shrunk(data.floats(rows)) for rows in data.labelled[learnt].split(64)])
    # The class in the middle of each small pixel.
    rows, columns = ((torch.arange(SIDE, device=DEVICE) + 0.5) * (size / SIDE) for size in (HEIGHT, WIDTH))
    masks = data.masks[learnt][:, rows.long()[:, None], columns.long()]

    def loss_of() -> Tensor:
        at = torch.randint(len(pictures), (schedule.batch,), device=DEVICE)
        seen, true = views.moved(pictures[at], masks[at], 10.0, 1.0, 0.0)
        return losses.cross_entropy(common.asked(network.small, views.normal(views.relit(seen, 0.0, 0.2, 0.0))), true)

    check = common.checker(network, data, aside)
    learn(network, loss_of, schedule, check, work / "segmentation_baseline.pt")
    found = common.masks_of(network, data, data.labelled[aside])
    return Made(
        name="baseline",
        network=network,
        masks=lambda rows: common.masks_of(network, data, rows),
        validation=common.miou(found, data.masks[aside])[0],
        trained=f"on {len(learnt):,} given labels at 128 × 128, at most {schedule.train_s:.0f} s",
    )


if __name__ == "__main__":
    common.alone(train, __doc__, TRAIN_S)
