"""How wrong logits (b, 4, h, w) are about masks (b, h, w): what several of the segmentation networks learn from."""

import torch
from torch import Tensor
from torch.nn import functional

IGNORED = 255  # a pixel of a pseudo-label that nobody is sure of, or from beyond the picture


def cross_entropy(found: Tensor, masks: Tensor) -> Tensor:
    return functional.cross_entropy(found.float(), masks.long(), ignore_index=IGNORED)


def dice(found: Tensor, masks: Tensor) -> Tensor:
    """1 − the mean over classes of twice the overlap over the sum, over the batch; ignored pixels do not count."""
    counted = (masks != IGNORED)[:, None]
    chance = functional.softmax(found.float(), 1) * counted
    true = functional.one_hot(torch.where(counted[:, 0], masks, 0).long(), found.shape[1]).permute(0, 3, 1, 2) * counted
    both = (chance * true).sum((0, 2, 3))
    return 1 - ((2 * both + 1) / (chance.sum((0, 2, 3)) + true.sum((0, 2, 3)) + 1)).mean()


def binary(found: Tensor, masks: Tensor, sharp: float = 2.0) -> tuple[Tensor, Tensor]:
    """Binary cross-entropy over classes and its focal form, (1 − p)^sharp in front: means over counted pixels."""
    counted = (masks != IGNORED)[:, None].float()
    true = functional.one_hot(torch.where(masks != IGNORED, masks, 0).long(), found.shape[1]).permute(0, 3, 1, 2)
    each = functional.binary_cross_entropy_with_logits(found.float(), true.float(), reduction="none")
    count = counted.sum() * found.shape[1]
    focal = (1 - torch.exp(-each)) ** sharp * each
    return (each * counted).sum() / count, (focal * counted).sum() / count
