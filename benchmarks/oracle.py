"""What an adversary learns of the hidden answers from its own scores: a contest is served, and attacked.

python -m benchmarks.oracle [--counts 1,3,10,30] [--seeds 3] [--program 2.0]

For each attack and number of submissions: the share of the 50 points of the shown half that are known to 0.5°, less
what was known before anything was sent in. With `scores = "exact"` (as it was) and as a phase is without a word.
`--program`: the attacker has a program that is right to so many degrees on each axis; without, it knows the display.
"""

import argparse
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from benchmarks import oracle_attacks as attacks
from benchmarks import oracle_contest as served_contest
from palestra.records import Result

SETTINGS = {"exact": 'scores = "exact"', "rounded": ""}


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m benchmarks.oracle")
    words.add_argument("--counts", default="1,3,10,30")
    words.add_argument("--seeds", type=int, default=3)
    words.add_argument("--program", type=float, default=0.0, help="degrees")
    words.add_argument("--only", default=",".join(SETTINGS))
    given = words.parse_args()
    counts = [int(count) for count in given.counts.split(",")]
    print("| attack | scores |", " | ".join(f"k = {count}" for count in counts), "|")
    print("|---|---|" + "---|" * len(counts))
    for setting in given.only.split(","):
        for name in attacks.ATTACKS:
            shares = [np.mean(measured(name, setting, count, given.seeds, given.program)) for count in counts]
            print(f"| {name} | {setting} |", " | ".join(f"{100 * share:.1f} %" for share in shares), "|", flush=True)


def measured(name: str, setting: str, count: int, seeds: int, program_deg: float = 0.0) -> list[float]:
    """What an attack brings beyond the prior, over several contests."""
    program_mm = served_contest.DISTANCE_MM * math.tan(math.radians(program_deg))
    found = []
    for seed in range(seeds):
        with tempfile.TemporaryDirectory(prefix="palestra-oracle-") as folder:
            found.append(learnt(Path(folder) / "contest", name, setting, count, program_mm, seed))
    return found


def learnt(folder: Path, name: str, setting: str, count: int, program_mm: float, seed: int) -> float:
    """The share of the shown points that one attack makes known beyond the prior."""
    with served_contest.served(folder, seed, SETTINGS[setting]) as contest:
        people = shown_people(contest)
        attack, team = attacks.ATTACKS[name], contest.team("scout")
        after, before = attacks.attacked(attack, contest.hidden, people, team, count, program_mm, seed)
        return after - before


def shown_people(contest: served_contest.Served) -> set[str]:
    """Who is on the shown part, which attackers are told here: as the organiser's file of a first result has it."""
    names: Sequence[tuple[str, str, str]] = contest.hidden.names
    page = contest.team("first").submit(list(names), np.zeros_like(contest.hidden.points)).page
    score = contest.contest.state.submissions[page["id"]].scores[-1]
    result = msgspec.json.decode(contest.contest.files.read(score.result), type=Result)
    return {str(row["person"]) for row in result.by["person"]}


if __name__ == "__main__":
    main()
