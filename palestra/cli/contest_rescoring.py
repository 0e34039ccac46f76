"""Sets of scores in the terminal: proposed, applied, cancelled."""

import typer

from palestra import console
from palestra.contest import Contest, Viewer
from palestra.contest.decisions import rescoring
from palestra.contest.log import new_id
from palestra.contest.setup import Place
from palestra.contest.workers import worker_of

ORGANISER = Viewer(role="organiser")
JUDGED = "judged once"  # in the place of an interval: referees decide each case once, so nothing is resampled


def propose_set(place: Place, contest: Contest, phase: str, chosen: list[str], reason: str, json: bool) -> None:
    """Propose a set, score it here, and show what applying it would change."""
    phase = phase or contest.state.rules().phases[0].id
    name = new_id("r")
    contest.act("command", lambda state, now: rescoring.propose(state, now, name, phase, chosen, reason))
    worker = worker_of(place, contest)
    total = len(contest.state.rescorings[name].submissions)
    with console.progress("scoring again", total, hidden=json) as advance:
        done = 0
        while (now_done := _done(contest, name)) < total:
            advance(now_done - done)
            done = now_done
            if not worker.step():
                worker.wait(0.2)
            contest.catch_up()
        advance(total - done)
    worker.close()
    found = rescoring.outlook(contest.state, name, "whole", contest.files.read)
    if json:
        console.show_json(found)
        return
    for change in found.changes:
        ranks = f"{change.rank_before or '–'} → {change.rank_after or '–'}"
        typer.echo(f"  {ranks:>9}  {change.name}: {change.value_before} → {change.value_after}")
    typer.echo(f"{total} scored again, {found.failed} failed, {len(found.changes)} teams change. Nothing counts yet:")
    typer.echo(f"  palestra contest rescore {place.file} --apply {name}")
    typer.echo(f"  palestra contest rescore {place.file} --cancel {name} --reason …")


def _done(contest: Contest, name: str) -> int:
    one = contest.state.rescorings[name]
    scored = sum(any(s.rescoring == name for s in contest.state.submissions[i].scores) for i in one.submissions)
    return scored + len(one.failed)


def apply_set(contest: Contest, name: str) -> None:
    contest.act("command", lambda state, now: rescoring.apply(state, name))
    typer.echo(f"The scores of {name} count from now on.")


def cancel_set(contest: Contest, name: str, reason: str) -> None:
    contest.act("command", lambda state, now: rescoring.cancel(state, name, reason))
    typer.echo(f"The scores of {name} are thrown away.")
