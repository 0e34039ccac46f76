"""`palestra bench`: run a benchmark protocol on solutions, and tell what came of it."""

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
    require_outputs,
)
from palestra.errors import PalestraError
from palestra.text import say

if TYPE_CHECKING:
    import polars as pl

    from palestra.evaluation import Bench, Contender
    from palestra.executors import Executor

ListOption = Annotated[bool, typer.Option("--list", help="List the protocols and what each trains and tests.")]
SolutionsArgument = Annotated[
    list[str] | None, typer.Argument(help="Names of solutions, or FILE.py:Class; several are compared.")
]


def bench(
    track: TrackArgument,
    solutions: SolutionsArgument = None,
    protocol: Annotated[str | None, typer.Option(help="The protocol to run; --list names them.")] = None,
    data: DataOption = None,
    list_them: ListOption = False,
    train_data: Annotated[Path | None, typer.Option(help="Train on another data set (cross-dataset).")] = None,
    settings: SetOption = [],  # noqa: B006 - Typer copies it
    options: Annotated[
        list[str], typer.Option("--option", help="NAME=VALUE, an option of the solutions; may be repeated.")
    ] = [],  # noqa: B006
    executor: Annotated[str, typer.Option(help="Where folds run: processes or ray.")] = "processes",
    address: Annotated[
        str | None, typer.Option(help="Address of a Ray cluster; without it, one is started on this machine.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Folds run in parallel; one per core by default.", min=1)] = None,
    fresh: Annotated[bool, typer.Option(help="Run every fold again, ignoring cached ones.")] = False,
    seed: Annotated[int, typer.Option(help="Seed for training and for the bootstrap confidence intervals.", min=0)] = 0,
    json: JsonOption = False,
    predictions_out: Annotated[Path | None, typer.Option(help="Save the predictions as a submission.")] = None,
    scores_out: Annotated[Path | None, typer.Option(help="Save each trial's scores (Parquet).")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report with curves and pictures (HTML).")] = None,
    language: LanguageOption = "en",
) -> None:
    """Train and test solutions by a benchmark protocol."""
    from palestra import registry
    from palestra.evaluation import protocol_data as studying
    from palestra.evaluation import result_table, run
    from palestra.scoring import score

    chosen = registry.track(track, pairs(settings))
    study = studying.study_of(chosen)
    if list_them:
        folder = data_of(chosen, data, json) if data else None
        result_table.show_protocols(study.protocols, study.pieces(folder) if folder else None, json)
        return
    names = solutions or []
    if not names or protocol is None:
        raise PalestraError(
            say("Name a solution and --protocol. `palestra bench {track} --list` tells the protocols.", track=track)
        )
    if len(names) > 1 and (predictions_out or scores_out):
        raise PalestraError(say("--predictions-out and --scores-out take the answers of one solution; name one."))
    # A track may write predictions as a folder of files, which has no suffix.
    one_file = predictions_out if predictions_out and predictions_out.suffix else None
    if predictions_out and chosen.writes is None:
        raise PalestraError(
            say("{track} takes no files; --scores-out keeps the answers, each with its scores.", track=track)
        )
    require_outputs(None, {chosen.suffix: one_file, ".parquet": scores_out, ".html": report})
    folder = data_of(chosen, data, json)
    bench = run.bench_of(chosen, protocol, folder, train_data, seed)
    contenders = [run.contender(chosen, name, pairs(options)) for name in names]
    given = _answers(bench, contenders, _executor(executor, address, workers), fresh, json)
    sheet = score.load(bench.track, folder)
    found = [run.scored(bench, who, one, sheet) for who, one in zip(contenders, given, strict=True)]
    if predictions_out and bench.track.writes:
        bench.track.writes(given[0], predictions_out)
    if scores_out:
        from palestra.scoring import score_file

        score_file.save(found[0], scores_out)
    if report:
        from palestra.evaluation import write_bench

        write_bench(bench, found, report, language)
    result_table.show_bench(bench.track, bench.protocol, found, json)


def _answers(
    bench: "Bench", contenders: "list[Contender]", executor: "Executor", fresh: bool, quiet: bool
) -> "list[pl.DataFrame]":
    """The answers of each contender, with a bar over all folds of all of them."""
    from palestra import console
    from palestra.datasets import cache_folder
    from palestra.evaluation import run

    kept = cache_folder() / "bench"
    try:
        with console.progress("folds", run.fold_count(bench) * len(contenders), hidden=quiet) as advance:
            return [run.answers(bench, who, executor, kept, advance, fresh) for who in contenders]
    finally:
        executor.close()


def _executor(name: str, address: str | None, workers: int | None) -> "Executor":
    import os

    from palestra.errors import UnknownName
    from palestra.evaluation import ONE_THREAD
    from palestra.executors import ProcessExecutor, RayExecutor
    from palestra.registry import OUTSIDE

    if name not in ("processes", "ray"):
        raise typer.BadParameter(str(UnknownName(say("executor"), name, ["processes", "ray"])), param_hint="--executor")
    if name == "processes":
        if address:
            raise typer.BadParameter("an address is that of a Ray cluster: --executor ray.", param_hint="--address")
        return ProcessExecutor(workers)
    if address and workers:
        told = "each machine of a cluster says itself how many run on it (ray start --num-cpus)."
        raise typer.BadParameter(told, param_hint="--workers")
    outside = {OUTSIDE: os.environ[OUTSIDE]} if OUTSIDE in os.environ else {}
    return RayExecutor(address, workers, {**ONE_THREAD, **outside})
