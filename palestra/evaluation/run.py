"""Runs a benchmark protocol: folds side by side, here or on a cluster; what is done is kept, and never done twice."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from palestra import registry
from palestra.errors import PalestraError, UnknownName
from palestra.evaluation import protocol_data as studying
from palestra.evaluation.fold_job import GPUS, ONE_THREAD, Job, run
from palestra.evaluation.learner_loader import absolute, digest, gpus_of, load
from palestra.formats import replacing
from palestra.model_cards import weights_digest
from palestra.records import Protocol, Track
from palestra.scoring import Scored, code_digest, score
from palestra.text import say

if TYPE_CHECKING:
    from palestra.executors import Executor

NAMED = 3  # pieces of a fold, where it is told of
TRIES = 3  # at a fold whose process or machine ended under it
NOTICED_S = 1.0  # after which Ctrl-C is noticed, should it come in the moment before a lock is waited for
WHOLE_BYTES = 1 << 24  # files up to here count with all their bytes, longer ones with pieces of them and their time
PIECE_BYTES = 1 << 16

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Contender:
    """A solution in a benchmark: its name, its class and how it is set."""

    name: str
    learner: str  # "module:Class" or "file.py:Class"
    options: Mapping[str, str] = field(default_factory=dict)
    weights: str = ""  # the digest of what it learnt beforehand


@dataclass(frozen=True)
class Bench:
    """A protocol on a data set."""

    track: Track  # under the protocol
    protocol: Protocol
    data: Path
    train_data: Path | None = None
    seed: int = 0


def bench_of(track: Track, protocol: str, data: Path, train_data: Path | None = None, seed: int = 0) -> Bench:
    study = studying.study_of(track)
    chosen = studying.protocol_of(study, protocol)
    if chosen.elsewhere and train_data is None:
        raise PalestraError(
            say("{protocol} learns from another data set: name it with --train-data DIR.", protocol=protocol)
        )
    return Bench(studying.under(track, chosen, train_data), chosen, data, train_data, seed)


def contender(track: Track, name: str, changes: Mapping[str, str]) -> Contender:
    """A reference solution by its name, or a class of the user's own as FILE.py:Class."""
    if ":" in name:
        load(name)  # what is wrong with it is said before any work
        return Contender(name.rpartition(":")[2], absolute(name), dict(changes))
    known = {one.name: one for one in registry.solutions(track.id) if one.learns}
    if name not in known:
        raise UnknownName(say("solution for {track} that learns (or FILE.py:Class)", track=track.id), name, known)
    solution = known[name]
    for option in changes:
        if option not in solution.options:
            raise UnknownName(say("option of {name}", name=name), option, solution.options)
    assert solution.learns is not None
    return Contender(name, solution.learns, {**solution.options, **changes}, weights_digest(solution))


def answers(
    bench: Bench, who: Contender, executor: Executor, kept: Path, advance: Advance, fresh: bool = False
) -> pl.DataFrame:
    """The answers to all that the protocol tests. Folds that `kept` has are taken from there, unless `fresh`."""
    gpus = gpus_of(who.learner)
    common = _common(bench, who)
    files = {kept / f"{_key(common, job)}.parquet": job for job in _jobs(bench, who, _cards(executor))}
    todo = {file: job for file, job in files.items() if fresh or not file.is_file()}
    advance(len(files) - len(todo))
    if todo:
        kept.mkdir(parents=True, exist_ok=True)
        with one_thread_each():
            for file, found in _done(executor, todo, gpus):
                with replacing(file) as aside:
                    aside.write_bytes(found)
                advance(1)
    return pl.concat((pl.read_parquet(file) for file in files), how="vertical_relaxed")


def fold_count(bench: Bench) -> int:
    return len(studying.folds_of(studying.study_of(bench.track), bench.protocol, bench.data))


def scored(bench: Bench, who: Contender, given: pl.DataFrame, sheet: score.Sheet) -> Scored:
    """The Result of a contender; it names the protocol."""
    found = score.score(bench.track, sheet, given, who.name, bench.seed)
    provenance = found.result.provenance
    settings = {**provenance.settings, "protocol": bench.protocol.name}
    provenance = msgspec.structs.replace(provenance, settings=settings)
    return Scored(msgspec.structs.replace(found.result, provenance=provenance), found.rows)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Processes that start now use one thread each, so that a sum comes out the same in all of them."""
    pl.thread_pool_size()  # from now on this process keeps the threads that it has
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _done(executor: Executor, todo: Mapping[Path, Job], gpus: int) -> Iterator[tuple[Path, bytes]]:
    """Folds as they are done. One whose process ended is tried again: a machine may have gone with it."""
    from palestra.executors import Crashed, Raised, held

    tried = dict.fromkeys(todo, 1)
    done: SimpleQueue[Future[Any]] = SimpleQueue()
    running: dict[Future[Any], Path] = {}

    def submit(file: Path) -> None:
        with held():  # a future's lock is not to be interrupted: the thread that does the work needs it too
            future = _submitted(executor, todo[file], gpus)
            running[future] = file
            future.add_done_callback(done.put)

    try:
        for file in todo:
            submit(file)
        while running:
            for future in sorted(_taken(done), key=_failed):  # what is done is kept, though another of them failed
                file = running.pop(future)
                try:
                    yield file, future.result()
                except Crashed as crash:
                    if tried[file] == TRIES:
                        raise PalestraError(
                            say(
                                "{where} ended {tries} times: {crash}.",
                                where=_where(todo[file]),
                                tries=TRIES,
                                crash=crash,
                            )
                        ) from None
                    tried[file] += 1
                    submit(file)
                except Raised as raised:
                    raise PalestraError(_told(str(raised), todo[file])) from None
    finally:
        for future in running:
            executor.end(future)


def _taken(done: SimpleQueue[Future[Any]]) -> list[Future[Any]]:
    """What is done by now; nothing, after a while in which nothing was."""
    try:
        taken = [done.get(timeout=NOTICED_S)]
    except Empty:
        return []
    with contextlib.suppress(Empty):
        while True:
            taken.append(done.get_nowait())
    return taken


def _submitted(executor: Executor, job: Job, gpus: int) -> Future[Any]:
    from palestra.executors import RayExecutor

    return executor.submit(run, job, gpus) if isinstance(executor, RayExecutor) else executor.submit(run, job)


def _failed(future: Future[Any]) -> bool:
    return future.cancelled() or future.exception() is not None


def _told(trace: str, job: Job) -> str:
    """What went wrong in a fold: the whole of it, since whoever runs a benchmark wrote the program, or can tell us."""
    _, mark, words = trace.strip().rpartition("\npalestra.errors.")
    if mark:  # it is in words already
        return words.partition(": ")[2]
    return f"{_where(job)} failed:\n{trace.strip()}"


def _where(job: Job) -> str:
    pieces = list(dict.fromkeys(stretch.piece for _, stretch in job.fold.tests))
    more = f" and {len(pieces) - NAMED} more" if len(pieces) > NAMED else ""
    return f"{job.learner}, in the fold that tests {', '.join(pieces[:NAMED])}{more},"


def _jobs(bench: Bench, who: Contender, cards: Sequence[str]) -> list[Job]:
    study = studying.study_of(bench.track)
    settings = bench.track.setting_values
    return [
        Job(
            track=bench.track.id,
            settings={name: str(value) for name, value in settings.items()},
            learner=who.learner,
            options=dict(who.options),
            data=str(bench.data.resolve()),
            train_data=str(bench.train_data.resolve()) if bench.train_data else None,
            fold=fold,
            seed=bench.seed,
            gpu=cards[i % len(cards)] if cards else None,
        )
        for i, fold in enumerate(studying.folds_of(study, bench.protocol, bench.data))
    ]


def _cards(executor: Executor) -> list[str]:
    """Cards of this machine, as its driver lists them; no library of a gigabyte is loaded to ask."""
    if executor.name == "ray":  # which hands out those of its machines
        return []
    shown = os.environ.get(GPUS)
    if shown is not None:
        return [card.strip() for card in shown.split(",") if card.strip()]
    return [str(i) for i, _ in enumerate(Path("/proc/driver/nvidia/gpus").glob("*"))]


def _common(bench: Bench, who: Contender) -> list[str]:
    """What the answers of all folds depend on: the programs and the data."""
    folders = [bench.data, *([bench.train_data] if bench.train_data else [])]
    return [code_digest(bench.track), digest(who.learner), who.weights, *map(data_digest, folders)]


def _key(common: list[str], job: Job) -> str:
    """What the answers of one fold depend on. Where the data lies and which card it has are not among it."""
    settings = {name: value for name, value in job.settings.items() if name != "train_data"}
    alone = msgspec.structs.replace(job, data="", train_data=None, gpu=None, learner="", settings=settings)
    return hashlib.sha256(msgspec.json.encode((common, alone), order="sorted")).hexdigest()[:32]


def data_digest(folder: Path) -> str:
    """Of all that a data set's folder holds: whole files, of long ones (videos) their size, time and pieces of them."""
    sha = hashlib.sha256()
    for file in sorted(_files(folder)):
        status = file.stat()
        sha.update(f"{file.relative_to(folder).as_posix()}\n{status.st_size}\n".encode())
        if status.st_size > WHOLE_BYTES:
            sha.update(f"{status.st_mtime_ns}\n".encode())
        for piece in _pieces(file, status.st_size):
            sha.update(piece)
    return sha.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    """All files; sessions may be links to where there is room for them."""
    for parent, _, names in os.walk(folder, followlinks=True):
        yield from (Path(parent, name) for name in names)


def _pieces(file: Path, size: int) -> Iterable[bytes]:
    with file.open("rb") as opened:
        if size <= WHOLE_BYTES:
            yield opened.read()
            return
        for start in (0, size // 3, 2 * size // 3, size - PIECE_BYTES):
            opened.seek(start)
            yield opened.read(PIECE_BYTES)
