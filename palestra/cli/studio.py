"""`palestra studio`: recording a data set of one's own."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from palestra.cli.options import JsonOption

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
