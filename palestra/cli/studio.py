"""`palestra studio`: recording a data set of one's own."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from palestra.cli import studio_calibrate
from palestra.cli.options import JsonOption, TrackArgument

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
    help="Record a data set of your own: show stimuli, capture cameras and signals.",
)


@app.callback()
def about() -> None:
    """Record a data set of your own: show stimuli, capture cameras and signals."""


@app.command(epilog="Example: palestra studio present targets --out my-run")
def present(
    file: Annotated[
        Path | None,
        typer.Argument(help="A stimulus file, or the name of an example. Without one, the examples are listed."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run's folder. A run that was stopped goes on in its folder.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The page's port; 0 picks a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    serial: Annotated[str, typer.Option(help="A serial port for triggers, such as /dev/ttyUSB0.")] = "",
    lsl: Annotated[str, typer.Option(help="The name of an LSL stream for triggers.")] = "",
    language: Annotated[Literal["en", "zh"], typer.Option(help="Language of the page.")] = "en",
    json: JsonOption = False,
) -> None:
    """Show stimuli in a full-screen page, and log each onset with its time."""
    from palestra import console
    from palestra.studio import EXAMPLES, ShowOptions, show_run, summary_text

    if file is None:
        rows = [{"example": name, "shows": shows} for name, shows in EXAMPLES.items()]
        console.show_rows(rows, json)
        return
    if out is None:
        raise typer.BadParameter("Name a folder for the run.", param_hint="--out")
    options = ShowOptions(port, browser, serial, lsl, language)
    summary, is_finished = show_run(file, out, options)
    if json:
        console.show_json(summary)
    console.say(summary_text(summary, is_finished, out))
    if not is_finished:
        raise typer.Exit(1)


@app.command(epilog="Example: palestra studio plan points")
def plan(
    file: Annotated[Path, typer.Argument(help="A stimulus file, or the name of an example.")],
    json: JsonOption = False,
) -> None:
    """Print what a stimulus file will show, and when."""
    from palestra import console
    from palestra.studio import plan_rows

    console.show_rows(plan_rows(file), json)


@app.command(epilog="Example: palestra studio capture left=camera:0 eeg=lsl:MyAmp --out session-1 --seconds 60")
def capture(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="camera:0, camera:http://…, depth:FOLDER@30, played:FOLDER_OR_VIDEO@100, lsl:NAME, push:8443; "
            "NAME=… names one."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to record into; it must not be there yet.")],
    seconds: Annotated[float | None, typer.Option(help="Stop after so long; by default at Ctrl-C.", min=0.1)] = None,
    png: Annotated[bool, typer.Option("--png", help="Write PNG files instead of lossless video.")] = False,
    segment_s: Annotated[float, typer.Option("--segment-s", help="Length of a segment in seconds.", min=0.5)] = 10.0,
) -> None:
    """Record cameras and signals on one clock, as they come. Ctrl-C ends the recording."""
    from palestra import console
    from palestra.studio import How, record

    head = record(sources, out, seconds, How(segment_s, png))
    for one in head.sources:
        console.say(f"{one.name}: {one.frames:,} recorded, {one.dropped:,} dropped. {one.ended}".rstrip())
    console.say(f"Recorded in {out}. To verify it: palestra studio check {out}")


@app.command(epilog="Example: palestra studio check session-1")
def check(
    recording: Annotated[Path, typer.Argument(help="A folder that `palestra studio capture` wrote.")],
    json: JsonOption = False,
) -> None:
    """Verify a recording: every file, every frame. One that was cut off is put in order first."""
    from palestra import console
    from palestra.studio import Recording, segment_count
    from palestra.studio import check as verify

    opened = Recording(recording)
    for told in opened.repairs:
        console.say(str(told))
    with console.progress("checking", segment_count(opened), hidden=json) as advance:
        found = verify(opened, advance)
    rows = [
        {
            "source": one.name,
            "recorded": one.count,
            "dropped": one.dropped,
            "seconds": round(one.seconds, 3),
            "segments": one.segments,
            "faults": [str(fault) for fault in one.faults] if json else len(one.faults),
        }
        for one in found
    ]
    console.show_rows(rows, json)
    for one in found:
        for fault in one.faults:
            console.say(str(fault))
    if any(one.faults for one in found):
        raise typer.Exit(1)


@app.command(
    epilog="Example: palestra studio prepare near-eye-live-v1 my-final --person Ada --person Ben "
    "--source left=camera:0 --source right=camera:1"
)
def prepare(
    track: TrackArgument,
    out: Annotated[Path, typer.Argument(help="The data set's folder; it must not be there yet.")],
    person: Annotated[list[str], typer.Option(help="Who is to be captured, in order; may be repeated.")],
    source: Annotated[
        list[str], typer.Option(help="NAME=SOURCE for each thing that is recorded, as left=camera:0 or eeg=lsl:MyAmp.")
    ],
    stimuli: Annotated[
        Path | None, typer.Option(help="A stimulus file, or the name of an example; by default points or emotion.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The page's port; 0 picks a free one each time.")
    ] = None,
    triggers: Annotated[
        str, typer.Option(help="The channel of the signal that has the triggers; without it, the page gives them.")
    ] = "",
    language: Annotated[Literal["en", "zh"], typer.Option(help="Language of the page.")] = "en",
) -> None:
    """Prepare a live final on people: a data set that is captured while it is played."""
    from palestra import console, registry
    from palestra.records import PersonSignal
    from palestra.studio import PORT, CaptureFile, prepare_data, sources_named

    chosen = registry.track(track)
    signal = chosen.stream is not None and isinstance(chosen.stream.person, PersonSignal)
    file = CaptureFile(person, sources_named(source), PORT if port is None else port, triggers, language=language)
    prepare_data(chosen, out, stimuli or Path("emotion" if signal else "points"), file)
    console.say(f"{out} is ready. Play it to programs: palestra play {track} PROGRAM --data {out}")


app.add_typer(studio_calibrate.app, name="calibrate")
