"""Runs a plan: says what it will cost, writes the parts in parallel, shows the time left, stops and resumes cleanly."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import msgspec

from palestra.errors import PalestraError
from palestra.formats.files import human_bytes
from palestra.records import Order, Part, Plan, Track

NOTES = ".making.json"  # which parts of an unfinished data set are done
WORKERS = "PALESTRA_WORKERS"  # how many processes to use, instead of one per core
Advance = Callable[[int], None]


class _Notes(msgspec.Struct):
    track: str
    order: Order
    done: list[str]


@dataclass(frozen=True)
class Cost:
    """What making a data set takes."""

    bytes: int
    seconds: float


def workers() -> int:
    asked = os.environ.get(WORKERS, "")
    return max(int(asked), 1) if asked.isdigit() else len(os.sched_getaffinity(0))


def plan(track: Track, order: Order) -> Plan:
    if track.make is None:
        raise PalestraError(f"{track.id} has no synthetic data: it is read from data that you have.")
    return track.make(order)


def estimate(plan: Plan) -> Cost:
    """Bytes and time, from making a small sample."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        plan.sample.write(Path(folder))
        seconds = time.perf_counter() - started
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    times = sum(part.weight for part in plan.parts) / plan.sample.weight
    return Cost(int(size * times), seconds * times / workers())


def require_room(folder: Path, cost: Cost) -> None:
    """Refuse before the first byte where the disk is too small."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if cost.bytes * 1.05 > free:
        raise PalestraError(
            f"{folder}: this data set takes about {human_bytes(cost.bytes)}, and {human_bytes(free)} are free there. "
            "Choose a smaller --size, --without images, or another disk."
        )


def run(track: Track, order: Order, plan: Plan, folder: Path, advance: Advance) -> None:
    """Write the data set. A run that was stopped goes on where it was."""
    notes = _opened(track, order, folder)
    todo = [part for part in plan.parts if part.name not in notes.done]
    advance(sum(part.weight for part in plan.parts if part.name in notes.done))
    with _pool(len(todo)) as pool:
        for part in _finished(pool, todo, folder):
            notes.done.append(part.name)
            _save(notes, folder)
            advance(part.weight)
    plan.finish(folder)
    (folder / NOTES).unlink()


def _opened(track: Track, order: Order, folder: Path) -> _Notes:
    fresh = _Notes(track.id, order, [])
    file = folder / NOTES
    if file.is_file():
        notes = msgspec.json.decode(file.read_bytes(), type=_Notes)
        if (notes.track, notes.order) != (fresh.track, fresh.order):
            raise PalestraError(
                f"{folder} holds an unfinished {notes.track} of size {notes.order.size}, seed {notes.order.seed}. "
                "Finish that one, or choose another folder."
            )
        return notes
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PalestraError(f"{folder} exists and is not an empty folder. Nothing was written; choose another.")
    folder.mkdir(parents=True, exist_ok=True)
    _save(fresh, folder)
    return fresh


def _save(notes: _Notes, folder: Path) -> None:
    fresh = folder / f"{NOTES}.new"
    fresh.write_bytes(msgspec.json.encode(notes))
    fresh.replace(folder / NOTES)


def _pool(parts: int) -> AbstractContextManager[ProcessPoolExecutor | None]:
    count = min(workers(), parts)
    # Spawned, not forked: a fork copies the locks of polars' and OpenCV's threads in whatever state they are.
    return ProcessPoolExecutor(count, mp_context=get_context("spawn")) if count > 1 else nullcontext()


def _finished(pool: ProcessPoolExecutor | None, parts: list[Part], folder: Path) -> Iterator[Part]:
    """Parts as they are done. On Ctrl-C those under way are finished and the rest is left for the next run."""
    if pool is None:
        for part in parts:
            part.write(folder)
            yield part
        return
    running: dict[Future[None], Part] = {pool.submit(part.write, folder): part for part in parts}
    try:
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                part = running.pop(future)
                future.result()
                yield part
    finally:
        pool.shutdown(cancel_futures=True)
