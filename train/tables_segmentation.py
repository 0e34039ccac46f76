"""Tables 5 and 7 of the OpenEDS 2020 paper and the pairs of its Figure 5, for the answers in docs/predictions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra import registry
from palestra.datasets.order import rng_for
from palestra.eyes.cohort import flipped
from palestra.eyes.simulator.renderer import Renderer
from palestra.records import Order
from palestra.report.images import beside, overlay
from palestra.scoring.score import Scored
from palestra.tracks.eye_segmentation import format as openeds
from palestra.tracks.eye_segmentation import maker
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
SHOWN, GAP = 6, 6  # frames in the picture of pairs, and pixels between them
Image = NDArray[Any]


def tables(work: Path, size: str, answers: Path = PREDICTIONS) -> dict[str, str]:
    track = registry.track(TRACK)
    found = scored(track, made(track, size, work), [*ENTRIES, ALONE], answers)
    if not found:
        return dict.fromkeys(("segmentation winners", "segmentation classes"), NOTHING)
    note_scores(ENTRIES, found)
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
    strips = [beside(*_strip(trial, {title: rows[title][trial] for title in shown}, order)) for trial in picked]
    across = [beside(*strips[at : at + 2], gap=4 * GAP) for at in range(0, len(strips), 2)]
    space = np.full((GAP, across[0].shape[1], 3), 255, np.uint8)
    file.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(file), np.vstack([part for row in across for part in (row, space)][:-1])[..., ::-1],
                [cv2.IMWRITE_JPEG_QUALITY, 88])  # fmt: skip


def _strip(trial: str, answers: Mapping[str, Mapping[str, Any]], order: Order) -> list[Image]:
    image, first = _picture(trial, order), next(iter(answers.values()))
    masks = {"true": openeds.open_mask(first["truth_file"], first["truth_key"])}
    for title, row in answers.items():
        masks[f"{title} {row['iou_image']:.3f}"] = openeds.open_mask(row["mask_file"], row["mask_key"])
    return [_named(overlay(image, mask), words) for words, mask in masks.items()]


def _named(image: Image, words: str) -> Image:
    small = cv2.resize(image, None, fx=0.4, fy=0.4, interpolation=cv2.INTER_AREA)
    (wide, high), _ = cv2.getTextSize(words, cv2.FONT_HERSHEY_SIMPLEX, 0.5, 1)
    small[-high - 2 * GAP :, : wide + 2 * GAP] = 0
    cv2.putText(small, words, (GAP, len(small) - GAP), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255,) * 3, 1, cv2.LINE_AA)
    return small


def _picture(trial: str, order: Order) -> Image:
    """Drawn anew: the data set was made without pictures."""
    name, frame = trial.removesuffix(".npy").split("/")
    (sequence,) = [one for one in maker.sequences(order) if one.name == name]
    look = maker.looks(order, sequence)[int(frame)]
    return flipped(Renderer(*maker.scene(order, sequence)).render(look, rng_for(order, "pair", trial))).image
