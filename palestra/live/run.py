"""A live run from its start to its Result: the stream is played to all entrants at once, recorded and scored."""

import math
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from palestra.entrants import Entry, Program, Terms, open, parts_of
from palestra.errors import NotCaptured, PalestraError, text_of
from palestra.live import recording, stream
from palestra.live.answers import Heard, hear
from palestra.live.episode import Step
from palestra.live.follower import TOLD_EVERY_S, Follower, Moment, Stopped
from palestra.live.live_data import LiveData
from palestra.live.recording import End, Head, Recorder, Recording, Sealed, Who
from palestra.live.scored_run import ScoredRun, score
from palestra.live.standings import Standings
from palestra.live.stream import Clock, Decision, FastLine, Line, VirtualClock
from palestra.live.terminal import Watch
from palestra.live.versions import Version, Versions, windows
from palestra.live.wall_clock import WallClock, punctual
from palestra.records import Case, Reply, Result, Sitting, Tick, Track
from palestra.sandbox.launch import Limits
from palestra.scoring import Sheet, score_file
from palestra.text import Text, joined, say

if TYPE_CHECKING:
    from palestra.live.processor_watch import ProcessorWatch

READY_S = 120.0  # to load a model
LEAST_READY_S = 1.0  # to be heard that one is ready, where others took all the time
SPARE_S = 7 * 86_400.0  # that programs may run beyond the stream: lock-step has no end of its own
CORES = 4  # whose time a program may use
STUCK_DEADLINES, STUCK_S = 20, 10.0  # in virtual time one packet may take so long before its program is ended
ROOM_S = 0.1  # until something is due, that leaves time to see how things stand
RESTING_S = 0.2  # that a person who is captured can wait for a screen


class NotReady(PalestraError):
    """Nobody can take part: the programs are to blame, and not the run."""


class CannotShare(NotReady):
    """Several programs cannot play here, since one could take the processors from the others."""


@dataclass(frozen=True)
class Play:
    """How a run is to be."""

    pace: Literal["real", "fast"] = "real"
    patience_s: float = 60.0  # for one answer, where the rules have no deadline
    memory_bytes: int = Limits().memory_bytes  # of each program
    trusted: bool = False  # whether programs need no sandbox
    seed: int = 0  # of the resampling behind the intervals
    watched: bool = True  # whether the terminal shows it
    allow_starving: bool = False  # whether programs may play together where nothing keeps one from starving another
    follower: Follower | None = None
    private: bool = True  # whether entrants that are dialled may be on this machine or its own network

    def terms(self, sittings: Iterable[Sitting]) -> Terms:
        """What programs get: time for all of it."""
        wall_s = sum(sitting.seconds + sitting.window_s for sitting in sittings) + SPARE_S
        limits = Limits(memory_bytes=self.memory_bytes, wall_s=wall_s, cpu_s=CORES * wall_s)
        return Terms(limits, self.patience_s, self.trusted, self.private)


@dataclass(frozen=True)
class Played(ScoredRun):
    """What came of a run that was just played."""

    refused: Mapping[str, Text]  # who could not take part, and why


def play(data: LiveData, entrants: Sequence[Entry], order: Play, folder: Path) -> Played:
    """Play the stream to the entrants, and score what they said."""
    track, sittings = data.track, data.sittings
    if order.pace == "fast" and any(sitting.captured for sitting in sittings):
        raise NotCaptured(
            say("{folder}: its people are captured while they are played, which only --pace real can do.",
                folder=data.folder)
        )  # fmt: skip
    lack = "" if order.pace == "fast" else _lack("freezer" if track.episode else "cpu", entrants)
    if lack and not order.allow_starving:
        raise CannotShare(lack)
    entries, refused = _ready(entrants)
    head = _head(data, order, entries, starving=bool(lack))
    clock: Clock = VirtualClock() if order.pace == "fast" else WallClock()
    names = [entry.name for entry in entries]
    log = _Log(track, data.sheet, names, order.pace == "fast", order.follower)
    if order.follower:
        order.follower.begin(sittings, names, refused)
    with ExitStack() as stack:
        log.recorder = stack.enter_context(closing(Recorder(folder, head)))
        hall = _Hall(entries, clock, log, Versions(folder, windows(sittings)), order, stack)
        if track.episode:
            hall.act(track, data.cases)
        else:
            hall.play(data)
        scored = {entry.name: score(track, log.sheet, entry, log.heard[entry.name], order.seed) for entry in entries}
        for entry in entries:
            entry.line.close()  # only then its last words are known
        for who in head.entrants:
            score_file.save(scored[who.name], folder / Path(who.file).with_suffix(".parquet"))
        log.recorder.finish(hall.end([one.result for one in scored.values()]))
    return Played(track, data.folder, Recording(folder), log.heard, scored, refused)


def _ready(entrants: Sequence[Entry]) -> tuple[list[Entry], dict[str, Text]]:
    """Who can take part. One alone is refused with an error; of several, the others are not held up."""
    refused: dict[str, Text] = {}
    deadline = time.monotonic() + READY_S  # for all of them: they load side by side
    for entry in entrants:
        try:
            entry.line.require_ready(max(deadline - time.monotonic(), LEAST_READY_S))
        except PalestraError as error:
            if len(entrants) == 1:
                raise NotReady(error.text) from None
            refused[entry.name] = error.text
            entry.line.close()
    left = [entry for entry in entrants if entry.name not in refused]
    if not left:
        raise NotReady(joined([say("No entrant can take part."), *refused.values()], "\n"))
    return left, refused


def _lack(control: str, entrants: Sequence[Entry]) -> Text:
    """Why these programs cannot play together in real time; empty if they can."""
    programs = [entry for entry in entrants if entry.program and not entry.trusted]
    without = next((entry for entry in programs if entry.program and control not in entry.program.controls), None)
    if len(programs) < 2 or without is None:
        return ""
    return say(
        "{count} programs were to play side by side, and nothing here keeps one from starving the others: their "
        "control groups have no `{control}` ({sandbox}). `palestra doctor` tells how to get it. To play all the same: "
        "--allow-starving, or allow_starving = true for the phase of a contest.",
        count=len(programs),
        control=control,
        sandbox=without.sandbox or "",
    )


def _head(data: LiveData, order: Play, entries: Sequence[Entry], starving: bool) -> Head:
    return Head(
        track=data.track.id,
        settings=data.track.setting_values,
        data=str(data.folder.resolve()),
        pace=order.pace,
        seed=order.seed,
        entrants=[
            Who(entry.name, entry.what, entry.sandbox, recording.file_name(number, entry.name))
            for number, entry in enumerate(entries, start=1)
        ],
        sittings=[sitting.name for sitting in data.sittings],
        decisions=sum(sitting.decisions for sitting in data.sittings),
        started_at=datetime.now(UTC).isoformat(),
        palestra=version("palestra"),
        allow_starving=starving,
    )


class _Log:
    """Tells everybody who wants to know what happens in the stream."""

    recorder: Recorder
    watch: Watch
    processors: "ProcessorWatch | None" = None  # in real time

    def __init__(
        self, track: Track, sheet: Sheet, names: list[str], hurried: bool, follower: Follower | None = None
    ) -> None:
        self.track, self.sheet, self.follower = track, sheet, follower
        self.standings = Standings(track, sheet, names)
        self.hurried = hurried  # in virtual time nothing is idle, and it is shown meanwhile
        self.told_at = -math.inf
        self.at_s = 0.0  # when the last tick went out, in its sitting
        self.heard: dict[str, list[Heard]] = {name: [] for name in names}
        self.unshown = False  # whether there is anything new to show

    def sent(self, tick: Tick, at_s: float) -> None:
        self._heed()
        self.recorder.sent(tick, at_s)
        if self.processors and tick.trial is not None:
            self.processors.sent(tick.trial)
        self.at_s = at_s
        self.watch.sent()
        if self.hurried:
            self.watch.beat()
            if self.follower:
                self.show_standings()

    def moved(self, entrant: str, step: Step) -> None:
        self._heed()
        self.recorder.moved(entrant, step)
        self.watch.sent()
        if self.hurried:
            self.watch.beat()

    def decided(self, decision: Decision) -> None:
        if self.processors:
            decision = self.processors.decided(decision)
        # What is scored is what is recorded, whatever was said: so it can be scored again.
        heard = hear(self.track, self.recorder.decided(decision), self.recorder.sitting)
        self.heard[decision.entrant].append(heard)
        self.standings.decided(heard)
        self.unshown = True

    def strayed(self, entrant: str, reply: Reply, at_s: float) -> None:
        self.recorder.strayed(entrant, reply, at_s)

    def idle(self, left_s: float) -> None:
        """Nothing is due for a while: show how things stand."""
        self._heed()
        if left_s > ROOM_S and self.unshown:
            self.show_standings()
        self.watch.idle(left_s)

    def resting(self) -> None:
        self.idle(RESTING_S)

    def learn(self, sheet: Sheet) -> None:
        """Somebody was captured: from now on it is known what is right for them too."""
        if sheet.digest != self.sheet.digest:
            self.sheet = sheet
            self.standings.learn(sheet, [one for some in self.heard.values() for one in some])
            self.unshown = True

    def show_standings(self, last: bool = False) -> None:
        """Write down who stands where, for whatever screen shows it: once everybody has decided what was asked."""
        if self.follower and not last and time.monotonic() - self.told_at < TOLD_EVERY_S:
            return
        if self.unshown and len({one.decided for one in self.standings.all.values()}) == 1:
            standings = self.standings.update()
            self.recorder.stood(standings)
            self.unshown = False
            if self.follower:
                self.told_at = time.monotonic()
                self.follower.stood(Moment(self.recorder.sitting, self.at_s, standings, self.standings.deadline_s))

    def _heed(self) -> None:
        if self.follower and self.follower.stopped():
            raise Stopped(say("The run was stopped."))


@dataclass
class _Hall:
    """The entrants of a run, and the clock that they share."""

    entries: list[Entry]
    clock: Clock
    log: _Log
    versions: Versions
    order: Play
    stack: ExitStack  # ends programs that are started on the way
    played_with: dict[str, list[str]] = field(default_factory=dict)  # sitting by sitting
    in_force: dict[str, int] = field(default_factory=dict)  # the number of the version that each registered last
    deaths: dict[str, list[Text]] = field(default_factory=dict)  # of versions before, and why others were not taken
    outputs: dict[str, str] = field(default_factory=dict)  # of versions before
    sealed: dict[str, list[Sealed]] = field(default_factory=dict)
    not_taken: dict[str, Text] = field(default_factory=dict)  # of this window's versions, and why

    def play(self, data: LiveData) -> None:
        track, sittings = data.track, data.sittings
        ticks, names = sum(sitting.count for sitting in sittings), [sitting.name for sitting in sittings]
        watch = Watch(track, self.log.standings, ticks, names, hidden=not self.order.watched)
        self.log.watch = watch
        if isinstance(self.clock, WallClock):
            self.clock.idle = self.log.idle
        lines = self._lines(sittings)
        started = self.clock.now()
        with watch, punctual(self.order.pace):
            for number, sitting in enumerate(sittings):
                self.log.recorder.sitting = number
                watch.sitting(number)
                if sitting.window_s > 0 and self._changed_in_window(sitting, sittings, started, lines):
                    lines = self._lines(sittings)
                for entry in self.entries:
                    self.played_with.setdefault(entry.name, []).append(entry.plays_with)
                if self.order.pace == "real":
                    from palestra.live.processor_watch import ProcessorWatch

                    self.log.processors = ProcessorWatch(self._programs())
                before = self._weights()
                self._run(sitting, lines)
                if sitting.captured:
                    self.log.learn(data.reread_sheet())
                self._seal(sitting.name, before)
                self._note_changes(sitting)
                self.log.show_standings(last=True)

    def _run(self, sitting: Sitting, lines: Sequence[Line]) -> None:
        ticks = sitting.ticks()
        try:
            stream.run(ticks, lines, self.clock, self.log, sitting.captured)
        finally:
            if isinstance(ticks, Generator):
                ticks.close()  # now, and not when it is forgotten: it may hold cameras

    def _changed_in_window(
        self, sitting: Sitting, sittings: Sequence[Sitting], started: float, lines: Sequence[Line]
    ) -> bool:
        """Let the window before a sitting pass; whether somebody plays another version from now on."""
        closes_s = next(window.closes_s for window in windows(sittings) if window.before == sitting.name)
        follower, until = self.order.follower if isinstance(self.clock, WallClock) else None, started + closes_s
        if follower:  # who is told when it opens has all of it, however long versions took to load
            until = self.clock.now() + sitting.window_s
            follower.window(sitting.name, sitting.window_s)
        self.log.watch.window(True)
        self._wait(until, lines)
        self.log.watch.window(False)
        if follower:
            follower.hand_in(sitting.name, partial(self._keep, closes_s, sitting.name))
        changed = self._take_versions(sitting, sittings)
        if follower and changed:
            follower.took(sitting.name, self.not_taken)
        return changed

    def _keep(self, at_s: float, sitting: str, name: str, file: Path) -> None:
        self.versions.keep(name, file, at_s, sitting)

    def act(self, track: Track, cases: Sequence[Case]) -> None:
        """Everybody acts in every case, each in a world of their own, one after the other."""
        from palestra.live import episode_run  # streams have no use for it

        steps = len(self.entries) * sum(episode_run.sitting_of(case).count for case in cases)
        self.log.watch = Watch(
            track, self.log.standings, steps, [case.name for case in cases], hidden=not self.order.watched
        )
        if isinstance(self.clock, WallClock):
            self.clock.idle = self.log.idle
        lines = self._lines([])
        with self.log.watch, punctual(self.order.pace):
            for number, case in enumerate(cases):
                self.log.recorder.sitting = number
                self.log.watch.sitting(number)
                for entry, line in zip(self.entries, lines, strict=True):
                    self.played_with.setdefault(entry.name, []).append(entry.plays_with)
                    with self._turn_of(entry):
                        self.log.decided(episode_run.act(case, entry, line, self.clock, self.log))
                self.log.show_standings(last=True)

    @contextmanager
    def _turn_of(self, entry: Entry) -> Iterator[None]:
        """In real time the others are frozen while one acts; in virtual time each is, whenever it is not asked."""
        programs = self._programs() if self.order.pace == "real" else {}
        for name, program in programs.items():
            program.resume() if name == entry.name else program.pause()
        try:
            yield
        finally:
            for program in programs.values():
                program.resume()

    def _programs(self) -> dict[str, Program]:
        return {entry.name: entry.program for entry in self.entries if entry.program}

    def _weights(self) -> dict[str, str]:
        """The weights that lie in each bundle now, as a digest. No clock runs meanwhile."""
        return {entry.name: parts_of(entry.folder).digest("weights") for entry in self.entries if entry.folder}

    def _seal(self, sitting: str, before: Mapping[str, str]) -> None:
        """Nothing may be learnt in a sitting but in memory: what lies in a bundle is compared by the machine."""
        after = self._weights()
        for name, digest in before.items():
            self.sealed.setdefault(name, []).append(Sealed(sitting, digest, after[name]))

    def _note_changes(self, sitting: Sitting) -> None:
        """A team on another machine can change its program at any time; that it says so is all that can be seen."""
        for entry in self.entries:
            if entry.plays_with != self.played_with[entry.name][-1]:
                change = say(
                    "changed to {version} during {sitting}, outside of a window",
                    version=entry.plays_with,
                    sitting=sitting.name,
                )
                self.deaths.setdefault(entry.name, []).append(change)

    def _lines(self, sittings: Sequence[Sitting]) -> list[Line]:
        """How the entrants are spoken to at this pace."""
        if not isinstance(self.clock, VirtualClock):
            return [entry.line for entry in self.entries]
        clock = self.clock
        lines: list[Line] = [line_of(entry, clock, self.order.patience_s) for entry in self.entries]
        for program in self._programs().values() if len(self.entries) > 1 else ():
            program.hold()
        return lines

    def _wait(self, until: float, lines: Sequence[Line]) -> None:
        """Let a window pass. What is said meanwhile answers nothing."""
        while self.clock.now() < until:
            self.clock.wait(until, lines)
            for line in lines:
                for reply in line.replies():
                    self.log.strayed(line.name, reply, 0.0)

    def _take_versions(self, sitting: Sitting, sittings: Sequence[Sitting]) -> bool:
        """Start what was registered before this sitting, in the place of what ran before; whether there is any.

        All of them load side by side. One that cannot play leaves its place to what played before.
        """
        fresh, self.not_taken = {}, {}
        for number, entry in enumerate(self.entries):
            version = self.versions.in_force(entry.name, sitting.name)
            if version is not None and version.number != self.in_force.get(entry.name):
                self.in_force[entry.name] = version.number
                fresh[number] = (version, self._opened(version, sittings))
        deadline = time.monotonic() + READY_S
        for number, (version, opened) in fresh.items():
            entry, before = self.entries[number], self.deaths.setdefault(self.entries[number].name, [])
            try:
                if isinstance(opened, Exception):
                    raise opened
                opened.line.require_ready(max(deadline - time.monotonic(), LEAST_READY_S))
            except (PalestraError, OSError) as error:
                self.not_taken[entry.name] = text_of(error)
                before.append(say("version {number} was not taken: {why}", number=version.number, why=text_of(error)))
                continue
            entry.line.close()
            before += entry.deaths
            self.outputs[entry.name] = self._output(entry)
            self.entries[number] = opened
        return bool(fresh)

    def _opened(self, version: Version, sittings: Sequence[Sitting]) -> Entry | PalestraError | OSError:
        called = open.Called(version.team, str(version.folder))
        try:
            fresh = open.open_entry(called, {}, self.order.terms(sittings), self.stack)
        except (PalestraError, OSError) as error:
            return error
        fresh.what = version.digest  # as it was registered
        return fresh

    def _output(self, entry: Entry) -> str:
        return "\n".join(filter(None, (self.outputs.get(entry.name), entry.output)))

    def end(self, results: list[Result]) -> End:
        return End(
            ended_at=datetime.now(UTC).isoformat(),
            results=results,
            deaths={entry.name: [*self.deaths.get(entry.name, []), *entry.deaths] for entry in self.entries},
            outputs={entry.name: self._output(entry) for entry in self.entries},
            versions=self.played_with,
            weights=self.sealed,
        )


def line_of(entry: Entry, clock: VirtualClock, patience_s: float) -> FastLine:
    """How an entrant is spoken to in virtual time."""
    if entry.ask is None:
        raise PalestraError(say("{name} cannot be played to at --pace fast, only at --pace real.", name=entry.name))
    return FastLine(entry.name, _asker(entry.ask, patience_s), clock, entry.line.dead)


def _asker(ask: open.Ask, patience_s: float) -> "stream.Asked":
    """Asks with the patience that the rules leave: a packet that asks nothing gets as much as the one asked last."""
    within_s = STUCK_S

    def asked(tick: Tick) -> tuple[list[Reply], float]:
        nonlocal within_s
        if tick.trial is not None:
            within_s = patience_s if tick.deadline_s is None else max(STUCK_DEADLINES * tick.deadline_s, STUCK_S)
        return ask(tick, within_s)

    return asked


def fresh_folder(folder: Path) -> Path:
    """Where a run may be recorded. One that was stopped there is kept beside it, marked, and may so be repeated."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return folder
    if recording.under_way(folder):
        raise PalestraError(say("{folder}: a run is under way there. Nothing was done; name another.", folder=folder))
    begun = recording.is_run(folder) or (folder / recording.TICKS).is_file()  # the ticks are there first
    if not begun or (folder / recording.END).is_file():
        raise PalestraError(
            say("{folder} exists and is not a run that was stopped. Nothing was done; name another.", folder=folder)
        )
    number = 1
    while (aside := folder.with_name(f"{folder.name}.stopped-{number}")).exists():
        number += 1
    folder.rename(aside)
    return folder
