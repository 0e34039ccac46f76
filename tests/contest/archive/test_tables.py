"""Tables of a contest: what is in them, who sees what, and bytes that programs and spreadsheets read."""

import csv
import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from palestra.contest import rounding
from palestra.contest.archive import tables
from palestra.contest.log import events as e
from palestra.contest.rules import track_of
from palestra.contest.visibility import NOBODY, Viewer, viewer_of
from palestra.errors import UnknownName
from tests.contest.leaving import DAY_MS, EMAIL, small, told

__all__ = ["small", "told"]  # fixtures
ORGANISER = Viewer(role="organiser")
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1", "－1"]


def tables_of(small, viewer, now=None):
    now = small.clock() if now is None else now
    return tables.tables(small.state(), viewer, now, small.files.read)


def read(data):
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


# Bytes


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_would_be_a_formula_gets_an_apostrophe(text):
    assert read(tables.as_csv(pl.DataFrame({"team": [text]})))[1] == [f"'{text}"]


@pytest.mark.parametrize("text", ["Ada", "a=1", "1-1", "'", "", "A@b", "眨眼队", 'say "hi"', "a,b;c"])
def test_other_texts_stay_as_they_are(text):
    assert read(tables.as_csv(pl.DataFrame({"team": [text]})))[1] == [text]


def test_numbers_stay_numbers():
    table = pl.DataFrame({"error": [-1.5, 1e-20, None], "rank": [-3, 0, None]})
    assert tables.as_csv(table) == b'"error","rank"\n-1.5,-3\n1e-20,0\n,\n'


def test_the_names_of_columns_are_made_harmless_as_well():
    assert tables.as_csv(pl.DataFrame({"=evil()": [1]})) == b'"\'=evil()"\n1\n'


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5))
def test_no_text_is_a_formula_and_all_of_it_can_be_read_back(texts):
    cells = [row[0] for row in read(tables.as_csv(pl.DataFrame({"team": texts}, schema={"team": pl.String})))[1:]]
    assert all(cell.strip(" \0")[:1] not in set("=+-@\t\r\n") for cell in cells)
    assert [cell.removeprefix("'") for cell in cells] == [text.removeprefix("'") for text in texts]


def test_a_mark_for_spreadsheet_programs_comes_once_and_when_asked():
    table = pl.DataFrame({"a": [1, 2]})
    assert tables.as_csv(table, bom=True) == tables.BOM + tables.as_csv(table)
    assert not tables.as_csv(table).startswith(tables.BOM)


def test_a_long_table_comes_in_pieces_under_one_heading(monkeypatch):
    monkeypatch.setattr(tables, "AT_ONCE", 3)
    table = pl.DataFrame({"n": range(8)})
    assert len(list(tables.csv_parts(table))) == 4
    assert [row[0] for row in read(tables.as_csv(table))] == ["n", *map(str, range(8))]


def test_parquet_has_the_table_as_it_is_and_the_same_bytes_each_time():
    table = pl.DataFrame({"team": ["=1+1", None], "error": [0.1, None], "rank": [1, None]})
    data = tables.as_parquet(table)
    assert_frame_equal(pl.read_parquet(io.BytesIO(data)), table)
    assert tables.as_parquet(table.clone()) == data


# Tables


def test_a_board_has_ranks_bands_intervals_and_both_times(small):
    board = tables_of(small, ORGANISER)["board-open"]
    assert board.columns[5:8] == ["mean_error", "mean_error_low", "mean_error_high"]
    first, second, baseline = board.to_dicts()
    assert (first["rank"], first["team"], first["submission"], first["mean_error"]) == (1, "Bob's", "s2", 1.875)
    assert (second["rank"], second["band"], second["count"]) == (2, 2, 1)
    assert (baseline["rank"], baseline["team"], baseline["team_id"]) == (None, "zero", None)
    assert first["mean_error_low"] < first["mean_error"] < first["mean_error_high"]
    assert (first["sent_utc"], first["sent_local"]) == ("2022-11-09T13:22:00.000Z", "2022-11-09T21:22:00.000+08:00")


def test_the_organiser_sees_all_tables(small):
    found = tables_of(small, ORGANISER)
    boards = ["board-open", "board-split", "board-secret"]
    assert list(found) == [*boards, "final", "awards", "teams", "submissions"]
    assert found["submissions"].height == 8
    assert found["submissions"]["stage"].to_list()[-2:] == ["faulted", "queued"]
    assert found["awards"].to_dicts()[0]["title_zh"] == "一等奖"
    assert found["teams"]["members"].to_list() == ["ada", "bob"]
    assert found["final"].columns == ["rank", "team", "team_id", "score", "open", "split"]


def test_the_public_sees_the_shown_part_of_a_split_board_and_no_board_of_the_organiser(small):
    found = tables_of(small, NOBODY)
    assert list(found) == ["board-open", "board-split", "final", "awards", "teams"]
    scores = [score for one in ("s4", "s3") for score in small.state().submissions[one].scores]
    phase = small.state().phase("split")
    shown = [rounding.told(phase, track_of(phase), score.shown)["mean_error"].value for score in scores]
    assert found["board-split"]["mean_error"].to_list() == shown
    assert shown != [score.shown["mean_error"].value for score in scores]
    assert found["teams"].columns == ["team", "team_id", "made_utc", "made_local"]


def test_what_comes_after_a_freeze_is_not_in_the_publics_tables(small):
    small.clock.at = small.state().rules().phases[0].freeze + 1000
    small.submit("late", "ada", "open", 0)
    small.score("late")
    assert tables_of(small, ORGANISER)["board-open"]["submission"].to_list()[0] == "late"
    assert tables_of(small, NOBODY)["board-open"]["submission"].to_list() == ["s2", "s1", "s6"]
    small.clock.advance(10 * DAY_MS)
    assert "late" not in str(tables_of(small, NOBODY)["board-open"].to_dicts())
    small.say(e.BoardReleased("open"))
    assert tables_of(small, NOBODY)["board-open"]["submission"].to_list()[0] == "late"


def test_an_award_is_told_when_its_board_is_shown_in_full(small):
    state = small.state()
    assert tables_of(small, NOBODY)["awards"]["team"].to_list() == ["Bob's"]
    small.say(e.AwardGiven(1, "ada"))
    assert tables_of(small, NOBODY)["awards"].height == 1  # the other is of all boards, and one is split
    frozen = state.rules().phases[0].freeze + 1
    assert tables_of(small, NOBODY, frozen)["awards"].is_empty()
    assert tables_of(small, ORGANISER, frozen)["awards"].height == 2


def test_a_team_sees_its_own_submissions_and_members_alone(small):
    found = tables_of(small, viewer_of(small.state().accounts["acc-ada"]))
    assert set(found["submissions"]["team_id"]) == {"ada"}
    assert found["submissions"].filter(pl.col("submission") == "s3")["value"].to_list() != [5.625]  # the whole
    assert found["teams"].select("team_id", "members").rows() == [("ada", "ada"), ("bob", None)]


def test_no_table_has_an_address_of_a_person(small):
    for viewer in (ORGANISER, NOBODY):
        for table in tables_of(small, viewer).values():
            assert EMAIL not in tables.as_csv(table).decode()


def test_a_disqualified_team_is_named_with_the_reason(small):
    small.say(e.TeamDisqualified("bob", "copied", "open"))
    table = tables_of(small, ORGANISER)["teams"]
    assert table["disqualified"].to_list() == ["", "open: copied"]


def test_events_are_a_table_in_their_order(small):
    table = tables.events(small.rows(), "Asia/Shanghai")
    assert table["seq"].to_list() == list(range(1, len(small.rows()) + 1))
    assert table["kind"][0] == "contest.opened"
    assert table["hash"][-1] == small.rows()[-1][4]
    assert table["at_local"][0] == "2022-11-09T21:20:00.000+08:00"


def test_a_contest_without_teams_has_the_same_columns(small):
    empty = tables.board([], small.state().phase("open"), "UTC")
    assert empty.columns == tables_of(small, ORGANISER)["board-open"].columns
    assert tables.events([], "UTC").columns == tables.events(small.rows(), "UTC").columns


def test_a_table_is_made_of_what_was_taken_though_the_contest_goes_on(small):
    state, now = small.state(), small.clock()
    whole = tables.tables(state, ORGANISER, now, small.files.read)
    makes = {name: tables.taken(state, ORGANISER, now, name) for name in whole}
    state.submissions.clear()
    state.teams.clear()
    for of_phase in state.of_team.values():
        of_phase.clear()
    for name, make in makes.items():
        assert_frame_equal(make(small.files.read), whole[name])


def test_a_table_that_someone_does_not_see_is_not_made(small):
    with pytest.raises(UnknownName, match="submissions"):
        tables.taken(small.state(), NOBODY, small.clock(), "submissions")
