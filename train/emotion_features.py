"""Features of every second of emotional EEG, as the reference solutions compute them while it is streamed.

    python -m train.emotion_features DATA out.npz               of a data set that is there
    python -m train.emotion_features --size paper out.npz       of one that is made, person by person, and not kept

The paper's size takes 35 GB as files and 250 MB as features, so people are made one at a time. What is written has, for
each person of train and test: the features of each second, what was felt in it (-1 for what is no video), the video,
and whether a decision is asked of it.
"""

import argparse
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.progress import track as progress

from palestra import registry
from palestra.datasets import make
from palestra.executors import in_processes
from palestra.records import Order, Part
from palestra.tracks.emotion_eeg.experiment import BLOCK_START, events, experiment
from palestra.tracks.emotion_eeg.format import open_recording, recordings
from palestra.tracks.emotion_eeg.solutions.features import PACKET, SECOND, entropies
from palestra.tracks.emotion_eeg.v1 import schedule


def of_recording(file: Path) -> dict[str, np.ndarray]:
    """One person's seconds: they are counted anew from each block's start, as decisions are."""
    recording, plan = open_recording(file), schedule(file)
    found = events(recording.triggers)
    whole = experiment(found)
    starts = [event.sample for event in found if event.code == BLOCK_START]
    resets = [whole.start, *(whole.start + ((at - whole.start) // PACKET + 1) * PACKET for at in starts), plan.stop]
    begins = np.concatenate([np.arange(a, b - SECOND + 1, SECOND) for a, b in itertools.pairwise(resets)])
    features = np.concatenate([_features(recording, begins[i : i + 300]) for i in range(0, len(begins), 300)])
    video, label = np.full(len(begins), -1, np.int8), np.full(len(begins), -1, np.int8)
    for one in plan.videos:
        inside = (begins >= one.start) & (begins + SECOND <= one.stop)
        video[inside], label[inside] = one.number, one.label
    return {"features": features, "video": video, "label": label, "asked": np.isin(begins, plan.windows)}


def _features(recording, begins: np.ndarray) -> np.ndarray:
    seconds = np.stack([recording.standard(at, at + SECOND)[:-1] for at in begins.tolist()])
    recording.release()
    return entropies(seconds).astype(np.float32)


def made(part: Part) -> dict[str, np.ndarray]:
    """One person of a data set, made for a moment."""
    with tempfile.TemporaryDirectory() as folder:
        part.write(Path(folder))
        return of_recording(Path(folder) / f"{part.name}.pkl")


def people(options: argparse.Namespace) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Every person's name, with the split before it, and features."""
    if options.data:
        files = [file for split in ("train", "test") for file in recordings(options.data, split).values()]
        for file, found in progress(in_processes(of_recording, files), "people", len(files)):
            yield f"{file.parent.name}/{file.stem}", found
    else:
        parts = make.plan(registry.track("emotion-eeg-v1"), Order(options.size, options.seed)).parts
        for part, found in progress(in_processes(made, parts), "people", len(parts)):
            yield part.name, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", default="paper")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    arrays = {f"{name}/{key}": value for name, found in people(options) for key, value in found.items()}
    np.savez(options.out, **arrays)


if __name__ == "__main__":
    main()
