"""Runs a bundle that answers a data set: `python predict.py DATA OUT`, in the sandbox.

DATA is the contestant's view of the data set, read-only: a folder of its own, in which what the track hides is not.
OUT is one file, and the only thing that the program can write beside temporary files; the kernel bounds its size.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from palestra.datasets import redact
from palestra.entrants import bundle
from palestra.errors import PalestraError
from palestra.records import Track
from palestra.sandbox.launch import PYTHON, Backend, Limits, Sees, plan
from palestra.sandbox.running_program import Running
from palestra.scoring import score
from palestra.text import Words, say

PREFIX = ".predicting-"  # of places in which a bundle runs, beside the data
PROGRAMS = ("predict.py", "Algorithm/predict.py")  # the first of them that is there
LIMITS = Limits(memory_bytes=8 << 30, cpu_s=4 * 3600.0, wall_s=3600.0, tmp_bytes=1 << 30)  # the last is OUT's, too
READABLE = 0o444


@dataclass(frozen=True)
class Ran:
    """A program that came to its end."""

    failed: Words  # why it wrote nothing that can be used; empty if it did
    output: str  # what it printed
    answers: Path  # what it wrote


@contextmanager
def predicted(
    track: Track, data: Path, source: Path, backend: Backend, scratch: Path, limits: Limits = LIMITS
) -> Iterator[Ran]:
    """Run a bundle on a data set; what it wrote is there as long as this is. `scratch` is a folder on the data's disk.

    Raises Refused for what is no such bundle, and PalestraError where its wheels cannot be installed.
    """
    with bundle.place(PREFIX, scratch) as home:
        answers = home / f"answers{track.suffix}"
        program = bundle.copy(source, home / "bundle", PROGRAMS, " or ".join(PROGRAMS))
        site = bundle.installed(backend, home)
        lay_out(track, data, home / "data")
        answers.touch()
        sees = Sees(home / "bundle", site, data=home / "data", answer=answers)
        yield _run(backend, sees, program, limits)


def _run(backend: Backend, sees: Sees, program: str, limits: Limits) -> Ran:
    try:
        order = plan(backend, (), sees, limits)
    except PalestraError as error:  # what it is to see was made by us
        raise RuntimeError(str(error)) from error
    told = order.environment
    command = [PYTHON, program, told["PALESTRA_DATA"], told["PALESTRA_ANSWER"]]
    assert sees.answer is not None
    with Running(order._replace(command=command), None) as running:
        running.wait()
        report = running.report
        if report is None or report.cause == "broken":
            raise RuntimeError(f"The sandbox could not run a bundle: {running.why()}")
        failed, output = Words(), running.output
        if report.cause != "ended" or report.code:
            failed = say("{program} {why}", program=program, why=running.why())
    if not failed and not sees.answer.stat().st_size:
        failed = say("{program} ended without writing anything to OUT", program=program)
    return Ran(failed, output, sees.answer)


def lay_out(track: Track, data: Path, folder: Path) -> None:
    """The contestant's view of a data set as a folder: its files under a second name, or copies where that is not
    possible. Refuses to make one from which the truth can be read."""
    folder.mkdir()
    partly = redact.shown_in_part(track, data)
    for path in redact.shown(track, data):
        place = path.relative_to(data)
        if any(part.startswith(".") for part in place.parts):  # .git and its like, in which anything may lie
            continue
        (folder / place if path.is_dir() else (folder / place).parent).mkdir(parents=True, exist_ok=True)
        content = partly.get(place)
        if content is not None:
            (folder / place).write_bytes(content)
            (folder / place).chmod(READABLE)
        elif path.is_file():
            _put(path.resolve(), folder / place)
    for inside in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        inside.chmod(0o755)
    if track.dataset.hidden:
        _require_no_truth(track, folder)


def _put(file: Path, target: Path) -> None:
    if file.stat().st_mode & READABLE == READABLE:  # the program has another user
        try:
            os.link(file, target)
            return
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOTSUP):
                raise
    shutil.copyfile(file, target)
    target.chmod(READABLE)


def _require_no_truth(track: Track, view: Path) -> None:
    """The only sure check: the track, asked for the truth of what the program would see, must have none."""
    try:
        score.load(track, view)
    except (PalestraError, OSError):
        return
    hidden = " or ".join(track.dataset.hidden)
    raise RuntimeError(f"The truth of {track.id} can be read from what contestants see: keep it in {hidden} alone.")
