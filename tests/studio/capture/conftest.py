"""Folders of pictures to play, and recordings of them."""

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from palestra.studio.capture.capture import Capture
from palestra.studio.capture.specs import sources_of
from palestra.studio.capture.writer import How

LIMIT_S = 120.0  # for anything that is waited for


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """60 small noisy grey pictures, each different."""
    return write_pictures(tmp_path / "pictures", 60)


def write_pictures(folder: Path, count: int, shape: tuple[int, ...] = (40, 64)) -> Path:
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for number in range(count):
        cv2.imwrite(str(folder / f"{number}.png"), rng.integers(0, 255, shape, dtype=np.uint8))
    return folder


def picture(folder: Path, number: int) -> np.ndarray:
    return cv2.imread(str(folder / f"{number}.png"), cv2.IMREAD_UNCHANGED)


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Path]:
    """Records sources until they have all ended."""

    def run(*specs: str, how: How = How(), out: str = "recording") -> Path:  # noqa: B008 - it is frozen
        heard: list[str] = []
        capture = Capture(tmp_path / out, sources_of(specs), how, lambda name, text: heard.append(f"{name}: {text}"))
        capture.start()
        capture.wait(LIMIT_S)
        capture.finish()
        return tmp_path / out

    return run
