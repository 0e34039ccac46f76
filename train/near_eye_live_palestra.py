"""What `palestra` for near-eye-live-v1 makes of the network that reads any eye, as long as ours is not trained.

    python -m train.near_eye_live_palestra

The reader tells where pupil, iris and lids are and how the eye is turned before the camera, but not where the camera
is. A ridge regression learns that from people who each have a device of their own, drawn by the world as it goes. No
GPU is needed: five minutes on one core.
"""

import argparse
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from rich.progress import track as progress

from palestra.solutions import cards
from palestra.solutions.near_eye_few import Array, fit_anybody
from palestra.solutions.near_eye_live_palestra import REGRESSION, arrays_of
from palestra.solutions.near_eye_seen import NETWORKS, READER
from train.eye_world import Spoiling, World, spoilt

MILD = Spoiling(gamma=0.25, contrast=0.3, blur_px=0.9, noise=4.0)
AT_ONCE = 20


@dataclass(frozen=True)
class Settings:
    """Everything there is to turn."""

    people: int = 300
    pictures: int = 3600
    tested: int = 400  # of other people


def rows_of(world: World, count: int) -> tuple[Array, Array]:
    """What the reader sees in pictures of the world, and the points at which those eyes look; closed ones left out."""
    seen, points = list[Array](), list[NDArray[np.float32]]()
    for _ in progress(range(0, count, AT_ONCE), "pictures"):
        drawn = world.batch(AT_ONCE)
        pictures = spoilt(world, drawn.image, MILD).round().to(torch.uint8).numpy()
        seen.append(NETWORKS[READER].rows(list(pictures)))
        points.append((drawn.gaze[:, :2] / drawn.gaze[:, 2:]).numpy())
    rows = np.concatenate(seen)
    clear = np.isfinite(rows).all(axis=1)
    return rows[clear], np.concatenate(points)[clear].astype(np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in vars(Settings()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    settings = Settings(**vars(parser.parse_args()))
    torch.set_num_threads(1)
    rows, points = rows_of(World(settings.people, "cpu", 1), settings.pictures)
    told, file = fit_anybody(NETWORKS[READER].frames(rows), points), cards.path(REGRESSION)
    np.savez(file, **arrays_of(told))
    rows, points = rows_of(World(max(settings.tested // 8, 4), "cpu", 2), settings.tested)
    off = np.linalg.norm(told(NETWORKS[READER].frames(rows))[0] - points, axis=1)
    half, most = np.degrees(np.quantile(off, (0.5, 0.95)))
    print(f"{file.name}: {file.stat().st_size:,} bytes; other people: {half:.2f}° (95 %: {most:.2f}°)")


if __name__ == "__main__":
    main()
