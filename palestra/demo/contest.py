"""The demo's contest: every track a phase, a few teams, a server that they submit to, a live run on the screen."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import typer

from palestra import console, registry
from palestra.contest import Contest
from palestra.contest.accounts import passwords, tokens
from palestra.contest.decisions import teams
from palestra.contest.log import new_id
from palestra.contest.rules import Role, in_toml
from palestra.contest.setup import Place
from palestra.contest.storage import writing
from palestra.contest.workers import write_bundle
from palestra.errors import PalestraError
from palestra.executors import held
from palestra.formats import write_bytes
from palestra.model_cards import is_ready
from palestra.records import Solution, Track
from palestra.remote import Server
from palestra.text import say, words_of

TEAMS = ("Fovea", "望远镜队", "Saccade Club", "Les Pupilles")
ORGANISER, PASSWORD = "organiser", "palestra demo"  # of a server that only this machine reaches
DAY_MS = 86_400_000
START_S = 60.0  # that the server may take to answer


@dataclass(frozen=True)
class Entrant:
    """A team of the demo, with the token that it submits by."""

    name: str
    team: str
    token: str


@dataclass(frozen=True)
class Entry:
    """What a team hands in."""

    team: int
    phase: str
    file: Path


def hold(out: Path, size: str, serve: bool, port: int) -> None:
    """Hold the contest on the demo's data, then leave the server running, or end."""
    tracks = [track for track in registry.tracks().values() if track.dataset.make]
    place = Place(out / "contest.toml")
    _write_rules(place.file, tracks, size)
    contest = place.open()
    organiser, entrants = _people(contest)
    contest.engine.dispose()
    entries = [entry for track in tracks for entry in _entries(track, out, size)]
    with _serving(place, port or _free_port()) as address:
        _submit(address, entrants, entries)
        _run_live(address, organiser, tracks)
        _show_boards(address, organiser, tracks)
        if serve:
            typer.echo(f"\nThe contest is open at {address}")
            typer.echo(f"  the hall's screen: {address}/screen")
            typer.echo(f"  the organiser's desk: {address}/desk (sign in as {ORGANISER!r}, password {PASSWORD!r})")
            typer.echo("Ctrl-C stops the server.")
            with contextlib.suppress(KeyboardInterrupt):
                signal.pause()


# Rules and people


def _write_rules(file: Path, tracks: Sequence[Track], size: str) -> None:
    """A phase for each track, open since yesterday."""
    opens = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
    closes = opens + timedelta(days=31)
    head = (
        '[contest]\nid = "demo"\nzone = "Asia/Shanghai"\n'
        f"name = {in_toml(say('Palestra demo contest'))}\n"
        f"about = {in_toml(say('Every challenge that Palestra knows, on synthetic people.'))}\n"
    )
    phases = [
        f'\n[[phase]]\nid = "{track.id}"\ntrack = "{track.id}"\n'
        f"title = {in_toml(words_of(track.title))}\n"
        f'data = "{track.id}/data-{size_of(track, size)}"\nopens = {opens.isoformat()}\ncloses = {closes.isoformat()}\n'
        'quota = "20 per day"\naccess = "open"\n'
        for track in tracks
    ]
    award = f'\n[[award]]\nphase = "{tracks[0].id}"\ntitle = {in_toml(say("First prize"))}\ncount = 1\n'
    write_bytes(file, (head + "".join(phases) + award).encode())


def _people(contest: Contest) -> tuple[str, list[Entrant]]:
    """An organiser and the teams, each with a token."""
    organiser = _account(contest, ORGANISER, "organiser", PASSWORD)
    entrants = []
    for number, name in enumerate(TEAMS, 1):
        account = _account(contest, f"captain{number}", "member", f"palestra captain {number}")
        team = _team(contest, name, account)
        entrants.append(Entrant(name, team, _token(contest, account, ("read", "submit", "team"))))
    return _token(contest, organiser, ("read", "organise")), entrants


def _team(contest: Contest, name: str, captain: str) -> str:
    team = new_id("t")
    contest.act(captain, lambda state, now: teams.make_team(state, now, team, name, captain, declared=True))
    return team


def _account(contest: Contest, name: str, role: Role, password: str) -> str:
    account, secret = new_id("a"), passwords.hashed(password, name)
    contest.act(
        account,
        lambda state, now: teams.make_account(state, account, name, role),
        lambda connection, _: passwords.set_password(connection, account, secret, contest.now()),
    )
    return account


def _token(contest: Contest, account: str, scopes: tuple[str, ...]) -> str:
    with writing(contest.engine) as connection:
        return tokens.make(connection, "token", account, contest.now(), DAY_MS, scopes, "demo")[0]


# What is handed in


def answering(track: Track) -> list[Solution]:
    """Solutions that answer with a file, and whose weights are here: at once, or else where they learn in folds."""
    here = [one for one in registry.solutions(track.id) if is_ready(one)] if track.writes else []
    return [one for one in here if one.solves] or [one for one in here if one.learns]


def size_of(track: Track, asked: str) -> Any:
    """What learns anew in every fold is shown on tiny data."""
    return asked if track.live or any(one.solves for one in answering(track)) else "tiny"


def _entries(track: Track, out: Path, size: str) -> list[Entry]:
    """Each team's submission: reference solutions, and those spoiled here and there, so that a board has an order."""
    home = out / track.id
    if track.live:
        return _bundles(track, home)
    data = home / f"data-{size_of(track, size)}"
    solved = [home / f"{solution.name}{track.suffix}" for solution in answering(track)]
    files = [home / f"template{track.suffix}", *(_spoiled(track, data, solved[0], share) for share in (0.1, 0.3))]
    return [Entry(team, track.id, file) for team, file in enumerate([solved[-1], *reversed(files)])]


def _spoiled(track: Track, data: Path, file: Path, share: float) -> Path:
    """A submission in which so many answers are those of the template."""
    target = file.with_stem(f"{file.stem}-spoiled-{share:.0%}".replace("%", ""))
    if track.files is None or track.blank is None or track.writes is None:
        raise PalestraError(say("{id} takes no files.", id=track.id))
    trials = track.trials(data)
    spoiled = np.random.default_rng(0).random(trials.height) < share
    good, blank = track.files.read(file, trials), track.blank(trials)
    columns = [name for name in good.columns if name in blank.columns]
    rows = pl.concat(
        [good.select(columns).filter(~spoiled), blank.select(columns).filter(spoiled)], how="vertical_relaxed"
    )
    track.writes(trials.select("trial").join(rows, on="trial", how="left", maintain_order="left"), target)
    return target


def _bundles(track: Track, home: Path) -> list[Entry]:
    entries = []
    for team, solution in enumerate([one for one in registry.solutions(track.id) if one.plays][: len(TEAMS)]):
        file = home / f"{solution.name}.zip"
        write_bundle(str(solution.plays), file)
        entries.append(Entry(team, track.id, file))
    return entries


# The contest itself


@contextlib.contextmanager
def _serving(place: Place, port: int) -> Iterator[str]:
    """The server, as `palestra contest serve` starts it."""
    address = f"http://127.0.0.1:{port}"
    words = [sys.executable, "-m", "palestra.cli.app", "contest", "serve", str(place.file), "--port", str(port)]
    words.append("--with-parent")  # it ends with us, however we end
    with (place.folder / "serve.log").open("wb") as log, held():  # started and known to us, or not started
        server = subprocess.Popen(words, stdout=log, stderr=log, env={**os.environ}, start_new_session=True)
    try:
        _await(address, server, place.folder / "serve.log")
        yield address
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def _await(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{address}/health", timeout=5).is_success:
                return
        time.sleep(0.2)
    raise PalestraError(say("The server did not start. What it said is in {log}.", log=log))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _submit(address: str, entrants: Sequence[Entrant], entries: Sequence[Entry]) -> None:
    """All hand in at once; then each is waited for."""
    sent = []
    for entry in entries:
        with Server(address, entrants[entry.team].token) as server:
            sent.append((entry, server.upload(entry.phase, entry.file)))
    with console.progress("scoring submissions", len(sent)) as advance:
        for entry, submission in sent:
            with Server(address, entrants[entry.team].token) as server:
                page = server.follow(submission)
            if page.state != "scored":
                told = "; ".join(page.faults) or page.message
                console.say(f"{entrants[entry.team].name}, {entry.phase}: {page.state}. {told}")
            advance(1)


def _run_live(address: str, organiser: str, tracks: Sequence[Track]) -> None:
    """A live run of everybody's bundles at once, for the screen."""
    with Server(address, organiser) as server:
        for track in tracks:
            if track.live:
                run = server.act("start-run", phase=track.id)["id"]
                console.say(f"{track.title}: all teams live, on {address}/runs/{run}")
                while server.run(run).state in ("waiting", "running"):
                    time.sleep(0.5)


def _show_boards(address: str, organiser: str, tracks: Sequence[Track]) -> None:
    with Server(address, organiser) as server:
        for track in tracks:
            board = server.board(track.id)
            typer.echo(f"\n{track.title}")
            for row in board.rows:
                value = row.metrics[0]
                between = f"  ({value.low:.4f} – {value.high:.4f})" if value and value.low is not None else ""
                typer.echo(f"  {row.rank or '–'}  {row.name:<16} {value.value if value else 0:.4f}{between}")
