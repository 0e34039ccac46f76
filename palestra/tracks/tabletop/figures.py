"""What pages show of the table: cases with their sub-goals, scores by group, scenes at their start and end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl

from palestra.records import Block, Cell, Chart, Gallery, Table
from palestra.report import ACCENT, FAINT, SECOND, Drawn, Image, beside, column_title, drawn, label, svg
from palestra.text import Text, Words, clipped, say, say_as, sentences
from palestra.tracks.tabletop import format as on_disk
from palestra.tracks.tabletop.groups import GROUP_TITLES
from palestra.tracks.tabletop.simulator.case import Case

if TYPE_CHECKING:
    from palestra.tracks.tabletop.replay import Review
    from palestra.tracks.tabletop.simulator.goals import Facts

VIEW_PX = 400
LETTERS, LETTERS_ZH = 52, 26  # of a sub-goal beside its timeline


@drawn
def by_group(rows: pl.DataFrame) -> Chart:
    """Each case's score, in its group."""
    from matplotlib.figure import Figure

    text, groups = Drawn(), rows["group"].unique(maintain_order=True).to_list()
    figure = Figure(figsize=(8.4, 3.0))
    axes = figure.subplots()
    for place, group in enumerate(groups):
        values = rows.filter(group=group)["score"].to_numpy()
        spread = np.linspace(-0.28, 0.28, len(values)) if len(values) > 1 else np.zeros(1)
        axes.bar(place, values.mean(), 0.72, color=FAINT, zorder=1)
        axes.plot(place + spread, values, "o", color=ACCENT, markersize=6, zorder=3, clip_on=False)
        axes.annotate(f"{values.mean():.0%}", (place, 1.04), ha="center", fontsize=9, annotation_clip=False)
    axes.set_xticks(range(len(groups)), [text(label(group, GROUP_TITLES)) for group in groups])
    axes.set(ylim=(0, 1.12), ylabel=text(say("share of sub-goals met")))
    axes.grid(True, axis="y", zorder=0)
    note = sentences(say("Bars: the mean of a group."), say("Dots: its cases."))
    return Chart(say("Scores by group"), svg(figure), note, text.chinese)


def cases_table(rows: pl.DataFrame) -> Table:
    """Each case: what was met, what was not, and how long it took."""
    cells: list[list[Cell]] = []
    for row in rows.iter_rows(named=True):
        case = msgspec.json.decode(row["truth_case"], type=Case)
        held = set(filter(None, str(row.get("held") or "").split(",")))
        unmet = [goal for goal in case.goals if goal.id not in held]
        said = sentences(*(Words(goal.en, goal.zh) for goal in unmet)) if unmet else None
        share = say("{count} of {total}", count=row["met"], total=row["total"])
        cells.append([row["trial"], label(row["group"], GROUP_TITLES), share, _ms(row), said])
    columns = [*map(column_title, ("case", "group")), say_as("sub-goals", "Met"), say("Time (ms)"), say("Not met")]
    note = say("The total is compared in whole seconds.")
    return Table(column_title("cases"), columns, cells, note, alone=True)


def _ms(row: Mapping[str, Any]) -> int | None:
    return None if row.get("seconds") is None else round(1000 * float(row["seconds"]))


def met(row: Mapping[str, Any]) -> Words:
    """What a case came to."""
    return say("{row} of {row2} sub-goals met", row=row["met"], row2=row["total"])


def start_and_end(row: Mapping[str, Any]) -> Image:
    """The table as it was laid and, where it was played, as it was left."""
    from palestra.tracks.tabletop.episode import read

    case = msgspec.json.decode(row["truth_case"], type=Case)
    left = msgspec.json.decode(row.get("left") or "{}")
    scenes = [case]
    if left:
        scenes.append(_as_left(case, read(left, case)))
    return beside(*(picture for scene in scenes for picture in _views(scene)))


def _views(case: Case) -> list[Image]:
    from palestra.tracks.tabletop.simulator.table import Table as World

    with World(case.scene) as table:
        return [table.picture(name, VIEW_PX) for name in ("side", "top")]


def _as_left(case: Case, facts: Facts) -> Case:
    """The case with its things where they were left."""
    things = tuple(
        replace(thing, size=(facts.opening_m[thing.id],)) if thing.id in facts.opening_m else thing
        for thing in case.scene.things
    )
    settled = {
        name: (*(float(value) for value in facts.poses[name][:3, 3]), *_quaternion(facts.poses[name][:3, :3]))
        for name in case.scene.settled
    }
    return replace(case, scene=replace(case.scene, things=things, settled=settled))


def _quaternion(turn: Any) -> tuple[float, float, float, float]:
    """w, x, y, z of a rotation (3, 3)."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(turn).as_quat().tolist()
    return w, x, y, z


@drawn
def timeline(review: Review) -> Chart:
    """When each sub-goal of a case held."""
    from matplotlib.figure import Figure

    text, goals = Drawn(), review.case.goals
    figure = Figure(figsize=(8.4, 0.9 + 0.34 * len(goals)))
    axes = figure.subplots()
    for place, goal in enumerate(goals):
        for start, stop in _stretches(review.held[:, place]):
            axes.barh(place, (stop - start) / 20, 0.6, left=start / 20, color=ACCENT, zorder=2)
        first = review.first_s[goal.id]
        if first is not None:
            axes.plot([first], [place], "|", color=SECOND, markersize=14, markeredgewidth=2, zorder=3)
    short = [Words(clipped(goal.en, LETTERS), clipped(goal.zh, LETTERS_ZH)) for goal in goals]
    axes.set_yticks(range(len(goals)), map(text, short))
    axes.set(xlabel=text(say("time (s)")), xlim=(0, max(len(review.held) / 20, 1.0)), ylim=(len(goals) - 0.5, -0.5))
    axes.grid(True, axis="x", zorder=0)
    note = sentences(say("Blue: the sub-goal holds."), say("Orange: it holds for the first time."))
    return Chart(_named(review.case), svg(figure), note, text.chinese)


def _named(case: Case) -> Words:
    return Words(f"{case.id}: {case.said('en')}", f"{case.id}：{case.said('zh')}")


def _stretches(held: Any) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], held.astype(np.int8), [0]])))
    return [(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def data_blocks(data: Path) -> list[Block]:
    """What there is to practise on, with pictures; hidden cases are only counted."""
    from palestra.report import png

    index = on_disk.read_index(data)
    counts = index.group_by("group", "set", maintain_order=True).len()
    groups = index["group"].unique(maintain_order=True).to_list()

    def count(group: str, which: str) -> int:
        return int(counts.filter(group=group, set=which)["len"].sum())

    rows: list[list[Cell]] = [
        [label(group, GROUP_TITLES), count(group, "practice"), count(group, "hidden")] for group in groups
    ]
    cases = on_disk.read_cases(data, False)
    chosen = cases[:: max(math.ceil(len(cases) / 8), 1)]
    pictures: list[tuple[Text, bytes]] = [(_named(case), png(beside(*_views(case)))) for case in chosen]
    said: list[list[Cell]] = [[case.id, case.said("en"), case.said("zh")] for case in cases]
    return [
        Table(column_title("cases"), [column_title("group"), say("To practise on"), say_as("cases", "Hidden")], rows),
        Gallery(say("Practice cases at their start"), pictures),
        Table(say("What is wished for"), [column_title("case"), "Instruction", "指令"], said, alone=True),
    ]
