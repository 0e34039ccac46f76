"""Who takes part: people with the sexes, ages and accessories that a data set's paper counts."""

from dataclasses import dataclass

import numpy as np

AGE_RANGES = {"21–25": (21, 25), "26–30": (26, 30), "31–40": (31, 40), "41+": (41, 69)}


@dataclass(frozen=True)
class Profile:
    """What a data set tells of a person."""

    sex: str  # female, male
    ethnicity: str  # asian, caucasian, other
    age: int  # years
    glasses: bool
    makeup: bool
    eye_colour: str  # brown, blue, hazel, green


@dataclass(frozen=True)
class Census:
    """How many of a group's people have each property (one row of a paper's table)."""

    sex: dict[str, int]
    ethnicity: dict[str, int]
    age: dict[str, int]  # by AGE_RANGES
    glasses: int
    makeup: int

    @property
    def people(self) -> int:
        return sum(self.sex.values())


# Eye colours of the 74 people of the segmentation subset, the only published counts; drawn by ethnicity so that
# brown is all but certain where it is in the world.
_COLOURS = ("brown", "blue", "hazel", "green")
_COLOUR_SHARES = {
    "asian": (1.0, 0.0, 0.0, 0.0),
    "other": (0.92, 0.02, 0.04, 0.02),
    "caucasian": (0.26, 0.46, 0.12, 0.16),
}


def scaled(census: Census, people: int) -> Census:
    """The same shares for another number of people (largest remainder, so every count adds up)."""

    def part(counts: dict[str, int]) -> dict[str, int]:
        total = sum(counts.values())
        exact = {key: people * count / total for key, count in counts.items()}
        whole = {key: int(value) for key, value in exact.items()}
        by_remainder = sorted(exact, key=lambda key: whole[key] - exact[key])
        for key in by_remainder[: people - sum(whole.values())]:
            whole[key] += 1
        return whole

    def some(count: int) -> int:
        return round(people * count / census.people)

    return Census(part(census.sex), part(census.ethnicity), part(census.age), some(census.glasses), some(census.makeup))


def draw_profiles(census: Census, rng: np.random.Generator) -> list[Profile]:
    """People whose counts are exactly those of the census, otherwise at random."""

    def spread(counts: dict[str, int]) -> list[str]:
        return [str(value) for value in rng.permutation([key for key, count in counts.items() for _ in range(count)])]

    people = census.people
    sexes, ethnicities, ages = spread(census.sex), spread(census.ethnicity), spread(census.age)
    glasses = rng.permutation(np.arange(people) < census.glasses)
    # Make-up goes to women first: that is where nearly all of it is in such recordings.
    order = sorted(range(people), key=lambda i: (sexes[i] != "female", rng.random()))
    made_up = set(order[: census.makeup])
    profiles = []
    for i in range(people):
        low, high = AGE_RANGES[ages[i]]
        colour = rng.choice(_COLOURS, p=_COLOUR_SHARES[ethnicities[i]])
        profiles.append(
            Profile(
                sexes[i], ethnicities[i], int(rng.integers(low, high + 1)), bool(glasses[i]), i in made_up, str(colour)
            )
        )
    return profiles
