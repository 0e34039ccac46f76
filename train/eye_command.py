"""The command line of scripts whose networks learn from the world of eyes alone, and what there is to turn for each."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TypeVar

from torch import nn

from train import results
from train.learning import Schedule


@dataclass(frozen=True)
class Settings:
    """Everything there is to turn."""

    people: int
    steps: int  # batches
    train_s: float  # it ends after so many seconds or `steps`, whichever comes first; the rate falls towards that
    decay: float
    widths: tuple[int, ...]
    batch: int = 512
    epoch: int = 150  # batches between two lines
    rate: float = 3e-3
    seed: int = 0

    @property
    def schedule(self) -> Schedule:
        return Schedule(self.train_s, self.steps, self.rate, self.batch, self.decay, epoch=self.epoch, seed=self.seed)


AnySettings = TypeVar("AnySettings", bound=Settings)
Network = TypeVar("Network", bound=nn.Module)


def run(
    about: str | None,
    usual: AnySettings,
    train: Callable[[AnySettings, Path], tuple[Network, dict[str, float]]],
    write: Callable[[Network, Path], None],
    what: str,
) -> None:
    """Train with settings from the command line, write the network, and note for train.ship what it came to."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="where its state is kept")
    parser.add_argument("--out", type=Path, required=True, help="NAME.onnx; what it came to is noted beside it")
    for part in fields(usual):
        value = getattr(usual, part.name)
        if not isinstance(value, tuple):
            parser.add_argument(f"--{part.name.replace('_', '-')}", type=type(value), default=value)
    asked = vars(parser.parse_args())
    work, out = asked.pop("work"), asked.pop("out")
    out.parent.mkdir(parents=True, exist_ok=True)
    settings, began = replace(usual, **asked), time.perf_counter()
    network, checked = train(settings, work)
    took_s = round(time.perf_counter() - began, 1)
    write(network, out)
    count = sum(part.numel() for part in network.parameters())
    trained = f"{what}, of {settings.people:,} people, at most {settings.train_s:.0f} s"
    checked = {key: round(value, 4) for key, value in checked.items()}
    results.note(out.parent, results.Learnt(out.stem, count, took_s, trained, checked))
    print(f"wrote {out}, {out.stat().st_size:,} bytes, {count:,} parameters")


def told(checked: dict[str, float]) -> str:
    """For a line that people watch."""
    return ", ".join(f"{name} {value:.3f}" for name, value in checked.items())
