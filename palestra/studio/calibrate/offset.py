"""How far an eye tracker is off for each person and pattern, as OpenEDS2020 corrects it.

Gaze is smoothed by a median filter of 5 frames. The offset is the mean difference between it and the way from the
cornea to the target; taking it away is the correction. Blinks and glances elsewhere would shift that mean, so what is
far from the rest is left out first. How good it is, is measured on frames that the offset was not taken from.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from palestra.errors import Faults, PalestraError
from palestra.formats import write_bytes
from palestra.metrics.angles import angles_deg
from palestra.studio.calibrate import charts
from palestra.studio.calibrate.report import Report, poor
from palestra.studio.calibrate.robust import inliers
from palestra.studio.calibrate.tables import Table, read_table
from palestra.text import say

Floats = NDArray[np.float64]

WINDOW = 5  # frames of the median filter
LEAST_FRAMES = 30  # of a person and pattern
LEAST = 0.005  # of a unit vector: what is no further off (0.3°) stays in anyway
LEAST_SHARE = 0.5
MOST_OFFSET_DEG = 20.0
MOST_LEFT_DEG = 3.0
FOLDS = 5
TEXTS = ("person", "pattern", "sequence")
VECTORS = tuple(tuple(f"{what}_{axis}" for axis in "xyz") for what in ("cornea", "target", "gaze"))


@dataclass(frozen=True)
class Offset:
    """Of one person and pattern."""

    person: str
    pattern: str
    vector: Floats  # (3,): to be taken away
    rows: NDArray[np.int64]
    kept: NDArray[np.bool_]  # of these rows
    before_deg: float  # mean angle between gaze and target
    after_deg: float  # on frames that it was not taken from


def smooth(gaze: Floats, sequences: list[str]) -> Floats:
    """The median of 5 frames, within each sequence."""
    out, names = np.empty_like(gaze), np.array(sequences)
    for name in dict.fromkeys(sequences):
        out[names == name] = median_filter(gaze[names == name], size=(WINDOW, 1), mode="nearest")
    return unit(out)


def unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12))


def offset_of(gaze: Floats, aim: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The mean difference of those that belong together, and which these are."""
    off = gaze - aim
    kept = np.ones(len(off), bool)
    middle = np.median(off, axis=0)
    for _ in range(5):
        now = inliers(np.linalg.norm(off - middle, axis=1), 2, LEAST)  # of unit vectors, two axes vary
        if (now == kept).all():
            break
        kept, middle = now, off[now].mean(axis=0)
    return off[kept].mean(axis=0), kept


def corrected(gaze: Floats, vector: Floats) -> Floats:
    return unit(gaze - vector)


def calibrate_offset(file: Path, out: Path) -> Report:
    """Offsets of all people and patterns of a table, and its gaze without them."""
    table = read_table(file, [name for names in VECTORS for name in names], TEXTS)
    cornea, target, gaze = (table.numbers(*names) for names in VECTORS)
    _check_directions(file, gaze, target - cornea)
    sequences = ["\0".join(parts) for parts in zip(*(table.texts[name] for name in TEXTS), strict=True)]
    smoothed, aim = smooth(gaze, sequences), unit(target - cornea)
    offsets = [_fitted(file, person, pattern, rows, smoothed, aim) for (person, pattern), rows in _groups(table)]
    after = smoothed.copy()
    for one in offsets:
        after[one.rows] = corrected(smoothed[one.rows], one.vector)
    picture = draw(offsets, smoothed - aim, after - aim, out / "offsets.png")
    for one in offsets:
        _check(one, picture)
    report = Report()
    for one in offsets:
        whose = f"{one.person}, {one.pattern}"
        report.measured(f"{whose}: off by, before", one.before_deg, "deg")
        report.measured(f"{whose}: off by, after (frames not fitted to)", one.after_deg, "deg")
        report.measured(f"{whose}: frames left out", 100 * float((~one.kept).mean()), "%")
    report.files = [_write_offsets(out, offsets), _write_gaze(out, table, after), picture]
    return report


def _check_directions(file: Path, gaze: Floats, aim: Floats) -> None:
    faults = Faults()
    for what, vectors in ((say("gaze"), gaze), (say("cornea to target"), aim)):
        if none := int((np.linalg.norm(vectors, axis=1) < 1e-9).sum()):
            faults.add(str(file), say("{count} rows whose {what} has no direction", count=none, what=what),
                       say("vectors that are not zero; leave frames without gaze out"))  # fmt: skip
    faults.finish()


def _groups(table: Table) -> list[tuple[tuple[str, str], NDArray[np.int64]]]:
    groups: dict[tuple[str, str], list[int]] = {}
    for row, whose in enumerate(zip(table.texts["person"], table.texts["pattern"], strict=True)):
        groups.setdefault(whose, []).append(row)
    return [(whose, np.array(rows)) for whose, rows in groups.items()]


def _fitted(
    file: Path, person: str, pattern: str, rows: NDArray[np.int64], gaze: Floats, aim: Floats
) -> Offset:  # fmt: skip
    if len(rows) < LEAST_FRAMES:
        raise PalestraError(
            say("{file}: {person} has {count} frames of {pattern}, at least {least} are needed.", file=file,
                person=person, count=len(rows), pattern=pattern, least=LEAST_FRAMES)
        )  # fmt: skip
    vector, kept = offset_of(gaze[rows], aim[rows])
    fold = np.arange(len(rows)) * FOLDS // len(rows)  # in time: neighbours are alike
    after = np.empty(len(rows))
    for one in range(FOLDS):
        others, _ = offset_of(gaze[rows[fold != one]], aim[rows[fold != one]])
        mine = rows[fold == one]
        after[fold == one] = angles_deg(corrected(gaze[mine], others), aim[mine])
    before = angles_deg(gaze[rows], aim[rows])
    return Offset(person, pattern, vector, rows, kept, float(before[kept].mean()), float(after[kept].mean()))


def _check(one: Offset, picture: Path) -> None:
    whose = say("{person}, {pattern}", person=one.person, pattern=one.pattern)
    size = float(np.degrees(np.linalg.norm(one.vector)))
    if size > MOST_OFFSET_DEG:
        raise poor(
            picture,
            say("{whose}: gaze is {size:.0f}° away from the targets, at most {most:.0f}° is an offset.",
                whose=whose, size=size, most=MOST_OFFSET_DEG),
            say("Are cornea, target and gaze given in one frame, with the same axes and units?"),
        )  # fmt: skip
    if one.kept.mean() < LEAST_SHARE or one.after_deg > MOST_LEFT_DEG:
        raise poor(
            picture,
            say("{whose}: gaze is still {after:.1f}° off after its offset was taken away, with {share:.0%} of the "
                "frames; at most {most:.0f}° and at least {least:.0%} are good enough.", whose=whose,
                after=one.after_deg, share=one.kept.mean(), most=MOST_LEFT_DEG, least=LEAST_SHARE),
            say("Did the person look at the targets, and are both on one clock? Leave out frames between targets."),
        )  # fmt: skip


def _write_offsets(out: Path, offsets: list[Offset]) -> Path:
    rows = [[one.person, one.pattern, *map(repr, one.vector.tolist())] for one in offsets]
    return write_csv(out / "offsets.csv", ["person", "pattern", "offset_x", "offset_y", "offset_z"], rows)


def _write_gaze(out: Path, table: Table, gaze: Floats) -> Path:
    texts = [table.texts[name] for name in TEXTS]
    rows = [[*parts, *map(repr, vector)] for *parts, vector in zip(*texts, gaze.tolist(), strict=True)]
    return write_csv(out / "gaze.csv", [*TEXTS, "gaze_x", "gaze_y", "gaze_z"], rows)


def write_csv(file: Path, names: list[str], rows: list[list[str]]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join(f'"{cell}"' if "," in cell else cell for cell in row) for row in [names, *rows]]
    write_bytes(file, ("\n".join(lines) + "\n").encode())
    return file


def draw(offsets: list[Offset], before: Floats, after: Floats, file: Path) -> Path:
    title = say("Gaze less the way to the target, before and after the offset is taken away")
    figure, (was, now, each) = charts.sheet(title, 3)
    rows = np.concatenate([one.rows for one in offsets])
    kept = np.concatenate([one.kept for one in offsets])
    for axes, off, what in ((was, before, say("before")), (now, after, say("after"))):
        charts.cloud(axes, np.degrees(off[rows, :2]), kept, say("x (°)"), say("y (°)"), what)
    names = [f"{one.person} {one.pattern}" for one in offsets]
    whole = np.ones(len(names), bool)
    charts.bars(each, names, np.array([one.after_deg for one in offsets]), whole, say("on frames not fitted to"),
                say("mean angle (°)"))  # fmt: skip
    return charts.save(figure, file)
