"""Where a target is at a given share of its time. `page/paths.js`, beside this folder, is the same for the page."""

import math

from palestra.studio.present.plans.geometry import Place
from palestra.studio.present.plans.plan import Path


def position(path: Path, share: float) -> Place:
    """The place at a share of the time from 0 to 1, in millimetres."""
    share = min(max(share, 0.0), 1.0)
    if path.shape == "still":
        return path.points[0]
    if path.shape == "line":
        start, end = path.points
        return _between(start, end, share)
    if path.shape == "bezier":
        start, middle, end = path.points
        return _between(_between(start, middle, share), _between(middle, end, share), share)
    return _on_arc(path, share)


def _between(start: Place, end: Place, share: float) -> Place:
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


def _on_arc(path: Path, share: float) -> Place:
    """Clockwise on the screen, at an even speed."""
    middle, start, end = path.points
    begin = math.atan2(start[1] - middle[1], start[0] - middle[0])
    turn = (math.atan2(end[1] - middle[1], end[0] - middle[0]) - begin) % math.tau
    radius, angle = math.dist(middle, start), begin + (turn or math.tau) * share
    return middle[0] + radius * math.cos(angle), middle[1] + radius * math.sin(angle)
