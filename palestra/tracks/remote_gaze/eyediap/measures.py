"""What is evaluated of EYEDIAP's frames, and how far answers are off: Eq. 6–9, for each eye and for both.

Truth comes as the given eyes (`truth_left_ox` …) and the lines from them to the target (`truth_left_vx` …). All is
computed from these, so that the truth as an answer is off by exactly nothing.
"""

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.metrics.rays import distances_m, passing_angles_deg, pixel_distances, sight_angles_deg
from palestra.metrics.transforms import Display, Pose, Screen, World

Floats = NDArray[np.float64]

EYES = ("left", "right")
ORIGIN, SIGHT = ("ox", "oy", "oz"), ("vx", "vy", "vz")
RAYS = tuple(f"{eye}_{axis}" for eye in EYES for axis in (*ORIGIN, *SIGHT))
POINT = ("sx", "sy")
PLANE = tuple(f"truth_screen_{name}" for name in (*(f"r{i}{j}" for i in range(3) for j in range(3)), "tx", "ty", "tz"))
DENSITY = ("truth_screen_kx", "truth_screen_ky")
PAST_PX = 10_000.0  # what a line costs that never meets the screen: more than any that does by chance
LOST_DEG, LOST_PASSING_DEG = 180.0, 90.0  # the worst that Eq. 8 and Eq. 7 can give


def with_truth(frames: pl.DataFrame, screen: Display | None) -> pl.DataFrame:
    """Frames with the truth in the form of answers, and where the screen is."""
    lines: list[pl.Expr] = []
    for eye in EYES:
        for axis in "xyz":
            lines.append(pl.col(f"{eye}_{axis}").alias(f"truth_{eye}_o{axis}"))
            lines.append((pl.col(f"target_{axis}") - pl.col(f"{eye}_{axis}")).alias(f"truth_{eye}_v{axis}"))
    hidden = {"target_x", "target_y", "target_z", "sx", "sy", "state"}
    rows = frames.with_columns(*lines, *(pl.col(name).alias(f"truth_{name}") for name in ("sx", "sy", "state")))
    return rows.drop(*hidden).with_columns(**_screen_columns(screen))


def judged(tested: pl.DataFrame, learnt: pl.DataFrame, limits_deg: tuple[float, float]) -> pl.DataFrame:
    """Tested frames with why they are not evaluated (`evaluation`) and what reports break down by.

    `inside_hull`: whether the true direction lies among those that were learnt from, where methods interpolate.
    """
    used = learnt.select("piece", "frame", learnt=pl.lit(True))
    rows = tested.with_columns(**_angles()).join(used, on=["piece", "frame"], how="left", maintain_order="left")
    far = (pl.col("head_yaw_deg").abs() > limits_deg[0]) | (pl.col("head_pitch_deg").abs() > limits_deg[1])
    reasons = {
        "no target": pl.col("truth_left_vx").is_null() & pl.col("truth_left_ox").is_not_null(),
        "no head": pl.col("truth_left_ox").is_null() | pl.col("r00").is_null(),
        "blink": pl.col("truth_state") == "BK",
        "not looking": pl.col("truth_state") == "NL",
        "head pose": far,
        "learnt from": pl.col("learnt"),
    }
    evaluation: pl.Expr = pl.lit("evaluated")
    for reason, holds in reversed(reasons.items()):
        evaluation = pl.when(holds.fill_null(False)).then(pl.lit(reason)).otherwise(evaluation)
    inside = _inside_hull(learnt.select(**_angles()), rows)
    return rows.with_columns(evaluation=evaluation, inside_hull=pl.Series(inside)).drop("learnt")


def measured(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of truth and answers with their errors; null where a frame is not evaluated."""
    columns: dict[str, Floats] = {}
    screen = _screen_of(rows)
    pixels: list[Floats] = []
    for eye in EYES:
        given = _points(rows, f"truth_{eye}", ORIGIN)
        true = _points(rows, f"truth_{eye}", SIGHT)
        origins, sights = _answered_ray(rows, eye, given, screen)
        distance = distances_m(origins - given, sights, true)
        nothing = np.zeros_like(true)
        columns[f"{eye}_deg"] = _or(sight_angles_deg(sights, true, nothing), LOST_DEG)
        columns[f"{eye}_passing"] = _or(passing_angles_deg(distance, true, nothing), LOST_PASSING_DEG)
        columns[f"{eye}_distance"] = _or(distance, np.linalg.norm(true, axis=1))
        pixels.append(_pixel_errors(rows, origins, sights, screen))
    both = {
        "error_deg": (columns["left_deg"] + columns["right_deg"]) / 2,
        "left_deg": columns["left_deg"],
        "right_deg": columns["right_deg"],
        "passing_deg": (columns["left_passing"] + columns["right_passing"]) / 2,
        "distance_m": (columns["left_distance"] + columns["right_distance"]) / 2,
        "error_px": (pixels[0] + pixels[1]) / 2,
    }
    return _with_scores(rows, both)


def unanswered(rows: pl.DataFrame) -> pl.DataFrame:
    """What no answer costs: as looking the other way."""
    height = rows.height
    away = [np.linalg.norm(_points(rows, f"truth_{eye}", SIGHT), axis=1) for eye in EYES]
    degrees = np.full(height, LOST_DEG)
    return _with_scores(
        rows,
        {
            **dict.fromkeys(("error_deg", "left_deg", "right_deg"), degrees),
            "passing_deg": np.full(height, LOST_PASSING_DEG),
            "distance_m": (away[0] + away[1]) / 2,
            "error_px": np.full(height, PAST_PX),
        },
    )


def _with_scores(rows: pl.DataFrame, scores: Mapping[str, Floats]) -> pl.DataFrame:
    known = pl.col("evaluation") == "evaluated"
    shown = known & pl.col("truth_sx").is_not_null()  # there was a screen to look at
    columns = [
        pl.when(shown if name == "error_px" else known).then(pl.Series(name, values)).otherwise(None).alias(name)
        for name, values in scores.items()
    ]
    return rows.with_columns(columns)


def _answered_ray(rows: pl.DataFrame, eye: str, given: Floats, screen: Display | None) -> tuple[Floats, Floats]:
    """The line that was answered. A point on the screen stands for the line from the given eye to it."""
    origins, sights = _points(rows, eye, ORIGIN), _points(rows, eye, SIGHT)
    pointed = rows["left_ox"].is_null().to_numpy() & rows["sx"].is_not_null().to_numpy()
    if pointed.any() and screen is not None:
        points = screen.point_of(Screen(_points(rows, "", POINT)[pointed]))
        origins[pointed] = given[pointed]
        sights[pointed] = points - given[pointed]
    return origins, sights


def _pixel_errors(rows: pl.DataFrame, origins: Floats, sights: Floats, screen: Display | None) -> Floats:
    """Eq. 9 for the point that was answered, or for where the answered line meets the screen."""
    if screen is None:
        return np.full(rows.height, np.nan)
    met = screen.hit_by(World(origins), World(sights))
    told = _points(rows, "", POINT)
    points = np.where(np.isnan(told), met, told)
    return _or(pixel_distances(points, _points(rows, "truth", POINT)), PAST_PX)


def _angles() -> dict[str, pl.Expr]:
    """Where the head points and where the eyes look, in degrees to the right and up, as the camera's person is seen."""
    between = {axis: pl.col(f"truth_left_v{axis}") + pl.col(f"truth_right_v{axis}") for axis in "xyz"}
    flat = (between["x"].pow(2) + between["z"].pow(2)).sqrt()
    return {
        "head_yaw_deg": pl.arctan2(pl.col("r02"), pl.col("r22")).degrees(),
        "head_pitch_deg": pl.col("r12").clip(-1, 1).arcsin().degrees(),
        "yaw_deg": pl.arctan2(between["x"], between["z"]).degrees(),
        "pitch_deg": pl.arctan2(between["y"], flat).degrees(),
    }


def _inside_hull(learnt: pl.DataFrame, tested: pl.DataFrame) -> NDArray[np.bool_]:
    """Whether a direction lies in the convex hull of those that were learnt from."""
    from scipy.spatial import ConvexHull, QhullError

    known = learnt.select("yaw_deg", "pitch_deg").drop_nulls().to_numpy()
    asked = tested.select("yaw_deg", "pitch_deg").to_numpy()
    try:
        hull = ConvexHull(known)
    except (QhullError, ValueError):  # fewer than three directions, or all on a line: there is no inside
        return np.zeros(len(asked), bool)
    inside: NDArray[np.bool_] = (asked @ hull.equations[:, :2].T + hull.equations[:, 2] <= 1e-9).all(axis=1)
    return inside


def _points(rows: pl.DataFrame, name: str, axes: tuple[str, ...]) -> Floats:
    columns = [f"{name}_{axis}" if name else axis for axis in axes]
    return np.stack([rows[column].cast(pl.Float64).to_numpy() for column in columns], axis=1)  # null is NaN


def _or(values: Floats, cost: float | Floats) -> Floats:
    """What could not be computed costs what the rules say."""
    return np.where(np.isnan(values), cost, values)


def _screen_columns(screen: Display | None) -> dict[str, pl.Expr]:
    if screen is None:
        return {name: pl.lit(None, pl.Float64) for name in (*PLANE, *DENSITY)}
    values = [*screen.pose.rotation.ravel(), *screen.pose.translation, *screen.pixels_per_metre]
    return {name: pl.lit(float(value)) for name, value in zip((*PLANE, *DENSITY), values, strict=True)}


def _screen_of(rows: pl.DataFrame) -> Display | None:
    """The screen that the rows' frames were looked at before; they are of one data set, which has one."""
    seen = rows.select(*PLANE, *DENSITY).drop_nulls().head(1)
    if seen.is_empty():
        return None
    values = np.array(seen.row(0))
    pose: Pose[World, object] = Pose(values[:9].reshape(3, 3), values[9:12])
    return Display(values[12:], pose)  # type: ignore[arg-type]
