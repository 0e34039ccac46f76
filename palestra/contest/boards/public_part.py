"""The part of the people that a board shows before a phase's end: chosen by their names, the same for every team."""

import hashlib

import polars as pl

from palestra.contest.rules import Phase
from palestra.records import Track
from palestra.scoring import Scored, summarise


def shown(phase: Phase, track: Track, scored: Scored) -> Scored | None:
    """A result on the shown part alone; nothing where the phase shows everybody."""
    if phase.split is None:
        return None
    unit = scored.result.unit
    names = chosen(scored.rows[unit].unique().to_list(), phase.split, f"{phase.id}:{scored.result.provenance.data}")
    rows = scored.rows.filter(pl.col(unit).is_in(names))
    return Scored(summarise(track, rows, scored.result.entrant, scored.result.provenance), rows)


def chosen(units: list[object], share: float, salt: str) -> list[object]:
    """So many of the units, at least one in each part. Who is shown is no secret: results name them. The salt makes
    it another choice for other data, and one that nobody picked."""
    order = sorted(units, key=lambda unit: hashlib.sha256(f"{salt}:{unit}".encode()).hexdigest())
    return order[: min(max(round(share * len(order)), 1), max(len(order) - 1, 1))]
