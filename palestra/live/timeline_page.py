"""The page of a run: what happened, and when."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np

from palestra.live import episode_timeline_page
from palestra.live.entrant_history import Story, story_of
from palestra.live.recording import Recording
from palestra.live.scored_run import ScoredRun
from palestra.live.timeline_charts import host_lateness, latencies, latency_over_time, standings_chart
from palestra.records import Block, Cell, Table, Track
from palestra.report import Languages, Page, book_of, in_both, metric_title, result_page, write_page
from palestra.scoring import Place, Scored, board
from palestra.text import NONE, Words, duration, number

NOTES = 20  # that a table lists


def timeline(run: ScoredRun, entrant: str) -> list[Block]:
    """What a page shows of one entrant's run."""
    story, recording = story_of(run, entrant), run.recording
    tables: list[Block] = [_what_went_wrong(story), _totals(recording, story)]
    if not story.trials:
        return tables
    charts: list[Block] = [latency_over_time(story, recording.head.sittings), latencies(story)]
    if recording.head.pace == "real":  # virtual time is never late
        charts.append(host_lateness(story))
    return [*charts, *tables]


def write_run(run: ScoredRun, file: Path, language: Languages = "en") -> None:
    """The page of a run: one entrant's result and timeline; of several, who stood where and everyone's timeline."""
    track, scored, recording = run.track, run.scored, run.recording
    if len(scored) == 1:
        ((entrant, one),) = scored.items()
        write_page(result_page(track, one, run.data, _told(run, entrant)), file, language)
        return
    order = [tick.trial for tick in recording.ticks() if tick.trial is not None] or recording.head.sittings
    blocks: list[Block] = [_board(track, scored), standings_chart(track, scored, order)]
    for entrant in scored:
        told = _told(run, entrant)
        blocks += [replace(block, title=_of(entrant, in_both(block.title, book_of(track)))) for block in told]
    started = datetime.fromisoformat(recording.head.started_at)
    lead = f"{track.id} · {len(scored)} entrants · {started:%Y-%m-%d %H:%M} UTC"
    write_page(Page(track.title, lead, blocks, track=track), file, language)


def _of(entrant: str, title: Words) -> Words:
    return Words(f"{entrant}: {title.en}", f"{entrant}：{title.zh}")


def _told(run: ScoredRun, entrant: str) -> list[Block]:
    return episode_timeline_page.blocks(run, entrant) if run.track.episode else timeline(run, entrant)


def _what_went_wrong(story: Story) -> Table:
    notes = story.note_counts()
    rows: list[list[Cell]] = [list(note) for note in notes[:NOTES]]
    if others := notes[NOTES:]:
        rows.append([f"{len(others)} other notes", sum(count for _, count, _ in others), others[0][2]])
    if story.strays:
        rows.append(["answers to nothing that was open: late, double or made up", story.stray_count, story.strays[0]])
    rows += [[f"the program ended: {why}", count, None] for why, count in Counter(story.deaths).most_common()]
    return Table("What went wrong", ["What", "Count", "First trial"], rows, "" if rows else "Nothing did.")


def _totals(recording: Recording, story: Story) -> Table:
    head, asked, answered = recording.head, len(story.trials), int(story.answered.sum())
    rows: list[list[Cell]] = [
        ["Decisions", f"{asked:,}" if asked == head.decisions else f"{asked:,} of {head.decisions:,}"],
        ["Answered", f"{answered:,}"],
        ["Missed", f"{asked - answered:,}"],
        ["… and answered late", f"{int(story.late.sum()):,}"],
        ["Stray answers", story.stray_count],
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
