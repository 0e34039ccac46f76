"""What the commands `play`, `replay` and `register` do: who takes part, where it is recorded."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from palestra import console, registry
from palestra.entrants import Entry, open
from palestra.errors import PalestraError, UnknownName
from palestra.live import recording
from palestra.live.live_data import LiveData, read_live_data, sittings_of
from palestra.live.recording import Recording
from palestra.live.run import Play, Played, fresh_folder, play
from palestra.live.scored_run import ScoredRun, require_sent, rescore
from palestra.live.versions import Version, Versions, windows
from palestra.records import Result
from palestra.text import say


@dataclass(frozen=True)
class Guests:
    """Who is to take part, as it was said on the command line."""

    words: list[str]  # solutions, bundles, addresses
    listen: str | None = None  # host and port
    teams: Sequence[str] = ()  # that will connect there
    lsl: bool = False


@dataclass(frozen=True)
class Replayed(ScoredRun):
    """A recorded run, scored again."""

    same: bool  # whether the results are those of then, byte by byte
    same_numbers: bool  # or but for the code that computed them


def play_live(data: LiveData, guests: Guests, order: Play, folder: Path | None) -> Played:
    """Play a track to its guests."""
    track = data.track
    if not guests.words and not guests.teams and not guests.lsl:
        known = [solution.name for solution in registry.solutions(track.id) if solution.plays or solution.knows]
        raise PalestraError(
            say("Nobody takes part: name a bundle, a ws:// address or a solution ({known}).", known=", ".join(known))
        )
    folder = fresh_folder(folder or Path("runs") / f"{track.id}-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    with ExitStack() as stack:
        entries = _entries(data, guests, order, stack)
        console.say(f"{track.title}: {', '.join(entry.name for entry in entries)}")
        return play(data, entries, order, folder)


def _entries(data: LiveData, guests: Guests, order: Play, stack: ExitStack) -> list[Entry]:
    track = data.track
    solutions = {solution.name: solution for solution in registry.solutions(track.id)}
    terms = order.terms(data.sittings)
    entries = [open.open_entry(one, solutions, terms, stack) for one in open.called(guests.words)]
    if guests.teams:
        called = open.listen(guests.listen or "127.0.0.1:0", guests.teams, track.id, terms, stack)
        where = "" if guests.listen else " (on this machine alone: --listen HOST:PORT lets others in)"
        for entry in called:
            console.say(f"{entry.name} dials in{where}: {entry.dial_in}")
        entries += called
    if guests.lsl:
        if track.stream is None or track.stream.signal is None:
            raise PalestraError(say("{id} sends no samples, so it cannot be published by LSL.", id=track.id))
        entries.append(open.publish(track.stream.signal(data.folder), terms, stack))
    names = [entry.name for entry in entries]
    if double := next((name for name in names if names.count(name) > 1), None):
        raise PalestraError(
            say("Two entrants are called {double!r}. Give one of them another name, as NAME=….", double=double)
        )
    return entries


def replay_live(folder: Path, data: Path | None) -> Replayed:
    """Score a recorded run again."""
    run = Recording(folder)
    track = registry.track(run.head.track, {key: str(value) for key, value in run.head.settings.items()})
    home = data or Path(run.head.data)
    if not home.is_dir():
        raise PalestraError(
            say("{home}, which the run was played on, is not there. Say where it is with --data DIR.", home=home)
        )
    known = read_live_data(track, home)
    require_sent(run, known)
    again = rescore(run, known)
    now, then = [one.result for one in again.scored.values()], run.end.results if run.end else []
    same, same_numbers = _encoded(now) == _encoded(then), _encoded(now, "") == _encoded(then, "")
    return Replayed(track, home, run, again.heard, again.scored, same, same_numbers)


def _encoded(results: Sequence[Result], code: str | None = None) -> bytes:
    """Results as bytes; as if one and the same code had computed them, where one is given."""
    if code is not None:
        replace = msgspec.structs.replace
        results = [replace(one, provenance=replace(one.provenance, code=code, palestra=code)) for one in results]
    return msgspec.json.encode(results)


def register_version(folder: Path, team: str, bundle: Path) -> Version:
    """Put another version of a program into a run that is under way."""
    run = Recording(folder)
    if run.end:
        raise PalestraError(
            say("{folder}: this run is over since {ended_at}.", folder=folder, ended_at=run.end.ended_at)
        )
    if not recording.under_way(folder):
        raise PalestraError(say("{folder}: this run was stopped. Nothing can be registered for it.", folder=folder))
    if run.head.pace != "real":
        raise PalestraError(
            say("{folder}: this run is played in virtual time, which has no windows to register in.", folder=folder)
        )
    names = [who.name for who in run.head.entrants]
    if team not in names:
        raise UnknownName(say("entrant of this run"), team, names)
    track = registry.track(run.head.track, {key: str(value) for key, value in run.head.settings.items()})
    since_s = (datetime.now(UTC) - datetime.fromisoformat(run.head.started_at)).total_seconds()
    return Versions(folder, windows(sittings_of(track, Path(run.head.data)))).register(team, bundle, since_s)
