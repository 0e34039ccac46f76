"""Pictures of residuals: what fits is blue, what was left out is red."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from palestra.formats import write_bytes
from palestra.studio.calibrate.robust import Mask
from palestra.text import Text, say

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

FITS, LEFT_OUT, QUIET = "#2266aa", "#cc4433", "#888888"
PANEL_IN = (4.6, 4.0)
MOST_ARROWS = 4_000
MOST_BARS = 40


def sheet(title: Text, panels: int) -> tuple[Figure, list[Axes]]:
    """A row of panels below a title."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PANEL_IN[0] * panels, PANEL_IN[1]), layout="constrained")
    figure.suptitle(str(title), fontsize=11)
    axes: Any = figure.subplots(1, panels, squeeze=False)
    for one in axes[0]:
        one.spines[["top", "right"]].set_visible(False)
        one.tick_params(labelsize=8)
    return figure, list(axes[0])


def named(axes: Axes, title: Text, x: Text, y: Text) -> None:
    axes.set_title(str(title), fontsize=9.5, loc="left")
    axes.set_xlabel(str(x), fontsize=8.5)
    axes.set_ylabel(str(y), fontsize=8.5)


def arrows(axes: Axes, at: Floats, off: Floats, kept: Mask, size: tuple[float, float], unit: str) -> None:
    """Residuals where they are in a picture of a size, drawn so many times larger that they can be seen."""
    step = max(len(at) // MOST_ARROWS, 1)
    at, off, kept = at[::step], off[::step], kept[::step]
    lengths = np.linalg.norm(off[kept], axis=1)
    typical = float(np.percentile(lengths, 90)) if kept.any() else 1.0
    times = 0.06 * size[0] / max(typical, 1e-9)
    times = float(f"{times:.1g}")
    axes.plot(*at[~kept].T, "x", color=LEFT_OUT, markersize=5, label=str(say("left out")))
    axes.quiver(*at[kept].T, *off[kept].T, color=FITS, angles="xy", scale_units="xy", scale=1 / times, width=0.003)
    axes.set_xlim(0, size[0])
    axes.set_ylim(size[1], 0)
    axes.set_aspect("equal")
    named(axes, say("residuals, drawn {times:,.0f} times as long", times=times),
          say("x ({unit})", unit=unit), say("y ({unit})", unit=unit))  # fmt: skip
    _legend(axes, not kept.all())


def cloud(axes: Axes, off: Floats, kept: Mask, x: Text, y: Text, title: Text) -> None:
    """Residuals around nothing. What is left out and far away is drawn at the edge."""
    far = 1.15 * max(float(np.abs(off[kept]).max(initial=0)), 1e-9)
    edge = off * np.minimum(1, far / np.maximum(np.abs(off).max(axis=1), 1e-12))[:, None]
    axes.axhline(0, color=QUIET, linewidth=0.6)
    axes.axvline(0, color=QUIET, linewidth=0.6)
    step = max(int(kept.sum()) // MOST_ARROWS, 1)
    axes.plot(*edge[kept][::step].T, ".", color=FITS, markersize=3, alpha=0.6)
    axes.plot(*edge[~kept].T, "x", color=LEFT_OUT, markersize=5, label=str(say("left out (far: at the edge)")))
    axes.set_xlim(-1.05 * far, 1.05 * far)
    axes.set_ylim(-1.05 * far, 1.05 * far)
    axes.set_aspect("equal")
    named(axes, title, x, y)
    _legend(axes, not kept.all())


def bars(axes: Axes, names: Sequence[str], values: Floats, kept: Mask, title: Text, y: Text) -> None:
    """One bar for each view; the tall ones are those to look at."""
    places = np.arange(len(names))
    axes.bar(places[kept], values[kept], color=FITS)
    axes.bar(places[~kept], values[~kept], color=LEFT_OUT, label=str(say("left out")))
    if kept.any():
        axes.axhline(float(np.median(values[kept])), color=QUIET, linewidth=0.8, linestyle="--")
        axes.set_ylim(0, min(float(values.max()), 6 * float(values[kept].max())) * 1.2 or 1)
    step = max(-(-len(names) // MOST_BARS), 1)
    few = len(names) <= 4
    labels = [name[-14:] for name in names][::step]
    axes.set_xticks(places[::step], labels, rotation=0 if few else 90, fontsize=8 if few else 6.5)
    axes.set_xlim(-0.7, max(len(names), 4) - 0.3)
    named(axes, title, "", y)
    _legend(axes, not kept.all())


def histogram(axes: Axes, values: Floats, title: Text, x: Text) -> None:
    axes.hist(values, bins=60, color=FITS)
    axes.axvline(0, color=QUIET, linewidth=0.6)
    named(axes, title, x, say("how many"))


def _legend(axes: Axes, is_needed: bool) -> None:
    if is_needed:
        axes.legend(fontsize=7.5, loc="lower right", bbox_to_anchor=(1.02, 0.985), frameon=False, handletextpad=0.2)


def save(figure: Figure, file: Path) -> Path:
    """Write a sheet as PNG, and say where."""
    file.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    write_bytes(file, buffer.getvalue())
    return file


def png_or_pdf(image: NDArray[np.uint8], inches: tuple[float, float], label: str, file: Path) -> bytes:
    """A picture at its true size, with a small line of text below it."""
    from matplotlib.figure import Figure

    margin = 10 / 25.4
    figure = Figure(figsize=(inches[0] + margin, inches[1] + margin))
    wide, high = figure.get_size_inches()
    axes = figure.add_axes((margin / 2 / wide, margin / high, inches[0] / wide, inches[1] / high))
    axes.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="nearest", aspect="auto")
    axes.set_axis_off()
    figure.text(0.5, 0.3 * margin / high, label, ha="center", fontsize=7)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="pdf" if file.suffix.lower() == ".pdf" else "png", dpi=300)
    return buffer.getvalue()
