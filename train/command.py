"""The command line of scripts that learn from drawn worlds alone: it trains as told and notes what came of it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from torch import nn

from train import results


class Settings(Protocol):
    """A dataclass of everything there is to turn; each of its numbers is an option."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def train_s(self) -> float: ...


AnySettings = TypeVar("AnySettings", bound=Settings)
Network = TypeVar("Network", bound=nn.Module)


def run(
    about: str | None,
    usual: AnySettings,
    train: Callable[[AnySettings, Path], tuple[Network, dict[str, float]]],
    write: Callable[[Network, Path], None],
    what: Callable[[AnySettings], str],
) -> None:
    """Train with settings from the command line, write the network, and note for train.ship what it came to.

    `what` says in words what learnt, and from whom.
    """
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
    trained = f"{what(settings)}, at most {settings.train_s:.0f} s"
    checked = {key: round(value, 4) for key, value in checked.items()}
    results.note(out.parent, results.Learnt(out.stem, count, took_s, trained, checked))
    print(f"wrote {out}, {out.stat().st_size:,} bytes, {count:,} parameters")


def told(checked: dict[str, float]) -> str:
    """For a line that people watch."""
    return ", ".join(f"{name} {value:.3f}" for name, value in checked.items())
