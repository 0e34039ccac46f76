"""Tables 4 and 6 of the OpenEDS 2020 paper, for the answers in docs/predictions."""

from collections.abc import Mapping
from pathlib import Path

from palestra import model_cards, registry
from palestra.scoring.score import Scored
from train.ship import PREDICTIONS
from train.tables_page import markdown
from train.tables_scored import NOTHING, Entry, made, note_scores, order_told, ranking, scored

TRACK = "gaze-prediction-v1"
ENTRIES = [
    Entry("baseline", "gaze_prediction_baseline", "gaze_baseline.json", 5.368),
    Entry("random_b", "gaze_prediction_random_b", "gaze_random-b.json", 3.078),
    Entry("EyMazing", "gaze_prediction_eymazing", "gaze_eymazing.json", 3.313),
    Entry("Konovalov", "gaze_prediction_konovalov", "gaze_konovalov.json", 3.347),
    Entry("ours", "gaze_prediction_palestra", "gaze_palestra.json"),
]
# Table 4 of the paper: of each step, and of all: PE, p50, p75, p95.
PUBLISHED = {
    "1": (5.28, 4.56, 6.73, 11.89),
    "2": (5.32, 4.57, 6.79, 11.99),
    "3": (5.37, 4.61, 6.83, 12.13),
    "4": (5.41, 4.63, 6.87, 12.30),
    "5": (5.46, 4.65, 6.92, 12.48),
    "": (5.37, 4.60, 6.83, 12.16),
}
PUBLISHED_ESTIMATION_DEG = 4.58  # of the baseline's network, on validation people
METRICS = ("pe_deg", "p50_deg", "p75_deg", "p95_deg")


def tables(work: Path, size: str, answers: Path = PREDICTIONS) -> dict[str, str]:
    track = registry.track(TRACK)
    found = scored(track, made(track, size, work), ENTRIES, answers)
    if not found:
        return dict.fromkeys(("gaze winners", "gaze estimators", "gaze steps", "gaze movements"), NOTHING)
    note_scores(ENTRIES, found)
    return {
        "gaze winners": ranking(track, ENTRIES, found, 3) + f"\n\n{order_told(ENTRIES, found, track)}",
        "gaze estimators": _estimators(),
        "gaze steps": _steps(found),
        "gaze movements": _movements(found),
    }


def _estimators() -> str:
    """How far each estimator is off in single pictures of validation people, before anything is predicted."""
    rows = []
    for entry in ENTRIES:
        known = model_cards.card(entry.weights).checked
        published = f"{PUBLISHED_ESTIMATION_DEG:.2f}" if entry.title == "baseline" else ""
        names = ("estimation_deg", "calibrated_deg", "validation_pe_deg")
        rows.append([entry.title, published, *(f"{known[name]:.2f}" if name in known else "" for name in names)])
    head = ["solution", "published", "single pictures", "after its own calibration", "PE of validation people"]
    return markdown(head, rows)


def _steps(found: Mapping[str, Scored]) -> str:
    shown = [title for title in ("baseline", "ours") if title in found]
    rows = []
    for step, published in PUBLISHED.items():
        here = [_numbers(found[title], "step", step) for title in shown]
        cells = [" / ".join(f"{value:.2f}" for value in four) for four in (published, *here)]
        rows.append([f"{step} ({step}0 ms)" if step else "average", *cells])
    return markdown(["step", "baseline, published", *(f"{title}, here" for title in shown)], rows)


def _movements(found: Mapping[str, Scored]) -> str:
    some = next(iter(found.values()))
    kinds = [row["movement"] for row in some.result.by["movement"]]
    rows = [[title, *(f"{_numbers(one, 'movement', kind)[0]:.2f}" for kind in kinds)] for title, one in found.items()]
    return markdown(["solution", *kinds], rows)


def _numbers(one: Scored, group: str, name: str) -> list[float]:
    """PE and its percentiles within a group, or of all."""
    if not name:
        return [one.result.metrics[metric].value for metric in METRICS]
    (row,) = [row for row in one.result.by[group] if str(row[group]) == name]
    return [row[metric] for metric in METRICS]
