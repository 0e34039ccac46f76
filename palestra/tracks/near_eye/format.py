"""The near-eye data set on disk: pictures of both eyes, points on a plane, calibration frames, truth apart.

data.toml                                  the display: plane_distance, unit
people.csv                                 person,sex,age,ethnicity,glasses,makeup,eye_colour (optional)
template.csv                               a submission with every test frame (optional; else folders are listed)
train/<person>/<group>/labels.csv          frame,x,y
train/<person>/<group>/{left,right}/<frame>.png
test/<person>/<group>/calibration.csv      frame,x,y of five frames
test/<person>/<group>/{left,right}/<frame>.png
truth/<person>/<group>.csv                 frame,x,y of every test frame
"""

import math
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from palestra.errors import refuse
from palestra.formats import folder, folders_in, read_numbers, read_people_file, read_table, write_table
from palestra.metrics.angles import angles_deg_columns
from palestra.records import Plausible
from palestra.text import say

KEY = ("person", "group", "frame")
POINT = {"x": pl.Float64, "y": pl.Float64}
EYES = ("left", "right")
PLANE_MM = 1000.0  # from the eyes to the plane of the points in data sets that Palestra makes
FURTHEST_DEG = 60  # from straight ahead that an answer may lie; eyes turn by some 50


def read_plane_distance(data: Path) -> float:
    """How far the plane of the gaze points is, in the unit of the points."""
    file = folder(data) / "data.toml"
    if not file.is_file():
        refuse(str(file), say("no such file"), say("data.toml with plane_distance, as a near-eye data set has"))
    try:
        distance = tomllib.loads(file.read_text("utf-8")).get("plane_distance")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        refuse(str(file), say("not TOML ({error})", error=error), say("data.toml with plane_distance"))
    if not isinstance(distance, int | float) or not 0 < distance < 1e9:
        refuse(
            say("{file}, plane_distance", file=file),
            repr(distance),
            say("a distance above 0, in the unit of the points"),
        )
    return float(distance)


def write_geometry(data: Path) -> None:
    """Say where the plane of the points is."""
    (data / "data.toml").write_text(
        f"# Points: x to the right, y up, as the person sees them; the origin is straight ahead.\n"
        f'plane_distance = {PLANE_MM}\nunit = "mm"\n'
    )


def read_people(data: Path) -> pl.DataFrame | None:
    """What is known of the people, where the data set tells."""
    file = data / "people.csv"
    return read_people_file(file) if file.is_file() else None


def read_frames(data: Path) -> pl.DataFrame:
    """Every test frame: person, group, frame."""
    template = data / "template.csv"
    if template.is_file():
        return pl.read_csv(template, columns=list(KEY), schema_overrides=dict.fromkeys(KEY, pl.String))
    groups = list(_groups(folder(data / "test")))
    parts = [_listed(person, group, path / "left") for person, group, path in groups]
    if not parts:
        refuse(str(data / "test"), say("no groups"), say("test/<person>/<group>/{{left,right}}/<frame>.png"))
    return pl.concat(parts)


def read_points(data: Path, part: str) -> pl.DataFrame:
    """The labelled points (person, group, frame, x, y) of `train`, of the `calibration` frames or of the `truth`."""
    if part == "truth":
        files = [(path.parent.name, path.stem, path) for path in sorted(folder(data / "truth").glob("[!.]*/[!.]*.csv"))]
    else:
        where, name = ("train", "labels.csv") if part == "train" else ("test", "calibration.csv")
        files = [(person, group, path / name) for person, group, path in _groups(folder(data / where))]
    if not files:
        refuse(str(data), say("no {part} points", part=part), say("one CSV with frame,x,y for each group"))
    return read_points_of(files)


def read_points_of(files: Sequence[tuple[str, str, Path]]) -> pl.DataFrame:
    """Labelled points from the CSV files of some groups, each given as (person, group, file)."""
    return read_numbers(files, ("person", "group"), "frame", ("x", "y"), header=True)


def read_submission(file: Path, trials: pl.DataFrame) -> pl.DataFrame:
    """A contestant's CSV: person,group,frame,x,y."""
    return read_table(file, key=KEY, columns=POINT, expected=trials)


def write_submission(answers: pl.DataFrame, file: Path) -> None:
    """Write answers (trial, x, y) as a contestant would."""
    parts = answers["trial"].str.split_exact("/", 2).struct.rename_fields(list(KEY)).struct.unnest()
    write_table(parts.hstack(answers.select("x", "y")), file)


def write_points(points: pl.DataFrame, file: Path) -> None:
    """Write labels, calibration or truth of one group (frame, x, y)."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_table(points.select("frame", "x", "y"), file)


def image_file(data: Path, part: str, key: Iterable[str], eye: str) -> Path:
    """Where the picture of one eye is."""
    person, group, frame = key
    return data / part / person / group / eye / f"{frame}.png"


def with_error(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with the angle between the answer (x, y) and the true point, seen from midway between the eyes."""
    x, y, distance = (rows[name].to_numpy() for name in ("truth_x", "truth_y", "truth_distance"))
    error = angles_deg_columns(rows["x"].to_numpy(), rows["y"].to_numpy(), distance, x, y, distance)
    return rows.with_columns(error_deg=error)


def directions(x: str, y: str, distance: pl.Expr) -> dict[str, pl.Expr]:
    """Where points lie as angles: to the right, and up."""
    return {
        "yaw_deg": pl.arctan2(pl.col(x), distance).degrees(),
        "pitch_deg": pl.arctan2(pl.col(y), distance).degrees(),
    }


def _is_in_sight(rows: pl.DataFrame) -> pl.Series:
    """Whether eyes could turn there: points on the plane no further out than FURTHEST_DEG."""
    off = (pl.col("x") ** 2 + pl.col("y") ** 2).sqrt()
    reach = pl.col("plane_distance") * math.tan(math.radians(FURTHEST_DEG))
    return rows.select((off <= reach).alias("holds"))["holds"]


IN_SIGHT = Plausible(
    _is_in_sight,
    say("a point within {degrees}° of straight ahead, which is as far as eyes turn", degrees=FURTHEST_DEG),
)


def _groups(root: Path) -> Iterable[tuple[str, str, Path]]:
    for person in sorted(folders_in(root)):
        for group in sorted(folders_in(person)):
            yield person.name, group.name, group


def _listed(person: str, group: str, pictures: Path) -> pl.DataFrame:
    frames = sorted(path.stem for path in folder(pictures).glob("[!.]*.png"))
    return pl.DataFrame({"person": [person] * len(frames), "group": [group] * len(frames), "frame": frames})
