"""What referees publish becomes the phase's result: exact, as of its time, in the final standing and in exports."""

from fractions import Fraction
from pathlib import Path

import msgspec
import pytest

from palestra.cli.contest_board import print_board
from palestra.contest.archive import tables
from palestra.contest.archive.recompute_results import reverify
from palestra.contest.boards import ranking
from palestra.contest.boards.cache import Boards
from palestra.contest.contest import Contest
from palestra.contest.decisions.promotion import proposed_awards
from palestra.contest.log import events as e
from palestra.contest.log.reducer import fold
from palestra.contest.log.state import unpacked
from palestra.contest.match import events as m
from palestra.contest.match.cross_check import numbers_again
from palestra.contest.rules.model import Award, MatchPlan
from palestra.contest.storage.database import open_database, sqlite_address
from palestra.contest.storage.file_store import Files
from palestra.contest.visibility import NOBODY, Viewer
from palestra.records import Estimate
from palestra.text import Words
from tests.contest.match.table import ANNA, BO, HEAD, SECOND, Table
from tests.contest.match.table import START as TABLE_START
from tests.contest.story import START, Story, a_phase, some_rules

TRACK = "tabletop-manip-v1"
OLGA = Viewer("organiser", "Olga", "organiser")


def rules():
    return some_rules(
        a_phase("online", track=TRACK),
        a_phase("onsite", track=TRACK, match=MatchPlan()),
        weights={"online": 0.4, "onsite": 0.6},
        awards=(Award("", Words("Champion", "冠军"), 1), Award("onsite", Words("Best on site", "现场第一"), 1)),
    )


class Contested:
    """A contest with an online phase, to which a match is told as it goes on."""

    def __init__(self, preset="literal", **more):
        self.story, self.table = Story(rules()), Table(preset, **more)
        for team in ("red", "blue"):
            self.story.add(e.AccountMade(f"c-{team}", f"c-{team}", "member"))
            self.story.add(e.TeamMade(team, team.title(), f"c-{team}"))
        self._told = 0

    def online(self, team, score):
        metrics = {"score": score, "full": score, "total_s": 60.0, "variance": 0.0}
        self.story.scored(team, score, "online", metrics={name: Estimate(one) for name, one in metrics.items()})

    def ask(self, who, kind, **fields):
        self.table.ask(who, kind, **fields)
        return self.tell()

    def tell(self):
        """Put into the contest's log what was said at the table since."""
        for entry in self.table.log[self._told :]:
            self.story.until(max(entry.at - TABLE_START + START, self.story.now))
            self.story.add(entry.body, by=entry.by)
        self._told = len(self.table.log)
        return self

    def play(self, team, *mets, ms=30 * SECOND):
        """One case after the other, each with what is met in it; the rest of the turn is given away."""
        self.table.begun(team)
        for met in mets:
            self.table.played(met, ms=ms, team=team)
        if len(mets) < 4:
            self.table.ask(ANNA, m.TurnClosed, team=team)
        return self.tell()

    def publish(self, team, cases=None):
        names = tuple(self.table.match.turns[team].cases) if cases is None else cases
        return self.ask(HEAD, m.ResultsPublished, team=team, cases=names)

    def board(self, as_of=None):
        return [(row.rank, row.entry.team, row.entry.exact["score"]) for row in self.story.board("onsite", as_of)]

    def final(self):
        boards = {phase: self.story.board(phase) for phase in ("online", "onsite")}
        return ranking.final(self.story.state, self.story.now, boards)


BOTH, ONE, NONE = ("s1", "s2"), ("s1",), ()


def test_a_phase_has_a_teams_result_when_all_of_it_is_published_and_not_before():
    found = Contested().play("red", BOTH, ONE, NONE, ONE)
    assert found.board() == []
    first, *rest = found.table.match.turns["red"].cases
    assert found.publish("red", (first,)).board() == []
    assert found.publish("red", tuple(rest)).board() == [(1, "red", "1/2")]
    entry = found.story.board("onsite")[0].entry
    assert entry.exact == {"score": "1/2", "full": "1/4", "total_s": "120", "variance": "1/8"}
    assert (entry.match, entry.submission, entry.metrics["score"].value) == ("m", "", 0.5)


def test_equal_scores_on_site_are_parted_by_time_on_the_board():
    found = Contested()
    found.play("red", ONE, ONE, ONE, ONE, ms=40 * SECOND).publish("red")
    found.play("blue", ONE, ONE, ONE, ONE, ms=39 * SECOND).publish("blue")
    assert found.board() == [(1, "blue", "1/2"), (2, "red", "1/2")]


def test_scores_that_a_float_cannot_part_are_parted():
    found = Contested()
    found.play("red", BOTH, BOTH, BOTH, BOTH)
    found.ask(ANNA, m.PenaltyProposed, team="red", penalty="p", what="points", points="1/999999999999999999",
              rule="7", reason="touched the table")  # fmt: skip
    found.ask(BO, m.PenaltyConfirmed, team="red", penalty="p").publish("red")
    found.play("blue", BOTH, BOTH, BOTH, BOTH, ms=60 * SECOND).publish("blue")
    assert [(rank, team) for rank, team, _ in found.board()] == [(1, "blue"), (2, "red")]
    assert len({row.entry.metrics["score"].value for row in found.story.board("onsite")}) == 1


def test_a_ruling_after_publication_makes_a_new_result_and_the_old_one_stays_what_it_was():
    found = Contested().play("red", BOTH, ONE, NONE, ONE).publish("red")
    then = found.story.now
    case = list(found.table.match.turns["red"].cases)[1]
    found.ask(HEAD, m.CaseRuled, team="red", case=case, attempt=1, met=BOTH, reason="the second camera shows it")
    assert (found.board(), found.board(then)) == ([(1, "red", "5/8")], [(1, "red", "1/2")])
    kept = found.story.state.on_site["onsite"]["red"]
    assert [one.numbers["score"] for one in kept] == ["1/2", "5/8"]
    assert [point.value for point in found.story.board("onsite")[0].entry.history] == [0.5, 0.625]


def test_a_corrected_time_and_a_late_deduction_count_as_well():
    found = Contested().play("red", BOTH, BOTH).publish("red")
    case = next(iter(found.table.match.turns["red"].cases))
    found.ask(HEAD, m.TimeCorrected, team="red", case=case, ran_ms=1, reason="pressed late")
    found.ask(ANNA, m.PenaltyProposed, team="red", penalty="p", what="points", points="1/10", rule="7", reason="late")
    assert found.board() == [(1, "red", "1/2")]
    found.ask(BO, m.PenaltyConfirmed, team="red", penalty="p")
    assert found.board() == [(1, "red", "2/5")]
    assert found.story.board("onsite")[0].entry.exact["total_s"] == "1230"  # 0 + 30 + twice a case's 600 s


def test_whoever_referees_disqualify_is_on_no_board_nor_in_the_final_standing_until_it_is_withdrawn():
    found = Contested().play("red", BOTH, BOTH, BOTH, BOTH).publish("red")
    found.online("red", 1.0)
    assert [row.team for row in found.final()] == ["red"]
    found.ask(ANNA, m.PenaltyProposed, team="red", penalty="p", what="team", rule="12", reason="altered a log")
    found.ask(HEAD, m.PenaltyConfirmed, team="red", penalty="p")
    assert (found.board(), found.final()) == ([], [])
    found.ask(HEAD, m.PenaltyWithdrawn, team="red", penalty="p", reason="it was the robot's log")
    assert [row.team for row in found.final()] == ["red"]


def test_a_rehearsal_counts_for_nothing():
    found = Contested(rehearsal=True).play("red", BOTH, BOTH, BOTH, BOTH).publish("red")
    assert found.story.state.on_site == {} and found.board() == []


def test_what_a_bundle_did_in_the_simulator_is_no_result_of_a_phase_with_referees():
    found = Contested()
    found.story.scored("blue", 0.9, "onsite", metrics={"score": Estimate(0.9)})
    assert found.board() == []


def test_two_tables_of_one_phase_make_one_board():
    found = Contested().play("red", ONE, ONE, ONE, ONE).publish("red")
    other = Table("literal")
    other.begun("blue")
    for _ in range(4):
        other.played(BOTH, team="blue")
    other.ask(HEAD, m.ResultsPublished, team="blue", cases=tuple(other.match.turns["blue"].cases))
    for entry in other.log:
        found.story.wait(1).add(msgspec.structs.replace(entry.body, match="m2"), by=entry.by)
    assert found.board() == [(1, "blue", "1"), (2, "red", "1/2")]
    assert {row.entry.team: row.entry.match for row in found.story.board("onsite")} == {"red": "m", "blue": "m2"}


def test_the_final_standing_is_exactly_two_fifths_online_and_three_on_site():
    found = Contested()
    found.play("red", BOTH, ONE, NONE, ONE).publish("red")
    found.play("blue", BOTH, BOTH, ONE, NONE).publish("blue")
    found.online("red", 1.0)
    found.online("blue", 1 / 3)
    rows = {row.team: row for row in found.final()}
    assert rows["red"].exact == str(Fraction(2, 5) + Fraction(3, 5) * Fraction(1, 2)) == "7/10"
    assert rows["blue"].exact == str(Fraction(2, 5) * Fraction(1, 3) + Fraction(3, 5) * Fraction(5, 8))
    assert rows["red"].shares == {"online": "1", "onsite": "1/2"}
    assert [row.team for row in found.final()] == ["red", "blue"]


def test_awards_follow_the_final_standing_and_the_on_site_board():
    found = Contested()
    found.play("red", BOTH, ONE, NONE, ONE).publish("red")
    found.play("blue", BOTH, BOTH, ONE, NONE).publish("blue")
    found.online("red", 1.0)
    boards = {"onsite": found.story.board("onsite")}
    assert proposed_awards(rules(), boards, found.final()) == {0: ["red"], 1: ["blue"]}


def test_a_state_with_results_on_site_survives_being_packed():
    found = Contested().play("red", BOTH, ONE, NONE, ONE).publish("red")
    events = found.story.events
    for cut in (len(events) // 2, len(events)):
        packed = msgspec.msgpack.encode(fold(events[:cut]))
        assert fold(events[cut:], unpacked(packed)) == found.story.state


def kept_in(folder, clock):
    """A contest in a folder, at the time that the clock says."""
    files, address = Files.open(str(folder / "files")), sqlite_address(folder / "contest.db")
    return Contest(open_database(address), files, lambda: clock[0])


def test_a_printed_board_says_of_what_referees_judged_that_they_did(tmp_path: Path, capsys):
    found, clock = Contested().play("red", BOTH, ONE, NONE, ONE).publish("red"), [0]
    found.online("blue", 0.7)
    contest = kept_in(tmp_path, clock)
    for event in found.story.events:
        clock[0] = event.at
        contest.act(event.by, lambda state, at, body=event.body: [body])
    print_board(contest, "onsite", public=False, json=False)
    assert "judged once" in (printed := capsys.readouterr().out) and "fewer than" not in printed
    print_board(contest, "online", public=False, json=False)
    assert "fewer than 5" in (printed := capsys.readouterr().out) and "judged" not in printed
    contest.close()


def test_boards_that_are_kept_follow_what_is_published(tmp_path: Path):
    found = Contested().play("red", BOTH, ONE, NONE, ONE).publish("red")
    case = list(found.table.match.turns["red"].cases)[1]
    found.ask(HEAD, m.CaseRuled, team="red", case=case, attempt=1, met=BOTH, reason="the second camera shows it")
    clock = [0]
    contest = kept_in(tmp_path, clock)
    boards, seen = Boards(contest), []
    for event in found.story.events:
        clock[0] = event.at
        contest.act(event.by, lambda state, at, body=event.body: [body])
        if contest.state.versions:
            shown = [row.entry.exact["score"] for row in boards.rows("onsite")]
            seen += [shown] if not seen or seen[-1] != shown else []
    assert seen == [[], ["1/2"], ["5/8"]]
    contest.close()
    again = Boards(kept_in(tmp_path, clock))
    assert [row.entry.exact["score"] for row in again.rows("onsite")] == ["5/8"]


# Exports


def test_tables_have_the_board_the_cases_and_the_final_standing_with_exact_fractions():
    found = Contested().play("red", BOTH, ONE, NONE, ONE).publish("red")
    found.play("blue", BOTH)
    found.online("red", 1.0)
    for viewer in (OLGA, NOBODY):
        made = tables.tables(found.story.state, viewer, found.story.now, found.story.draws.__getitem__)
        board = made["board-onsite"].to_dicts()
        assert [(row["team"], row["match"], row["score_exact"], row["score"]) for row in board] == [
            ("Red", "m", "1/2", 0.5)
        ]
        cases = made["cases-onsite"].to_dicts()
        assert sorted((row["team_id"], row["met"], row["total"], row["score_exact"]) for row in cases) == [
            ("red", 0, 2, "0"), ("red", 1, 2, "1/2"), ("red", 1, 2, "1/2"), ("red", 2, 2, "1")
        ]  # fmt: skip
        assert sum(Fraction(row["score_exact"]) for row in cases) / len(cases) == Fraction(board[0]["score_exact"])
        assert made["final"].to_dicts()[0]["score_exact"] == "7/10"
        assert tables.as_csv(made["cases-onsite"]) and tables.as_parquet(made["final"])


@pytest.mark.parametrize("mean", ["cases", "groups"])
def test_results_on_site_are_computed_again_by_the_metrics_of_their_track(tmp_path: Path, mean: str):
    found = Contested(settings={"mean": mean}).play("red", BOTH, ONE, NONE)
    found.ask(ANNA, m.PenaltyProposed, team="red", penalty="p", what="points", points="1/30", rule="7", reason="late")
    found.ask(BO, m.PenaltyConfirmed, team="red", penalty="p").publish("red")
    files = Files.open(str(tmp_path))
    (checked,) = reverify(found.story.state, files)
    assert (checked.submission, checked.how, checked.outcome) == ("m/red", "events", "same numbers")
    found.story.state.on_site["onsite"]["red"][-1].numbers["score"] = "1/3"
    (checked,) = reverify(found.story.state, files)
    assert checked.outcome == "differs" and "score is another number" in checked.message


def test_numbers_computed_again_are_those_of_the_exact_ones():
    found = Contested("seed").play("red", BOTH, ONE).publish("red")
    track = ranking.track_of(found.story.state.phase("onsite"))
    again = numbers_again(track, found.story.state.matches["m"], "red", found.story.now)
    exact = found.story.state.on_site["onsite"]["red"][-1].numbers
    assert again == pytest.approx({name: float(Fraction(number)) for name, number in exact.items()}, abs=1e-12)
