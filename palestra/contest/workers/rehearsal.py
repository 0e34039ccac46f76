"""Bundles of a phase that is held on stage: tried on data that anybody may see when they are handed in, so that the
hidden data is played in the hall alone."""

from contextlib import ExitStack
from pathlib import Path

from palestra.contest.log import events as e
from palestra.contest.rules import track_of
from palestra.contest.workers.live_run import Unplayable, open_bundle, timed
from palestra.contest.workers.score import Assignment, our_part
from palestra.datasets import tiny_data
from palestra.entrants import Parts, parts_of
from palestra.errors import PalestraError
from palestra.live import READY_S, Play, Rehearsed, rehearse, sittings_of
from palestra.records import Track
from palestra.sandbox import backends
from palestra.text import say, words_of


def rehearsed(assignment: Assignment, file: Path) -> tuple[e.Rehearsal, Parts]:
    """Start a bundle and play a little to it; what it is made of, too. One that does not start, or never answers, is
    refused in words."""
    track, order = timed(track_of(assignment.phase), assignment.phase, windows=False), Play(watched=False)
    with our_part():
        backends.choose()
        data = rehearsal_data(assignment, track)
        sittings = sittings_of(track, data) if data else []
    with ExitStack() as stack:
        entry = open_bundle(assignment.team, file, order, sittings, stack)
        parts = parts_of(entry.folder or file.parent)
        try:
            entry.line.require_ready(READY_S)
        except PalestraError as error:
            raise Unplayable(error.text, entry.output) from None
        found = rehearse(track, data, entry, order.patience_s) if data else Rehearsed()
        entry.line.close()  # only then its last words are known
        if found.asked and not found.answered:
            told = say(
                "It loads, and answers none of {asked} rehearsal packets. The first time: {why}.",
                asked=found.asked,
                why=found.first_miss,
            )
            raise Unplayable(told, entry.output)
    latency_ms = None if found.latency_s is None else round(found.latency_s * 1000, 1)
    return e.Rehearsal(found.asked, found.answered, latency_ms, words_of(found.first_miss)), parts


def rehearsal_data(assignment: Assignment, track: Track) -> Path | None:
    """A folder of the organiser's, else synthetic data; nothing where the track makes none."""
    if assignment.phase.rehearsal:
        return Path(assignment.home) / assignment.phase.rehearsal
    return tiny_data(track_of(assignment.phase)) if track.dataset.make else None
