"""The same random numbers in every fold, wherever it runs and whatever ran before it in the same process."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def seed_all(seed: int) -> None:
    """Python, numpy, OpenCV and torch, each on one thread: sums in another order end in other last digits."""
    import cv2
    import numpy as np

    random.seed(seed)
    np.random.seed(seed)  # for programs of others, which may draw from it
    cv2.setNumThreads(1)
    cv2.setRNGSeed(seed)
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Torch)]
    if "torch" in sys.modules:
        _seed_torch(sys.modules["torch"], seed)
    else:
        sys.meta_path.insert(0, _Torch(seed))


class _Torch(MetaPathFinder):
    """Seeds torch when it is imported, be it in the middle of a fold; to import it for everybody would cost seconds."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            loader.exec_module = partial(_loaded, loader.exec_module, self._seed)
        return spec


def _loaded(load: Callable[[ModuleType], None], seed: int, module: ModuleType) -> None:
    load(module)
    _seed_torch(module, seed)


def _seed_torch(torch: Any, seed: int) -> None:
    torch.manual_seed(seed)  # of all cards as well
    torch.set_num_threads(1)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    torch.use_deterministic_algorithms(True, warn_only=True)
