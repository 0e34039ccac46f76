"""`palestra studio`: recording a data set of one's own."""

import typer

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
    help="Record a data set of your own: show stimuli, capture cameras and signals.",
)


@app.callback()
def studio() -> None:
    """Record a data set of your own: show stimuli, capture cameras and signals."""
