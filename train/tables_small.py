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

SEEDS = (0, 11)  # the first is the data set that commands take where none is named; the other has another headset
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


def value_of(track_id: str, name: str, data: Path, out: Path) -> float:
    """The ranking metric of a solution, from pictures to score. Its answers are left in the folder `out`."""
    track, solution = registry.track(track_id), registry.solution(track_id, name)
    out = out / f"{data.name}-{name}{track.suffix}"
    solve.solve(track, solution, data, {}, out)
    sheet = score.load(track, data)
    found = score.score(track, sheet, collect(track, out, sheet.trials), name)
    return found.result.metrics[track.ranks.name].value


def tables(work: Path, size: str) -> dict[str, str]:
    rows = []
    for track_id, name in SOLUTIONS:
        if ready(track_id, name):
            track = registry.track(track_id)
            data = [made(track, "tiny", work, seed, pictures=True) for seed in SEEDS]
            values = [f"{value_of(track_id, name, one, work):.3f}" for one in data]
            rows.append([f"{track_id} `{name}`", track.ranks.name, *values])
    return {"small": markdown(["solution", "measure", *(f"tiny, seed {seed}" for seed in SEEDS)], rows)}
