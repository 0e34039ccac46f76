"""BTS Digital, first of the sparse segmentation challenge, rebuilt: a U-Net on a residual encoder at 640 × 416.

As published: binary cross-entropy + focal + dice, AdamW with a rate that falls in steps, flips, JPEG and gamma, folds
by sequence, pseudo-labels on unlabelled frames, the mean with the mirror image, an ensemble of the folds.
Scaled down: the encoder is ResNet-18 without pre-training (theirs is larger and pre-trained), 2 folds (how many
they had is not told), one round of pseudo-labels (on a tenth of the unlabelled frames) instead of two (on nine tenths),
132 s of a GPU in all. Folds by sequence share people, as theirs do.

    python -m train.segmentation_bts_digital --data FOLDER --out FOLDER
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
from train.networks import ResNet
from train.segmentation_common import HEIGHT, Data, Made

FOLDS = 2
EVERY = 10  # of the unlabelled frames, one is pseudo-labelled
SURE = 0.9  # else a pixel of a pseudo-label does not count
PADDED = 416
TRAIN_S = 132.0
SHARE = 0.55  # of a fold's time before there are pseudo-labels
Known = tuple[Tensor, Tensor]  # rows of the data, and their masks
SCHEDULE = Schedule(TRAIN_S, steps=4000, rate=1e-3, batch=16, decay=1e-2, falls=(0.6, 0.85), epoch=100)


def twice(into: int, out: int) -> nn.Sequential:
    """Two 3 × 3 convolutions."""
    layers: list[nn.Module] = []
    for width in (into, out):
        layers += [nn.Conv2d(width, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU()]
    return nn.Sequential(*layers)


class Network(nn.Module):
    """(n, 1, 400, 640) grey levels → (n, 4, 400, 640) logits."""

    def __init__(self, widths: tuple[int, ...] = (64, 128, 256, 512), up: tuple[int, ...] = (128, 64, 48, 32)) -> None:
        super().__init__()
        self.encoder = ResNet(1, widths)
        del self.encoder.last
        beside = (widths[2], widths[1], widths[0], widths[0])  # the last is the stem, before its pool
        into = (widths[3], *up[:-1])
        self.up = nn.ModuleList(twice(a + b, c) for a, b, c in zip(into, beside, up, strict=True))
        self.last = nn.Conv2d(up[-1], common.CLASSES, 3, padding=1)

    def forward(self, pictures: Tensor) -> Tensor:
        margin = (PADDED - HEIGHT) // 2
        x = functional.pad(views.normal(pictures.float()), (0, 0, margin, margin), mode="replicate")
        seen = [self.encoder.stem(x)]
        x = functional.max_pool2d(seen[0], 3, 2, 1)
        for stage in range(4):
            x = self.encoder.blocks[2 * stage + 1](self.encoder.blocks[2 * stage](x))
            seen.append(x)
        for block, before in zip(self.up, seen[-2::-1], strict=True):
            x = block(torch.cat([functional.interpolate(x, scale_factor=2.0, mode="nearest"), before], 1))
        full = functional.interpolate(self.last(x), scale_factor=2.0, mode="bilinear", align_corners=False)
        return full[:, :, margin : margin + HEIGHT]


def loss(found: Tensor, masks: Tensor) -> Tensor:
    plain, focal = losses.binary(found, masks)
    return plain + focal + losses.dice(found, masks)


def train(data: Data, work: Path, train_s: float, small: bool) -> Made:
    schedule = SCHEDULE.small() if small else replace(SCHEDULE, train_s=train_s / FOLDS)
    widths = ((8, 8, 16, 16), (16, 8, 8, 8)) if small else ()
    odd = data.sequence[data.labelled] % FOLDS
    members, scores = [], []
    for fold in range(FOLDS):
        network = common.placed(Network(*widths), fold)
        learnt, aside = ((odd != fold).nonzero()[:, 0], (odd == fold).nonzero()[:, 0][::4])
        first = replace(schedule, train_s=SHARE * schedule.train_s, seed=fold)
        _learn(network, data, first, (data.labelled[learnt], data.masks[learnt]), aside, work / f"bts_{fold}_1.pt")
        more = data.unlabelled[fold::EVERY]
        pseudo = common.masks_of(network, data, more, mirrored=True, sure=SURE)
        rows, masks = torch.cat([data.labelled[learnt], more]), torch.cat([data.masks[learnt], pseudo])
        second = replace(schedule, train_s=(1 - SHARE) * schedule.train_s, seed=fold + 10)
        _learn(network, data, second, (rows, masks), aside, work / f"bts_{fold}_2.pt")
        found = common.masks_of(network, data, data.labelled[aside], mirrored=True)
        scores.append(common.miou(found, data.masks[aside])[0])
        members.append(network)
    both = common.Ensemble(members)
    return Made(
        name="bts_digital",
        network=both,
        masks=lambda rows: common.masks_of(both, data, rows, mirrored=True),
        validation=sum(scores) / FOLDS,
        trained=f"{FOLDS} folds by sequence, one round of pseudo-labels, at most {train_s:.0f} s",
    )


def _learn(network: nn.Module, data: Data, schedule: Schedule, known: Known, aside: Tensor, kept: Path) -> None:
    rows, masks = known

    def loss_of() -> Tensor:
        at = torch.randint(len(rows), (schedule.batch,), device=DEVICE)
        seen, true = views.flipped(data.floats(rows[at]), masks[at])
        return loss(common.asked(network, views.jpeg(views.relit(seen, gain=0.0, noise=0.0))), true)

    learn(network, loss_of, schedule, common.checker(network, data, aside), kept)


if __name__ == "__main__":
    common.alone(train, __doc__, TRAIN_S)
