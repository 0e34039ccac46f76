"""The command that reads somebody's own pictures of eyes."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from palestra.cli.options import JsonOption, WordsOption
from palestra.text import printable


def annotate(
    folder: Annotated[Path, typer.Argument(help="Pictures of one eye each: png, jpg, bmp, tif or pgm.")],
    out: Annotated[Path | None, typer.Option(help="The folder to write; FOLDER-annotated by default.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Annotate again what is annotated already.")] = False,
    language: WordsOption = "en",
    json: JsonOption = False,
) -> None:
    """Find sclera, iris, pupil and gaze in pictures of eyes. Unreliable results are flagged."""
    from palestra import console
    from palestra.annotation import run

    target = out or run.out_for(folder)
    jobs = run.jobs_of(folder, target)
    with console.progress("reading", len(jobs)) as advance:
        rows = run.annotate(jobs, target, again, advance, language)
    if json:
        console.show_json([run.values(row) for row in rows])
    unsure = Counter(row["why"] for row in rows if row["sure"] == "false")
    count = f"{len(rows)} picture{'s' if len(rows) > 1 else ''}"
    console.say(f"{count}, {len(rows) - unsure.total()} of them read for sure. Look at {target / run.SHEET} first.")
    for why, times in unsure.most_common():
        console.say(f"  {times} × {printable(why)}")
