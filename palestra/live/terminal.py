"""What the terminal shows of a run while it is under way: how far it is, who stands where, how long answers take.

One thread does everything: a view that drew by itself would sooner or later draw when a tick is due. So it draws when
the run says that there is time for it. Lines are set by hand, since rich's tables take ten times as long.
"""

import select
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.live import Live
from rich.text import Text

from palestra.live.standings import Standing, Standings
from palestra.metrics.quantiles import at_shares
from palestra.records import Metric, Track
from palestra.text import duration, number, printable

FREE_S = 0.05  # until something is due: less is no time to draw
QUIET_S = 0.05  # after a tick, in which most answers come: while we draw, nobody looks when exactly
IDLE_EVERY_S = 0.25
BEAT_EVERY_S = 0.5
SCORED_EVERY_S = 1.0
PAUSE_S = 5.0  # a longer one is told
DECADES = 3  # of latency below the deadline that a histogram shows
BLOCKS = " ▁▂▃▄▅▆▇█"
SMALL = 12  # columns of an entrant's histogram among others
TALL, WIDEST, MANY = 6, 90, 500  # lines and columns of one that stands alone; answers from which on its bins are narrow
GAP = 2  # columns between two columns
NAME, NOTE = (8, 24), 24  # columns that a name takes at least and at most, and a note beside it at least
NOTES, NONE = "last note", "–"
Cell = tuple[str, str]  # words and their style
Span = tuple[float, float]  # from how many seconds to how many


class _Column(NamedTuple):
    """A column of the board."""

    title: str
    width: int
    right: bool = False  # whether it is set to the right, as numbers are


class Watch:
    """The view of one run. On no terminal it shows nothing."""

    def __init__(
        self,
        track: Track,
        standings: Standings,
        ticks: int,
        sittings: Sequence[str],
        console: Console | None = None,
        hidden: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._track, self._standings, self._ticks, self._sittings = track, standings, ticks, sittings
        self._console, self._clock = console or Console(stderr=True), clock
        self._live: Live | None = None
        if not hidden and self._console.is_interactive:
            self._live = Live(console=self._console, auto_refresh=False, transient=True, vertical_overflow="crop")
        self._sitting = 0
        self._sent = 0
        self._first_at = self._last_at = clock()  # when the first and the last tick went out
        self._window = False
        self._pause_s = 0.0  # until something is due
        self._drawn_at = self._scored_at = -np.inf
        self._ordered = list(standings.all.values())

    def __enter__(self) -> "Watch":
        if self._live:
            self._live.start()
            self._draw()  # now, since the first time takes longest
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._show(lambda live: live.stop())

    def sitting(self, number: int) -> None:
        """The sitting with this number, from 0, begins."""
        self._sitting = number

    def window(self, is_open: bool) -> None:
        """Whether versions may be registered now."""
        self._window = is_open

    def sent(self, count: int = 1) -> None:
        """So many more ticks went out."""
        self._last_at = self._clock()
        if not self._sent:
            self._first_at = self._last_at
        self._sent += count

    def idle(self, left_s: float) -> None:
        """Nothing is due for so long: draw, if that is long enough."""
        now = self._clock()
        if left_s > FREE_S and now - self._drawn_at >= IDLE_EVERY_S and now - self._last_at >= QUIET_S:
            self._pause_s = left_s
            self._draw()

    def beat(self) -> None:
        """Time passes, and nobody waits for it: draw now and then."""
        if self._clock() - self._drawn_at >= BEAT_EVERY_S:
            self._draw()

    def _draw(self) -> None:
        now = self._drawn_at = self._clock()
        if self._live is None or not _takes_words(self._console):
            return
        if now - self._scored_at >= SCORED_EVERY_S:
            self._scored_at = now
            self._ordered = self._standings.update()
        page = self.page(self._console.width, self._console.height)
        self._show(lambda live: live.update(page, refresh=True))

    def _show(self, what: Callable[[Live], None]) -> None:
        if self._live:
            try:
                what(self._live)
            except OSError:  # the terminal is gone, and the run goes on without it
                self._live = None

    def page(self, width: int, height: int) -> Text:
        """What is shown, for a terminal of this size."""
        lines = [self._title(width), self._progress(width), Text()]
        alone = len(self._ordered) == 1
        board, notes = _board(self._ordered, self._track.ranks, None if alone else self._range(), width)
        lines += board + ([Text(), *notes] if notes else [])
        if alone:
            limited = self._standings.deadline_s is not None
            lines += [Text(), *_histogram(self._ordered[0].latencies_s, self._range(), limited, width)]
        cut = lines if len(lines) < height else [*lines[: height - 2], Text("…", "dim")]
        return Text("\n", no_wrap=True, overflow="crop").join(cut)

    def _title(self, width: int) -> Text:
        title = Text.assemble((printable(str(self._track.title)), "bold"), (f"  {self._track.id}", "dim"))
        if self._sittings:
            name = printable(self._sittings[self._sitting])
            title.append(f"  sitting {self._sitting + 1} of {len(self._sittings)}: {name}")
        title.truncate(width, overflow="ellipsis")
        return title

    def _progress(self, width: int) -> Text:
        words = f"  {self._sent:,} of {self._ticks:,}  {self._left()}"
        columns = max(width - len(words), 10)
        done = min(columns * self._sent // max(self._ticks, 1), columns)
        return Text.assemble(("━" * done, "green"), ("━" * (columns - done), "bright_black"), words)

    def _left(self) -> str:
        """How long it will take still, by the pace so far; what the pauses between sittings add is not known yet."""
        if self._pause_s > PAUSE_S:
            window = "versions may be registered, " if self._window else ""
            return f"{window}next in {duration(self._pause_s)}"
        if self._sent < 2:
            return ""
        pace_s = (self._last_at - self._first_at) / (self._sent - 1)
        return f"{duration(pace_s * (self._ticks - self._sent))} left" if self._sent < self._ticks else "all sent"

    def _range(self) -> Span:
        """From where to where histograms go: up to the deadline; without one, a round number above all latencies."""
        top = self._standings.deadline_s
        if top is None:
            most = max((max(one.newest_s, default=0.0) for one in self._ordered), default=0.0) or 1.0
            power = 10.0 ** np.floor(np.log10(most))
            top = next(float(step * power) for step in (1, 2, 5, 10) if step * power >= most)
        return top / 10**DECADES, top


def _takes_words(console: Console) -> bool:
    """Whether the terminal takes words now. One that was stopped with Ctrl-S would stop the run with it."""
    try:
        number = console.file.fileno()
    except (OSError, ValueError):
        return True  # a file of ours
    return bool(select.select([], [number], [], 0)[1])


def _board(
    ordered: Sequence[Standing], metric: Metric, span_s: Span | None, width: int
) -> tuple[list[Text], list[Text]]:
    """A line for each entrant under a header; and their notes, where there is no room for them beside.

    Histograms have a column where their range is given.
    """
    columns = _columns(ordered, metric, span_s, width)
    lines = [_line([(column.title, "dim") for column in columns], columns)]
    for rank, one in zip(_ranks(ordered), ordered, strict=True):
        lines.append(_line(_cells(rank, one, metric, span_s), columns))
    beside = columns[-1].title == NOTES
    return lines, [] if beside else [_note(one, width) for one in ordered if one.last_note]


def _columns(ordered: Sequence[Standing], metric: Metric, span_s: Span | None, width: int) -> list[_Column]:
    """Names take what they need of what the numbers leave, and notes the rest, if that is enough."""
    score = f"{metric.name[:12]} {'↓' if metric.better == 'lower' else '↑'}"
    widest = max([len(score), 8, *(len(number(one.value, metric.unit)) for one in ordered)])
    counts = [_Column("decided", 7, True), *(_Column(title, 6, True) for title in ("missed", "p50 ms", "p95 ms"))]
    blocks = [_Column(_named(span_s), SMALL)] if span_s else []
    fixed = [_Column("#", 2, True), _Column(score, widest, True), *counts, *blocks]
    free = width - sum(column.width + GAP for column in fixed)
    longest = max((cell_len(printable(one.name)) for one in ordered), default=0)
    name = max(NAME[0], min(longest, NAME[1], free))
    rest = free - name - GAP
    notes = [_Column(NOTES, rest)] if rest >= NOTE else []
    return [fixed[0], _Column("entrant", name), *fixed[1:], *notes]


def _cells(rank: str, one: Standing, metric: Metric, span_s: Span | None) -> list[Cell]:
    latencies_s = one.latencies_s
    middle, slow = at_shares(latencies_s, (0.5, 0.95)) if len(latencies_s) else (None, None)
    return [
        (rank, "bold" if rank == "1" else ""),
        (printable(one.name), "bold" if rank == "1" else ""),
        (number(one.value, metric.unit), "bold" if rank == "1" else ""),
        (f"{one.decided:,}", ""),
        (f"{one.missed:,}", "red" if one.missed else ""),
        (_ms(middle), ""),
        (_ms(slow), ""),
        *([("".join(_bars(_counts(latencies_s, span_s, SMALL), 1)), "cyan")] if span_s else []),
        (printable(str(one.last_note)), "dim"),
    ]


def _ranks(ordered: Sequence[Standing]) -> list[str]:
    """Places from 1; equal ones are shared, and who has no score has none."""
    values = [one.value for one in ordered]
    return [NONE if value is None else str(1 + values.index(value)) for value in values]


def _line(cells: Sequence[Cell], columns: Sequence[_Column]) -> Text:
    line = Text()
    for (words, style), column in zip(cells, columns, strict=False):
        fitting = _fit(words, column.width)
        line.append(" " * (column.width - cell_len(words)) + fitting.rstrip() if column.right else fitting, style)
        line.append(" " * GAP)
    line.right_crop(GAP)
    return line


def _fit(words: str, width: int) -> str:
    """Words in exactly so many columns of the terminal, some of which letters take two of."""
    return set_cell_size(words, width) if cell_len(words) <= width else set_cell_size(words, width - 1) + "…"


def _note(one: Standing, width: int) -> Text:
    line = Text(_fit(printable(one.name), NAME[1]).rstrip() + "  ")
    line.append(_fit(printable(str(one.last_note)), max(width - cell_len(line.plain), NOTE)).rstrip(), "dim")
    return line


def _ms(seconds: float | None) -> str:
    if seconds is None:
        return NONE
    return f"{1e3 * seconds:.1f}" if seconds < 1 else f"{1e3 * seconds:.0f}"


def _named(span_s: Span) -> str:
    return f"{1e3 * span_s[0]:.3g}–{1e3 * span_s[1]:.6g} ms"


def _counts(latencies_s: NDArray[np.float64], span_s: Span, bins: int) -> NDArray[np.int64]:
    """How many lie in each bin; bins grow with the latency, and the outer ones take what lies beyond."""
    place = bins * np.log(np.maximum(latencies_s, span_s[0]) / span_s[0]) / np.log(span_s[1] / span_s[0])
    return np.bincount(np.minimum(place.astype(np.int64), bins - 1), minlength=bins)


def _bars(counts: NDArray[np.int64], lines: int) -> list[str]:
    """Bars of so many lines, from the top one down. What is there at all shows."""
    steps = len(BLOCKS) - 1
    heights = -(-counts * lines * steps // max(int(counts.max()), 1))
    rows = [np.clip(heights - line * steps, 0, steps) for line in reversed(range(lines))]
    return ["".join(BLOCKS[height] for height in row) for row in rows]


def _histogram(latencies_s: NDArray[np.float64], span_s: Span, limited: bool, width: int) -> list[Text]:
    """The latencies of one entrant over an axis as wide as the terminal; it ends at the deadline if it is limited."""
    each = 1 if len(latencies_s) >= MANY else 3  # few answers in narrow bins are a comb
    columns = min(max(width - GAP, 20), WIDEST) // each * each
    counts = _counts(latencies_s, span_s, columns // each)
    lines = [Text("".join(each * block for block in row), "cyan") for row in _bars(counts, TALL)]
    named = ""
    for decade in range(DECADES + 1):
        words = _axis_label(span_s[0] * 10**decade)
        named = f"{named:<{min(columns * decade // DECADES, columns - len(words))}}{words}"
    about = f"latency of the last {len(latencies_s):,} answers, log scale{', up to the deadline' * limited}"
    return [*lines, Text("─" * columns, "bright_black"), Text(named, "dim"), Text(about, "dim")]


def _axis_label(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"
