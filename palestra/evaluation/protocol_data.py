"""The trials and the truth of a benchmark protocol: what its folds test, of a track's labelled samples."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from palestra.errors import PalestraError, UnknownName
from palestra.evaluation.protocols import Fold, Stretch, folds, rows_of
from palestra.records import Material, Protocol, Study, Track
from palestra.text import say

HIDDEN = "truth_"  # begins the name of a column that is not shown to a program that is tested


def study_of(track: Track) -> Study:
    if track.study is None:
        raise PalestraError(
            say("{id} has no benchmark protocols; `palestra tracks` says how it is answered.", id=track.id)
        )
    return track.study


def protocol_of(study: Study, name: str) -> Protocol:
    known = {protocol.name: protocol for protocol in study.protocols}
    if name not in known:
        raise UnknownName(say("protocol"), name, known)
    return known[name]


def folds_of(study: Study, protocol: Protocol, data: Path) -> list[Fold]:
    return folds(protocol, study.pieces(data))


def trials(study: Study, protocol: Protocol, data: Path) -> pl.DataFrame:
    """What is to be answered: one row for each sample that an experiment tests, without its truth."""
    asked = folds_of(study, protocol, data)
    shelf = _shelf(study, data, (stretch for fold in asked for _, stretch in fold.tests))
    return pl.concat((shown(_tested(shelf, fold)) for fold in asked), how="vertical_relaxed")


def answer_key(study: Study, protocol: Protocol, data: Path, train_data: Path | None = None) -> pl.DataFrame:
    """The same with its truth, as the track judges it in the light of what was learnt from."""
    asked = folds_of(study, protocol, data)
    used = (*(stretch for fold in asked for _, stretch in fold.tests), *(s for fold in asked for s in fold.train))
    shelf = _shelf(study, data, used)
    parts = []
    for fold in asked:
        tested = _tested(shelf, fold)
        if study.judge is not None:
            tested = study.judge(tested, _learnt(study, shelf, fold, train_data))
        parts.append(tested)
    return pl.concat(parts, how="vertical_relaxed")


def under(track: Track, protocol: Protocol, train_data: Path | None = None) -> Track:
    """The track with the trials and the truth of a protocol, where it does not take protocols as a setting itself."""
    study = study_of(track)
    if track.settings is not None and hasattr(track.settings.values, "protocol"):
        from palestra.registry import configured

        elsewhere = {"train_data": str(train_data.resolve())} if train_data else {}
        return configured(track, {"protocol": protocol.name, **elsewhere})
    several = ("experiment",) if len(protocol.experiments) > 1 else ()
    return replace(
        track,
        trials=partial(trials, study, protocol),
        truth=partial(_own_truth, study, protocol, train_data=train_data),
        display=replace(track.display, groups=(*track.display.groups, *several)),
    )


def training(study: Study, fold: Fold, data: Path, train_data: Path | None) -> Material:
    """What a fold learns from."""
    if not fold.train:
        return _elsewhere(study, train_data)
    return Material(data, rows_of(_shelf(study, data, fold.train), fold.train))


def tests(study: Study, fold: Fold, data: Path) -> Iterable[tuple[str, Material]]:
    """What a fold is tested on, experiment by experiment: samples without their truth."""
    shelf = _shelf(study, data, (stretch for _, stretch in fold.tests))
    for experiment, stretch in fold.tests:
        yield experiment, Material(data, shown(rows_of(shelf, [stretch])))


def named(experiment: str) -> pl.Expr:
    """What a sample is called where an experiment tests it: several may test the same one."""
    return pl.concat_str(pl.lit(experiment), "trial", separator="/").alias("trial")


def shown(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(name for name in rows.columns if not name.startswith(HIDDEN))


def _own_truth(study: Study, protocol: Protocol, data: Path, train_data: Path | None) -> pl.DataFrame:
    """The truth's own columns, and those of whoever judged it: what trials show as well is joined from there."""
    table = answer_key(study, protocol, data, train_data)
    told = {*shown(study.samples(data, table["piece"][:1].to_list())).columns, "experiment"}
    return table.select("trial", *(name for name in table.columns if name not in told))


def _learnt(study: Study, shelf: Mapping[str, pl.DataFrame], fold: Fold, train_data: Path | None) -> pl.DataFrame:
    """What a fold learns from; nothing where that is another data set, and nobody said which."""
    if fold.train:
        return rows_of(shelf, fold.train)
    return _elsewhere(study, train_data).rows if train_data else next(iter(shelf.values())).clear()


def _elsewhere(study: Study, train_data: Path | None) -> Material:
    if train_data is None:
        raise PalestraError(say("This protocol learns from another data set: name it with --train-data DIR."))
    names = [piece["piece"] for piece in study.pieces(train_data)]
    return Material(train_data, study.samples(train_data, names))


def _tested(shelf: Mapping[str, pl.DataFrame], fold: Fold) -> pl.DataFrame:
    parts = []
    for experiment, stretch in fold.tests:
        rows = rows_of(shelf, [stretch])
        parts.append(rows.with_columns(named(experiment), pl.lit(experiment).alias("experiment")))
    return pl.concat(parts, how="vertical_relaxed")


def _shelf(study: Study, data: Path, stretches: Iterable[Stretch]) -> dict[str, pl.DataFrame]:
    """The samples of every piece that is needed, read once."""
    names = sorted({stretch.piece for stretch in stretches})
    parts = study.samples(data, names).partition_by("piece", as_dict=True, maintain_order=True)
    return {str(piece): rows for (piece,), rows in parts.items()}
