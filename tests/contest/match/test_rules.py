"""[phase.match] of a contest file: by which readings a match is played, and when who has the table."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra import registry
from palestra.contest.match.draw import check_slots
from palestra.contest.match.rules import PRESETS, TOTAL_MS, match_rules, phase_of_match
from palestra.contest.match.timetable import timetable_of
from palestra.contest.rules import calendar, reader
from palestra.contest.rules.checks import track_problems
from palestra.contest.rules.model import MatchPlan, Phase, Rules, decode, encode
from palestra.errors import PalestraError
from tests import ROOT
from tests.contest.rules.test_reader import SMALL, fault_of, parse
from tests.contest.story import a_phase, some_rules

TABLE = SMALL.replace("near-eye-gaze-v1", "tabletop-manip-v1")
MINUTE = 60_000


def ms(text: str) -> int:
    return calendar.as_ms(datetime.fromisoformat(text).replace(tzinfo=UTC))


def plan_of(text: str) -> MatchPlan:
    found = parse(TABLE + "[phase.match]\n" + text).phases[0].match
    assert found is not None
    return found


def test_a_match_needs_nothing_but_its_table_and_is_then_the_preset():
    assert plan_of("") == MatchPlan()
    for name, preset in PRESETS.items():
        rules = parse(TABLE + f'[phase.match]\npreset = "{name}"\n[weights]\nfirst = 1.0\n')
        found = match_rules(rules, "first")
        assert (found.online, found.onsite) == ("0", "1")
        same = [field for field in found.__struct_fields__ if field not in ("online", "onsite")]
        assert [getattr(found, field) for field in same] == [getattr(preset, field) for field in same]


def test_what_differs_from_the_preset_is_read():
    text = 'preset = "english"\ndraw = "fixed"\ncounts = "best"\nmean = "groups"\nretries = 1\nrestarts = 0\n'
    found = match_rules(parse(TABLE + "[phase.match]\n" + text + 'referees = 3\nappeal = "1 h"\n'), "first")
    assert (found.preset, found.limit_ms, found.draw, found.counts) == ("english", 300_000, "fixed", "best")
    assert (found.mean, found.retries, found.restarts, found.referees) == ("groups", 1, 0, 3)
    assert found.appeal_ms == 3_600_000


def test_a_preset_keeps_its_own_draw_unless_another_is_chosen():
    draws = [match_rules(parse(TABLE + f'[phase.match]\npreset = "{name}"\n'), "first").draw for name in PRESETS]
    assert draws == ["team", "all", "team"]


def test_the_weights_of_the_contest_are_those_of_the_match_exactly():
    found = match_rules(reader.read(ROOT / "contests" / "manip.toml"), "onsite")
    assert (found.online, found.onsite) == ("2/5", "3/5")
    assert found == PRESETS["seed"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('preset = "sead"', 'phase.match.preset: found \'sead\', expected "seed", "english" or "literal"'),
        ('draw = "each"', 'phase.match.draw: found \'each\', expected "team", "all" or "fixed"'),
        ("referees = 1", "phase.match.referees: found 1, expected a whole number from 2 to 10"),
        ("slot = 20", "phase.match.slot: found 20, expected \"90 min\""),
        ("retrys = 1", "phase.match.retrys: found 'retrys', expected a key of phase.match. Did you mean 'retries'?"),
    ],
)  # fmt: skip
def test_a_fault_names_its_line(line, told):
    assert f"contest.toml: line 13, {told}" in fault_of(TABLE + "[phase.match]\n" + line)


def test_a_match_needs_a_track_in_which_a_robot_acts():
    (problem,) = track_problems(parse(SMALL + "[phase.match]\n"), registry.tracks())
    assert (problem.path, str(problem.found)) == (("phase", 0, "match"), "a match in near-eye-gaze-v1")
    assert list(track_problems(parse(TABLE + "[phase.match]\n"), registry.tracks())) == []


def test_ties_of_a_phase_with_a_match_are_those_of_the_match():
    with_ties = TABLE.replace("[[phase]]", '[[phase]]\nties = ["full"]')
    (problem,) = track_problems(parse(with_ties + "[phase.match]\n"), registry.tracks())
    assert problem.path == ("phase", 0, "ties")
    assert str(problem.expected) == "none, since the rules of a match part equals"


def test_rules_from_before_there_were_matches_are_still_read():
    old = encode(some_rules()).replace(',"match":null', "")
    assert "match" not in old
    assert decode(old) == some_rules()


def test_the_phase_that_has_a_match_is_found_or_missed_in_words():
    rules = some_rules(a_phase("online"), a_phase("onsite", match=MatchPlan()))
    assert phase_of_match(rules).id == phase_of_match(rules, "onsite").id == "onsite"
    with pytest.raises(PalestraError, match=r"No match is planned in online: it needs \[phase.match\]"):
        phase_of_match(rules, "online")


# When


def onsite(opens: str, closes: str, plan: MatchPlan) -> Phase:
    return a_phase("onsite", track="tabletop-manip-v1", opens=ms(opens), closes=ms(closes), match=plan)


def test_debugging_slots_come_first_and_then_the_turns_within_the_hours_of_the_day():
    phase = onsite("2027-10-16T01:00", "2027-10-17T10:00", MatchPlan())  # 9:00 to 18:00 in Shanghai
    found = timetable_of(phase, "Asia/Shanghai", [f"t{n}" for n in range(12)])
    assert [(slot.opens - phase.opens) // MINUTE for slot in found.slots[:3]] == [0, 20, 40]
    starts = [f"{calendar.local(slot.opens, 'Asia/Shanghai'):%d %H:%M}" for slot in found.turns]
    assert starts[:6] == ["16 13:00", "16 14:00", "16 15:00", "16 16:00", "16 17:00", "17 09:00"]
    assert found.late_ms == 0


def test_a_plan_that_does_not_fit_says_by_how_much():
    phase = onsite("2027-10-16T01:00", "2027-10-16T10:00", MatchPlan())
    assert timetable_of(phase, "Asia/Shanghai", [f"t{n}" for n in range(6)]).late_ms == 0
    assert timetable_of(phase, "Asia/Shanghai", [f"t{n}" for n in range(12)]).late_ms > 0


@given(
    st.integers(1, 30), st.integers(1, 200), st.integers(0, 60),
    st.sampled_from(["Asia/Shanghai", "Europe/Zurich", "America/Sao_Paulo", "UTC"]),
    st.sampled_from([("2027-03-27T08:00", "2027-03-29T17:30"), ("2027-03-27T00:00", "2027-03-30T00:00")]),
)  # fmt: skip
def test_nobody_has_the_table_together_with_another_and_all_slots_are_equal(count, slot, gap, zone, times):
    plan = MatchPlan(slot_ms=slot * MINUTE, gap_ms=gap * MINUTE)
    teams = [f"t{n}" for n in range(count)]
    phase = onsite(*times, plan)
    found = timetable_of(phase, zone, teams)
    check_slots(found.slots, {team: team for team in teams})
    together = [*found.slots, *found.turns]
    assert all(one.closes <= two.opens for one, two in pairwise(together))
    assert {one.closes - one.opens for one in found.turns} == {TOTAL_MS}
    assert found.slots[0].opens >= phase.opens
    assert [one.team for one in found.turns] == teams


def test_a_contest_file_with_a_match_is_kept_in_the_log_as_it_is():
    rules: Rules = parse(TABLE + '[phase.match]\nslot = "15 min"\n')
    assert decode(encode(rules)) == rules
