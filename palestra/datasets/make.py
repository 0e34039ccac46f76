"""Runs a plan: says what it will cost, writes the parts in parallel, shows the time left, stops and resumes cleanly."""

import os
import pickle
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from palestra.authoring import Slip, home_of, is_guarded, place_of, told
from palestra.datasets.order import NOTES
from palestra.errors import PalestraError, brief
from palestra.executors import HOW_TO_SEND, CannotSend, in_processes
from palestra.formats import replacing
from palestra.parallel import workers
from palestra.records import Order, Part, Plan, Track
from palestra.scoring import code_digest
from palestra.text import human_bytes, say

LONG_AGO_S = 315_532_800  # 1980, the first time that a zip can hold
Advance = Callable[[int], None]


class _Notes(msgspec.Struct):
    track: str
    order: Order
    code: str
    done: list[str]


@dataclass(frozen=True)
class Cost:
    """What making a data set takes."""

    bytes: int
    seconds: float


def plan(track: Track, order: Order) -> Plan:
    if track.dataset.make is None:
        raise PalestraError(say("{id} has no synthetic data: it is read from data that you have.", id=track.id))
    made = track.dataset.make(order)
    for part in made.parts:
        _require_picklable(track, part)
    return made


def _require_picklable(track: Track, part: Part) -> None:
    """Each part is written by another process: one that cannot be sent there is named before any work."""
    try:
        pickle.dumps(part)
    except Exception as error:  # whatever an object's own way of being pickled raises
        raise _cannot_send(track, part, brief(error)) from None


def _cannot_send(track: Track, part: Part, why: str) -> PalestraError | Slip:
    if is_guarded(track):  # the track's author is told where
        place = home_of(track).of_function(part.write) or place_of(track, "dataset.make")
        what = f"the `write` of the part {part.name!r} cannot be sent to another process ({why})"
        return Slip(told(track.id, place, what, str(say(HOW_TO_SEND))))
    return PalestraError(
        say(
            "{id}, part {name!r}: its `write` cannot be sent to another process ({why}). {how_to_send}",
            id=track.id,
            name=part.name,
            why=why,
            how_to_send=say(HOW_TO_SEND),
        )
    )


def estimate(plan: Plan) -> Cost:
    """Bytes and time, from making a small sample."""
    with tempfile.TemporaryDirectory() as folder:
        plan.sample.write(Path(folder))  # once unmeasured: the first time pays for imports and caches
        started = time.perf_counter()
        plan.sample.write(Path(folder))
        seconds = time.perf_counter() - started
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    times = sum(part.weight for part in plan.parts) / plan.sample.weight
    return Cost(int(size * times), seconds * times / workers())


def unfinished(folder: Path) -> Order | None:
    """The order of a data set that is not whole yet."""
    notes = _read_notes(folder)
    return notes.order if notes else None


def left(plan: Plan, folder: Path) -> float:
    """The share of the work that is still to do."""
    notes = _read_notes(folder)
    done = set(notes.done) if notes else set()
    todo = sum(part.weight for part in plan.parts if part.name not in done)
    return todo / max(sum(part.weight for part in plan.parts), 1)


def require_room(folder: Path, needed: float) -> None:
    """Refuse before the first byte where the disk is too small."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if needed * 1.05 > free:
        raise PalestraError(
            say(
                "{folder}: this takes about {human_bytes}, and {free} are free there. Choose a "
                "smaller --size, --without images, or another disk.",
                folder=folder,
                human_bytes=human_bytes(int(needed)),
                free=human_bytes(free),
            )
        )


def run(track: Track, order: Order, plan: Plan, folder: Path, advance: Advance) -> None:
    """Write the data set. A run that was stopped goes on where it was."""
    notes = _opened(track, order, folder)
    todo = [part for part in plan.parts if part.name not in notes.done]
    advance(sum(part.weight for part in plan.parts if part.name in notes.done))
    try:
        for part, _ in in_processes(partial(_write, folder), todo):
            notes.done.append(part.name)
            _save(notes, folder)
            advance(part.weight)
    except CannotSend as error:  # pickled here, it could not be read there
        raise _cannot_send(track, error.item, error.why) if isinstance(error.item, Part) else error from None
    plan.finish(folder)
    _level_times(folder)
    (folder / NOTES).unlink()


def _level_times(folder: Path) -> None:
    """Give everything the same time: the order in which files were written tells what belongs together."""
    for path in folder.rglob("*"):
        os.utime(path, (LONG_AGO_S, LONG_AGO_S))


def require_folder(track: Track, order: Order, folder: Path) -> None:
    """Refuse a folder that holds something else."""
    _notes_for(track, order, folder)


def _opened(track: Track, order: Order, folder: Path) -> _Notes:
    notes = _notes_for(track, order, folder)
    folder.mkdir(parents=True, exist_ok=True)
    _save(notes, folder)
    return notes


def _notes_for(track: Track, order: Order, folder: Path) -> _Notes:
    """What is done of this order in a folder; nothing in a new one."""
    fresh = _Notes(track.id, order, code_digest(track), [])
    notes = _read_notes(folder)
    if notes:
        if (notes.track, notes.order) != (fresh.track, fresh.order):
            was = notes.order
            raise PalestraError(
                say(
                    "{folder} holds an unfinished {track} of size {size}, seed {seed}, {images}. Finish that one, or "
                    "choose another folder.",
                    folder=folder,
                    track=notes.track,
                    size=was.size,
                    seed=was.seed,
                    images=say("without images") if was.without else say("with images"),
                )
            )
        if notes.code != fresh.code:
            raise PalestraError(
                say(
                    "{folder} was begun with another version of Palestra or of {id}; its parts would not "
                    "fit together. Choose another folder, or remove this one and begin anew.",
                    folder=folder,
                    id=track.id,
                )
            )
        return notes
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PalestraError(
            say("{folder} exists and is not an empty folder. Nothing was written; choose another.", folder=folder)
        )
    return fresh


def _read_notes(folder: Path) -> _Notes | None:
    file = folder / NOTES
    if not file.is_file():
        return None
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Notes)
    except msgspec.MsgspecError:
        raise PalestraError(
            say("{file} cannot be read. Remove {folder} and make the data set anew.", file=file, folder=folder)
        ) from None


def _save(notes: _Notes, folder: Path) -> None:
    with replacing(folder / NOTES) as fresh:
        fresh.write_bytes(msgspec.json.encode(notes))


def _write(folder: Path, part: Part) -> None:
    part.write(folder)
