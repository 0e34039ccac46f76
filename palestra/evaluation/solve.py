"""Runs a reference solution over a data set in parts, in parallel; a stopped run goes on where it was."""

import hashlib
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from palestra import console, registry
from palestra.errors import PalestraError, UnknownName
from palestra.executors import in_processes
from palestra.formats import replacing
from palestra.model_cards import weights_digest
from palestra.records import Solution, Track
from palestra.scoring import code_digest
from palestra.text import say


def require_file(track: Track, solution: Solution) -> None:
    if track.writes is not None and solution.solves is None and solution.learns:
        words = f"palestra bench {track.id} {solution.name} --protocol NAME --predictions-out FILE"
        raise PalestraError(
            say("{name} learns under a protocol: `{words}` writes its answers.", name=solution.name, words=words)
        )
    if track.writes is None or solution.solves is None:
        raise PalestraError(
            say(
                "{id} takes no files: `palestra play {id} {name} --pace fast` runs it live.",
                id=track.id,
                name=solution.name,
            )
        )


def solve(track: Track, solution: Solution, data: Path, changes: Mapping[str, str], out: Path) -> pl.DataFrame:
    """Fit, predict and write a submission; answers for every trial."""
    require_file(track, solution)
    assert track.writes is not None
    for name in changes:
        if name not in solution.options:
            raise UnknownName(say("option of {solution}", solution=solution.name), name, solution.options)
    options = {**solution.options, **changes}
    trials = track.trials(data)
    parts = trials.partition_by(*solution.parts_by, maintain_order=True)
    kept = out.with_name(f".{out.name}.parts") / _fingerprint(track, solution, data, options)
    try:
        answers = _answers(solution, data, options, parts, kept)
    except BaseException:
        if not any(kept.glob("*.parquet")):  # nothing to go on from
            shutil.rmtree(kept.parent, ignore_errors=True)
        raise
    answers = trials.select("trial").join(answers, on="trial", how="left", maintain_order="left")
    track.writes(answers, out)
    shutil.rmtree(kept.parent)
    return answers


def _fingerprint(track: Track, solution: Solution, data: Path, options: Mapping[str, str]) -> str:
    """Tells an unfinished run of the same thing from one of another."""
    home = data.resolve()
    code = f"{code_digest(track)} {weights_digest(solution)}"
    text = f"{code} {solution.name} {sorted(options.items())} {home} {home.stat().st_mtime_ns}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _answers(
    solution: Solution, data: Path, options: Mapping[str, str], parts: list[pl.DataFrame], kept: Path
) -> pl.DataFrame:
    files = [kept / f"{i}.parquet" for i in range(len(parts))]
    todo = [(part, file) for part, file in zip(parts, files, strict=True) if not file.is_file()]
    if todo:
        with console.progress("learning", 1) as advance:
            program = registry.resolve(str(solution.solves))
            model = program.fit(data, options)
            advance(1)
        kept.mkdir(parents=True, exist_ok=True)
        work = partial(_predict, program.predict, data, model)
        with console.progress("solving", sum(part.height for part in parts)) as advance:
            advance(sum(part.height for part in parts) - sum(part.height for part, _ in todo))
            for _, rows in in_processes(work, todo):
                advance(rows)
    return pl.concat(pl.read_parquet(file) for file in files)


def _predict(predict: Any, data: Path, model: Any, job: tuple[pl.DataFrame, Path]) -> int:
    """One part's answers, kept under a name that says they are whole."""
    part, file = job
    with replacing(file) as fresh:
        predict(data, part, model).write_parquet(fresh)
    return part.height
