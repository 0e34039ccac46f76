"""Gaze prediction (OpenEDS 2020): where will this eye look 10 to 50 ms from now?

One row per future frame: five for each test sequence, whose first 50 pictures are given.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import UnknownName, refuse
from palestra.metrics.angles import angles_deg_columns
from palestra.records import Dataset, Display, FileAnswers, Metric, Order, Plan, Track
from palestra.reduce import mean_of, mean_of_shares, mean_over
from palestra.text import say, sentences
from palestra.tracks.gaze_prediction import format as openeds

if TYPE_CHECKING:
    from palestra.records import Block, Film


def trials(data: Path) -> pl.DataFrame:
    sequences = openeds.read_sequences(data)
    steps = pl.DataFrame({"frame": openeds.FRAMES, "step": openeds.STEPS})
    rows = pl.DataFrame({"sequence": sequences}).join(steps, how="cross", maintain_order="left_right")
    return rows.select(pl.concat_str("sequence", "frame", separator="/").alias("trial"), "sequence", "frame", "step")


def truth(data: Path) -> pl.DataFrame:
    labels = openeds.read_labels(data, "test").rename({name: f"truth_{name}" for name in openeds.VECTOR})
    labels = labels.with_columns(pl.col("frame").cast(pl.String))
    rows = trials(data).join(labels, on=("sequence", "frame"), how="left", maintain_order="left")
    unknown = rows.filter(pl.col("truth_x").is_null())
    if not unknown.is_empty():
        refuse(
            str(data),
            say("no label for {unknown}", unknown=unknown["trial"][0]),
            say("labels of frames 50–54 of every test sequence"),
        )
    return _with_metadata(data, rows).with_columns(**_direction())


def _with_metadata(data: Path, rows: pl.DataFrame) -> pl.DataFrame:
    """What the release tells beside the labels: the person, the pattern, the movement in each frame."""
    about = openeds.read_metadata(data)
    if about is not None:
        about = about.filter(pl.col("split") == "test")  # names begin anew in each split
        known = [name for name in ("person", "pattern", "sex", "glasses") if name in about.columns]
        rows = rows.join(about.select("sequence", *known), on="sequence", how="left", maintain_order="left")
    frames = openeds.read_frames(data)
    if frames is not None:
        moves = frames.filter(pl.col("split") == "test").select("sequence", pl.col("frame").cast(pl.String), "movement")
        rows = rows.join(moves, on=("sequence", "frame"), how="left", maintain_order="left")
    return rows.drop("frame")


def score(rows: pl.DataFrame) -> pl.DataFrame:
    answer, true = ([rows[f"{prefix}{name}"].to_numpy() for name in openeds.VECTOR] for prefix in ("", "truth_"))
    return rows.with_columns(error_deg=angles_deg_columns(*answer, *true))


def _direction() -> dict[str, pl.Expr]:
    x, y, z = (pl.col(f"truth_{name}") for name in openeds.VECTOR)
    return {"yaw_deg": pl.arctan2(x, z).degrees(), "pitch_deg": pl.arctan2(y, (x**2 + z**2).sqrt()).degrees()}


def blank(trials: pl.DataFrame) -> pl.DataFrame:
    """The template: everybody looks straight ahead."""
    return trials.select("trial", x=pl.lit(0.0), y=pl.lit(0.0), z=pl.lit(1.0))


def picture(data: Path, row: Mapping[str, Any]) -> NDArray[np.uint8]:
    """The last picture that was given, with the direction that came and the one that was predicted."""
    from palestra.report import beside, plane, read_image

    sequence = str(row["trial"]).split("/")[0]
    eye = read_image(openeds.image_file(data, "test", sequence, openeds.GIVEN - 1))
    # Seen from the camera, as the picture is: +x is on the right.
    points = {
        name: (row[f"{prefix}x"] / row[f"{prefix}z"], row[f"{prefix}y"] / row[f"{prefix}z"])
        for name, prefix in (("truth", "truth_"), ("answer", ""))
        if row[f"{prefix}z"]
    }
    return beside(eye, plane(points, half_width=0.45))


def film(data: Path, what: str) -> "Film":
    """A sequence, named as train/0003: the eye, and where it looks in each frame for whoever has the labels."""
    from palestra.records import Film
    from palestra.report import beside, plane, read_image

    split, _, sequence = what.partition("/")
    if split not in openeds.SPLITS or sequence not in openeds.read_sequences(data, split):
        known = [f"{name}/{sequence}" for name in openeds.SPLITS for sequence in openeds.read_sequences(data, name)]
        raise UnknownName(say("sequence"), what, known)
    points = {}
    if split != "test" or openeds.has_test_labels(data):
        labels = openeds.read_labels(data, split, [sequence])
        points = {frame: (x / z, y / z) for frame, x, y, z in labels.select("frame", *openeds.VECTOR).rows()}
    files = [openeds.image_file(data, split, sequence, frame) for frame in range(100)]
    frames = (
        beside(read_image(file), plane({"truth": points[n]} if n in points else {}, half_width=0.45))
        for n, file in enumerate(files)
        if file.is_file()
    )
    return Film(frames, openeds.RATE_HZ)


def make(order: Order) -> Plan:
    from palestra.tracks.gaze_prediction.maker import plan

    return plan(order)


def describe(data: Path) -> "list[Block]":
    from palestra.report import gaze_distribution, people_table

    # The paper prints the test split's distribution as well; whoever has the labels sees it.
    splits_labelled = ("train", "validation", "test") if openeds.has_test_labels(data) else ("train", "validation")
    labels = {split: openeds.read_labels(data, split) for split in splits_labelled}
    angles = {
        split: table.rename({name: f"truth_{name}" for name in openeds.VECTOR}).select(**_direction())
        for split, table in labels.items()
    }
    sequences = {split: len(openeds.read_sequences(data, split)) for split in ("train", "validation", "test")}
    images = {split: table.height for split, table in labels.items()} | {"test": sequences["test"] * openeds.GIVEN}
    about = openeds.read_metadata(data)
    splits = {} if about is None else {name: part["person"].unique() for (name,), part in
                                       about.partition_by("split", as_dict=True).items()}  # fmt: skip
    people = None if about is None else about.unique("person")
    return [people_table(people, splits, {"images": images, "sequences": sequences}), gaze_distribution(angles)]


ERROR = "error_deg"
TRACK = Track(
    id="gaze-prediction-v1",
    title=say("Gaze prediction"),
    trials=trials,
    truth=truth,
    score=score,
    # The paper's averages run over the five steps, so percentiles are taken in each step and then averaged.
    metrics=(
        Metric("pe_deg", "deg", "lower", mean_over("step", mean_of(ERROR)), say("PE, mean over 5 steps")),
        Metric("p50_deg", "deg", "lower", mean_over("step", mean_of_shares(ERROR, 0.5)), "p50"),
        Metric("p75_deg", "deg", "lower", mean_over("step", mean_of_shares(ERROR, 0.75)), "p75"),
        Metric("p95_deg", "deg", "lower", mean_over("step", mean_of_shares(ERROR, 0.95)), "p95"),
    ),
    missing={"error_deg": 180.0},  # as looking the other way
    blank=blank,
    units=("person", "sequence"),
    files=FileAnswers(
        read=openeds.read_submission,
        write=openeds.write_submission,
        suffix=".json",
        most_bytes=openeds.most_bytes,
        plausible=openeds.IN_SIGHT,
    ),
    dataset=Dataset(make=make, describe=describe, hidden=("truth", "test/labels", f"{openeds.RELEASE}/test/labels")),
    display=Display(
        error=ERROR,
        groups=("step", "movement", "pattern", "glasses", "sex"),
        published={
            "baseline (50-sample line)": {"pe_deg": 5.368},
            "random_b": {"pe_deg": 3.078},
            "EyMazing": {"pe_deg": 3.313},
            "Konovalov": {"pe_deg": 3.347},
        },
        direction=("yaw_deg", "pitch_deg"),
        picture=picture,
        pictured=sentences(
            say("The last picture that was given."), say("Green: where the person looked."), say("Orange: the answer.")
        ),
        labels={"baseline (50-sample line)": say("baseline (50-sample line)")},
        film=film,
    ),
)
