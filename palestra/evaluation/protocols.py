"""Which people and sessions train, test and are compared: benchmark protocols, declared as data.

A data set is a list of pieces (sessions, recordings, sequences), each with attributes: who, under which conditions.
An experiment says which pieces are tested, and from which of the others is learnt for each of them.
"""

from collections.abc import Mapping, Sequence

import msgspec
import polars as pl

from palestra.errors import PalestraError
from palestra.records import Experiment, Half, Protocol
from palestra.text import say

SAME, OTHER = "=", "≠"  # as the tested piece has it, or any other value
Attributes = Mapping[str, str]  # of one piece; `piece` is its name


class Stretch(msgspec.Struct, frozen=True, order=True):
    """A piece, or half of it."""

    piece: str
    half: Half = "all"


class Fold(msgspec.Struct, frozen=True):
    """One training, and all that is tested with what it learnt."""

    train: tuple[Stretch, ...]
    tests: tuple[tuple[str, Stretch], ...]  # experiment, what it tests


def folds(protocol: Protocol, pieces: Sequence[Attributes]) -> list[Fold]:
    """Every training that a protocol asks for, each once, with its tests, in the order of the pieces."""
    _require_attributes(protocol, pieces)
    part: Sequence[Attributes] = [piece for piece in pieces if _has(piece, protocol.where, piece)]
    part = _dealt(part, *protocol.deal) if protocol.deal else part
    tests: dict[tuple[Stretch, ...], list[tuple[str, Stretch]]] = {}
    for tested in part:
        for experiment in protocol.experiments:
            if not _has(tested, experiment.tests, tested):
                continue
            train = _training(protocol, experiment, tested, part)
            if train or protocol.elsewhere:
                tests.setdefault(train, []).append((experiment.name, Stretch(tested["piece"], experiment.test)))
    if not tests:
        wanted = "; ".join(f"{name} {', '.join(values)}" for name, values in protocol.where.items()) or "more pieces"
        raise PalestraError(
            say(
                "This data has nothing that protocol {name} could train and test on ({wanted}).",
                name=protocol.name,
                wanted=wanted,
            )
        )
    return [Fold(train, tuple(tested)) for train, tested in tests.items()]


def half_of(rows: int, half: Half) -> slice:
    """The rows of a half."""
    middle = rows // 2
    return {"all": slice(0, rows), "first": slice(0, middle), "second": slice(middle, rows)}[half]


def rows_of(pieces: Mapping[str, pl.DataFrame], stretches: Sequence[Stretch]) -> pl.DataFrame:
    """The samples of some stretches, in their order."""
    parts = [(pieces[stretch.piece], stretch.half) for stretch in stretches]
    return pl.concat((part[half_of(part.height, half)] for part, half in parts), how="vertical_relaxed")


def leave_one_out(by: str, where: Mapping[str, tuple[str, ...]] | None = None) -> Protocol:
    """Learn from everybody else, test on each."""
    return Protocol(
        name=f"leave-one-{by}-out",
        title=f"Each {by} by a model that learnt from all others",
        where=dict(where or {}),
        experiments=(Experiment(name="others", learns={by: (OTHER,)}),),
        ranks=("others",),
    )


def k_fold(count: int, by: str) -> Protocol:
    """As leave-one-out, in a few large steps."""
    return Protocol(
        name=f"{count}-fold",
        title=f"{count} folds by {by}: each by a model that learnt from the other folds",
        experiments=(Experiment(name="others", learns={"fold": (OTHER,)}),),
        ranks=("others",),
        deal=(by, count),
    )


CROSS_DATA = Protocol(
    name="cross-data",
    title="All of this data set by a model that learnt from another (--train-data DIR)",
    experiments=(Experiment(name="elsewhere", learns={}),),
    ranks=("elsewhere",),
    elsewhere=True,
)


def _require_attributes(protocol: Protocol, pieces: Sequence[Attributes]) -> None:
    """A data set may not tell all that others do: who is in a sequence, for one."""
    asked = {*protocol.where, *([protocol.deal[0]] if protocol.deal else [])}
    asked.update(name for experiment in protocol.experiments for name in (*experiment.tests, *experiment.learns))
    for name in sorted(asked - {"fold"}):
        if any(name not in piece for piece in pieces):
            raise PalestraError(
                say(
                    "This data does not tell the {name} of all its parts, which {name2} goes by.",
                    name=name,
                    name2=protocol.name,
                )
            )


def _dealt(pieces: Sequence[Attributes], by: str, count: int) -> list[Attributes]:
    values = list(dict.fromkeys(piece[by] for piece in pieces))
    return [{**piece, "fold": str(values.index(piece[by]) % count + 1)} for piece in pieces]


def _training(
    protocol: Protocol, experiment: Experiment, tested: Attributes, part: Sequence[Attributes]
) -> tuple[Stretch, ...]:
    if protocol.elsewhere:
        return ()
    return tuple(Stretch(piece["piece"], experiment.train) for piece in part if _has(piece, experiment.learns, tested))


def _has(piece: Attributes, wanted: Mapping[str, tuple[str, ...]], tested: Attributes) -> bool:
    return all(_fits(piece[name], values, tested[name]) for name, values in wanted.items())


def _fits(value: str, wanted: tuple[str, ...], tested: str) -> bool:
    if wanted == (SAME,):
        return value == tested
    if wanted == (OTHER,):
        return value != tested
    return value in wanted
