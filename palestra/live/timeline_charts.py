"""Charts of a run: how long each decision took, how late the host was, who stood where after each decision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.live.entrant_history import SHARES, Floats, Story
from palestra.metrics.quantiles import at_shares
from palestra.records import Chart, Track
from palestra.report import ACCENT, FAINT, INK, SECOND, SERIES, Drawn, drawn, measured, metric_axis, svg
from palestra.scoring import Scored, whole
from palestra.text import Message, Text, clipped, joined, message, milliseconds, say, say_as, say_count, sentences

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

HOST_LATE = 0.1  # of a deadline: later, `stream.spoiled` counts it
MOST_DOTS, BINS = 2000, 400  # decisions that are drawn one by one; into how many bins more of them go
SHORTEST_S = 1e-6  # what a logarithmic axis shows of nothing
NAMED_SITTINGS = 12  # that a chart has room to name
POINTS = 200  # of a line of standings
DASHED, DOTTED = (0, (4, 3)), (0, (1, 1.5))
BEST_FIRST = {
    "lower": message("Lower is better; the best is named first."),
    "higher": message("Higher is better; the best is named first."),
}


@drawn
def latency_over_time(story: Story, sittings: Sequence[str]) -> Chart:
    """How long each decision took; those without an answer are ticks at the top."""
    text = Drawn()
    figure, axes = _sheet(10.6)
    times, xlabel = _times(story.at_s)
    note = _draw_over_time(axes, times, story.latency_s)
    top_s = story.limit_s or float(np.max(story.latencies_s, initial=SHORTEST_S))
    if story.limit_s:
        axes.axhline(1e3 * story.limit_s, color=INK, linewidth=0.9, linestyle=DASHED)
        beside = (axes.get_yaxis_transform(), "offset points")
        words = text(say_as("chart", "deadline"))
        axes.annotate(words, (1.0, 1e3 * story.limit_s), (0, -3), *beside, ha="right", va="top", fontsize=8)
    _draw_misses(axes, times, ~story.answered, 1e3 * 1.6 * top_s)
    _log_axis(axes, story.latencies_s, 2.5 * top_s)
    _mark_sittings(axes, story, [text(clipped(name, 14)) for name in sittings])
    axes.set(xlabel=text(say(xlabel)), ylabel=text(say("latency (ms)")))
    gone = int((~story.answered).sum())
    ticks = say_count(
        "Ticks at the top: {count} decision without an answer.",
        "Ticks at the top: {count} decisions without an answer.",
        gone,
    )
    return Chart(say("Latency over the run"), svg(figure), sentences(ticks if gone else "", note), text.chinese)


@drawn
def latencies(story: Story) -> Chart:
    """How long answers took, on a logarithmic scale up to the deadline."""
    text = Drawn()
    figure, axes = _sheet(5.2)
    took, note = np.maximum(story.latencies_s, SHORTEST_S), say("No answer came.")
    if len(took):
        low, high = float(took.min()) / 1.2, max(float(took.max()) * 1.2, story.limit_s or 0.0)
        edges = np.geomspace(low, high, int(np.clip(2 * np.sqrt(len(took)), 8, 60)))
        axes.stairs(np.histogram(took, edges)[0], 1e3 * edges, fill=True, color=ACCENT, alpha=0.85)
        axes.set(xscale="log", xlim=(1e3 * low, 1e3 * high))
        _plain_numbers(axes.xaxis)
        axes.set_ylim(0, 1.4 * axes.get_ylim()[1])  # room above the bars for the words
        _mark_shares(axes, took, low, high)
        slowest = milliseconds(float(took.max()))
        note = say_count(
            "{count} answer; it took {time}.", "{count} answers; the slowest took {time}.", len(took), time=slowest
        )
        if story.limit_s == high:
            note = sentences(note, say("The axis ends at the deadline, {time}.", time=milliseconds(high)))
    axes.set(xlabel=text(say("latency (ms)")), ylabel=text(say_as("axis", "answers")))
    axes.grid(True, axis="y")
    return Chart(say("Latencies"), svg(figure), note, text.chinese)


@drawn
def host_lateness(story: Story) -> Chart:
    """How much later than planned the host sent each decision."""
    text = Drawn()
    figure, axes = _sheet(5.2)
    times, xlabel = _times(story.at_s)
    late_s = np.maximum(story.host_late_s, 0.0)
    about = _draw_over_time(axes, times, late_s)
    middle, most, worst = at_shares(late_s, (0.5, 0.99, 1))
    notes: list[Text] = [
        say(
            "Half of all within {half}, 99\u00a0% within {most}, all within {worst}.",
            half=milliseconds(middle), most=milliseconds(most), worst=milliseconds(worst),
        )
    ]  # fmt: skip
    limit_s = HOST_LATE * (story.limit_s or 0.0)
    if limit_s:
        axes.axhline(1e3 * limit_s, color=SECOND, linewidth=1.2, linestyle=DASHED)
        limited = ~np.isnan(story.deadline_s)
        share = float(np.mean(late_s[limited] > HOST_LATE * story.deadline_s[limited]))
        notes.append(say("{share}\u00a0% are above 10\u00a0% of the deadline (dashed).", share=f"{100 * share:.2g}"))
    _log_axis(axes, late_s, 2 * max(worst, limit_s, SHORTEST_S))
    axes.set(xlabel=text(say(xlabel)), ylabel=text(say("sent later than due (ms)")))
    note = sentences(*notes, say("The entrant is not charged for it."), about)
    return Chart(say("Host lateness"), svg(figure), note, text.chinese)


@drawn
def standings_chart(track: Track, scored: Mapping[str, Scored], order: Sequence[str] = ()) -> Chart:
    """The metric that ranks after each decision, one line per entrant. Without an order of play, that of the rows."""
    text, metric = Drawn(), track.ranks
    lines = {name: _running(track, _in_order(one.rows, order)) for name, one in scored.items()}
    lines = {name: line for name, line in lines.items() if len(line[0])}
    figure, axes = _sheet(10.6, max(3.4, 0.24 * len(lines) + 0.6))
    sign = 1 if metric.better == "lower" else -1
    ranked = sorted(lines, key=lambda name: np.nan_to_num(sign * lines[name][1][-1], nan=np.inf))
    for i, (name, colour) in enumerate(zip(ranked, cycle(SERIES), strict=False)):
        counts, values = lines[name]
        style = ("solid", DASHED, DOTTED)[i // len(SERIES) % 3]
        words = text(joined((clipped(name), measured(float(values[-1]), metric.unit)), "  "))
        axes.step(counts, values, where="post", color=colour, linestyle=style, linewidth=1.6, label=words)
    low, high, cut = _settled([values for _, values in lines.values()])
    axes.set(xlabel=text(say("decisions that count")), ylabel=text(metric_axis(metric)), ylim=(low, high))
    axes.set_xlim(left=0)
    axes.grid(True, axis="y")
    if lines:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), fontsize=8.5)
    note = sentences(say(BEST_FIRST[metric.better]), say("Some of the first values lie outside.") if cut else "")
    return Chart(say("Standings during the run"), svg(figure), note, text.chinese)


def _sheet(width: float, height: float = 3.2) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    return figure, figure.subplots()


def _times(at_s: Floats) -> tuple[Floats, Message]:
    """Times in the unit that suits them, and what their axis is called."""
    total = float(np.max(at_s, initial=0.0))
    if total < 300:
        return at_s, message("time in the stream (s)")
    if total < 3 * 3600:
        return at_s / 60.0, message("time in the stream (min)")
    return at_s / 3600.0, message("time in the stream (h)")


def _draw_over_time(axes: Axes, times: Floats, values_s: Floats) -> Text:
    """Dots; of very many values the span of each bin and its median."""
    shown_ms = 1e3 * np.maximum(values_s, SHORTEST_S)  # NaN stays
    if len(times) <= MOST_DOTS:
        axes.plot(times, shown_ms, "o", color=ACCENT, markersize=2.2, markeredgewidth=0, alpha=0.8)
        return ""
    bins = _bins(times)
    middle = [float(times[own].mean()) for own in bins]
    least, median, most = (_of_bins(shown_ms, bins, reduce) for reduce in (np.min, np.median, np.max))
    axes.fill_between(middle, least, most, color=ACCENT, alpha=0.3, linewidth=0)
    axes.plot(middle, median, color=ACCENT, linewidth=1.2)
    return say(
        "{bins} bins: the least, the median and the most of about {count} decisions each.",
        bins=BINS, count=len(times) // BINS,
    )  # fmt: skip


def _of_bins(values: Floats, bins: Iterable[NDArray[np.int64]], reduce: Callable[[Floats], float]) -> Floats:
    """A number of each bin's values; NaN where it has none."""
    known = [values[own][~np.isnan(values[own])] for own in bins]
    return np.array([reduce(own) if len(own) else np.nan for own in known])


def _draw_misses(axes: Axes, times: Floats, missed: NDArray[np.bool_], at_ms: float) -> None:
    """A tick for each; of very many decisions one for each bin, the fainter the fewer of it are missed."""
    from matplotlib.colors import to_rgba

    if len(times) <= MOST_DOTS:
        ends = np.tile([at_ms / 1.2, at_ms * 1.2, np.nan], int(missed.sum()))  # one path with gaps: markers weigh more
        axes.plot(np.repeat(times[missed], 3), ends, color=SECOND, linewidth=1.3)
        return
    shares = [(float(times[own].mean()), float(missed[own].mean())) for own in _bins(times) if missed[own].any()]
    colours = [to_rgba(SECOND, 0.2 + 0.8 * share) for _, share in shares]
    axes.vlines([time for time, _ in shares], at_ms / 1.2, at_ms * 1.2, colours, linewidth=1.3)


def _bins(times: Floats) -> list[NDArray[np.int64]]:
    return np.array_split(np.arange(len(times)), BINS)


def _mark_shares(axes: Axes, took: Floats, low: float, high: float) -> None:
    """A line and the value at each share, below each other so that they do not collide."""
    for i, (share, value) in enumerate(zip(SHARES, at_shares(took, SHARES), strict=True)):
        axes.axvline(1e3 * value, color=INK, linewidth=0.8, linestyle=(0, (2, 2)))
        side, offset = ("right", -4) if np.log(value / low) > 0.6 * np.log(high / low) else ("left", 4)
        at, beside = (1e3 * value, 0.98 - 0.08 * i), (axes.get_xaxis_transform(), "offset points")
        axes.annotate(
            f"P{100 * share:.0f} = {milliseconds(value)}", at, (offset, 0), *beside, ha=side, va="top", fontsize=8.5
        )


def _log_axis(axes: Axes, values_s: Floats, top_s: float) -> None:
    least = float(np.min(np.maximum(values_s, SHORTEST_S), initial=top_s / 10))
    axes.set(yscale="log", ylim=(1e3 * least / 1.5, 1e3 * top_s))
    _plain_numbers(axes.yaxis)
    axes.grid(True, axis="y")


def _plain_numbers(axis: Axis) -> None:
    """1, 10, 100 in place of powers."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _mark_sittings(axes: Axes, story: Story, sittings: Sequence[str]) -> None:
    """A line where each sitting begins, and its name where there is room."""
    starts, _ = _times(np.array([*story.starts_s.values(), story.at_s.max()]))  # the last one sets the unit
    for i, (sitting, start) in enumerate(zip(story.starts_s, starts, strict=False)):
        if i:
            axes.axvline(float(start), color=FAINT, linewidth=1.2, zorder=0)
        if len(story.starts_s) <= NAMED_SITTINGS:
            beside = (axes.get_xaxis_transform(), "offset points")
            axes.annotate(sittings[sitting], (float(start), 1.0), (2, 3), *beside, fontsize=8)


def _running(track: Track, rows: pl.DataFrame) -> tuple[NDArray[np.int64], Floats]:
    """The metric of the first row, of the first two, and so on; of many rows only now and then."""
    counts = np.unique(np.linspace(1, rows.height, min(rows.height, POINTS)).astype(np.int64))
    parts = (rows.head(int(count)) for count in counts)
    return counts, np.array([float(track.ranks.reduce(part, whole(part))[0]) for part in parts])


def _in_order(rows: pl.DataFrame, order: Sequence[str]) -> pl.DataFrame:
    played = pl.DataFrame({"trial": order}, schema={"trial": pl.String})
    return played.join(rows, on="trial", how="inner", maintain_order="left") if len(order) else rows


def _settled(lines: Sequence[Floats]) -> tuple[float, float, bool]:
    """Limits that the lines keep to after their first twentieth: one decision alone is right or wrong."""
    known = [line[np.isfinite(line)] for line in lines]
    later = np.concatenate([np.empty(0), *(line[len(line) // 20 :] for line in known)])
    if not len(later):
        return 0.0, 1.0, False
    low, high = float(later.min()), float(later.max())
    room = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    cut = any(bool(((line < low - room) | (line > high + room)).any()) for line in known)
    return low - room, high + room, cut
