"""A small benchmark for tests: four people before the ball, and the learners of tests/evaluation/learners.py."""

from collections import Counter
from pathlib import Path

import polars as pl

from palestra import registry
from palestra.evaluation import run
from palestra.evaluation.run import Bench, Contender
from palestra.executors.processes import Executor
from tests.tracks.remote_gaze.sessions import write_sessions

LEARNERS = Path(__file__).parent / "learners.py"
PEOPLE = (1, 2, 14, 15)
SESSIONS = [f"{person}_A_FT_S" for person in PEOPLE]
TRACK = "remote-gaze-v1"


def write_data(folder: Path) -> Path:
    return write_sessions(folder, SESSIONS)


def bench_on(data: Path, protocol: str = "1-FT", **words: object) -> Bench:
    return run.bench_of(registry.track(TRACK), protocol, data, **words)  # type: ignore[arg-type]


def learner(name: str, file: Path = LEARNERS, **options: object) -> Contender:
    changes = {key: str(value) for key, value in options.items()}
    return run.contender(registry.track(TRACK), f"{file}:{name}", changes)


def answered(bench: Bench, who: Contender, executor: Executor, kept: Path, fresh: bool = False) -> pl.DataFrame:
    return run.answers(bench, who, executor, kept, lambda count: None, fresh)


def noted(folder: Path, kind: str) -> Counter[str]:
    """What learners noted of one kind, and how often."""
    words = (file.read_text().split(" ", 1) for file in folder.iterdir())
    return Counter(rest for first, rest in words if first == kind)
