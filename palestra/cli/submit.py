"""What the command `submit` does: sends a file, follows it, prints what became of it."""

from pathlib import Path

import typer

from palestra import console
from palestra.contest.rules import quota_told
from palestra.errors import PalestraError
from palestra.remote import Server, require_fit
from palestra.text import number, say
from palestra.web.models import Rehearsal, SubmissionPage, UploadForm

SAID = {
    "received": "It was received.",
    "checking": "It is being checked.",
    "queued": "It is checked, and waits to be scored.",
    "ready": "It is ready for the stage, and is scored there.",
    "running": "It is being scored.",
    "scored": "It is scored.",
    "hidden": "It is scored. The board is frozen: the result is shown when that ends.",
    "refused": "It was refused.",
    "failed": "It failed.",
    "platform": "Something failed on the organiser's side. It cost no quota.",
    "withdrawn": "It was withdrawn.",
    "cancelled": "The organiser cancelled it. It cost no quota.",
}
FAULTY = ("refused", "failed")  # by the contestant's own fault


def send(url: str, phase: str, file: Path, token: str, bundle: bool, json: bool) -> bool:
    """Whether it came to a score."""
    if not file.is_file():
        raise PalestraError(say("{file} is no file.", file=file))
    if not token:
        raise PalestraError(
            say(
                "A token is needed: make one at {rstrip}/account and set PALESTRA_TOKEN to it, or give --token.",
                rstrip=url.rstrip("/"),
            )
        )
    purpose = "bundle" if bundle else "answers"
    with Server(url, token) as server:
        if form := server.form(phase, purpose):
            require_fit(form, file)
        with console.progress(f"sending {file.name}", file.stat().st_size, hidden=json) as advance:
            submission = server.upload(phase, file, advance, purpose)
        if bundle:
            console.say(f"Handed in as {submission}. The organiser re-runs it.")
            return True
        said: list[str] = []
        page = server.follow(submission, lambda now: _tell(now, said))
        after = server.form(phase) if page.state in FAULTY else None
    _show(page, f"{url.rstrip('/')}/submissions/{submission}", json)
    if after and not json:
        typer.echo(f"  {cost(after)}")
    return page.state in ("scored", "hidden", "ready")


def _tell(page: SubmissionPage, said: list[str]) -> None:
    """Each state once."""
    if not said or said[-1] != page.state:
        said.append(page.state)
        console.say(SAID[page.state])


def cost(form: UploadForm) -> str:
    """What a submission that was refused or failed has cost, and what is left."""
    if form.fault_quota is None:
        return "It cost nothing."
    allowed = quota_told(form.fault_quota)
    return f"It cost none of your quota, and counts as a faulty one: {allowed}, {form.fault_left} left."


def rehearsed(found: Rehearsal) -> str:
    """What a bundle did on rehearsal data."""
    if not found.asked:
        return "It loads. There is no rehearsal data to try it on."
    missed = f" The first one without an answer: {found.missed}" if found.missed else ""
    return (
        f"It loads, and answers {found.answered} of {found.asked} rehearsal packets. "
        f"Median latency: {found.latency_ms:,.1f} ms.{missed}"
    )


def _show(page: SubmissionPage, address: str, json: bool) -> None:
    if json:
        console.show_json(page)
        return
    console.say(SAID[page.state])
    for fault in page.faults:
        typer.echo(f"  {fault}")
    if page.fault_count > len(page.faults):
        typer.echo(f"  … and {page.fault_count - len(page.faults)} more")
    if page.message:
        typer.echo(f"  {page.message}")
    if page.rehearsal:
        typer.echo(f"  {rehearsed(page.rehearsal)}")
    for column, estimate in zip(page.columns, page.metrics, strict=True):
        if estimate:
            between, step = "", estimate.rounded_to
            if estimate.low is not None and estimate.high is not None:
                between = (
                    f"  (95 %: {number(estimate.low, column.unit, step)} – {number(estimate.high, column.unit, step)})"
                )
            typer.echo(f"  {column.title.en}: {number(estimate.value, column.unit, step)}{between}")
    if page.rounded:
        typer.echo("  Rounded; all digits are shown when the phase is over.")
    if page.rank:
        typer.echo(f"  Rank {page.rank} of {page.of}")
    typer.echo(f"  {address}")
