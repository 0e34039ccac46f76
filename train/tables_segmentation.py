"""Tables 5 and 7 of the OpenEDS 2020 paper and the pairs of its Figure 5, for the answers in docs/predictions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra import registry
from palestra.formats import openeds_segmentation as openeds
from palestra.makers import openeds_segmentation as maker
from palestra.makers.common import flipped, rng_for
from palestra.pictures import overlay
from palestra.records import Order
from palestra.scoring import Scored
from palestra.worlds.eye import Renderer
from train.ship import PREDICTIONS
from train.tables_page import markdown
from train.tables_scored import NOTHING, Entry, made, note_scores, order_told, ranking, scored

TRACK = "eye-segmentation-v1"
ENTRIES = [
    Entry("baseline", "eye_segmentation_baseline", "segmentation_baseline.zip", 0.841),
    Entry("BTS Digital", "eye_segmentation_bts_digital", "segmentation_bts_digital.zip", 0.9517),
    Entry("tetelias", "eye_segmentation_tetelias", "segmentation_tetelias.zip", 0.9512),
    Entry("JHU", "eye_segmentation_jhu", "segmentation_jhu.zip", 0.9502),
    Entry("ours", "eye_segmentation_palestra", "segmentation_palestra.zip"),
]
# The same network without what the sequence adds: not a solution of its own, so it has no card.
ALONE = Entry("ours, frame by frame", "", "segmentation_palestra_alone.zip")
PUBLISHED = (0.841, 0.971, 0.674, 0.882, 0.835)  # Table 5: the baseline's mean, and each class
METRICS = ("miou", *(f"iou_{name}" for name in openeds.CLASSES))
PAIRS = Path("docs/images/eye-pairs.jpg")
SHOWN = 6  # frames in the picture of pairs
Image = NDArray[Any]


def tables(work: Path, size: str, answers: Path = PREDICTIONS) -> dict[str, str]:
    track = registry.track(TRACK)
    found = scored(track, made(track, size, work), [*ENTRIES, ALONE], answers)
    if not found:
        return dict.fromkeys(("segmentation winners", "segmentation classes"), NOTHING)
    note_scores(ENTRIES, found, 4)
    draw_pairs(found, Order(size=size), PAIRS if size == "paper" else work / PAIRS.name)
    return {
        "segmentation winners": ranking(track, ENTRIES, found, 4) + f"\n\n{order_told(ENTRIES, found, track)}",
        "segmentation classes": _classes(found),
    }


def _classes(found: Mapping[str, Scored]) -> str:
    rows = [["baseline, published", *(f"{value:.3f}" for value in PUBLISHED)]]
    for title, one in found.items():
        rows.append([title, *(f"{one.result.metrics[name].value:.3f}" for name in METRICS)])
    return markdown(["solution", "mean", *openeds.CLASSES], rows)


def draw_pairs(found: Mapping[str, Scored], order: Order, file: Path) -> None:
    """The true mask beside what the baseline and ours say, of frames from the baseline's best to its worst."""
    shown = [title for title in ("baseline", "ours") if title in found]
    if not shown:
        return
    rows = {title: {row["trial"]: row for row in found[title].rows.to_dicts()} for title in shown}
    ordered = sorted(rows[shown[0]].values(), key=lambda row: -row["iou_image"])
    picked = [ordered[round(at)]["trial"] for at in np.linspace(0, len(ordered) - 1, SHOWN)]
    strips = [np.hstack(_strip(trial, [rows[title][trial] for title in shown], order)) for trial in picked]
    across = [np.hstack(strips[at : at + 2]) for at in range(0, len(strips), 2)]
    file.parent.mkdir(parents=True, exist_ok=True)
    small = cv2.resize(np.vstack(across), None, fx=0.4, fy=0.4, interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(file), small[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 88])


def _strip(trial: str, answers: Sequence[Mapping[str, Any]], order: Order) -> list[Image]:
    image = _picture(trial, order)
    true = openeds.open_mask(answers[0]["truth_file"], answers[0]["truth_key"])
    masks = [true, *(openeds.open_mask(row["mask_file"], row["mask_key"]) for row in answers)]
    return [overlay(image, mask) for mask in masks]


def _picture(trial: str, order: Order) -> Image:
    """Drawn anew: the data set was made without pictures."""
    name, frame = trial.removesuffix(".npy").split("/")
    (sequence,) = [one for one in maker.sequences(order) if one.name == name]
    look = maker.looks(order, sequence)[int(frame)]
    return flipped(Renderer(*maker.scene(order, sequence)).render(look, rng_for(order, "pair", trial))).image
