"""The data set of the live near-eye contest: training data as format.py has it, and testers nobody has seen.

data.toml                                  the display: plane_distance, unit
people.csv                                 person,sex,age,ethnicity,glasses,makeup,eye_colour (optional)
points.csv                                 tester,point in the order of play (optional; else folders are listed)
train/<person>/<group>/labels.csv          frame,x,y
train/<person>/<group>/{left,right}/<frame>.png
test/<tester>/{left,right}/<point>.png     for the organiser alone: contestants get them live
truth/<tester>.csv                         point,x,y
captures/capture.toml                      testers whose pictures are not there are captured while they are played
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import cv2
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import refuse
from palestra.formats import (
    captures_people,
    folder,
    folders_in,
    read_bytes,
    read_numbers,
    read_once,
    replacing,
    write_table,
)
from palestra.text import say
from palestra.tracks.near_eye.format import EYES, PLANE_MM, write_geometry

KEY = ("tester", "point")
SHAPE = (400, 640)  # of a picture, height × width
MAX_PICTURE_BYTES = 8_000_000
DIGITS = 3  # of a captured point's millimetres


def read_points(data: Path) -> pl.DataFrame:
    """Every point that testers look at (tester, point), in the order of play."""
    file = data / "points.csv"
    points = _listed_in(file) if file.is_file() else _found_in(folder(data / "test"))
    if points.is_empty():
        refuse(str(data), say("no points"), say("test/<tester>/{{left,right}}/<point>.png"))
    return points


def read_truth(data: Path) -> pl.DataFrame:
    """Where the points were (tester, point, x, y)."""
    files = [(path.stem, path) for path in sorted(folder(data / "truth").glob("[!.]*.csv"))]
    if not files:
        refuse(str(data / "truth"), say("no points"), say("truth/<tester>.csv with point,x,y"))
    return read_numbers(files, ("tester",), "point", ("x", "y"), header=True)


def image_file(data: Path, tester: str, point: str, eye: str) -> Path:
    """Where the picture of one eye is."""
    return tester_folder(data, tester) / eye / f"{point}.png"


def tester_folder(data: Path, tester: str) -> Path:
    return data / "test" / tester


def read_eyes(data: Path, tester: str, point: str) -> dict[str, NDArray[np.uint8]]:
    """Both eyes as they are sent: grey, 400 × 640, by the eye's name."""
    return {eye: _read_grey(image_file(data, tester, point, eye)) for eye in EYES}


def require_eyes(data: Path, points: pl.DataFrame) -> None:
    """Refuse a data set with a picture that is missing or broken: it must not come out when half the points are played.

    All of them take less than half a second to read.
    """
    captured = captures_people(data)
    for tester, some in points.group_by("tester", maintain_order=True):
        if not captured or has_eyes(data, str(tester[0])):
            for point in some["point"]:
                read_eyes(data, str(tester[0]), point)


def has_eyes(data: Path, tester: str) -> bool:
    """Whether all pictures of a tester are there: those that are captured come with time."""
    points = read_points(data).filter(tester=tester)["point"]
    return all(image_file(data, tester, point, eye).is_file() for point in points for eye in EYES)


def prepare(data: Path, places: Mapping[str, Sequence[tuple[float, float]]], distance_mm: float) -> None:
    """A data set whose testers are to be captured: where each is to look, in order, and no pictures yet.

    Points are moved to the plane that programs were trained for, in the same directions.
    """
    names = {tester: [f"{1 + i:02d}" for i in range(len(some))] for tester, some in places.items()}
    rows = [{"tester": tester, "point": name} for tester, some in names.items() for name in some]
    write_table(pl.DataFrame(rows), data / "points.csv")
    (data / "truth").mkdir()
    for tester, some in places.items():
        x, y = np.round(np.array(some) * PLANE_MM / distance_mm, DIGITS).T
        write_table(pl.DataFrame({"point": names[tester], "x": x, "y": y}), data / "truth" / f"{tester}.csv")
    write_geometry(data)


def keep(data: Path, tester: str, number: int, pictures: Mapping[str, NDArray[np.uint8]]) -> None:
    """Write the pictures of a tester's point, which is counted from 0."""
    point = read_points(data).filter(tester=tester)["point"][number]
    for eye, picture in pictures.items():
        file = image_file(data, tester, point, eye)
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as fresh:
            fresh.write_bytes(cv2.imencode(".png", picture)[1].tobytes())


def _read_grey(file: Path) -> NDArray[np.uint8]:
    packed = np.frombuffer(read_bytes(file, MAX_PICTURE_BYTES), np.uint8)
    image = cv2.imdecode(packed, cv2.IMREAD_GRAYSCALE)
    if image is None or image.shape != SHAPE:
        found = (
            say("no picture")
            if image is None
            else say("a picture of {shape} × {shape2}", shape=image.shape[0], shape2=image.shape[1])
        )
        refuse(
            str(file),
            found,
            say("a picture of {shape} × {shape2} pixels (height × width)", shape=SHAPE[0], shape2=SHAPE[1]),
        )
    return np.asarray(image, np.uint8)


@read_once(most=16)
def _listed_in(file: Path) -> pl.DataFrame:
    try:
        points = pl.read_csv(file, columns=list(KEY), schema_overrides=dict.fromkeys(KEY, pl.String))
    except pl.exceptions.PolarsError as error:
        refuse(str(file), str(error).splitlines()[0], say("a CSV with the columns {key}", key=",".join(KEY)))
    return points.select(KEY)


def _found_in(testers: Path) -> pl.DataFrame:
    rows = [
        (tester.name, picture.stem)
        for tester in sorted(folders_in(testers))
        for picture in sorted(folder(tester / "left").glob("[!.]*.png"))
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(KEY, pl.String), orient="row")
