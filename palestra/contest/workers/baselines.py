"""Reference solutions on a contest's board, unranked: run by a worker, then checked and scored like any submission."""

import os
import tempfile
import zipfile
from pathlib import Path

from palestra import registry
from palestra.contest.log import events as e
from palestra.contest.log import new_id
from palestra.contest.rules import track_of
from palestra.contest.storage import Files
from palestra.contest.workers.score import Assignment, Outcome, data_of
from palestra.datasets import LONG_AGO
from palestra.entrants import PROGRAM
from palestra.evaluation import solve as solving
from palestra.parallel import WORKERS


def solve(assignment: Assignment) -> Outcome:
    """Run a reference solution on a phase's data; what it hands in."""
    os.environ[WORKERS] = "1"  # this process is one of several already
    track = track_of(assignment.phase)
    solution = registry.solution(track.id, assignment.name)
    with tempfile.TemporaryDirectory() as folder:
        if track.live:
            file = Path(folder) / f"{solution.name}.zip"
            write_bundle(str(solution.plays), file)
        else:
            file = Path(folder) / f"{solution.name}{track.suffix}"
            solving.solve(track, solution, data_of(assignment), {}, file)
        size, digest = file.stat().st_size, Files.open(assignment.files).put_file(file)
    made = e.SubmissionMade(new_id("s"), "", assignment.phase.id, digest, file.name, size, solution.name)
    return Outcome((made,))


def write_bundle(plays: str, file: Path) -> None:
    module, _, name = plays.partition(":")
    with zipfile.ZipFile(file, "w") as out:
        out.writestr(zipfile.ZipInfo(PROGRAM, LONG_AGO), f"from {module} import {name} as MyAlgorithm\n")
