"""The records that two or more folders share, in the order that data meets them."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec

from palestra.text import Text, Words

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

SIZES = ("tiny", "small", "paper")
CAPTURES = "captures"  # a folder of a data set: recordings of its people, and by the file who is still to come
CAPTURE_FILE = "capture.toml"


class Order(msgspec.Struct, frozen=True):
    """What synthetic data someone asked for."""

    size: Literal["tiny", "small", "paper"] = "tiny"
    seed: int = 0
    without: tuple[str, ...] = ()  # heavy parts to leave out, such as "images"


@dataclass(frozen=True)
class Part:
    """A piece of a data set that one process writes on its own. Its bytes depend on the order alone."""

    name: str
    weight: int  # how much work it is, in pictures or their like
    write: Callable[[Path], None]  # picklable; gets the data set's folder


@dataclass(frozen=True)
class Plan:
    """How a data set is made: parts in any order, then what needs all of them."""

    parts: Sequence[Part]
    sample: Part  # a small part, made first and thrown away, to tell bytes and time
    finish: Callable[[Path], None]


@dataclass(frozen=True)
class Tick:
    """Something that goes out to entrants at a planned time."""

    due_s: float  # since the start of its sitting
    payload: Mapping[str, NDArray[Any]]  # arrays by name, in the order that a program takes them
    trial: str | None = None  # what is to be decided on it, if anything
    deadline_s: float | None = None  # how long that may take; without one, everybody is waited for
    about: Mapping[str, int | bool | str] = field(default_factory=dict)  # what else entrants are told


@dataclass(frozen=True)
class Sitting:
    """A stretch of a live stream that runs on one clock: one person under the cap, one tester in the headset."""

    name: str
    ticks: Callable[[], Iterable[Tick | None]]  # from the beginning, each time it is called; read as they are sent
    count: int  # of ticks
    decisions: int  # of them that ask something
    seconds: float  # until the last one is due
    window_s: float = 0.0  # before it, in which entrants may register another version
    captured: bool = False  # from a person while it is played: its ticks are None as long as the next is not there

    def planned(self) -> Iterable[Tick]:
        """The ticks, where nobody is to be captured for them."""
        assert not self.captured, f"{self.name} is to be captured"
        return cast("Iterable[Tick]", self.ticks())


@dataclass(frozen=True)
class Case:
    """A world to act in, from its beginning. What is left of it when an entrant has acted is the answer."""

    name: str  # the trial
    open: Callable[[], Any]  # a World of live/episode.py
    seconds: float  # of its own time, after which it ends
    period_s: float  # between two actions
    waits: bool = False  # whether it stands still while an entrant thinks


@dataclass(frozen=True)
class Signal:
    """What the samples of a stream are, for protocols that say so, as LSL does."""

    name: str
    kind: str  # "EEG"
    rate_hz: float
    channels: tuple[str, ...]
    units: tuple[str, ...]  # of each channel
    array: str  # which array of a tick's payload has them, channels × samples


@dataclass(frozen=True)
class Reply:
    """What an entrant said."""

    trial: str
    answer: Any
    note: Text = ""  # what was wrong with it, where something was


@dataclass(frozen=True)
class Draws:
    """How often each unit is drawn in each resample, and which unit each row belongs to."""

    unit_of: NDArray[np.int64]  # (rows,)
    weights: NDArray[np.float64]  # (resamples, units)


Cell = Text | int | float | bool | None


@dataclass(frozen=True)
class Table:
    """Rows under column titles; numbers are written as a reader expects."""

    title: Text
    columns: Sequence[Text]
    rows: Sequence[Sequence[Cell]]
    note: Text = ""
    total: bool = False  # whether the last row sums up the others
    alone: bool = False  # whether it has a row of the page for itself, however narrow it is


@dataclass(frozen=True)
class Chart:
    """A figure as an `<svg>` element, which is put into the page as it is: only from `palestra.report.figures`."""

    title: Text
    svg: str
    note: Text = ""
    words: Mapping[str, str] = field(default_factory=dict)  # the Chinese of what is drawn in English (report.Drawn)


@dataclass(frozen=True)
class Gallery:
    """Pictures with captions; a caption without bytes stands alone."""

    title: Text
    pictures: Sequence[tuple[Text, bytes]]  # caption, PNG
    note: Text = ""


Block = Table | Chart | Gallery  # what report pages are made of


@dataclass(frozen=True)
class Film:
    """RGB pictures of one size, and how many of them make a second."""

    frames: Iterable[NDArray[np.uint8]]
    rate_hz: int


@dataclass(frozen=True)
class Metric:
    """One number that a run earns, from the scores of all its trials."""

    name: str
    unit: str  # "deg", "" for a share
    better: Literal["lower", "higher"]
    reduce: Callable[[pl.DataFrame, Draws], NDArray[np.float64]]  # one number per resample
    title: Text = ""


@dataclass(frozen=True)
class Material:
    """Samples of a data set, to learn from or to be tested on."""

    data: Path
    rows: pl.DataFrame  # one per sample; those of a test lack the columns that begin with `truth_`
    options: Mapping[str, str] = field(default_factory=dict)  # of the solution


Half = Literal["all", "first", "second"]  # split at floor(N/2) over all rows of a piece


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """One way to train and test, for every piece that it tests."""

    name: str
    tests: Mapping[str, tuple[str, ...]] = {}  # attributes that tested pieces have, beside the protocol's
    learns: Mapping[str, tuple[str, ...]]  # attributes of the pieces to learn from: values, or SAME or OTHER
    test: Half = "all"
    train: Half = "all"


class Protocol(msgspec.Struct, frozen=True, kw_only=True):
    """Experiments that belong together, and what is told of them."""

    name: str
    title: str
    where: Mapping[str, tuple[str, ...]] = {}  # attributes of all pieces that take part
    experiments: tuple[Experiment, ...]
    ranks: tuple[str, ...]  # the experiments whose mean error is the protocol's result
    against: tuple[tuple[str, str], ...] = ()  # (harder, easier): whose sensitivity is told
    pairs: tuple[str, ...] = ("piece",)  # attributes that a harder and an easier test share
    deal: tuple[str, int] | None = None  # an attribute and a count: who shares it is in one of so many `fold`s
    elsewhere: bool = False  # whether it learns from another data set, all of it


@dataclass(frozen=True)
class Study:
    """The samples of a track whose truth is known to whoever has the data, and protocols to learn and test on them.

    Samples have the columns `trial`, `piece` and whatever the track's truth has: what begins with `truth_` is not
    shown to a program that is tested.
    """

    pieces: Callable[[Path], Sequence[Mapping[str, str]]]  # attributes of each piece; `piece` is its name
    samples: Callable[[Path, Sequence[str]], pl.DataFrame]  # of the named pieces, in their order
    protocols: tuple[Protocol, ...]
    # Tested samples with what is to be known of how they were trained for, given the samples that were learnt from.
    judge: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame] | None = None


@dataclass(frozen=True)
class Plausible:
    """What an answer may say at all. Anything else is refused: it could only be meant to find out the truth."""

    holds: Callable[[pl.DataFrame], pl.Series]  # of trials with their answers beside them: which may be; null may
    expected: Text  # the same in words


@dataclass(frozen=True)
class FileAnswers:
    """Answers that come as a file."""

    read: Callable[[Path, pl.DataFrame], pl.DataFrame]  # a submission for these trials; faults are raised
    write: Callable[[pl.DataFrame, Path], None] | None = None  # writes a submission
    suffix: str = ".csv"  # of a submission file
    most_bytes: Callable[[pl.DataFrame], int] | None = None  # of a submission file for these trials
    plausible: Plausible | None = None  # what an answer may say at all
    inspect: Callable[[pl.DataFrame], None] | None = None  # opens heavy answers that no truth is scored against
    content: Callable[[pl.DataFrame], pl.DataFrame] | None = None  # the same rows with what references stand for
    apart: Callable[[Mapping[str, Any], Mapping[str, Any]], float] | None = None  # how far two heavy answers differ


@dataclass(frozen=True)
class PersonPictures:
    """How pictures of a person who looks at points become a sitting: one of each source for every point."""

    sources: tuple[str, ...]  # what is pictured, such as the left and the right eye
    shape: tuple[int, int]  # of a picture, height × width; grey
    # A data set of points that are still to be shown: (x, y) in mm to the right and up of straight ahead, for each
    # person in order; and how far away they are.
    prepare: Callable[[Path, Mapping[str, Sequence[tuple[float, float]]], float], None]
    keep: Callable[[Path, str, int, Mapping[str, NDArray[np.uint8]]], None]  # those of a person's point, from 0
    is_kept: Callable[[Path, str], bool]  # whether all of a person's are there
    folder: Callable[[Path, str], Path]  # where a person's are


class PersonPackets(typing.Protocol):
    """A person's signal, as it is sent and kept."""

    is_over: bool  # whether nothing more is to be sent

    def take(self, samples: NDArray[Any], triggers: NDArray[np.int64]) -> Sequence[Tick]:
        """What is to be sent after these samples (samples × channels), with the trigger of each."""

    def finish(self) -> None:
        """Keep all of it, as a data set has it."""


@dataclass(frozen=True)
class PersonSignal:
    """How the signal of a person becomes a sitting."""

    source: str
    rate_hz: int
    channels: tuple[str, ...]  # without the triggers
    packets: Callable[[Path, str, Sequence[str]], PersonPackets]  # of a person, who is one of these
    estimate: Callable[[float], tuple[int, int]]  # ticks and decisions of so many seconds, as nobody knows them before
    order: Callable[[str], Any]  # sorts people as their files are read
    is_kept: Callable[[Path, str], bool]


@dataclass(frozen=True)
class StreamAnswers:
    """Answers to what is sent live."""

    sittings: Callable[[Path], Sequence[Sitting]]  # what is sent, in order
    hear: Callable[[Any], Mapping[str, Any]]  # an answer as columns; ValueError says what is wrong with it
    signal: Callable[[Path], Signal] | None = None  # where the stream is one of samples
    person: PersonPictures | PersonSignal | None = None  # how it is captured from a person while it is played


@dataclass(frozen=True)
class EpisodeAnswers:
    """What is left of worlds that an entrant acted in."""

    cases: Callable[[Path], Sequence[Case]]  # worlds to act in, in order
    hear: Callable[[Any], Mapping[str, Any]]  # what is left of one, as columns


@dataclass(frozen=True)
class RefereedMatch:
    """What the referees' table needs from a challenge. Sheet and SimulatedCase are records of contest/match, Section is
    one of contest/manual, Attempt one of contest/rehearsal.py."""

    judged: Callable[[pl.DataFrame], pl.DataFrame]  # what referees decided (scoring/judged.py), scored
    sheet: Callable[[Path, Literal["practice", "hidden"]], Any]  # a Sheet: these cases of a data set, to be played
    drawing: Callable[[bytes], str] | None = None  # a reference layout of the sheet as an SVG, for referees
    manual: Callable[[Path], Sequence[Any]] | None = None  # Sections that teams read before; opens nothing hidden
    rehearse: Callable[[Path, Any], Any] | None = None  # an Attempt in a simulator, not with the robot: a SimulatedCase


@dataclass(frozen=True)
class Dataset:
    """How data sets of a challenge are made, described, and cut down to what contestants may have."""

    make: Callable[[Order], Plan] | None = None
    describe: Callable[[Path], list[Block]] | None = None  # the data set's own page
    hidden: tuple[str, ...] = ("truth",)  # folders of a data set that contestants do not get
    # Files that hold truth beside what may be seen, by their paths in the data set: what contestants get, if anything.
    in_part: Callable[[Path], Mapping[Path, bytes | None]] | None = None


@dataclass(frozen=True)
class Display:
    """What people see of a challenge: in reports, films and pages."""

    error: str = "error"  # the score that says how bad one trial is (higher is worse)
    groups: tuple[str, ...] = ()  # columns that reports break down by, where the data has them
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # results in the literature
    charts: Callable[[pl.DataFrame], list[Block]] | None = None  # what a result's page shows of its scored rows
    direction: tuple[str, str] | None = None  # score columns with the gaze direction, degrees, for the heat map
    picture: Callable[[Path, Mapping[str, Any]], NDArray[np.uint8]] | None = None  # a scored trial as RGB
    pictured: Text = ""  # what such a picture shows, in words
    caption: Callable[[Mapping[str, Any]], Words] | None = None  # what a trial came to; its error then only sorts
    film: Callable[[Path, str], Film] | None = None  # a sequence as moving pictures, by its name
    still: Callable[[Path, str], NDArray[np.uint8]] | None = None  # a frame of a sequence as RGB, where more is to see
    review: Callable[[Path, Any, str], list[Block]] | None = None  # an entrant's recorded run, played again
    films: Callable[[Path, Any, Path], list[Path]] | None = None  # films of a recorded run, written into a folder
    labels: Mapping[str, Text] = field(default_factory=dict)  # what people call its columns, their values, results


@dataclass(frozen=True)
class RuleSettings:
    """The readings of the rules that an organiser may change."""

    values: msgspec.Struct
    configure: Callable[[Any], Track]  # the same track under other values


@dataclass(frozen=True)
class Track:
    """One versioned challenge: its trials, its truth, how answers arrive, how they are scored, what ranks.

    Tables have one row per trial and a column `trial` (text). The first of `units` that a column is named after is
    what intervals resample. The first metric ranks. Answers arrive in one or more ways (`files`, `stream`, `episode`,
    `match`); a live track gives `blank`, which says what columns an answer has.
    """

    id: str
    title: Text
    trials: Callable[[Path], pl.DataFrame]  # public: what a contestant may know
    truth: Callable[[Path], pl.DataFrame]  # hidden: joined in scoring/score.py and nowhere else
    score: Callable[[pl.DataFrame], pl.DataFrame]  # truth and answers joined; row-wise, so it is called in chunks
    metrics: tuple[Metric, ...]
    missing: Mapping[str, float] | Callable[[pl.DataFrame], pl.DataFrame]  # what no answer costs
    units: tuple[str, ...] = ("unit",)
    ties: tuple[str, ...] = ()  # metrics that break ties in the first one, in order
    blank: Callable[[pl.DataFrame], pl.DataFrame] | None = None  # answers of a template submission, from the trials
    chunk: int = 65_536  # rows that `score` gets at once
    files: FileAnswers | None = None
    stream: StreamAnswers | None = None
    episode: EpisodeAnswers | None = None
    match: RefereedMatch | None = None
    dataset: Dataset = Dataset()
    display: Display = Display()
    study: Study | None = None  # how its labelled samples are learnt from and tested on, for `palestra bench`
    settings: RuleSettings | None = None

    def __post_init__(self) -> None:
        if isinstance(self.units, str):  # one name is an easy slip, and would be taken for a tuple of letters
            object.__setattr__(self, "units", (self.units,))

    @property
    def arrives(self) -> list[str]:
        """How answers may arrive."""
        ways = {"file": self.files, "stream": self.stream, "episode": self.episode, "judged": self.match}
        return [name for name, given in ways.items() if given]

    @property
    def live(self) -> bool:
        """Whether programs play it, and no file is handed in."""
        return self.stream is not None or self.episode is not None

    @property
    def hear(self) -> Callable[[Any], Mapping[str, Any]] | None:
        """A live answer as columns, where programs play it."""
        way = self.stream or self.episode
        return way.hear if way else None

    @property
    def writes(self) -> Callable[[pl.DataFrame, Path], None] | None:
        """Writes a submission file, where there is one to write."""
        return self.files.write if self.files else None

    @property
    def inspect(self) -> Callable[[pl.DataFrame], None] | None:
        """Opens heavy answers, where a file has them."""
        return self.files.inspect if self.files else None

    @property
    def content(self) -> Callable[[pl.DataFrame], pl.DataFrame] | None:
        """Answers with what references stand for, where a file has those."""
        return self.files.content if self.files else None

    @property
    def suffix(self) -> str:
        """Of a submission file."""
        return self.files.suffix if self.files else ""

    @property
    def setting_values(self) -> dict[str, Any]:
        """The readings of the rules that are in force, by name."""
        values: dict[str, Any] = msgspec.to_builtins(self.settings.values) if self.settings else {}
        return values

    @property
    def ranks(self) -> Metric:
        return self.metrics[0]


class Estimate(msgspec.Struct, frozen=True):
    """A number with its 95 % interval; low and high are null where too few units took part."""

    value: float
    low: float | None = None
    high: float | None = None
    rounded_to: float | msgspec.UnsetType = msgspec.UNSET  # its last step, where it is not shown with all its digits


class Provenance(msgspec.Struct, frozen=True):
    """Where a Result comes from."""

    palestra: str  # version
    code: str  # digest of the code that scored
    data: str  # digest of the trials and the truth
    answers: str  # digest of the answers
    settings: dict[str, Any]
    seed: int  # of the resampling
    resamples: int
    sandbox: str | None  # what contained the contestant's program; null for files
    host: str
    made_at: str  # UTC


class Result(msgspec.Struct, frozen=True):
    """The only outcome record."""

    track: str
    entrant: str
    valid: bool
    invalid_because: list[str]
    unit: str
    metrics: dict[str, Estimate]
    by: dict[str, list[dict[str, Any]]]
    provenance: Provenance
    invalid_because_zh: list[str] | msgspec.UnsetType = msgspec.UNSET  # the same in Chinese, where there are reasons

    @property
    def reasons(self) -> list[Words]:
        """Why it does not count. Those written before there was Chinese are told as they are."""
        chinese = self.invalid_because_zh or self.invalid_because
        return [Words(en, zh) for en, zh in zip(self.invalid_because, chinese, strict=False)]


@dataclass(frozen=True)
class Solution:
    """A reference program for a track.

    What it is made of is named, "module:name" or "module", and imported when it is run. For files that has
    fit(data, options), which gives a picklable model, and predict(data, trials, model), which answers some trials at a
    time (`solves`, `parts_by`); for protocols it is a class that learns and is tested anew in each fold (`learns`); for
    streams it is a class (`plays`), which is run as a contestant's is.
    """

    track: str
    name: str
    title: str
    solves: str | None = None  # a module or an object with fit and predict
    parts_by: tuple[str, ...] = ()  # trials that share these columns are answered together
    learns: str | None = None  # "module:Class" with fit(Material) and predict(Material), for `palestra bench`
    plays: str | None = None  # "module:Class" with get_data and algorithm, or reset and act
    knows: str | None = None  # "module:Class" that may see the world itself, to show that cases can be solved
    options: Mapping[str, str] = field(default_factory=dict, hash=False)  # name → default, set with --set
    weights: str | None = None  # the file in the package, where it learnt beforehand
