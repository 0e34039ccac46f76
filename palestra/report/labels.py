"""How reports write numbers, cells of tables, and the names of metrics and columns."""

import math

from palestra.records import Cell, Metric, Track
from palestra.text import Words

COUNTED = ("points", "blinks", "s")  # units of which there are whole ones
NONE = "–"


def number(value: float | None, unit: str = "") -> str:
    """A number as reports write it: 3.078°, 0.9512, 12.500 ms; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return NONE
    if unit == "deg":
        return f"{value:,.3f}°"
    if unit == "" and abs(value) <= 1:
        return f"{value:.4f}"
    counted = unit in COUNTED and value == round(value)
    return (f"{value:,.0f}" if counted else f"{value:,.3f}") + (f" {unit}" if unit else "")


def as_text(cell: Cell) -> str:
    """A table's cell in words."""
    if cell is None:
        return NONE
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, Words):
        return cell.en
    return number(cell) if isinstance(cell, float) else str(cell)


def metric_title(metric: Metric) -> str:
    return metric.title or metric.name


def column_title(name: str) -> str:
    """A column's name as a heading: eye_colour → Eye colour."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def error_name(track: Track) -> str:
    return column_title(track.display.error.removesuffix("_deg")).lower()


def error_unit(track: Track) -> str:
    return "deg" if track.display.error.endswith("_deg") else ""
