"""The commands. They parse, call and print; what they do is elsewhere."""

import sys
import traceback
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from palestra.cli.options import JsonOption, order_of
from palestra.errors import PalestraError
from palestra.executors import INTERRUPTED, answer_signals, came_of_stopping, raise_no_more

# Commands with modules of their own, in the order in which help lists them: the module, and an example.
LOADED_WHEN_CALLED = {
    "make": ("data", "make gaze-prediction-v1 gaze-data --size tiny --seed 1 --without images"),
    "check": ("score", "check near-eye-gaze-v1 answers.csv"),
    "score": ("score", "score near-eye-gaze-v1 answers.csv --scores-out scores.parquet --report r.html"),
    "play": ("live", "play emotion-eeg-v1 entropy --pace fast --run my-run --report run.html"),
    "register": ("live", "register my-run entropy bundle.zip"),
    "replay": ("live", "replay scores.parquet"),
    "board": ("score", "board scores.parquet"),
    "solve": ("score", "solve near-eye-gaze-v1 pupil --out answers.csv"),
    "bench": ("bench", "bench remote-gaze-v1 --list"),
    "view": ("data", "view near-eye-gaze-v1 data --out data.html"),
    "starter": ("data", "starter near-eye-gaze-v1 kit"),
    "new-track": ("new_track", "new-track blink-rate --live"),
    "annotate": ("annotate", "annotate kit/data/test/P02/G02/left --out annotated"),
    "adapt": ("annotate", "adapt my-eyes --labels my-masks --out my-device.onnx"),
}
STUDIO = Path(__file__).parents[1] / "studio"  # may be deleted: its commands then are not there
GROUPS = ("contest", *(["studio"] if STUDIO.is_dir() else []))  # of commands, each in a module of its name
ORDER = ("tracks", "solutions", *LOADED_WHEN_CALLED, "demo", "doctor", "submit", *GROUPS)


class Commands(TyperGroup):
    """The commands, each loaded when it is called. Where tracks lie may be said after one as well as before it."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(ORDER)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in ORDER and cmd_name not in self.commands:
            self.commands[cmd_name] = _load(cmd_name)
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in ORDER:  # so that the nearest name can be suggested
            for name in ORDER:
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        front: list[str] = []
        rest = list(args)
        end = rest.index("--") if "--" in rest else len(rest)
        for place in reversed(range(end)):
            if rest[place] == "--tracks-dir" and place + 1 < end:
                front += rest[place : place + 2]
                del rest[place : place + 2]
            elif rest[place].startswith("--tracks-dir="):
                front.append(rest.pop(place))
        return super().parse_args(ctx, [*front, *rest])


def _load(name: str) -> Any:
    if name in GROUPS:
        return typer.main.get_command(import_module(f"palestra.cli.{name}").app)
    module, example = LOADED_WHEN_CALLED[name]
    function = getattr(import_module(f"palestra.cli.{module}"), name.replace("-", "_"))
    alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    alone.command(name=name, epilog=f"Example: palestra {example}")(function)
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

STOPPED = (
    "Stopped. `make`, `solve`, `bench`, `annotate` and `demo` go on where they were when you call them again; "
    "what `play` recorded is kept, and the run can be repeated with the same --run."
)


@app.callback(invoke_without_command=True)
def common(
    context: typer.Context,
    tracks_dir: Annotated[
        list[Path] | None, typer.Option("--tracks-dir", help="A folder with more tracks; may be repeated.")
    ] = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    """Palestra runs challenges in which machines read people and act for them."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"palestra {installed('palestra')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit
    if tracks_dir:
        from palestra import registry

        for folder in tracks_dir:
            registry.add_folder(folder)


@app.command(epilog="Example: palestra tracks --json")
def tracks(
    track: Annotated[str | None, typer.Argument(help="List or check only this track.")] = None,
    json: JsonOption = False,
    check: Annotated[bool, typer.Option("--check", help="Run the contract checks that every track must pass.")] = False,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", help="TRACK=DIR, or DIR if one track is named: data to check with; may be repeated."),
    ] = None,
) -> None:
    """List the tracks (challenges)."""
    from palestra import console, registry
    from palestra.cli.tracks_check import as_row, check_tracks, tell_broken

    if check:
        if not check_tracks(track, _folders(track, data or []), json):
            raise typer.Exit(1)
        return
    found = [registry.track(track)] if track else list(registry.tracks().values())
    if not track:
        tell_broken()
    console.show_rows([as_row(one) for one in found], json)


def _folders(track: str | None, data: list[str]) -> dict[str, str]:
    """The data to check each track with; where one is named, its id may be left out."""
    found: dict[str, str] = {}
    for text in data:
        name, equals, folder = text.partition("=")
        if not equals and not track:
            raise typer.BadParameter(f"{text!r} is not TRACK=DIR.", param_hint="--data")
        found |= {name: folder} if equals else {str(track): text}
    return found


@app.command(epilog="Example: palestra solutions near-eye-gaze-v1")
def solutions(
    track: Annotated[str | None, typer.Argument(help="List only the solutions of this track.")] = None,
    json: JsonOption = False,
) -> None:
    """List the reference solutions."""
    from palestra import console, model_cards, registry
    from palestra.cli.tracks_check import tell_broken

    if track:
        registry.track(track)
    else:
        tell_broken()
    rows = [
        {"track": one.track, "name": one.name, "title": one.title, "weights": one.weights}
        for one in registry.solutions(track)
    ]
    if not json:  # for people, who would look for weights that are not here
        for row in rows:
            missing = row["weights"] and model_cards.how_to_get(Path(row["weights"]).stem)
            row["weights"] = f"not here, run `{missing}`" if missing else row["weights"]
    console.show_rows(rows, json)


@app.command(epilog="Example: palestra demo --size tiny --out demo-run --no-serve")
def demo(
    out: Annotated[Path, typer.Option(help="Where data, submissions and reports go.")] = Path("demo"),
    size: Annotated[str, typer.Option(help="tiny, small or paper.")] = "small",
    serve: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Keep the contest's server running at the end.")
    ] = True,
    port: Annotated[int, typer.Option(help="The server's port; 0 picks a free one.")] = 0,
) -> None:
    """Make data, run solutions and score them for every track. Then run a contest with them."""
    from palestra.demo import run

    run(out, order_of(size, 0, ()), serve, port)


@app.command(epilog="Example: palestra doctor --json")
def doctor(json: JsonOption = False) -> None:
    """Report what this machine supports, and how to get more."""
    from palestra import console
    from palestra.cli.doctor import as_rows, report

    found = report()
    if json:
        console.show_json(found)
    else:
        console.show_rows(as_rows(found), False)


@app.command(epilog="Example: palestra submit http://127.0.0.1:8765 near-eye-gaze answers.csv")
def submit(
    url: Annotated[str, typer.Argument(help="The contest server's address.")],
    phase: Annotated[str, typer.Argument(help="The phase's id.")],
    file: Annotated[Path, typer.Argument(help="The file to submit.")],
    token: Annotated[
        str,
        typer.Option(
            envvar="PALESTRA_TOKEN",
            help="An API token with the scopes read and submit, made under your account on the site.",
        ),
    ] = "",
    bundle: Annotated[bool, typer.Option("--bundle", help="Submit a bundle for verification.")] = False,
    json: JsonOption = False,
) -> None:
    """Submit a file to a contest and follow it to its result."""
    from palestra.cli import submit as sending

    if not sending.send(url, phase, file, token, bundle, json):
        raise typer.Exit(1)


def main() -> None:
    """Run a command; whatever goes wrong is told in words."""
    answer_signals()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter shows another
    try:
        app()
    except KeyboardInterrupt:  # before the command began, or after it ended
        sys.exit(INTERRUPTED)
    except SystemExit as stopped:
        if stopped.code == INTERRUPTED:
            typer.echo(STOPPED, err=True)
        raise
    except BrokenPipeError:
        sys.exit(1)
    except Exception as error:
        sys.exit(_told(error))
    finally:
        raise_no_more()


def _told(error: Exception) -> int:
    """Tell what went wrong; the exit code."""
    if came_of_stopping(error):  # such as a lock of the standard library that was interrupted
        typer.echo(STOPPED, err=True)
        return INTERRUPTED
    if isinstance(error, PalestraError):
        typer.echo(str(error), err=True)
        return 1
    if trouble := _database_trouble(error):
        typer.echo(trouble, err=True)
        return 1
    kept = _keep(traceback.format_exc())
    if slip := _slip_of(error):
        typer.echo(slip, err=True)
        typer.echo(f"The traceback: {kept}", err=True)
    elif isinstance(error, OSError):
        typer.echo(f"{error.filename or 'The system'}: {error.strerror or error}.", err=True)
    else:
        typer.echo(f"Something broke in Palestra itself: {type(error).__name__}: {error}", err=True)
        typer.echo(f"What a developer needs to mend it: {kept}", err=True)
    return 1


def _database_trouble(error: Exception) -> str:
    """Why a contest's database did not do what was asked, where nothing of ours is to blame. Where SQLAlchemy was not
    loaded, there is no such error."""
    known = sys.modules.get("sqlalchemy.exc")
    if known is None or not isinstance(error, known.DBAPIError):
        return ""
    from palestra.contest.storage import trouble

    why = str(error.orig).strip().splitlines()[0]
    if trouble.is_full(error):
        return f"A disk is full ({why}). Nothing that was kept is lost: make room, then run the command again."
    if trouble.is_damaged(error):
        return str(trouble.damaged("The database", why))
    return f"{trouble.why_not(error)} ({why})" if trouble.is_away(error) else ""


def _slip_of(error: BaseException) -> str:
    """What to tell where a track from outside brought an error about; nothing was loaded, nothing is to blame."""
    from palestra import registry

    return registry.slip_of(error)


def _keep(details: str) -> str:
    """Put what only a developer wants to see where it can be found."""
    from palestra.datasets import cache_folder

    file = cache_folder() / "last-error.txt"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(details)
    except OSError as error:
        return f"could not be kept in {file} ({error.strerror}); set PALESTRA_CACHE to a folder that can be written"
    return str(file)


if __name__ == "__main__":
    main()
