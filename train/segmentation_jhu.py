"""JHU, third of the sparse segmentation challenge, rebuilt: U-Nets that teach one another by pseudo-labels.

As published: an ensemble of U-Nets and heavy pseudo-labelling. What widths and how many networks is not told there.
Here: two U-Nets of 2.0 M parameters at 640 × 400. Scaled down: each learns from the given labels, both label a quarter
of the unlabelled frames together, and each goes on with these; 96 s of a GPU in all.

    python -m train.segmentation_jhu --data FOLDER --out FOLDER
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
from train.segmentation_bts_digital import Known, twice
from train.segmentation_common import Data, Made

MEMBERS = 2
TRAIN_S = 96.0
EVERY = 4  # of the unlabelled frames, one is pseudo-labelled
SURE = 0.8
SCHEDULE = Schedule(TRAIN_S, steps=4000, rate=1e-3, batch=16, decay=1e-4, epoch=100)


class UNet(nn.Module):
    """(n, 1, 400, 640) grey levels → (n, 4, 400, 640) logits; four halvings, as 400 is no more often even."""

    def __init__(self, widths: tuple[int, ...] = (16, 32, 64, 128, 256)) -> None:
        super().__init__()
        self.down = nn.ModuleList(twice(a, b) for a, b in zip((1, *widths[:-1]), widths, strict=True))
        self.up = nn.ModuleList(twice(a + b, b) for a, b in zip(widths[:0:-1], widths[-2::-1], strict=True))
        self.last = nn.Conv2d(widths[0], common.CLASSES, 1)

    def forward(self, pictures: Tensor) -> Tensor:
        x = views.normal(pictures.float())
        seen: list[Tensor] = []
        for block in self.down:
            x = block(functional.max_pool2d(x, 2) if seen else x)
            seen.append(x)
        for block, beside in zip(self.up, seen[-2::-1], strict=True):
            x = block(torch.cat([functional.interpolate(x, scale_factor=2.0, mode="nearest"), beside], 1))
        out: Tensor = self.last(x)
        return out


def train(data: Data, work: Path, train_s: float, small: bool) -> Made:
    schedule = SCHEDULE.small() if small else replace(SCHEDULE, train_s=train_s / (2 * MEMBERS))
    learnt, aside = data.shares()
    members = [common.placed(UNet(*([(4, 4, 8, 8, 8)] if small else [])), seed) for seed in range(MEMBERS)]
    known = data.labelled[learnt], data.masks[learnt]
    both = common.Ensemble(members)
    for turn in range(2):
        for seed, network in enumerate(members):
            kept = work / f"jhu_{seed}_{turn + 1}.pt"
            own = replace(schedule, seed=10 * turn + seed, rate=schedule.rate * (1.0, 0.5)[turn])
            _learn(network, data, own, known, aside, kept)
        if turn == 0:
            more = data.unlabelled[::EVERY]
            pseudo = common.masks_of(both, data, more, sure=SURE)
            known = torch.cat([known[0], more]), torch.cat([known[1], pseudo])
    found = common.masks_of(both, data, data.labelled[aside])
    return Made(
        name="jhu",
        network=both,
        masks=lambda rows: common.masks_of(both, data, rows),
        validation=common.miou(found, data.masks[aside])[0],
        trained=f"{MEMBERS} networks, pseudo-labels on every {EVERY}th frame, at most {train_s:.0f} s",
    )


def _learn(network: nn.Module, data: Data, schedule: Schedule, known: Known, aside: Tensor, kept: Path) -> None:
    rows, masks = known

    def loss_of() -> Tensor:
        at = torch.randint(len(rows), (schedule.batch,), device=DEVICE)
        seen, true = views.moved(data.floats(rows[at]), masks[at], 5.0, 1.1, 0.05)
        found = common.asked(network, views.relit(seen))
        return losses.cross_entropy(found, true) + losses.dice(found, true)

    learn(network, loss_of, schedule, common.checker(network, data, aside), kept)


if __name__ == "__main__":
    common.alone(train, __doc__, TRAIN_S)
