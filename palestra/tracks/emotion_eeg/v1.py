"""Emotion from EEG, live (World Robot Contest, emotional BCI): which of 9 emotions does a film give a person?

One row per decision. EEG goes out in packets of 0.2 s; between a block's start and its end a program is asked once per
five packets. Those seconds count that lie in a video, and not in its first or last second.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import clip, refuse
from palestra.evaluation import CROSS_DATA, k_fold, leave_one_out
from palestra.formats import read_once
from palestra.records import (
    CAPTURES,
    Dataset,
    Display,
    Metric,
    Order,
    PersonPackets,
    PersonSignal,
    Plan,
    RuleSettings,
    Signal,
    Sitting,
    StreamAnswers,
    Study,
    Tick,
    Track,
)
from palestra.reduce import mean_of, mean_of_means
from palestra.text import Words, say, say_as, sentences
from palestra.tracks.emotion_eeg import experiment as material
from palestra.tracks.emotion_eeg import format as eeg
from palestra.tracks.emotion_eeg.experiment import EMOTIONS, PACKET, PER_DECISION, RATE_HZ, Video

if TYPE_CHECKING:
    from palestra.records import Block

WINDOW = PER_DECISION * PACKET  # samples that a decision is about: those sent last
EDGE = RATE_HZ  # samples at either end of a video that are not scored
SCHEDULES = 128  # that are kept: a hundred kilobytes each
RELEASED = 100  # packets after which what was read of a file is let go
NEUTRAL = next(emotion.label for emotion in EMOTIONS if emotion.name == "neutral")
VALENCE_OF = {emotion.label: emotion.valence for emotion in EMOTIONS}
UNIT_NAMES = {"µV": "microvolts", "V": "volts"}  # as LSL and XDF spell them


class Settings(msgspec.Struct, frozen=True):
    """Readings of the rules that an organiser may change."""

    rule: Literal["final", "preliminary"] = "final"  # 0.5 s for each decision, or as long as it takes

    @property
    def deadline_s(self) -> float | None:
        return 0.5 if self.rule == "final" else None


@dataclass(frozen=True, eq=False)
class _Schedule:
    """When what is sent of a recording, and asked. Packets are counted from the one that begins with the 250."""

    person: str
    file: Path
    unit: str
    first: int  # sample of the 250
    stop: int  # sample after the last packet, which holds the 251 and may be shorter
    asks: NDArray[np.int64]  # packets on which a decision is due
    block: NDArray[np.int64]  # of each decision, from 1
    videos: list[Video]

    @property
    def packets(self) -> int:
        return -(-(self.stop - self.first) // PACKET)

    @property
    def trials(self) -> list[str]:
        """What the decisions are called."""
        return [f"{self.person}/{number:05d}" for number in range(1, len(self.asks) + 1)]

    @property
    def windows(self) -> NDArray[np.int64]:
        """The first sample that each decision is about."""
        return self.first + (self.asks + 1) * PACKET - WINDOW


def schedules(data: Path) -> list[_Schedule]:
    """Of all test people, in order."""
    return [schedule(file) for file in eeg.recordings(data, "test").values()]


@read_once(SCHEDULES)
def schedule(file: Path) -> _Schedule:
    """What trials, truth and stream need to know of a recording. Its samples are read again, as they are sent."""
    recording = eeg.open_recording(file)
    found = material.events(recording.triggers)
    whole, blocks = material.experiment(found, recording.name), material.blocks(found, recording.name)
    if any(block.start < whole.start or block.stop > whole.stop for block in blocks):
        refuse(
            recording.name,
            say("a block outside of the experiment"),
            say("every 242 and 243 between the 250 and the 251"),
        )
    asks = [_asks((block.start - whole.start) // PACKET, (block.stop - whole.start) // PACKET) for block in blocks]
    last = (whole.stop - whole.start) // PACKET
    return _Schedule(
        file.stem, file, recording.unit, whole.start,
        min(whole.start + (last + 1) * PACKET, len(recording.triggers)),
        np.concatenate([np.empty(0, np.int64), *asks]),
        np.repeat(np.arange(1, len(blocks) + 1), [len(some) for some in asks]),
        recording.videos(),
    )  # fmt: skip


def _asks(opening: int, closing: int) -> NDArray[np.int64]:
    """Every fifth packet after the one that holds the 242, before the one that holds the 243."""
    return np.arange(opening + PER_DECISION, closing, PER_DECISION, dtype=np.int64)


# --- what is decided, and what is right


def trials(data: Path) -> pl.DataFrame:
    return pl.concat([_no_table("block"), *(_table(plan, block=plan.block) for plan in schedules(data))])


def truth(data: Path) -> pl.DataFrame:
    """The decisions that count, with what was shown."""
    nothing = _no_table("video", "second", "start")
    rows = _with_films(pl.concat([nothing, *(_scored(plan) for plan in schedules(data))]))
    return rows.select("trial", "person", "video", "emotion", "valence", "truth_label", "second")


def _with_films(rows: pl.DataFrame) -> pl.DataFrame:
    films = material.material().select("video", "emotion", "valence", truth_label="label")
    return rows.join(films, on="video", how="left", maintain_order="left")


def _scored(plan: _Schedule) -> pl.DataFrame:
    """The decisions whose whole window lies in one video, and not in its first or last second."""
    if not plan.videos:
        refuse(str(plan.file), say("no video in its triggers"), say("the organiser's recording, with every trigger"))
    video, start, stop = np.array([(one.number, one.start, one.stop) for one in plan.videos]).T
    begin = plan.windows
    on = np.searchsorted(start, begin, "right") - 1  # the video that is on, or was last
    whole = (on >= 0) & (begin >= start[on] + EDGE) & (begin + WINDOW <= stop[on] - EDGE)
    second = (begin - start[on]) // RATE_HZ
    return _table(plan, video=video[on], second=second, start=begin).filter(pl.Series(whole))


def _table(plan: _Schedule, **columns: NDArray[np.int64]) -> pl.DataFrame:
    """A row for each decision of a person."""
    names = {"trial": plan.trials, "person": [plan.person] * len(plan.asks)}
    return pl.DataFrame({**names, **columns}, schema_overrides=dict.fromkeys(names, pl.String))


def score(rows: pl.DataFrame) -> pl.DataFrame:
    right = pl.col("label") == pl.col("truth_label")
    valence = pl.col("label").replace_strict(VALENCE_OF, default=None, return_dtype=pl.String)
    return rows.with_columns(
        right=right.cast(pl.Int32),
        wrong=(~right).cast(pl.Int32),
        valence_right=(valence == pl.col("valence")).fill_null(False).cast(pl.Int32),
        missed=pl.lit(0, pl.Int32),
    )


def films_of(rows: pl.DataFrame) -> int:
    """How many films of the paradigm rows are of: all 28, or those of one emotion, of one valence, one alone. Each
    counts, also where no second of it was scored."""
    films = material.material()
    for column in ("video", "emotion", "valence"):
        if rows[column].n_unique() == 1:
            films = films.filter(pl.col(column) == rows[column][0])
    return films.height


def blank(trials: pl.DataFrame) -> pl.DataFrame:
    """The template: nothing moves anybody."""
    return trials.select("trial", label=pl.lit(NEUTRAL, pl.Int64))


def _no_table(*columns: str) -> pl.DataFrame:
    """What is known of people who are still to be captured."""
    return pl.DataFrame(schema={"trial": pl.String, "person": pl.String, **dict.fromkeys(columns, pl.Int64)})


# --- the training people, for benchmark protocols


def pieces(data: Path) -> list[dict[str, str]]:
    return [{"piece": person, "person": person} for person in eeg.recordings(data, "train")]


def samples(data: Path, names: Sequence[str]) -> pl.DataFrame:
    """The seconds of training people that would count, with the first sample (`start`) of each.

    Which video is on tells the emotion, and how far it has come tells which it may be: both are hidden with it.
    """
    files = eeg.recordings(data, "train")
    rows = _with_films(pl.concat([_scored(schedule(files[person])) for person in names]))
    hidden = {"truth_video": "video", "truth_second": "second"}
    return rows.select("trial", "person", "start", "truth_label", piece="person", **hidden)


def told(tested: pl.DataFrame, learnt: pl.DataFrame) -> pl.DataFrame:
    """Tested seconds with what reports break down by."""
    rows = tested.with_columns(video="truth_video", second="truth_second").drop("truth_label")
    return _with_films(rows)


STUDY = Study(pieces, samples, (leave_one_out("person"), k_fold(5, "person"), CROSS_DATA), judge=told)


# --- what is sent, and what comes back


def stream(data: Path, settings: Settings) -> Sequence[Sitting]:
    plans = schedules(data)
    known = [
        Sitting(
            name=plan.person,
            ticks=partial(_ticks, plan, i + 1, i + 1 == len(plans), settings.deadline_s),
            count=plan.packets,
            decisions=len(plan.asks),
            seconds=(plan.stop - plan.first) / RATE_HZ,
        )
        for i, plan in enumerate(plans)
    ]
    from palestra.live import with_captured  # heavy, and only those who play need it

    return with_captured(data, person(settings), known)


def person(settings: Settings) -> PersonSignal:
    """How people are captured while they are played."""

    def packets(data: Path, name: str, people: Sequence[str]) -> PersonPackets:
        from palestra.tracks.emotion_eeg.person import LivePackets

        return LivePackets(data, name, people, settings.deadline_s)

    return PersonSignal(
        source="eeg",
        rate_hz=RATE_HZ,
        channels=material.BATCH_2,
        packets=packets,
        estimate=lambda seconds: (round(seconds * RATE_HZ / PACKET), round(seconds * RATE_HZ / WINDOW)),
        order=eeg.in_order,
        is_kept=lambda data, name: eeg.test_file(data, name).is_file(),
    )


def _ticks(plan: _Schedule, number: int, last_person: bool, deadline_s: float | None) -> Iterator[Tick]:
    """The packets of one person. The file is opened here, before the first of them is due."""
    recording = eeg.open_recording(plan.file)
    signal = recording.signal
    triggers = material.visible_triggers(recording.triggers)
    asked = dict(zip(plan.asks.tolist(), plan.trials, strict=True))

    first, stop, last = plan.first, plan.stop, plan.packets - 1

    def packets() -> Iterator[Tick]:
        for i, begin in enumerate(range(first, stop, PACKET)):
            end = min(begin + PACKET, stop)
            packet = signal[:, begin:end].copy()  # whoever gets it may write into it
            packet[-1] = triggers[begin:end]
            trial = asked.get(i)
            limit_s = None if trial is None else deadline_s
            about = {"person": number, "start": begin - first, "last": last_person and i == last}
            yield Tick((end - first) / RATE_HZ, {"packet": packet}, trial, limit_s, about)  # due once it is recorded
            if i % RELEASED == RELEASED - 1:
                recording.release()

    return packets()


def hear(answer: Any) -> dict[str, int]:
    """A label. Over a WebSocket it comes in a message, by either name."""
    if isinstance(answer, dict) and len(answer) == 1 and answer.keys() <= {"answer", "label"}:
        (answer,) = answer.values()
    # A bool is an int to Python and no label to anybody.
    if isinstance(answer, bool) or not isinstance(answer, int | np.integer) or not 0 <= answer < len(EMOTIONS):
        raise ValueError(
            say(
                "returned {value}, expected a whole number from 0 to {last}",
                value=clip(answer),
                last=len(EMOTIONS) - 1,
            )
        )
    return {"label": int(answer)}


def signal(data: Path) -> Signal:
    units = {plan.unit for plan in schedules(data)}
    if len(units) > 1:
        refuse(
            str(data / "test"),
            say("recordings in {join}", join=" and in ".join(sorted(units))),
            say("one unit for all of them"),
        )
    rows = len(material.BATCH_2)
    return Signal(
        name="emotion-eeg",
        kind="EEG",
        rate_hz=float(RATE_HZ),
        channels=(*material.BATCH_2, "trigger"),
        units=(*[UNIT_NAMES[units.pop()]] * rows, "none"),
        array="packet",
    )


# --- what is shown


def picture(data: Path, row: Mapping[str, Any]) -> NDArray[np.uint8]:
    """The second that a decision was about, with the true emotion and the answer where the row has them."""
    from palestra.tracks.emotion_eeg.figures import window

    *experiment, person, number = str(row["trial"]).split("/")  # protocols test training people
    plan = schedule(data / ("train" if experiment else "test") / f"{person}.pkl")
    begin = int(plan.windows[int(number) - 1])
    eeg_uv = eeg.open_recording(plan.file).standard(begin, begin + WINDOW)[: material.CHANNELS]
    labels: dict[Literal["truth", "answer"], Any] = {"truth": row.get("truth_label"), "answer": row.get("label")}
    return window(eeg_uv, {name: EMOTIONS[label].title for name, label in labels.items() if label is not None})


def caption(row: Mapping[str, Any]) -> Words:
    """Which emotion was shown, and which was answered."""
    shown, label = EMOTIONS[row["truth_label"]].title, row.get("label")
    answer = say_as("answer", "none") if label is None else EMOTIONS[label].title
    return say("shown: {shown}, answer: {answer}", shown=shown, answer=answer)


def charts(rows: pl.DataFrame) -> "list[Block]":
    from palestra.tracks.emotion_eeg import figures

    return [
        figures.confusion(rows),
        figures.emotion_bars(rows),
        figures.over_time(rows),
        figures.people_by_emotion(rows),
    ]


def describe(data: Path) -> "list[Block]":
    from palestra.tracks.emotion_eeg.figures import data_page

    return data_page(data)


def make(order: Order) -> Plan:
    from palestra.tracks.emotion_eeg.maker import plan

    return plan(order)


def track(settings: Settings) -> Track:
    levels = ("person", "video")
    return Track(
        id="emotion-eeg-v1",
        title=say("Emotion from EEG, live"),
        trials=trials,
        truth=truth,
        score=score,
        metrics=(
            Metric("accuracy", "", "higher", mean_of_means("right", *levels, out_of=films_of), say("accuracy")),
            Metric(
                "valence_accuracy",
                "",
                "higher",
                mean_of_means("valence_right", *levels, out_of=films_of),
                say("valence accuracy"),
            ),
            Metric("missed", "", "lower", mean_of("missed"), say("missed")),
        ),
        missing={"right": 0, "wrong": 1, "valence_right": 0, "missed": 1},
        blank=blank,
        units=("person",),
        study=STUDY,
        stream=StreamAnswers(
            sittings=partial(stream, settings=settings), hear=hear, signal=signal, person=person(settings)
        ),
        dataset=Dataset(make=make, describe=describe, hidden=("test", CAPTURES)),
        display=Display(
            error="wrong",
            groups=("emotion", "valence", "video"),
            # None of them is from a stream: features were smoothed over videos in the order of their labels, and the
            # SVM's C was chosen on the people it was tested on. What is causal and shuffled reaches less.
            published={
                "DE + SVM": {"accuracy": 0.352},
                "DE + SVM, reproduced": {"accuracy": 0.394},
                "CLISA": {"accuracy": 0.424},
            },
            charts=charts,
            picture=picture,
            pictured=sentences(
                say("A second of EEG; from line to line the voltage at the top right."),
                say("Green: the emotion that was shown."),
                say("Orange: the answer."),
            ),
            caption=caption,
            labels={
                "emotion": say("emotion"),
                "valence": say("valence"),
                **{emotion.name: emotion.title for emotion in EMOTIONS},
                **{emotion.valence: emotion.valence_title for emotion in EMOTIONS},
                "DE + SVM, reproduced": say("DE + SVM, reproduced"),
            },
        ),
        settings=RuleSettings(settings, track),
    )


TRACK = track(Settings())
