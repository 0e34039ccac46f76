"""The kinds of gaze stimuli: what each shows and when, from the start of its block."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from palestra.studio.present.plans.geometry import Place, Screen, radius_of
from palestra.studio.present.plans.patch import covers
from palestra.studio.present.plans.plan import Path, Shows
from palestra.studio.present.plans.stimuli import Curve, Points, Pursuit, Saccades, Stimuli, Targets

Step = tuple[float, Shows, Path | None, int | None]  # length, what is shown, where, trigger
DIGITS = 3  # of places: a micrometre


def targets(block: Targets, whole: Stimuli, random: np.random.Generator) -> Iterator[Step]:
    for _ in range(block.count):
        yield block.every_s, "target", _anywhere(whole, block.margin, random), block.trigger


def curve(block: Curve, whole: Stimuli, random: np.random.Generator) -> Iterator[Step]:
    """Control points are uniform in a window, whose own place is uniform on the screen."""
    room = 1 - 2 * block.margin
    window = min(block.window, room)

    def draw() -> Path:
        corner = block.margin + random.uniform(0, room - window, 2)
        controls = corner + random.uniform(0, window, (3, 2))
        return Path("bezier", tuple(_placed(whole.screen, x, y) for x, y in controls))

    for _ in range(block.count):
        yield block.every_s, "target", _in_sight(whole, draw), block.trigger


def pursuit(block: Pursuit, whole: Stimuli, random: np.random.Generator) -> Iterator[Step]:
    """Once around the ring from the top, clockwise: the last fixation is where the first was."""
    middle = whole.screen.middle_mm
    radius, turns = radius_of(whole.screen, block.radius_deg), block.fixations - 1
    places = [_on_ring(middle, radius, i / turns) for i in range(block.fixations)]
    for i, place in enumerate(places):
        yield block.fixation_s, "target", still(place), block.trigger
        if i < turns:
            yield block.pursuit_s, "target", Path("arc", (middle, place, places[i + 1])), block.trigger


def saccades(block: Saccades, whole: Stimuli, random: np.random.Generator) -> Iterator[Step]:
    paths = [_anywhere(whole, block.margin, random) for _ in range(block.fixations)]
    for path, following in zip(paths, [*paths[1:], None], strict=True):
        yield block.fixation_s, "target", path, block.trigger
        if following:
            yield block.jump_s, "target", Path("line", (*path.points, *following.points)), None


def points(block: Points, whole: Stimuli, random: np.random.Generator) -> Iterator[Step]:
    """Each point is shown, captured, taken away, and after a while followed by the next."""
    for index in random.permutation(block.columns * block.rows):
        row, column = divmod(int(index), block.columns)
        x, y = (_spread(i, count, block.margin) for i, count in ((column, block.columns), (row, block.rows)))
        path = still(_placed(whole.screen, x, y))
        yield block.capture_s, "target", path, block.trigger
        yield block.shown_s - block.capture_s, "capture", path, block.capture_trigger
        if block.every_s > block.shown_s:
            yield block.every_s - block.shown_s, "blank", None, None


def still(place: Place) -> Path:
    return Path("still", (place,))


def _anywhere(whole: Stimuli, margin: float, random: np.random.Generator) -> Path:
    """A still target, uniform on the screen but for the margin and the photodiode's patch."""
    return _in_sight(whole, lambda: still(_placed(whole.screen, *random.uniform(margin, 1 - margin, 2))))


def _in_sight(whole: Stimuli, draw: Callable[[], Path]) -> Path:
    """Draw until the patch covers nothing of it. A file whose patch leaves no room for that is refused before."""
    while covers(whole.screen, whole.patch_mm, whole.target_mm, path := draw()):
        pass
    return path


def _placed(screen: Screen, x: float, y: float) -> Place:
    """Shares of the screen in millimetres."""
    return round(float(x) * screen.width_mm, DIGITS), round(float(y) * screen.height_mm, DIGITS)


def _on_ring(middle: Place, radius: float, share: float) -> Place:
    angle = math.tau * (share % 1) - math.pi / 2
    x, y = middle[0] + radius * math.cos(angle), middle[1] + radius * math.sin(angle)
    return round(x, DIGITS), round(y, DIGITS)


def _spread(i: int, count: int, margin: float) -> float:
    return 0.5 if count == 1 else margin + (1 - 2 * margin) * i / (count - 1)
