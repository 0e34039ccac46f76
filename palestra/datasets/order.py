"""What an order for synthetic data comes to: randomness that depends on it alone, and the note on how data was made."""

import hashlib
from pathlib import Path

import numpy as np

from palestra.records import Order

NOTES = ".making.json"  # in a data set that is not finished: which parts of it are done


def rng_for(order: Order, *names: object) -> np.random.Generator:
    """Randomness that depends on the seed and on what it is for, never on what was made before."""
    text = "/".join(map(str, (order.seed, *names)))
    return np.random.default_rng(np.frombuffer(hashlib.sha256(text.encode()).digest(), np.uint32))


def write_made(order: Order, track: str, folder: Path, hidden: str = "truth") -> None:
    """Say how the data set was made. With the truth: whoever knows the seed can make the truth again."""
    text = f'track = "{track}"\nsize = "{order.size}"\nseed = {order.seed}\n'
    (folder / hidden / "made.toml").write_text(text)
