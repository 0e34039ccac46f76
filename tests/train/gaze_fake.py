"""Pictures that look a little like eyes and are made at once: a dark disc where the eye looks, on skin of its own."""

import torch
from torch import Tensor

from train.gaze_common import SIZE, Seen, to_vectors

FRAMES = {"train": 100, "validation": 55, "test": 50}


def disc(angles_deg: Tensor, skin: Tensor) -> Tensor:
    """Pictures (…, *SIZE) uint8 of eyes that look along angles (…, 2), one pixel and a half a degree."""
    y, x = torch.meshgrid(torch.arange(SIZE[0]), torch.arange(SIZE[1]), indexing="ij")
    across, down = 128 + 1.5 * angles_deg[..., 0], 80 - 1.5 * angles_deg[..., 1]
    away = torch.hypot(x - across[..., None, None], y - down[..., None, None])
    return torch.where(away < 12, 20.0, skin + 3 * torch.randn(away.shape)).clamp(0, 255).to(torch.uint8)


def seen(eyes: int = 2, clips: int = 2, off_deg: float = 0.0) -> Seen:
    """Some clips of some eyes in each split; each eye's label is off by something of its own."""
    torch.manual_seed(3)
    pictures, labels, names = {}, {}, {}
    for split, frames in FRAMES.items():
        turn = 6.28 * torch.rand(eyes, clips, 1) + torch.linspace(0, 0.3, frames)
        angles = 20 * torch.stack([turn.cos(), turn.sin()], -1)
        skin = 90 + 40 * torch.rand(eyes, 1, 1, 4, 8).repeat_interleave(40, 3).repeat_interleave(32, 4)
        off = off_deg * torch.randn(eyes, 1, 1, 2)
        pictures[split] = disc(angles, skin).flatten(0, 1)
        labels[split] = to_vectors(angles + off).flatten(0, 1)
        names[split] = [f"{k:04d}" for k in range(eyes * clips)]
    return Seen(pictures, {split: labels[split] for split in ("train", "validation")}, names)
