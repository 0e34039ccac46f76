"""Sparse eye segmentation (OpenEDS 2020): label every frame of a sequence from the few that are labelled.

One row per unlabelled frame. Contestants answer all of them; the few with a hidden label are scored.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import Faults, Refused, UnknownName
from palestra.evaluation import CROSS_DATA, k_fold, leave_one_out
from palestra.metrics.bootstrap import unit_sums
from palestra.metrics.iou import count_overlap, iou, mean_iou_global, mean_iou_image
from palestra.parallel import usable_cores
from palestra.records import Dataset, Display, Draws, FileAnswers, Metric, Order, Plan, RuleSettings, Study, Track
from palestra.reduce import Reduce, mean_of
from palestra.text import message, say
from palestra.tracks.eye_segmentation import format as openeds
from palestra.tracks.eye_segmentation.masks import encode_mask

if TYPE_CHECKING:
    from palestra.records import Block, Film

IOU_OF = {
    "background": message("IoU of background"), "sclera": message("IoU of sclera"), "iris": message("IoU of iris"),
    "pupil": message("IoU of pupil"),
}  # fmt: skip
COUNTS = tuple(f"{kind}_{name}" for kind in ("both", "true", "found") for name in openeds.CLASSES)


class Settings(msgspec.Struct, frozen=True):
    """Readings of the rules that an organiser may change."""

    rank_by: Literal["global", "image"] = "global"  # one confusion over all frames, or the mean over frames


def trials(data: Path) -> pl.DataFrame:
    frames = openeds.read_frames(data).filter(~pl.col("labelled"))
    name = pl.format("{}/{}.npy", "sequence", "frame")
    return frames.select(name.alias("trial"), "sequence", "frame")


def truth(data: Path) -> pl.DataFrame:
    rows = openeds.read_hidden(data).rename({"mask_file": "truth_file", "mask_key": "truth_key"})
    return _with_people(data, rows.with_columns(sequence=pl.col("trial").str.split("/").list.first()))


def _with_people(data: Path, rows: pl.DataFrame) -> pl.DataFrame:
    """Who is seen, where the data set tells."""
    about = openeds.read_metadata(data)
    if about is None:
        return rows
    known = [name for name in ("person", "sex", "glasses", "eye_colour") if name in about.columns]
    return rows.join(about.select("sequence", *known), on="sequence", how="left", maintain_order="left")


# --- the labels that are given, for benchmark protocols


def pieces(data: Path) -> list[dict[str, str]]:
    """Sequences with given labels, and who is seen in them, where the data set tells."""
    frames = openeds.read_frames(data).filter("labelled").unique("sequence", maintain_order=True)
    rows = _with_people(data, frames.select("sequence"))
    known = [name for name in ("sequence", "person") if name in rows.columns]
    return [{"piece": row["sequence"], **row} for row in rows.select(known).to_dicts()]


def samples(data: Path, names: Sequence[str]) -> pl.DataFrame:
    """The frames with a given label; what is given is hidden while they are tested."""
    frames = openeds.read_frames(data).filter("labelled").partition_by("sequence", as_dict=True)
    rows = pl.concat([frames[name,] for name in names]).drop("labelled")
    label = pl.format("{}/label_{}.npy", "sequence", "frame")
    place = str(openeds.release(data) / "participant")
    trial = pl.format("{}/{}.npy", "sequence", "frame").alias("trial")
    rows = rows.select(trial, pl.all(), piece="sequence", truth_file=pl.lit(place), truth_key=label)
    return _with_people(data, rows)


STUDY = Study(pieces, samples, (k_fold(5, "sequence"), leave_one_out("person"), CROSS_DATA))


def score(rows: pl.DataFrame) -> pl.DataFrame:
    """How many pixels of each class are true, found, and both; IoU of each frame."""
    places = rows.select("truth_file", "truth_key", "mask_file", "mask_key").rows()

    def count(place: tuple[str, str, str, str]) -> NDArray[np.int64]:
        both, true, found = count_overlap(openeds.open_mask(*place[:2]), openeds.open_mask(*place[2:]))
        return np.concatenate((both, true, found))

    return _with_counts(rows, np.array(_each(count, places)))


def missed(rows: pl.DataFrame) -> pl.DataFrame:
    """No mask finds nothing: every true pixel is lost."""

    def count(place: tuple[str, str]) -> NDArray[np.int64]:
        areas = np.bincount(openeds.open_mask(*place).ravel(), minlength=len(openeds.CLASSES))
        return np.concatenate((np.zeros_like(areas), areas, np.zeros_like(areas)))

    return _with_counts(rows, np.array(_each(count, rows.select("truth_file", "truth_key").rows())))


def inspect(rows: pl.DataFrame) -> None:
    """Open each mask: what is wrong in it is raised."""
    _each(lambda place: openeds.open_mask(*place) is None, rows.select("mask_file", "mask_key").rows())


def content(rows: pl.DataFrame) -> pl.DataFrame:
    """Digests of the masks in place of where they lie: a digest of rows must not depend on a folder's name."""
    for kind in {"mask", "truth"} & {name.removesuffix("_file") for name in rows.columns}:
        places = rows.select(f"{kind}_file", f"{kind}_key").rows()
        digests = [sha256(openeds.stored_bytes(*place)).hexdigest() for place in places]
        rows = rows.drop(f"{kind}_file", f"{kind}_key").with_columns(pl.Series(f"{kind}_digest", digests, pl.String))
    return rows


def apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """The share of pixels that are of another class."""
    first, second = (openeds.open_mask(row["mask_file"], row["mask_key"]) for row in (one, other))
    return float((first != second).mean())


def _each(work: Any, places: list[Any]) -> list[Any]:
    """Work on masks in threads (decoding leaves Python's lock); the faults of all are raised together."""
    faults = Faults()

    def guarded(place: Any) -> Any:
        try:
            return work(place)
        except Refused as refusal:
            return refusal

    cores = usable_cores()
    shares = [places[i::cores] for i in range(cores)]
    outcomes: list[Any] = [None] * len(places)
    with ThreadPoolExecutor(cores) as pool:
        # One task per core: handing over each mask would cost as much as counting it.
        for i, done in enumerate(pool.map(lambda share: [guarded(place) for place in share], shares)):
            outcomes[i::cores] = done
    for outcome in outcomes:
        if isinstance(outcome, Refused):
            faults.absorb(outcome)
    faults.finish()
    return outcomes


def _with_counts(rows: pl.DataFrame, counts: NDArray[np.int64]) -> pl.DataFrame:
    counts = counts.reshape(rows.height, len(COUNTS))
    both, true, found = np.split(counts, 3, axis=1)
    mean = mean_iou_image(both, true, found)
    columns = {name: counts[:, i] for i, name in enumerate(COUNTS)}
    return rows.with_columns(**columns, iou_image=mean, loss=1 - mean)


def _sums(rows: pl.DataFrame, draws: Draws) -> list[NDArray[np.float64]]:
    """Pixels of each class that are both, true and found, over all rows of each resample: (resamples, classes)."""
    sums = unit_sums(rows.select(COUNTS).to_numpy(), draws.unit_of, draws.weights.shape[1])
    return np.split(draws.weights @ sums, 3, axis=1)


def miou(rows: pl.DataFrame, draws: Draws) -> NDArray[np.float64]:
    """Mean over the classes that the truth has."""
    return mean_iou_global(*_sums(rows, draws))


def class_iou(number: int) -> Reduce:
    def reduce(rows: pl.DataFrame, draws: Draws) -> NDArray[np.float64]:
        # A class that neither truth nor answer has is found perfectly.
        return np.nan_to_num(iou(*_sums(rows, draws))[:, number], nan=1.0)

    return reduce


def write(answers: pl.DataFrame, file: Path) -> None:
    openeds.write_submission(answers.select("trial", "mask_file", "mask_key").iter_rows(), file)


def blank(trials: pl.DataFrame) -> pl.DataFrame:
    """The template: nothing but background."""
    nothing = encode_mask(np.zeros(openeds.SHAPE, np.uint8))
    return trials.select("trial", mask_file=pl.lit(openeds.INLINE), mask_key=pl.lit(nothing))


def picture(data: Path, row: Mapping[str, Any]) -> NDArray[np.uint8]:
    """The frame with the true mask and with the answer laid over it."""
    from palestra.report import beside, overlay, read_image

    sequence, name = str(row["trial"]).split("/")[-2:]  # an experiment of a protocol may stand before it
    image = read_image(openeds.image_file(data, sequence, int(Path(name).stem)))
    masks = [openeds.open_mask(row["truth_file"], row["truth_key"])]
    if row["mask_key"]:
        masks.append(openeds.open_mask(row["mask_file"], row["mask_key"]))
    return beside(image, *(overlay(image, mask) for mask in masks))


def film(data: Path, what: str) -> "Film":
    """A sequence, named as S_3: every frame, with its label laid over it where one is given."""
    from palestra.records import Film
    from palestra.report import beside, overlay, read_image

    rows = openeds.read_frames(data).filter(pl.col("sequence") == what)
    if rows.is_empty():
        raise UnknownName(say("sequence"), what, openeds.read_frames(data)["sequence"].unique())

    def draw(frame: int, labelled: bool) -> NDArray[np.uint8]:
        image = read_image(openeds.image_file(data, what, frame))
        return beside(image, overlay(image, openeds.read_label(data, what, frame)) if labelled else image)

    return Film((draw(*row) for row in rows.select("frame", "labelled").iter_rows()), openeds.RATE_HZ)


def make(order: Order) -> Plan:
    from palestra.tracks.eye_segmentation.maker import plan

    return plan(order)


def describe(data: Path) -> "list[Block]":
    from palestra.report import label_ratio, people_table

    frames = openeds.read_frames(data)
    about = openeds.read_metadata(data)
    people = None if about is None else about.unique("person")
    counts = {"frames": frames.height, "given labels": int(frames["labelled"].sum()),
              "sequences": frames["sequence"].n_unique()}  # fmt: skip
    splits = {} if people is None else {"all": people["person"]}
    return [people_table(people, splits, {name: {"all": count} for name, count in counts.items()}), label_ratio(frames)]


def track(settings: Settings) -> Track:
    over_all = Metric("miou", "", "higher", miou, say("mIoU, one confusion over all frames"))
    per_image = Metric("miou_image", "", "higher", mean_of("iou_image"), say("mIoU, mean over frames"))
    first = (over_all, per_image) if settings.rank_by == "global" else (per_image, over_all)
    classes = tuple(
        Metric(f"iou_{name}", "", "higher", class_iou(number), say(IOU_OF[name]))
        for number, name in enumerate(openeds.CLASSES)
    )
    return Track(
        id="eye-segmentation-v1",
        title=say("Sparse eye segmentation"),
        trials=trials,
        truth=truth,
        score=score,
        metrics=(*first, *classes),
        missing=missed,
        blank=blank,
        units=("person", "sequence"),
        chunk=256,
        study=STUDY,
        files=FileAnswers(
            read=openeds.read_submission,
            write=write,
            suffix=".json",
            most_bytes=openeds.most_bytes,
            inspect=inspect,
            content=content,
            apart=apart,
        ),
        dataset=Dataset(
            make=make,
            describe=describe,
            # Where the release keeps its labels, in a folder or beside it.
            hidden=(
                "truth",
                "test_GT",
                f"{openeds.RELEASE}/test_GT",
                openeds.PICKLE,
                f"{openeds.RELEASE}/{openeds.PICKLE}",
            ),
        ),
        display=Display(
            error="loss",
            groups=("sequence", "glasses", "sex", "eye_colour"),
            published={
                "baseline": dict(
                    zip(
                        ("miou", *(f"iou_{name}" for name in openeds.CLASSES)),
                        (0.841, 0.971, 0.674, 0.882, 0.835),
                        strict=True,
                    )
                ),
                "BTS Digital": {"miou": 0.9517},
                "tetelias": {"miou": 0.9512},
                "JHU": {"miou": 0.9502},
            },
            picture=picture,
            pictured=say("From the left: the picture, the true mask, the answer."),
            film=film,
        ),
        settings=RuleSettings(settings, track),
    )


TRACK = track(Settings())
