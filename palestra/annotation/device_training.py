"""The reader learns on from pictures of one device, in minutes on a CPU. Needs torch, which is imported here alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from palestra.annotation.device_windows import IGNORED, Eye, Window, batch_of, in_other_light, no_eye, windows_of
from palestra.eyes.reader.torch_network import from_onnx, to_onnx

Rng = np.random.Generator


@dataclass(frozen=True)
class Schedule:
    """How fast, and from what."""

    batch: int = 8
    rate: float = 1e-3
    windows: int = 96  # that are cut out of the pictures, each learnt from several times in other light
    without: float = 0.1  # share of windows that show no eye any more
    of_others: float = 0.4  # share of windows that come from pictures without a label of their user's
    seed: int = 0


USUAL = Schedule()


class Trainer:
    """A network that learns masks of a device, and is held to what it told of anything else before."""

    def __init__(self, content: bytes, schedule: Schedule | None = None) -> None:
        self.schedule = schedule = schedule or USUAL
        torch.manual_seed(schedule.seed)
        self.network = from_onnx(content)
        self._before = from_onnx(content)
        self._rng = np.random.default_rng(schedule.seed)

    @property
    def parameters(self) -> int:
        return sum(part.numel() for part in self.network.parameters())

    def learn(self, labelled: Sequence[Eye], others: Sequence[Eye], steps: int, advance: Callable[[int], None]) -> None:
        """Some steps on windows of both, the others' less often where there are labels."""
        pool = self._pool(labelled, others)
        self._measure_norms([window for window, _ in pool])
        self.network.train()
        optimizer = torch.optim.AdamW(self.network.parameters(), self.schedule.rate, weight_decay=1e-2)
        rates = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min(1.0, (step + 1) / 8) * (0.5 + 0.5 * float(np.cos(np.pi * step / steps)))
        )
        for _ in range(steps):
            loss = self._loss(*self._batch(pool))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self.network.parameters(), 2.0)
            optimizer.step()
            rates.step()
            advance(1)
        self.network.eval()

    def content(self) -> bytes:
        return to_onnx(self.network)

    def _pool(self, labelled: Sequence[Eye], others: Sequence[Eye]) -> list[tuple[Window, Tensor]]:
        """Windows with the facts that the network told of them before it learnt on."""
        count = self.schedule.windows
        of_others = 0 if not others else count if not labelled else round(self.schedule.of_others * count)
        windows = windows_of(labelled, count - of_others, self._rng) if labelled else []
        windows += windows_of(others, of_others, self._rng) if others else []
        facts = []
        with torch.no_grad():
            for at in range(0, len(windows), self.schedule.batch):
                pictures = batch_of([window.seen for window in windows[at : at + self.schedule.batch]])
                facts.append(self._before(torch.from_numpy(pictures))[1])
        return list(zip(windows, torch.cat(facts), strict=True))

    @torch.no_grad()
    def _measure_norms(self, windows: Sequence[Window]) -> None:
        """Means and variances of the device's own pictures, and scales and shifts that leave the network as it is.

        In the file that is run, norms are folded into the convolutions; a network learns far better with them.
        """
        sums: dict[nn.BatchNorm2d, list[Tensor]] = {}

        def note(norm: nn.Module, given: tuple[Tensor, ...]) -> None:
            assert isinstance(norm, nn.BatchNorm2d)
            sums.setdefault(norm, []).append(torch.stack([given[0].mean((0, 2, 3)), (given[0] ** 2).mean((0, 2, 3))]))

        norms = [module for module in self.network.modules() if isinstance(module, nn.BatchNorm2d)]
        hooks = [norm.register_forward_pre_hook(note) for norm in norms]
        self.network.eval()
        for at in range(0, len(windows), self.schedule.batch):
            grey = [in_other_light(window, self._rng) for window in windows[at : at + self.schedule.batch]]
            self.network(torch.from_numpy(batch_of(grey)))
        for hook in hooks:
            hook.remove()
        for norm, found in sums.items():
            assert norm.running_mean is not None and norm.running_var is not None
            mean, square = torch.stack(found).mean(0)
            variance = (square - mean**2).clamp(min=1e-6)
            scale = norm.weight / (norm.running_var + norm.eps).sqrt()
            norm.bias.add_(scale * (mean - norm.running_mean))
            norm.weight.copy_(scale * (variance + norm.eps).sqrt())
            norm.running_mean.copy_(mean)
            norm.running_var.copy_(variance)

    def _batch(self, pool: list[tuple[Window, Tensor]]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Pictures, masks, facts as they were told before, and whether each shows one eye."""
        chosen = [pool[at] for at in self._rng.integers(len(pool), size=self.schedule.batch)]
        one = self._rng.random(len(chosen)) >= self.schedule.without
        grey = [in_other_light(window, self._rng) for window, _ in chosen]
        grey = [seen if there else no_eye(seen, self._rng) for seen, there in zip(grey, one, strict=True)]
        masks = np.stack(
            [window.mask if there else 0 * window.mask for (window, _), there in zip(chosen, one, strict=True)]
        )
        facts = torch.stack([fact for _, fact in chosen])
        return torch.from_numpy(batch_of(grey)), torch.from_numpy(masks).long(), facts, torch.from_numpy(one).float()

    def _loss(self, pictures: Tensor, masks: Tensor, before: Tensor, one: Tensor) -> Tensor:
        logits, facts = self.network(pictures)
        picture = functional.cross_entropy(logits, masks, ignore_index=IGNORED) + 0.5 * (1 - _overlap(logits, masks))
        gaze = (one[:, None] * (facts[:, :3] - before[:, :3]) ** 2 * torch.tensor([4.0, 4.0, 0.05])).mean()
        known = functional.binary_cross_entropy_with_logits(facts[:, 3], one)
        rest = functional.binary_cross_entropy_with_logits(facts[:, 4:], before[:, 4:].sigmoid(), reduction="none")
        total: Tensor = picture + gaze + 0.2 * known + 0.2 * (one[:, None] * rest).mean()
        return total


def _overlap(logits: Tensor, masks: Tensor) -> Tensor:
    """Soft overlap of the classes over the batch, where something is known."""
    known = (masks != IGNORED)[:, None]
    wanted = functional.one_hot(masks.clamp(max=3), 4).movedim(3, 1) * known
    shares = logits.softmax(1) * known
    both = (shares * wanted).sum((0, 2, 3))
    return ((2 * both + 1) / (shares.sum((0, 2, 3)) + wanted.sum((0, 2, 3)) + 1)).mean()
