"""Figures of emotional EEG: how answers fell out, what a data set holds, and a second of it as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import cv2
import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import signal

from palestra.errors import refuse
from palestra.records import Block, Cell, Chart, Table
from palestra.report import (
    ACCENT,
    ANSWER,
    DARK,
    FAINT,
    GREEN,
    GRID,
    HEAT,
    INK,
    PAPER,
    SECOND,
    SERIES,
    TRUTH,
    VERMILION,
    Colour,
    Drawn,
    Image,
    capital,
    column_title,
    drawn,
    label,
    svg,
    write,
)
from palestra.text import Text, Words, joined, message, say, say_as, say_count, sentences
from palestra.tracks.emotion_eeg import experiment as material
from palestra.tracks.emotion_eeg import format as eeg
from palestra.tracks.emotion_eeg.experiment import BATCH_2, CHANNELS, EMOTIONS, RATE_HZ, VALENCES, Span, Video

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

CHANCE = 1 / len(EMOTIONS)
NAMES = [emotion.name for emotion in EMOTIONS]
TITLES = [emotion.title for emotion in EMOTIONS]
VALENCE_TITLES = {emotion.valence: emotion.valence_title for emotion in EMOTIONS}
VALENCE_COLOURS = dict(zip(VALENCES, (SECOND, SERIES[2], ACCENT), strict=True))
BAR_ALPHA = 0.75  # so that dots can be seen on bars
MOST_BINS = 45  # of a video's time
FEW = 20  # decisions, whose mean says little
SHOWN_S, SEEN_HZ = 4.0, (1.0, 40.0)  # of EEG in a chart
SPECTRUM_PEOPLE, SPECTRUM_S, SPECTRUM_HZ = 6, 60, (1.0, 60.0)
SPECTRUM_CHANNELS = ("Fz", "Cz", "Pz", "Oz")
BANDS_HZ = {"δ": (1, 4), "θ": (4, 8), "α": (8, 14), "β": (14, 30), "γ": (30, 47)}


# --- how answers fell out


@drawn
def confusion(rows: pl.DataFrame) -> Chart:
    """Which emotion was taken for which: shares of each true emotion's seconds, and their number below."""
    from matplotlib.figure import Figure

    text = Drawn()
    counts, columns = _confusion_counts(rows)
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)
    figure = Figure(figsize=(0.62 * len(columns) + 1.7, 5.4))
    axes = figure.subplots()
    top = max(float(shares.max()), 1e-9)
    axes.imshow(shares, cmap=HEAT, vmin=0, vmax=top, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        colour = "#000000" if share > 0.6 * top else "#ffffff"
        axes.text(column, row - 0.14, f"{100 * share:.0f} %", ha="center", va="center", color=colour, fontsize=9)
        number = f"{counts[row, column]:,}"
        axes.text(column, row + 0.24, number, ha="center", va="center", color=colour, fontsize=6.5)
    axes.set_xticks(range(len(columns)), map(text, columns), rotation=35, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(TITLES)), map(text, TITLES))
    axes.tick_params(length=0)
    for edge in _valence_edges():
        axes.axhline(edge, color="#ffffff", linewidth=1.5)
    for edge in (*_valence_edges(), *[len(EMOTIONS) - 0.5] * (len(columns) > len(EMOTIONS))):
        axes.axvline(edge, color="#ffffff", linewidth=1.5)
    axes.set(xlabel=text(say_as("axis", "answer")), ylabel=text(say_as("axis", "shown")))
    axes.spines[:].set_visible(False)
    note = sentences(say("Share of each row, and seconds."), say("Lines part the valences."))
    return Chart(say("Emotions taken for others"), svg(figure), note, text.chinese)


def _confusion_counts(rows: pl.DataFrame) -> tuple[NDArray[np.int64], list[Words]]:
    """Seconds by true emotion and answer; a last column for those without an answer, where there are any."""
    truth, answer = rows["truth_label"].to_numpy(), rows["label"].fill_null(len(EMOTIONS)).to_numpy()
    counts = np.zeros((len(EMOTIONS), len(EMOTIONS) + 1), np.int64)
    np.add.at(counts, (truth, answer), 1)
    gaps = bool(counts[:, -1].any())
    return (counts, [*TITLES, say("no answer")]) if gaps else (counts[:, :-1], TITLES)


def _valence_edges() -> list[float]:
    return [i - 0.5 for i in range(1, len(EMOTIONS)) if EMOTIONS[i].valence != EMOTIONS[i - 1].valence]


@drawn
def emotion_bars(rows: pl.DataFrame) -> Chart:
    """The accuracy for each emotion, mean over people of the mean over videos, with a dot for each person."""
    from matplotlib.figure import Figure

    text, people = Drawn(), _by_person_and_emotion(rows)
    means = people.group_by("emotion").agg(pl.col("accuracy").mean())
    accuracy = dict(means.iter_rows())
    figure = Figure(figsize=(5.2, 3.6))
    axes = figure.subplots()
    for place, emotion in enumerate(EMOTIONS):
        value = accuracy.get(emotion.name)
        if value is None:
            continue
        axes.barh(place, 100 * value, height=0.62, color=VALENCE_COLOURS[emotion.valence], alpha=BAR_ALPHA)
        each = 100 * people.filter(emotion=emotion.name)["accuracy"].to_numpy()
        axes.plot(each, np.full(len(each), place), ".", color=INK, markersize=4, alpha=0.55)
    axes.axvline(100 * CHANCE, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_yticks(range(len(TITLES)), map(text, TITLES))
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel=text(say("right seconds (%)")), xlim=(0, None), ylim=(len(NAMES) - 0.5, -0.5))
    axes.grid(True, axis="x")
    _valence_legend(axes, text, BAR_ALPHA)
    guessing = say("Dashed: guessing evenly, {share:.1f}\u00a0%.", share=100 * CHANCE)
    return Chart(say("Accuracy by emotion"), svg(figure), sentences(say("Dots are people."), guessing), text.chinese)


def _by_person_and_emotion(rows: pl.DataFrame) -> pl.DataFrame:
    videos = rows.group_by("person", "emotion", "video", maintain_order=True).agg(accuracy=pl.col("right").mean())
    return videos.group_by("person", "emotion", maintain_order=True).agg(pl.col("accuracy").mean())


def _valence_legend(axes: Axes, text: Drawn, alpha: float = 1.0) -> None:
    from matplotlib.patches import Patch

    patches = [
        Patch(color=colour, alpha=alpha, label=text(VALENCE_TITLES[name])) for name, colour in VALENCE_COLOURS.items()
    ]
    axes.figure.legend(handles=patches, loc="outside upper center", ncols=3, fontsize=8.5)


@drawn
def over_time(rows: pl.DataFrame) -> Chart:
    """The accuracy as a video goes on, above how many decisions it is made of."""
    from matplotlib.figure import Figure

    text = Drawn()
    last = int(rows["second"].max() or 0) if rows.height else 0  # type: ignore[arg-type]
    width = max(1, -(-(last + 1) // MOST_BINS))
    bins = rows.group_by(at=pl.col("second") // width * width).agg(pl.col("right").mean(), pl.len()).sort("at")
    figure = Figure(figsize=(5.2, 3.6))
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    middle, accuracy = bins["at"].to_numpy() + width / 2, 100 * bins["right"].to_numpy()
    few = bins["len"].to_numpy() < FEW
    upper.plot(middle, np.where(few, np.nan, accuracy), ".-", color=ACCENT, linewidth=1.4, markersize=5)
    upper.plot(middle[few], accuracy[few], ".", color=ACCENT, markersize=3, alpha=0.4)
    upper.axhline(100 * CHANCE, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    upper.set(ylabel=text(say("right (%)")), ylim=(0, None))
    lower.bar(middle, bins["len"].to_numpy(), width=0.9 * width, color=ACCENT, alpha=0.4)
    lower.set(xlabel=text(say("time in the video (s)")), ylabel=text(say_as("axis", "decisions")))
    lower.set_xlim(0, last + width + 1)
    for axes in (upper, lower):
        axes.grid(True, axis="y")
    figure.align_ylabels()
    note = sentences(
        say("All decisions, in steps of {seconds}\u00a0s.", seconds=width),
        say("Faint: fewer than {few} of them.", few=FEW),
        say("Dashed: guessing evenly."),
    )
    return Chart(say("Accuracy within a video"), svg(figure), note, text.chinese)


def people_by_emotion(rows: pl.DataFrame) -> Table:
    """The accuracy of each person for each emotion, in per cent."""
    means = {(person, emotion): value for person, emotion, value in _by_person_and_emotion(rows).iter_rows()}
    people = rows["person"].unique(maintain_order=True).to_list()
    cells: list[list[Cell]] = [
        [person, *(_percent(means.get((person, emotion))) for emotion in NAMES)] for person in people
    ]
    known = [[means[person, emotion] for person in people if (person, emotion) in means] for emotion in NAMES]
    cells.append([capital(label("all")), *(_percent(float(np.mean(values)) if values else None) for values in known)])
    columns, note = [column_title("person"), *TITLES], say("Right seconds in per cent.")
    return Table(say("People and emotions"), columns, cells, note, total=True)


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f}"


# --- what a data set holds


@dataclass(frozen=True)
class _Recorded:
    """What the page tells of a recording. Videos and blocks are known of training people alone."""

    person: str
    split: str
    file: Path
    batch: int
    unit: str
    samples: int
    videos: list[Video]
    blocks: list[Span]


def data_page(data: Path) -> list[Block]:
    """Recordings, films and some EEG. Of test people, only what their stream tells anyway."""
    splits = [split for split in ("train", "test") if split == "train" or (data / split).is_dir()]
    found = [_recorded(person, split, file) for split in splits for person, file in eeg.recordings(data, split).items()]
    train = [one for one in found if one.videos]
    if not train:
        refuse(
            str(data / "train"), say("no video in the triggers"), say("training recordings with their videos marked")
        )
    example = max(train, key=lambda one: one.batch)  # of the batch that test people are of
    return [
        _recordings_table(found), _blocks_table(train), sitting_chart(example), traces_chart(example),
        spectrum_chart(train), _films_table(),
    ]  # fmt: skip


def _recorded(person: str, split: str, file: Path) -> _Recorded:
    recording = eeg.open_recording(file)
    events = material.events(recording.triggers) if split == "train" else []
    videos, blocks = (recording.videos(), material.blocks(events, recording.name)) if events else ([], [])
    return _Recorded(person, split, file, recording.batch, recording.unit, len(recording.triggers), videos, blocks)


def _recordings_table(found: list[_Recorded]) -> Table:
    rows: list[list[Cell]] = [
        [
            one.person,
            label(one.split),
            one.batch,
            one.unit,
            f"{one.samples / RATE_HZ / 60:.1f}",
            len(one.videos) or None,
        ]
        for one in found
    ]
    note = say("What test people watched is the truth, and not told here.")
    columns = [*map(column_title, ("person", "split")), say("Batch"), say_as("label", "Unit"),
               say_as("column", "Minutes"), say_as("label", "Videos")]  # fmt: skip
    return Table(say_as("data", "Recordings"), columns, rows, note)


def _blocks_table(train: list[_Recorded]) -> Table:
    """How long blocks of each valence are, and the films in them."""
    rows: list[list[Cell]] = []
    for valence in VALENCES:
        lengths, films_s = list[float](), list[float]()
        for one in train:
            for block in one.blocks:
                inside = [video for video in one.videos if block.start < video.start and video.stop < block.stop]
                if inside and EMOTIONS[inside[0].label].valence == valence:
                    lengths.append((block.stop - block.start) / RATE_HZ)
                    films_s += [(video.stop - video.start) / RATE_HZ for video in inside]
        rows.append([VALENCE_TITLES[valence], len(lengths), len(films_s), *map(_spread_s, (lengths, films_s))])
    columns = [say("Valence"), say("Blocks"), say_as("label", "Videos"), say("A block, s"), say("A video, s")]
    return Table(say("Blocks of the training people"), columns, rows, say("Shortest, median and longest."))


def _spread_s(seconds: list[float]) -> str | None:
    if not seconds:
        return None
    return " / ".join(f"{value:.0f}" for value in (min(seconds), float(np.median(seconds)), max(seconds)))


@drawn
def sitting_chart(one: _Recorded) -> Chart:
    """A training person's sitting: blocks as grey spans, videos in the colours of their valence."""
    from matplotlib.figure import Figure

    text, figure = Drawn(), Figure(figsize=(9.4, 1.7))
    axes = figure.subplots()
    minutes = RATE_HZ * 60
    for block in one.blocks:
        axes.axvspan(block.start / minutes, block.stop / minutes, color=FAINT, linewidth=0)
    for video in one.videos:
        place, length = video.start / minutes, (video.stop - video.start) / minutes
        axes.barh(0, length, left=place, height=0.7, color=VALENCE_COLOURS[EMOTIONS[video.label].valence])
        axes.text(place + length / 2, 0.5, str(video.number), ha="center", va="center", fontsize=7)
    axes.set(xlabel=text(say_as("axis", "minutes")), xlim=(0, one.samples / minutes), ylim=(-0.6, 0.7), yticks=[])
    axes.spines["left"].set_visible(False)
    _valence_legend(axes, text)
    note = sentences(
        say("Grey: blocks."),
        say("In a test person's sitting the videos have changed places, across blocks and valences."),
    )
    return Chart(say("The sitting of {person}", person=one.person), svg(figure), note, text.chinese)


@drawn
def traces_chart(one: _Recorded) -> Chart:
    """Some seconds of EEG as the first video of a sitting begins."""
    from matplotlib.figure import Figure

    video = one.videos[0]
    begin = max(video.start - RATE_HZ, 0)
    eeg_uv = _seen(one.file, begin, begin + round(SHOWN_S * RATE_HZ))[:, ::2]  # all of it lies below 40 Hz
    step_uv = _step_uv(eeg_uv)
    text, figure = Drawn(), Figure(figsize=(9.4, 6.0))
    axes = figure.subplots()
    times_s = (begin - video.start) / RATE_HZ + np.arange(eeg_uv.shape[1]) * 2 / RATE_HZ
    axes.axvline(0, color=SECOND, linewidth=1.2)
    for place, row in enumerate(eeg_uv):
        axes.plot(times_s, row / step_uv - place, color=INK, linewidth=0.7)
    axes.set_yticks(-np.arange(CHANNELS), BATCH_2, fontsize=7)
    axes.set_xlabel(text(say("s from the start of video {number}", number=video.number)))
    axes.set(xlim=(times_s[0], times_s[-1]), ylim=(-CHANNELS, 1.5))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.annotate("", (1.01, 0.08), (1.01, 0.08 + 1 / (CHANNELS + 1.5)), xycoords="axes fraction",
                  arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 1.4})  # fmt: skip
    axes.text(1.02, 0.08 + 0.5 / (CHANNELS + 1.5), f"{step_uv:g} µV", transform=axes.transAxes, va="center", fontsize=8)
    note = say(
        "{person}, against CPz, between {low:g} and {high:g}\u00a0Hz; the files hold it unfiltered.",
        person=one.person, low=SEEN_HZ[0], high=SEEN_HZ[1],
    )  # fmt: skip
    return Chart(say("Some seconds of EEG"), svg(figure), note, text.chinese)


def _seen(file: Path, begin: int, end: int) -> Floats:
    """Samples in µV and batch 2's order, filtered as eyes are used to; what filters need around them is read too."""
    recording = eeg.open_recording(file)
    before, after = min(begin, 4 * RATE_HZ), min(recording.signal.shape[1] - end, 4 * RATE_HZ)
    around = recording.standard(begin - before, end + after)[:CHANNELS]
    band = signal.butter(2, SEEN_HZ, "bandpass", fs=RATE_HZ, output="sos")
    whole = signal.sosfiltfilt(band, around - around.mean(axis=1, keepdims=True), axis=1)
    return np.asarray(whole[:, before : before + end - begin])


def _step_uv(eeg_uv: Floats) -> float:
    """A round number of µV between two traces, so that most of them stay clear of each other."""
    usual = float(np.median(np.ptp(eeg_uv, axis=1)))
    return next((step for step in (20.0, 50.0, 100.0, 200.0, 500.0) if step >= usual / 2), 1000.0)


@drawn
def spectrum_chart(train: list[_Recorded]) -> Chart:
    """Power by frequency while videos are shown, the median of some training people."""
    from matplotlib.figure import Figure

    text = Drawn()
    chosen = train[:: -(-len(train) // SPECTRUM_PEOPLE)]
    spectra = [_spectrum(one) for one in chosen]
    wave_hz = spectra[0][0]
    power = np.median([power for _, power in spectra], axis=0)
    shown = (wave_hz >= SPECTRUM_HZ[0]) & (wave_hz <= SPECTRUM_HZ[1])
    figure = Figure(figsize=(5.2, 3.6))
    axes = figure.subplots()
    for name, colour in zip(SPECTRUM_CHANNELS, SERIES, strict=False):
        axes.plot(wave_hz[shown], power[BATCH_2.index(name)][shown], color=colour, linewidth=1.4, label=name)
    axes.set(xscale="log", yscale="log", xlim=SPECTRUM_HZ, xlabel="Hz", ylabel=text(say("µV² per Hz")))
    edges = sorted({edge for band in BANDS_HZ.values() for edge in band})
    axes.set_xticks(edges, [str(edge) for edge in edges])
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter("{x:g}")  # its own are formulas, which are not set here
    for name, (low, high) in BANDS_HZ.items():
        axes.text((low * high) ** 0.5, 0.97, name, transform=axes.get_xaxis_transform(), ha="center", va="top")
    axes.grid(True, axis="x")
    axes.legend(loc="lower left")
    note = say_count(
        "One training person, in the longest video.", "Median of {count} training people, in their longest videos.",
        len(chosen),
    )  # fmt: skip
    return Chart(say("Spectrum"), svg(figure), note, text.chinese)


def _spectrum(one: _Recorded) -> tuple[Floats, Floats]:
    video = max(one.videos, key=lambda video: video.stop - video.start)
    end = min(video.stop, video.start + SPECTRUM_S * RATE_HZ)
    eeg_uv = eeg.open_recording(one.file).standard(video.start, end)[:CHANNELS]
    wave_hz, power = signal.welch(eeg_uv, RATE_HZ, nperseg=min(2 * RATE_HZ, eeg_uv.shape[1]))
    return wave_hz, power


def _films_table() -> Table:
    columns = [column_title("video"), say_as("column", "Seconds"), say("Valence"), say("Emotion"),
               column_title("label"), say("In Chinese")]  # fmt: skip
    rows: list[list[Cell]] = [
        [film.video, film.seconds, film.emotion.valence_title, film.emotion.title, film.emotion.label,
         film.emotion.title.zh]
        for film in material.FILMS
    ]  # fmt: skip
    odd = [
        say(
            "{video} lasts {seconds}\u00a0s, but longer for {people}: the {part} is cut.",
            video=odd.video, seconds=odd.usual_s, people=_people(odd.people), part=say(CROPS[odd.crop]),
        )
        for odd in material.ODD
    ]  # fmt: skip
    note = sentences(say("Some are odd."), *odd, say("Shortened data sets have none of these."))
    return Table(say_as("label", "Videos"), columns, rows, note)


CROPS = {"start": message("start", "film"), "end": message("end", "film")}


def _people(numbers: range) -> Words:
    if len(numbers) == 1:
        return say("person {number}", number=numbers[0])
    return say("people {first} to {last}", first=numbers[0], last=numbers[-1])


# --- a second of it as a picture

LEFT, TOP, ROW, WIDTH, RIGHT = 54, 52, 20, 960, 14  # pixels
PICTURED = (
    "Fp1", "Fp2", "F7", "F3", "Fz", "F4", "F8", "T7", "C3", "Cz", "C4", "T8",
    "P7", "P3", "Pz", "P4", "P8", "O1", "Oz", "O2",
)  # fmt: skip


def window(eeg_uv: Floats, words: Mapping[Literal["truth", "answer"], Text]) -> Image:
    """A second of EEG (32, samples) at the places of the ten-twenty system, under what was shown and answered."""
    rows = eeg_uv[[BATCH_2.index(name) for name in PICTURED]]
    centred = rows - rows.mean(axis=1, keepdims=True)
    step_uv = _step_uv(centred)
    bottom = TOP + ROW * len(rows)
    image = np.full((bottom + 8, WIDTH, 3), PAPER, np.uint8)
    for x in np.linspace(LEFT, WIDTH - RIGHT, 6).round().astype(int).tolist():  # where packets begin
        cv2.line(image, (x, TOP - 8), (x, bottom), GRID, 1)
    across = np.linspace(LEFT, WIDTH - RIGHT, rows.shape[1])
    for place, (name, row) in enumerate(zip(PICTURED, centred, strict=True)):
        middle = TOP + ROW * (place + 0.5)
        points = np.stack([across, np.clip(middle - row / step_uv * ROW, TOP - 8, bottom)], axis=1)
        # Sixteenths of a pixel: whole ones would make stairs of slow waves.
        cv2.polylines(image, [np.round(16 * points).astype(np.int32)], False, DARK, 1, cv2.LINE_AA, 4)
        write(image, name, (6, round(middle) + 5), size=15)
    _heading(image, words)
    write(image, f"1 s, {step_uv:g} µV", (WIDTH - 120, 27), size=17)  # across, and from line to line
    return image


def _heading(image: Image, words: Mapping[Literal["truth", "answer"], Text]) -> None:
    kinds: dict[str, tuple[Colour, Words]] = {"truth": (GREEN, TRUTH), "answer": (VERMILION, ANSWER)}
    x = LEFT
    for name, emotion in words.items():
        colour, title = kinds[name]
        cv2.circle(image, (x + 8, 21), 7, colour, cv2.FILLED, cv2.LINE_AA)
        write(image, joined((title, emotion), Words(": ", "：")), (x + 24, 28), size=22)
        x += 270
