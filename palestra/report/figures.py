"""Figures of reports, as researchers paste them into papers: matplotlib in, SVG that follows the page's colours out.

Matplotlib is imported where it is used: it is slow to load, and most commands draw nothing.
"""

from __future__ import annotations

import io
import re
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from itertools import cycle
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from palestra.records import Chart, Metric, Table
from palestra.report.labels import BETTER_NOTES, NO_LABELS, as_text, column_title, label, metric_axis
from palestra.text import Text, clipped, say, sentences, words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")
R = TypeVar("R")

# These four stand for the page's own colours: in the SVG each becomes a CSS variable, so figures follow light and dark.
INK, FAINT, ACCENT, SECOND = "#1d2127", "#d5d9de", "#0072b2", "#d55e00"
VARIABLES = {INK: "ink", FAINT: "line", ACCENT: "accent", SECOND: "second"}
SERIES = (ACCENT, SECOND, "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
HEAT = "viridis"
MIN_CELL = 3  # trials that a cell of a heat map must have for its mean to say something
LABELLED_UNITS, LETTERS = 40, 24  # units that a plot can name one by one, and how long such a name is
STYLE: dict[str, Any] = {
    "font.size": 9.5, "axes.labelsize": 9.5, "text.parse_math": False,  # people's names may hold a $
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.linewidth": 0.7, "xtick.major.width": 0.7, "ytick.major.width": 0.7, "axes.axisbelow": True,
    "axes.spines.top": False, "axes.spines.right": False, "grid.color": FAINT, "grid.linewidth": 0.7,
    "legend.frameon": False, "figure.constrained_layout.use": True, "svg.hashsalt": "palestra", "svg.fonttype": "none",
    "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
}  # fmt: skip
# Figures are laid out for the first; the second is as wide, and later ones are narrower.
FONTS = "DejaVu Sans, Verdana, Noto Sans, Noto Sans CJK SC, Noto Sans SC, PingFang SC, Microsoft YaHei, sans-serif"
_one_at_a_time = threading.RLock()


class Drawn:
    """The texts of one figure: it is drawn with what this gives, in English, and `chinese` is for its Chart.

    What is no Words is data. Where it reads as a text of ours does, it is not translated: nobody's name is.
    """

    def __init__(self) -> None:
        self.chinese: dict[str, str] = {}

    def __call__(self, text: Text) -> str:
        words = words_of(text)
        english, chinese = words.in_language("en"), words.in_language("zh")
        if isinstance(text, str):
            self.chinese[english] = english
        else:
            self.chinese.setdefault(english, chinese)
        return english


def drawn(draw: Callable[P, R]) -> Callable[P, R]:
    """Draw under our style. Matplotlib keeps its settings for the whole process, so one figure is drawn at a time."""

    @wraps(draw)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R:
        from matplotlib import rc_context

        with _one_at_a_time, rc_context(STYLE):  # type: ignore[arg-type]  # its stubs list every key
            return draw(*args, **kwargs)

    return inside


@drawn
def svg(figure: Figure) -> str:
    """The figure as an `<svg>` element that needs no style sheet or address from outside.

    Words stay words, which the reader's browser draws: so they can be searched for, and told in another language.
    """
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))  # the same figure gives the same bytes
    buffer = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # browsers have fonts for those
        figure.savefig(buffer, format="svg", metadata=nothing, dpi=150)
    text = buffer.getvalue()
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'font-family: [^;"]*; | transform="rotate\(-0 [^"]*"', "", text)  # the whole figure has one family
    text = text.replace("<svg", f'<svg font-family="{FONTS}"', 1)
    for colour, name in VARIABLES.items():
        text = text.replace(colour, f"var(--{name}, {colour})")
    return text


@drawn
def cumulative(values: Mapping[Text, ArrayLike], xlabel: Text, title: Text = "") -> Chart:
    """Which share of the trials has at most this error; one curve per name."""
    text = Drawn()
    curves = {name: np.sort(_finite(numbers)) for name, numbers in values.items()}
    curves = {name: numbers for name, numbers in curves.items() if numbers.size}
    figure, axes = _sheet()
    limit = _limit(list(curves.values()))
    for (name, numbers), colour in zip(curves.items(), cycle(SERIES), strict=False):
        shares = np.linspace(0, 1, 401)  # enough for the eye, however many trials there are
        axes.plot(_at(numbers, shares), shares, color=colour, linewidth=1.8, label=text(name))
        if len(curves) == 1:
            _mark_shares(axes, numbers, limit, degree="°" if "°" in str(xlabel) else "")
    axes.set(xlabel=text(xlabel), ylabel=text(say("share of trials")), xlim=(0, limit), ylim=(0, 1.02))
    axes.grid(True)
    if len(curves) > 1:
        axes.legend(loc="lower right")
    beyond = [float((numbers > limit).mean()) for numbers in curves.values()]
    share = f"{100 * max(beyond):.2g}" if any(beyond) else ""
    note = say("{share}\u00a0% of the trials lie beyond the right edge.", share=share) if share else ""
    return Chart(title or say("Cumulative error"), svg(figure), note, text.chinese)


@drawn
def direction_map(
    yaw: ArrayLike,
    pitch: ArrayLike,
    error: ArrayLike,
    shown_as: Text = "",
    title: Text = "",
) -> Chart:
    """The error against a direction: the mean in each cell, and dots where too few trials make a mean."""
    text = Drawn()
    points = np.column_stack([np.asarray(column, np.float64) for column in (yaw, pitch, error)])
    points = points[np.isfinite(points).all(axis=1)]
    edges = _edges(points[:, :2], cells=int(np.clip(np.sqrt(len(points) / MIN_CELL), 6, 24)))
    x, y, errors = points.T
    counts = np.histogram2d(x, y, edges)[0]
    means = np.histogram2d(x, y, edges, weights=errors)[0] / np.maximum(counts, 1)
    shown = counts >= MIN_CELL
    figure, axes = _sheet(5.2, 4.0 * _aspect(edges) + 0.6)
    if shown.any():
        low, high, clipped = _heat_range(means[shown])
        mesh = axes.pcolormesh(*edges, np.where(shown, means, np.nan).T, cmap=HEAT, vmin=low, vmax=high)
        extend = "max" if clipped else "neither"
        scale = text(shown_as or say("mean error (°)"))
        figure.colorbar(mesh, ax=axes, extend=extend, label=scale, aspect=25).outline.set_visible(False)
    rare = _of_cells(~shown, edges, x, y)
    axes.plot(x[rare], y[rare], ".", color=INK, markersize=2, alpha=0.6)
    axes.set(xlabel=text(say("yaw (°)")), ylabel=text(say("pitch (°)")), aspect="equal")
    width = edges[0][1] - edges[0][0]
    note = sentences(
        say("Mean of each {width}° × {width}° cell.", width=f"{width:g}"),
        say("Cells with fewer than {least} trials show them as dots.", least=MIN_CELL),
    )
    return Chart(title or say("Error by gaze direction"), svg(figure), note, text.chinese)


@drawn
def per_unit(
    rows: Sequence[Mapping[str, Any]],
    metric: Metric,
    overall: float | None = None,
    labels: Mapping[str, Text] = NO_LABELS,
) -> Chart:
    """A metric for each unit (the rows' first column), best first; `overall` is drawn as a line."""
    text = Drawn()
    unit = next(iter(rows[0]), "unit") if rows else "unit"
    known = [row for row in rows if row.get(metric.name) is not None and np.isfinite(row[metric.name])]
    known.sort(key=lambda row: row[metric.name], reverse=metric.better == "higher")
    values = [row[metric.name] for row in known]
    named = len(values) <= LABELLED_UNITS
    figure, axes = _sheet(5.2, min(max(0.21 * len(values) + 0.9, 2.2), 9.0) if named else 3.4)
    if named:
        _dots_named(axes, [text(clipped(as_text(row[unit]), LETTERS)) for row in known], values)
    else:
        _dots_ranked(axes, values, text(say("{unit}, best first", unit=label(unit, labels))))
    value_axis = axes.xaxis if named else axes.yaxis
    value_axis.set_label_text(text(metric_axis(metric)))
    if overall is not None:
        (axes.axvline if named else axes.axhline)(overall, color=SECOND, linewidth=1.2, linestyle=(0, (4, 3)))
    dashed = say("Dashed: over all trials.") if overall is not None else ""
    note = sentences(say(BETTER_NOTES[metric.better]), dashed)
    return Chart(say("Each {unit}, best first", unit=label(unit, labels)), svg(figure), note, text.chinese)


@drawn
def gaze_distribution(splits: Mapping[str, pl.DataFrame]) -> Chart:
    """Where people look (yaw_deg, pitch_deg), one panel per split on common axes."""
    text = Drawn()
    tables = {name: table.select("yaw_deg", "pitch_deg").drop_nulls().to_numpy() for name, table in splits.items()}
    everything = np.concatenate(list(tables.values())) if tables else np.empty((0, 2))
    edges = _edges(everything, cells=min(60, 12 + len(everything) // 100))
    extent = (edges[0][0], edges[0][-1], edges[1][0], edges[1][-1])
    shares = [_shares(points, edges) for points in tables.values()]
    top = max((float(np.nan_to_num(share).max()) for share in shares), default=0.0) or 1.0
    figure, panels = _panels(max(len(tables), 1), 3.1 * len(tables) + 1.1, 2.9 * _aspect(edges) + 0.8)
    for axes, name, share in zip(panels, tables, shares, strict=False):
        drawing = axes.imshow(share.T, origin="lower", extent=extent, cmap=HEAT, vmin=0, vmax=top, interpolation="none")
        axes.set_title(text(say("{split} ({count:,})", split=label(name), count=len(tables[name]))), fontsize=10)
        axes.set(xlabel=text(say("yaw (°)")))
    panels[0].set(ylabel=text(say("pitch (°)")))
    if tables:
        figure.colorbar(drawing, ax=panels, label=text(say("% of the split")), aspect=25).outline.set_visible(False)
    note = say("Labelled frames of each split, on one colour scale.")
    return Chart(say("Gaze directions"), svg(figure), note, text.chinese)


@drawn
def label_ratio(frames: pl.DataFrame) -> Chart:
    """The ratio of labelled frames in each sequence (sequence, labelled), in decreasing order."""
    text = Drawn()
    by = frames.group_by("sequence").agg(pl.len().alias("frames"), pl.col("labelled").sum().alias("labels"))
    ratios = (by["labels"] / by["frames"]).sort(descending=True).to_numpy()
    figure, axes = _sheet(7.2, 3.0)
    axes.stairs(100 * ratios, np.arange(len(ratios) + 1), fill=True, color=ACCENT, alpha=0.85)
    axes.set(xlabel=text(say("sequence, in decreasing order")), ylabel=text(say("labelled frames (%)")))
    axes.set_xlim(0, max(len(ratios), 1))
    axes.set_ylim(bottom=0)
    axes.grid(True, axis="y")
    labels = int(frames["labelled"].sum())
    note = say(
        "{sequences:,} sequences with {labels} labels and {frames} frames each; {labelled:,} of {all:,} frames are "
        "labelled ({share:.1f}\u00a0%).",
        sequences=by.height, labels=_range(by["labels"]), frames=_range(by["frames"]), labelled=labels,
        all=frames.height, share=100 * labels / max(frames.height, 1),
    )  # fmt: skip
    return Chart(say("Labelled frames of each sequence"), svg(figure), note, text.chinese)


def people_table(
    people: pl.DataFrame | None, splits: Mapping[str, pl.Series], counts: Mapping[str, Mapping[str, int]]
) -> Table:
    """How many people of each kind are in each split, then other counts; only the latter where people are unknown."""
    names = list(dict.fromkeys(name for group in (*counts.values(), splits) for name in group))
    rows = {name: _census(people, splits.get(name)) for name in names}
    columns = [*dict.fromkeys(column for row in rows.values() for column in row), *counts]
    for name, row in rows.items():
        row.update({title: numbers.get(name) for title, numbers in counts.items()})
    members = [set(persons.to_list()) for persons in splits.values()]
    disjoint = sum(map(len, members)) == len(set().union(*members))
    total = len(names) > 1 and disjoint
    if total:
        rows["total"] = {column: sum(row.get(column) or 0 for row in rows.values()) for column in columns}
    columns = [column for column in columns if column != UNDER_AGE or any(row.get(column) for row in rows.values())]
    cells = [[label(name), *(row.get(column) for column in columns)] for name, row in rows.items()]
    note = "" if disjoint else say("Some people are in more than one split.")
    titles = [column_title("split"), *map(column_title, columns)]
    return Table(say("People and pictures"), titles, cells, note, total=total)


UNDER_AGE = "under 21"
AGES = {UNDER_AGE: (0, 20), "21–25": (21, 25), "26–30": (26, 30), "31–40": (31, 40), "41+": (41, 999)}


def _census(people: pl.DataFrame | None, persons: pl.Series | None) -> dict[str, int | None]:
    """One row of the table, for what the data set tells."""
    if persons is None:
        return {}
    row: dict[str, int | None] = {"people": persons.n_unique()}
    if people is None:
        return row
    who = people.unique("person").filter(pl.col("person").is_in(persons.to_list()))
    for column, values in (("sex", ("female", "male")), ("ethnicity", ("asian", "caucasian", "other"))):
        if column in who.columns:
            row |= {value: int((who[column] == value).sum()) for value in values}
    if "age" in who.columns:
        row |= {title: int(who["age"].is_between(*limits).sum()) for title, limits in AGES.items()}
    for column in ("glasses", "makeup"):
        if column in who.columns:
            row[column] = int(who[column].cast(pl.String).str.to_lowercase().is_in(["true", "1", "yes"]).sum())
    return row


def _sheet(width: float = 5.2, height: float = 3.4) -> tuple[Figure, Axes]:
    figure, (axes,) = _panels(1, width, height)
    return figure, axes


def _panels(count: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    return figure, list(figure.subplots(1, count, sharex=True, sharey=True, squeeze=False)[0])


def _finite(values: ArrayLike) -> NDArray[np.float64]:
    numbers = np.asarray(values, np.float64).ravel()
    return numbers[np.isfinite(numbers)]


def _at(ascending: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values at these shares, at position ceil(share · n) as the metrics take them."""
    places = np.ceil(shares * len(ascending)).astype(np.int64) - 1
    return ascending[np.clip(places, 0, len(ascending) - 1)]


def _limit(curves: list[NDArray[np.float64]]) -> float:
    """Where the axis of errors ends: a few charged trials (180°) must not squeeze all others into a corner."""
    most = max((float(numbers[-1]) for numbers in curves), default=1.0)
    usual = 1.25 * max((float(_at(numbers, np.array([0.99]))[0]) for numbers in curves), default=1.0)
    limit = usual if 0 < usual < most / 1.5 else 1.02 * most
    return limit if limit > 0 else 1.0


def _mark_shares(axes: Axes, numbers: NDArray[np.float64], limit: float, degree: str) -> None:
    """Thin lines from P50 and P95 to both axes, with their values."""
    for share, height in ((0.5, 0.05), (0.95, 0.14)):  # low down and not on one line: the curve is never there
        value = float(_at(numbers, np.array([share]))[0])
        axes.plot([0, value, value], [share, share, 0], color=INK, linewidth=0.7, linestyle=(0, (2, 2)))
        side, offset = ("right", -5) if value > 0.7 * limit else ("left", 5)
        if value <= limit:
            words = f"P{100 * share:.0f} = {value:.3f}{degree}"
            axes.annotate(words, (value, height), (offset, 0), textcoords="offset points", ha=side)


def _edges(points: NDArray[np.float64], cells: int) -> list[NDArray[np.float64]]:
    """Edges of square cells around all points, about `cells` along the longer side, of a round number of degrees."""
    if not len(points):
        points = np.zeros((1, 2))
    span = float(np.ptp(points, axis=0).max())
    steps = (0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0)
    step = next((step for step in steps if step * cells >= span), 20.0) if span else 1.0
    first, last = np.floor(points.min(axis=0) / step), np.floor(points.max(axis=0) / step) + 1
    return [step * np.arange(a, b + 1) for a, b in zip(first, last, strict=True)]


def _aspect(edges: list[NDArray[np.float64]]) -> float:
    """Height over width of what the edges enclose, within what a page can show."""
    (left, right), (low, high) = ((edge[0], edge[-1]) for edge in edges)
    return float(np.clip((high - low) / (right - left), 0.5, 1.1))


def _of_cells(
    chosen: NDArray[np.bool_], edges: list[NDArray[np.float64]], x: NDArray[np.float64], y: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Which points lie in the chosen cells."""
    column, row = (np.searchsorted(edge[1:-1], at, "right") for edge, at in zip(edges, (x, y), strict=True))
    return np.asarray(chosen[column, row], np.bool_)


def _heat_range(means: NDArray[np.float64]) -> tuple[float, float, bool]:
    """The colour scale's ends, and whether a few cells lie above it."""
    low, high, most = float(means.min()), float(np.percentile(means, 98)), float(means.max())
    return (low, high, most > high) if high > low else (0.0, most or 1.0, False)


def _shares(points: NDArray[np.float64], edges: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    counts = np.histogram2d(points[:, 0], points[:, 1], edges)[0]
    return np.where(counts > 0, 100 * counts / max(len(points), 1), np.nan)


def _dots_named(axes: Axes, names: list[str], values: list[float]) -> None:
    places = np.arange(len(values))
    axes.hlines(places, 0, values, color=FAINT, linewidth=1.2)
    axes.plot(values, places, "o", color=ACCENT, markersize=5)
    axes.set_yticks(places, names)
    axes.tick_params(axis="y", length=0)
    axes.set(xlim=(0, None), ylim=(len(values) - 0.4, -0.6))
    axes.spines["left"].set_visible(False)


def _dots_ranked(axes: Axes, values: list[float], xlabel: str) -> None:
    axes.plot(np.arange(1, len(values) + 1), values, "o", color=ACCENT, markersize=2.5, rasterized=len(values) > 2000)
    axes.set(xlabel=xlabel, ylim=(0, None))
    axes.grid(True, axis="y")


def _range(numbers: pl.Series) -> str:
    ends = sorted(set(numbers.to_list()))
    return "–".join(map(str, dict.fromkeys(ends[:1] + ends[-1:])))
