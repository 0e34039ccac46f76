"""How reports write cells of tables, and the names of metrics and columns."""

from palestra.records import Cell, Metric, Track
from palestra.text import NONE, Words, number


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
