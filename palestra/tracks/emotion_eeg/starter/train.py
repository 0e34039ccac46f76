"""Fits the bundle's model on data/train. Needs numpy alone.  Usage: python train.py [data]"""

import sys
from pathlib import Path

import numpy as np

import recordings

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "bundle"))
from Algorithm.MyAlgorithm import MODEL, Listener, in_batch_2_order  # noqa: E402

DATA = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "data"
SHRINK = 0.5  # how round the spread of the features is taken to be. Change me: with 80 people less is better


def seconds(person, file):
    """Features and labels of the seconds that would be scored, heard as the program hears them."""
    listener, features, labels = Listener(), [], []
    recording = in_batch_2_order(recordings.read(file), person)
    for packet, number, film in recordings.play(recording, odd_for=person):
        listener.take(packet)
        if number:
            found = listener.features()  # every second counts for what is usual
            if film is not None:
                features.append(found)
                labels.append(recordings.LABELS[film])
    print(f"{file.name}: {len(labels)} seconds", flush=True)
    return np.array(features), np.array(labels)


def discriminant(features, labels):
    """Linear discriminant analysis: weights (features, 9) and offsets (9,)."""
    means = np.stack([features[labels == label].mean(axis=0) for label in range(9)])
    spread = np.cov((features - means[labels]).T)
    spread = (1 - SHRINK) * spread + SHRINK * np.trace(spread) / len(spread) * np.eye(len(spread))
    weights = np.linalg.solve(spread, means.T)
    return weights, -0.5 * (means * weights.T).sum(axis=1)


parts = [seconds(person, file) for person, file in recordings.people(DATA / "train").items()]
if not parts:
    sys.exit(f"{DATA / 'train'} has no recordings (*.pkl)")
weights, offsets = discriminant(*(np.concatenate(some) for some in zip(*parts)))
np.savez(HERE / "bundle" / MODEL, weights=weights, offsets=offsets)
print(f"bundle/{MODEL} is written")
