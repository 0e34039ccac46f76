"""Workers: with real processes where processes matter, and hands of the test where their order does."""

import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import Future, wait
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import insert, select, text
from sqlalchemy.exc import OperationalError

from palestra.contest.log.clock import ClockSet
from palestra.contest.queue import jobs
from palestra.contest.queue.jobs import BEAT_MS, LEASE_MS, MOST_ATTEMPTS
from palestra.contest.storage import tables
from palestra.contest.storage.database import open_database, reading, sqlite_address, writing
from palestra.contest.workers.worker import CRASHED, LOST, POLL_S, RAISED, STOP_MS, Fault, Worker
from palestra.executors.processes import Crashed, Ended, ProcessExecutor, Raised
from palestra.executors.ray_cluster import RayExecutor
from palestra.text import Words, say
from tests import ROOT
from tests.contest.conftest import START_MS

LIMIT_S = 120


class Hands:
    """An executor whose jobs end when the test says so."""

    name = "hands"

    def __init__(self, capacity=1):
        self.capacity = capacity
        self.given = {}  # future by key
        self.ended = []
        self.closed = False

    def submit(self, work, argument):
        self.given[argument.key] = Future()
        return self.given[argument.key]

    def end(self, future):
        self.ended.append(future)
        if not future.done():
            future.set_exception(Ended("it was stopped"))

    def close(self):
        self.closed = True


class Book:
    """Settles jobs as a contest does: what counts and the end of the job are one transaction."""

    def __init__(self, engine, now):
        self.engine = engine
        self.now = now

    def settle(self, job, outcome):
        with writing(self.engine) as connection:
            if isinstance(outcome, Fault):
                kept = jobs.give_up(connection, job, outcome.message, self.now(), jobs.retry_at(job, self.now()))
            else:
                kept = jobs.finish(connection, job, self.now())
            if kept:
                name = f"{job.key} {job.attempt}"
                words = outcome.trace if isinstance(outcome, Fault) else str(outcome)
                connection.execute(insert(tables.settings).values(name=name, value=words))

    def entries(self):
        with reading(self.engine) as connection:
            return {row.name: row.value for row in connection.execute(select(tables.settings))}


def do(job):
    """Whatever its body says."""
    if job.body == "crash":
        os._exit(9)
    if job.body == "raise":
        raise ValueError("the truth is 42")
    if job.body.startswith("hang "):
        with open(job.body[5:], "w") as pipe:  # noqa: PTH123
            pipe.write(str(os.getpid()))
        signal.pause()
    return f"{job.key}: {job.body}"


def queue(engine, key, body="fine", kind="score"):
    with writing(engine) as connection:
        jobs.queue(connection, key, kind, body, START_MS)


def state_of(engine, key):
    return next(job.state for job in jobs.listed(engine) if job.key == key)


@pytest.fixture
def book(engine, clock):
    return Book(engine, clock)


@pytest.fixture
def make(engine, book, clock):
    """Makes workers; those with real executors are closed after."""
    made = []

    def worker(executor, name="ada", **more):
        made.append(Worker(engine, {"score": executor}, do, book.settle, clock, name=name, **more))
        return made[-1]

    yield worker
    for worker in made:
        worker.close()


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return str(tmp_path / "pipe")


def keys(found):
    return [job.key for job in found]


def until_idle(worker):
    """Steps until nothing runs, waiting for processes and not for time."""
    while worker.step() or worker.running:
        wait([doing.future for doing in worker.running.values()], LIMIT_S)


def test_a_worker_takes_up_to_its_capacity_and_the_next_when_one_is_done(engine, make, book):
    for key in "abc":
        queue(engine, key)
    hands = Hands(2)
    worker = make(hands)
    assert keys(worker.step().taken) == ["a", "b"]
    assert not worker.step()
    hands.given["b"].set_result("B")
    round_ = worker.step()
    assert (keys(round_.settled), keys(round_.taken)) == (["b"], ["c"])
    assert book.entries() == {"b 1": "B"}
    assert state_of(engine, "b") == "done"


def test_each_kind_goes_to_its_own_executor(engine, book, clock):
    rest, live = Hands(1), Hands(1)
    for key, kind in [("a", "live"), ("b", "live"), ("c", "score"), ("d", "check"), ("e", "pack")]:
        queue(engine, key, kind=kind)
    worker = Worker(engine, {"score": rest, "check": rest, "live": live}, do, book.settle, clock)
    assert sorted(keys(worker.step().taken)) == ["a", "c"]
    assert (list(rest.given), list(live.given)) == (["c"], ["a"])
    worker.close()


def test_beats_keep_what_runs_long(engine, make, clock):
    queue(engine, "a")
    hands, other = Hands(), Hands()
    worker, second = make(hands), make(other, "bob")
    worker.step()
    for _ in range(10):
        clock.advance(BEAT_MS)
        worker.step()
        assert not second.step()
    hands.given["a"].set_result("done after all")
    assert keys(worker.step().settled) == ["a"]


def test_a_beat_is_sent_every_ten_seconds_and_not_at_every_step(engine, make, clock):
    queue(engine, "a")
    worker = make(Hands())
    ends = set()
    for _ in range(4 * BEAT_MS // 1000):
        worker.step()
        ends.add(jobs.listed(engine)[0].lease_until)
        clock.advance(1000)
    assert ends == {START_MS + LEASE_MS + number * BEAT_MS for number in range(4)}


def test_a_job_of_a_lost_worker_is_done_by_another_and_counts_once(engine, make, book, clock):
    queue(engine, "a")
    lost, found = Hands(), Hands()
    first, second = make(lost, "ada"), make(found, "bob")
    first.step()
    clock.advance(LEASE_MS)  # ada is cut off and beats no more
    [job] = second.step().taken
    assert job.attempt == 2
    found.given["a"].set_result("bob's")
    second.step()
    lost.given["a"].set_result("ada's")
    assert keys(first.step().dropped) == ["a"]
    assert book.entries() == {"a 2": "bob's"}


def test_a_job_that_loses_every_worker_ends_as_a_named_fault(engine, make, book, clock):
    queue(engine, "a")
    for number in range(MOST_ATTEMPTS):
        assert keys(make(Hands(), f"lost{number}").step().taken) == ["a"]
        clock.advance(LEASE_MS)
    last = make(Hands(), "bob")
    assert keys(last.step().settled) == ["a"]
    assert book.entries() == {"a 3": "the worker lost2 was lost at attempt 3"}
    assert [(job.state, job.message) for job in jobs.listed(engine)] == [("failed", LOST)]


def test_a_cancelled_job_is_ended_and_never_settled(engine, make, book, clock):
    queue(engine, "a")
    hands = Hands()
    worker = make(hands)
    worker.step()
    with writing(engine) as connection:
        jobs.cancel(connection, "a", clock())
    assert keys(worker.step().dropped) == ["a"]
    assert hands.ended == [hands.given["a"]]
    assert not worker.step()
    assert book.entries() == {}


def test_a_cancelled_job_s_process_is_gone(engine, make, clock, pipe):
    queue(engine, "a", f"hang {pipe}")
    worker = make(ProcessExecutor(1))
    worker.step()
    [doing] = worker.running.values()
    pid = int(Path(pipe).read_text())
    with writing(engine) as connection:
        jobs.cancel(connection, "a", clock())
    worker.step()
    with pytest.raises(Ended):
        doing.future.result(LIMIT_S)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    queue(engine, "b")
    until_idle(worker)
    assert state_of(engine, "b") == "done"


def test_errors_and_crashes_are_platform_faults_that_harm_no_other_job(engine, make, book, clock):
    for key, body in [("a", "fine"), ("b", "crash"), ("c", "raise"), ("d", "fine")]:
        queue(engine, key, body)
    worker = make(ProcessExecutor(2))
    until_idle(worker)
    found = book.entries()
    assert found["a 1"] == "a: fine"
    assert found["d 1"] == "d: fine"
    assert "exit code 9" in found["b 1"]
    assert "ValueError: the truth is 42" in found["c 1"]
    words = {job.key: (job.state, job.message) for job in jobs.listed(engine)}
    assert words["b"] == ("queued", CRASHED)
    assert words["c"] == ("queued", RAISED), "what a contestant reads does not quote the error"
    for _ in range(MOST_ATTEMPTS):
        clock.advance(60_000)
        until_idle(worker)
    assert sorted(book.entries()) == ["a 1", "b 1", "b 2", "b 3", "c 1", "c 2", "c 3", "d 1"]
    assert (state_of(engine, "b"), state_of(engine, "c")) == ("failed", "failed")


@pytest.mark.parametrize(
    ("error", "message"), [(Crashed("x"), CRASHED), (Raised("x"), RAISED)], ids=["crashed", "raised"]
)
def test_a_fault_says_whose_it_was(engine, clock, error, message):
    queue(engine, "a")
    hands, got = Hands(), []
    worker = Worker(engine, {"score": hands}, do, lambda job, outcome: got.append(outcome), clock)
    worker.step()
    hands.given["a"].set_exception(error)
    worker.step()
    assert got == [Fault("platform", message, "x")]
    worker.close()


def test_a_contestant_s_fault_is_an_outcome_like_any_other(engine, clock):
    queue(engine, "a")
    fault, hands, got = Fault("contestant", "row 7: found NaN, expected a number"), Hands(), []
    worker = Worker(engine, {"score": hands}, do, lambda job, outcome: got.append(outcome), clock)
    worker.step()
    hands.given["a"].set_result(fault)
    worker.step()
    assert got == [fault]
    worker.close()


def test_an_outcome_that_cannot_be_written_down_is_a_platform_fault(engine, book, clock):
    queue(engine, "a")

    def settle(job, outcome):
        if not isinstance(outcome, Fault):
            raise KeyError("no such phase")
        book.settle(job, outcome)

    hands = Hands()
    worker = Worker(engine, {"score": hands}, do, settle, clock)
    worker.step()
    hands.given["a"].set_result("odd")
    assert keys(worker.step().settled) == ["a"]
    assert "no such phase" in book.entries()["a 1"]
    worker.close()


def test_a_start_that_cannot_be_written_down_is_a_platform_fault(engine, make, book):
    queue(engine, "a")

    def begin(job):
        raise KeyError("no such submission")

    worker = make(Hands(), begin=begin)
    worker.step()
    assert worker.running == {}
    assert "no such submission" in book.entries()["a 1"]
    assert state_of(engine, "a") == "queued"


def test_what_the_start_prepares_is_what_is_done(engine, make, book):
    queue(engine, "a")
    worker = make(ProcessExecutor(1), begin=lambda job: msgspec.structs.replace(job, body="prepared"))
    until_idle(worker)
    assert book.entries() == {"a 1": "a: prepared"}


def test_the_start_of_each_attempt_is_told(engine, make, clock):
    queue(engine, "a")
    begun, hands = [], Hands()

    def begin(job):
        begun.append(job)
        return job

    worker = make(hands, begin=begin)
    worker.step()
    hands.given["a"].set_exception(Crashed("x"))
    worker.step()
    clock.advance(60_000)
    worker.step()
    assert [(job.key, job.attempt) for job in begun] == [("a", 1), ("a", 2)]


def test_an_outcome_outlives_a_database_that_does_not_answer(engine, book, clock):
    """The first two times the commit is not confirmed; once it was lost, and once it was made."""
    queue(engine, "a")
    trouble = ["before", "after"]

    def settle(job, outcome):
        now = trouble.pop(0) if trouble else ""
        if now != "before":
            book.settle(job, outcome)
        if now:
            raise OperationalError("COMMIT", {}, Exception("server closed the connection"))

    hands, waits = Hands(), []
    worker = Worker(engine, {"score": hands}, do, settle, clock, wait=lambda seconds: pause(seconds))

    def pause(seconds):
        assert len(waits) < 20, "it waits for ever"
        waits.append(seconds)
        if "a" in hands.given and not hands.given["a"].done():
            hands.given["a"].set_result("kept")
        elif state_of(engine, "a") == "done" and not trouble and len(waits) > 4:
            worker.stop()

    worker.run()
    assert book.entries() == {"a 1": "kept"}
    assert set(waits) == {POLL_S}


def test_a_worker_on_a_full_disk_waits_and_goes_on_when_there_is_room(engine, book, make, caplog):
    """Else it would fail each job three times in half a minute, and nobody's submission would be scored."""
    queue(engine, "a")
    full, hands = [Words("only 3 MB are free", "仅剩 3 MB")], Hands()
    worker = make(hands, room=lambda: full[0] if full else Words())
    for _ in range(5):
        assert not worker.step()
    assert state_of(engine, "a") == "queued" and hands.given == {}
    assert [record.getMessage() for record in caplog.records].count("ada: no job is begun: only 3 MB are free") == 1
    full.clear()
    assert keys(worker.step().taken) == ["a"]
    assert "it goes on" in caplog.text


@pytest.mark.parametrize("where", ["begin", "settle"])
def test_a_disk_that_fills_up_while_something_is_written_down_ends_no_worker(engine, book, clock, where):
    queue(engine, "a")
    full = [OSError(28, "No space left on device")] * 2

    def fails(step):
        def do_so(*given):
            if where == step and full:
                raise full.pop()
            return book.settle(*given) if step == "settle" else given[0]

        return do_so

    hands, waits = Hands(), []
    worker = Worker(
        engine, {"score": hands}, do, fails("settle"), clock, begin=fails("begin"), wait=lambda seconds: pause(seconds)
    )

    def pause(seconds):
        assert len(waits) < 20, "it waits for ever"
        waits.append(seconds)
        clock.advance(60_000)  # a lease that was taken in vain runs out
        if "a" in hands.given and not hands.given["a"].done():
            hands.given["a"].set_result("kept")
        elif state_of(engine, "a") == "done":
            worker.stop()

    worker.run()
    assert state_of(engine, "a") == "done" and not full


def test_an_outcome_waits_until_a_clock_that_was_set_ahead_is_right_again(engine, book, clock):
    """Else the worker would end, and the next one would take the wrong time for the right one."""
    queue(engine, "a")
    wrong = [True, True]

    def settle(job, outcome):
        if wrong:
            wrong.pop()
            raise ClockSet(Words("the clock was set", "时钟被拨快"))
        book.settle(job, outcome)

    hands = Hands()
    worker = Worker(engine, {"score": hands}, do, settle, clock, wait=lambda seconds: None)
    worker.step()
    hands.given["a"].set_result("kept")
    for _ in range(3):
        assert book.entries() == {}
        worker._step_or_wait()
    assert book.entries() == {"a 1": "kept"}


def test_a_cut_connection_to_postgresql_is_made_anew(engine, make, book):
    if engine.dialect.name != "postgresql":
        pytest.skip("SQLite has no connection to cut")
    queue(engine, "a")
    hands = Hands()
    worker = make(hands)
    worker.step()
    hands.given["a"].set_result("kept")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        connection.execute(text(f"{others} AND pid <> pg_backend_pid()"))
    for _ in range(3):
        worker._step_or_wait()
    assert book.entries() == {"a 1": "kept"}


def test_a_stopped_worker_takes_no_more_and_finishes_what_runs(engine, make, book):
    for key in "ab":
        queue(engine, key)
    hands = Hands(1)

    def pause(seconds):
        worker.stop()
        hands.given["a"].set_result("in time")

    worker = make(hands, wait=pause)
    worker.run()
    assert book.entries() == {"a 1": "in time"}
    assert (state_of(engine, "a"), state_of(engine, "b")) == ("done", "queued")
    assert hands.closed
    assert jobs.workers(engine, START_MS) == []


def test_what_takes_too_long_is_handed_back_and_has_cost_no_attempt(engine, make, book, clock):
    queue(engine, "a")
    waited = []

    def pause(seconds):
        if not waited:
            worker.stop()
        waited.append(seconds)
        clock.advance(1000)

    worker = make(Hands(1), wait=pause)
    worker.run()
    assert len(waited) == 1 + STOP_MS // 1000
    [job] = jobs.listed(engine)
    assert (job.state, job.attempt) == ("queued", 0)
    assert [job.attempt for job in make(Hands(), "bob").step().taken] == [1]


def test_told_twice_a_worker_does_not_wait(engine, make):
    queue(engine, "a")
    waited = []

    def pause(seconds):
        assert len(waited) < 10, "it waits for ever"
        waited.append(seconds)
        worker.stop()

    worker = make(Hands(1), wait=pause)
    worker.run()
    assert len(waited) == 2
    assert state_of(engine, "a") == "queued"


def test_the_desk_sees_the_worker_while_it_is_there(engine, make, clock):
    queue(engine, "a")
    worker = make(Hands())
    worker.step()
    clock.advance(BEAT_MS)
    worker.step()
    [(seen, there)] = jobs.workers(engine, clock())
    assert there
    assert (seen.id, seen.kinds, seen.executor, seen.busy) == ("ada", "score", "hands", 1)
    assert (seen.started_at, seen.seen_at) == (START_MS, START_MS + BEAT_MS)


SCRIPT = """
import sys
from palestra.contest.log.clock import ClockSet
from palestra.contest.storage.database import open_database
from palestra.executors.processes import ProcessExecutor
from palestra.contest.workers.worker import Worker
from tests.contest.workers.test_worker import Book, do

if __name__ == "__main__":
    url, now, stop_ms = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    engine = open_database(url)
    clock = lambda: now
    Worker(engine, {"score": ProcessExecutor(1)}, do, Book(engine, clock).settle, clock, name="other").run(stop_ms)
"""


@pytest.fixture
def other(tmp_path, database_url, engine):
    """A worker in a real process of its own, whose clock stands still."""
    (tmp_path / "worker.py").write_text(textwrap.dedent(SCRIPT))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, str(tmp_path / "worker.py"), database_url, str(START_MS), "0"]
    process = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


def test_the_job_of_a_worker_killed_by_kill_9_is_done_by_another(engine, make, book, clock, pipe, other):
    queue(engine, "a", f"hang {pipe}")
    pid = int(Path(pipe).read_text())  # it runs there now
    other.kill()
    other.communicate(timeout=LIMIT_S)
    with pytest.raises(ProcessLookupError):
        while True:  # the kernel ends it with its parent
            os.kill(pid, 0)
            if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
                raise ProcessLookupError
    hands = Hands()
    worker = make(hands)
    clock.advance(LEASE_MS - 1)
    assert worker.step().taken == ()
    clock.advance(1)
    [job] = worker.step().taken
    assert (job.key, job.attempt) == ("a", 2)
    hands.given["a"].set_result("done by another")
    worker.step()
    assert book.entries() == {"a 2": "done by another"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_told_to_stop_hands_back_and_leaves_without_a_word(engine, pipe, other, number):
    queue(engine, "a", f"hang {pipe}")
    Path(pipe).read_text()
    other.send_signal(number)
    errors = other.communicate(timeout=LIMIT_S)[1]
    assert (other.returncode, errors) == (0, "")
    [job] = jobs.listed(engine)
    assert (job.state, job.attempt, job.message) == ("queued", 0, say("its worker was stopped"))
    assert jobs.workers(engine, START_MS) == []


def test_whole_jobs_on_a_real_ray(tmp_path, clock):
    engine = open_database(sqlite_address(tmp_path / "contest.db"))  # once is enough: Ray sees nothing of the database
    for key, body in [("a", "fine"), ("b", "crash"), ("c", "raise")]:
        queue(engine, key, body)
    book = Book(engine, clock)
    worker = Worker(engine, {"score": RayExecutor(capacity=1)}, do, book.settle, clock)
    until_idle(worker)
    worker.close()
    found = book.entries()
    assert found["a 1"] == "a: fine"
    assert "ValueError: the truth is 42" in found["c 1"]
    assert found["b 1"]
    assert "Traceback" not in found["b 1"], "a crash is not an error of the work"
    engine.dispose()
