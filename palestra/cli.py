"""The commands. They parse, call and print; what they do is elsewhere."""

import signal
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palestra import contest_commands
from palestra.errors import PalestraError, Refused

if TYPE_CHECKING:
    from palestra.records import Order, Track
    from palestra.scoring import Scored

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(contest_commands.app, name="contest")

GUESSABLE = 1 << 64  # seeds below it can be tried out
INTERRUPTED = 130  # the exit code after Ctrl-C

TrackArgument = Annotated[str, typer.Argument(help="The id of a track; `palestra tracks` lists them.")]
DataOption = Annotated[
    Path | None, typer.Option("--data", help="The data set's folder. Without it, a tiny one is made and used.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SetOption = Annotated[list[str], typer.Option("--set", help="NAME=VALUE, a setting; may be repeated.")]


@app.callback(invoke_without_command=True)
def common(
    context: typer.Context,
    tracks_dir: Annotated[
        list[Path] | None, typer.Option("--tracks-dir", help="A folder with more tracks; may be repeated.")
    ] = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
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
    json: JsonOption = False,
    check: Annotated[bool, typer.Option("--check", help="Run the contract that every track keeps.")] = False,
    data: Annotated[
        list[str] | None, typer.Option("--data", help="TRACK=DIR, data to check a track on; may be repeated.")
    ] = None,
) -> None:
    """List the tracks: what there is to compete in."""
    from palestra import console, registry

    found = registry.tracks()
    if check:
        _check_tracks(list(found.values()), _pairs(data or []))
    rows = [
        {"id": track.id, "title": track.title, "answers": track.arrives, "ranks": track.ranks.name}
        for track in found.values()
    ]
    console.show_rows(rows, json)


@app.command(epilog="Example: palestra solutions near-eye-gaze-v1")
def solutions(
    track: Annotated[str | None, typer.Argument(help="Only those of this track.")] = None, json: JsonOption = False
) -> None:
    """List the reference solutions."""
    from palestra import console, registry

    if track:
        registry.track(track)
    found = registry.solutions(track)
    rows = [{"track": s.track, "name": s.name, "title": s.title, "weights": s.weights} for s in found]
    console.show_rows(rows, json)


@app.command(epilog="Example: palestra make gaze-prediction-v1 gaze-data --size tiny --seed 1 --without images")
def make(
    track: TrackArgument,
    folder: Annotated[Path, typer.Argument(help="Where to write; new or empty, or an unfinished run to go on with.")],
    size: Annotated[str, typer.Option(help="tiny, small or paper.")] = "tiny",
    seed: Annotated[str, typer.Option(help="A number: the same one gives the same bytes. Or `random`.")] = "0",
    without: Annotated[list[str] | None, typer.Option(help="Leave out a heavy part: images.")] = None,
    report: Annotated[Path | None, typer.Option(help="Also write the data set's page (HTML).")] = None,
    pack: Annotated[Path | None, typer.Option(help="Also pack what contestants get, without the truth (zip).")] = None,
) -> None:
    """Write a synthetic data set in the track's real on-disk format."""
    from palestra import console, making, packing, registry
    from palestra.formats.files import human_bytes

    _require_outputs(None, {".html": report, ".zip": pack})
    chosen = registry.track(track)
    order = _order(size, _seed(seed, folder), tuple(without or ()))
    making.require_folder(chosen, order, folder)
    plan = making.plan(chosen, order)
    cost = making.estimate(plan)
    about = f"{chosen.id}, {size}: about {human_bytes(cost.bytes)}, about {console.duration(cost.seconds)}"
    console.say(f"{about}, into {folder}")
    making.require_room(folder, cost.bytes * (making.left(plan, folder) + bool(pack)))
    with console.progress("making", sum(part.weight for part in plan.parts)) as advance:
        making.run(chosen, order, plan, folder, advance)
    hidden = [f"{name}/" for name in chosen.hidden if (folder / name).is_dir()]
    console.say(f"{folder} is ready. A contestant gets all of it but {' and '.join(hidden)}.")
    if report:
        from palestra.report import write_data_page

        write_data_page(chosen, folder, report)
        console.say(f"Its page: {report}")
    if pack:
        with console.progress("packing", len(packing.shown(chosen, folder))) as advance:
            packing.pack(chosen, folder, pack, advance)
        console.say(f"For contestants: {pack}")
        if order.seed < GUESSABLE:
            console.say("Its seed can be guessed, and the truth made from it: use --seed random for a contest.")


@app.command(epilog="Example: palestra check near-eye-gaze-v1 answers.csv")
def check(
    track: TrackArgument,
    submission: Annotated[Path, typer.Argument(help="The file, folder or archive to check.")],
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Tell whether a submission is in order. Needs no truth."""
    from palestra import console, registry
    from palestra.collect.files import collect
    from palestra.scoring import look_into

    chosen = registry.track(track)
    folder = _data(chosen, data, json)
    with _reading(chosen, folder):
        trials = chosen.trials(folder)
    try:
        answers = collect(chosen, submission, trials)
        with console.progress("checking", answers.height, hidden=json or not chosen.inspect) as advance:
            look_into(chosen, answers, advance)
    except Refused as refusal:
        console.show_refusal(refusal, submission, json)
        raise typer.Exit(1) from None
    if json:
        console.show_json({"ok": True, "faults": [], "count": 0})
    else:
        typer.echo(f"{submission} is in order: {answers.height} answers for {trials.height} trials.")


@app.command(epilog="Example: palestra score near-eye-gaze-v1 answers.csv --scores-out scores.parquet --report r.html")
def score(
    track: TrackArgument,
    submission: Annotated[Path, typer.Argument(help="The file, folder or archive to score.")],
    data: DataOption = None,
    json: JsonOption = False,
    allow_missing: Annotated[bool, typer.Option(help="Charge gaps as the rules say, instead of refusing.")] = False,
    entrant: Annotated[str | None, typer.Option(help="Whose it is; the file's name by default.")] = None,
    seed: Annotated[int, typer.Option(help="Of the resampling behind the intervals.", min=0)] = 0,
    settings: SetOption = [],  # noqa: B006 - Typer copies it
    scores_out: Annotated[Path | None, typer.Option(help="Keep each trial's scores (Parquet).")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with curves and pictures (HTML).")] = None,
) -> None:
    """Check a submission, score it and print its Result."""
    from palestra import console, registry, scoring
    from palestra.collect.files import collect

    _require_outputs(submission, {".parquet": scores_out, ".html": report})
    chosen = registry.track(track, _pairs(settings))
    folder = _data(chosen, data, json)
    with _reading(chosen, folder):
        sheet = scoring.load(chosen, folder)
    try:
        answers = collect(chosen, submission, sheet.trials, allow_missing)
        with console.progress("scoring", answers.height, hidden=json or not chosen.inspect) as advance:
            name = console.printable((entrant or submission.stem).strip()) or "nameless"
            scored = scoring.score(chosen, sheet, answers, name, seed, advance)
    except Refused as refusal:
        console.show_refusal(refusal, submission, json)
        raise typer.Exit(1) from None
    if scores_out:
        from palestra import saved

        saved.save(scored, scores_out)
    if report:
        from palestra.report import write_result

        write_result(chosen, scored, folder, report)
    console.show_result(chosen, scored.result, json)


@app.command(epilog="Example: palestra play emotion-eeg-v1 entropy --pace fast --run my-run --report run.html")
def play(
    track: TrackArgument,
    entrants: Annotated[
        list[str] | None,
        typer.Argument(help="Solutions, bundles (folder, .zip, .tar.gz) or ws:// addresses; NAME=… gives it a name."),
    ] = None,
    data: DataOption = None,
    pace: Annotated[str, typer.Option(help="real: the wall clock. fast: the same in virtual time.")] = "real",
    run: Annotated[Path | None, typer.Option(help="Where to record the run; a new folder by default.")] = None,
    json: JsonOption = False,
    report: Annotated[Path | None, typer.Option(help="Write a page with the result and its timeline (HTML).")] = None,
    settings: SetOption = [],  # noqa: B006 - Typer copies it
    listen: Annotated[str | None, typer.Option(help="HOST:PORT to listen on for `palestra.client`.")] = None,
    team: Annotated[list[str] | None, typer.Option(help="A team that connects there; may be repeated.")] = None,
    lsl: Annotated[bool, typer.Option("--lsl", help="Also publish the stream by LSL and take answers there.")] = False,
    patience: Annotated[float, typer.Option(help="Seconds for one answer where the rules set no limit.", min=0.1)] = 60,
    memory: Annotated[float, typer.Option(help="GiB that each program may use.", min=0.1)] = 4,
    trusted: Annotated[bool, typer.Option("--trusted", help="Run programs without a sandbox if none works.")] = False,
    seed: Annotated[int, typer.Option(help="Of the resampling behind the intervals.", min=0)] = 0,
) -> None:
    """Play a live track to one or more programs, exactly as the official run does."""
    from palestra import console, registry
    from palestra.live import Guests, play_live
    from palestra.playing import Play, require_live

    _require_outputs(None, {".html": report})
    if pace not in ("real", "fast"):
        raise typer.BadParameter(f"{pace!r} is neither real nor fast.", param_hint="--pace")
    chosen = registry.track(track, _pairs(settings))
    require_live(chosen)
    folder = _data(chosen, data, json)
    order = Play(pace, patience, round(memory * (1 << 30)), trusted, seed, watched=not json)  # type: ignore[arg-type]
    guests = Guests(entrants or [], listen, team or [], lsl)
    with _reading(chosen, folder):
        played = play_live(chosen, folder, guests, order, run)
    if report:
        from palestra.timeline import write_run

        write_run(chosen, played.scored, played.recording, folder, report)
    console.show_played(chosen, played, json)
    _exit_if_invalid(played.scored.values())


@app.command(epilog="Example: palestra register my-run entropy bundle.zip")
def register(
    run: Annotated[Path, typer.Argument(help="The run that is under way.")],
    team: Annotated[str, typer.Argument(help="The entrant's name in that run.")],
    bundle: Annotated[Path, typer.Argument(help="The new version: a folder, .zip or .tar.gz.")],
) -> None:
    """Register another version of a program, in a window between two testers."""
    from palestra import console
    from palestra.live import register_version

    version = register_version(run, team, bundle)
    console.say(f"{team}: version {version.number} ({version.digest}) plays from {version.window} on.")


@app.command(epilog="Example: palestra replay scores.parquet")
def replay(
    run: Annotated[Path, typer.Argument(help="A run of `palestra play`, or scores that `palestra score` kept.")],
    data: DataOption = None,
    json: JsonOption = False,
    report: Annotated[Path | None, typer.Option(help="Write a page with a run's timeline (HTML).")] = None,
) -> None:
    """Compute a Result again from what was recorded, tell whether it is the same, and show a run's timeline."""
    from palestra import console, saved
    from palestra.live import replay_live
    from palestra.recording import is_run

    if is_run(run):
        _require_outputs(None, {".html": report})
        replayed = replay_live(run, data)
        if report:
            from palestra.timeline import write_run

            write_run(replayed.track, replayed.scored, replayed.recording, replayed.data, report)
        console.show_replayed(replayed, json)
        _exit_if_invalid(replayed.scored.values())
        return
    before = saved.load(run)
    after = saved.rescore(before)
    console.show_result(saved.track_of(after.result), after.result, json)
    if console.as_json(after.result) != console.as_json(before.result):
        raise PalestraError(f"{run}: the Result computed now differs from the one that was saved.")


@app.command(epilog="Example: palestra board scores.parquet")
def board(
    runs: Annotated[list[Path], typer.Argument(help="Scores that `palestra score --scores-out` kept, one per team.")],
    json: JsonOption = False,
) -> None:
    """Rank saved scores; who cannot be told apart shares a band."""
    from palestra import console, saved
    from palestra.contest import board as boards

    entries = [saved.load(run) for run in runs]
    names = {entry.result.track for entry in entries}
    if len(names) > 1:
        raise PalestraError(f"These scores are of several tracks: {', '.join(sorted(names))}. A board has one.")
    chosen = saved.track_of(entries[0].result)
    console.show_board(chosen, boards.board(chosen, entries), json)


@app.command(epilog="Example: palestra solve near-eye-gaze-v1 pupil --out answers.csv")
def solve(
    track: TrackArgument,
    solution: Annotated[str, typer.Argument(help="The name of a solution; `palestra solutions` lists them.")],
    out: Annotated[Path, typer.Option(help="The submission to write.")],
    data: DataOption = None,
    settings: SetOption = [],  # noqa: B006 - Typer copies it
) -> None:
    """Run a reference solution and write its submission."""
    from palestra import console, registry, solving

    chosen, program = registry.track(track), registry.solution(track, solution)
    solving.require_file(chosen, program)
    _require_outputs(None, {chosen.suffix: out})
    answers = solving.solve(chosen, program, _data(chosen, data, False), _pairs(settings), out)
    console.say(f"{out}: {answers.height} answers by {program.name} ({program.title}).")


@app.command(epilog="Example: palestra view near-eye-gaze-v1 data --out data.html")
def view(
    track: TrackArgument,
    what: Annotated[
        str, typer.Argument(help="`data` for the data set's page, `sheet` for pictures, a trial, or a sequence.")
    ],
    out: Annotated[
        Path, typer.Option(help="Where to write: .html for `data`, .mp4 for a sequence, .png for the rest.")
    ],
    data: DataOption = None,
) -> None:
    """Draw a data set: its page, a contact sheet, one trial with its truth, or a sequence as a film."""
    from palestra import console, registry
    from palestra.viewing import draw

    film = what != "data" and out.suffix.lower() == ".mp4"
    _require_outputs(None, {".html" if what == "data" else ".mp4" if film else ".png": out})
    chosen = registry.track(track)
    folder = _data(chosen, data, False)
    with _reading(chosen, folder):
        draw(chosen, what, folder, out)
    console.say(f"{out} is written.")


@app.command(epilog="Example: palestra starter near-eye-gaze-v1 kit")
def starter(
    track: TrackArgument, folder: Annotated[Path, typer.Argument(help="Where to write the kit; new or empty.")]
) -> None:
    """Write a starter kit: data, a template, a stand-alone scorer and a first solution to change."""
    from palestra import console, registry
    from palestra.starter import write_kit

    chosen = registry.track(track)
    _data(chosen, None, False)
    write_kit(chosen, folder)
    console.say(f"{folder} is ready: begin with {folder / 'README.md'}.")


@app.command(epilog="Example: palestra demo --size tiny --out demo-run --no-serve")
def demo(
    out: Annotated[Path, typer.Option(help="Where data, submissions and reports go.")] = Path("demo"),
    size: Annotated[str, typer.Option(help="tiny, small or paper.")] = "small",
    serve: Annotated[bool, typer.Option("--serve/--no-serve", help="Leave the contest's server running.")] = True,
    port: Annotated[int, typer.Option(help="Of that server; 0: a free one.")] = 0,
) -> None:
    """Data for every track, solutions, scores and reports; then a contest with all of them, left running."""
    from palestra.demo import run

    run(out, _order(size, 0, ()), serve, port)


@app.command(epilog="Example: palestra doctor --json")
def doctor(json: JsonOption = False) -> None:
    """Say what this machine can do, and how to get more."""
    from palestra import console
    from palestra.doctor import as_rows, report

    found = report()
    if json:
        console.show_json(found)
    else:
        console.show_rows(as_rows(found), False)


@app.command(epilog="Example: palestra submit https://contest.example.org preliminary answers.csv")
def submit(
    url: Annotated[str, typer.Argument(help="The contest server's address.")],
    phase: Annotated[str, typer.Argument(help="The phase's id.")],
    file: Annotated[Path, typer.Argument(help="What to hand in.")],
    token: Annotated[
        str, typer.Option(envvar="PALESTRA_TOKEN", help="Made on the site, under your account; scopes read and submit.")
    ] = "",
    bundle: Annotated[bool, typer.Option("--bundle", help="Hand in a bundle for verification.")] = False,
    json: JsonOption = False,
) -> None:
    """Send a submission to a contest, follow it, and print what became of it."""
    from palestra import sending

    if not sending.send(url, phase, file, token, bundle, json):
        raise typer.Exit(1)


def _exit_if_invalid(scored: "Iterable[Scored]") -> None:
    if not all(one.result.valid for one in scored):
        raise typer.Exit(1)


def _check_tracks(tracks: "list[Track]", folders: dict[str, str]) -> None:
    from palestra import console
    from palestra.contract import check_track

    for track in tracks:
        if track.make is None and track.id not in folders:
            console.say(f"{track.id}: not checked, for it makes no data of its own; give --data {track.id}=DIR")
            continue
        check_track(track, _data(track, Path(folders[track.id]) if track.id in folders else None, True))
        console.say(f"{track.id}: keeps the contract")


def _order(size: str, seed: int, without: tuple[str, ...]) -> "Order":
    from palestra.errors import UnknownName
    from palestra.records import SIZES, Order

    if size not in SIZES:
        raise typer.BadParameter(str(UnknownName("size", size, SIZES)), param_hint="--size")
    for name in without:
        if name != "images":
            raise typer.BadParameter(str(UnknownName("part", name, ["images"])), param_hint="--without")
    return Order(size, seed, without)  # type: ignore[arg-type]


def _seed(text: str, folder: Path) -> int:
    """A seed as it was given, or one that nobody guesses; a stopped run goes on with its own."""
    if text == "random":
        import secrets

        from palestra import making

        begun = making.unfinished(folder)
        return begun.seed if begun else secrets.randbits(128)
    if not text.isdecimal():
        raise typer.BadParameter(f"{text!r} is neither a whole number from 0 on nor `random`.", param_hint="--seed")
    return int(text)


@contextmanager
def _reading(track: "Track", folder: Path) -> Iterator[None]:
    """What is wrong with a data set is not the contestant's fault, and is told apart from it."""
    try:
        yield
    except Refused as refusal:
        inside = folder / "data"
        hint = f" Did you mean {inside}?" if inside.is_dir() else ""
        if not (folder / track.hidden[0]).is_dir():
            hint += f" (There is no {track.hidden[0]}/: whoever has no truth can `check` and not `score`.)"
        raise PalestraError(f"{folder} cannot be used as data of {track.id}: {refusal}.{hint}") from None


def _require_outputs(source: Path | None, files: dict[str, Path | None]) -> None:
    """Refuse before the work where its outcome could not be written, or would take the place of what it comes from."""
    for suffix, file in files.items():
        if file is None:
            continue
        parent = file.absolute().parent
        if not parent.is_dir():
            raise PalestraError(f"{file}: there is no folder {parent}. Make it first.")
        if file.is_dir():
            raise PalestraError(f"{file}: a folder has this name. Name a file.")
        if source and file.absolute() == source.absolute():
            raise PalestraError(f"{file}: this is the submission itself. Name another file.")
        if file.suffix.lower() != suffix:
            raise PalestraError(f"{file}: this is written as {suffix}; name a file that ends in it.")


def _pairs(settings: list[str]) -> dict[str, str]:
    pairs = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE.")
        pairs[name.strip()] = value.strip()
    return pairs


def _data(track: "Track", data: Path | None, quiet: bool) -> Path:
    if data is not None:
        from palestra.formats.files import folder
        from palestra.making import NOTES

        if (data / NOTES).is_file():
            raise PalestraError(f"{data} is not whole: `palestra make` was stopped there. Call it again to finish it.")
        return folder(data)
    from palestra import console
    from palestra.tinydata import is_there, tiny_data

    if not quiet and not is_there(track):
        console.say(f"Making the tiny data set of {track.id}, once …")
    made = tiny_data(track)
    if not quiet:
        console.say(f"No --data: using the tiny synthetic data set in {made}")
    return made


def main() -> None:
    """Run a command; whatever goes wrong is told in words."""
    signal.signal(signal.SIGTERM, _as_interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter shows another
    try:
        app()
    except PalestraError as error:
        typer.echo(str(error), err=True)
        sys.exit(1)
    except SystemExit as stopped:
        if stopped.code == INTERRUPTED:
            typer.echo(
                "Stopped. `make`, `solve` and `demo` go on where they were when you call them again; "
                "what `play` recorded is kept, and the run can be repeated with the same --run.",
                err=True,
            )
        raise
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        _keep(traceback.format_exc())
        typer.echo(f"{error.filename or 'The system'}: {error.strerror or error}.", err=True)
        sys.exit(1)
    except Exception as error:
        typer.echo(f"Something broke in Palestra itself: {type(error).__name__}: {error}", err=True)
        typer.echo(f"What a developer needs to mend it: {_keep(traceback.format_exc())}", err=True)
        sys.exit(1)


def _as_interrupt(number: int, frame: object) -> None:
    """End as after Ctrl-C: what is under way is finished, and workers end with us."""
    raise KeyboardInterrupt


def _keep(details: str) -> str:
    """Put what only a developer wants to see where it can be found."""
    from palestra.tinydata import cache_folder

    file = cache_folder() / "last-error.txt"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(details)
    except OSError as error:
        return f"could not be kept in {file} ({error.strerror}); set PALESTRA_CACHE to a folder that can be written"
    return str(file)


if __name__ == "__main__":
    main()
