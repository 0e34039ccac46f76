"""Programs play a match in the simulator in place of the robot: the same events, and a standing in the end."""

import re
import shlex
import shutil
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from pathlib import Path

import msgspec
import pytest
from typer.main import get_command

from palestra import registry
from palestra.cli import contest as commands
from palestra.cli import rehearse
from palestra.contest.contest import Contest
from palestra.contest.log import events as ev
from palestra.contest.match import events as e
from palestra.contest.match.cases import Entrant
from palestra.contest.match.outcomes import outcomes_of
from palestra.contest.match.rules import match_rules
from palestra.contest.match.state import Match
from palestra.contest.rehearsal import Logged, Rehearsal
from palestra.contest.rules import reader
from palestra.contest.rules.model import encode
from palestra.contest.storage.database import open_database, sqlite_address
from palestra.contest.storage.file_store import Files
from palestra.entrants import open
from palestra.errors import PalestraError, UnknownName
from palestra.tracks.tabletop import format as on_disk
from palestra.tracks.tabletop.case_catalogue import catalogue, sheet
from tests.contest.bundles import PROGRAM, write_zip

TRACK = "tabletop-manip-v1"
CONTEST = f"""\
[contest]
id = "table"
name = {{ en = "Table", zh = "桌面" }}
zone = "Asia/Shanghai"

[[phase]]
id = "onsite"
title = {{ en = "On site", zh = "线下赛" }}
track = "{TRACK}"
data = "data/table"
opens = 2027-10-16T09:00:00
closes = 2027-10-17T18:00:00

[phase.match]
slot = "20 min"
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory, tiny) -> Path:
    """A contest's file with tiny data; nothing in it is changed by a test."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "contest.toml").write_text(CONTEST)
    shutil.copytree(tiny(TRACK), folder / "data" / "table")
    return folder


@pytest.fixture(scope="module")
def rules(home):
    return reader.read(home / "contest.toml")


@pytest.fixture(scope="module")
def rehearsed(home, rules):
    told: list[str] = []
    words = ["red=scripted", "blue=do-nothing"]
    return rehearse.on_paper(rules, home, "onsite", words, "practice", told.append), told


def test_the_scripted_program_meets_all_and_the_other_nothing(rehearsed):
    red, blue = (one.tally for one in rehearsed[0])
    assert (red.name, red.score, red.full, red.cases, red.published) == ("red", Fraction(1), 5, 5, 5)
    assert (blue.name, blue.score, blue.full) == ("blue", Fraction(0), 0)
    assert [one.rank for one in rehearsed[0]] == [1, 2]
    assert 10 < red.time_s < 300 and blue.time_s < 10


def test_every_case_is_told_as_it_ends(rehearsed):
    told = rehearsed[1]
    assert len(told) == 10
    assert re.fullmatch(r"red, \w+-p1: (\d) of \1 in [\d.]+ s", told[0])


def test_the_standing_ends_with_why(rehearsed):
    lines = rehearse.lines(rehearsed[0])
    assert lines[0].startswith("  1  red: 10.00 of 10 in ")
    assert lines[-1] == "red is before blue by on-site score: 10.00 against 0.00, more is better."
    assert rehearse.as_record(rehearsed[0][0])["score"] == "1"


def test_sub_goals_are_marked_for_all_referees_when_the_simulator_saw_them(home, rules):
    """Of one case, by the line that its first mark stands on."""
    case = on_disk.read_cases(home / "data" / "table", hidden=False)[0]
    paper = rehearse.settled(rules, "onsite", sheet([case], catalogue([case])), ["red"])
    play(paper, {"red": "scripted"}, home)
    state = paper.match.turns["red"].cases[case.id]
    assert set(state.marks) == {"referee-1", "referee-2"}
    (row,) = outcomes_of(paper.match, "red", paper.now)
    for goals in state.marks.values():
        assert [held.on for held in goals[1].values()] == [True] * row.total
        assert all(0 < held.first_at - state.started_at <= row.time_ms for held in goals[1].values())
    assert (row.state, row.ended, row.met) == ("agreed", "stopped", row.total)


BUNDLE = """
class MyAlgorithm:
    def reset(self, about):
        self.shown = 0

    def act(self, observation):
        assert observation["instruction"], "a program is told the instruction when the clock starts"
        self.shown += 1
        return {"actions": [list(observation["joints"]) + [1.0]], "done": self.shown == 3}
"""


def test_a_teams_own_bundle_plays_in_the_sandbox(home, rules, tmp_path):
    """As it is handed in: a zip with a class, which is shown the table three times and says that it is done."""
    file = write_zip(tmp_path / "red.zip", {PROGRAM: BUNDLE})
    case = on_disk.read_cases(home / "data" / "table", hidden=False)[0]
    paper = rehearse.settled(rules, "onsite", sheet([case], catalogue([case])), ["red"])
    play(paper, {"red": str(file)}, home)
    (row,) = outcomes_of(paper.match, "red", paper.now)
    assert (row.ended, row.met, row.state) == ("stopped", 0, "agreed")
    assert 0 < row.time_ms < 5_000


def play(table, words, home):
    simulate = partial(registry.track(TRACK).match.rehearse, home / "data" / "table")
    with ExitStack() as stack:
        called = [open.Called(name, what) for name, what in words.items()]
        Rehearsal(table, rehearse.players(called, TRACK, False, stack), simulate).play()


# In the contest's log


class Clock:
    def __init__(self) -> None:
        self.at = 1_792_000_000_000

    def __call__(self) -> int:
        self.at += 50
        return self.at


@pytest.fixture
def logged(home, rules, tmp_path):
    """A match of a contest with one case, opened as a rehearsal and settled by people."""
    engine = open_database(sqlite_address(tmp_path / "contest.db"))
    contest = Contest(engine, Files.open(str(tmp_path / "files")), Clock())
    case = on_disk.read_cases(home / "data" / "table", hidden=False)[0]
    known = catalogue([case])
    opened = e.MatchOpened(
        match="m1", phase="onsite", rules=match_rules(rules, "onsite"), groups=sheet([case], known).groups,
        teams=(Entrant("t1", "Red team"),), head="hugo", things=known.things, rehearsal=True,
    )  # fmt: skip
    contest.act("system", lambda state, now: [ev.ContestOpened(encode(rules), "tests"), opened])
    for name in ("hugo", "rolf", "rita"):
        contest.act(name, lambda state, now: [e.RefereeDeclared(match="m1")])
    contest.act("olga", lambda state, now: [e.GroupsDrawn(match="m1", orders={"t1": (case.group,)})])
    yield contest, case
    engine.dispose()


def test_a_match_of_the_contest_is_marked_as_things_happen_and_signed_by_people(logged, home):
    contest, case = logged
    play(Logged(contest, "m1"), {"t1": "scripted"}, home)
    match: Match = contest.state.match("m1")
    (row,) = outcomes_of(match, "t1", contest.now())
    assert (row.met, row.total, row.state) == (len(case.goals), len(case.goals), "unscored")
    marks = match.turns["t1"].cases[case.id].marks
    assert set(marks) == {"rolf", "rita"} and not match.turn_logs["t1"].strays
    signed = e.MarksSigned(match="m1", team="t1", case=case.id, attempt=1, met=tuple(goal.id for goal in case.goals))
    for name in ("rolf", "rita"):
        contest.act(name, lambda state, now: [signed])
    assert outcomes_of(contest.state.match("m1"), "t1", contest.now())[0].state == "agreed"


def test_the_simulator_can_sign_for_referees(logged, home):
    contest, _ = logged
    play(Logged(contest, "m1", agreed=True), {"t1": "do-nothing"}, home)
    (row,) = outcomes_of(contest.state.match("m1"), "t1", contest.now())
    assert (row.met, row.state) == (0, "agreed")


def test_teams_and_cases_that_are_not_there_are_told(logged, home):
    contest, _ = logged
    with pytest.raises(UnknownName, match="Did you mean 'Red team'"):
        rehearse.at_a_match(contest, home, "m1", ["Red tea=scripted"], False, print)
    contest.act("system", lambda state, now: [opened_anew(state.match("m1"))])
    with pytest.raises(PalestraError, match="m2 is no rehearsal"):
        rehearse.at_a_match(contest, home, "m2", ["t1=scripted"], False, print)


def opened_anew(match: Match) -> e.MatchOpened:
    return msgspec.structs.replace(match.opened, match="m2", rehearsal=False)


# Commands


def test_the_examples_of_the_commands_run(cli, home, tmp_path, monkeypatch):
    group = get_command(commands.app).commands  # type: ignore[attr-defined]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(home / "data")
    shutil.copy(home / "contest.toml", tmp_path / "contest.toml")
    for name in ("pack", "rehearse"):
        words = shlex.split(group[name].epilog.partition("Example: palestra ")[2])
        ran = cli(*words)
        assert ran.code == 0, ran.err
    assert "red is before blue" in ran.out
    assert "技术手册" in (tmp_path / "pack.html").read_text()
    assert not (tmp_path / "contest.contest").exists(), "neither opens a contest"


def test_a_phase_without_a_match_is_refused_in_words(cli, home, tmp_path):
    plain = tmp_path / "contest.toml"
    plain.write_text(CONTEST.partition("[phase.match]")[0])
    for words in (("pack", plain, tmp_path / "pack.html"), ("rehearse", plain, "onsite", "scripted")):
        ran = cli("contest", *words)
        assert ran.code == 1 and "needs [phase.match] in the contest file" in ran.err
