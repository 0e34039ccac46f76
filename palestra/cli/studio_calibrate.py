"""`palestra studio calibrate`: cameras, the screen, depth, and people's eyes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palestra.cli.options import JsonOption

if TYPE_CHECKING:
    from palestra.studio import CalibrationReport

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
    help="Calibrate cameras, the screen, depth and gaze; each draws its residuals and refuses a poor fit.",
)

OutOption = Annotated[Path, typer.Option(help="The folder for the calibration and the picture of its residuals.")]
BOARD_HELP = (
    "chessboard:9x6:25 (inner corners, mm of a square) or charuco:8x6:30:22 (squares, mm of a square and of a marker)."
)
BoardOption = Annotated[str, typer.Option(help=BOARD_HELP)]
NameOption = Annotated[str, typer.Option(help="What to call it; EYEDIAP has rgb_vga, rgb_hd and depth.")]


@app.callback()
def about() -> None:
    """Calibrate cameras, the screen, depth and gaze; each draws its residuals and refuses a poor fit."""


@app.command(epilog="Example: palestra studio calibrate board chessboard:9x6:25 --out board.pdf")
def board(
    board: Annotated[str, typer.Argument(help=BOARD_HELP)],
    out: Annotated[Path, typer.Option(help="A PDF or PNG file.")],
) -> None:
    """Draw a chessboard or ChArUco board to print."""
    from palestra import console
    from palestra.studio import print_board

    paper = print_board(board, out)
    console.say(f"{out} is ready, for {paper} paper. Print it at 100 %, without fitting it to the page.")


@app.command(epilog="Example: palestra studio calibrate camera pictures --board chessboard:9x6:25 --out my-calibration")
def camera(
    pictures: Annotated[Path, typer.Argument(help="A folder of pictures of a board, or RECORDING/SOURCE.")],
    board: BoardOption,
    out: OutOption,
    name: NameOption = "rgb_vga",
    json: JsonOption = False,
) -> None:
    """Find a camera's focal length, centre and distortion."""
    from palestra.studio import calibrate_camera

    _show(calibrate_camera(pictures, board, out, name), json)


@app.command(
    epilog="Example: palestra studio calibrate stereo session-1/vga session-1/hd --board charuco:8x6:30:22 "
    "--out my-calibration"
)
def stereo(
    first: Annotated[Path, typer.Argument(help="Pictures of the first camera: a folder, or RECORDING/SOURCE.")],
    second: Annotated[Path, typer.Argument(help="Those of the second one, taken at the same times.")],
    board: BoardOption,
    out: OutOption,
    first_camera: Annotated[
        Path | None, typer.Option(help="The first camera's .json; without it, it is calibrated too.")
    ] = None,
    second_camera: Annotated[Path | None, typer.Option(help="The second camera's .json.")] = None,
    first_name: NameOption = "rgb_vga",
    second_name: NameOption = "rgb_hd",
    json: JsonOption = False,
) -> None:
    """Find where a second camera stands to the first."""
    from palestra.studio import calibrate_stereo

    files, names = (first_camera, second_camera), (first_name, second_name)
    _show(calibrate_stereo(first, second, board, out, files, names), json)


@app.command(epilog="Example: palestra studio calibrate screen mirror-1 --out my-data")
def screen(
    folder: Annotated[
        Path,
        typer.Argument(help="targets.csv with markers.csv, or with colour/ and depth/; docs/studio-calibrate.md."),
    ],
    out: OutOption,
    camera: Annotated[Path | None, typer.Option(help="The colour camera's .json, where pictures are given.")] = None,
    colour: Annotated[str, typer.Option(help="The target's colour: red,green,blue.")] = "255,0,255",
    json: JsonOption = False,
) -> None:
    """Find where the screen stands before the camera, by the mirror method."""
    from palestra.studio import calibrate_screen

    _show(calibrate_screen(folder, out, camera, colour), json)


@app.command(
    epilog="Example: palestra studio calibrate depth disparities colours --board chessboard:9x6:25 "
    "--colour-camera my-calibration/rgb_vga.json --depth-camera my-calibration/depth.json --out my-calibration"
)
def depth(
    disparities: Annotated[Path, typer.Argument(help="16-bit pictures of disparities: a folder, or RECORDING/SOURCE.")],
    colours: Annotated[Path, typer.Argument(help="The colour camera's pictures, taken at the same times.")],
    board: BoardOption,
    colour_camera: Annotated[Path, typer.Option(help="The colour camera's .json.")],
    depth_camera: Annotated[Path, typer.Option(help="The depth camera's .json, with its place.")],
    out: OutOption,
    wall: Annotated[
        bool, typer.Option("--wall", help="The board hangs flat on a wall that fills the picture.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Find what a Kinect's disparities mean in metres."""
    from palestra.studio import calibrate_depth

    _show(calibrate_depth(disparities, colours, board, out, colour_camera, depth_camera, wall), json)


@app.command(epilog="Example: palestra studio calibrate offset tracked.csv --out my-calibration")
def offset(
    table: Annotated[
        Path,
        typer.Argument(
            help="CSV: person, pattern, sequence, cornea_x … _z, target_x … _z, gaze_x … _z; frames in order."
        ),
    ],
    out: OutOption,
    json: JsonOption = False,
) -> None:
    """Find how far an eye tracker is off, for each person and pattern, and take it away."""
    from palestra.studio import calibrate_offset

    _show(calibrate_offset(table, out), json)


@app.command(epilog="Example: palestra studio calibrate gaze points.csv --out my-calibration")
def gaze(
    table: Annotated[
        Path, typer.Argument(help="CSV: person, x, y (seen in the eye's picture), yaw_deg, pitch_deg (asked for).")
    ],
    out: OutOption,
    json: JsonOption = False,
) -> None:
    """Fit a person's gaze to points that they looked at."""
    from palestra.studio import calibrate_gaze

    _show(calibrate_gaze(table, out), json)


def _show(report: "CalibrationReport", json: bool) -> None:
    from palestra import console

    console.show_rows(report.rows(), json)
    for told in report.told:
        console.say(str(told))
    console.say(str(report.summary))
