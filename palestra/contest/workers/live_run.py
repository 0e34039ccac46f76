"""Plays bundles of live tracks: one at a time for the board, or several at once on the stage.

What fails before a program could say anything to it is ours; a program that does not start, or never answers, is its
team's. Recordings hold the truth and, of runs on the stage, what every team said: they are for organisers.
"""

import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from palestra.contest.log import events as e
from palestra.contest.log import wall_clock
from palestra.contest.rules import Phase, track_of
from palestra.contest.storage import Files, connect, keep, recorded
from palestra.contest.workers import copies
from palestra.contest.workers.live_progress import Commentary, LiveNotes
from palestra.contest.workers.score import (
    MESSAGE,
    OUR_FAULT,
    Assignment,
    Entrant,
    Failure,
    Outcome,
    data_of,
    made,
    our_part,
    sheet_of,
    submitted,
)
from palestra.contest.workers.stage_versions import StageVersions
from palestra.entrants import Called, Entry, explaining_lines, open
from palestra.errors import NotCaptured, PalestraError, clean
from palestra.executors import fingerprint
from palestra.live import (
    Heard,
    LiveData,
    NotReady,
    Play,
    Played,
    Recording,
    Stopped,
    Story,
    answers_of,
    read_live_data,
    require_sent,
    rescore,
    spoiled,
    story_of,
)
from palestra.live import run as playing
from palestra.records import Case, Sitting, Tick, Track
from palestra.sandbox import backends
from palestra.scoring import Scored
from palestra.text import LANGUAGES, Text, Words, joined, message, say, words_of

RUNS = "runs"  # in the contest's folder: where a run on the stage is recorded
STARVING = message("Nothing kept one program from starving another; the rules of this phase allow that.")
Ending = Literal["done", "stopped", "failed"]
LAST_LINES, OUTPUT = 10, 1_000  # of what a program printed that its team is told: lines, and characters in all


class Unplayable(PalestraError):
    """A bundle that nothing came of, by its own fault. `output` is what it printed; its last words are told with the
    reason."""

    def __init__(self, reason: Text, output: str = "") -> None:
        self.reason, self.output = words_of(reason).cut(MESSAGE), output
        printed = last_words(output)
        super().__init__(_told(reason, printed) if printed else self.reason)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.output)


@dataclass(frozen=True)
class Alone:
    """What came of one bundle that was played to."""

    track: Track
    scored: Scored
    heard: Sequence[Heard]  # its decisions
    recording: Recording
    output: str  # what the program printed
    deaths: Sequence[Text]  # why it ended, each time that it did


def play_one(assignment: Assignment) -> Outcome:
    """Play a submitted bundle, and score what it said. A re-scoring goes by what was recorded, where it is known."""
    if assignment.rescoring and assignment.answers:
        return score_again(assignment)
    try:
        with alone(assignment) as one:
            if not one.scored.result.valid:
                return _spoiled(one.scored)
            files = Files.open(assignment.files)
            extra = {
                "recording": keep(files, one.recording.folder, {assignment.submission: assignment.team}),
                "output": files.put(_account(one).encode()),
            }
            return Outcome(tuple(_results(assignment, one.track, one.scored, one.heard, extra)))
    except Unplayable as error:
        trace = f"{traceback.format_exc()}\nWhat it printed:\n{error.output}"
        return Outcome(failure=Failure("contestant", words_of(error.text), trace))


def _spoiled(scored: Scored) -> Outcome:
    return Outcome(failure=Failure("platform", OUR_FAULT, "\n".join(scored.result.invalid_because)))


def _results(
    assignment: Assignment, track: Track, scored: Scored, heard: Sequence[Heard], extra: Mapping[str, str]
) -> Iterator[e.Body]:
    """The events of a bundle that was played, with what else came of it among the files of its result."""
    marks = copies.fingerprint(track, answers_of(track, sheet_of(assignment).trials, heard))
    for body in made(assignment, track, scored, marks):
        if isinstance(body, e.ResultMade):
            body = msgspec.structs.replace(body, files={**body.files, **extra})
        yield body


def _require_stored(data: LiveData) -> None:
    """Nobody sits down in front of the cameras for each bundle that is handed in."""
    if any(sitting.captured for sitting in data.sittings):
        raise PalestraError(
            say("{folder}: its people are captured while they are played. Set held = \"on-stage\" for the phase.",
                folder=data.folder)
        )  # fmt: skip


@contextmanager
def alone(assignment: Assignment) -> Iterator[Alone]:
    """Play the bundle of an assignment by itself; what was recorded is there as long as this is."""
    track = timed(track_of(assignment.phase), assignment.phase, windows=False)
    with tempfile.TemporaryDirectory(prefix="palestra-run-") as folder, ExitStack() as stack:
        with our_part():
            backends.choose()
            data = read_live_data(track, data_of(assignment), sheet_of(assignment))
            _require_stored(data)
        order = Play(assignment.phase.pace, watched=False, private=False)
        with submitted(assignment) as file:
            entry = open_bundle(assignment.team, file, order, data.sittings, stack)
        try:
            played = _play(data, [entry], order, Path(folder) / "run")
        except NotReady as error:
            require_sandbox()
            raise Unplayable(error.text, entry.output) from None
        yield _of_one(played, entry)


def open_bundle(name: str, file: Path, order: Play, sittings: Sequence[Sitting], stack: ExitStack) -> Entry:
    """Start a submitted bundle; what it is refused for is told without where it lies."""
    try:
        return open.open_entry(Called(name, str(file)), {}, order.terms(sittings), stack)
    except PalestraError as error:
        require_sandbox()
        # Where its file lies here means nothing to the team.
        told, bundle = words_of(error.text), say("The bundle")
        raise Unplayable(Words(*(told.in_language(name).replace(str(file), bundle.in_language(name))
                                 for name in LANGUAGES))) from None  # fmt: skip


def _of_one(played: Played, entry: Entry) -> Alone:
    end, name = played.recording.end, entry.name
    output, deaths = (end.outputs[name], entry.deaths) if end else ("", [])
    scored, heard = played.scored[name], played.heard[name]
    if scored.result.valid and all(one.said is None for one in heard):
        raise Unplayable(_never_answered(story_of(played, name), deaths), output)
    return Alone(played.track, scored, heard, played.recording, output, deaths)


def _never_answered(story: Story, deaths: Sequence[Text]) -> Words:
    told = {"count": len(story.notes), "why": next(filter(None, story.notes), say("no answer"))}
    if story.silent:
        said = say("It never reported an answer, though {count} were asked for. The first time: {why}.", **told)
    else:
        said = say("It gave no usable answer, {count} times. The first time: {why}.", **told)
    if not deaths:
        return said
    return say(
        "{said} It ended {count} times before the run did, first: {why}.", said=said, count=len(deaths), why=deaths[0]
    )


def _play(data: LiveData, entries: Sequence[Entry], order: Play, folder: Path) -> Played:
    with our_part(but=(NotReady, Stopped, NotCaptured)):
        return playing.play(data, entries, order, folder)


def require_sandbox() -> None:
    """Before a program is blamed for not starting: does a harmless one? It could not be told by what a program says."""
    with our_part():
        tried = backends.try_backend(backends.choose(), "")
    if not tried.works:
        raise RuntimeError(f"The sandbox does not work any longer: {tried.reason}")


def timed(track: Track, phase: Phase, windows: bool) -> Track:
    """The track as this phase plays it: with its deadlines or in lock-step; with windows to change versions in, or
    without, where nobody is there to use them."""
    if track.episode:
        cases = partial(_cases, track.episode.cases, phase.timing == "lockstep")
        return replace(track, episode=replace(track.episode, cases=cases))
    stream = track.stream
    if stream is None:
        raise PalestraError(say("{id} is answered by files; there is nothing to play.", id=track.id))

    def changed(sitting: Sitting) -> Sitting:
        ticks = partial(_unhurried, sitting) if phase.timing == "lockstep" else sitting.ticks
        return replace(sitting, ticks=ticks, window_s=sitting.window_s if windows else 0.0)

    sittings = stream.sittings
    return replace(track, stream=replace(stream, sittings=lambda data: [changed(one) for one in sittings(data)]))


def _cases(episode: Callable[[Path], Sequence[Case]], waits: bool, data: Path) -> list[Case]:
    return [replace(case, waits=case.waits or waits) for case in episode(data)]


def _unhurried(sitting: Sitting) -> Iterator[Tick | None]:
    return (tick and replace(tick, deadline_s=None) for tick in sitting.ticks())


def last_words(output: str) -> Words:
    """What explains, of what a program printed, for its own team; a stranger's text, cut and printable."""
    lines = [line for line in map(clean, explaining_lines(output, LAST_LINES)) if line]
    return say("What it printed:\n{output}", output="\n".join(lines)[-OUTPUT:]) if lines else Words()


def _account(one: Alone) -> str:
    """What a team is told of its own program beside the scores."""
    missed = [(heard.decision.trial, heard.note) for heard in one.heard if heard.note]
    parts = [f"{len(missed)} of {len(one.heard)} decisions have no usable answer"]
    parts += [f"{trial}: {note}" for trial, note in missed]
    parts += [
        "",
        f"Ended before the run did: {len(one.deaths)} times",
        *(f"{count} × {why}" for why, count in Counter(one.deaths).items()),
        "",
        "Printed:",
        one.output,
    ]
    return "\n".join(parts)


def score_again(assignment: Assignment) -> Outcome:
    """Score what a bundle said when it was played, by the rules of today."""
    track = timed(track_of(assignment.phase), assignment.phase, windows=False)
    files = Files.open(assignment.files)
    with our_part(), recorded(files, assignment.answers, assignment.submission) as (recording, name):
        data = read_live_data(track, data_of(assignment), sheet_of(assignment))
        require_sent(recording, data)
        again = rescore(recording, data)
        extra = {"recording": assignment.answers}
        return Outcome(tuple(_results(assignment, track, again.scored[name], again.heard[name], extra)))


# On the stage


def play_all(assignment: Assignment) -> Outcome:
    """A live run of several bundles on one clock. Screens are told how it goes."""
    engine = connect(assignment.database)
    notes = LiveNotes(engine, assignment.run, wall_clock)
    try:
        return on_stage(assignment, notes)
    finally:
        notes.close()
        engine.dispose()


def on_stage(assignment: Assignment, notes: LiveNotes) -> Outcome:
    track = timed(track_of(assignment.phase), assignment.phase, windows=True)
    entrants = dict(zip(_names(assignment.entries), assignment.entries, strict=True))
    folder = playing.fresh_folder(Path(assignment.home) / RUNS / assignment.run)
    versions = StageVersions(notes.engine, Files.open(assignment.files), assignment.run, entrants)
    commentary = Commentary(notes, track, entrants, versions)
    stage = _Stage(assignment, track, entrants, commentary, folder)
    try:
        outcome, told, played = stage.run()
        digest = keep(Files.open(assignment.files), folder, stage.teams) if folder.is_dir() else ""
        valid = [name for name, one in played.scored.items() if one.result.valid] if played else []
        bodies = [body for name in valid for body in stage.made(played, name, digest)] if played else []
    except BaseException:
        commentary.end("failed", OUR_FAULT, {})
        raise
    told = _told(told, *versions.trouble) if versions.trouble else told
    results = {name: played.scored[name].result for name in valid} if played else {}
    values = {name: result.metrics[track.ranks.name].value for name, result in results.items()}
    commentary.end(outcome, told, values)
    if outcome == "done":  # the file store has it
        shutil.rmtree(folder)
    sealed = tuple(stage.sealed(played)) if played else ()
    starving = played is not None and played.recording.head.allow_starving
    ended = e.RunEnded(assignment.run, outcome, digest, told.en, e.chinese_of(told), starving, sealed, fingerprint())
    return Outcome((*bodies, ended))


@dataclass(frozen=True)
class _Stage:
    """A run with all who take part in it, by the name that each plays under."""

    assignment: Assignment
    track: Track
    entrants: Mapping[str, Entrant]
    commentary: Commentary
    folder: Path  # where it is recorded

    @property
    def teams(self) -> dict[str, str]:
        return {one.submission: name for name, one in self.entrants.items()}

    def run(self) -> tuple[Ending, Words, Played | None]:
        """How it ended, what is to be said of it, and what came of it where its results count."""
        phase, told = self.assignment.phase, self.commentary
        order = Play(phase.pace, watched=False, follower=told, private=False, allow_starving=phase.allow_starving)
        with ExitStack() as stack:
            with our_part():
                backends.choose()
                data = read_live_data(self.track, data_of(self.assignment), sheet_of(self.assignment))
            absent = self.commentary.absent
            entries = list(self._open_all(order, data.sittings, absent, stack))
            try:
                if not entries:
                    raise NotReady(say("Nobody can take part."))
                played = _play(data, entries, order, self.folder)
            except NotReady as error:
                require_sandbox()
                return "failed", _told(error.text, *_away(absent)), None
            except NotCaptured as error:
                return "failed", words_of(error.text).cut(MESSAGE), None
            except Stopped:
                return "stopped", say("The organiser stopped the run."), None
        invalid = [why for heard in played.heard.values() if (why := spoiled(one.decision for one in heard))]
        if invalid:  # on one clock, what was wrong for one was not right for the others
            why = say("This run does not count, and no team is to blame: {why}.", why=invalid[0])
            return "failed", why.cut(MESSAGE), None
        return "done", _told(*_away({**absent, **played.refused}), *_not_counted(played), *_learnt(played)), played

    def _open_all(
        self, order: Play, sittings: Sequence[Sitting], absent: dict[str, Text], stack: ExitStack
    ) -> Iterator[Entry]:
        """Start every bundle; whoever's cannot be, is absent and holds up nobody."""
        for name, one in self.entrants.items():
            with submitted(msgspec.structs.replace(self.assignment, file=one.file, name=one.name)) as file:
                try:
                    yield open_bundle(name, file, order, sittings, stack)
                except Unplayable as error:
                    absent[name] = error.text

    def sealed(self, played: Played) -> Iterator[e.Sealed]:
        """The weights of every bundle before and after each sitting."""
        for name, found in (played.recording.end.weights if played.recording.end else {}).items():
            for one in found:
                yield e.Sealed(self.entrants[name].submission, one.sitting, one.before, one.after)

    def made(self, played: Played, name: str, recording: str) -> Iterator[e.Body]:
        """The events of one team's result."""
        own = msgspec.structs.replace(self.assignment, submission=self.entrants[name].submission, team=name)
        return _results(own, self.track, played.scored[name], played.heard[name], {"recording": recording})


def _names(entries: Sequence[Entrant]) -> list[str]:
    """The teams' names, each its own: a baseline may be called as a team is."""
    names: list[str] = []
    for entry in entries:
        twins = sum(other.team == entry.team for other in entries[: len(names)])
        names.append(f"{entry.team} ({twins + 1})" if twins else entry.team)
    return names


def _away(absent: Mapping[str, Text]) -> list[Words]:
    return [say("{name} could not take part: {why}", name=name, why=why) for name, why in absent.items()]


def _not_counted(played: Played) -> list[Words]:
    """Whose result does not count, though the run does for the others: it was starved, and is to play again."""
    told = [
        say("The result of {name} does not count: {why}", name=name, why=reason)
        for name, one in played.scored.items()
        for reason in one.result.reasons
    ]
    return [*told, say(STARVING)] if played.recording.head.allow_starving else told


def _learnt(played: Played) -> list[Words]:
    """Whose weights are others after a sitting than before: nothing may be learnt there."""
    sealed = played.recording.end.weights if played.recording.end else {}
    return [
        say("{name}: the weights after {sitting} differ from those before it.", name=name, sitting=one.sitting)
        for name, found in sealed.items()
        for one in found
        if one.before != one.after
    ]


def _told(*parts: Text) -> Words:
    return joined(parts, "\n").cut(MESSAGE)
