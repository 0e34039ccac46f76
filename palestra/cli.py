"""The commands. They parse, call and print; what they do is elsewhere."""

import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palestra.errors import PalestraError, Refused

if TYPE_CHECKING:
    from palestra.records import Order, Track

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

INTERRUPTED = 130  # the exit code after Ctrl-C

TrackArgument = Annotated[str, typer.Argument(help="The id of a track; `palestra tracks` lists them.")]
DataOption = Annotated[
    Path | None, typer.Option("--data", help="The data set's folder. Without it, a tiny one is made and used.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SetOption = Annotated[list[str], typer.Option("--set", help="NAME=VALUE, a setting; may be repeated.")]


@app.callback()
def common(
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
    if tracks_dir:
        from palestra import registry

        for folder in tracks_dir:
            registry.add_folder(folder)


@app.command(epilog="Example: palestra tracks --json")
def tracks(
    json: JsonOption = False,
    check: Annotated[bool, typer.Option("--check", help="Run the contract that every track keeps.")] = False,
) -> None:
    """List the tracks: what there is to compete in."""
    from palestra import console, registry

    found = registry.tracks()
    if check:
        from palestra.contract import check_track

        for track in found.values():
            check_track(track, _data(track, None, json))
            if not json:
                typer.echo(f"{track.id}: keeps the contract")
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
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.", min=0)] = 0,
    without: Annotated[list[str] | None, typer.Option(help="Leave out a heavy part: images.")] = None,
    report: Annotated[Path | None, typer.Option(help="Also write the data set's page (HTML).")] = None,
    pack: Annotated[Path | None, typer.Option(help="Also pack what contestants get, without the truth (zip).")] = None,
) -> None:
    """Write a synthetic data set in the track's real on-disk format."""
    from palestra import console, making, registry
    from palestra.formats.files import human_bytes

    chosen = registry.track(track)
    order = _order(size, seed, tuple(without or ()))
    plan = making.plan(chosen, order)
    cost = making.estimate(plan)
    about = f"{chosen.id}, {size}, seed {seed}: about {human_bytes(cost.bytes)}, about {console.duration(cost.seconds)}"
    console.say(f"{about}, into {folder}")
    making.require_room(folder, cost)
    with console.progress("making", sum(part.weight for part in plan.parts)) as advance:
        making.run(chosen, order, plan, folder, advance)
    console.say(f"{folder} is ready. A contestant gets all of it but truth/.")
    if report:
        from palestra.report import write_data_page

        write_data_page(chosen, folder, report)
        console.say(f"Its page: {report}")
    if pack:
        from palestra import packing

        with console.progress("packing", len(packing.shown_files(chosen, folder))) as advance:
            packing.pack(chosen, folder, pack, advance)
        console.say(f"For contestants: {pack}")


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
    trials = chosen.trials(_data(chosen, data, json))
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

    chosen = registry.track(track, _pairs(settings))
    folder = _data(chosen, data, json)
    try:
        sheet = scoring.load(chosen, folder)
        answers = collect(chosen, submission, sheet.trials, allow_missing)
        with console.progress("scoring", answers.height, hidden=json or not chosen.inspect) as advance:
            scored = scoring.score(chosen, sheet, answers, entrant or submission.stem, seed, advance)
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


@app.command(epilog="Example: palestra replay scores.parquet")
def replay(
    run: Annotated[Path, typer.Argument(help="Scores that `palestra score --scores-out` kept.")],
    json: JsonOption = False,
) -> None:
    """Compute a Result again from the scores of each trial, and tell whether it is the same."""
    from palestra import console, registry, saved

    before = saved.load(run)
    after = saved.rescore(before)
    console.show_result(registry.track(after.result.track), after.result, json)
    if after.result != before.result:
        raise PalestraError(f"{run}: the Result computed now differs from the one that was saved.")


@app.command(epilog="Example: palestra board scores.parquet")
def board(
    runs: Annotated[list[Path], typer.Argument(help="Scores that `palestra score --scores-out` kept, one per team.")],
    json: JsonOption = False,
) -> None:
    """Rank saved scores; who cannot be told apart shares a band."""
    from palestra import console, registry, saved
    from palestra.contest import board as boards

    entries = [saved.load(run) for run in runs]
    names = {entry.result.track for entry in entries}
    if len(names) > 1:
        raise PalestraError(f"These scores are of several tracks: {', '.join(sorted(names))}. A board has one.")
    chosen = registry.track(names.pop(), {k: str(v) for k, v in entries[0].result.provenance.settings.items()})
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
    answers = solving.solve(chosen, program, _data(chosen, data, False), _pairs(settings), out)
    console.say(f"{out}: {answers.height} answers by {program.name} ({program.title}).")


@app.command(epilog="Example: palestra view near-eye-gaze-v1 data --out data.html")
def view(
    track: TrackArgument,
    what: Annotated[str, typer.Argument(help="`data` for the data set's page, `sheet` for pictures, or a trial.")],
    out: Annotated[Path, typer.Option(help="Where to write: .html for `data`, .png for the rest.")],
    data: DataOption = None,
) -> None:
    """Draw a data set: its page, a contact sheet, or one trial with its truth."""
    from palestra import console, registry
    from palestra.viewing import draw

    chosen = registry.track(track)
    draw(chosen, what, _data(chosen, data, False), out)
    console.say(f"{out} is written.")


@app.command(epilog="Example: palestra starter near-eye-gaze-v1 kit")
def starter(
    track: TrackArgument, folder: Annotated[Path, typer.Argument(help="Where to write the kit; new or empty.")]
) -> None:
    """Write a starter kit: data, a template, a stand-alone scorer and a first solution to change."""
    from palestra import console, registry
    from palestra.starter import write_kit

    write_kit(registry.track(track), folder)
    console.say(f"{folder} is ready: begin with {folder / 'README.md'}.")


@app.command(epilog="Example: palestra demo --size tiny --out demo-run")
def demo(
    out: Annotated[Path, typer.Option(help="Where data, submissions and reports go.")] = Path("demo"),
    size: Annotated[str, typer.Option(help="tiny or small.")] = "small",
) -> None:
    """Make data for every track, solve, score, print the boards and write the reports."""
    from palestra.demo import run

    run(out, _order(size, 0, ()))


def _order(size: str, seed: int, without: tuple[str, ...]) -> "Order":
    from palestra.errors import UnknownName
    from palestra.records import SIZES, Order

    if size not in SIZES:
        raise UnknownName("size", size, SIZES)
    for name in without:
        if name != "images":
            raise UnknownName("part to leave out", name, ["images"])
    return Order(size, seed, without)  # type: ignore[arg-type]


def _pairs(settings: list[str]) -> dict[str, str]:
    pairs = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise PalestraError(f"--set {text!r}: expected NAME=VALUE.")
        pairs[name.strip()] = value.strip()
    return pairs


def _data(track: "Track", data: Path | None, quiet: bool) -> Path:
    if data is not None:
        from palestra.formats.files import folder

        return folder(data)
    from palestra import console
    from palestra.tinydata import tiny_data

    made = tiny_data(track)
    if not quiet:
        console.say(f"No --data: using the tiny synthetic data set in {made}")
    return made


def main() -> None:
    """Run a command; whatever goes wrong is told in words."""
    try:
        app()
    except PalestraError as error:
        typer.echo(str(error), err=True)
        sys.exit(1)
    except SystemExit as stopped:
        if stopped.code == INTERRUPTED:
            typer.echo("Stopped. The same command goes on where it was.", err=True)
        raise
    except BrokenPipeError:
        sys.exit(1)
    except Exception as error:
        typer.echo(f"Something broke in Palestra itself: {type(error).__name__}: {error}", err=True)
        typer.echo(f"What a developer needs to mend it: {_keep(traceback.format_exc())}", err=True)
        sys.exit(1)


def _keep(details: str) -> Any:
    from palestra.tinydata import cache_folder

    file = cache_folder() / "last-error.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(details)
    return file


if __name__ == "__main__":
    main()
