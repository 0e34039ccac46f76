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
BoardOption = Annotated[
    str,
    typer.Option(
        help="chessboard:9x6:25 (inner corners, mm of a square) or charuco:8x6:30:22 (squares, mm of a square and of "
        "a marker)."
    ),
]
NameOption = Annotated[str, typer.Option(help="What to call it; EYEDIAP has rgb_vga, rgb_hd and depth.")]


@app.callback()
def about() -> None:
    """Calibrate cameras, the screen, depth and gaze; each draws its residuals and refuses a poor fit."""


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


def _show(report: "CalibrationReport", json: bool) -> None:
    from palestra import console

    console.show_rows(report.rows(), json)
    for told in report.told:
        console.say(str(told))
    console.say(str(report.summary))
