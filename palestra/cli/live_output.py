"""What commands print of live runs that are over."""

from collections import Counter

import typer

from palestra import console
from palestra.entrants import explaining_lines
from palestra.errors import PalestraError
from palestra.live import Played, Replayed, ScoredRun, summary_lines
from palestra.scoring import board
from palestra.text import printable, say

LAST_LINES = 12  # of what a program printed


def show_played(played: Played, json: bool) -> None:
    """The outcome of a live run: how it went, one Result or a board of several, and what programs printed."""
    run = played.recording
    for name, why in played.refused.items():
        console.say(f"{printable(name)} could not take part: {printable(str(why))}")
    _show_outcomes(played, json)
    if json or run.end is None:
        return
    _show_summaries(played)
    for name, output in run.end.outputs.items():
        if output and not played.scored[name].rows["answered"].all():
            console.say(f"What {printable(name)} printed:")
            console.say("\n".join(f"  {printable(line)}" for line in explaining_lines(output, LAST_LINES)))
    console.say(f"The run is recorded: palestra replay {run.folder}")


def show_replayed(replayed: Replayed, json: bool) -> None:
    """A recorded run: its timeline, its results, and whether they are those of then."""
    run = replayed.recording
    if not json:
        _show_summaries(replayed)
    _show_outcomes(replayed, json)
    if run.end is None:
        console.say(
            f"{run.folder} was stopped before its end: it does not count, and may be repeated with --run {run.folder}"
        )
    elif replayed.same_numbers and not replayed.same:
        console.say(f"{run.folder}: the same numbers, though other code computes them now than did at the run.")
    elif not replayed.same:
        raise PalestraError(say("{folder}: the results computed now differ from those of the run.", folder=run.folder))


def _show_summaries(run: ScoredRun) -> None:
    """How each entrant's run went, in a few lines, with what was wrong with its answers and why its program ended."""
    deaths = run.recording.end.deaths if run.recording.end else {}
    for name in run.scored:
        typer.echo("\n".join(summary_lines(run, name)))
        for why, count in Counter(deaths.get(name, [])).items():  # the first one explains the others
            typer.echo(f"  {count} × {printable(str(why))}")


def _show_outcomes(run: ScoredRun, json: bool) -> None:
    results = [one.result for one in run.scored.values()]
    if json:
        console.show_json(results[0] if len(results) == 1 else results)
    elif len(results) == 1:
        console.show_result(run.track, results[0], json=False)
    else:
        valid = [one for one in run.scored.values() if one.result.valid]
        console.show_board(run.track, board(run.track, valid), json=False)
        for result in results:
            if not result.valid:
                typer.echo(f"{printable(result.entrant)}: INVALID: {'; '.join(result.invalid_because)}")
