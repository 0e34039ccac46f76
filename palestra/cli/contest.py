"""The commands of a contest: `palestra contest …`. They parse, call and print."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palestra.cli.options import JsonOption, require_outputs
from palestra.errors import PalestraError
from palestra.text import say

if TYPE_CHECKING:
    from palestra.contest import Contest
    from palestra.contest.setup import Place

app = typer.Typer(rich_markup_mode=None, help="Run a contest: its server, its workers, its log.")

FileArgument = Annotated[Path, typer.Argument(metavar="CONTEST.toml", help="The contest's file.")]
DatabaseOption = Annotated[
    str,
    typer.Option("--database", envvar="PALESTRA_DATABASE", help="postgresql://… Without it: SQLite beside the file."),
]
FilesOption = Annotated[
    str, typer.Option("--files", envvar="PALESTRA_FILES", help="s3://… or a folder. Without it: beside the file.")
]
PhaseOption = Annotated[str, typer.Option("--phase", help="Which phase; without it, the first one.")]


def _place(file: Path, database: str, files: str) -> "Place":
    """Where a contest lies; its tracks are found from now on, in processes that are started as well."""
    from palestra.contest.setup import Place

    place = Place(file, database, files)
    place.find_tracks()
    return place


@app.command(epilog="Example: palestra contest init contest.toml --track near-eye-gaze-v1")
def init(
    file: FileArgument = Path("contest.toml"),
    track: Annotated[list[str] | None, typer.Option(help="A track; may be repeated: a phase for each.")] = None,
    zone: Annotated[str, typer.Option(help="The contest's time zone.")] = "UTC",
    size: Annotated[str, typer.Option(help="Of the synthetic data that is made: tiny, small, paper, none.")] = "tiny",
) -> None:
    """Write a contest file to begin with, and make synthetic data for its phases."""
    from palestra.contest.setup import begin

    begin(file, track or [], zone, size)


@app.command(epilog="Example: palestra contest serve contest.toml --port 8765")
def serve(
    file: FileArgument,
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 lets others in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.")] = 8765,
    address: Annotated[
        str, typer.Option(envvar="PALESTRA_ADDRESS", help="How people reach it: https://contest.example.org")
    ] = "",
    workers: Annotated[int, typer.Option(help="Workers started beside the server; 0: none.")] = 1,
    processes: Annotated[int, typer.Option(help="Processes of the server; more than one needs PostgreSQL.")] = 1,
    proxies: Annotated[str, typer.Option(help="Addresses of proxies before it, with commas.")] = "",
    oidc_issuer: Annotated[str, typer.Option(envvar="PALESTRA_OIDC_ISSUER", help="Sign-in elsewhere, by OIDC.")] = "",
    oidc_client: Annotated[str, typer.Option(envvar="PALESTRA_OIDC_CLIENT", help="Our name there.")] = "",
    oidc_secret: Annotated[str, typer.Option(envvar="PALESTRA_OIDC_SECRET", help="Our secret there.")] = "",
    json_logs: Annotated[bool, typer.Option("--json-logs", help="Write the server's log as lines of JSON.")] = False,
    with_parent: Annotated[bool, typer.Option("--with-parent", hidden=True)] = False,
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Serve a contest: pages, API, live streams, and a worker that scores."""
    if processes > 1 and not database.startswith("postgres"):
        raise PalestraError(say("Several server processes hear of each other through PostgreSQL: give --database too."))
    with _stopped_in_good_order(with_parent):
        from palestra import console
        from palestra.web import Serve, run
        from palestra.web.site import Oidc

        oidc = Oidc(oidc_issuer, oidc_client, oidc_secret) if oidc_issuer else None
        place = _place(file, database, files)
        run(Serve(place, host, port, address, workers, processes, proxies, oidc, json_logs), console.say)


@app.command(epilog="Example: palestra contest worker contest.toml --executor ray")
def worker(
    file: FileArgument,
    executor: Annotated[str, typer.Option(help="process (a pool on this machine) or ray (a cluster).")] = "process",
    capacity: Annotated[int, typer.Option(help="Jobs at a time; 0: as many as there are cores.")] = 0,
    ray_address: Annotated[str, typer.Option(help="Of the Ray cluster; empty: one on this machine.")] = "",
    with_parent: Annotated[bool, typer.Option("--with-parent", hidden=True)] = False,
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Check and score what is handed in, until stopped. Any number of workers may run, on any machines."""
    if executor not in ("process", "ray"):
        raise PalestraError(say("{executor!r} is no executor; expected process or ray.", executor=executor))
    with _stopped_in_good_order(with_parent):
        from palestra.contest.workers import worker_of

        place = _place(file, database, files)
        contest = place.open()
        worker_of(place, contest, executor, capacity or None, ray_address or None).run()  # type: ignore[arg-type]


@contextmanager
def _stopped_in_good_order(with_parent: bool) -> Iterator[None]:
    """A server or a worker that is told to stop while it starts ends as one that works does; so it does with the
    process that started it, where that is asked for."""
    from palestra.parallel import end_with_parent

    try:
        if with_parent:
            end_with_parent(os.getppid(), signal.SIGTERM)
        yield
    except KeyboardInterrupt:  # SIGTERM is taken for one as well
        raise typer.Exit from None


@app.command(epilog="Example: palestra contest board contest.toml --json")
def board(
    file: FileArgument,
    phase: PhaseOption = "",
    public: Annotated[bool, typer.Option("--public", help="As the public sees it now.")] = False,
    json: JsonOption = False,
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Print a phase's board."""
    from palestra.cli.contest_board import print_board

    print_board(_open(file, database, files), phase, public, json)


def _open(file: Path, database: str, files: str, needs_tracks: bool = True) -> "Contest":
    return _begun(file, database, files).open(needs_tracks=needs_tracks)


def _begun(file: Path, database: str, files: str) -> "Place":
    """Where a contest lies that was opened before."""
    place = _place(file, database, files)
    if not place.is_open():
        raise PalestraError(
            say("{file}: this contest has not been served yet. `palestra contest serve {file}` opens it.", file=file)
        )
    return place


EDITED_SNAPSHOT = (
    "The snapshot beside the log: found a state that the events do not lead to, expected the one that they do. It was "
    "edited. Nothing was changed: stop the server and its workers, who may have read it, run `palestra contest rebuild "
    "{file}`, which makes it anew from the log, and start them again."
)


@app.command("verify-log", epilog="Example: palestra contest verify-log contest.toml")
def verify_log(
    file: FileArgument,
    head: Annotated[list[str] | None, typer.Option(help="A head that was kept elsewhere, NUMBER:HASH.")] = None,
    json: JsonOption = False,
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Go through the whole log and find any event, or snapshot beside it, that was edited, removed, put in or moved.

    Nothing is written: neither into the database nor beside it.
    """
    from palestra import console
    from palestra.contest import snapshot_fits
    from palestra.contest.log import Verdict, chain
    from palestra.contest.storage import open_to_read, reading, require_undamaged, told_if_damaged

    place = _begun(file, database, files)
    place.require_whole()
    engine = open_to_read(place.address)
    with told_if_damaged(engine), reading(engine) as connection:
        require_undamaged(connection)
        count = chain.last_seq(connection)
        with console.progress("verifying", count, hidden=json) as advance:
            verdict = chain.verify(connection, [chain.parse_head(text) for text in head or []], advance)
        if verdict.ok and not snapshot_fits(connection):
            verdict = Verdict(False, verdict.head, [EDITED_SNAPSHOT.format(file=file)])
    engine.dispose()
    if json:
        console.show_json(verdict)
    else:
        typer.echo("\n".join(verdict.faults) or f"{verdict.head.seq:,} events, all as they were written.")
        typer.echo(f"Head: {verdict.head}")
    if not verdict.ok:
        raise typer.Exit(1)


@app.command(epilog="Example: palestra contest rebuild contest.toml")
def rebuild(file: FileArgument, database: DatabaseOption = "", files: FilesOption = "") -> None:
    """Make the snapshot beside the log anew, from the log alone: who can edit a database can edit that as well."""
    contest = _open(file, database, files, needs_tracks=False)
    contest.rebuild()
    contest.close()
    typer.echo(f"What is kept beside the log was made anew from its {contest.state.seq:,} events.")


@app.command(epilog="Example: palestra contest rescore contest.toml --reason 'a frame was mislabelled'")
def rescore(
    file: FileArgument,
    phase: PhaseOption = "",
    reason: Annotated[str, typer.Option(help="Why; it is kept in the log.")] = "",
    submission: Annotated[list[str] | None, typer.Option(help="Only this one; may be repeated.")] = None,
    apply: Annotated[str, typer.Option(help="Let the scores of this set count.")] = "",
    cancel: Annotated[str, typer.Option(help="Throw the scores of this set away.")] = "",
    json: JsonOption = False,
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Score again as a set: propose it, look at it with the changes of rank, then --apply or --cancel it."""
    from palestra.cli.contest_rescoring import apply_set, cancel_set, propose_set

    place = _place(file, database, files)
    contest = _open(file, database, files)
    if apply:
        apply_set(contest, apply)
    elif cancel:
        cancel_set(contest, cancel, reason)
    else:
        propose_set(place, contest, phase, submission or [], reason, json)


@app.command(epilog="Example: palestra contest export contest.toml contest.zip")
def export(
    file: FileArgument,
    archive: Annotated[Path, typer.Argument(help="The .zip to write.")],
    without: Annotated[
        list[str] | None, typer.Option(help="Leave out: submissions, reports, data, recordings; may be repeated.")
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="Only what the public may see now.")] = False,
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Write the whole contest to a signed archive, from which it can be rebuilt and verified elsewhere."""
    from palestra import console
    from palestra.contest.archive import export as exporting
    from palestra.contest.archive import signature

    require_outputs(None, {".zip": archive})
    if archive.exists():  # it may be the only one that is left of an earlier moment
        raise PalestraError(
            say("{archive} is there already. Nothing was written; choose another name, or remove it.", archive=archive)
        )
    place, contest = _place(file, database, files), _open(file, database, files)
    now = contest.now()
    plan = exporting.plan(contest.engine, contest.files, now, without or (), public, place.file)
    key = signature.open_key(place.folder / signature.NAME)
    with console.progress(f"writing {archive.name}", plan.bytes) as advance:
        done = exporting.write(plan, contest.engine, contest.files, key, archive, advance)
    typer.echo(str(done))


@app.command(epilog="Example: palestra contest backup contest.toml backups")
def backup(
    file: FileArgument,
    folder: Annotated[Path, typer.Argument(help="Where backups go; files that are there already are not copied.")],
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Copy everything, secrets too, while the server runs."""
    from palestra.contest.archive import backup as saving
    from palestra.contest.archive import signature

    place, contest = _place(file, database, files), _open(file, database, files, needs_tracks=False)
    signature.open_key(place.folder / signature.NAME)
    beside = saving.Beside(place.folder / signature.NAME, place.file)
    typer.echo(str(saving.backup(contest.engine, contest.files, folder, contest.now(), beside)))


@app.command(epilog="Example: palestra contest restore contest.toml backups")
def restore(
    file: FileArgument,
    source: Annotated[Path, typer.Argument(help="A backup, a folder of backups, or an exported .zip.")],
    key: Annotated[str, typer.Option(help="The key that an exported archive must be signed with, in words.")] = "",
    head: Annotated[list[str] | None, typer.Option(help="A head that the log must have, NUMBER:HASH.")] = None,
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Put a contest back into an empty place, from a backup or from an exported archive, and verify it."""
    from palestra.contest.archive import bring_back

    bring_back(_place(file, database, files), source, key, head or [])


@app.command(epilog="Example: palestra contest pack contest.toml pack.html --language zh")
def pack(
    file: FileArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT.html", help="The page to write.")],
    language: Annotated[str, typer.Option(help="en or zh.")] = "en",
    phase: Annotated[str, typer.Option("--phase", help="Which phase; without it, the first with a match.")] = "",
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Write the technical manual of a match: criteria, protocol, objects, drawings, cameras, interfaces, timetable."""
    from palestra import console
    from palestra.contest.rules import read
    from palestra.web.views import manual

    place = _place(file, database, files)
    written = manual.write_of(place, read(file), language, phase, out)
    console.say(f"Wrote {out}: {manual.edition(written)}. Print it at 100 %, and its drawings are to scale.")


@app.command(epilog="Example: palestra contest rehearse contest.toml onsite red=scripted blue=do-nothing")
def rehearse(
    file: FileArgument,
    match: Annotated[str, typer.Argument(help="A phase with a match; or a match that was opened as a rehearsal.")],
    entrants: Annotated[list[str], typer.Argument(help="TEAM=ENTRANT, as `palestra play` takes them.")],
    cases: Annotated[str, typer.Option(help="Of a phase: practice or hidden.")] = "practice",
    agreed: Annotated[bool, typer.Option("--agreed", help="In a match: sign for its referees, too.")] = False,
    json: JsonOption = False,
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Let programs play a match in the simulator in place of the robot, from the first case to the standing."""
    from palestra import console
    from palestra.cli import rehearse as rehearsing
    from palestra.contest.rules import read

    if cases not in ("practice", "hidden"):
        raise typer.BadParameter(f"{cases!r} is neither practice nor hidden.", param_hint="--cases")
    place = _place(file, database, files)
    contest = place.open() if place.is_open() else None
    told = console.say if not json else lambda text: None
    if contest and match in contest.state.matches:
        standing = rehearsing.at_a_match(contest, place.home, match, entrants, agreed, told)
    else:
        standing = rehearsing.on_paper(read(file), place.home, match, entrants, cases, told)  # type: ignore[arg-type]
    if json:
        console.show_json([rehearsing.as_record(one) for one in standing])
    else:
        typer.echo("\n".join(rehearsing.lines(standing)))


@app.command(epilog="Example: palestra contest link contest.toml olga")
def link(
    file: FileArgument,
    name: Annotated[str, typer.Argument(help="What they sign in with.")],
    address: Annotated[str, typer.Option(envvar="PALESTRA_ADDRESS", help="The server's.")] = "http://127.0.0.1:8765",
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Print a one-time link with which somebody chooses a new password: for an organiser who is locked out."""
    from palestra.contest.setup import reset_link

    secret = reset_link(_open(file, database, files, needs_tracks=False), name)
    typer.echo(f"{address.rstrip('/')}/link/{secret}")
