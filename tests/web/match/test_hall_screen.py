"""What the public sees of a match: live on the hall's screen, then results with every number's origin."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from litestar.testing import TestClient

from palestra.contest.log import events as e
from palestra.contest.match import events as m
from palestra.contest.rules.model import Award
from palestra.contest.visibility import NOBODY
from palestra.records import Estimate
from palestra.text import Words
from palestra.web.match import hall_screen
from palestra.web.match.hall_screen import hall
from palestra.web.match.results import results
from tests.databases import Made
from tests.web.conftest import As
from tests.web.match import world as match_world
from tests.web.match.world import MatchWorld


@pytest.fixture
def table(blank: Made) -> Iterator[MatchWorld]:
    world = match_world.match_world(blank)
    yield world
    world.close()


@pytest.fixture
def nobody(table: MatchWorld) -> Iterator[As]:
    with TestClient(table.app, raise_server_exceptions=False) as client:
        yield As(table, client, "")


def marked(table: MatchWorld, goal: str, on: bool = True, case: str = "pick-1") -> None:
    for name in ("rolf", "rita"):
        table.add(m.GoalMarked(match="m1", team="t1", case=case, attempt=1, goal=goal, on=on), by=name)


def played(table: MatchWorld, team: str, met: tuple[str, ...] = ("g1", "g2")) -> None:
    """All four cases of a team, marked and signed alike."""
    table.begun(team)
    for case in ("pick-1", "pick-2", "stack-1", "stack-2"):
        table.started(case, team).stopped(case, team).signed(case, met, met, team)


def publish(table: MatchWorld, team: str) -> None:
    cases = ("pick-1", "pick-2", "stack-1", "stack-2")
    table.add(m.ResultsPublished(match="m1", team=team, cases=cases), by="hugo")


# The hall's screen


def test_what_a_case_asks_for_is_shown_when_its_clock_starts_and_not_before(table: MatchWorld, nobody: As) -> None:
    table.begun().prepared()
    before = nobody.get("/matches/m1/screen").text
    assert "Secret instruction" not in before and "goal 1 holds" not in before
    assert hall(table.site, "m1").mode == "preparing"
    table.add(m.CaseStarted(match="m1", team="t1", case="pick-1"), by="rolf")
    shown = nobody.get("/matches/m1/screen").text
    assert "Secret instruction pick-1." in shown and "保密指令 pick-1。" in shown
    assert "Secret instruction pick-2" not in shown


def test_a_sub_goal_falls_when_all_referees_have_switched_it_on(table: MatchWorld) -> None:
    table.begun().started()
    table.add(m.GoalMarked(match="m1", team="t1", case="pick-1", attempt=1, goal="g1", on=True), by="rolf")
    assert [goal.met for goal in case_of(table).goals] == [False, False]
    table.add(m.GoalMarked(match="m1", team="t1", case="pick-1", attempt=1, goal="g1", on=True), by="rita")
    assert [goal.met for goal in case_of(table).goals] == [True, False]
    assert hall(table.site, "m1").mode == "running"


def case_of(table: MatchWorld) -> hall_screen.HallCase:
    found = hall(table.site, "m1").case
    assert found is not None
    return found


def test_what_referees_say_after_the_stop_is_not_shown_until_it_is_published(table: MatchWorld) -> None:
    table.begun().started()
    marked(table, "g1")
    table.stopped()
    marked(table, "g2")
    assert (hall(table.site, "m1").mode, [goal.met for goal in case_of(table).goals]) == ("checking", [True, False])
    table.signed("pick-1", ("g1", "g2"), ("g1", "g2"))
    assert [goal.met for goal in case_of(table).goals] == [True, False]
    table.add(m.ResultsPublished(match="m1", team="t1", cases=("pick-1",)), by="hugo")
    assert [goal.met for goal in case_of(table).goals] == [True, True]


def test_the_case_before_stays_until_the_next_scene_is_laid(table: MatchWorld) -> None:
    table.begun().started().stopped()
    assert case_of(table).id == "pick-1"
    table.prepared("pick-2")
    assert (case_of(table).id, case_of(table).number, case_of(table).of) == ("pick-2", 2, 4)


def test_its_clocks_are_told_as_functions_and_stand_when_it_is_held(table: MatchWorld) -> None:
    table.begun().started()
    since = table.clock()
    case = case_of(table)
    assert (case.dial.ran_ms, case.dial.since, case.budget_ms) == (0, since, 600_000)
    table.clock.advance(4_000)
    table.add(m.ClockHeld(match="m1", team="t1", reason="a cable came loose"), by="hugo")
    page = hall(table.site, "m1")
    assert page.case is not None
    assert (page.held, page.case.dial.ran_ms, page.case.dial.since) == ("a cable came loose", 5_000, None)
    assert page.dial.since is None


def test_the_standing_has_published_results_alone(table: MatchWorld, nobody: As) -> None:
    played(table, "t1")
    assert hall(table.site, "m1").rows == ()
    assert hall(table.site, "m1").mode == "over"
    publish(table, "t1")
    (row,) = hall(table.site, "m1").rows
    assert (row.rank, row.name, row.score, row.full, row.cases) == (1, "Team <t1>", "10.00", 4, 4)
    page = nobody.get("/matches/m1/screen").text
    assert "Team &lt;t1&gt;" in page and "Next: \u2068Team &lt;t2&gt;\u2069" in page


def test_equal_scores_are_explained_in_one_line(table: MatchWorld) -> None:
    for team in ("t1", "t2"):
        played(table, team)
        table.clock.advance(1)
        publish(table, team)
    first, second = hall(table.site, "m1").rows
    assert (first.score, second.score) == ("10.00", "10.00")
    assert "share a rank" in first.why.en or "by total time" in first.why.en
    assert second.why == Words()


def test_a_retry_empties_the_goals(table: MatchWorld) -> None:
    table.begun().started()
    marked(table, "g1")
    table.add(m.CaseRetried(match="m1", team="t1", case="pick-1", why="drop"), by="rolf")
    assert (case_of(table).attempt, case_of(table).attempts, case_of(table).met) == (2, 3, 0)


def test_both_languages_stand_on_it_whatever_the_page_is_in(table: MatchWorld, nobody: As) -> None:
    table.begun().started()
    english, chinese = (nobody.get(f"/matches/m1/screen?lang={name}").text for name in ("en", "zh"))
    for page in (english, chinese):
        assert "Secret instruction pick-1." in page and "保密指令 pick-1。" in page
    assert english.index("Secret instruction") < english.index("保密指令")
    assert chinese.index("保密指令") < chinese.index("Secret instruction")
    assert "goal 1 holds" in english and "目标 1 达成" in chinese


def test_the_screen_is_sent_what_changes(table: MatchWorld) -> None:
    topics = hall_screen.topic_of(table.site, "en", "m1")
    assert topics is not None
    ((name, write),) = topics.items()
    assert name.startswith("match:m1:")
    table.begun().started()
    before = write()
    marked(table, "g1")
    after = write()
    assert before and after and before.event == "hall"
    assert before.text.count('class="met"') + 1 == after.text.count('class="met"')
    table.clock.advance(60_000)
    again = write()
    assert again and again.text == after.text, "time alone changes nothing that is sent"
    assert hall_screen.topic_of(table.site, "en", "m2") is None


def test_a_match_that_is_not_there_has_no_screen(nobody: As) -> None:
    assert nobody.get("/matches/m2/screen").status_code == 404
    assert nobody.get("/matches/m2/results").status_code == 404


# Results


def test_results_show_nothing_that_is_not_published(table: MatchWorld, nobody: As) -> None:
    played(table, "t1", ("g1",))
    page = nobody.get("/matches/m1/results").text
    assert "Team" not in page.split("<main")[1] and "Secret" not in page
    publish(table, "t1")
    page = nobody.get("/matches/m1/results").text
    assert "Team &lt;t1&gt;" in page and "5.00" in page
    assert "Secret instruction" not in page, "the other team has yet to play these cases"
    played(table, "t2")
    publish(table, "t2")
    assert "Secret instruction pick-1." in nobody.get("/matches/m1/results").text


def test_every_number_of_a_team_can_be_followed(table: MatchWorld) -> None:
    played(table, "t1", ("g1",))
    table.add(
        m.PenaltyProposed(
            match="m1", team="t1", penalty="p1", what="points", rule="4.5", reason="touched", case="pick-1",
            points="1/10",
        ),
        by="rolf",
    )  # fmt: skip
    table.add(m.PenaltyConfirmed(match="m1", team="t1", penalty="p1"), by="rita")
    publish(table, "t1")
    (team,) = results(table.site, "m1", NOBODY).teams
    assert [(case.met, case.total, case.deducted, case.score) for case in team.cases] == [
        (1, 2, "1/10", "2/5"), (1, 2, "", "1/2"), (1, 2, "", "1/2"), (1, 2, "", "1/2"),
    ]  # fmt: skip
    assert (team.sum, team.mean, team.score, team.of_ten) == ("19/10", "19/40", "19/40", "4.75")
    assert [case.ran for case in team.cases] == ["0:01.000"] * 4
    assert (team.time, team.charged, team.full) == ("0:04", "0:04.000", 0)
    assert team.variance == "3/1600"
    assert team.cases[0].notes[0].text == "4.5: touched"


def test_the_final_score_weighs_both_phases_and_neighbours_are_told_apart(weighted: MatchWorld) -> None:
    for team, met in (("t1", ("g1",)), ("t2", ("g1", "g2"))):
        played(weighted, team, met)
        publish(weighted, team)
    page = results(weighted.site, "m1", NOBODY)
    assert page.has_final and (page.online, page.onsite) == ("40 %", "60 %")
    assert [(one.name, one.final, one.online, one.score) for one in page.teams] == [
        ("Team <t2>", "11/15", "1/3", "1"), ("Team <t1>", "7/10", "1", "1/2"),
    ]  # fmt: skip
    assert page.reasons[0].en.startswith("Team <t2> is before Team <t1> by final score: 7.33 against 7.00")


@pytest.fixture
def weighted(blank: Made, monkeypatch: pytest.MonkeyPatch) -> Iterator[MatchWorld]:
    """A contest in which the online phase was scored, and counts 40 %."""
    awards = (Award("", Words("Champion", "冠军"), 1),)
    rules = match_world.table_rules(weights={"online": 0.4, "onsite": 0.6}, awards=awards)
    monkeypatch.setattr(match_world, "table_rules", lambda: rules)
    world = match_world.match_world(blank)
    for team, score in (("t1", 1.0), ("t2", 1 / 3)):
        name = world.submit(f"s-{team}", team, "online")
        metrics = {"score": score, "full": score, "total_s": 60.0, "variance": 0.0}
        made = {key: Estimate(value) for key, value in metrics.items()}
        world.add(e.SubmissionAccepted(name), e.ResultMade(name, 1, made, world.put("{}"), ""), by="worker:w")
    yield world
    world.close()


def test_what_is_published_stands_in_the_final_standing_on_the_board_and_on_a_certificate(
    weighted: MatchWorld,
) -> None:
    """And a correction after it changes them, all but what a certificate was given by."""
    played(weighted, "t1", ("g1",))
    with TestClient(weighted.app, raise_server_exceptions=False) as client:
        nobody = As(weighted, client, "")
        assert "7/10" not in nobody.get("/final").text
        publish(weighted, "t1")
        assert re.search(r"<strong>0\.7000</strong> <span[^>]*>7/10</span>", nobody.get("/final").text)
        assert "/matches/m1/results#of-t1" in nobody.get("/boards/onsite").text
        assert (
            'id="of-t1"' in nobody.get("/matches/m1/results").text and "7/10" in nobody.get("/matches/m1/results").text
        )
        weighted.add(e.AwardGiven(0, "t1", "by rank"))
        certificate = nobody.get("/certificates/0/t1").text
        assert "Rank 1 of 2" in certificate and "0.7000" in certificate
        correction = {"attempt": 1, "met": ("g1", "g2"), "reason": "the second camera shows it"}
        weighted.clock.advance(1)
        weighted.add(m.CaseRuled(match="m1", team="t1", case="pick-1", **correction), by="hugo")
        assert "31/40" in nobody.get("/final?lang=zh").text
        assert "0.7000" in nobody.get("/certificates/0/t1").text


def test_why_one_team_is_before_another_is_told_of_any_pair(table: MatchWorld, nobody: As) -> None:
    for team, met in (("t1", ("g1",)), ("t2", ("g1", "g2"))):
        played(table, team, met)
        publish(table, team)
    for first, second in (("t1", "t2"), ("t2", "t1")):
        found = results(table.site, "m1", NOBODY, (first, second)).between
        assert found.en == ("Team <t2> is before Team <t1> by on-site score: 10.00 against 5.00, more is better.")
    for strange in (("t1", "t1"), ("t1", "nobody"), ("", "")):
        assert results(table.site, "m1", NOBODY, strange).between.en == ""
    assert nobody.get("/matches/m1/results?first=<b>&second=t1").status_code == 200


def test_whom_the_organiser_disqualifies_has_no_rank_at_the_table_either(table: MatchWorld) -> None:
    played(table, "t1")
    publish(table, "t1")
    table.add(e.TeamDisqualified("t1", "two accounts", "onsite"))
    (team,) = results(table.site, "m1", NOBODY).teams
    assert (team.rank, team.out) == (None, "two accounts")
    assert table.site.boards.rows("onsite") == []


def test_a_rehearsal_has_no_final_score(blank: Made) -> None:
    world = MatchWorld(blank).tell().opened(rehearsal=True)
    played(world, "t1")
    publish(world, "t1")
    page = results(world.site, "m1", NOBODY)
    assert page.rehearsal and not page.has_final
    world.close()


# The published pack


def test_everybody_can_read_the_pack_in_their_language(blank: Made, tiny: Callable[[str], Path]) -> None:
    world = match_world.match_world(blank)
    shutil.copytree(tiny("tabletop-manip-v1"), blank.folder / "table")
    with TestClient(world.app, raise_server_exceptions=False) as client:
        nobody = As(world, client, "")
        assert "Technical manual" in nobody.get("/pack").text
        assert "规则第 1 版" in nobody.get("/pack?lang=zh").text
        assert nobody.get("/pack?phase=online").status_code == 409
    world.close()


def test_a_contest_without_a_match_has_no_pack(nobody: As) -> None:
    answer = nobody.get("/pack?phase=online", **{"accept-language": "zh"})
    assert answer.status_code == 409 and "[phase.match]" in answer.text
