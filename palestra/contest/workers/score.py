"""What workers do with one submission: check it, score it. Runs in a process of its own, knows no database."""

import os
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from palestra import registry
from palestra.contest.boards import public_part, rankable
from palestra.contest.log import events as e
from palestra.contest.rules import Phase, track_of
from palestra.contest.storage import Files, is_full
from palestra.contest.workers import copies
from palestra.errors import PalestraError, Refused
from palestra.metrics.bootstrap import MIN_UNITS
from palestra.records import Track
from palestra.scoring import Scored, Sheet, collect, score_file
from palestra.scoring import score as scoring
from palestra.text import Words, say, words_of

if TYPE_CHECKING:
    from palestra.report import page as report

MESSAGE = 2_000  # characters of what a contestant is told


class Other(msgspec.Struct, frozen=True):
    """Another team's submission, that this one is compared with."""

    submission: str
    fingerprint: str  # digest
    baseline: bool = False  # of the organiser


class Entrant(msgspec.Struct, frozen=True):
    """A bundle that takes part in a live run."""

    submission: str
    team: str  # its name
    file: str  # digest
    name: str  # of the file
    team_id: str = ""  # empty for a baseline


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """One job with all that is needed to do it."""

    kind: str
    attempt: int
    phase: Phase
    home: str  # the contest's folder, which its data lies in
    files: str  # where the file store is
    submission: str = ""
    team: str = ""  # its name
    file: str = ""
    name: str = ""
    rescoring: str = ""
    others: tuple[Other, ...] = ()
    run: str = ""  # a live run on the stage
    entries: tuple[Entrant, ...] = ()  # who takes part in it
    database: str = ""  # where it says how it goes
    of: str = ""  # the submission that a bundle is to reproduce
    answers: str = ""  # digest of what that was: a file, or the recording of a live track; also when that is re-scored
    answers_name: str = ""


class Failure(msgspec.Struct, frozen=True):
    """Why nothing came of it: by whose fault, and what each side is told."""

    fault: Literal["platform", "contestant"]
    message: Words  # for the contestant
    trace: str  # for the organiser
    slip: str = ""  # for the organiser: where the challenge's own code failed, and what to do
    full: bool = False  # a disk had no room


class Outcome(msgspec.Struct, frozen=True):
    """What is to be written down."""

    bodies: tuple[e.Body, ...] = ()
    failure: Failure | None = None


def guarded(work: Callable[[Assignment], Outcome], assignment: Assignment) -> Outcome:
    """What a contestant's input brings about is theirs, anything else is ours: the challenge's own code, too."""
    try:
        with our_part():  # a challenge that cannot be loaded any longer
            track_of(assignment.phase)
        return work(assignment)
    except PalestraError as error:
        return Outcome(failure=Failure("contestant", words_of(error.text).cut(MESSAGE), traceback.format_exc()))
    except Exception as error:
        slip, trace = registry.slip_of(error), traceback.format_exc()
        told = f"{slip}\n\n{trace}" if slip else trace
        return Outcome(failure=Failure("platform", OUR_FAULT, told, slip[:MESSAGE], is_full(error)))


class OursToMend(RuntimeError):
    """Something of the organiser's is broken. What it says is not for contestants."""


@contextmanager
def our_part(but: tuple[type[PalestraError], ...] = ()) -> Iterator[None]:
    """What fails in here is no contestant's fault, though an error in words may say what it was."""
    try:
        yield
    except but:
        raise
    except PalestraError as error:
        raise OursToMend(str(error)) from error


OUR_FAULT = say("Something failed on our side. It does not count against your quota, and the organiser has been told.")


def score(assignment: Assignment) -> Outcome:
    """Score a file and keep what came of it."""
    track, sheet = track_of(assignment.phase), sheet_of(assignment)
    with submitted(assignment) as file:
        answers = collect(track, file, sheet.trials, assignment.phase.allow_missing)
        with our_part(but=(Refused,)):
            scored = scoring.score(track, sheet, answers, assignment.team)
        with our_part():
            marks = copies.fingerprint(track, answers)
            return Outcome(tuple(made(assignment, track, scored, marks)))


def made(assignment: Assignment, track: Track, scored: Scored, marks: copies.Fingerprint | None) -> Iterator[e.Body]:
    """The events of a submission that was scored, with everything that they name put into the file store."""
    files = Files.open(assignment.files)
    shown = public_part.shown(assignment.phase, track, scored)
    with our_part():
        result = rankable(assignment.phase, track, scored.result)
        part = rankable(assignment.phase, track, shown.result) if shown else None
    kept = {"scores": files.put(_parquet(scored))}
    if marks:
        kept["fingerprint"] = files.put(copies.encode(marks))
    yield e.ResultMade(
        assignment.submission,
        assignment.attempt,
        result.metrics,
        result=files.put(msgspec.json.encode(part or result)),
        draws=_draws(files, track, scored),
        shown=part.metrics if part else {},
        shown_draws=_draws(files, track, shown) if shown else "",
        files=kept,
        rescoring=assignment.rescoring,
    )
    if marks and not assignment.rescoring:
        yield from _copies(files, assignment, marks)


def write_report(assignment: Assignment) -> Outcome:
    """The pages of a result, from the scores of its trials."""
    from palestra.report import page as report  # with OpenCV, which a result need not wait for

    files, track = Files.open(assignment.files), track_of(assignment.phase)
    with files.local(assignment.file, "scores.parquet") as file:
        scored = score_file.load(file)
    figures, part = report.figures_of(track, scored), public_part.shown(assignment.phase, track, scored)
    full = _page(files, report.result_page(track, scored, data_of(assignment), figures=figures))
    shown, theirs = (part, None) if part else (scored, figures)  # those of the whole would tell of the hidden part
    page = _page(files, report.result_page(track, shown, data_of(assignment), pictures=False, figures=theirs))
    return Outcome((e.ReportMade(assignment.submission, assignment.file, page, full, assignment.rescoring),))


def _copies(files: Files, assignment: Assignment, marks: copies.Fingerprint) -> Iterator[e.Body]:
    """Other teams' submissions that this one has its answers from, or they from it. What a baseline says too is
    nobody's own."""
    theirs = {other.submission: copies.decode(files.read(other.fingerprint)) for other in assignment.others}
    known = [theirs.pop(other.submission) for other in assignment.others if other.baseline]
    for copy in copies.find_copies(marks, theirs, known):
        yield e.CopyFound(assignment.submission, copy.of, copy.share, copy.exact)


def _draws(files: Files, track: Track, scored: Scored) -> str:
    """The metric that ranks in every resample, the same for all teams, so that boards can pair them."""
    draws = scoring.draw(scored.rows, scored.result.unit, scoring.RESAMPLES, seed=0)
    if draws.weights.shape[1] < MIN_UNITS:
        return ""
    return files.put(track.ranks.reduce(scored.rows, draws).astype(np.float32).tobytes())


def _parquet(scored: Scored) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        score_file.save(scored, Path(folder) / "scores.parquet")
        return (Path(folder) / "scores.parquet").read_bytes()


def _page(files: Files, page: "report.Page") -> str:
    from palestra.report import page as report

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        report.write_page(page, file, "both")
        return files.put_file(file)


def data_of(assignment: Assignment) -> Path:
    return Path(assignment.home) / assignment.phase.data


def sheet_of(assignment: Assignment) -> Sheet:
    """Trials and truth, kept between jobs: most submissions are to the same few phases. They are read anew when the
    truth was changed, and for each set that is scored again, since something may have been mended for it."""
    data = data_of(assignment)
    if not data.is_dir():
        raise FileNotFoundError(f"{data}, the data of phase {assignment.phase.id}, is not there.")
    settings = tuple(sorted(assignment.phase.settings.items()))
    with our_part():  # what is wrong with the truth is not to be read by contestants
        looks = _looks(data, track_of(assignment.phase).dataset.hidden)
        return _sheet(assignment.phase.track, settings, str(data), (looks, assignment.rescoring))


def _looks(data: Path, hidden: Iterable[str]) -> int:
    """Another number when a file of the truth, or one beside it, was written since."""
    walks = (os.walk(data / name, followlinks=True) for name in hidden)
    inside = [Path(place, name) for walk in walks for place, _, names in walk for name in names]
    found = [(str(path), path.stat()) for path in sorted([*inside, *data.iterdir()]) if path.exists()]
    return hash(tuple((path, status.st_mtime_ns, status.st_size, status.st_ino) for path, status in found))


@lru_cache(maxsize=4)
def _sheet(track_id: str, settings: tuple[tuple[str, str], ...], data: str, _: object) -> Sheet:
    return scoring.load(registry.track(track_id, dict(settings)), Path(data))


@contextmanager
def submitted(assignment: Assignment) -> Iterator[Path]:
    """The submitted file under the ending that it came with: readers go by it."""
    with ExitStack() as stack:
        with our_part():  # a file that we have lost
            file = stack.enter_context(Files.open(assignment.files).local(assignment.file, assignment.name))
        yield file
