"""What the emotional-EEG experiment is made of: 28 films (the document's table 1), 9 labels, electrodes, triggers."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import Faults, refuse
from palestra.text import Text, Words, say, say_as

RATE_HZ = 250
PACKET = RATE_HZ // 5  # samples that are sent at once
PER_DECISION = 5  # packets
CHANNELS = 32
ROWS = CHANNELS + 1  # the last one holds the triggers
FIXATION = 5 * RATE_HZ  # samples of a black screen before each video
ANNOUNCED = RATE_HZ // 10  # samples from a video's number to its 240


@dataclass(frozen=True)
class Emotion:
    """One of the 9 labels."""

    label: int  # what a program answers
    name: str
    title: Words  # in Chinese as the document's rules write it; its table 1 has 娱悦 for 愉悦
    valence: str
    valence_title: Words


@dataclass(frozen=True)
class Film:
    """One row of the table."""

    video: int  # 1 to 28, also its trigger
    seconds: int
    emotion: Emotion


NEGATIVE = ("negative", say_as("valence", "negative"))
NEUTRAL = ("neutral", say_as("valence", "neutral"))
POSITIVE = ("positive", say_as("valence", "positive"))
VALENCES = (NEGATIVE[0], NEUTRAL[0], POSITIVE[0])
EMOTIONS = (
    Emotion(0, "anger", say_as("emotion", "anger"), *NEGATIVE),
    Emotion(1, "disgust", say_as("emotion", "disgust"), *NEGATIVE),
    Emotion(2, "fear", say_as("emotion", "fear"), *NEGATIVE),
    Emotion(3, "sadness", say_as("emotion", "sadness"), *NEGATIVE),
    Emotion(4, "neutral", say_as("emotion", "neutral"), *NEUTRAL),
    Emotion(5, "amusement", say_as("emotion", "amusement"), *POSITIVE),
    Emotion(6, "inspiration", say_as("emotion", "inspiration"), *POSITIVE),
    Emotion(7, "joy", say_as("emotion", "joy"), *POSITIVE),
    Emotion(8, "tenderness", say_as("emotion", "tenderness"), *POSITIVE),
)
SECONDS = (  # by label; the films are numbered in this order
    (81, 63, 73), (78, 69, 90), (56, 60, 81), (45, 60, 81), (35, 44, 38, 43),
    (55, 69, 73), (129, 77, 83), (34, 37, 67), (63, 83, 77),
)  # fmt: skip
_SHOWN = [(emotion, seconds) for emotion in EMOTIONS for seconds in SECONDS[emotion.label]]
FILMS = tuple(Film(video, seconds, emotion) for video, (emotion, seconds) in enumerate(_SHOWN, start=1))
LABELS = {film.video: film.emotion.label for film in FILMS}  # video → label


@dataclass(frozen=True)
class Odd:
    """A film that some people's recordings show for longer than everybody else's."""

    people: range
    video: int
    usual_s: int  # how long the film is for the others
    crop: str  # where the surplus is: "start" or "end"


ODD = (
    Odd(range(26, 55), video=22, usual_s=76, crop="start"),  # table 1 has the long cut's 83 s, others saw about 76 s
    Odd(range(31, 32), video=27, usual_s=83, crop="end"),
)


def material() -> pl.DataFrame:
    """The table, to join with: video, seconds, valence, emotion, label, and the names in Chinese."""
    rows = [
        {
            "video": film.video,
            "seconds": film.seconds,
            "valence": film.emotion.valence,
            "emotion": film.emotion.name,
            "label": film.emotion.label,
            "valence_zh": film.emotion.valence_title.zh,
            "emotion_zh": film.emotion.title.zh,
        }
        for film in FILMS
    ]
    return pl.DataFrame(rows)


# --- electrodes

# Rows of EEG in either batch. T3, T4, T5 and T6 are the same places as T7, T8, P7 and P8.
BATCH_1 = (
    "Fp1", "Fp2", "Fz", "F3", "F4", "F7", "F8", "FC1", "FC2", "FC5", "FC6", "Cz", "C3", "C4", "T3", "T4",
    "A1", "A2", "CP1", "CP2", "CP5", "CP6", "Pz", "P3", "P4", "T5", "T6", "PO3", "PO4", "Oz", "O1", "O2",
)  # fmt: skip
BATCH_2 = (
    "Fp1", "Fp2", "Fz", "F3", "F4", "F7", "F8", "FC1", "FC2", "FC5", "FC6", "Cz", "C3", "C4", "T7", "T8",
    "CP1", "CP2", "CP5", "CP6", "Pz", "P3", "P4", "P7", "P8", "PO3", "PO4", "Oz", "O1", "O2", "A2", "A1",
)  # fmt: skip
NEWER_NAMES = {"T3": "T7", "T4": "T8", "T5": "P7", "T6": "P8"}
_RENAMED = [NEWER_NAMES.get(name, name) for name in BATCH_1]
TO_BATCH_2 = (*map(_RENAMED.index, BATCH_2), 32)  # the last row is the trigger


def batch_of(person: int) -> int:
    """People 1 to 54 are batch 1; 55 to 80 are batch 2, and so are those who were not published."""
    return 1 if 1 <= person <= 54 else 2


def to_batch_2(array: NDArray[Any], batch: int) -> NDArray[Any]:
    """Rows in batch 2's order: a recording of 33 rows, or its 32 of EEG alone."""
    if batch not in (1, 2) or array.shape[0] not in (CHANNELS, ROWS):
        refuse(
            say("rows"),
            say("{shape} of batch {batch}", shape=array.shape[0], batch=batch),
            say("{channels} or {rows} of batch 1 or 2", channels=CHANNELS, rows=ROWS),
        )
    return array if batch == 2 else array[list(TO_BATCH_2[: array.shape[0]])]


def from_batch_2(array: NDArray[Any], batch: int) -> NDArray[Any]:
    """Rows in another batch's order, from batch 2's."""
    if batch not in (1, 2) or array.shape[0] not in (CHANNELS, ROWS):
        refuse(
            say("rows"),
            say("{shape} for batch {batch}", shape=array.shape[0], batch=batch),
            say("{channels} or {rows} for batch 1 or 2", channels=CHANNELS, rows=ROWS),
        )
    return array if batch == 2 else array[np.argsort(TO_BATCH_2[: array.shape[0]])]


def unit_of(signal: NDArray[Any]) -> str:
    """µV or V: batches differ, and no EEG in microvolts has a mean absolute value below 1."""
    starts = np.linspace(0, max(signal.shape[1] - 50, 0), 40).astype(int)
    values = np.abs(np.concatenate([signal[:CHANNELS, at : at + 50] for at in starts], axis=1), dtype=np.float64)
    finite = np.minimum(values[np.isfinite(values)], 1e9)  # broken values must not overflow the mean
    return "V" if finite.size and finite.mean() < 1 else "µV"


def in_microvolts(array: NDArray[Any], unit: str) -> NDArray[np.float64]:
    """A copy in microvolts; a 33rd row holds triggers and stays."""
    copy = np.array(array, np.float64)
    copy[:CHANNELS] *= 1e6 if unit == "V" else 1
    return copy


# --- triggers

EXPERIMENT_START, EXPERIMENT_END = 250, 251
BLOCK_START, BLOCK_END = 242, 243
VIDEO_START, VIDEO_END = 240, 241
VISIBLE = (EXPERIMENT_START, BLOCK_START, BLOCK_END, EXPERIMENT_END)  # what a contestant sees


class Event(NamedTuple):
    """A trigger, at the sample where it begins."""

    sample: int
    code: int


class Video(NamedTuple):
    """One video as a person saw it: samples [start, stop)."""

    number: int
    label: int
    start: int
    stop: int
    announced: int  # where its number stands, ANNOUNCED before 240


class Span(NamedTuple):
    """From one trigger's sample to its partner's."""

    start: int
    stop: int


def events(row: NDArray[Any]) -> list[Event]:
    """Where triggers begin in a row; one held for several samples counts once."""
    row = np.asarray(row)
    begins = np.flatnonzero((row != 0) & np.concatenate([np.ones(1, bool), row[1:] != row[:-1]])[: len(row)])
    return [Event(int(sample), int(row[sample])) for sample in begins]


def visible_triggers(row: NDArray[Any]) -> NDArray[Any]:
    """What a contestant may see of a whole row: 250, 242, 243 and 251, each for one sample.

    One that is held would end where a hidden one begins, and so give it away.
    """
    shown = np.zeros_like(row)
    for event in events(row):
        if event.code in VISIBLE:
            shown[event.sample] = event.code
    return shown


def videos(found: list[Event], person: int | None = None, where: Text = "triggers") -> list[Video]:
    """The videos that triggers tell of, in their order; `person` (of batch 1) is who may have odd ones."""
    faults, watched = Faults(), _Watched()
    for event in found:
        if problem := watched.next(event):
            faults.add(f"{where}: sample {event.sample + 1:,}", *problem)
    if watched.number is not None:
        faults.add(
            say("{where}: end", where=where),
            say("no end of video {code}", code=watched.number.code),
            watched.expected(),
        )
    faults.finish()
    return [_cropped(video, person) for video in watched.videos]


class _Watched:
    """What has been seen of a sequence: a number, then 240, then 241, then any other."""

    def __init__(self) -> None:
        self.videos: list[Video] = []
        self.number: Event | None = None
        self.start: Event | None = None

    def expected(self) -> str:
        if self.number is None:
            return "a video's number (1–28)"
        which = f"of video {self.number.code}"
        return f"the start {which} ({VIDEO_START})" if self.start is None else f"the end {which} ({VIDEO_END})"

    def next(self, event: Event) -> tuple[str, str] | None:
        """Take one trigger; what was found and expected, if it cannot come here."""
        code, number, start = event.code, self.number, self.start
        if code not in LABELS and code not in (VIDEO_START, VIDEO_END, *VISIBLE):
            return None  # the equipment's own
        problem = None
        if code == VIDEO_START and number is not None and start is None:
            self.start = event
            return None
        if code == VIDEO_END and number is not None and start is not None:
            self.videos.append(Video(number.code, LABELS[number.code], start.sample, event.sample, number.sample))
        elif code in (VIDEO_START, VIDEO_END) or number is not None:
            problem = f"the trigger {code}", self.expected()
        elif code in LABELS and any(video.number == code for video in self.videos):
            problem = f"video {code} again", "each video once"
        self.number, self.start = event if code in LABELS else None, None
        return problem


def _cropped(video: Video, person: int | None) -> Video:
    for odd in ODD:
        surplus = video.stop - video.start - odd.usual_s * RATE_HZ
        if video.number == odd.video and person in odd.people and surplus > 0:
            at_start = odd.crop == "start"
            return video._replace(start=video.start + surplus * at_start, stop=video.stop - surplus * (not at_start))
    return video


def blocks(found: list[Event], where: Text = "triggers") -> list[Span]:
    """From each 242 to its 243."""
    return _spans(found, BLOCK_START, BLOCK_END, where)


def experiment(found: list[Event], where: Text = "triggers") -> Span:
    """From 250 to 251, of which a recording has one each."""
    spans = _spans(found, EXPERIMENT_START, EXPERIMENT_END, where)
    if len(spans) != 1:
        refuse(
            where,
            say("{number} experiments", number=len(spans)),
            say(
                "one, from {experiment_start} to {experiment_end}",
                experiment_start=EXPERIMENT_START,
                experiment_end=EXPERIMENT_END,
            ),
        )
    return spans[0]


def _spans(found: list[Event], opening: int, closing: int, where: Text) -> list[Span]:
    own = [event for event in found if event.code in (opening, closing)]
    for event, code in zip(own, [opening, closing] * len(own), strict=False):
        if event.code != code:
            refuse(
                say("{where}: sample {value:,}", where=where, value=event.sample + 1),
                say("the trigger {code}", code=event.code),
                say("{code} first", code=code),
            )
    if len(own) % 2:
        refuse(
            say("{where}: end", where=where),
            say("no {closing} after the last {opening}", closing=closing, opening=opening),
            say("each {opening} with its {closing}", opening=opening, closing=closing),
        )
    return [Span(first.sample, last.sample) for first, last in zip(own[::2], own[1::2], strict=True)]


@dataclass(frozen=True)
class Piece:
    """Samples [begin, end) of a recording that stay together: one video with what is around it, or a pause."""

    begin: int
    end: int
    video: Video | None = None


def pieces(found: list[Event], shown: list[Video], where: Text = "triggers") -> list[Piece]:
    """The experiment cut up. A video's piece begins with the fixation before it and ends where the next one begins."""
    whole = experiment(found, where)
    begin, cut = whole.start, list[Piece]()
    for block in blocks(found, where):
        inside = [video for video in shown if block.start < video.announced and video.stop < block.stop]
        floor, cuts = block.start + 1, list[int]()
        for video in inside:
            cuts.append(max(video.announced - FIXATION, floor if not cuts else (floor + video.announced + 1) // 2))
            floor = video.stop
        if inside:  # the 242 is in the pause before, the 243 in the one after
            cut.append(Piece(begin, cuts[0]))
            cut += map(Piece, cuts, [*cuts[1:], block.stop], inside)
            begin = block.stop
    cut.append(Piece(begin, whole.stop + 1))
    if sum(piece.video is not None for piece in cut) != len(shown) or any(piece.begin >= piece.end for piece in cut):
        refuse(where, say("videos outside of blocks, or blocks outside of the experiment"), say("each in the other"))
    return cut


def shuffled(cut: list[Piece], rng: np.random.Generator) -> list[Piece]:
    """The pieces with videos in each other's places, the pauses in their own."""
    order = list(cut)
    places = [place for place, piece in enumerate(cut) if piece.video]
    for place, source in zip(places, rng.permutation(places), strict=True):
        order[place] = cut[source]
    return order
