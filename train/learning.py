"""How long and how fast a network learns, and the loop in which it does; a stopped run goes on from its last epoch."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
Network = TypeVar("Network", bound=nn.Module)


def on(network: Network, device: str = DEVICE) -> Network:
    """Channels last where that pays: on a CPU, torch's backward step of few channels crashes with it."""
    layout = torch.channels_last if device == "cuda" else torch.contiguous_format
    return network.to(device, memory_format=layout)  # type: ignore[call-overload,no-any-return]


@dataclass(frozen=True)
class Schedule:
    """How long and how fast a network learns, until the last step or second, whichever is nearer."""

    train_s: float
    steps: int
    rate: float
    batch: int
    decay: float = 0.0
    falls: tuple[float, ...] = ()  # shares of the time after which the rate falls to a tenth; none: along a cosine
    epoch: int = 100  # steps between two lines
    seed: int = 0

    def small(self) -> "Schedule":
        return replace(self, steps=2, epoch=1, batch=2, train_s=1e6)

    def rate_at(self, share: float) -> float:
        warm = min(1.0, share / 0.02 + 0.05)
        if self.falls:
            return self.rate * warm * 0.1 ** sum(share >= fall for fall in self.falls)
        return self.rate * warm * (0.5 + 0.5 * math.cos(math.pi * min(share, 1.0)))


def learn(
    network: nn.Module, loss_of: Callable[[], Tensor], schedule: Schedule, check: Callable[[], str], kept: Path
) -> None:
    """Steps on whatever `loss_of` says of the next batch; one line and one kept state per epoch."""
    optimizer = torch.optim.AdamW(network.parameters(), schedule.rate, weight_decay=schedule.decay)
    first, before_s = _resumed(network, optimizer, kept)
    torch.manual_seed(schedule.seed + 7919 * first)  # other batches of the data after a stop
    began, step, spent_s = time.perf_counter(), first, before_s
    while step < schedule.steps and spent_s < schedule.train_s:
        share = max(step / schedule.steps, spent_s / schedule.train_s)
        for group in optimizer.param_groups:
            group["lr"] = schedule.rate_at(share)
        network.train()
        loss = loss_of()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimizer.step()
        step += 1
        spent_s = before_s + time.perf_counter() - began
        if step % schedule.epoch == 0:
            network.eval()
            print(f"{kept.stem}: epoch {step // schedule.epoch}, loss {loss.item():.4f}, {check()}, {spent_s:.0f} s",
                  flush=True)  # fmt: skip
            _keep(network, optimizer, kept, step, spent_s)
    network.eval()
    _keep(network, None, kept, step, spent_s)  # who is done needs two thirds of it no longer
    print(f"{kept.stem}: done, {check()}", flush=True)


def _keep(network: nn.Module, optimizer: torch.optim.Optimizer | None, kept: Path, step: int, spent_s: float) -> None:
    momenta = optimizer.state_dict() if optimizer else None
    state = {"network": network.state_dict(), "optimizer": momenta, "step": step, "spent_s": spent_s}
    kept.parent.mkdir(parents=True, exist_ok=True)
    torch.save(state, kept.with_suffix(".new"))
    kept.with_suffix(".new").replace(kept)


def _resumed(network: nn.Module, optimizer: torch.optim.Optimizer, kept: Path) -> tuple[int, float]:
    if not kept.is_file():
        return 0, 0.0
    state = torch.load(kept, map_location=DEVICE, weights_only=True)
    network.load_state_dict(state["network"])
    if state["optimizer"]:
        optimizer.load_state_dict(state["optimizer"])
    return int(state["step"]), float(state["spent_s"])
