"""The emotion paradigm: films in blocks of one valence, with triggers, self-reports, rests and sums."""

from collections.abc import Iterator

import msgspec
import numpy as np

from palestra.studio.present.plans.films import Film
from palestra.studio.present.plans.plan import Ends, Event, Shows, Sum
from palestra.studio.present.plans.stimuli import Emotion

REPORT_S, SUM_S = 30.0, 5.0  # how long answers are planned to take; people take as long as they need
TWO_DIGITS = (10, 100)


class _Timeline:
    """Events one after the other."""

    def __init__(self, block: int, first: int) -> None:
        self.block, self.first, self.onset_s = block, first, 0.0
        self.events: list[Event] = []

    @property
    def next(self) -> int:
        return self.first + len(self.events)

    def add(self, shows: Shows, length_s: float, trigger: int | None = None, again: int | None = None) -> None:
        self._put(Event(self.next, self.block, self.onset_s, length_s, shows, None, trigger, "time", again))

    def add_open(self, shows: Shows, length_s: float, ends: Ends = "answer") -> None:
        """Something that the person ends, and that is shown again if the run stops meanwhile."""
        self._put(Event(self.next, self.block, self.onset_s, length_s, shows, ends=ends, again=self.next))

    def put(self, event: Event) -> None:
        self._put(event)

    def _put(self, event: Event) -> None:
        self.events.append(event)
        self.onset_s = round(self.onset_s + event.length_s, 6)


def emotion(block: Emotion, index: int, first: int, random: np.random.Generator) -> list[Event]:
    """All events of the paradigm, which the plan holds as one block."""
    line = _Timeline(index, first)
    line.add("blank", block.marker_gap_s, block.run_start)
    groups = grouped(block, random)
    for number, films in enumerate(groups):
        line.add("blank", block.marker_gap_s, block.block_start)
        for film in films:
            _trial(line, block, film)
        line.add("blank", block.marker_gap_s, block.block_end)
        if number + 1 < len(groups) and block.sums:
            asked = tuple(_sums(block.sums, random))
            line.put(
                Event(
                    line.next,
                    index,
                    line.onset_s,
                    SUM_S * block.sums,
                    "sums",
                    ends="answer",
                    again=line.next,
                    sums=asked,
                )
            )
    line.add("blank", block.marker_gap_s, block.run_end)
    return line.events


def grouped(block: Emotion, random: np.random.Generator) -> list[list[Film]]:
    """Films of one valence are dealt out at random to blocks, and the blocks put in random order."""
    groups: list[list[Film]] = []
    for valence in ("negative", "neutral", "positive"):
        films = [film for film in block.films if film.valence == valence]
        dealt = [films[i] for i in random.permutation(len(films))]
        groups += [dealt[i : i + block.per_block] for i in range(0, len(dealt), block.per_block)]
    return [groups[i] for i in random.permutation(len(groups))]


def _trial(line: _Timeline, block: Emotion, film: Film) -> None:
    """The film's number comes a moment before it starts, while the cross is still there."""
    start = line.next
    line.add("cross", block.fixation_s - block.marker_gap_s, again=start)
    line.add("cross", block.marker_gap_s, film.number, again=start)
    showing = Event(line.next, line.block, line.onset_s, film.length_s, "video", ends="video", again=start)
    line.put(msgspec.structs.replace(showing, trigger=block.video_start, video=film.number))
    line.add("blank", block.marker_gap_s, block.video_end)
    line.add_open("sliders", REPORT_S)
    line.add_open("rest", block.rest_s)


def _sums(count: int, random: np.random.Generator) -> Iterator[Sum]:
    """Of two numbers with two digits; no result is below zero."""
    for _ in range(count):
        one, other = (int(number) for number in random.integers(*TWO_DIGITS, 2))
        if random.integers(2):
            yield one, "+", other
        else:
            yield max(one, other), "−", min(one, other)
