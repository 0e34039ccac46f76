"""Versions that teams hand in while a run is on stage, from the log to the run and back."""

import pytest

from palestra.contest.contest import Contest
from palestra.contest.decisions import submissions
from palestra.contest.log import events as e
from palestra.contest.log.clock import wall_clock
from palestra.contest.rules.model import encode
from palestra.contest.storage.database import connect
from palestra.contest.storage.file_store import Files
from palestra.contest.workers import stage_versions
from palestra.contest.workers.score import Entrant
from palestra.contest.workers.stage_versions import StageVersions
from palestra.errors import PalestraError
from tests.contest.story import DAY, HOUR, Story, a_phase, some_rules

READY = e.Rehearsal(4, 4, 1.0)


class Stage:
    """A run of two teams, in a contest's log."""

    def __init__(self, engine, folder):
        self.files = Files.open(str(folder / "files"))
        self.contest = Contest(engine, self.files)
        times = {"opens": wall_clock() - DAY, "closes": wall_clock() + DAY}
        self.add(
            e.ContestOpened(encode(some_rules(a_phase("final", track="near-eye-live-v1", held="on-stage", **times))))
        )
        for team in ("t1", "t2"):
            self.add(e.AccountMade(f"of-{team}", f"of-{team}", "member"), e.TeamMade(team, team, f"of-{team}"))
            self.send(f"{team}-first", team)
        self.add(e.RunStarted("u1", "final", ("t1-first", "t2-first")))
        entrants = {team: Entrant(f"{team}-first", team, "", "", team) for team in ("t1", "t2")}
        self.versions = StageVersions(engine, self.files, "u1", entrants)
        self.kept = {}

    def add(self, *bodies):
        self.contest.act("somebody", lambda state, now: bodies)

    def send(self, name, team, checked=True):
        self.add(e.SubmissionMade(name, team, "final", self.files.put(name.encode()), f"{name}.zip", 9))
        if checked:
            self.add(e.SubmissionAccepted(name, READY))

    def hand_in(self):
        self.kept = {}

        def keep(name, file):
            self.kept[name] = file.read_text()

        self.versions.hand_in("T2", keep, lambda: False)

    @property
    def state(self):
        self.contest.catch_up()
        return self.contest.state


@pytest.fixture
def stage(engine, tmp_path):
    return Stage(engine, tmp_path)


def test_a_teams_newest_version_is_handed_in_once_and_the_log_says_what_became_of_it(stage):
    stage.versions.open("T2", 3600.0)
    stage.send("second", "t1")
    stage.send("third", "t1")
    stage.send("other", "t2")
    stage.hand_in()
    assert stage.kept == {"t1": "third", "t2": "other"}
    stage.versions.took("T2", {"t2": "it does not load"})
    found = {one.submission: (one.sitting, one.message.en) for one in stage.state.runs["u1"].versions}
    assert found == {"third": ("T2", ""), "other": ("T2", "it does not load")}
    stage.hand_in()
    assert stage.kept == {}, "what played, or could not, is not tried again"


def test_a_version_whose_check_is_not_through_plays_from_the_sitting_after(stage, monkeypatch):
    monkeypatch.setattr(stage_versions, "CHECKS_S", 0.0)
    stage.send("slow", "t1", checked=False)
    stage.hand_in()
    assert stage.kept == {}
    stage.add(e.SubmissionAccepted("slow", READY))
    stage.hand_in()
    assert stage.kept == {"t1": "slow"}


def test_a_database_that_does_not_answer_costs_that_windows_versions_alone_and_is_told(stage, tmp_path):
    nowhere = connect(f"sqlite:///{tmp_path}/nowhere/contest.db")
    versions = StageVersions(nowhere, stage.files, "u1", {})
    versions.open("T2", 3600.0)
    (told,) = versions.trouble
    assert "did not answer in the window before T2" in told.en


def test_a_team_on_stage_may_hand_in_within_a_window_alone():
    phase = a_phase("final", track="near-eye-live-v1", held="on-stage")
    story = Story(some_rules(phase))
    team, other = story.team(), story.team()
    story.accept(first := story.submit(team, "final"))
    story.add(e.RunStarted("u1", "final", (first,)))

    def refusal(who):
        try:
            submissions.require_open(story.state, phase, who, story.now)
        except PalestraError as error:
            return error.text.en
        return ""

    assert "programs are frozen. No window has opened yet." in refusal(team)
    assert refusal(other) == "", "who is not on stage may get ready"
    story.add(e.WindowOpened("u1", "T1", story.now + HOUR))
    assert refusal(team) == ""
    story.wait(HOUR)
    assert "The window before T1 closed" in refusal(team)
    story.add(e.RunEnded("u1", "done"))
    assert refusal(team) == ""
