"""People whom no data set has and no network learnt from, for the tables."""

import numpy as np

from palestra.eyes.simulator.people import Profile

SEED = 77_000  # data sets and train/eye_world.py draw theirs otherwise


def stranger(*number: int) -> np.random.Generator:
    """Randomness that is a person's own."""
    return np.random.default_rng([SEED, *number])


def profile(rng: np.random.Generator, glasses: bool = False) -> Profile:
    sex = str(rng.choice(("female", "male")))
    return Profile(
        sex=sex,
        ethnicity=str(rng.choice(("asian", "caucasian", "other"))),
        age=int(rng.integers(21, 60)),
        glasses=glasses,
        makeup=sex == "female" and bool(rng.random() < 0.5),
        eye_colour=str(rng.choice(("brown", "blue", "hazel", "green"))),
    )
