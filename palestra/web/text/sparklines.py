"""Small drawings inside a line of text, as SVG: how a score went, and a number with its interval.

Positions are attributes and colours come from the page's style sheet, so a strict content policy lets them through.
Numbers need no escaping, and Markup.format would ask each of them: a board of fifty teams has some four hundred.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from markupsafe import Markup, escape

from palestra.records import Estimate

WIDTH, HEIGHT, EDGE = 96, 24, 3  # of a sparkline, in its own units
MOST_POINTS = 100
FAR = 3.0  # how many times farther from the best than the median a number may lie and still be drawn to scale


def sparkline(values: Sequence[float], better: str, label: str) -> Markup:
    """How a number went, its newest and its best value marked. Up is better, whatever the number's direction."""
    shown = _thinned([value for value in values if math.isfinite(value)])
    if not shown:
        return Markup("")
    sign = 1 if better == "higher" else -1
    heights = [sign * value for value in shown]
    low, spread = min(heights), (max(heights) - min(heights)) or 1.0
    step = (WIDTH - 2 * EDGE) / max(len(shown) - 1, 1)
    level = len(set(shown)) == 1  # nothing went up or down: a line through the middle
    points = [
        (EDGE + i * step, HEIGHT / 2 if level else HEIGHT - EDGE - (height - low) / spread * (HEIGHT - 2 * EDGE))
        for i, height in enumerate(heights)
    ]
    best = heights.index(max(heights))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    (best_x, best_y), (last_x, last_y) = points[best], points[-1]
    return Markup(
        f'<svg class="spark" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">'
        f'<polyline points="{line}"/><circle class="best" cx="{best_x:.1f}" cy="{best_y:.1f}" r="2.4"/>'
        f'<circle cx="{last_x:.1f}" cy="{last_y:.1f}" r="2.4"/></svg>'
    )


@dataclass(frozen=True)
class Scale:
    """The stretch of numbers that a column of whiskers shows."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Where a number lies, in percent; numbers beyond the ends lie on them."""
        return 100 * min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


def scale_of(estimates: Sequence[Estimate | None], better: str) -> Scale | None:
    """A scale for all that are near the best; one hopeless entry must not press the others together."""
    known = [one for one in estimates if one is not None and math.isfinite(one.value)]
    if not known:
        return None
    best = (min if better == "lower" else max)(one.value for one in known)
    limit = FAR * median(abs(one.value - best) for one in known)
    near = [one for one in known if limit == 0 or abs(one.value - best) <= limit]
    ends = [end for one in near for end in (one.value, one.low, one.high) if end is not None]
    low, high = min(ends), max(ends)
    margin = 0.04 * (high - low) or 0.01 * abs(high) or 1.0
    return Scale(low - margin, high + margin)


def whisker(estimate: Estimate | None, scale: Scale | None, label: str) -> Markup:
    """A number as a dot and its interval as a bar with ends; an arrow where it lies beyond the scale.

    A new best moves every whisker of a board. What moves has a line of its own, for who watches is sent whole lines.
    """
    if estimate is None or scale is None or not math.isfinite(estimate.value):
        return Markup("")
    at = scale.share(estimate.value)
    parts = []
    if estimate.low is not None and estimate.high is not None:
        low, high = scale.share(estimate.low), scale.share(estimate.high)
        parts.append(f'<line class="bar" x1="{low:.2f}%" x2="{high:.2f}%" y1="50%" y2="50%"/>')
        parts += [_end(low)] if scale.holds(estimate.low) else []
        parts += [_end(high)] if scale.holds(estimate.high) else []
    if scale.holds(estimate.value):
        parts.append(f'<circle cx="{at:.2f}%" cy="50%" r="4"/>')
    else:
        parts.append(_arrow(right=estimate.value > scale.high))
    return Markup(
        f'<svg class="whisker" role="img" aria-label="{escape(label)}">'
        f'<line class="ground" x1="0" x2="100%" y1="50%" y2="50%"/>\n{"".join(parts)}\n</svg>'
    )


def _end(at: float) -> str:
    return f'<line class="bar" x1="{at:.2f}%" x2="{at:.2f}%" y1="25%" y2="75%"/>'


def _arrow(right: bool) -> str:
    sign, at, anchor = ("›", "100%", "end") if right else ("‹", "0", "start")
    return f'<text x="{at}" y="50%" dy="0.35em" text-anchor="{anchor}">{sign * 2}</text>'


def _thinned(values: list[float]) -> list[float]:
    """Few enough to draw; the last one always stays."""
    step = -(-len(values) // MOST_POINTS)
    return values if step <= 1 else values[(len(values) - 1) % step :: step]
