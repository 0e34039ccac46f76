"""What a lens and a JPEG leave of pictures (b, H, W), with torch: each with a blur and a quality of its own."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def gaussian(sigma: Tensor, taps: int) -> Tensor:
    """(b, taps) for a spread (b, 1) each."""
    steps = torch.arange(taps, device=sigma.device) - taps // 2
    weights = torch.exp(-(steps**2) / (2 * sigma**2))
    return weights / weights.sum(1, keepdim=True)


def blurred(pictures: Tensor, kernel: Tensor) -> Tensor:
    """Along both axes, each picture with its own kernel."""
    taps = kernel.shape[1]
    reach = taps // 2
    height, width = pictures.shape[1:]
    weights = kernel[:, :, None, None].unbind(1)
    wide = functional.pad(pictures[:, None], (reach, reach, 0, 0), mode="replicate")[:, 0]
    across = sum(weights[k] * wide[:, :, k : k + width] for k in range(taps))
    assert isinstance(across, Tensor)
    tall = functional.pad(across[:, None], (0, 0, reach, reach), mode="replicate")[:, 0]
    down = sum(weights[k] * tall[:, k : k + height] for k in range(taps))
    assert isinstance(down, Tensor)
    return down


# The quantisation of luminance in the JPEG standard, at quality 50.
_TABLE = [
    [16, 11, 10, 16, 24, 40, 51, 61],
    [12, 12, 14, 19, 26, 58, 60, 55],
    [14, 13, 16, 24, 40, 57, 69, 56],
    [14, 17, 22, 29, 51, 87, 80, 62],
    [18, 22, 37, 56, 68, 109, 103, 77],
    [24, 35, 55, 64, 81, 104, 113, 92],
    [49, 64, 78, 87, 103, 121, 120, 101],
    [72, 92, 95, 98, 112, 100, 103, 99],
]


def compressed(grey: Tensor, quality: Tensor) -> Tensor:
    """What a JPEG of this quality keeps of pictures (b, H, W); of quality 0 everything."""
    count, height, width = grey.shape
    k = torch.arange(8, device=grey.device, dtype=torch.float32)
    cosines = torch.cos((2 * k[None] + 1) * k[:, None] * torch.pi / 16) / 2
    cosines[0] /= 2**0.5
    scale = torch.where(quality < 50, 5000 / quality.clamp(min=1), 200 - 2 * quality)[:, None, None]
    table = torch.tensor(_TABLE, device=grey.device, dtype=torch.float32)
    steps = ((table * scale + 50) / 100).floor().clamp(1, 255)[:, None, None]
    blocks = grey.view(count, height // 8, 8, width // 8, 8).transpose(2, 3) - 128
    coded = (cosines @ blocks @ cosines.T / steps).round() * steps
    again = (cosines.T @ coded @ cosines).transpose(2, 3).reshape(count, height, width) + 128
    return torch.where((quality > 0)[:, None, None], again.round().clamp(0, 255), grey)
