"""The near-eye tracks: what five frames of an eye are worth, and how well it goes live, without any.

Every seed has other people, another headset and other wearing positions. None of these seeds was looked at when the
solutions were made.
"""

import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl

from palestra import model_cards, registry
from palestra.evaluation import solve
from palestra.executors import in_processes
from palestra.live import Guests, play_live, read_live_data
from palestra.live.run import Play
from palestra.records import Track
from palestra.scoring import score
from palestra.scoring.score import Sheet
from palestra.scoring.submission import collect
from palestra.tracks.near_eye.solutions import gaze_palestra as ours
from palestra.tracks.near_eye.solutions.networks import NETWORK
from train.tables_page import markdown
from train.tables_scored import made

SEEDS = (31, 32, 33)
Job = tuple[Path, pl.DataFrame, ours.Model]


def tables(work: Path, size: str) -> dict[str, str]:
    scores: dict[str, float] = {}  # of ours, for its card
    told = {"near-eye": _offline(work, scores), "near-eye live": _live(work, scores)}
    model_cards.stamp(NETWORK, scores=scores)
    return told


def _offline(work: Path, scores: dict[str, float]) -> str:
    track = registry.track("near-eye-gaze-v1")
    rows = []
    for seed in SEEDS:
        data = made(track, "small", work, seed, pictures=True)
        sheet = score.load(track, data)
        without, with_five = (_pe(track, sheet, answers) for answers in _ours(track, data))
        pupil = _pe(track, sheet, _solved(track, "pupil", data, sheet))
        scores[f"pe_deg_small_{seed}"] = round(with_five, 4)
        rows.append([f"small, seed {seed}", *(f"{pe:.2f}°" for pe in (pupil, without, with_five)),
                     f"{without / with_five:.1f}×"])  # fmt: skip
    return markdown(["data", "`pupil`", "ours without the five", "ours with the five", "five help by"], rows)


def _pe(track: Track, sheet: Sheet, answers: pl.DataFrame) -> float:
    return score.score(track, sheet, answers, "").result.metrics[track.ranks.name].value


def _solved(track: Track, name: str, data: Path, sheet: Sheet) -> pl.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"answers{track.suffix}"
        solve.solve(track, registry.solution(track.id, name), data, {}, file)
        return collect(track, file, sheet.trials)


def _ours(track: Track, data: Path) -> Iterable[pl.DataFrame]:
    """Answers without the five frames, and with them; pictures are looked at once."""
    trials = track.trials(data)
    model = ours.fit(data, {})
    jobs = [(data, group, model) for group in trials.partition_by("person", "group", maintain_order=True)]
    found = [pair for _, pair in in_processes(_answered, jobs)]
    for which in range(2):
        answers = pl.concat(pair[which] for pair in found)
        yield trials.select("trial").join(answers, on="trial", how="left", maintain_order="left")


def _answered(job: Job) -> tuple[pl.DataFrame, ...]:
    data, group, model = job
    seen = ours.seen_of(data, group)
    points = [np.asarray(ours.answers(model, seen, calibrated)) for calibrated in (False, True)]
    return tuple(
        group.select("trial").with_columns(x=pl.Series(both[:, 0]), y=pl.Series(both[:, 1])) for both in points
    )


def _live(work: Path, scores: dict[str, float]) -> str:
    track = registry.track("near-eye-live-v1")
    rows = []
    for seed in SEEDS:
        data = made(track, "tiny", work, seed, pictures=True)
        with tempfile.TemporaryDirectory() as folder:
            order = Play(pace="fast", watched=False, trusted=True)
            played = play_live(read_live_data(track, data), Guests(["pupil", "palestra"]), order, Path(folder) / "run")
        found = [played.scored[name].result.metrics[track.ranks.name].value for name in ("pupil", "palestra")]
        scores[f"live_pe_deg_tiny_{seed}"] = round(found[1], 4)
        rows.append([f"tiny, seed {seed}", *(f"{pe:.2f}°" for pe in found)])
    return markdown(["data", "`pupil`", "ours"], rows)
