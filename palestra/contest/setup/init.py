"""A contest to begin with: its file, and synthetic data for its phases, from seeds that nobody can guess."""

import os
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from palestra import console, registry
from palestra.contest.log import wall_clock
from palestra.contest.rules import Phase, Rules, read, template
from palestra.contest.setup.location import Place
from palestra.datasets import make
from palestra.errors import PalestraError
from palestra.formats import write_bytes
from palestra.records import SIZES, Order
from palestra.scoring import score as scoring
from palestra.text import joined, say

FEWEST = 4  # people, of whom two are shown and two decide


def begin(file: Path, tracks: Sequence[str], zone: str, size: str) -> None:
    """Write the file, where there is none, and make the data that its phases lack. No tracks: a simple one."""
    if size not in (*SIZES, "none"):
        raise PalestraError(
            say("{size!r} is no size; expected one of {sizes}, or none.", size=size, sizes=", ".join(SIZES))
        )
    fresh = not file.exists()
    if fresh:
        tracks = tracks or _simple_track()
        places = track_places(tracks, file.resolve().parent)
        file.parent.mkdir(parents=True, exist_ok=True)
        write = partial(template, tracks, wall_clock(), zone, places)
        # A live run on the stage shows everybody, and could not while a part is hidden.
        write_bytes(file, write([name for name in tracks if not registry.track(name).live]).encode())
        console.say(f"Wrote {file}: read it through, and change what is yours to decide.")
    else:
        Place(file).find_tracks()
        _require_phases(file, tracks)
        console.say(f"{file} is there already and stays as it is; data is made for phases that lack it.")
    rules = read(file, registry.tracks())
    for phase in rules.phases:
        if size != "none" and phase.data:
            make_data(phase, file.parent / phase.data, Order(size, seed=secrets.randbits(128)))  # type: ignore[arg-type]
    if fresh:
        _split_where_possible(file, rules, write)
    console.say(f"Start it with: palestra contest serve {file}")


def _require_phases(file: Path, tracks: Sequence[str]) -> None:
    """A file that is there is not changed: tracks that it should have are no wish that may be passed over."""
    known = {phase.track for phase in read(file, registry.tracks()).phases}
    if lacking := [track for track in tracks if track not in known]:
        raise PalestraError(
            say(
                "{file} is there already, and has no phase with the track {track}. Add one to it as [[phase]], or name "
                "another file.",
                file=file,
                track=joined(lacking),
            )
        )


def track_places(tracks: Sequence[str], home: Path) -> list[str]:
    """The folders beside a new contest file that these tracks are from; for one elsewhere, it is told what to do."""
    found: dict[str, None] = {}
    for track in tracks:
        folder = registry.file_of(track).resolve().parent
        if str(folder) not in map(_resolved, os.environ.get(registry.OUTSIDE, "").split(os.pathsep)):
            continue  # of Palestra itself, or of an installed package
        if folder != home and folder.is_relative_to(home):
            found[folder.relative_to(home).as_posix()] = None
        else:
            console.say(
                f"{track} is in {folder}, which is not a folder beside the contest file. Copy it to "
                f'{home / folder.name} and write tracks = "{folder.name}" below [contest]; until then every command '
                "needs --tracks-dir."
            )
    return list(found)


def _resolved(folder: str) -> str:
    return str(Path(folder).resolve()) if folder else ""


def _simple_track() -> list[str]:
    """The first that is answered with a CSV file, which anybody can write; none, where there is no such track."""
    return [track.id for track in registry.tracks().values() if track.suffix == ".csv" and track.dataset.make][:1]


def _split_where_possible(file: Path, rules: Rules, write: Callable[[list[str]], str]) -> None:
    """Write the file anew without a hidden part where the data has too few people."""
    split = [phase for phase in rules.phases if phase.split]
    kept = [phase for phase in split if _has_parts(phase, file.parent)]
    if len(kept) == len(split):
        return
    write_bytes(file, write([phase.track for phase in kept]).encode())
    for phase in split:
        if phase not in kept:
            console.say(f"{phase.id}: its data has too few people for a hidden part, so there is no `split`.")


def _has_parts(phase: Phase, home: Path) -> bool:
    """Whether data has so many people that a part can be shown and another decide. Data that comes later is thought
    to have them."""
    data = home / phase.data
    if not data.is_dir():
        return True
    track = registry.track(phase.track, phase.settings)
    truth = scoring.load(track, data).truth
    return truth[scoring.unit_of(track, truth)].n_unique() >= FEWEST


def make_data(phase: Phase, folder: Path, order: Order) -> None:
    """Synthetic data for a phase, unless there is some."""
    track = registry.track(phase.track, phase.settings)
    if folder.is_dir() and make.unfinished(folder) is None:
        return
    plan = make.plan(track, order)
    with console.progress(f"making {phase.data}", sum(part.weight for part in plan.parts)) as advance:
        make.run(track, order, plan, folder, advance)
