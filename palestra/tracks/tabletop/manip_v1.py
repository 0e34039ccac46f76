"""Language-guided manipulation on a table (Manip track, online): an arm, three cameras, and a wish in words.

One row per case: an instruction with its scene. A program sees what the cameras see and moves the arm, in the world's
own time: 20 actions a second, and while it thinks, the last one goes on. What holds when the case ends is what counts:
a case's score is met sub-goals ÷ sub-goals, an exact fraction, and a run's score is the mean over all cases.

Equal scores: less time in all (in whole seconds; a case without an answer takes its limit), then more cases met in
full, then the smaller variance of the cases' scores.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.metrics.bootstrap import unit_sums, weighted_mean
from palestra.records import (
    Case,
    Dataset,
    Display,
    Draws,
    EpisodeAnswers,
    Metric,
    Order,
    Plan,
    RefereedMatch,
    RuleSettings,
    Track,
)
from palestra.reduce import mean_of
from palestra.text import Words, say
from palestra.tracks.tabletop import format as on_disk
from palestra.tracks.tabletop.groups import GROUP_TITLES
from palestra.tracks.tabletop.settings import PERIOD_S, Settings

if TYPE_CHECKING:
    from palestra.contest import Attempt
    from palestra.contest.manual import Section
    from palestra.contest.match import CaseSet, Sheet, SimulatedCase
    from palestra.records import Block, Film

PHYSICS = f"mujoco {version('mujoco')}"


def cases_of(data: Path, settings: Settings) -> list[on_disk.Case]:
    """The cases that are played, with their sub-goals: for the host alone."""
    hidden = settings.cases == "hidden" and (data / "hidden").is_dir()
    cases = on_disk.read_cases(data, hidden)
    goals = on_disk.read_goals(data, cases) if hidden else {}
    return [replace(case, goals=goals.get(case.id, case.goals)) for case in cases]


def trials(data: Path, settings: Settings) -> pl.DataFrame:
    index = on_disk.read_index(data)
    played = "hidden" if settings.cases == "hidden" and (data / "hidden").is_dir() else "practice"
    return index.filter(set=played).select(trial="case", case="case", group="group")


def truth(data: Path, settings: Settings) -> pl.DataFrame:
    rows = [
        {"trial": case.id, "case": case.id, "group": case.group, "total": len(case.goals), "limit_s": settings.limit_s,
         "truth_case": msgspec.json.encode(case).decode()}
        for case in cases_of(data, settings)
    ]  # fmt: skip
    schema = {"trial": pl.String, "case": pl.String, "group": pl.String, "total": pl.Int64, "limit_s": pl.Float64}
    return pl.DataFrame(rows, schema={**schema, "truth_case": pl.String})


def episode(data: Path, settings: Settings) -> list[Case]:
    return [
        Case(case.id, partial(_opened, case, number, settings.size), settings.limit_s, PERIOD_S, settings.waits)
        for number, case in enumerate(cases_of(data, settings), start=1)
    ]


def _opened(case: on_disk.Case, number: int, size: int) -> Any:
    from palestra.tracks.tabletop.episode import TableWorld

    return TableWorld(case, number, size)


def hear(answer: Any) -> dict[str, Any]:
    """What is left of a case, as the host recorded it."""
    if not isinstance(answer, Mapping) or "seconds" not in answer:
        raise ValueError("nothing is left of the case")
    left = {key: value for key, value in answer.items() if key != "seconds"}
    return {"seconds": float(answer["seconds"]), "left": msgspec.json.encode(left).decode()}


def blank(trials: pl.DataFrame) -> pl.DataFrame:
    return trials.select("trial", seconds=pl.lit(0.0), left=pl.lit("{}"))


def score(rows: pl.DataFrame) -> pl.DataFrame:
    judged = [_judged(row) for row in rows.iter_rows(named=True)]
    held = pl.Series("held", [",".join(names) for names in judged], pl.String)
    met = pl.Series("met", [len(names) for names in judged], pl.Int64)
    share = pl.col("met") / pl.col("total")
    full = pl.col("met") == pl.col("total")
    return rows.with_columns(held, met).with_columns(score=share, full=full, error=1 - share)


def _judged(row: Mapping[str, Any]) -> list[str]:
    """The sub-goals that hold at the end of a case."""
    from palestra.tracks.tabletop.episode import read
    from palestra.tracks.tabletop.simulator.case import Case as TableCase

    case = msgspec.json.decode(row["truth_case"], type=TableCase)
    left = msgspec.json.decode(row["left"])
    if not left:  # a template: the table as it was laid
        return []
    facts = read(left, case)
    return [goal.id for goal in case.goals if goal.holds(facts)]


def missed(gaps: pl.DataFrame) -> pl.DataFrame:
    """Nothing is met, and it takes the whole time."""
    return gaps.with_columns(
        seconds=pl.col("limit_s"), left=pl.lit("{}"), held=pl.lit(""), met=pl.lit(0, pl.Int64), score=pl.lit(0.0),
        full=pl.lit(False), error=pl.lit(1.0),
    )  # fmt: skip


def judged(answers: pl.DataFrame) -> pl.DataFrame:
    """On site: what referees decided on each case. What a case is charged may be a part of its group's time."""
    charged_s = [float(Fraction(text) / 1000) for text in answers["charged_ms"]]
    minus = [float(Fraction(text)) for text in answers["deducted"]]
    share = pl.max_horizontal(pl.col("met") / pl.col("total") - pl.Series(minus, dtype=pl.Float64), 0.0)
    full = pl.col("met") == pl.col("total")
    return answers.with_columns(
        case="trial", seconds=pl.Series(charged_s, dtype=pl.Float64), score=share, full=full, error=1 - share
    )


# Before referees


def sheet(data: Path, cases: "CaseSet") -> "Sheet":
    from palestra.tracks.tabletop.case_catalogue import read_sheet

    return read_sheet(data, cases == "hidden")


def drawing(layout: bytes) -> str:
    from palestra.tracks.tabletop import reference_layout

    return reference_layout.drawing(layout)


def manual(data: Path, settings: Settings) -> "list[Section]":
    from palestra.tracks.tabletop.manual import sections

    return sections(data, settings.size)


def rehearse(data: Path, attempt: "Attempt", settings: Settings) -> "SimulatedCase":
    """Whichever cases are played online, those of a match may be of either set."""
    from palestra.tracks.tabletop.rehearsal import play

    sets = [cases_of(data, msgspec.structs.replace(settings, cases=which)) for which in ("practice", "hidden")]
    cases = {case.id: case for found in sets for case in found}
    return play(attempt, cases[attempt.case], settings)


# What ranks


def total_s(rows: pl.DataFrame, draws: Draws) -> NDArray[np.float64]:
    """Time in all, in whole seconds, rounded down."""
    sums: NDArray[np.float64] = (
        draws.weights @ unit_sums(rows["seconds"].to_numpy(), draws.unit_of, draws.weights.shape[1])[:, 0]
    )
    return np.floor(sums + 1e-6)


def variance(rows: pl.DataFrame, draws: Draws) -> NDArray[np.float64]:
    """The population variance of the cases' scores."""
    values = rows["score"].to_numpy()
    squares = weighted_mean(values * values, draws.unit_of, draws.weights)
    means = weighted_mean(values, draws.unit_of, draws.weights)
    return np.asarray(np.maximum(squares - means * means, 0.0))


def charts(rows: pl.DataFrame) -> "list[Block]":
    from palestra.tracks.tabletop.figures import by_group, cases_table

    return [by_group(rows), cases_table(rows)]


def picture(data: Path, row: Mapping[str, Any]) -> NDArray[np.uint8]:
    """A case at its start and, where it was played, at its end."""
    from palestra.tracks.tabletop.figures import start_and_end

    return start_and_end(row)


def caption(row: Mapping[str, Any]) -> Words:
    from palestra.tracks.tabletop.figures import met

    return met(row)


def film(data: Path, name: str, settings: Settings) -> "Film":
    """A practice case as the scripted policy plays it."""
    from palestra.tracks.tabletop.replay import shown

    return shown(truth(data, settings), name)


def review(data: Path, run: Any, entrant: str, settings: Settings) -> "list[Block]":
    """When each sub-goal held, case by case."""
    from palestra.tracks.tabletop.figures import timeline
    from palestra.tracks.tabletop.replay import actions_of, cases_with_goals
    from palestra.tracks.tabletop.replay import review as played_again

    cases = cases_with_goals(truth(data, settings))
    return [timeline(played_again(cases[name], done)) for name, done in actions_of(run, entrant).items()]


def films(data: Path, run: Any, folder: Path, settings: Settings) -> list[Path]:
    from palestra.tracks.tabletop.replay import write_films

    return write_films(run, truth(data, settings), folder)


def make(order: Order) -> Plan:
    from palestra.tracks.tabletop.maker import plan

    return plan(order)


def describe(data: Path) -> "list[Block]":
    """What there is to practise on; hidden cases are counted only."""
    from palestra.tracks.tabletop.figures import data_blocks

    return data_blocks(data)


def track(settings: Settings) -> Track:
    _require(settings)
    settings = msgspec.structs.replace(settings, physics=PHYSICS)
    return Track(
        id="tabletop-manip-v1",
        title=say("Tabletop manipulation by instruction"),
        trials=partial(trials, settings=settings),
        truth=partial(truth, settings=settings),
        score=score,
        metrics=(
            Metric("score", "", "higher", mean_of("score"), say("mean share of sub-goals met")),
            Metric("full", "", "higher", mean_of("full"), say("cases met in full")),
            Metric("total_s", "s", "lower", total_s, say("time in all")),
            Metric("variance", "", "lower", variance, say("variance of the cases")),
        ),
        missing=missed,
        blank=blank,
        units=("case",),
        ties=("total_s", "full", "variance"),
        episode=EpisodeAnswers(cases=partial(episode, settings=settings), hear=hear),
        match=RefereedMatch(
            judged=judged,
            sheet=sheet,
            drawing=drawing,
            manual=partial(manual, settings=settings),
            rehearse=partial(rehearse, settings=settings),
        ),
        dataset=Dataset(make=make, describe=describe, hidden=("truth", "hidden")),
        display=Display(
            error="error",
            groups=("group",),
            labels=GROUP_TITLES,
            charts=charts,
            picture=picture,
            pictured=say("From the left: the table at the start, from the side and from above, and then at the end."),
            caption=caption,
            film=partial(film, settings=settings),
            review=partial(review, settings=settings),
            films=partial(films, settings=settings),
        ),
        settings=RuleSettings(settings, track),
    )


def _require(settings: Settings) -> None:
    if settings.physics not in ("", PHYSICS):
        raise PalestraError(
            say(
                "tabletop-manip-v1 needs {physics} for this; found {physics2}. Install that version.",
                physics=settings.physics,
                physics2=PHYSICS,
            )
        )
    if not PERIOD_S <= settings.limit_s <= 3600 or not math.isfinite(settings.limit_s):
        raise PalestraError(
            say("tabletop-manip-v1, limit_s: found {limit_s}, expected seconds up to 3600.", limit_s=settings.limit_s)
        )
    if not 32 <= settings.size <= 1024:
        raise PalestraError(
            say("tabletop-manip-v1, size: found {size}, expected 32 to 1024 pixels.", size=settings.size)
        )


TRACK = track(Settings())
