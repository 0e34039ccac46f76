"""Gaze before a screen (EYEDIAP): along which line does each eye look, seen by a camera a metre away?

One row per tested frame of a benchmark protocol; a frame that two experiments test is in it twice. A frame that is not
evaluated keeps its row, and says why.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import clip, refuse
from palestra.evaluation import CROSS_DATA, OTHER, SAME, k_fold, leave_one_out
from palestra.evaluation import protocol_data as studying
from palestra.records import (
    Dataset,
    Display,
    Experiment,
    FileAnswers,
    Metric,
    Order,
    Plan,
    Protocol,
    RuleSettings,
    Study,
    Track,
)
from palestra.reduce import Reduce, among, growth_of_means, mean_of_means
from palestra.text import Words, say, say_as, sentences, words_of
from palestra.tracks.remote_gaze import eyediap
from palestra.tracks.remote_gaze.eyediap.answers import read_answers, write_answers
from palestra.tracks.remote_gaze.eyediap.measures import POINT, RAYS, judged, measured, unanswered, with_truth
from palestra.tracks.remote_gaze.eyediap.view import without_targets

if TYPE_CHECKING:
    from palestra.records import Block, Film

BOTH_CONDITIONS = ("14", "15", "16")  # the report's text names 12 to 14; by its own table only these have both

# Under protocols and filters of their own: the same weights gave 4.65, 6.21 and 7.10° under three preprocessings.
PUBLISHED: dict[str, dict[str, dict[str, float]]] = {
    "CS": {"RecurrentGaze, static": {"error_deg": 3.38}, "UniGaze-H": {"error_deg": 4.65}},
    "FT": {"RecurrentGaze, static": {"error_deg": 5.43}, "UniGaze-H": {"error_deg": 8.13}},
}

VIDEOS: dict[eyediap.Which, str] = {"rgb_vga": "VGA", "rgb_hd": "HD", "depth": "D"}
LABELS: dict[str, Words] = {
    "experiment": say("experiment"),
    "own": say_as("experiment", "own"),
    "others": say_as("experiment", "others"),
    "elsewhere": say_as("experiment", "elsewhere"),
    "still": say_as("experiment", "still"),
    "moving": say_as("experiment", "moving"),
    "evaluation": say("evaluation"),
    "evaluated": say("evaluated"),
    "no target": say("no target"),
    "no head": say("no head"),
    "not looking": say("not looking"),
    "head pose": say("head pose"),
    "learnt from": say("learnt from"),
    "condition": say_as("recording", "condition"),
    "head": say_as("recording", "head"),
}


class Settings(msgspec.Struct, frozen=True):
    """The benchmark, and the readings that a result depends on."""

    protocol: str = "1-FT"
    train_data: str = ""  # where cross-data learns from, for the convex hull
    modality: Literal["VGA", "HD", "RGB-D"] = "VGA"  # what a program sees; told with its result
    most_yaw_deg: float = 40.0  # of a head that is evaluated
    most_pitch_deg: float = 30.0


def accuracy(target: str) -> Protocol:
    """Benchmark 1: each session with a still head by its own first half."""
    own = Experiment(name="own", learns={"piece": (SAME,)}, train="first", test="second")
    return Protocol(
        name=f"1-{target}",
        title=f"Benchmark 1, accuracy ({target}): the second half of a session by its first",
        where={"target": (target,), "head": ("S",)},
        experiments=(own,),
        ranks=("own",),
    )


def head_pose(target: str) -> Protocol:
    """Benchmark 2: what is learnt from a still head, tried on a moving one."""
    still = {"person": (SAME,), "condition": (SAME,), "head": ("S",)}
    return Protocol(
        name=f"2-{target}",
        title=f"Benchmark 2, head pose ({target}): learnt from a still head, tested on a moving one",
        where={"target": (target,)},
        experiments=(
            Experiment(name="still", tests={"head": ("S",)}, learns=still, train="first", test="second"),
            Experiment(name="moving", tests={"head": ("M",)}, learns=still, train="first"),
        ),
        ranks=("moving",),
        against=(("moving", "still"),),
        pairs=("person", "condition"),
    )


def person(target: str) -> Protocol:
    """Benchmark 3: what is learnt from other people. Without condition B, so that nobody is learnt from and tested."""
    return Protocol(
        name=f"3-{target}",
        title=f"Benchmark 3, person ({target}): learnt from all other people",
        where={"target": (target,), "head": ("S",), "condition": ("A",)},
        experiments=(
            Experiment(name="own", learns={"piece": (SAME,)}, train="first", test="second"),
            Experiment(name="others", learns={"person": (OTHER,)}, train="first", test="second"),
        ),
        ranks=("others",),
        against=(("others", "own"),),
        pairs=("person",),
    )


def conditions() -> Protocol:
    """Benchmark 4: what is learnt in one light and place, tried in another."""

    def learnt(name: str, tested: str, trained: str) -> Experiment:
        learns = {"person": (SAME,), "condition": (trained,)}
        return Experiment(name=name, tests={"condition": (tested,)}, learns=learns, train="first", test="second")

    return Protocol(
        name="4-FT",
        title="Benchmark 4, ambient conditions (FT): learnt in A, tested in B, and the reverse",
        where={"target": ("FT",), "head": ("S",), "person": BOTH_CONDITIONS},
        experiments=(
            learnt("A", "A", "A"), learnt("B-by-A", "B", "A"), learnt("B", "B", "B"), learnt("A-by-B", "A", "B"),
        ),
        ranks=("A", "B"),
        against=(("B-by-A", "A"), ("A-by-B", "B")),
        pairs=("person",),
    )  # fmt: skip


PROTOCOLS = (
    *(accuracy(target) for target in eyediap.TARGETS),
    *(head_pose(target) for target in eyediap.TARGETS),
    *(person(target) for target in eyediap.TARGETS),
    conditions(),
    leave_one_out("person"),
    k_fold(5, "person"),
    CROSS_DATA,
)


def pieces(data: Path) -> list[dict[str, str]]:
    return [
        {"piece": str(name), "person": str(name.person), "condition": name.condition, "target": name.target,
         "head": name.head}
        for name in eyediap.sessions(data)
    ]  # fmt: skip


def samples(data: Path, names: Sequence[str]) -> pl.DataFrame:
    """Every frame of the named sessions."""
    return pl.concat([_session(data, eyediap.name_of(name)) for name in names], how="vertical_relaxed")


def _session(data: Path, name: eyediap.Name) -> pl.DataFrame:
    screen = None if name.target == "FT" else eyediap.display(data)
    rows = with_truth(eyediap.frames(data, name), screen)
    about = {"piece": str(name), "session": str(name), "person": str(name.person), "condition": name.condition,
             "target": name.target, "head": name.head}  # fmt: skip
    frame = pl.col("frame").cast(pl.String)
    trial = pl.concat_str(pl.lit(str(name)), frame, separator="/")
    return rows.select(trial.alias("trial"), *(pl.lit(v).alias(k) for k, v in about.items()), pl.all())


def study(settings: Settings) -> Study:
    limits = settings.most_yaw_deg, settings.most_pitch_deg
    return Study(pieces, samples, PROTOCOLS, judge=lambda tested, learnt: judged(tested, learnt, limits))


def trials(data: Path, settings: Settings) -> pl.DataFrame:
    own = study(settings)
    rows = studying.trials(own, studying.protocol_of(own, settings.protocol), data)
    frame, tracked = pl.col("frame").cast(pl.String), pl.col("left_x").is_not_null() & pl.col("r00").is_not_null()
    return rows.select("trial", "experiment", "session", frame, "person", tracked=tracked)


def truth(data: Path, settings: Settings) -> pl.DataFrame:
    own = study(settings)
    elsewhere = Path(settings.train_data) if settings.train_data else None
    rows = studying.answer_key(own, studying.protocol_of(own, settings.protocol), data, elsewhere)
    blind = rows.group_by("session").agg(pl.col("truth_left_vx").is_null().all()).filter("truth_left_vx")
    if not blind.is_empty():
        refuse(
            say("{data}, session {sort}", data=data, sort=blind["session"].sort()[0]),
            say("no target in any tested frame"),
            say("the targets, which whoever is tested does not get"),
        )
    shown = ("yaw_deg", "pitch_deg", "head_yaw_deg", "head_pitch_deg", "evaluation", "inside_hull")
    own_columns = [name for name in rows.columns if name.startswith(studying.HIDDEN)]
    run = pl.concat_str("experiment", "session", separator="/").alias("run")
    return rows.select("trial", "experiment", "person", "condition", "head", run, *own_columns, *shown)


def in_part(data: Path, settings: Settings) -> dict[Path, bytes | None]:
    """Tracking files and annotations without what they say of tested frames."""
    tested = trials(data, settings).group_by("session", maintain_order=True).agg(pl.col("frame").cast(pl.Int32))
    return without_targets(data, {eyediap.name_of(session): set(frames) for session, frames in tested.iter_rows()})


def blank(trials: pl.DataFrame) -> pl.DataFrame:
    """The template: everybody looks straight into the camera's direction, from where the world begins."""
    values = {name: float(name.endswith("_vz")) for name in RAYS}
    points = {name: pl.lit(None, pl.Float64) for name in POINT}
    return trials.select("trial", **{name: pl.lit(value) for name, value in values.items()}, **points)


def metrics(protocol: Protocol) -> tuple[Metric, ...]:
    """What a protocol's result tells: what ranks, its parts, and how much harder the harder experiment is."""
    ranked = pl.col("experiment").is_in(list(protocol.ranks))
    told = [
        Metric("error_deg", "deg", "lower", _over_sessions("error_deg", ranked), say("angle (Eq. 8), both eyes")),
        Metric(
            "hull_error_deg", "deg", "lower", _over_sessions("error_deg", ranked & pl.col("inside_hull")),
            say("the same inside the convex hull"),
        ),
    ]  # fmt: skip
    if len(protocol.experiments) > 1:
        told += [_of_experiment(experiment.name) for experiment in protocol.experiments]
    if protocol.against:
        growth = growth_of_means("error_deg", protocol.against, protocol.pairs)
        told.append(Metric("sensitivity", "", "lower", among(_evaluated(), growth), say("R (Eq. 10)")))
    titles = {
        "left_deg": say("left eye"),
        "right_deg": say("right eye"),
        "passing_deg": say("angle (Eq. 7)"),
    }
    told += [Metric(name, "deg", "lower", _over_sessions(name, ranked), title) for name, title in titles.items()]
    passing = _over_sessions("distance_m", ranked)
    told.append(Metric("distance_m", "m", "lower", passing, say("distance (Eq. 6)")))
    if "FT" not in protocol.where.get("target", ()):
        pixels = _over_sessions("error_px", ranked)
        told.append(Metric("error_px", "px", "lower", pixels, say("pixels (Eq. 9)")))
    return tuple(told)


def _of_experiment(name: str) -> Metric:
    found = _over_sessions("error_deg", pl.col("experiment") == name)
    # In English as it is declared, so that a name stays one word.
    title = say("experiment {name}", name=Words(name, words_of(LABELS.get(name, name)).zh))
    return Metric(f"{name.lower().replace('-', '_')}_deg", "deg", "lower", found, title)


def _evaluated() -> pl.Expr:
    return pl.col("evaluation") == "evaluated"


def _over_sessions(column: str, condition: pl.Expr) -> Reduce:
    """The mean over sessions of the means over their evaluated frames."""
    return among(_evaluated() & condition & pl.col(column).is_not_null(), mean_of_means(column, "run"))


def charts(rows: pl.DataFrame) -> "list[Block]":
    """Where heads were turned that made it hard."""
    from palestra.report import direction_map

    kept = rows.filter(_evaluated() & pl.col("answered"))
    if kept.is_empty():
        return []
    yaw, pitch, error = (kept[name].to_numpy() for name in ("head_yaw_deg", "head_pitch_deg", "error_deg"))
    return [direction_map(yaw, pitch, error, say("mean angle (°)"), say("Error over head pose"))]


def describe(data: Path) -> "list[Block]":
    """The sessions that there are, and what was annotated."""
    from palestra.records import Table
    from palestra.report import column_title

    rows: list[list[str | int]] = []
    for name in eyediap.sessions(data):
        table = eyediap.frames(data, name)
        states = [table.filter(pl.col("state") == state).height for state in ("BK", "NL")]
        tracked = table.filter(pl.col("tx").is_not_null()).height
        videos = (title for which, title in VIDEOS.items() if eyediap.has_video(data, name, which))
        rows.append([str(name), name.person, table.height, tracked, *states, " + ".join(videos)])
    columns = [say_as("recording", "Session"), *map(column_title, ("person", "frames")), say("Head tracked"),
               column_title("blink"), say("Not looking"), say_as("files", "Videos")]  # fmt: skip
    return [Table(say_as("recording", "Sessions"), columns, rows)]


def picture(data: Path, row: Mapping[str, Any]) -> NDArray[np.uint8]:
    from palestra.tracks.remote_gaze.figures import picture as drawn

    *_, session, frame = str(row["trial"]).split("/")
    lines = np.array([row.get(name) for name in RAYS], np.float64).reshape(2, 2, 3)  # not a number where none is known
    return drawn(data, eyediap.name_of(session), int(frame), lines)


def still(data: Path, what: str) -> NDArray[np.uint8]:
    """A frame of a recording, named as 1_A_FT_M/443; the middle one where none is named."""
    from palestra.tracks.remote_gaze.figures import picture as drawn

    parts = what.split("/")
    session, frame = (parts[1:] if len(parts) == 3 else [*parts, ""])[:2]  # a trial begins with its experiment
    name = eyediap.name_of(session)
    count = eyediap.frame_count(data, name)
    if frame and not (frame.isdecimal() and int(frame) < count):
        refuse(
            what,
            say("frame {frame}", frame=clip(frame)),
            say(
                "a frame from 0 to {value}, as {session}/{value2}", value=count - 1, session=session, value2=count // 2
            ),
        )
    return drawn(data, name, int(frame) if frame else count // 2)


def film(data: Path, what: str) -> "Film":
    from palestra.tracks.remote_gaze.figures import film as filmed

    return filmed(data, eyediap.name_of(what))


def make(order: Order) -> Plan:
    from palestra.tracks.remote_gaze.maker import plan

    return plan(order)


def track(settings: Settings) -> Track:
    protocol = studying.protocol_of(study(settings), settings.protocol)
    return Track(
        id="remote-gaze-v1",
        title=say("Gaze before a screen"),
        trials=partial(trials, settings=settings),
        truth=partial(truth, settings=settings),
        score=measured,
        metrics=metrics(protocol),
        missing=unanswered,
        blank=blank,
        units=("person",),
        study=study(settings),
        files=FileAnswers(read=read_answers, write=write_answers),
        dataset=Dataset(make=make, describe=describe, in_part=partial(in_part, settings=settings)),
        display=Display(
            error="error_deg",
            groups=("experiment", "evaluation", "condition", "head"),
            published=PUBLISHED.get(settings.protocol.partition("-")[2], {}),
            charts=charts,
            direction=("yaw_deg", "pitch_deg"),
            picture=picture,
            pictured=sentences(say("Orange: the way to the target."), say("Blue: the answer.")),
            film=film,
            still=still,
            labels=LABELS,
        ),
        settings=RuleSettings(settings, track),
    )


TRACK = track(Settings())
