"""Commands about live runs: play one, register another version in it, replay it."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palestra.cli.options import (
    DataOption,
    JsonOption,
    LanguageOption,
    SetOption,
    TrackArgument,
    data_of,
    pairs,
    reading,
    require_outputs,
)
from palestra.errors import PalestraError
from palestra.text import duration, say

if TYPE_CHECKING:
    from palestra.scoring import Scored

LONG_S = 60.0  # what a person should be told of before waiting for it


def play(
    track: TrackArgument,
    entrants: Annotated[
        list[str] | None,
        typer.Argument(help="Solutions, bundles (folder, .zip, .tar.gz), ws:// or http:// addresses; NAME=… names it."),
    ] = None,
    data: DataOption = None,
    pace: Annotated[str, typer.Option(help="real: wall-clock time. fast: the same run in virtual time.")] = "real",
    run: Annotated[Path | None, typer.Option(help="The folder to record the run in; by default a new one.")] = None,
    json: JsonOption = False,
    report: Annotated[Path | None, typer.Option(help="Write a report with the result and its timeline (HTML).")] = None,
    language: LanguageOption = "en",
    films: Annotated[Path | None, typer.Option(help="A folder for films of the cases (MP4).")] = None,
    settings: SetOption = [],  # noqa: B006 - Typer copies it
    listen: Annotated[str | None, typer.Option(help="HOST:PORT to listen on for `palestra.client`.")] = None,
    team: Annotated[list[str] | None, typer.Option(help="A team that connects there; may be repeated.")] = None,
    lsl: Annotated[
        bool, typer.Option("--lsl", help="Also publish the stream over LSL and accept answers there.")
    ] = False,
    patience: Annotated[
        float, typer.Option(help="Time limit in seconds for one answer where the rules set none.", min=0.1)
    ] = 60,
    memory: Annotated[float, typer.Option(help="Memory limit per program in GiB.", min=0.1)] = 4,
    trusted: Annotated[bool, typer.Option("--trusted", help="Run programs without a sandbox if none works.")] = False,
    allow_starving: Annotated[
        bool,
        typer.Option(
            "--allow-starving", help="Play several programs even where one can take the others' processor time."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed for the bootstrap confidence intervals.", min=0)] = 0,
) -> None:
    """Play a live track to programs, as the official run does."""
    from palestra import console, registry
    from palestra.cli import live_output
    from palestra.live import Guests, Play, play_live, read_live_data, require_live

    require_outputs(None, {".html": report})
    if pace not in ("real", "fast"):
        raise typer.BadParameter(f"{pace!r} is neither real nor fast.", param_hint="--pace")
    chosen = registry.track(track, pairs(settings))
    require_live(chosen)
    if films and chosen.display.films is None:
        raise PalestraError(say("{id} has no worlds to make films of; leave out --films.", id=chosen.id))
    folder = data_of(chosen, data, json)
    shown = {"watched": not json, "allow_starving": allow_starving}
    order = Play(pace, patience, round(memory * (1 << 30)), trusted, seed, **shown)  # type: ignore[arg-type]
    guests = Guests(entrants or [], listen, team or [], lsl)
    with reading(chosen, folder):
        known = read_live_data(chosen, folder)
        if pace == "real" and known.waiting_s > LONG_S:
            console.say(
                f"In real time, windows for registering new versions take {duration(known.waiting_s)} in all. "
                "`--pace fast` plays the same at once."
            )
        played = play_live(known, guests, order, run)
    if report:
        from palestra.live import write_run

        write_run(played, report, language)
    if films and chosen.display.films:
        from palestra.report import words_drawn_in

        with words_drawn_in(language):
            made = chosen.display.films(folder, played.recording, films)
        console.say(f"{len(made)} films are in {films}.")
    live_output.show_played(played, json)
    _exit_if_invalid(played.scored.values())


def register(
    run: Annotated[Path, typer.Argument(help="The folder of the run in progress.")],
    team: Annotated[str, typer.Argument(help="The entrant's name in that run.")],
    bundle: Annotated[Path, typer.Argument(help="The new version: a folder, .zip or .tar.gz.")],
) -> None:
    """Register a new version of a program between two testers."""
    from palestra import console
    from palestra.live import register_version

    version = register_version(run, team, bundle)
    console.say(f"{team}: version {version.number} ({version.digest}) plays from {version.window} on.")


def replay(
    run: Annotated[
        Path, typer.Argument(help="A run recorded by `palestra play`, or scores saved by `palestra score`.")
    ],
    data: DataOption = None,
    json: JsonOption = False,
    report: Annotated[Path | None, typer.Option(help="Write a report with the run's timeline (HTML).")] = None,
    language: LanguageOption = "en",
) -> None:
    """Recompute a Result from its recording and compare. Shows the run's timeline."""
    from palestra import console
    from palestra.cli import live_output
    from palestra.live import is_run, replay_live
    from palestra.scoring import score_file

    if is_run(run):
        require_outputs(None, {".html": report})
        replayed = replay_live(run, data)
        if report:
            from palestra.live import write_run

            write_run(replayed, report, language)
        live_output.show_replayed(replayed, json)
        _exit_if_invalid(replayed.scored.values())
        return
    before = score_file.load(run)
    after = score_file.rescore(before)
    console.show_result(score_file.track_of(after.result), after.result, json)
    if console.as_json(after.result) != console.as_json(before.result):
        raise PalestraError(say("{run}: the Result computed now differs from the one that was saved.", run=run))


def _exit_if_invalid(scored: "Iterable[Scored]") -> None:
    if not all(one.result.valid for one in scored):
        raise typer.Exit(1)
