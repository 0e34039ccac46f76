"""What pages show of the table, in both languages and in the units that are compared."""

import msgspec
import numpy as np
import polars as pl
import pytest

from palestra import registry
from palestra.report.page import Page, write_page
from palestra.text import number
from palestra.tracks.tabletop import manip_v1 as table
from palestra.tracks.tabletop.figures import cases_table, met, timeline
from palestra.tracks.tabletop.replay import Review
from tests.english import english

LONG = "long-h1"


@pytest.fixture
def cases(tiny):
    return {case.id: case for case in table.cases_of(tiny("tabletop-manip-v1"), table.Settings())}


def row(case, held, seconds=12.35):
    return {
        "trial": case.id, "group": case.group, "truth_case": msgspec.json.encode(case).decode(), "seconds": seconds,
        "held": ",".join(held), "met": len(held), "total": len(case.goals),
    }  # fmt: skip


def test_what_is_not_met_is_told_in_whole_sentences_of_each_language(cases):
    case = cases[LONG]
    ((name, group, share, time_ms, unmet),) = cases_table(pl.DataFrame([row(case, [case.goals[0].id])])).rows
    assert english([name, group, share, time_ms]) == [LONG, "Long tasks", f"1 of {len(case.goals)}", 12_350]
    assert unmet.en == " ".join(goal.en for goal in case.goals[1:]) and ".;" not in unmet.en
    assert unmet.zh == "".join(goal.zh for goal in case.goals[1:])


def test_a_case_met_in_full_or_never_played_has_nothing_to_tell(cases):
    case = cases[LONG]
    every = [goal.id for goal in case.goals]
    ((*_, time_ms, unmet),) = cases_table(
        pl.DataFrame([row(case, every, None)], schema_overrides={"seconds": float})
    ).rows
    assert time_ms is None and unmet is None


def test_the_table_s_time_is_in_whole_seconds_and_has_no_error_to_show():
    track = registry.track("tabletop-manip-v1")
    unit = next(metric.unit for metric in track.metrics if metric.name == "total_s")
    assert number(1062.0, unit) == "1,062 s"
    said = met({"met": 1, "total": 3})
    assert track.display.caption({"met": 1, "total": 3}) == said
    assert (said.en, said.zh) == ("1 of 3 sub-goals met", "达成 1/3 个子目标")


def test_a_timeline_names_its_sub_goals_in_both_languages(cases, tmp_path):
    case = cases[LONG]
    held = np.zeros((40, len(case.goals)), bool)
    held[10:, 0] = True
    first = {goal.id: 0.5 if number == 0 else None for number, goal in enumerate(case.goals)}
    chart = timeline(Review(case, held, first, b""))
    for language, said in (("en", case.goals[0].en), ("zh", case.goals[0].zh)):
        write_page(Page("t", "", [chart]), tmp_path / "t.html", language)
        html = (tmp_path / "t.html").read_text("utf-8")
        assert f">{said}<" in html and case.said(language) in html
