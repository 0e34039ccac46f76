"""Labels a folder of eye pictures with gaze: the reader finds pupil and reflections, a person's eye is fitted to points
that they are known to look at, and each picture gets a unit vector in the headset's axes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import polars as pl
from scipy.signal import medfilt

from palestra.errors import PalestraError
from palestra.eyes.reader.read_eye import read
from palestra.studio.gaze.model import Fitted, Gaze, Seen, angles_deg, fit_eye, gaze_of
from palestra.studio.gaze.rig import Array, Rig, unit
from palestra.text import say

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".bmp"})
COLUMNS = ("picture", "x_mm", "y_mm", "z_mm")


@dataclass(frozen=True)
class Labelled:
    """What came of a folder."""

    fitted: Fitted
    table: pl.DataFrame  # picture, x, y, z (null where unknown), yaw_deg, pitch_deg, glints, off_px


def pictures_in(folder: Path) -> list[Path]:
    found = sorted(file for file in folder.glob("[!.]*") if file.suffix.lower() in PICTURES) if folder.is_dir() else []
    if not found:
        raise PalestraError(say("{folder}: no pictures there. Expected .png, .jpg or .bmp files.", folder=folder))
    return found


def read_points(file: Path, pictures: Sequence[Path]) -> dict[str, Array]:
    """Where a person looked in some of the pictures, by the picture's name."""
    try:
        table = pl.read_csv(file, columns=list(COLUMNS), schema_overrides={"picture": pl.String})
    except (OSError, pl.exceptions.PolarsError) as error:
        raise PalestraError(
            say("{file}: {error}. Expected a CSV with {columns}.",
                file=file, error=str(error).splitlines()[0], columns=",".join(COLUMNS))
        ) from None  # fmt: skip
    names = {path.name for path in pictures}
    strange = next((name for name in table["picture"] if name not in names), None)
    if strange is not None:
        raise PalestraError(say("{file}: there is no picture {name!r} in the folder.", file=file, name=strange))
    places = table.select(COLUMNS[1:]).cast(pl.Float64).to_numpy()
    if not np.isfinite(places).all():
        raise PalestraError(say("{file}: a place that is no number. Expected millimetres.", file=file))
    return dict(zip(table["picture"], places, strict=True))


def label(
    pictures: Sequence[Path], points: dict[str, Array], rig: Rig, median: int, advance: Callable[[int], None]
) -> Labelled:
    """The gaze in each picture. A median over `median` pictures in a row takes single slips away."""
    if median < 1 or median % 2 == 0:
        raise PalestraError(say("--median {median}: expected an odd number; 1 changes nothing.", median=median))
    found = dict(_seen(pictures, advance))
    known = [(found[name], place) for name, place in points.items() if name in found]
    fitted = fit_eye([seen for seen, _ in known], np.array([place for _, place in known]).reshape(-1, 3), rig)
    gazes = [gaze_of(found[path.name], rig, fitted.eye) if path.name in found else None for path in pictures]
    return Labelled(fitted, _table(pictures, gazes, median))


def _seen(pictures: Sequence[Path], advance: Callable[[int], None]) -> Iterator[tuple[str, Seen]]:
    """What the reader is sure of."""
    for path in pictures:
        image = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
        if image is None:
            raise PalestraError(say("{path}: no picture that can be read.", path=path))
        reading = read(image)
        advance(1)
        if reading.pupil is not None and len(reading.glints) > 1:
            yield path.name, Seen((reading.pupil.x, reading.pupil.y), reading.glints)


def _table(pictures: Sequence[Path], gazes: Sequence[Gaze | None], median: int) -> pl.DataFrame:
    vectors = np.array([[np.nan] * 3 if gaze is None else gaze.direction for gaze in gazes])
    vectors = _smoothed(vectors, median)
    angles = angles_deg(vectors)
    return pl.DataFrame(
        {
            "picture": [path.name for path in pictures],
            **dict(zip(("x", "y", "z"), vectors.T, strict=True)),
            "yaw_deg": angles[:, 0],
            "pitch_deg": angles[:, 1],
            "glints": [0 if gaze is None else gaze.glints for gaze in gazes],
            "off_px": [None if gaze is None else gaze.off_px for gaze in gazes],
        }
    ).with_columns(pl.col("x", "y", "z", "yaw_deg", "pitch_deg").fill_nan(None))


def _smoothed(vectors: Array, median: int) -> Array:
    """A median of each coordinate over pictures in a row that all have a gaze; what stands at an end stays."""
    smooth = vectors.copy()
    known = np.flatnonzero(np.isfinite(vectors[:, 0]))
    for run in np.split(known, np.flatnonzero(np.diff(known) > 1) + 1):
        if len(run) >= median:
            inner = slice(median // 2, len(run) - median // 2)
            filtered = np.stack([medfilt(vectors[run, i], median) for i in range(3)], axis=1)
            smooth[run[inner]] = unit(filtered[inner])
    return smooth


def write_labels(table: pl.DataFrame, file: Path) -> None:
    """As OpenEDS 2020 has them: a line `000,x,y,z` for each picture, no header."""
    unknown = table.filter(pl.col("x").is_null())
    if not unknown.is_empty():
        raise PalestraError(
            say("{count} of {all} pictures have no gaze (first: {first}), and such a file has a line for each. Leave "
                "them out of the folder.", count=unknown.height, all=table.height, first=unknown["picture"][0])
        )  # fmt: skip
    rows = enumerate(table.select("x", "y", "z").iter_rows())
    file.write_text("".join(f"{i:03d},{x:.6f},{y:.6f},{z:.6f}\n" for i, (x, y, z) in rows), encoding="utf-8")


def draw_residuals(labelled: Labelled, points: dict[str, Array], file: Path) -> None:
    """Where the gaze of the fitted eye meets the known points, and how far off."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    found = {row["picture"]: row for row in labelled.table.iter_rows(named=True) if row["x"] is not None}
    figure = Figure(figsize=(6.4, 4.8), dpi=150, layout="constrained")
    axes = figure.subplots()
    for name, place in points.items():
        yaw, pitch = angles_deg(unit(place))
        axes.plot(yaw, pitch, "o", color="#1b6ca8", markersize=7, markerfacecolor="none")
        if name in found:
            axes.plot([yaw, found[name]["yaw_deg"]], [pitch, found[name]["pitch_deg"]], color="#d1495b", linewidth=1.5)
    middle = float(np.median(labelled.fitted.off_deg))
    axes.set_title(f"{labelled.fitted.used} of {len(points)} known points used, {middle:.2f}° off (median)")
    axes.set_xlabel("yaw in degrees")
    axes.set_ylabel("pitch in degrees")
    axes.set_aspect("equal", adjustable="datalim")
    axes.grid(alpha=0.3)
    FigureCanvasAgg(figure)
    figure.savefig(file)
