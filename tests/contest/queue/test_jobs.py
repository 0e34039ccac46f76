"""Leases: one worker at a time, back when a worker is lost, counted once."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from palestra.contest.queue import jobs
from palestra.contest.queue.jobs import BACKOFF_MS, BEAT_MS, FORGET_MS, LEASE_MS, MOST_ATTEMPTS, Job, Seen
from palestra.contest.storage.database import connect, migrate, writing
from palestra.text import Words

KINDS = ("check", "score")


def queue(engine, key, now, kind="score", not_before=0):
    with writing(engine) as connection:
        return jobs.queue(connection, key, kind, "{}", now, not_before)


def finish(engine, job, now):
    with writing(engine) as connection:
        return jobs.finish(connection, job, now)


def give_up(engine, job, now, retry_at):
    with writing(engine) as connection:
        return jobs.give_up(connection, job, Words.same("it broke"), now, retry_at)


def cancel(engine, key, now):
    with writing(engine) as connection:
        return jobs.cancel(connection, key, now)


def state_of(engine, key):
    return next(job for job in jobs.listed(engine) if job.key == key)


def test_a_job_is_leased_with_all_that_was_queued(engine: Engine, clock):
    with writing(engine) as connection:
        jobs.queue(connection, "score:s1", "score", '{"submission": "s1"}', clock())
    job = jobs.lease(engine, "ada", KINDS, clock())
    assert job == Job(job.id, "score:s1", "score", '{"submission": "s1"}', 1, "ada")
    assert jobs.lease(engine, "bob", KINDS, clock()) is None


def test_the_same_key_is_queued_once_even_after_it_was_done(engine, clock):
    assert queue(engine, "a", clock())
    assert not queue(engine, "a", clock())
    assert finish(engine, jobs.lease(engine, "ada", KINDS, clock()), clock())
    assert not queue(engine, "a", clock())
    assert jobs.counts(engine) == {"score": {"done": 1}}


def test_the_oldest_comes_first_and_only_of_the_kinds_asked_for(engine, clock):
    for key, kind in [("a", "live"), ("b", "score"), ("c", "check"), ("d", "score")]:
        queue(engine, key, clock(), kind)
    assert [jobs.lease(engine, "ada", KINDS, clock()).key for _ in range(3)] == ["b", "c", "d"]
    assert jobs.lease(engine, "ada", KINDS, clock()) is None
    assert jobs.lease(engine, "ada", ["live"], clock()).key == "a"


def test_a_job_is_not_leased_before_its_time(engine, clock):
    queue(engine, "a", clock(), not_before=clock() + 100)
    assert jobs.lease(engine, "ada", KINDS, clock.advance(99)) is None
    assert jobs.lease(engine, "ada", KINDS, clock.advance(1)).key == "a"


def test_beats_keep_a_job_and_without_them_it_is_back_within_a_minute(engine, clock):
    queue(engine, "a", clock())
    mine = jobs.lease(engine, "ada", KINDS, clock())
    for _ in range(10):
        assert jobs.beat(engine, [mine], clock.advance(BEAT_MS)) == [mine]
        assert jobs.lease(engine, "bob", KINDS, clock()) is None
    assert jobs.lease(engine, "bob", KINDS, clock.advance(LEASE_MS - 1)) is None
    theirs = jobs.lease(engine, "bob", KINDS, clock.advance(1))
    assert (theirs.key, theirs.attempt, theirs.worker) == ("a", 2, "bob")
    assert LEASE_MS <= 60_000


def test_who_lost_the_lease_keeps_nothing_and_nothing_of_it_counts(engine, clock):
    queue(engine, "a", clock())
    mine = jobs.lease(engine, "ada", KINDS, clock())
    theirs = jobs.lease(engine, "bob", KINDS, clock.advance(LEASE_MS))
    assert jobs.beat(engine, [mine, theirs], clock()) == [theirs]
    assert jobs.still_ours(engine, [mine, theirs]) == [theirs]
    assert not finish(engine, mine, clock())
    assert not give_up(engine, mine, clock(), None)
    assert not jobs.hand_back(engine, mine, clock())
    assert finish(engine, theirs, clock())


def test_a_worker_that_gets_its_own_lost_job_again_holds_another_attempt(engine, clock):
    queue(engine, "a", clock())
    first = jobs.lease(engine, "ada", KINDS, clock())
    second = jobs.lease(engine, "ada", KINDS, clock.advance(LEASE_MS))
    assert not finish(engine, first, clock())
    assert finish(engine, second, clock())


def test_a_late_worker_whose_job_nobody_took_may_still_finish_it(engine, clock):
    queue(engine, "a", clock())
    mine = jobs.lease(engine, "ada", KINDS, clock())
    assert finish(engine, mine, clock.advance(10 * LEASE_MS))


def test_finishing_twice_counts_once(engine, clock):
    queue(engine, "a", clock())
    mine = jobs.lease(engine, "ada", KINDS, clock())
    assert [finish(engine, mine, clock()) for _ in range(3)] == [True, False, False]


def test_finishing_is_undone_with_the_transaction_that_it_belongs_to(engine, clock):
    queue(engine, "a", clock())
    mine = jobs.lease(engine, "ada", KINDS, clock())
    with pytest.raises(ZeroDivisionError), writing(engine) as connection:
        assert jobs.finish(connection, mine, clock())
        _ = 1 / 0
    assert finish(engine, mine, clock())


def test_a_platform_fault_is_tried_again_later_and_at_last_fails(engine, clock):
    queue(engine, "a", clock())
    waits = []
    for attempt in range(1, MOST_ATTEMPTS + 1):
        job = jobs.lease(engine, "ada", KINDS, clock())
        assert job.attempt == attempt
        again = jobs.retry_at(job, clock())
        assert give_up(engine, job, clock(), again)
        if again is not None:
            assert jobs.lease(engine, "ada", KINDS, again - 1) is None
            waits.append(again - clock())
            clock.at = again
    assert waits == [BACKOFF_MS, 4 * BACKOFF_MS]
    assert jobs.lease(engine, "ada", KINDS, clock.advance(10**9)) is None
    assert (state_of(engine, "a").state, state_of(engine, "a").message) == ("failed", Words.same("it broke"))


def test_a_job_that_loses_every_worker_is_not_leased_for_ever_but_named(engine, clock):
    queue(engine, "a", clock())
    for attempt in range(1, MOST_ATTEMPTS + 1):
        assert jobs.expired(engine, KINDS, clock()) == []
        assert jobs.lease(engine, f"worker{attempt}", KINDS, clock()).attempt == attempt
        clock.advance(LEASE_MS)
    assert jobs.lease(engine, "ada", KINDS, clock()) is None
    assert jobs.expired(engine, ["live"], clock()) == []
    [lost] = jobs.expired(engine, KINDS, clock())
    assert (lost.key, lost.attempt, lost.worker) == ("a", MOST_ATTEMPTS, f"worker{MOST_ATTEMPTS}")
    assert give_up(engine, lost, clock(), None)
    assert not give_up(engine, lost, clock(), None), "two who saw it: one of them writes it down"
    assert jobs.expired(engine, KINDS, clock()) == []


def test_a_job_handed_back_has_not_used_an_attempt(engine, clock):
    queue(engine, "a", clock())
    mine = jobs.lease(engine, "ada", KINDS, clock())
    assert jobs.hand_back(engine, mine, clock())
    assert jobs.lease(engine, "bob", KINDS, clock()).attempt == 1
    assert not finish(engine, mine, clock())


def test_a_queued_job_that_is_cancelled_is_never_leased(engine, clock):
    queue(engine, "a", clock())
    assert cancel(engine, "a", clock())
    assert jobs.lease(engine, "ada", KINDS, clock()) is None
    assert not cancel(engine, "a", clock())
    assert not cancel(engine, "unknown", clock())


def test_a_running_job_that_is_cancelled_is_no_longer_its_worker_s(engine, clock):
    queue(engine, "a", clock())
    mine = jobs.lease(engine, "ada", KINDS, clock())
    assert cancel(engine, "a", clock())
    assert jobs.still_ours(engine, [mine]) == []
    assert jobs.beat(engine, [mine], clock()) == []
    assert not finish(engine, mine, clock())
    assert jobs.lease(engine, "bob", KINDS, clock.advance(10 * LEASE_MS)) is None


def test_a_failed_job_can_be_tried_once_more_and_a_done_one_cannot(engine, clock):
    queue(engine, "a", clock())
    with writing(engine) as connection:
        assert not jobs.requeue(connection, "a", clock())
    give_up(engine, jobs.lease(engine, "ada", KINDS, clock()), clock(), None)
    with writing(engine) as connection:
        assert jobs.requeue(connection, "a", clock())
    again = jobs.lease(engine, "ada", KINDS, clock())
    assert again.attempt == 2
    finish(engine, again, clock())
    with writing(engine) as connection:
        assert not jobs.requeue(connection, "a", clock())


@pytest.mark.parametrize("count", [4])
def test_workers_who_lease_at_once_never_get_the_same_job(engine, clock, count):
    for number in range(40):
        queue(engine, f"job{number}", clock())
    together, got, faults = threading.Barrier(count), [], []

    def work(name):
        try:
            together.wait(timeout=60)
            while any(kinds.get("queued") for kinds in jobs.counts(engine).values()):
                job = jobs.lease(engine, name, KINDS, clock())
                if job is not None:
                    got.append((job.key, finish(engine, job, clock())))
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(f"worker{number}",)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert sorted(got) == sorted((f"job{number}", True) for number in range(40))


def test_many_who_find_the_same_lost_job_share_one_lease(engine, clock):
    queue(engine, "a", clock())
    jobs.lease(engine, "lost", KINDS, clock())
    clock.advance(LEASE_MS)
    together, got = threading.Barrier(4), []

    def work(name):
        together.wait(timeout=60)
        got.append(jobs.lease(engine, name, KINDS, clock()))

    threads = [threading.Thread(target=work, args=(f"worker{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [job.attempt for job in got if job is not None] == [2]
    assert len(got) == 4


def test_leasing_on_postgresql_does_not_wait_for_who_writes_the_log(engine, clock):
    if engine.dialect.name != "postgresql":
        pytest.skip("SQLite has one writer")
    queue(engine, "a", clock())
    with writing(engine):
        job = jobs.lease(engine, "ada", KINDS, clock())
        assert jobs.beat(engine, [job], clock()) == [job]


def test_the_desk_sees_jobs_newest_first_by_state_and_kind_and_page(engine, clock):
    for number in range(5):
        queue(engine, f"job{number}", clock.advance(1), "check" if number % 2 else "score")
    finish(engine, jobs.lease(engine, "ada", ["check"], clock()), clock())
    assert [job.key for job in jobs.listed(engine)] == [f"job{number}" for number in (4, 3, 2, 1, 0)]
    assert [job.key for job in jobs.listed(engine, states=["queued"], kinds=["check"])] == ["job3"]
    page = jobs.listed(engine, limit=2)
    assert [job.key for job in jobs.listed(engine, before=page[-1].id, limit=2)] == ["job2", "job1"]
    assert jobs.counts(engine) == {"score": {"queued": 3}, "check": {"queued": 1, "done": 1}}


def test_the_desk_sees_which_workers_are_there_and_which_are_lost(engine, clock):
    started = clock()
    for name in ("ada", "bob"):
        jobs.seen(engine, Seen(name, "check,score", "processes", started, clock(), 0))
    ada = Seen("ada", "check,score", "processes", started, clock.advance(LEASE_MS), 2)
    jobs.seen(engine, ada)
    assert [(worker.id, there) for worker, there in jobs.workers(engine, clock())] == [("ada", True), ("bob", False)]
    assert jobs.workers(engine, clock())[0][0] == ada
    jobs.left(engine, "ada")
    assert [worker.id for worker, _ in jobs.workers(engine, clock())] == ["bob"]
    assert jobs.workers(engine, clock.advance(FORGET_MS)) == []


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["queue", "lease", "finish", "give up", "hand back", "cancel", "beat", "wait"]),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["ada", "bob"]),
    ),
    max_size=40,
)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_whatever_happens_a_job_is_finished_at_most_once_and_held_by_one(steps):
    """A random history of two jobs and two workers, against what a lease promises."""
    engine = connect("sqlite://")
    migrate(engine)
    now, held, finished = 0, [], []
    for step, key, worker in steps:
        mine = [job for job in held if job.key == key and job.worker == worker]
        if step == "queue":
            queue(engine, key, now)
        elif step == "wait":
            now += LEASE_MS // 2
        elif step == "lease":
            job = jobs.lease(engine, worker, KINDS, now)
            if job is not None:
                held.append(job)
        elif step == "cancel":
            cancel(engine, key, now)
        for job in mine:
            if step == "finish" and finish(engine, job, now):
                finished.append(job.key)
            elif step == "give up":
                give_up(engine, job, now, jobs.retry_at(job, now))
            elif step == "hand back":
                jobs.hand_back(engine, job, now)
            elif step == "beat":
                jobs.beat(engine, [job], now)
        owners = jobs.still_ours(engine, held)
        assert len({(job.id, job.worker, job.attempt) for job in owners}) == len({job.id for job in owners})
    assert len(finished) == len(set(finished))
    engine.dispose()
