"""The command that reads somebody's own pictures of eyes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from palestra.cli.options import JsonOption, WordsOption
from palestra.text import printable


def annotate(
    folder: Annotated[Path, typer.Argument(help="Pictures and videos of one eye each, also in folders below it.")],
    out: Annotated[Path | None, typer.Option(help="The folder to write; FOLDER-annotated by default.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Annotate again what is annotated already.")] = False,
    every: Annotated[int, typer.Option(min=1, help="Of videos, read every so many frames.")] = 1,
    orientation: Annotated[
        Literal["auto", "upright", "upside-down"],
        typer.Option(help="Which way up the pictures are; by default each folder's pictures vote."),
    ] = "auto",
    weights: Annotated[Path | None, typer.Option(help="Weights that `palestra adapt` wrote for this device.")] = None,
    language: WordsOption = "en",
    json: JsonOption = False,
) -> None:
    """Find sclera, iris, pupil and gaze in pictures of eyes. Unreliable results are flagged."""
    from palestra import console
    from palestra.annotation import jobs, run, table
    from palestra.eyes.reader.settings import Settings

    target = out or jobs.out_for(folder)
    todo = jobs.jobs_of(folder, target, every, weights)
    how = run.How(again, language, orientation, Settings(weights=weights))
    with console.progress("reading", len(todo)) as advance:
        rows = run.annotate(todo, target, how, advance)
    if json:
        console.show_json([table.values(row) for row in rows])
    _tell(rows, target / jobs.SHEET)


def _tell(rows: Sequence[Mapping[str, str]], sheet: Path) -> None:
    from palestra import console

    sure = sum(row["sure"] == "true" for row in rows)
    count = f"{len(rows)} picture{'s' if len(rows) > 1 else ''}"
    console.say(f"{count}, {sure} of them read for sure. Look at {sheet} first.")
    each = (
        f"{name} {sum(row[f'{name}_sure'] == 'true' for row in rows)}" for name in ("mask", "pupil", "iris", "gaze")
    )
    console.say(f"  sure of: {', '.join(each)}")
    for why, times in Counter(row["why"] for row in rows if row["why"]).most_common():
        console.say(f"  {times} × {printable(why)}")
    if turned := sum(row["upside_down"] == "true" for row in rows):
        console.say(f"  {turned} were read upside down, as their folders voted; --orientation says otherwise.")
