"""From referees' events to one row for each team and case."""

from fractions import Fraction

import polars as pl

from palestra.contest.match import events as e
from palestra.contest.match.outcomes import judged
from palestra.scoring.judged import COLUMNS, Judged, answers, of_team, table
from tests.contest.match.table import ANNA, SECOND, Table

SCHEMA = {name: pl.Int64 if kind is int else pl.String for name, kind in COLUMNS.items()}


def test_a_score_is_an_exact_fraction_and_never_below_nothing():
    assert Judged("t", "g", "c", 1, 3, 0, "0", 1, "agreed").score == Fraction(1, 3)
    assert Judged("t", "g", "c", 1, 3, 0, "0", 1, "agreed", deducted="1/3").score == 0
    assert Judged("t", "g", "c", 1, 3, 0, "0", 1, "agreed", deducted="1").score == 0


def test_no_events_of_anybody_make_an_empty_table():
    assert dict(table([]).schema) == SCHEMA


def test_every_team_and_case_has_its_row():
    told = Table("literal").begun()
    first = told.played(("s1",), ms=30 * SECOND)
    second = told.started()
    told.ask(ANNA, e.CaseRetried, why="drop")
    told.ask(ANNA, e.CaseAbandoned)
    found = answers(told.log, lambda log: judged(log, told.now))
    assert dict(found.schema) == SCHEMA
    assert len(found) == 2 * 4
    assert found.select("team", "trial").is_unique().all()
    red = {row["trial"]: row for row in of_team(found, "red").to_dicts()}
    assert (red[first]["met"], red[first]["total"], red[first]["time_ms"]) == (1, 2, 30_000)
    assert (red[first]["attempts"], red[first]["state"], red[first]["ended"]) == (1, "agreed", "stopped")
    assert (red[second]["met"], red[second]["attempts"], red[second]["note"]) == (0, 2, "abandoned")
    assert of_team(found, "blue").select(pl.col("met").sum()).item() == 0
