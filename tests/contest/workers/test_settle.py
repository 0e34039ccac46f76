"""A submission from its arrival to the board: real jobs, done in this process, on both databases."""

import shutil
from concurrent.futures import Future

import msgspec
import pytest

from palestra import registry
from palestra.contest.boards.cache import Boards
from palestra.contest.contest import Contest
from palestra.contest.decisions import organiser, rescoring, submissions, teams
from palestra.contest.decisions.submissions import Sent
from palestra.contest.log import events as e
from palestra.contest.log.clock import new_id
from palestra.contest.queue import jobs
from palestra.contest.queue.triggers import Order
from palestra.contest.rules.model import Quota
from palestra.contest.storage.database import writing
from palestra.contest.storage.file_store import Files
from palestra.contest.workers.jobs import do, warm_up
from palestra.contest.workers.score import Failure, Outcome
from palestra.contest.workers.settle import Desk
from palestra.contest.workers.worker import Worker
from palestra.executors.processes import Crashed
from palestra.report.bilingual import only
from palestra.text import Words
from tests.contest.story import DAY, a_phase, some_rules

TRACK = "near-eye-gaze-v1"
KINDS = ("check", "score", "report", "verify", "baseline")


class Here:
    """An executor that does the work at once, in this process."""

    name, capacity = "here", 1

    def __init__(self, crashes=0):
        self.crashes = crashes

    def submit(self, work, argument):
        future = Future()
        if self.crashes:
            self.crashes -= 1
            future.set_exception(Crashed("killed"))
        else:
            future.set_result(work(argument))
        return future

    def end(self, future):
        raise AssertionError("nothing runs beside us")

    def close(self):
        pass


@pytest.fixture
def world(engine, clock, tiny, tmp_path):
    """A contest with two teams and real data."""

    class World:
        home = tmp_path
        track = registry.track(TRACK)

        def __init__(self):
            (tmp_path / "data").symlink_to(tiny(TRACK))
            self.contest = Contest(engine, Files.open(str(tmp_path / "files")), clock)
            now = clock()
            rules = some_rules(
                a_phase(data="data", opens=now - DAY, closes=now + DAY, quota=Quota(2, "day"), split=self.split)
            )
            self.act(lambda state, _: organiser.open_contest(state, rules, "tests"))
            self.teams = [self.team(name) for name in ("Ada", "Bob")]
            self.desk = Desk(self.contest, tmp_path)
            trials = self.track.trials(tmp_path / "data")
            self.blank = tmp_path / "blank.csv"
            self.track.writes(self.track.blank(trials), self.blank)

        split = None

        def act(self, decide, by="organiser"):
            return self.contest.act(by, decide)

        def team(self, name):
            account, team = new_id("a"), new_id("t")
            self.act(lambda state, _: teams.make_account(state, account, name, "member"))
            self.act(lambda state, now: teams.make_team(state, now, team, name, account, True))
            return team

        def submit(self, team, data, name="answers.csv"):
            submission, digest = new_id("s"), self.contest.files.put(data)
            self.act(
                lambda state, now: submissions.receive(
                    state, now, Sent(submission, team, "first", digest, name, len(data))
                )
            )
            return submission

        def work(self, crashes=0, kinds=KINDS):
            executor = Here(crashes)
            worker = Worker(engine, dict.fromkeys(kinds, executor), do, self.desk.settle, clock, begin=self.desk.begin)
            while worker.step():
                pass
            self.contest.catch_up()

        def __getitem__(self, submission):
            return self.contest.state.submissions[submission]

    return World()


def kinds_of(contest, submission):
    from palestra.contest.log import chain
    from palestra.contest.storage.database import reading

    with reading(contest.engine) as connection:
        events = list(chain.read(connection))
    return [e.kind_of(event.body) for event in events if getattr(event.body, "submission", None) == submission]


def test_a_good_file_is_checked_scored_and_reported(world):
    one = world.submit(world.teams[0], world.blank.read_bytes())
    world.work()
    assert kinds_of(world.contest, one) == [
        "submission.made", "submission.accepted", "attempt.started", "result.made", "report.made",
    ]  # fmt: skip
    score = world[one].scores[0]
    assert world[one].stage == "scored" and score.metrics["pe_deg"].value > 1
    page = world.contest.files.read(score.report).decode()
    full = world.contest.files.read(score.files["organiser-report"]).decode()
    assert "Ada" in page and "<img" not in page and "Worst trials" in full
    assert "误差最大的试次" in only(full, "zh") and "Worst trials" not in only(full, "zh"), "both languages are kept"
    assert [row.entry.team for row in Boards(world.contest).rows("first")] == [world.teams[0]]


def test_a_bad_file_is_refused_in_words_and_costs_nothing(world):
    one = world.submit(world.teams[0], b"person,group,frame,x,y\nnobody,1,1,0,0\n")
    world.work()
    assert world[one].stage == "refused" and world[one].faults and world[one].fault_count >= 1
    phase = world.contest.state.phase("first")
    assert submissions.allowance(world.contest.state, phase, world.teams[0], world.contest.now()).used == 0


def test_a_crash_is_ours_and_is_tried_again(world, clock):
    one = world.submit(world.teams[0], world.blank.read_bytes())
    world.work(crashes=1)
    assert [mishap.fault for mishap in world[one].mishaps] == ["platform"]
    clock.advance(60_000)
    world.work()
    assert world[one].stage == "scored"


def test_after_so_many_crashes_a_submission_ends_as_a_named_fault_that_costs_nothing(world, clock):
    one = world.submit(world.teams[0], world.blank.read_bytes())
    for _ in range(jobs.MOST_ATTEMPTS):
        world.work(crashes=1)
        clock.advance(10 * 60_000)
    assert world[one].stage == "faulted" and "no fault of yours" in world[one].message.en
    phase = world.contest.state.phase("first")
    assert submissions.allowance(world.contest.state, phase, world.teams[0], world.contest.now()).used == 0


def test_missing_data_is_told_to_the_organiser_and_not_to_the_contestant(world):
    one = world.submit(world.teams[0], world.blank.read_bytes())
    (world.home / "data").unlink()
    world.work()
    mishap = world[one].mishaps[0]
    assert mishap.fault == "platform" and "data" not in mishap.message.en.replace("database", "")
    assert "is not there" in world.contest.files.read(mishap.trace).decode()


def test_an_exact_copy_of_another_teams_answers_is_found(world):
    noisy = world.track.files.read(world.blank, world.track.trials(world.home / "data"))
    noisy = noisy.with_columns(x=noisy["x"] + noisy["trial"].hash() % 1000 / 100)
    world.track.writes(noisy, world.home / "own.csv")
    data = (world.home / "own.csv").read_bytes()
    first, second = (world.submit(team, data) for team in world.teams)
    world.work()
    assert [(copy.submission, copy.of, copy.exact) for copy in world.contest.state.copies] == [(second, first, True)]


def test_two_blank_templates_are_no_copies(world):
    for team in world.teams:
        world.submit(team, world.blank.read_bytes())
    world.work()
    assert world.contest.state.copies == []


def test_scoring_again_makes_another_score_that_counts_when_it_is_applied(world):
    one = world.submit(world.teams[0], world.blank.read_bytes())
    world.work()
    world.act(lambda state, now: rescoring.propose(state, now, "r1", "first", [], "a label was wrong"))
    world.work()
    assert [score.counts_from is None for score in world[one].scores] == [False, True]
    world.act(lambda state, now: rescoring.apply(state, "r1"))
    assert all(score.counts_from is not None for score in world[one].scores)


def test_what_is_done_after_a_set_was_cancelled_is_thrown_away(world):
    one = world.submit(world.teams[0], world.blank.read_bytes())
    world.work()
    world.act(lambda state, now: rescoring.propose(state, now, "r1", "first", [], "a label was wrong"))
    world.act(lambda state, now: rescoring.cancel(state, "r1", "it was right"))
    world.work()
    assert len(world[one].scores) == 1


def test_an_outcome_counts_once_though_it_is_settled_twice(world):
    one = world.submit(world.teams[0], world.blank.read_bytes())
    job = jobs.lease(world.contest.engine, "w", ["check"], world.contest.now())
    outcome = do(world.desk.begin(job))
    world.desk.settle(job, outcome)
    world.desk.settle(job, outcome)
    assert kinds_of(world.contest, one) == ["submission.made", "submission.accepted"]


def test_a_cancelled_job_writes_nothing_down(world):
    one = world.submit(world.teams[0], world.blank.read_bytes())
    job = jobs.lease(world.contest.engine, "w", ["check"], world.contest.now())
    outcome = do(world.desk.begin(job))
    with writing(world.contest.engine) as connection:
        jobs.cancel(connection, f"check:{one}", world.contest.now())
    world.desk.settle(job, outcome)
    assert kinds_of(world.contest, one) == ["submission.made"]


def test_what_was_cancelled_before_its_attempt_began_does_not_run_for_ever(world):
    one = world.submit(world.teams[0], world.blank.read_bytes())
    world.work(kinds=["check"])
    job = jobs.lease(world.contest.engine, "w", ["score"], world.contest.now())
    world.contest.act(
        "organiser",
        lambda state, now: submissions.cancel(state, now, one, "sent by mistake"),
        lambda connection, _: jobs.cancel(connection, f"score:{one}:", world.contest.now()),
    )
    world.desk.settle(job, do(world.desk.begin(job)))
    assert world[one].stage == "cancelled"
    phase = world.contest.state.phase("first")
    assert submissions.allowance(world.contest.state, phase, world.teams[0], world.contest.now()).used == 0


def test_a_run_on_the_stage_brings_nothing_back_that_was_cancelled_meanwhile(world):
    kept, gone = (world.submit(team, world.blank.read_bytes()) for team in world.teams)
    world.work(kinds=["check"])
    world.act(lambda state, now: [e.RunStarted("u1", "first", (kept, gone))])
    job = jobs.lease(world.contest.engine, "w", ["run"], world.contest.now())
    world.act(lambda state, now: submissions.cancel(state, now, gone, "sent by mistake"))
    results = (e.ResultMade(name, 1, {}) for name in (kept, gone))
    world.desk.settle(job, Outcome((*results, e.RunEnded("u1", "done"))))
    assert (world[kept].stage, world[gone].stage) == ("scored", "cancelled")
    assert world[gone].scores == [] and world.contest.state.runs["u1"].outcome == "done"


def test_the_report_of_a_set_that_was_applied_meanwhile_is_kept(world):
    one = world.submit(world.teams[0], world.blank.read_bytes())
    world.work()
    world.act(lambda state, now: rescoring.propose(state, now, "r1", "first", [], "a label was wrong"))
    world.work(kinds=["score"])
    world.act(lambda state, now: rescoring.apply(state, "r1"))
    world.work()
    before, after = world[one].scores
    assert before.report and after.report and world.contest.files.has(after.files["organiser-report"])


def test_the_report_of_a_set_that_was_cancelled_is_thrown_away(world):
    one = world.submit(world.teams[0], world.blank.read_bytes())
    world.work()
    world.act(lambda state, now: rescoring.propose(state, now, "r1", "first", [], "a label was wrong"))
    world.work(kinds=["score"])
    world.act(lambda state, now: rescoring.cancel(state, "r1", "it was right"))
    world.work()
    assert [bool(score.report) for score in world[one].scores] == [True, False]


def test_scores_that_come_out_the_same_have_a_report_of_their_own(world):
    one = world.submit(world.teams[0], world.blank.read_bytes())
    world.work()
    world.act(lambda state, now: rescoring.propose(state, now, "r1", "first", [], "to be sure"))
    score = world[one].scores[0]
    same = e.ResultMade(one, 1, score.metrics, files={"scores": score.files["scores"]}, rescoring="r1")
    world.act(lambda state, now: [same])
    world.act(lambda state, now: rescoring.apply(state, "r1"))
    world.work(kinds=["report"])
    assert [bool(score.report) for score in world[one].scores] == [True, True]


def test_answers_that_a_baseline_gave_are_nobodys_own_however_many_teams_came_since(world, monkeypatch):
    monkeypatch.setattr("palestra.contest.workers.settle.MOST_OTHERS", 1)
    order = msgspec.json.encode(Order(phase="first", solution="pupil")).decode()
    with writing(world.contest.engine) as connection:
        jobs.queue(connection, "baseline:first:pupil", "baseline", order, world.contest.now())
    world.work()
    baseline = next(one for one in world.contest.state.submissions.values() if one.baseline)
    for team in world.teams:
        world.contest.now.advance(1)
        world.submit(team, world.contest.files.read(baseline.file), baseline.name)
        world.work()
    assert world.contest.state.copies == []


def test_a_contestants_failure_ends_the_attempts_at_once(world):
    one = world.submit(world.teams[0], world.blank.read_bytes())
    job = jobs.lease(world.contest.engine, "w", ["check"], world.contest.now())
    world.desk.begin(job)
    world.desk.settle(job, Outcome(failure=Failure("contestant", Words.same("It answers nothing."), "trace")))
    assert world[one].stage == "failed" and world[one].message.en == "It answers nothing."


def test_a_baseline_stands_on_the_board_unranked(world):
    order = msgspec.json.encode(Order(phase="first", solution="pupil")).decode()
    with writing(world.contest.engine) as connection:
        jobs.queue(connection, "baseline:first:pupil", "baseline", order, world.contest.now())
    world.work()
    rows = Boards(world.contest).rows("first")
    assert [(row.rank, row.entry.name) for row in rows] == [(None, "pupil")]


def test_warming_up_reads_the_data_of_open_phases_and_fails_on_none(world):
    assert [one.phase.id for one in world.desk.warm_up()] == ["first"]
    warm_up(world.desk.warm_up())
    shutil.rmtree(world.home / "files", ignore_errors=True)
    (world.home / "data").unlink()
    warm_up(world.desk.warm_up())
