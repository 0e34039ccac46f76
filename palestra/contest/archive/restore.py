"""A contest brought back: from a backup, or from an exported archive."""

from pathlib import Path

import typer

from palestra import console
from palestra.contest import Contest
from palestra.contest.archive import backup, recompute_results, restore_export, signature
from palestra.contest.log import parse_head, wall_clock
from palestra.contest.setup import Place
from palestra.contest.storage import Files, sqlite_address
from palestra.errors import PalestraError
from palestra.formats import write_bytes
from palestra.text import say


def bring_back(place: Place, source: Path, key: str, heads: list[str]) -> None:
    """Put a contest where none is."""
    if place.is_open() and not place.database:
        raise PalestraError(
            say(
                "{folder} holds a contest already. Restore into an empty place; nothing was changed.",
                folder=place.folder,
            )
        )
    place.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = place.database or sqlite_address(place.folder / "contest.db")
    files = place.files or str(place.folder / "files")
    if source.suffix == ".zip":
        _rebuild(place, source, database, files, key, heads)
    else:
        _put_back(place, source, database, files)
    if place.file.is_file():
        contest = place.open(needs_tracks=False)
        for text in filter(None, (data_to_copy(place, contest), tracks_to_copy(place, contest))):
            console.say(text)


def _put_back(place: Place, source: Path, database: str, files: str) -> None:
    beside = backup.Beside(place.folder / signature.NAME, place.file)
    done = backup.restore(source, database, files, beside)
    typer.echo(f"{done.head.seq:,} events and {done.files:,} files are back, and the log verifies. Head: {done.head}")
    for line in done.lacking.values():
        typer.echo(line)


def data_to_copy(place: Place, contest: Contest) -> str:
    """Which folders of data are to be brought along; nothing where all are there."""
    named = {phase.data: phase.id for phase in contest.state.rules().phases if phase.data}
    lacking = {data: phase for data, phase in named.items() if not (place.home / data).is_dir()}
    if not lacking:
        return ""
    folders = ", ".join(f"{data} (phase {phase})" for data, phase in lacking.items())
    return (
        "The folders of data are in no backup and in no export. Copy these from where the contest was to "
        f"{place.home}: {folders}. Until they are there, nothing can be scored."
    )


def tracks_to_copy(place: Place, contest: Contest) -> str:
    """Which tracks are to be brought along; nothing where all can be used."""
    try:
        place.require_tracks(contest)
    except PalestraError as error:
        return (
            "Tracks from outside Palestra are in no backup and in no export. Copy their folder from where the contest "
            f"was to {place.home}, or install their package. Until then nothing is scored or computed again. {error}"
        )
    return ""


def _rebuild(place: Place, archive: Path, database: str, files: str, key: str, heads: list[str]) -> None:
    verdict = restore_export.rebuild(archive, database, files, wall_clock(), key, [parse_head(head) for head in heads])
    typer.echo(str(verdict))
    if not place.file.exists():
        with restore_export.Archive(archive) as opened:
            text = opened.rules_text()
        if text is None:
            raise PalestraError(
                say(
                    "{archive} has no contest file in it: write {file} yourself, then serve it.",
                    archive=archive,
                    file=place.file,
                )
            )
        write_bytes(place.file, text)
    contest = place.open(needs_tracks=False)
    console.say("Computing every result again …")
    typer.echo(recompute_results.told(recompute_results.reverify(contest.state, Files.open(files), place.home)))
    console.say("Accounts came without passwords: `palestra contest link` makes a link to choose one with.")
