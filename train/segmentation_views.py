"""What pictures of eyes may look like without another mask: (b, 1, h, w) grey levels, with masks (b, h, w)."""

import math

import torch
from torch import Tensor
from torch.nn import functional

from palestra.eyes.simulator import torch_renderer
from train.segmentation_losses import IGNORED


def moved(pictures: Tensor, masks: Tensor, turn_deg: float, size: float, shift: float) -> tuple[Tensor, Tensor]:
    """Pictures (b, 1, h, w) and masks (b, h, w) turned, scaled and shifted together; outside, masks are IGNORED."""
    count, device = len(pictures), pictures.device
    angle = torch.deg2rad((2 * torch.rand(count, device=device) - 1) * turn_deg)
    scale = torch.exp((2 * torch.rand(count, device=device) - 1) * math.log(size))
    wide = pictures.shape[3] / pictures.shape[2]
    cosine, sine = angle.cos() / scale, angle.sin() / scale
    shifts = (2 * torch.rand(2, count, device=device) - 1) * shift
    matrix = torch.stack(
        [torch.stack([cosine, -sine / wide, shifts[0]], 1), torch.stack([sine * wide, cosine, shifts[1]], 1)], 1
    )
    grid = functional.affine_grid(matrix, list(pictures.shape), align_corners=False)
    seen = functional.grid_sample(pictures, grid, padding_mode="border", align_corners=False)
    # The nearest pixel's class, except beyond the picture's edge, where nobody knows.
    index = functional.grid_sample(masks[:, None].float() + 1, grid, mode="nearest", align_corners=False)[:, 0]
    found = torch.where(index == 0, IGNORED, index - 1)
    return seen, found.to(torch.uint8)


def relit(pictures: Tensor, gamma: float = 0.25, gain: float = 0.2, noise: float = 2.0) -> Tensor:
    """Another exposure, another curve, a little noise."""
    count, device = len(pictures), pictures.device

    def spread(width: float) -> Tensor:
        return torch.exp(width * torch.randn(count, 1, 1, 1, device=device))

    lit = 255 * (pictures.clamp(0, 255) / 255) ** spread(gamma) * spread(gain)
    lit = lit + noise * torch.rand(count, 1, 1, 1, device=device) * torch.randn_like(lit)
    return lit.clamp(0, 255)


def jpeg(pictures: Tensor, share: float = 0.5) -> Tensor:
    """Some pictures compressed and opened again."""
    count, device = len(pictures), pictures.device
    quality = torch.where(torch.rand(count, device=device) < share, 40 + 55 * torch.rand(count, device=device), 0.0)
    return torch_renderer.compressed(pictures[:, 0].float().contiguous(), quality)[:, None]


def flipped(pictures: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
    """Half of them seen in a mirror."""
    mirror = torch.rand(len(pictures), device=pictures.device) < 0.5
    both = torch.where(mirror[:, None, None, None], pictures.flip(3), pictures)
    return both, torch.where(mirror[:, None, None], masks.flip(2), masks)


def normal(pictures: Tensor) -> Tensor:
    """Each picture less its mean, over its spread; inside a network, so that it travels with the weights."""
    level = pictures.mean((1, 2, 3), keepdim=True)
    spread = (pictures - level).square().mean((1, 2, 3), keepdim=True).sqrt()
    return (pictures - level) / (spread + 4.0)
