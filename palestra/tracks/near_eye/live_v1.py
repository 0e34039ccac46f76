"""Near-eye gaze, live (World Robot Contest 2022, final): one tester after another looks at points, everybody answers.

Three testers, whom no training data has, look at 30 points each, in random order and without calibration. A point is
shown for 1 s; both eyes are photographed 0.5 s after it appears, the pictures go to all teams at once, and an answer
counts for 1 s. One row per point.

PE = ½(P50 + P95) over all 90 points, and a point without a usable answer counts 180°. That is a cliff: P95 is the 86th
of 90 ascending errors, so four misses cost nothing, and the fifth puts PE at 90° or more, however good the other
answers are. Misses are therefore shown beside PE, and of teams with the same PE the one with fewer stands higher.
"""

import math
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import PalestraError, refuse
from palestra.metrics.bootstrap import unit_sums
from palestra.records import (
    CAPTURES,
    Dataset,
    Display,
    Draws,
    Metric,
    Order,
    PersonPictures,
    Plan,
    RuleSettings,
    Sitting,
    StreamAnswers,
    Tick,
    Track,
)
from palestra.reduce import mean_of, mean_of_shares
from palestra.text import say, sentences
from palestra.tracks.near_eye import format as on_disk
from palestra.tracks.near_eye import live_format as live

if TYPE_CHECKING:
    from palestra.records import Block

CAPTURE_S = 0.5  # from when a point appears until both eyes are photographed


class Settings(msgspec.Struct, frozen=True):
    """Readings of the rules that an organiser may change."""

    deadline_s: float = 1.0  # how long an answer counts after its pictures were sent
    every_s: float = 2.0  # from one point to the next
    window_s: float = 3600.0  # before each tester, in which teams set up or change their program


def trials(data: Path) -> pl.DataFrame:
    points = live.read_points(data)
    return points.select(
        pl.concat_str(live.KEY, separator="/").alias("trial"),
        "tester",
        pl.int_range(1, pl.len() + 1).over("tester").alias("point"),  # the order of play
    )


def truth(data: Path) -> pl.DataFrame:
    rows = live.read_points(data).join(live.read_truth(data), on=live.KEY, how="left", maintain_order="left")
    rows = rows.with_columns(pl.concat_str(live.KEY, separator="/").alias("trial"))
    unknown = rows.filter(pl.col("x").is_null())
    if not unknown.is_empty():
        refuse(
            str(data / "truth"),
            say("no place for {unknown}", unknown=unknown["trial"][0]),
            say("x and y of every point"),
        )
    people = on_disk.read_people(data)
    if people is not None:
        glasses = people.select("glasses", tester="person")
        rows = rows.join(glasses, on="tester", how="left", maintain_order="left")
    return rows.select(
        "trial", "tester", *(name for name in ("glasses",) if name in rows.columns),
        truth_x="x", truth_y="y", truth_distance=on_disk.read_plane_distance(data),
    ).with_columns(**on_disk.directions("truth_x", "truth_y", pl.col("truth_distance")))  # fmt: skip


PERSON = PersonPictures(
    sources=on_disk.EYES,
    shape=live.SHAPE,
    prepare=live.prepare,
    keep=live.keep,
    is_kept=live.has_eyes,
    folder=live.tester_folder,
)


def stream(data: Path, settings: Settings) -> Sequence[Sitting]:
    """One sitting per tester. Pictures are read as they are sent; that all can be is seen to before."""
    points = live.read_points(data)
    live.require_eyes(data, points)
    sittings = []
    for number, tester in enumerate(points["tester"].unique(maintain_order=True), 1):
        names = points.filter(tester=tester)["point"].to_list()
        ticks = partial(_ticks, data, settings, tester, number, names)
        seconds = _due_s(settings, len(names) - 1)
        sittings.append(Sitting(tester, ticks, len(names), len(names), seconds, settings.window_s))
    from palestra.live import with_captured  # heavy, and only those who play need it

    return with_captured(data, PERSON, sittings)


def _ticks(data: Path, settings: Settings, tester: str, number: int, points: list[str]) -> Iterator[Tick]:
    for i, point in enumerate(points):
        yield Tick(
            due_s=_due_s(settings, i),
            payload=live.read_eyes(data, tester, point),
            trial=f"{tester}/{point}",
            deadline_s=settings.deadline_s,
            about={"tester": number, "point": 1 + i},
        )


def _due_s(settings: Settings, point: int) -> float:
    return CAPTURE_S + settings.every_s * point


def hear(answer: Any) -> dict[str, float]:
    """The point that was answered: [x, y], or from a WebSocket {"x": …, "y": …} or {"answer": [x, y]}."""
    found = answer
    if isinstance(found, Mapping):
        found = found["answer"] if "answer" in found else [found.get("x"), found.get("y")]
    if isinstance(found, np.ndarray) and found.shape == (2,):
        found = found.tolist()
    if not isinstance(found, list | tuple) or len(found) != 2 or not all(map(_is_number, found)):
        raise ValueError(
            say("returned {value}, expected two finite numbers [x, y], the point on the display", value=_shown(answer))
        )
    return {"x": float(found[0]), "y": float(found[1])}


def _is_number(value: Any) -> bool:
    """Whether it is a finite number; True and False are none."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number that is too large for a float
        return False


def _shown(answer: Any) -> str:
    """An answer in few words, and without writing out all of a long one first: a stranger chose it."""
    if isinstance(answer, np.ndarray):
        return f"an array of the shape {answer.shape}"
    return reprlib.repr(answer)


def blank(trials: pl.DataFrame) -> pl.DataFrame:
    """The template: everybody looks straight ahead."""
    return trials.select("trial", x=pl.lit(0.0), y=pl.lit(0.0))


def misses(rows: pl.DataFrame, draws: Draws) -> NDArray[np.float64]:
    """How many points had no usable answer."""
    missed = ~rows["answered"].to_numpy()
    counts: NDArray[np.float64] = draws.weights @ unit_sums(missed, draws.unit_of, draws.weights.shape[1])[:, 0]
    return counts


def charts(rows: pl.DataFrame) -> "list[Block]":
    from palestra.tracks.near_eye.live_figures import errors, pe_after_each_point, testers_table

    return [pe_after_each_point(rows), errors(rows), testers_table(rows)]


def picture(data: Path, row: Mapping[str, Any]) -> NDArray[np.uint8]:
    tester, point = str(row["trial"]).split("/")
    from palestra.tracks.near_eye import figures

    return figures.picture((live.image_file(data, tester, point, eye) for eye in on_disk.EYES), row)


def make(order: Order) -> Plan:
    from palestra.tracks.near_eye.live_maker import plan

    return plan(order)


def describe(data: Path) -> "list[Block]":
    """Who is in it, and where the training points are. Where the testers look is hidden."""
    from palestra.report import gaze_distribution, people_table

    train, points = on_disk.read_points(data, "train"), live.read_points(data)
    distance = pl.lit(on_disk.read_plane_distance(data))
    splits = {"train": train["person"].unique(), "test": points["tester"].unique()}
    counts = {"frames": {"train": train.height, "test": points.height}}
    return [
        people_table(on_disk.read_people(data), splits, counts),
        gaze_distribution({"train": train.select(**on_disk.directions("x", "y", distance))}),
    ]


def track(settings: Settings) -> Track:
    _require_times(settings)
    return Track(
        id="near-eye-live-v1",
        title=say("Near-eye gaze, live"),
        trials=trials,
        truth=truth,
        score=on_disk.with_error,
        metrics=(
            Metric("pe_deg", "deg", "lower", mean_of_shares("error_deg", 0.5, 0.95), "PE = ½(P50 + P95)"),
            Metric("p50_deg", "deg", "lower", mean_of_shares("error_deg", 0.5), "P50"),
            Metric("p95_deg", "deg", "lower", mean_of_shares("error_deg", 0.95), "P95"),
            Metric("mean_deg", "deg", "lower", mean_of("error_deg"), say("mean")),
            Metric("misses", "points", "lower", misses, say("misses")),
        ),
        missing={"error_deg": 180.0},  # as looking the other way
        blank=blank,
        units=("tester",),
        ties=("misses",),
        stream=StreamAnswers(sittings=lambda data: stream(data, settings), hear=hear, person=PERSON),
        dataset=Dataset(
            make=make,
            describe=describe,
            hidden=("truth", "test", CAPTURES),  # the pictures too: they are broadcast, and not given out beforehand
        ),
        display=Display(
            error="error_deg",
            groups=("glasses",),
            charts=charts,
            direction=("yaw_deg", "pitch_deg"),
            picture=picture,
            pictured=sentences(say("Green: where the person looked."), say("Orange: the answer.")),
        ),
        settings=RuleSettings(settings, track),
    )


def _require_times(settings: Settings) -> None:
    least = {"deadline_s": 0.001, "every_s": 0.001, "window_s": 0.0}
    for name, lowest in least.items():
        found = getattr(settings, name)
        if not lowest <= found < math.inf:
            raise PalestraError(
                say(
                    "near-eye-live-v1, {name}: found {found}, expected seconds, {lowest:g} or more.",
                    name=name,
                    found=found,
                    lowest=lowest,
                )
            )


TRACK = track(Settings())
