"""The commands of a contest: `palestra contest …`. They parse, call and print."""

import logging
import os
import signal
import sys
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

app = typer.Typer(rich_markup_mode=None, help="Run a contest: its server, workers and log.")

FileArgument = Annotated[Path, typer.Argument(metavar="CONTEST.toml", help="The contest's file.")]
DatabaseOption = Annotated[
    str,
    typer.Option(
        "--database",
        envvar="PALESTRA_DATABASE",
        help="Database URL, postgresql://…; by default SQLite beside the contest file.",
    ),
]
FilesOption = Annotated[
    str,
    typer.Option(
        "--files", envvar="PALESTRA_FILES", help="File store, s3://… or a folder; by default beside the contest file."
    ),
]
PhaseOption = Annotated[str, typer.Option("--phase", help="The phase; by default the first one.")]


def _place(file: Path, database: str, files: str) -> "Place":
    """Where a contest lies; its tracks are found from now on, in processes that are started as well."""
    from palestra.contest.setup import Place

    place = Place(file, database, files)
    place.find_tracks()
    return place


@app.command(epilog="Example: palestra contest init contest.toml --track near-eye-gaze-v1")
def init(
    file: FileArgument = Path("contest.toml"),
    track: Annotated[list[str] | None, typer.Option(help="A track to make a phase for; may be repeated.")] = None,
    zone: Annotated[str, typer.Option(help="The contest's time zone.")] = "UTC",
    size: Annotated[str, typer.Option(help="Size of the synthetic data: tiny, small, paper, or none.")] = "tiny",
) -> None:
    """Write a contest file and synthetic data to start from."""
    from palestra.contest.setup import begin

    begin(file, track or [], zone, size)


@app.command(epilog="Example: palestra contest serve contest.toml --port 8765")
def serve(
    file: FileArgument,
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 accepts connections from other machines.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.")] = 8765,
    address: Annotated[
        str, typer.Option(envvar="PALESTRA_ADDRESS", help="The public URL, such as https://contest.example.org")
    ] = "",
    workers: Annotated[int, typer.Option(help="Number of workers to start beside the server.")] = 1,
    processes: Annotated[int, typer.Option(help="Number of server processes; more than one needs PostgreSQL.")] = 1,
    proxies: Annotated[str, typer.Option(help="Comma-separated IPs of trusted reverse proxies.")] = "",
    per_address: Annotated[
        int,
        typer.Option(
            "--connections-per-address",
            min=1,
            help="Most open connections per client address; a whole hall may share one.",
        ),
    ] = 2_000,
    oidc_issuer: Annotated[
        str, typer.Option(envvar="PALESTRA_OIDC_ISSUER", help="OpenID Connect issuer URL for single sign-on.")
    ] = "",
    oidc_client: Annotated[str, typer.Option(envvar="PALESTRA_OIDC_CLIENT", help="OpenID Connect client ID.")] = "",
    oidc_secret: Annotated[str, typer.Option(envvar="PALESTRA_OIDC_SECRET", help="OpenID Connect client secret.")] = "",
    private_addresses: Annotated[
        bool,
        typer.Option(
            "--private-addresses",
            envvar="PALESTRA_PRIVATE_ADDRESSES",
            help="Allow an OpenID Connect issuer on this machine or its private network.",
        ),
    ] = False,
    json_logs: Annotated[bool, typer.Option("--json-logs", help="Write the server log as JSON lines.")] = False,
    with_parent: Annotated[bool, typer.Option("--with-parent", hidden=True)] = False,
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Serve a contest: pages, API, live streams, workers."""
    if processes > 1 and not database.startswith("postgres"):
        raise PalestraError(say("Several server processes hear of each other through PostgreSQL: give --database too."))
    with _stopped_in_good_order(with_parent):
        from palestra import console
        from palestra.parallel import collect_seldom

        collect_seldom()
        from palestra.web import Serve, run
        from palestra.web.site import Oidc

        oidc = Oidc(oidc_issuer, oidc_client, oidc_secret, private=private_addresses) if oidc_issuer else None
        place = _place(file, database, files)
        run(Serve(place, host, port, address, workers, processes, proxies, oidc, json_logs, per_address), console.say)


@app.command(epilog="Example: palestra contest worker contest.toml --executor ray")
def worker(
    file: FileArgument,
    executor: Annotated[
        str, typer.Option(help="Where jobs run: process (a pool on this machine) or ray (a cluster).")
    ] = "process",
    capacity: Annotated[int, typer.Option(help="Jobs run in parallel; 0: one per core.")] = 0,
    ray_address: Annotated[
        str, typer.Option(help="Address of the Ray cluster; without it, one is started on this machine.")
    ] = "",
    with_parent: Annotated[
        bool, typer.Option("--with-parent", hidden=True, help="Begin at a line on standard input, and end with it.")
    ] = False,
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Check and score submissions until stopped. Any number of workers may run, on any machines."""
    if executor not in ("process", "ray"):
        raise PalestraError(say("{executor!r} is no executor; expected process or ray.", executor=executor))
    with _stopped_in_good_order(with_parent):
        from palestra.contest.workers import start_lanes

        lanes = start_lanes(executor, capacity or None, ray_address or None)  # type: ignore[arg-type]
        from palestra import console
        from palestra.contest.log import take_over
        from palestra.contest.workers import worker_of

        if with_parent:
            told = sys.stdin.readline()
            if not told:  # it could not open the contest, and has said why
                return
            take_over(told.strip())
        place = _place(file, database, files)
        contest = place.open()
        for phase, slip in place.look_at_tracks(contest).items():
            console.say(f"{phase}: nothing can be scored in it. {slip}")
        found = worker_of(place, contest, lanes)
        if not with_parent:
            logging.basicConfig(level=logging.INFO, format="%(message)s")
            logging.getLogger("palestra").setLevel(logging.INFO)
            console.say(f"{found.name} works on {file}. Ctrl-C stops it.")
        found.run()
        if not with_parent:
            console.say(f"{found.name} has stopped.")


@contextmanager
def _stopped_in_good_order(with_parent: bool) -> Iterator[None]:
    """A server or a worker that is told to stop while it starts ends as one that works does; so it does with the
    process that started it, where that is asked for."""
    from palestra.parallel import end_with_parent

    try:
        if with_parent:
            end_with_parent(os.getppid(), signal.SIGTERM)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})  # blocked as it was started
        yield
    except KeyboardInterrupt:  # SIGTERM is taken for one as well
        raise typer.Exit from None


@app.command(epilog="Example: palestra contest board contest.toml --json")
def board(
    file: FileArgument,
    phase: PhaseOption = "",
    public: Annotated[bool, typer.Option("--public", help="Show what the public sees now.")] = False,
    json: JsonOption = False,
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Print the leaderboard of a phase."""
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
    head: Annotated[
        list[str] | None,
        typer.Option(help="A log head noted elsewhere, NUMBER:HASH, that the log must contain; may be repeated."),
    ] = None,
    json: JsonOption = False,
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Verify the log. Finds events and snapshots that were edited, removed, inserted or moved.

    Nothing is written: neither into the database nor beside it.
    """
    from palestra import console
    from palestra.contest import snapshot_fits
    from palestra.contest.log import Verdict, chain
    from palestra.contest.storage import reading, require_undamaged, told_if_damaged

    with _begun(file, database, files).read() as engine, told_if_damaged(engine), reading(engine) as connection:
        require_undamaged(connection)
        count = chain.last_seq(connection)
        with console.progress("verifying", count, hidden=json) as advance:
            verdict = chain.verify(connection, [chain.parse_head(text) for text in head or []], advance)
        if verdict.ok and not snapshot_fits(connection):
            verdict = Verdict(False, verdict.head, [EDITED_SNAPSHOT.format(file=file)])
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
    reason: Annotated[str, typer.Option(help="The reason, recorded in the log.")] = "",
    submission: Annotated[
        list[str] | None, typer.Option(help="Re-score only this submission; may be repeated.")
    ] = None,
    apply: Annotated[str, typer.Option(help="Apply the scores of this re-scoring.")] = "",
    cancel: Annotated[str, typer.Option(help="Discard the scores of this re-scoring.")] = "",
    json: JsonOption = False,
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Re-score submissions. Preview the new scores and ranks, then --apply or --cancel them."""
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
        list[str] | None, typer.Option(help="Leave out submissions, reports, data or recordings; may be repeated.")
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="Export only what the public may see now.")] = False,
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Export the contest to a signed archive. It can be rebuilt and verified elsewhere."""
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
    folder: Annotated[Path, typer.Argument(help="The folder for backups; files already in it are not copied again.")],
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Back up a contest, secrets included, while it runs."""
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
    key: Annotated[str, typer.Option(help="The fingerprint of the key that must have signed the archive.")] = "",
    head: Annotated[
        list[str] | None, typer.Option(help="A log head, NUMBER:HASH, that the log must contain; may be repeated.")
    ] = None,
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Restore a contest from a backup or an export, and verify it. The folder must be empty."""
    from palestra.contest.archive import bring_back

    bring_back(_place(file, database, files), source, key, head or [])


@app.command(epilog="Example: palestra contest pack contest.toml pack.html --language zh")
def pack(
    file: FileArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT.html", help="The page to write.")],
    language: Annotated[str, typer.Option(help="en or zh.")] = "en",
    phase: Annotated[str, typer.Option("--phase", help="The phase; by default the first with a match.")] = "",
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Write the technical manual of a match.

    It has the criteria, protocol, objects, drawings, cameras, interfaces and timetable.
    """
    from palestra import console
    from palestra.contest.rules import read
    from palestra.web.views import manual

    place = _place(file, database, files)
    written = manual.write_of(place, read(file), language, phase, out)
    console.say(f"Wrote {out}: {manual.edition(written)}. Print it at 100 %, and its drawings are to scale.")


@app.command(epilog="Example: palestra contest rehearse contest.toml onsite red=scripted blue=do-nothing")
def rehearse(
    file: FileArgument,
    match: Annotated[str, typer.Argument(help="A phase with a match, or a match opened as a rehearsal.")],
    entrants: Annotated[list[str], typer.Argument(help="TEAM=ENTRANT, as in `palestra play`.")],
    cases: Annotated[str, typer.Option(help="Which cases of a phase to play: practice or hidden.")] = "practice",
    agreed: Annotated[bool, typer.Option("--agreed", help="Sign for the referees of the match as well.")] = False,
    json: JsonOption = False,
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Rehearse a match in the simulator, up to the final ranking. Programs play in place of the robot."""
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
    name: Annotated[str, typer.Argument(help="The user name to sign in with.")],
    address: Annotated[
        str, typer.Option(envvar="PALESTRA_ADDRESS", help="The server's address.")
    ] = "http://127.0.0.1:8765",
    database: DatabaseOption = "",
    files: FilesOption = "",
) -> None:
    """Print a one-time password reset link."""
    from palestra.contest.setup import reset_link

    secret = reset_link(_open(file, database, files, needs_tracks=False), name)
    typer.echo(f"{address.rstrip('/')}/link/{secret}")
