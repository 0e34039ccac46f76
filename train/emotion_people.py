"""People whose features `train.emotion_features` wrote, normalised as they are while EEG is streamed."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from palestra.tracks.emotion_eeg.solutions.features import Usual

CLASSES = 10  # nine feelings, and no video
USUAL_S = 30.0  # for which what is usual for people counts


@dataclass(frozen=True)
class Person:
    """One sitting, in order of time."""

    features: np.ndarray  # (seconds, 150), normalised
    label: np.ndarray  # (seconds,) 0–8, 9 for no video
    video: np.ndarray
    asked: np.ndarray  # (seconds,) bool

    def accuracy(self, answers: np.ndarray) -> float:
        """As the contest counts: the mean over videos of the share of right seconds, without the first and last."""
        shares = []
        for video in np.unique(self.video[self.video > 0]):
            inside = np.flatnonzero((self.video == video) & self.asked)[1:-1]
            if len(inside):
                shares.append((answers[inside] == self.label[inside]).mean())
        return float(np.mean(shares))


def load(file: Path, usual: Usual | None = None) -> tuple[dict[str, list[Person]], Usual]:
    """People by split, and what is usual for the training people."""
    arrays = np.load(file)
    names = sorted({name.rpartition("/")[0] for name in arrays.files})
    if usual is None:
        asked = [arrays[f"{n}/features"][arrays[f"{n}/asked"]] for n in names if n.startswith("train")]
        means = np.array([one.mean(axis=0) for one in asked])
        spread = np.sqrt(np.mean([one.var(axis=0) for one in asked], axis=0))
        usual = Usual(means.mean(axis=0, dtype=np.float64), spread.astype(np.float64), USUAL_S)
    people: dict[str, list[Person]] = {"train": [], "test": []}
    for name in names:
        people[name.partition("/")[0]].append(_person(arrays, name, usual))
    return people, usual


def _person(arrays: np.lib.npyio.NpzFile, name: str, usual: Usual) -> Person:
    usual.forget()
    normal = np.array([usual.normal(one) for one in arrays[f"{name}/features"].astype(np.float64)])
    label, video, asked = (arrays[f"{name}/{key}"] for key in ("label", "video", "asked"))
    return Person(normal, np.where(label < 0, CLASSES - 1, label), video, asked)
