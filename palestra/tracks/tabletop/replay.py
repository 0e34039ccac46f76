"""Runs on the table, played again from the actions that were recorded: films, and when each sub-goal held.

The physics gives the same bytes for the same actions, so all this is made afterwards: a run in real time draws nothing
for people, and what is shown is what was judged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra import console
from palestra.errors import UnknownName
from palestra.live import Recording
from palestra.records import Film
from palestra.report import DARK, GREEN, PAPER, Colour, Image, beside, wrapped, write, write_film
from palestra.text import Text, Words, say
from palestra.tracks.tabletop.episode import TableWorld
from palestra.tracks.tabletop.simulator.case import Case
from palestra.tracks.tabletop.simulator.goals import Progress

RATE_HZ, EVERY = 10, 2  # pictures a second, and one of so many periods
SIDE_PX = 480
LINE_PX, LETTER_PX, MARGIN_PX = 26, 17, 10  # of the words under a film

Actions = Sequence[list[float] | None]


@dataclass(frozen=True)
class Review:
    """A case, played again."""

    case: Case
    held: NDArray[np.bool_]  # (periods, sub-goals): which held at the end of each period
    first_s: dict[str, float | None]  # when each held first
    left: bytes  # what was left, to compare with what was recorded


def cases_with_goals(truth: pl.DataFrame) -> dict[str, Case]:
    return {row["trial"]: msgspec.json.decode(row["truth_case"], type=Case) for row in truth.iter_rows(named=True)}


def actions_of(run: Recording, entrant: str) -> dict[str, Actions]:
    """What an entrant did in each case."""
    found: dict[str, list[list[float] | None]] = {name: [] for name in run.head.sittings}
    for moved in run.steps(entrant):
        found[run.head.sittings[moved.sitting]].append(moved.step.action)
    return {name: steps for name, steps in found.items() if steps}


def review(case: Case, actions: Actions) -> Review:
    """Play it again, and look at every sub-goal after every period."""
    world, progress, held = TableWorld(case, 0), Progress(case.goals), []
    try:
        for action in actions:
            world.move(None if action is None else np.array(action))
            progress.note(world.table.facts(), world.table.time_s)
            held.append([progress.holding[goal.id] for goal in case.goals])
        left = msgspec.json.encode(world.end())
    finally:
        world.close()
    return Review(case, np.array(held, bool).reshape(-1, len(case.goals)), dict(progress.first_true_s), left)


def film(case: Case, actions: Actions, who: str) -> Film:
    return Film(_frames(case, actions, who), RATE_HZ)


def _frames(case: Case, actions: Actions, who: str) -> Iterator[Image]:
    world, progress = TableWorld(case, 0), Progress(case.goals)
    try:
        for number, action in enumerate(actions):
            world.move(None if action is None else np.array(action))
            if number % EVERY == 0:
                progress.note(world.table.facts(), world.table.time_s)
                yield _frame(world, progress, who)
        world.end()
        progress.note(world.table.facts(), world.table.time_s)
        for _ in range(RATE_HZ):  # the end stays for a second
            yield _frame(world, progress, who)
    finally:
        world.close()


def _frame(world: TableWorld, progress: Progress, who: str) -> Image:
    pictures = beside(*(world.table.picture(name, SIDE_PX) for name in ("side", "top")))
    width, wish = pictures.shape[1], Words(world.case.said("en"), world.case.said("zh"))
    lines: list[tuple[Text, Colour]] = [(f"{who}   {world.table.time_s:5.1f} s", DARK)]
    lines += [(line, DARK) for line in wrapped(wish, width - 2 * MARGIN_PX, LETTER_PX)]
    for goal in progress.goals:
        holds = progress.holding[goal.id]
        mark = "●" if holds else "○"
        lines.append((Words(f"{mark} {goal.en}", f"{mark} {goal.zh}"), GREEN if holds else DARK))
    words = np.full((LINE_PX * len(lines) + 14, width, 3), PAPER, np.uint8)
    for number, (line, colour) in enumerate(lines):
        write(words, line, (MARGIN_PX, LINE_PX * (number + 1) - 4), colour, LETTER_PX)
    return np.vstack([pictures, words])


def write_films(run: Recording, truth: pl.DataFrame, folder: Path) -> list[Path]:
    """A film of every case of every entrant."""
    cases, files = cases_with_goals(truth), []
    folder.mkdir(parents=True, exist_ok=True)
    done = {who: actions_of(run, who.name) for who in run.head.entrants}
    total = sum(len(actions) // EVERY + RATE_HZ for each in done.values() for actions in each.values())
    with console.progress("filming", total) as advance:
        for who, each in done.items():
            for name, actions in each.items():
                file = folder / f"{Path(who.file).stem}-{name}.mp4"
                advance(write_film(film(cases[name], actions, who.name), file))
                files.append(file)
    return files


def shown(truth: pl.DataFrame, name: str) -> Film:
    """A case as the reference that knows everything plays it."""
    from palestra.tracks.tabletop.solutions.scripted_policy import played

    cases = cases_with_goals(truth)
    if name not in cases:
        raise UnknownName(say("case"), name, cases)
    return film(cases[name], played(cases[name]), "scripted")
