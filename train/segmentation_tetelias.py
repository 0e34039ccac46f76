"""tetelias, second of the sparse segmentation challenge, rebuilt: DABNet with GridMask and FMix, the mean of several.

As published: DABNet (0.75 M parameters: depth-wise asymmetric bottlenecks with dilation), GridMask and FMix on
pictures, the mean of an ensemble. Scaled down: no pre-training on street scenes, since there are none here; two
networks; 96 s of a GPU in all.

    python -m train.segmentation_tetelias --data FOLDER --out FOLDER
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
from train.segmentation_common import Data, Made

MEMBERS = 2
TRAIN_S = 96.0
SCHEDULE = Schedule(TRAIN_S, steps=6000, rate=2e-3, batch=16, decay=1e-4, epoch=150)


def normed(width: int) -> nn.Sequential:
    return nn.Sequential(nn.BatchNorm2d(width, eps=1e-3), nn.PReLU(width))


def conv(into: int, out: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(into, out, 3, stride, 1, bias=False), normed(out))


def thin(width: int, far: int) -> nn.Sequential:
    """3 × 1 then 1 × 3 within each channel, with holes."""
    layers: list[nn.Module] = []
    for size, holes in (((3, 1), (far, 1)), ((1, 3), (1, far))):
        pad = size[0] // 2 * holes[0], size[1] // 2 * holes[1]
        kept = nn.Conv2d(width, width, size, padding=pad, dilation=holes, groups=width, bias=False)
        layers += [kept, normed(width)]
    return nn.Sequential(*layers)


class Bottleneck(nn.Module):
    """DAB: half the channels, near and far in two branches, back, and added."""

    def __init__(self, width: int, far: int) -> None:
        super().__init__()
        half = width // 2
        self.enter = nn.Sequential(normed(width), conv(width, half))
        self.near, self.far = thin(half, 1), thin(half, far)
        self.leave = nn.Sequential(normed(half), nn.Conv2d(half, width, 1, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        inner = self.enter(x)
        out: Tensor = x + self.leave(self.near(inner) + self.far(inner))
        return out


class Halved(nn.Module):
    """A strided convolution beside a pool."""

    def __init__(self, into: int, out: int) -> None:
        super().__init__()
        self.pools = into < out
        self.conv = nn.Conv2d(into, out - into if self.pools else out, 3, 2, 1, bias=False)
        self.norm = normed(out)

    def forward(self, x: Tensor) -> Tensor:
        small = self.conv(x)
        out: Tensor = self.norm(torch.cat([small, functional.max_pool2d(x, 2)], 1) if self.pools else small)
        return out


class DABNet(nn.Module):
    """(n, 1, 400, 640) grey levels → (n, 4, 400, 640) logits."""

    def __init__(self, near: int = 3, far: tuple[int, ...] = (4, 4, 8, 8, 16, 16)) -> None:
        super().__init__()
        self.enter = nn.Sequential(conv(1, 32, 2), conv(32, 32), conv(32, 32))
        self.first = nn.Sequential(normed(33), Halved(33, 64))
        self.near = nn.Sequential(*(Bottleneck(64, 2) for _ in range(near)))
        self.second = nn.Sequential(normed(129), Halved(129, 128))
        self.far = nn.Sequential(*(Bottleneck(128, holes) for holes in far))
        self.last = nn.Sequential(normed(257), nn.Conv2d(257, common.CLASSES, 1, bias=False))

    def forward(self, pictures: Tensor) -> Tensor:
        picture = views.normal(pictures.float())
        smaller = [picture]
        for _ in range(3):
            smaller.append(functional.avg_pool2d(smaller[-1], 3, 2, 1))
        a = self.first(torch.cat([self.enter(picture), smaller[1]], 1))
        b = self.second(torch.cat([self.near(a), a, smaller[2]], 1))
        c = self.last(torch.cat([self.far(b), b, smaller[3]], 1))
        return functional.interpolate(c, scale_factor=8.0, mode="bilinear", align_corners=False)


def grid_masked(pictures: Tensor, share: float = 0.5) -> Tensor:
    """GridMask: some pictures lose squares on a grid; what lies beneath is still to be told."""
    count, device = len(pictures), pictures.device
    step = 64 + 96 * torch.rand(count, 1, 1, 1, device=device)
    start = torch.rand(2, count, 1, 1, 1, device=device) * step
    rows = (torch.arange(pictures.shape[2], device=device)[:, None] + start[0]) % step < 0.4 * step
    columns = (torch.arange(pictures.shape[3], device=device) + start[1]) % step < 0.4 * step
    hit = torch.rand(count, 1, 1, 1, device=device) < share
    return torch.where(rows & columns & hit, 0.0, pictures)


def fmixed(pictures: Tensor, masks: Tensor, share: float = 0.3) -> tuple[Tensor, Tensor]:
    """FMix: patches of low-frequency shape are taken from another picture, with the mask that belongs to them."""
    count, device = len(pictures), pictures.device
    height, width = masks.shape[1:]
    coarse = torch.randn(count, 1, 5, 8, device=device)
    shape = functional.interpolate(coarse, (height, width), mode="bicubic", align_corners=False)[:, 0]
    part = 0.2 + 0.6 * torch.rand(count, device=device)
    limit = torch.stack([torch.quantile(one[::8, ::8].float(), at) for one, at in zip(shape, part, strict=True)])
    taken = (shape > limit[:, None, None]) & (torch.rand(count, 1, 1, device=device) < share)
    other = torch.randperm(count, device=device)
    return torch.where(taken[:, None], pictures[other], pictures), torch.where(taken, masks[other], masks)


def train(data: Data, work: Path, train_s: float, small: bool) -> Made:
    schedule = SCHEDULE.small() if small else replace(SCHEDULE, train_s=train_s / MEMBERS)
    learnt, aside = data.shares()
    rows, masks = data.labelled[learnt], data.masks[learnt]
    members = [common.placed(DABNet(*((1, (4,)) if small else ())), seed) for seed in range(MEMBERS)]
    for seed, network in enumerate(members):

        def loss_of(network: nn.Module = network) -> Tensor:
            at = torch.randint(len(rows), (schedule.batch,), device=DEVICE)
            seen, true = views.moved(data.floats(rows[at]), masks[at], 5.0, 1.1, 0.05)
            seen, true = fmixed(grid_masked(views.relit(seen)), true)
            found = common.asked(network, seen)
            return losses.cross_entropy(found, true) + losses.dice(found, true)

        check = common.checker(network, data, aside)
        learn(network, loss_of, replace(schedule, seed=seed), check, work / f"tetelias_{seed}.pt")
    mean = common.Ensemble(members)
    found = common.masks_of(mean, data, data.labelled[aside])
    return Made(
        name="tetelias",
        network=mean,
        masks=lambda rows: common.masks_of(mean, data, rows),
        validation=common.miou(found, data.masks[aside])[0],
        trained=f"{MEMBERS} networks on {len(learnt):,} given labels, at most {train_s:.0f} s",
    )


if __name__ == "__main__":
    common.alone(train, __doc__, TRAIN_S)
