"""What the committed weights come to on a small fixed split: a table that a test makes again and compares.

The paper's size is too large for a test. This one is not for comparing solutions: a few people tell little of them.
"""

from pathlib import Path

from palestra import model_cards, registry
from palestra.evaluation import solve
from palestra.scoring import score
from palestra.scoring.submission import collect
from train.tables_page import markdown
from train.tables_scored import made

SEED = 11
# Those whose weights are in the package, and that come from files alone.
SOLUTIONS = [
    ("gaze-prediction-v1", "baseline"),
    ("gaze-prediction-v1", "palestra"),
    ("eye-segmentation-v1", "baseline"),
    ("eye-segmentation-v1", "palestra"),
    ("near-eye-gaze-v1", "palestra"),
]


def ready(track_id: str, name: str) -> bool:
    """Whether its weights are here."""
    return model_cards.is_ready(registry.solution(track_id, name))


def value_of(track_id: str, name: str, work: Path, size: str = "tiny") -> float:
    """The ranking metric of a solution, from pictures to score."""
    track, solution = registry.track(track_id), registry.solution(track_id, name)
    data = made(track, size, work, SEED, pictures=True)
    out = work / f"{track_id}-{name}{track.suffix}"
    solve.solve(track, solution, data, {}, out)
    sheet = score.load(track, data)
    found = score.score(track, sheet, collect(track, out, sheet.trials), name)
    return found.result.metrics[track.ranks.name].value


def tables(work: Path, size: str) -> dict[str, str]:
    rows = []
    for track_id, name in SOLUTIONS:
        if ready(track_id, name):
            metric = registry.track(track_id).ranks.name
            rows.append([f"{track_id} `{name}`", metric, f"{value_of(track_id, name, work):.3f}"])
    return {"small": markdown(["solution", "measure", f"tiny, seed {SEED}"], rows)}
