"""What a training run came to, one line of JSON for each network, beside what it wrote: `train.ship` reads it.

Training runs where palestra is not installed as a whole, and the largest networks do not come back from there: so
their digests, and how long they took, are noted where they are made.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

FILE = "results.jsonl"


@dataclass(frozen=True)
class Learnt:
    """Of one network, NAME.onnx in the package."""

    weights: str  # NAME, as its card is called
    parameters: int
    train_s: float
    trained: str = ""  # on what and how, in words; empty where the card says it better
    checked: dict[str, float] = field(default_factory=dict)  # metric → value on validation people or labels left out
    sha256: str = ""
    bytes: int = 0
    predictions: str = ""  # file that lies beside this one
    others: list[str] = field(default_factory=list)  # files of what it would answer in other ways
    epochs: int = 0  # whole ones, where a script counts them
    device: str = ""


def note(out: Path, learnt: Learnt) -> None:
    """Add a line; here are taken the digest of out/NAME.onnx, if it was written, and what this machine computes on."""
    import torch  # for those alone who train

    file = out / f"{learnt.weights}.onnx"
    told = asdict(learnt) | {"device": torch.cuda.get_device_name() if torch.cuda.is_available() else "a CPU"}
    if file.is_file():
        told |= {"sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "bytes": file.stat().st_size}
    with (out / FILE).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(told, ensure_ascii=False) + "\n")


def read(out: Path) -> list[Learnt]:
    """The last line of each network that was trained."""
    lines = (out / FILE).read_text(encoding="utf-8").splitlines()
    return list({learnt.weights: learnt for learnt in (Learnt(**json.loads(line)) for line in lines)}.values())
