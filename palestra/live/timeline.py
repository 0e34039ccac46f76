"""What happened in a recorded run, and when: as blocks of a page, and in a few lines for a terminal."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palestra.live import episode_timeline
from palestra.live.history import Story, read_story
from palestra.live.recording import MOST_STRAYS, Recording
from palestra.live.timeline_figures import (
    SHARES,
    clipped,
    host_lateness,
    latencies,
    latency_over_time,
    ms,
    standings_chart,
)
from palestra.metrics.quantiles import at_shares
from palestra.records import Block, Cell, Table, Track
from palestra.report import NONE, Languages, Page, book_of, in_both, metric_title, number, result_page, write_page
from palestra.scoring import Place, Scored, board
from palestra.text import Words, duration, printable

NOTES, FEW_NOTES = 20, 3  # that a table lists, and a terminal
COLUMNS, SITTINGS = 60, 40  # of a timeline in a terminal, and sittings that it lists
SOME = "▁▂▃▄▅▆▇"  # of some decisions in a row were answered
ALL, LATE, NOT_ONE = "█", "░", "·"


def timeline(recording: Recording, entrant: str, track: Track | None = None) -> list[Block]:
    """What a page shows of one entrant's run. Given the track, answers that it does not understand are told as well."""
    story = read_story(recording, entrant, track)
    tables: list[Block] = [_what_went_wrong(story), _totals(recording, story)]
    if not story.trials:
        return tables
    charts: list[Block] = [latency_over_time(story, recording.head.sittings), latencies(story)]
    if recording.head.pace == "real":  # virtual time is never late
        charts.append(host_lateness(story))
    return [*charts, *tables]


def summary(recording: Recording, entrant: str, track: Track | None = None) -> list[str]:
    """One entrant's run in a few lines for a terminal."""
    if track and track.episode:
        return episode_timeline.summary(recording, entrant)
    story = read_story(recording, entrant, track)
    asked, answered = len(story.trials), int(story.answered.sum())
    head = f"{printable(entrant)}: {answered:,} of {asked:,} answered"
    if answered < asked:
        head += f", {asked - answered:,} missed ({int(story.late.sum()):,} of them answered late)"
    if story.strays:
        head += f", {_strays(story)} stray answer{'s' * (len(story.strays) != 1)}"
    if story.deaths:
        head += f", ended {len(story.deaths)} ×"
    return [head, *_bars(story, recording.head.sittings), *_latency_words(story), *_note_words(story)]


def write_run(
    track: Track, scored: Mapping[str, Scored], recording: Recording, data: Path, file: Path, language: Languages = "en"
) -> None:
    """The page of a run: one entrant's result and timeline; of several, who stood where and everyone's timeline."""
    if len(scored) == 1:
        ((entrant, one),) = scored.items()
        write_page(result_page(track, one, data, _told(recording, entrant, track, data)), file, language)
        return
    order = [tick.trial for tick in recording.ticks() if tick.trial is not None] or recording.head.sittings
    blocks: list[Block] = [_board(track, scored), standings_chart(track, scored, order)]
    for entrant in scored:
        told = _told(recording, entrant, track, data)
        blocks += [replace(block, title=_of(entrant, in_both(block.title, book_of(track)))) for block in told]
    started = datetime.fromisoformat(recording.head.started_at)
    lead = f"{track.id} · {len(scored)} entrants · {started:%Y-%m-%d %H:%M} UTC"
    write_page(Page(track.title, lead, blocks, track=track), file, language)


def _of(entrant: str, title: Words) -> Words:
    return Words(f"{entrant}: {title.en}", f"{entrant}：{title.zh}")


def _told(recording: Recording, entrant: str, track: Track, data: Path) -> list[Block]:
    return (
        episode_timeline.blocks(track, data, recording, entrant)
        if track.episode
        else timeline(recording, entrant, track)
    )


def _what_went_wrong(story: Story) -> Table:
    notes = story.note_counts()
    rows: list[list[Cell]] = [list(note) for note in notes[:NOTES]]
    if others := notes[NOTES:]:
        rows.append([f"{len(others)} other notes", sum(count for _, count, _ in others), others[0][2]])
    if story.strays:
        rows.append(["answers to nothing that was open: late, double or made up", _strays(story), story.strays[0]])
    rows += [[f"the program ended: {why}", count, None] for why, count in Counter(story.deaths).most_common()]
    return Table("What went wrong", ["What", "Count", "First trial"], rows, "" if rows else "Nothing did.")


def _totals(recording: Recording, story: Story) -> Table:
    head, asked, answered = recording.head, len(story.trials), int(story.answered.sum())
    rows: list[list[Cell]] = [
        ["Decisions", f"{asked:,}" if asked == head.decisions else f"{asked:,} of {head.decisions:,}"],
        ["Answered", f"{answered:,}"],
        ["Missed", f"{asked - answered:,}"],
        ["… and answered late", f"{int(story.late.sum()):,}"],
        ["Stray answers", _strays(story)],
        ["Sittings", f"{len(story.starts_s)} of {len(head.sittings)}"],
        ["Time in the stream", duration(float(np.max(story.at_s, initial=0.0)))],
        ["Time by the clock", _wall_time(recording)],
        ["Pace", {"real": "the wall clock", "fast": "virtual time"}.get(head.pace, head.pace)],
    ]
    return Table("Totals", ["", ""], rows, "" if recording.end else "The run was stopped before its end.")


def _wall_time(recording: Recording) -> str:
    if recording.end is None:
        return NONE
    started, ended = (datetime.fromisoformat(text) for text in (recording.head.started_at, recording.end.ended_at))
    return duration((ended - started).total_seconds())


def _strays(story: Story) -> str:
    return f"{len(story.strays):,}" + " or more" * (len(story.strays) >= MOST_STRAYS)


def _board(track: Track, scored: Mapping[str, Scored]) -> Table:
    """Who stood where at the end. What does not count has no place."""
    places = board(track, [one for one in scored.values() if one.result.valid])
    out = [one.result for one in scored.values() if not one.result.valid]
    rows = [_place_cells(track, place) for place in places]
    others = [metric_title(metric) for metric in track.metrics[1:]]
    columns = ["Rank", "Band", "Entrant", metric_title(track.ranks), "95 % interval", *others]
    rows += [[NONE, NONE, Words.same(result.entrant), *[NONE] * (len(columns) - 3)] for result in out]
    note = " ".join(f"{result.entrant} does not count: {'; '.join(result.invalid_because)}." for result in out)
    return Table("Board", columns, rows, note, alone=True)


def _place_cells(track: Track, place: Place) -> list[Cell]:
    first, unit = place.metrics[track.ranks.name], track.ranks.unit
    interval = NONE if first.low is None else f"{number(first.low, unit)} – {number(first.high, unit)}"
    others = [number(place.metrics[metric.name].value, metric.unit) for metric in track.metrics[1:]]
    band = NONE if place.band is None else chr(ord("A") + min(place.band - 1, 25))
    return [str(place.rank), band, Words.same(place.entrant), number(first.value, unit), interval, *others]


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
        limit = f"; deadline {ms(story.limit_s)}" if story.limit_s else ""
        words = ", ".join(f"{name} {ms(value)}" for name, value in zip(names, values, strict=True))
        yield f"  latency {words}{limit}"


def _note_words(story: Story) -> Iterator[str]:
    for note, count, first in story.note_counts()[:FEW_NOTES]:
        yield f"  {count:,} × {printable(clipped(note, 100))} (first: {printable(clipped(first))})"
