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


@app.command(epilog="Example: palestra studio gaze eyes --rig rig.toml --points points.csv --out gaze.csv")
def gaze(
    pictures: Annotated[Path, typer.Argument(help="A folder of pictures of one eye of one person, in order.")],
    rig: Annotated[Path, typer.Option(help="The headset's camera and lights (TOML).")],
    points: Annotated[Path, typer.Option(help="Where the person looked: picture,x_mm,y_mm,z_mm (CSV).")],
    out: Annotated[Path, typer.Option(help="The table of gaze vectors (CSV).")],
    labels: Annotated[Path | None, typer.Option(help="Also write labels as OpenEDS 2020 has them (.txt).")] = None,
    residuals: Annotated[Path | None, typer.Option(help="Also draw how far the known points are off (PNG).")] = None,
    median: Annotated[int, typer.Option(help="Pictures of the median filter; 1 for none.", min=1)] = 5,
) -> None:
    """Label eye pictures with gaze, from the pupil and the reflections of the headset's lights."""
    import numpy as np

    from palestra import console
    from palestra.studio import draw_residuals, label, pictures_in, read_points, read_rig, write_labels

    files = pictures_in(pictures)
    known, found_rig = read_points(points, files), read_rig(rig)
    with console.progress("reading", len(files)) as advance:
        labelled = label(files, known, found_rig, median, advance)
    if labels:
        write_labels(labelled.table, labels)
    labelled.table.write_csv(out)
    if residuals:
        draw_residuals(labelled, known, residuals)
    sure = labelled.table["x"].count()
    off = float(np.median(labelled.fitted.off_deg))
    console.say(
        f"{sure} of {len(files)} pictures have a gaze; at the known points it is {off:.2f}° off (median). {out}"
    )


@app.command(epilog="Example: palestra studio leds A.mp4 --picture a-leds.png")
def leds(
    video: Annotated[Path, typer.Argument(help="A video, or a source of a recording as session-1/left.")],
    count: Annotated[int, typer.Option(help="How many LEDs run the code.", min=3, max=8)] = 5,
    from_s: Annotated[float, typer.Option("--from", help="Look from this second on.", min=0.0)] = 0.0,
    picture: Annotated[Path | None, typer.Option(help="Write a picture of the video with the LEDs marked.")] = None,
    json: JsonOption = False,
) -> None:
    """Find LEDs that run a Gray code in a video: their places, as `palestra studio sync` takes them."""
    from palestra import console
    from palestra.studio import find_leds, write_marked

    places, image = find_leds(video, count, from_s)
    if picture:
        write_marked(picture, image, places)
    if json:
        console.show_json({"leds": str(places), "places": [[x, y] for x, y in places.places], "size": places.size})
    else:
        typer.echo(str(places))
    console.say(f'{count} LEDs, the fastest first. Look at the picture, then: palestra studio sync … --leds "{places}"')


@app.command(
    epilog='Example: palestra studio sync A.mp4 B.mp4 --leds "120,40 140,40 160,40 180,40 200,40" '
    '--leds "610,90 640,90 670,90 700,90 730,90" --out B-in-A.mp4'
)
def sync(
    a: Annotated[Path, typer.Argument(help="A video, a table of markers, or a source as session-1/left.")],
    b: Annotated[Path, typer.Argument(help="What is brought to the first one's clock.")],
    leds: Annotated[
        list[str] | None,
        typer.Option(help='Places of the LEDs, as "120,40 140,40 160,40": once for both videos, or once for each.'),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="leds, claps, light:X,Y or flash:X,Y, diode:CHANNEL or pulse:CHANNEL, marks or marks:COLUMN: once for "
            "both, or once for each."
        ),
    ] = None,
    near: Annotated[
        float | None, typer.Option(help="Where the second one begins in the first, roughly, in seconds.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the second one on the first one's frames (video) or clock (table).")
    ] = None,
    table: Annotated[Path | None, typer.Option(help="Write which frame belongs to which, as CSV.")] = None,
    json: JsonOption = False,
) -> None:
    """Bring two recordings onto one clock, by LEDs that run a Gray code, or by claps, light and markers."""
    from palestra import console
    from palestra.studio import align_recordings, require_writable, write_aligned, write_frame_table

    require_writable(b, out, table)
    synced = align_recordings(a, b, leds or [], by or [], near)
    console.show_rows([synced.row()], json)
    for note in synced.aligned.notes:
        console.say(str(note))
    if table:
        console.say(f"{write_frame_table(synced, table):,} frames in {table}.")
    if out:
        count, missing = write_aligned(synced, out)
        console.say(f"{count:,} frames or rows in {out}" + (f"; {missing:,} of them are black." if missing else "."))
    console.say(str(synced.told()))


app.add_typer(studio_calibrate.app, name="calibrate")


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
