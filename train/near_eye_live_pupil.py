"""The regression behind `pupil` for near-eye-live-v1: where does a left eye look that is seen like this?

    python -m train.near_eye_live_pupil                  makes people and devices, one data set for each seed
    python -m train.near_eye_live_pupil DATA DATA …      learns from data sets that are there

Every data set has one device, so learning from many of them is what makes it work on another. The penalty is chosen on
data sets that were left out. Seed 0 is what everybody tries solutions on, so it is never learnt from.
"""

import argparse
import csv
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.progress import track as progress

from palestra import model_cards, registry
from palestra.datasets import make
from palestra.executors import in_processes
from palestra.eyes.pupil import features, read_grey
from palestra.eyes.regression import fit_ridge
from palestra.metrics.angles import angles_deg_columns
from palestra.metrics.quantiles import at_shares
from palestra.records import Order
from palestra.tracks.near_eye.solutions.live_pupil import KINDS, SIDES, WEIGHTS, Model, Seen, looked_at, mirror, see

TRACK = "near-eye-live-v1"
FOLDS = 5


@dataclass(frozen=True)
class Settings:
    """What is tried, and what is given."""

    seeds: tuple[int, ...] = tuple(range(1, 41))
    penalties: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0)
    plane_mm: float = 1000.0


@dataclass(frozen=True)
class Frame:
    """A point on the plane, and what was seen of both eyes when somebody looked at it."""

    point: np.ndarray
    eyes: tuple[Seen | None, Seen | None]  # the right one in a mirror
    tested: bool  # whether it is one of a tester's


def frames_of(folder: Path) -> list[Frame]:
    """All of a data set whose points are known."""
    return [_frame(*where) for where in _places(folder)]


def _places(folder: Path) -> Iterator[tuple[Path, str, dict[str, str]]]:
    for file in sorted(folder.glob("train/*/*/labels.csv")):
        yield from ((file.parent, "frame", row) for row in csv.DictReader(file.open()))
    for file in sorted(folder.glob("truth/*.csv")):
        yield from ((folder / "test" / file.stem, "point", row) for row in csv.DictReader(file.open()))


def _frame(home: Path, name: str, row: dict[str, str]) -> Frame:
    left, right = (read_grey(home / eye / f"{row[name]}.png") for eye in ("left", "right"))
    return Frame(np.array([float(row["x"]), float(row["y"])]), (see(left), see(mirror(right))), name == "point")


def made(seed: int) -> list[Frame]:
    """A small data set, made for a moment."""
    with tempfile.TemporaryDirectory() as folder:
        for part in make.plan(registry.track(TRACK), Order("tiny", seed)).parts:
            part.write(Path(folder))
        return frames_of(Path(folder))


def learn(frames: list[Frame], penalty: float) -> dict[str, Model]:
    """A model for each kind of sight, of left eyes and of right ones in a mirror."""
    models = {}
    for kind in KINDS:
        seen = [
            (features(eye.pupil), frame.point * side)
            for frame in frames
            for eye, side in zip(frame.eyes, SIDES, strict=True)
            if eye and eye.kind == kind
        ]
        inputs, points = (np.array(column) for column in zip(*seen, strict=True))
        ridge = fit_ridge(inputs, points, penalty)
        models[kind] = Model(ridge, 1 / float(np.median(((ridge(inputs) - points) ** 2).sum(axis=1))))
    return models


def pe_deg(frames: list[Frame], models: dict[str, Model], plane_mm: float) -> float:
    """PE over testers; who cannot be seen is taken to look straight ahead."""
    tested = [frame for frame in frames if frame.tested]
    found = (looked_at(models, frame.eyes) for frame in tested)
    answered = np.array([np.zeros(2) if point is None else point for point in found])
    true = np.array([frame.point for frame in tested])
    errors = angles_deg_columns(*true.T, plane_mm, *answered.T, plane_mm)
    return float(at_shares(errors, (0.5, 0.95)).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="*")
    options, settings = parser.parse_args(), Settings()
    work, items = (frames_of, options.data) if options.data else (made, list(settings.seeds))
    found = dict(progress(in_processes(work, items), "data sets", len(items)))
    sets = [found[item] for item in items]  # in their order: sums of floats depend on it
    kinds = [eye.kind if eye else "nothing" for frames in sets for frame in frames for eye in frame.eyes]
    print("seen:", {kind: round(kinds.count(kind) / len(kinds), 3) for kind in (*KINDS, "nothing")})

    def across(penalty: float) -> float:
        """PE on data sets that were left out, averaged over them."""
        values = []
        for k in range(FOLDS):
            models = learn([frame for i, one in enumerate(sets) if i % FOLDS != k for frame in one], penalty)
            values += [pe_deg(one, models, settings.plane_mm) for one in sets[k::FOLDS]]
        return float(np.mean(values))

    pe = {penalty: across(penalty) for penalty in settings.penalties}
    penalty = min(pe, key=pe.get)
    print("PE on devices that were left out:", {key: round(value, 2) for key, value in pe.items()})
    models = learn([frame for one in sets for frame in one], penalty)
    arrays = {f"{kind}/{name}": value for kind, model in models.items() for name, value in vars(model.ridge).items()}
    trust = {f"{kind}/trust": model.trust for kind, model in models.items()}
    file = model_cards.path(WEIGHTS)
    np.savez(file, **arrays, **trust)
    print(f"{file.name}: {file.stat().st_size} bytes, penalty {penalty:g}")


if __name__ == "__main__":
    main()
