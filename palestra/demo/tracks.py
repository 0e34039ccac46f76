"""The demo: data for every track, every simple solution, scores, boards, reports."""

import shutil
import time
from pathlib import Path

import msgspec
import typer

from palestra import console, registry
from palestra.datasets import cache_folder, make
from palestra.demo.contest import answering, hold, size_of
from palestra.evaluation import run as benching
from palestra.evaluation import solve
from palestra.executors import ProcessExecutor
from palestra.live import Guests, Play, play_live, read_live_data, write_run
from palestra.records import Order, Solution, Track
from palestra.report import write_data_page, write_result
from palestra.scoring import board, collect, score, score_file
from palestra.text import duration


def run(out: Path, order: Order, serve: bool = False, port: int = 0) -> None:
    """Go through every track that makes data, then hold a contest with all of them. What is there already is used
    again, but for the contest."""
    started = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    tracks = [track for track in registry.tracks().values() if track.dataset.make]
    for track in tracks:
        _show(track, out / track.id, msgspec.structs.replace(order, size=size_of(track, order.size)))
    for page in sorted(out.rglob("*.html")):
        typer.echo(f"  {page}")
    shutil.rmtree(out / "contest.contest", ignore_errors=True)  # of an earlier demo
    console.say(f"Data, scores and reports in {duration(time.monotonic() - started)}. Now a contest:")
    hold(out, order.size, serve, port)


def _show(track: Track, home: Path, order: Order) -> None:
    data = home / f"data-{order.size}"
    _make(track, data, order)
    write_data_page(track, data, home / "data.html")
    entries = []
    if track.blank and track.writes:
        template = home / f"template{track.suffix}"
        track.writes(track.blank(track.trials(data)), template)
        entries.append(_score(track, data, template, "template"))
    if track.live:
        entries += _play(track, data, home)
    for solution in answering(track):
        file = home / f"{solution.name}{track.suffix}"
        if solution.solves:
            solve.solve(track, solution, data, {}, file)
        else:
            _learn(track, solution, data, file)
        scored = _score(track, data, file, solution.name)
        write_result(track, scored, data, home / f"{solution.name}.html")
        entries.append(scored)
    typer.echo("")
    console.show_board(track, board(track, entries), json=False)


def _learn(track: Track, solution: Solution, data: Path, file: Path) -> None:
    """The answers of a solution that learns in each fold, under the protocol that the track has by itself."""
    assert track.writes
    bench = benching.bench_of(track, track.setting_values.get("protocol", ""), data)
    executor = ProcessExecutor()
    try:
        with console.progress(f"learning {solution.name}", benching.fold_count(bench)) as advance:
            who = benching.contender(track, solution.name, {})
            track.writes(benching.answers(bench, who, executor, cache_folder() / "bench", advance), file)
    finally:
        executor.close()


def _play(track: Track, data: Path, home: Path) -> list[score.Scored]:
    """Every solution at once, in virtual time, as finalists hear one stream."""
    names = [solution.name for solution in registry.solutions(track.id)]
    run = home / "run"
    shutil.rmtree(run, ignore_errors=True)  # of an earlier demo
    played = play_live(read_live_data(track, data), Guests(names), Play(pace="fast"), run)
    write_run(played, home / "run.html")
    return list(played.scored.values())


def _make(track: Track, data: Path, order: Order) -> None:
    if data.is_dir() and make.unfinished(data) is None:
        return
    plan = make.plan(track, order)
    with console.progress(f"making {track.id}", sum(part.weight for part in plan.parts)) as advance:
        make.run(track, order, plan, data, advance)


def _score(track: Track, data: Path, file: Path, name: str) -> score.Scored:
    sheet = score.load(track, data)
    scored = score.score(track, sheet, collect(track, file, sheet.trials), name)
    score_file.save(scored, file.with_suffix(".parquet"))
    return scored
