"""The two OpenEDS data sets at the paper's size, for training where there is a GPU and no data set on a disk.

    python -m train.paper FOLDER          writes what is in front of the camera in every frame: 12 MB, no picture

On the GPU machine `gaze` and `segmentation` draw the pictures of FOLDER with the batched renderer, in half a minute.
What is hidden from contestants is not in FOLDER: no label of a test sequence, no hidden mask. A picture's look is,
since it is drawn from it; nothing but `Shots.pictures` reads it, and masks are taken of labelled frames alone.
FOLDER/asked.txt names the frames whose masks are scored, for writing those and no others into a file.
"""

import argparse
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from palestra.eyes.simulator import torch_renderer
from palestra.eyes.simulator.renderer import Renderer
from palestra.eyes.simulator.scene import Camera, Look, Person

SEED = 0
BATCH = 512
Array = np.ndarray[Any, np.dtype[Any]]
Scene = tuple[Person, Camera]


@dataclass(frozen=True)
class Shots:
    """Frames to draw, one row each, of scenes; everything on one device."""

    plates: torch_renderer.Plates
    scene: Tensor  # (n,)
    gaze: Tensor  # (n, 3)
    pupil_mm: Tensor
    opening: Tensor

    def pictures(self, rows: Tensor, size: tuple[int, int]) -> Iterator[tuple[Tensor, Tensor]]:
        """Pictures (b, *size) and masks of rows, batch by batch, uint8, mirrored as the data sets are.

        A size of at most half the headset's is drawn at half size and made smaller, which is six times as fast.
        """
        step = 1 if size[0] > torch_renderer.HEIGHT else 2
        batch = BATCH // (3 - step) ** 2
        for some in rows.split(batch):
            looks = torch_renderer.Looks(self.scene[some], self.gaze[some], self.pupil_mm[some], self.opening[some])
            with torch.no_grad():
                drawn = _render(self.plates, looks, step, batch)
                image = drawn.image[:, None]
                if image.shape[2:] != size:
                    image = functional.interpolate(image, size, mode="bilinear", antialias=True)
            yield image[:, 0].round().to(torch.uint8).flip(2), drawn.mask.flip(2)


@cache
def _compiled() -> Callable[..., torch_renderer.Pictures]:
    """Made when it is called for: what compiles takes seconds to import."""
    return torch.compile(torch_renderer.render, dynamic=False)


def _render(
    plates: torch_renderer.Plates, looks: torch_renderer.Looks, step: int, batch: int
) -> torch_renderer.Pictures:
    """Compiled where that pays: on a GPU, and for whole batches, as every other size would be compiled anew."""
    whole = looks.plate.is_cuda and len(looks.plate) == batch
    return (_compiled() if whole else torch_renderer.render)(plates, looks, True, step)


@dataclass(frozen=True)
class Gaze:
    """Gaze prediction: 1,280 / 1,280 / 6,400 sequences of 100 / 55 / 50 pictures."""

    shots: Shots
    rows: dict[str, Tensor]  # split → (sequences, frames) of the shots
    names: dict[str, list[str]]
    labels: dict[str, Tensor]  # of train and validation: (sequences, frames, 3)


@dataclass(frozen=True)
class Segmentation:
    """Sparse segmentation: 200 sequences, 1,605 labels given, and which 1,000 frames are asked for is not known."""

    shots: Shots
    sequence: Tensor  # (n,) of each shot
    frame: Tensor  # (n,)
    labelled: Tensor  # rows whose mask is given


def gaze(folder: Path, device: str) -> Gaze:
    kept = dict(np.load(folder / "gaze.npz"))
    shots = _shots(folder, "gaze", kept, device)
    splits = ("train", "validation", "test")
    return Gaze(
        shots,
        {split: torch.from_numpy(kept[f"rows_{split}"]).to(device) for split in splits},
        {split: kept[f"names_{split}"].tolist() for split in splits},
        {split: torch.from_numpy(kept[f"labels_{split}"]).to(device) for split in splits[:2]},
    )


def segmentation(folder: Path, device: str) -> Segmentation:
    kept = dict(np.load(folder / "segmentation.npz"))
    places = (torch.from_numpy(kept[name]).to(device) for name in ("sequence", "frame", "labelled"))
    return Segmentation(_shots(folder, "segmentation", kept, device), *places)


def _shots(folder: Path, name: str, kept: dict[str, Array], device: str) -> Shots:
    scenes: list[Scene] = pickle.loads((folder / f"{name}_scenes.pkl").read_bytes())  # noqa: S301  # written by `main` below
    with ProcessPoolExecutor() as pool:
        plates = torch_renderer.stack(list(pool.map(_painted, scenes, chunksize=4))).to(device)
    columns = (torch.from_numpy(kept[column]).to(device) for column in ("scene", "gaze", "pupil_mm", "opening"))
    return Shots(plates, *columns)


def _painted(scene: Scene) -> dict[str, Array]:
    return torch_renderer.plate_of(Renderer(*scene))


# ── Where the data sets are made: needs the whole package. ────────────────────────────────────────────────────────────


class _Roll:
    """Frames as they come, and the scenes that they are of."""

    def __init__(self) -> None:
        self.scenes: list[Scene] = []
        self._parts: list[tuple[int, list[Look]]] = []
        self.count = 0

    def add(self, scene: Scene, looks: list[list[Look]]) -> list[Array]:
        """Rows that each clip's frames get."""
        self.scenes.append(scene)
        rows = []
        for clip in looks:
            self._parts.append((len(self.scenes) - 1, clip))
            rows.append(np.arange(self.count, self.count + len(clip)))
            self.count += len(clip)
        return rows

    def columns(self) -> dict[str, Array]:
        every = [look for _, clip in self._parts for look in clip]
        return {
            "scene": np.concatenate([np.full(len(clip), scene) for scene, clip in self._parts]),
            "gaze": np.array([look.gaze for look in every], np.float32),
            "pupil_mm": np.array([look.pupil_mm for look in every], np.float32),
            "opening": np.array([look.opening for look in every], np.float32),
        }


def _films_of(size: str, share: Any) -> list[Any]:
    from palestra.records import Order
    from palestra.tracks.gaze_prediction import maker

    return list(maker.films(Order(size=size, seed=SEED), share))


def write_gaze(folder: Path, size: str = "paper") -> None:
    from rich.progress import track as progress

    from palestra.executors import in_processes
    from palestra.records import Order
    from palestra.tracks.gaze_prediction import maker

    shares = maker.shares(Order(size=size, seed=SEED))
    watched = in_processes(partial(_films_of, size), shares)
    found = {share.person: films for share, films in progress(watched, "watching", total=len(shares))}
    roll = _Roll()
    rows: dict[str, dict[str, Array]] = {"train": {}, "validation": {}, "test": {}}
    labels: dict[str, dict[str, Array]] = {"train": {}, "validation": {}}
    for share in shares:
        for film in found[share.person]:
            placed = roll.add((film.person, film.camera), list(film.looks.values()))
            rows[film.split].update(zip(film.looks, placed, strict=True))
            if film.split != "test":
                labels[film.split].update(film.labels)
    kept = roll.columns()
    for split, placed in rows.items():
        names = sorted(placed)
        kept[f"names_{split}"] = np.array(names)
        kept[f"rows_{split}"] = np.stack([placed[name] for name in names])
        if split in labels:
            kept[f"labels_{split}"] = np.stack([labels[split][name] for name in names]).astype(np.float32)
    _write(folder, "gaze", roll, kept)


def write_segmentation(folder: Path, size: str = "paper") -> None:
    from rich.progress import track as progress

    from palestra.records import Order
    from palestra.tracks.eye_segmentation import maker

    order = Order(size=size, seed=SEED)
    roll = _Roll()
    sequence, frame, labelled, asked = [], [], [], []
    for k, item in enumerate(progress(maker.sequences(order), "watching")):
        (rows,) = roll.add(maker.scene(order, item), [maker.looks(order, item)])
        sequence.append(np.full(len(rows), k))
        frame.append(np.arange(len(rows)))
        labelled.append(rows[list(item.given)])
        asked += [f"{item.name}/{n}" for n in item.hidden]
    places = {"sequence": sequence, "frame": frame, "labelled": labelled}
    _write(folder, "segmentation", roll, roll.columns() | {key: np.concatenate(part) for key, part in places.items()})
    (folder / "asked.txt").write_text("\n".join(asked) + "\n")


def _write(folder: Path, name: str, roll: _Roll, kept: dict[str, Array]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}_scenes.pkl").write_bytes(pickle.dumps(roll.scenes))
    np.savez_compressed(folder / f"{name}.npz", **kept)  # type: ignore[arg-type]
    print(f"{name}: {len(roll.scenes)} scenes, {roll.count:,} frames")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    write_segmentation(folder)
    write_gaze(folder)


if __name__ == "__main__":
    main()
