"""The linear model behind `entropy` and `evidence`: which feeling do the features of one second speak for?

    python -m train.emotion_features --size paper --seed 2026 features.npz
    python -m train.emotion_linear features.npz

Linear discriminant analysis with a shrunk covariance on features that only the past has normalised. What is chosen
(shrinkage; for `evidence` how much a second counts) is chosen on training people in turns, never on the test.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from palestra.tracks.emotion_eeg.solutions.evidence import Belief
from train.emotion_people import CLASSES, Person, load

WEIGHTS = Path("palestra/tracks/emotion_eeg/weights/emotion_linear.npz")
FOLDS = 5


@dataclass(frozen=True)
class Settings:
    """What is tried, and what is given."""

    shrinkages: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.4)
    weights: tuple[float, ...] = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5)  # of a second's evidence
    video_s: float = 66.0  # as long as a video lasts
    pause_s: float = 45.0  # between two of them


@dataclass(frozen=True)
class Sums:
    """All that discriminant analysis needs to know of some people; sums of sums are sums."""

    count: np.ndarray  # (classes,)
    total: np.ndarray  # (classes, features)
    square: np.ndarray  # (features, features)

    @classmethod
    def of(cls, person: Person) -> "Sums":
        x, y = person.features[person.asked], person.label[person.asked]
        one = np.eye(CLASSES)[y]
        return cls(one.sum(axis=0), one.T @ x, x.T @ x)

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.count + other.count, self.total + other.total, self.square + other.square)

    def __sub__(self, other: "Sums") -> "Sums":
        return Sums(self.count - other.count, self.total - other.total, self.square - other.square)

    def discriminant(self, shrink: float) -> tuple[np.ndarray, np.ndarray]:
        """Weights (features, classes) and offsets: log likelihood of each class, up to what all share."""
        means = self.total / self.count[:, None]
        spread = (self.square - means.T @ (self.count[:, None] * means)) / self.count.sum()
        spread = (1 - shrink) * spread + shrink * np.trace(spread) / len(spread) * np.eye(len(spread))
        weights = np.linalg.solve(spread, means.T)
        return weights, -0.5 * (means * weights.T).sum(axis=1)


def second_by_second(person: Person, model: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return (person.features @ model[0] + model[1])[:, : CLASSES - 1].argmax(axis=1)


def with_evidence(
    person: Person, model: tuple[np.ndarray, np.ndarray], weight: float, settings: Settings
) -> np.ndarray:
    belief = Belief(weight, settings.video_s, settings.pause_s)
    return np.array([belief.after(one) for one in person.features @ model[0] + model[1]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features", type=Path)
    options, settings = parser.parse_args(), Settings()
    people, usual = load(options.features)
    train = people["train"]
    sums = [Sums.of(person) for person in train]
    everybody = sum(sums[1:], sums[0])
    folds = [range(k, len(train), FOLDS) for k in range(FOLDS)]
    others = [everybody - sum((sums[i] for i in fold[1:]), sums[fold[0]]) for fold in folds]

    def across(answer) -> float:
        return float(np.mean([train[i].accuracy(answer(k, train[i])) for k, fold in enumerate(folds) for i in fold]))

    def at(shrink: float):
        models = [left.discriminant(shrink) for left in others]
        return lambda k, person: second_by_second(person, models[k])

    found = {shrink: across(at(shrink)) for shrink in settings.shrinkages}
    shrink = max(found, key=found.get)
    print("second by second, across training people:", {key: round(value, 4) for key, value in found.items()})
    models = [left.discriminant(shrink) for left in others]
    weighed = {
        weight: across(lambda k, person, weight=weight: with_evidence(person, models[k], weight, settings))
        for weight in settings.weights
    }
    weight = max(weighed, key=weighed.get)
    print("with evidence, across training people:", {key: round(value, 4) for key, value in weighed.items()})
    model = everybody.discriminant(shrink)
    first = np.mean([person.accuracy(second_by_second(person, model)) for person in people["test"]])
    second = np.mean([person.accuracy(with_evidence(person, model, weight, settings)) for person in people["test"]])
    print(f"test people: second by second {first:.4f}, with evidence {second:.4f}")
    mean, spread, seconds = usual.first
    np.savez(
        WEIGHTS, weights=model[0], offsets=model[1], mean=mean, spread=spread, usual_s=seconds,
        evidence=weight, video_s=settings.video_s, pause_s=settings.pause_s,
    )  # fmt: skip


if __name__ == "__main__":
    main()
