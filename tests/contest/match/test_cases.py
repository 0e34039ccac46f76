"""What a challenge brings to the table."""

from palestra.contest.match.cases import Sheet, Thing, cases_of
from palestra.text import Words
from tests.contest.match.table import THINGS, a_sheet


def test_a_sheet_is_cut_to_so_many_cases_with_what_they_use() -> None:
    groups = a_sheet(2, 3)
    layouts = {case.layout: case.id.encode() for _, case in cases_of(groups)}
    cut = Sheet(groups, THINGS, layouts).first(2)
    kept = [case for _, case in cases_of(cut.groups)]
    assert [case.id for case in kept] == ["g1c1", "g1c2", "g2c1", "g2c2"]
    assert set(cut.layouts) == {case.layout for case in kept}
    assert [thing.number for thing in cut.things] == [1, 2], "the third stands in no case"


def test_without_a_number_all_cases_stay_and_idle_things_go() -> None:
    groups = a_sheet(1, 2)
    cut = Sheet(groups, (*THINGS, Thing(9, Words("spare")))).first()
    assert cut.groups == groups and [thing.number for thing in cut.things] == [1, 2]
