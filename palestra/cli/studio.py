"""`palestra studio`: recording a data set of one's own."""

from pathlib import Path
from typing import Annotated, Literal

import typer

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


track_app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
    help="Find the ball, the head and the eyeballs in a recording of colour and depth.",
)
app.add_typer(track_app, name="track")

RgbdArgument = Annotated[
    Path,
    typer.Argument(help="What `palestra studio capture` recorded with depth, or a folder with colour/ and depth/."),
]
SessionOption = Annotated[str, typer.Option(help="The session's name in EYEDIAP's way, such as 1_A_FT_M.")]
TrackOutOption = Annotated[Path, typer.Option(help="The data set's folder, in EYEDIAP's layout.")]
CalibrationOption = Annotated[
    Path | None, typer.Option(help="The folder with rgb_vga_calibration.txt and depth_calibration.txt; else the first.")
]
UnitOption = Annotated[Literal["mm", "0.1mm", "disparity"], typer.Option(help="What a step of the depths is.")]
SourceOption = Annotated[str, typer.Option(help="The recording's source of colour and depth, if it has several.")]
NearOption = Annotated[float, typer.Option(min=0.1, help="Metres from the camera to the nearest that is looked at.")]
FarOption = Annotated[float, typer.Option(min=0.2, help="Metres from the camera to the farthest that is looked at.")]


@track_app.callback()
def about_track() -> None:
    """Find the ball, the head and the eyeballs in a recording of colour and depth."""


@track_app.command(
    epilog="Example: palestra studio track ball session-1 --session 1_A_FT_M --at 0:312,208 --out my-data"
)
def ball(
    recording: RgbdArgument,
    out: TrackOutOption,
    session: SessionOption,
    at: Annotated[
        list[str], typer.Option(help="FRAME:X,Y: where the ball is in a frame's colour picture; once or twice.")
    ],
    calibration: CalibrationOption = None,
    unit: UnitOption = "mm",
    source: SourceOption = "",
    diameter: Annotated[float, typer.Option(min=0.01, max=0.5, help="Of the ball, in metres.")] = 0.04,
    near: NearOption = 0.4,
    far: FarOption = 1.8,
    json: JsonOption = False,
) -> None:
    """Find the ball in every frame, and write EYEDIAP's ball_tracking.txt."""
    from palestra import console
    from palestra.studio import Reach, Session, pointed_at, set_up, track_ball

    place, pointed = Session(out, session), pointed_at(at)
    given = set_up(recording, calibration, unit, source)
    with console.progress("frames", given.frames.count, hidden=json) as advance:
        found = track_ball(given, place, pointed, diameter / 2, Reach(near, far), advance)
    if json:
        console.show_json({"frames": found.frames, "found": found.found, "folder": str(found.folder)})
    console.say(f"The ball was found in {found.found:,} of {found.frames:,} frames: {found.folder}/ball_tracking.txt")


@track_app.command(epilog="Example: palestra studio track head session-1 --session 1_A_FT_M --out my-data")
def head(
    recording: RgbdArgument,
    out: TrackOutOption,
    session: SessionOption,
    calibration: CalibrationOption = None,
    unit: UnitOption = "mm",
    source: SourceOption = "",
    near: NearOption = 0.4,
    far: FarOption = 1.8,
    json: JsonOption = False,
) -> None:
    """Follow the head through every frame, and write EYEDIAP's files of heads and eyeballs."""
    from palestra import console
    from palestra.studio import Reach, Session, set_up, track_head

    place = Session(out, session)
    given = set_up(recording, calibration, unit, source)
    with console.progress("frames", given.frames.count, hidden=json) as advance:
        found = track_head(given, place, Reach(near, far), advance)
    if json:
        console.show_json({"frames": found.frames, "found": found.found, "folder": str(found.folder)})
    console.say(f"The head was found in {found.found:,} of {found.frames:,} frames: {found.folder}/head_pose.txt")
