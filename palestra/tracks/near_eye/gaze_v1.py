"""Near-eye gaze with calibration (World Robot Contest 2022, preliminary): where on a plane do two eyes look?

One row per test frame: a picture of each eye, and the point looked at. Five frames of each group come with their point.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import refuse
from palestra.formats import csv_table
from palestra.records import Dataset, Display, FileAnswers, Metric, Order, Plan, RuleSettings, Track
from palestra.reduce import mean_of, mean_of_shares
from palestra.text import say, sentences
from palestra.tracks.near_eye import format as on_disk

if TYPE_CHECKING:
    from palestra.records import Block


class Settings(msgspec.Struct, frozen=True):
    """Readings of the rules that an organiser may change."""

    score_calibration: bool = False  # whether frames whose point was given away are scored


def trials(data: Path) -> pl.DataFrame:
    frames = on_disk.read_frames(data)
    calibration = on_disk.read_points(data, "calibration").select(*on_disk.KEY, calibration=True)
    frames = frames.join(calibration, on=on_disk.KEY, how="left", maintain_order="left")
    trial = pl.concat_str(on_disk.KEY, separator="/")
    return frames.select(
        trial.alias("trial"),
        *on_disk.KEY,
        pl.col("calibration").fill_null(False),
        plane_distance=pl.lit(on_disk.read_plane_distance(data)),
    )


def truth(data: Path, settings: Settings) -> pl.DataFrame:
    rows = trials(data).join(on_disk.read_points(data, "truth"), on=on_disk.KEY, how="left", maintain_order="left")
    unknown = rows.filter(pl.col("x").is_null())
    if not unknown.is_empty():
        refuse(
            str(data / "truth"),
            say("no point for {unknown}", unknown=unknown["trial"][0]),
            say("a point for every test frame"),
        )
    if not settings.score_calibration:
        rows = rows.filter(~pl.col("calibration"))
    known = {path.name for path in (data / "train").iterdir()} if (data / "train").is_dir() else set()
    people = on_disk.read_people(data)
    if people is not None:
        rows = rows.join(people.select("person", "sex", "glasses"), on="person", how="left", maintain_order="left")
    return rows.select(
        "trial", "person", pl.concat_str("person", "group", separator="/").alias("group"),
        pl.when(pl.col("person").is_in(known)).then(pl.lit("known")).otherwise(pl.lit("new")).alias("people"),
        *(name for name in ("sex", "glasses") if name in rows.columns),
        truth_x="x", truth_y="y", truth_distance="plane_distance",
    ).with_columns(**on_disk.directions("truth_x", "truth_y", pl.col("truth_distance")))  # fmt: skip


def blank(trials: pl.DataFrame) -> pl.DataFrame:
    """The template: everybody looks straight ahead."""
    return trials.select("trial", x=pl.lit(0.0), y=pl.lit(0.0))


def picture(data: Path, row: Mapping[str, Any]) -> NDArray[np.uint8]:
    key = str(row["trial"]).split("/")
    from palestra.tracks.near_eye import figures

    return figures.picture((on_disk.image_file(data, "test", key, eye) for eye in on_disk.EYES), row)


def make(order: Order) -> Plan:
    from palestra.tracks.near_eye.maker import plan

    return plan(order)


def describe(data: Path) -> "list[Block]":
    from palestra.report import gaze_distribution, people_table

    points = {part: on_disk.read_points(data, part) for part in ("train", "calibration")}
    distance = pl.lit(on_disk.read_plane_distance(data))
    angles = {part: table.select(**on_disk.directions("x", "y", distance)) for part, table in points.items()}
    frames = on_disk.read_frames(data)
    train = points["train"]
    splits = {"train": train["person"].unique(), "test": frames["person"].unique()}
    counts = {"train": train.height, "test": frames.height}
    groups = {name: csv_table.n_unique(["person", "group"]) for name, csv_table in (("train", train), ("test", frames))}
    return [
        people_table(on_disk.read_people(data), splits, {"frames": counts, "groups": groups}),
        gaze_distribution(angles),
    ]


def track(settings: Settings) -> Track:
    return Track(
        id="near-eye-gaze-v1",
        title=say("Near-eye gaze with calibration"),
        trials=trials,
        truth=lambda data: truth(data, settings),
        score=on_disk.with_error,
        metrics=(
            Metric("pe_deg", "deg", "lower", mean_of_shares("error_deg", 0.5, 0.95), "PE = ½(P50 + P95)"),
            Metric("p50_deg", "deg", "lower", mean_of_shares("error_deg", 0.5), "P50"),
            Metric("p95_deg", "deg", "lower", mean_of_shares("error_deg", 0.95), "P95"),
            Metric("mean_deg", "deg", "lower", mean_of("error_deg"), say("mean")),
        ),
        missing={"error_deg": 180.0},  # as looking the other way
        blank=blank,
        units=("person",),
        files=FileAnswers(
            read=on_disk.read_submission,
            write=on_disk.write_submission,
            most_bytes=csv_table.most_bytes,
            plausible=on_disk.IN_SIGHT,
        ),
        dataset=Dataset(make=make, describe=describe),
        display=Display(
            error="error_deg",
            groups=("people", "glasses", "sex", "group"),
            direction=("yaw_deg", "pitch_deg"),
            picture=picture,
            pictured=sentences(say("Green: where the person looked."), say("Orange: the answer.")),
        ),
        settings=RuleSettings(settings, track),
    )


TRACK = track(Settings())
