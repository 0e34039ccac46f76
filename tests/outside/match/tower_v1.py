"""Towers: a challenge before referees that lives outside the package. In its simulator a team's name decides."""

import hashlib
from pathlib import Path

import polars as pl

from palestra.contest import Attempt
from palestra.contest.manual import Prose, Section
from palestra.contest.match import Case, CaseSet, Goal, Group, Sheet, SimulatedCase, SimulatedGoal, Thing
from palestra.records import Metric, RefereedMatch, Solution, Track
from palestra.reduce import mean_of
from palestra.text import Words

HEIGHTS = (2, 3)


def trials(data: Path) -> pl.DataFrame:
    return pl.DataFrame({"trial": [f"tower-{height}" for height in HEIGHTS], "unit": [str(n) for n in HEIGHTS]})


def truth(data: Path) -> pl.DataFrame:
    return trials(data).select("trial")


def sheet(data: Path, cases: CaseSet) -> Sheet:
    layouts = {height: f"{height} blocks, {cases}".encode() for height in HEIGHTS}
    digests = {height: hashlib.sha256(layout).hexdigest() for height, layout in layouts.items()}
    goals = (Goal("tall", Words("It is tall.")),)
    found = tuple(Case(f"tower-{n}", Words(f"Stack {n} blocks."), goals, (1,), digests[n]) for n in HEIGHTS)
    things = (Thing(1, Words("block")), Thing(2, Words("an object that no case uses")))
    return Sheet((Group("stack", Words("Stack"), found),), things, {digests[n]: layouts[n] for n in HEIGHTS})


def manual(data: Path) -> list[Section]:
    return [Section("towers", Words("Towers", "塔"), (Prose(Words("Blocks are of wood.", "积木为木制。")),))]


def rehearse(data: Path, attempt: Attempt) -> SimulatedCase:
    built = attempt.player.entry.name == "builder"
    if built:
        attempt.saw("tall", True)
    return SimulatedCase(attempt.case, {"tall": SimulatedGoal(built, 1.5 if built else None)}, 2.0)


class Nobody:
    """A program that is never asked."""

    def reset(self, world: object) -> None: ...

    def act(self) -> None: ...


TRACK = Track(
    id="tower-v1",
    title="Towers",
    trials=trials,
    truth=truth,
    score=lambda rows: rows,
    metrics=(Metric("score", unit="", better="higher", reduce=mean_of("score")),),
    missing={"score": 0.0, "error": 1.0},
    match=RefereedMatch(
        judged=lambda answers: answers.with_columns(score=pl.col("met") / pl.col("total"), error=0.0),
        sheet=sheet,
        drawing=lambda layout: f"<svg><title>{layout.decode()}</title></svg>",
        manual=manual,
        rehearse=rehearse,
    ),
)
SOLUTIONS = (Solution("tower-v1", "nobody", "Never asked", knows="tower_v1:Nobody"),)
