"""What the page of a live gaze run shows: PE as it stood after each point, each point's error, each tester.

Rows are in the order of play, as scoring leaves them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from palestra.metrics.quantiles import at_shares, position
from palestra.records import Cell, Chart, Table
from palestra.report import ACCENT, FAINT, SECOND, Drawn, capital, column_title, drawn, label, svg
from palestra.text import Text, Words, joined, number, say, say_as, say_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHARES = (0.5, 0.95)
STEEP_DEG = 20.0  # from here on an axis is linear up to 1° and logarithmic above: a miss must not flatten the rest
REASONS = 3  # that a table tells one by one
TICKS_DEG = (0, 0.5, 1, 2, 5, 10, 20, 50, 100, 180)


def running_pe(errors_deg: ArrayLike) -> NDArray[np.float64]:
    """PE of the first point, of the first two, and so on."""
    errors = np.asarray(errors_deg, np.float64)
    return np.array([at_shares(errors[: 1 + i], SHARES).mean() for i in range(len(errors))])


@drawn
def pe_after_each_point(rows: pl.DataFrame) -> Chart:
    """How PE went, as the screen in the hall showed it."""
    text, pe = Drawn(), running_pe(rows["error_deg"])
    figure, axes = _sheet()
    axes.plot(1 + np.arange(len(pe)), pe, color=ACCENT, linewidth=1.8, drawstyle="steps-post")
    axes.annotate(f"{pe[-1]:.2f}°", (len(pe), pe[-1]), (5, 0), textcoords="offset points", va="center")
    _finish(axes, rows, text, say("PE so far (°)"), float(pe.max()))
    fatal = len(pe) - position(SHARES[1], len(pe)) + 1
    note = say(
        "Among the first 19 points one miss puts PE at 90° or more; of all {count} it takes {fatal}.",
        count=len(pe), fatal=fatal,
    )  # fmt: skip
    return Chart(say("PE after each point"), svg(figure), note, text.chinese)


@drawn
def errors(rows: pl.DataFrame) -> Chart:
    """The error at each point; those without an answer are crosses, at what they are charged."""
    error, answered = rows["error_deg"].to_numpy(), rows["answered"].to_numpy()
    places = 1 + np.arange(len(error))
    text = Drawn()
    figure, axes = _sheet()
    axes.vlines(places[answered], 0, error[answered], color=ACCENT, linewidth=1.0, alpha=0.5)
    axes.plot(places[answered], error[answered], "o", color=ACCENT, markersize=3.5)
    axes.plot(places[~answered], error[~answered], "x", color=SECOND, markersize=6, markeredgewidth=1.6)
    _finish(axes, rows, text, say("error (°)"), float(error.max()))
    missed = int((~answered).sum())
    crosses = say_count(
        "Crosses: {count} point without a usable answer.", "Crosses: {count} points without a usable answer.", missed
    )
    return Chart(say("Error at each point"), svg(figure), crosses if missed else "", text.chinese)


def testers_table(rows: pl.DataFrame) -> Table:
    """Each tester: misses and why, PE, how long answers took."""
    parts = rows.partition_by("tester", maintain_order=True)
    cells = [_tester_row(str(part["tester"][0]), part) for part in parts] + [_tester_row(capital(label("all")), rows)]
    columns = [column_title("tester"), say_as("label", "Points"), say("Misses"), "PE", say("Median latency (ms)"),
               say("Slowest (ms)"), say("Why there was no answer")]  # fmt: skip
    return Table(say_as("label", "Testers"), columns, cells, total=True)


def _tester_row(name: Text, rows: pl.DataFrame) -> list[Cell]:
    missed = rows.filter(~pl.col("answered"))
    took = rows["latency_s"].drop_nulls().cast(pl.Float64).to_list() if "latency_s" in rows.columns else []
    middle, slowest = at_shares(took, (0.5, 1.0)).tolist() if took else (None, None)
    pe = float(at_shares(rows["error_deg"].to_numpy(), SHARES).mean())
    return [name, rows.height, missed.height, number(pe, "deg"), _ms(middle), _ms(slowest), _reasons(missed)]


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(1000 * seconds)


def _reasons(missed: pl.DataFrame) -> Words | None:
    """The notes of missed points, most frequent first; what is rare beside them is only counted."""
    columns = [name for name in ("note", "note_zh") if name in missed.columns]
    notes = Counter(Words(*note) for note in missed.select(columns).drop_nulls().iter_rows())
    told = [joined((str(count), note), " × ") for note, count in notes.most_common(REASONS) if note]
    others = notes.total() - sum(count for _, count in notes.most_common(REASONS))
    if others:
        told.append(say("{count} for other reasons", count=others))
    return joined(told, Words("; ", "；")) if told else None


def _sheet() -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 3.2))
    return figure, figure.subplots()


def _finish(axes: Axes, rows: pl.DataFrame, text: Drawn, ylabel: Text, most: float) -> None:
    """Axes of points and degrees, and a line and a name where each tester begins."""
    from matplotlib.ticker import MultipleLocator

    if most > STEEP_DEG:
        axes.set_yscale("symlog", linthresh=1.0)
        axes.set_yticks(TICKS_DEG, [f"{tick:g}" for tick in TICKS_DEG])
        axes.set_yticks([], minor=True)
    axes.set(xlabel=text(say_as("label", "point")), ylabel=text(ylabel))
    axes.set(xlim=(0, rows.height + 1), ylim=(0, 1.15 * most or 1.0))
    axes.xaxis.set_major_locator(MultipleLocator(10))
    axes.grid(True, axis="y")
    testers = rows["tester"].to_list()
    starts = [i for i, tester in enumerate(testers) if i == 0 or tester != testers[i - 1]]
    for start in starts:
        if start:
            axes.axvline(start + 0.5, color=FAINT, linewidth=1.2, zorder=0)
        name = text(str(testers[start]))
        axes.annotate(name, (start + 0.5, 1.0), (4, 3), axes.get_xaxis_transform(), "offset points")
