"""The page of a run: what happened, and when."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np

from palestra.live import episode_timeline_page
from palestra.live.entrant_history import NOTES, Story, ended, of_all, pace, stopped, story_of
from palestra.live.recording import Recording
from palestra.live.scored_run import ScoredRun
from palestra.live.timeline_charts import host_lateness, latencies, latency_over_time, standings_chart
from palestra.records import Block, Cell, Result, Table, Track
from palestra.report import (
    Languages,
    Page,
    interval,
    measured,
    metric_title,
    pictures_for,
    result_page,
    track_title,
    with_unit,
    write_page,
)
from palestra.scoring import Place, Scored, board
from palestra.text import NONE, Text, Words, duration, joined, say, say_as, say_count, sentences


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
        with pictures_for(language):
            page = result_page(track, one, run.data, _told(run, entrant))
        write_page(page, file, language)
        return
    order = [tick.trial for tick in recording.ticks() if tick.trial is not None] or recording.head.sittings
    blocks: list[Block] = [_board(track, scored), standings_chart(track, scored, order)]
    for entrant in scored:
        told = _told(run, entrant)
        blocks += [replace(block, title=_of(entrant, block.title)) for block in told]
    started = datetime.fromisoformat(recording.head.started_at)
    lead = say(
        "{track} · {count} entrants · {time:%Y-%m-%d %H:%M} UTC", track=track.id, count=len(scored), time=started
    )
    write_page(Page(track_title(track), lead, blocks), file, language)


def _of(entrant: str, title: Text) -> Words:
    return say("{entrant}: {title}", entrant=entrant, title=title)


def _told(run: ScoredRun, entrant: str) -> list[Block]:
    return episode_timeline_page.blocks(run, entrant) if run.track.episode else timeline(run, entrant)


def _what_went_wrong(story: Story) -> Table:
    notes = story.note_counts()
    rows: list[list[Cell]] = [[note, count, first] for note, count, first in notes[:NOTES]]
    if others := notes[NOTES:]:
        more = say_count("{count} other note", "{count} other notes", len(others))
        rows.append([more, sum(count for _, count, _ in others), others[0][2]])
    if story.strays:
        what = say("answers to nothing that was open: late, double or made up")
        rows.append([what, story.stray_count, story.strays[0]])
    if story.silent:
        rows.insert(0, [say("It never reported an answer."), len(story.trials), story.trials[0]])
    rows += [[ended(why), count, None] for why, count in Counter(story.deaths).items()]  # the first one explains
    columns = [say_as("fault", "What"), say_as("column", "Count"), say("First trial")]
    return Table(say("What went wrong"), columns, rows, "" if rows else say("Nothing did."))


def _totals(recording: Recording, story: Story) -> Table:
    head, asked, answered = recording.head, len(story.trials), int(story.answered.sum())
    rows: list[list[Cell]] = [
        [say_as("total", "Decisions"), asked if asked == head.decisions else of_all(asked, head.decisions)],
        [say_as("total", "Answered"), answered],
        [say_as("total", "Missed"), asked - answered],
        [say("… and answered late"), int(story.late.sum())],
        [say("Stray answers"), story.stray_count],
        [say_as("total", "Sittings"), of_all(len(story.starts_s), len(head.sittings))],
        [say("Time in the stream"), with_unit(duration(float(np.max(story.at_s, initial=0.0))))],
        [say("Time by the clock"), _wall_time(recording)],
        [say("Pace"), pace(recording)],
    ]
    return Table(say_as("total", "Totals"), ["", ""], rows, stopped(recording))


def _wall_time(recording: Recording) -> Text:
    if recording.end is None:
        return NONE
    start, end = (datetime.fromisoformat(text) for text in (recording.head.started_at, recording.end.ended_at))
    return with_unit(duration((end - start).total_seconds()))


def _board(track: Track, scored: Mapping[str, Scored]) -> Table:
    """Who stood where at the end. What does not count has no place."""
    places = board(track, [one for one in scored.values() if one.result.valid])
    out = [one.result for one in scored.values() if not one.result.valid]
    rows = [_place_cells(track, place) for place in places]
    others = [metric_title(metric) for metric in track.metrics[1:]]
    columns = [say_as("board", "Rank"), say_as("board", "Band"), say_as("board", "Entrant"),
               metric_title(track.ranks), say("95 % interval"), *others]  # fmt: skip
    rows += [[NONE, NONE, result.entrant, *[NONE] * (len(columns) - 3)] for result in out]
    return Table(say_as("board", "Board"), columns, rows, sentences(*map(_not_counted, out)), alone=True)


def _not_counted(result: Result) -> Words:
    why = joined(result.reasons, Words("; ", "；"))
    return say("{entrant} does not count: {why}.", entrant=result.entrant, why=why)


def _place_cells(track: Track, place: Place) -> list[Cell]:
    first, unit = place.metrics[track.ranks.name], track.ranks.unit
    others = [measured(place.metrics[metric.name].value, metric.unit) for metric in track.metrics[1:]]
    band = NONE if place.band is None else chr(ord("A") + min(place.band - 1, 25))
    spread = interval(first.low, first.high, unit)
    return [str(place.rank), band, place.entrant, measured(first.value, unit), spread, *others]
