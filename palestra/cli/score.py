"""Commands about submissions of files: check one, score it, rank scores, write one by a solution."""

from pathlib import Path
from typing import Annotated

import typer

from palestra.cli.options import (
    DataOption,
    JsonOption,
    LanguageOption,
    ProtocolOption,
    SetOption,
    TrackArgument,
    data_of,
    pairs,
    reading,
    require_outputs,
    with_protocol,
)
from palestra.errors import PalestraError, Refused
from palestra.text import printable, say


def check(
    track: TrackArgument,
    submission: Annotated[Path, typer.Argument(help="The file, folder or archive to check.")],
    data: DataOption = None,
    json: JsonOption = False,
    protocol: ProtocolOption = None,
) -> None:
    """Validate a submission (no ground truth needed)."""
    from palestra import console, registry
    from palestra.scoring import collect, look_into

    chosen = registry.track(track, with_protocol([], protocol))
    folder = data_of(chosen, data, json)
    with reading(chosen, folder):
        trials = chosen.trials(folder)
    try:
        answers = collect(chosen, submission, trials)
        with console.progress("checking", answers.height, hidden=json or not chosen.inspect) as advance:
            look_into(chosen, answers, advance)
    except Refused as refusal:
        console.show_refusal(refusal, submission, json)
        raise typer.Exit(1) from None
    if json:
        console.show_json({"ok": True, "faults": [], "count": 0})
    else:
        typer.echo(f"{submission} is in order: {answers.height} answers for {trials.height} trials.")


def score(
    track: TrackArgument,
    submission: Annotated[Path, typer.Argument(help="The file, folder or archive to score.")],
    data: DataOption = None,
    json: JsonOption = False,
    allow_missing: Annotated[
        bool, typer.Option(help="Score missing answers as the rules say instead of refusing them.")
    ] = False,
    entrant: Annotated[str | None, typer.Option(help="The entrant's name; by default the file's name.")] = None,
    seed: Annotated[int, typer.Option(help="Seed for the bootstrap confidence intervals.", min=0)] = 0,
    settings: SetOption = [],  # noqa: B006 - Typer copies it
    protocol: ProtocolOption = None,
    scores_out: Annotated[Path | None, typer.Option(help="Save each trial's scores (Parquet).")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report with curves and pictures (HTML).")] = None,
    language: LanguageOption = "en",
) -> None:
    """Validate a submission, score it and print its Result."""
    from palestra import console, registry
    from palestra.scoring import collect
    from palestra.scoring import score as scoring

    require_outputs(submission, {".parquet": scores_out, ".html": report})
    chosen = registry.track(track, with_protocol(settings, protocol))
    folder = data_of(chosen, data, json)
    with reading(chosen, folder):
        sheet = scoring.load(chosen, folder)
    if chosen.dataset.make is None and not json and (bare := scoring.unscored(sheet.trials, sheet.truth)):
        console.say(bare)
    try:
        answers = collect(chosen, submission, sheet.trials, allow_missing)
        with console.progress("scoring", answers.height, hidden=json or not chosen.inspect) as advance:
            name = printable((entrant or submission.stem).strip()) or "nameless"
            scored = scoring.score(chosen, sheet, answers, name, seed, advance)
    except Refused as refusal:
        console.show_refusal(refusal, submission, json)
        raise typer.Exit(1) from None
    if scores_out:
        from palestra.scoring import score_file

        score_file.save(scored, scores_out)
    if report:
        from palestra.report import write_result

        write_result(chosen, scored, folder, report, language)
    console.show_result(chosen, scored.result, json)


def board(
    runs: Annotated[
        list[Path], typer.Argument(help="Scores saved by `palestra score --scores-out`, one file per team.")
    ],
    json: JsonOption = False,
) -> None:
    """Rank saved scores. Entrants that do not differ significantly share a band."""
    from palestra import console
    from palestra.scoring import leaderboard as boards
    from palestra.scoring import score_file

    entries = [score_file.load(run) for run in runs]
    names = {entry.result.track for entry in entries}
    if len(names) > 1:
        raise PalestraError(
            say("These scores are of several tracks: {join}. A board has one.", join=", ".join(sorted(names)))
        )
    chosen = score_file.track_of(entries[0].result)
    console.show_board(chosen, boards.board(chosen, entries), json)


def solve(
    track: TrackArgument,
    solution: Annotated[str, typer.Argument(help="The name of a solution; `palestra solutions` lists them.")],
    out: Annotated[Path, typer.Option(help="The submission to write.")],
    data: DataOption = None,
    settings: SetOption = [],  # noqa: B006 - Typer copies it
) -> None:
    """Run a reference solution and write its submission."""
    from palestra import console, registry
    from palestra.evaluation import solve as solving

    chosen, program = registry.track(track), registry.solution(track, solution)
    solving.require_file(chosen, program)
    require_outputs(None, {chosen.suffix: out})
    answers = solving.solve(chosen, program, data_of(chosen, data, False), pairs(settings), out)
    console.say(f"{out}: {answers.height} answers by {program.name} ({program.title}).")
