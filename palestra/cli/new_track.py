"""`palestra new-track`: a folder to begin a challenge with."""

from pathlib import Path
from typing import Annotated

import typer

from palestra.cli.options import JsonOption
from palestra.text import say


def new_track(
    name: Annotated[str, typer.Argument(help="The challenge's name in kebab-case or words; its id becomes NAME-v1.")],
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="The folder to write: new or empty; by default named after the challenge."
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Make a live challenge: a stream with deadlines and a first bundle to play.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Write a new challenge that works, to change into yours.

    It has a track, data with its ground truth, a test, a contest file and a README.
    """
    from palestra import console, registry
    from palestra.authoring import PLACE, named, write_track
    from palestra.contest.log import wall_clock
    from palestra.contest.rules import template
    from palestra.errors import PalestraError

    track = named(name)
    if track.id in registry.tracks():
        raise PalestraError(say("There is a track {id!r} already. Choose another name.", id=track.id))
    where = folder or Path(track.name)
    written = write_track(track, where, live, template([track.id], wall_clock(), "UTC", [PLACE]))
    if json:
        console.show_json({"id": track.id, "folder": str(where), "files": [str(file) for file in written]})
        return
    console.say(f"{where} is ready: begin with {where / 'README.md'}.")
    console.say(f"Check it with: palestra --tracks-dir {where / PLACE} tracks {track.id} --check")
