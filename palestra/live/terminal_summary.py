"""What a terminal says of a run that is over."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from palestra.live.entrant_history import SHARES, Story, read_acts, story_of
from palestra.live.recording import Recording
from palestra.live.scored_run import ScoredRun
from palestra.metrics.quantiles import at_shares
from palestra.text import clipped, milliseconds, printable

NOTES = 3
COLUMNS, SITTINGS = 60, 40  # of a timeline, and sittings that it lists
SOME = "▁▂▃▄▅▆▇"  # of some decisions in a row were answered
ALL, LATE, NOT_ONE = "█", "░", "·"


def summary_lines(run: ScoredRun, entrant: str) -> list[str]:
    """One entrant's run in a few lines."""
    if run.track.episode:
        return _acted(run.recording, entrant)
    story = story_of(run, entrant)
    asked, answered = len(story.trials), int(story.answered.sum())
    head = f"{printable(entrant)}: {answered:,} of {asked:,} answered"
    if answered < asked:
        head += f", {asked - answered:,} missed ({int(story.late.sum()):,} of them answered late)"
    if story.strays:
        head += f", {story.stray_count} stray answer{'s' * (len(story.strays) != 1)}"
    if story.silent:
        head += ", never reported an answer"
    if story.deaths:
        head += f", ended {len(story.deaths)} ×"
    return [head, *_bars(story, run.recording.head.sittings), *_latency_words(story), *_note_words(story)]


def _acted(run: Recording, entrant: str) -> list[str]:
    acts = read_acts(run, entrant)
    lines = [f"{printable(entrant)}: {acts.cases} of {len(run.head.sittings)} cases, {acts.periods:,} actions"]
    lines.append(f"  thought {len(acts.thought_s):,} times: {acts.thought}")
    return [*lines, *(f"  {count:,} × {printable(str(note))}" for note, count in acts.notes.most_common(NOTES))]


def _bars(story: Story, sittings: Sequence[str]) -> Iterator[str]:
    """A line for each sitting, a letter for so many decisions in a row: which part of them was answered."""
    own = {sitting: np.flatnonzero(story.sitting == sitting) for sitting in story.starts_s}
    each = -(-max(map(len, own.values()), default=0) // COLUMNS)
    names = {sitting: printable(clipped(sittings[sitting], 16)) for sitting in list(own)[:SITTINGS]}
    for sitting, name in names.items():
        parts = np.split(own[sitting], range(each, len(own[sitting]), each))
        letters = "".join(_letter(story.answered[part], story.late[part]) for part in parts)
        yield f"  {name:<{max(map(len, names.values()))}}  {letters}"
    if len(own) > SITTINGS:
        yield f"  … and {len(own) - SITTINGS} more sittings"
    if own:
        per = f"; each is {each} decisions" if each > 1 else ""
        yield f"  {ALL} answered  {SOME[3]} in part  {LATE} only late  {NOT_ONE} not at all{per}"


def _letter(answered: NDArray[np.bool_], late: NDArray[np.bool_]) -> str:
    if answered.all():
        return ALL
    if answered.any():
        return SOME[int(answered.mean() * len(SOME))]
    return LATE if late.any() else NOT_ONE


def _latency_words(story: Story) -> Iterator[str]:
    if len(story.latencies_s):
        names = (*(f"p{100 * share:.0f}" for share in SHARES), "at most")
        values = at_shares(story.latencies_s, (*SHARES, 1))
        limit = f"; deadline {milliseconds(story.limit_s)}" if story.limit_s else ""
        words = ", ".join(f"{name} {milliseconds(value)}" for name, value in zip(names, values, strict=True))
        yield f"  latency {words}{limit}"


def _note_words(story: Story) -> Iterator[str]:
    for note, count, first in story.note_counts()[:NOTES]:
        yield f"  {count:,} × {printable(clipped(str(note), 100))} (first: {printable(clipped(first))})"
