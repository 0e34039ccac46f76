"""A contest that runs: every change goes through the log, whoever makes it, and is there again after a crash."""

import json
import threading

import msgspec
import pytest
from sqlalchemy import Engine, delete, insert, select, update

from palestra.contest import contest as contest_module
from palestra.contest import snapshot as snapshot_module
from palestra.contest.contest import Contest
from palestra.contest.decisions import organiser, submissions
from palestra.contest.decisions.submissions import Sent
from palestra.contest.log import chain
from palestra.contest.log import events as e
from palestra.contest.log.clock import new_id
from palestra.contest.log.reducer import fold
from palestra.contest.log.state import State
from palestra.contest.queue import jobs
from palestra.contest.rules.model import Quota
from palestra.contest.snapshot import Snapshot, read_packed, snapshot_fits
from palestra.contest.storage.database import connect, reading, writing
from palestra.contest.storage.file_store import Files
from palestra.contest.storage.tables import events as event_table
from palestra.contest.storage.tables import snapshots
from palestra.errors import PalestraError
from tests.contest.story import DAY, START, Story, a_phase, some_rules

RULES = some_rules(a_phase(quota=Quota(1, "phase")), a_phase("live", track="near-eye-live-v1"))


@pytest.fixture
def files(tmp_path):
    return Files.open(str(tmp_path / "files"))


@pytest.fixture
def open_contest(engine: Engine, files: Files, clock):
    """A way to open the contest once more, as another process would; the first one fills it."""
    story = Story(RULES)
    team = story.team("Alpha")
    clock.at = START
    first = Contest(engine, files, clock)
    for event in story.events:
        first.act(event.by, lambda state, now, body=event.body: [body])
    made = []

    def another():
        made.append(connect(engine.url.render_as_string(hide_password=False)))
        return Contest(made[-1], files, clock)

    another.team = team
    yield another
    for one in made:
        one.dispose()


def submitting_for(team, name=""):
    def decide(state, now):
        return submissions.receive(state, now, Sent(name or new_id("s"), team, "first", "f" * 64, "a.csv", 10))

    return decide


def from_the_log(engine) -> State:
    with reading(engine) as connection:
        return fold(chain.read(connection))


def same(contest: Contest, engine: Engine) -> bool:
    """Whether a contest holds what the log says, and knows its end."""
    with reading(engine) as connection:
        digest = chain.head(connection).hash
    return contest.state == msgspec.structs.replace(from_the_log(engine), hash=digest)


def test_what_is_decided_is_in_the_log_and_in_the_state(open_contest, engine):
    contest = open_contest()
    events = contest.act("ada", submitting_for(open_contest.team, "s1"))
    assert [event.by for event in events] == ["ada"]
    assert contest.state.submissions["s1"].stage == "checking"
    assert same(contest, engine)
    assert same(open_contest(), engine)


def test_tasks_are_queued_with_their_events(open_contest, engine):
    contest = open_contest()
    contest.act("ada", submitting_for(open_contest.team, "s1"))
    contest.act("w", lambda state, now: [e.SubmissionAccepted("s1")])
    live = submissions.receive(contest.state, START, Sent("s2", open_contest.team, "live", "f" * 64, "b.zip", 10))
    contest.act("ada", lambda state, now: live)
    contest.act("w", lambda state, now: [e.SubmissionAccepted("s2")])
    contest.act("w", lambda state, now: [e.ResultMade("s1", 1, {})])
    contest.act("o", lambda state, now: [e.RescoringProposed("r1", "first", ("s1",), "new scorer")])
    contest.act("o", lambda state, now: [e.BundleMade("b1", open_contest.team, "first", "f" * 64, "b.zip", 1)])
    contest.act("o", lambda state, now: organiser.start_run(state, now, "u1", "live", ("s2",)))
    found = [(job.key, job.kind, json.loads(job.body)) for job in reversed(jobs.listed(engine))]
    assert found == [
        ("check:s1", "check", {"submission": "s1"}),
        ("score:s1:", "score", {"submission": "s1"}),
        ("check:s2", "check", {"submission": "s2"}),
        ("score:s2:", "live", {"submission": "s2"}),
        ("score:s1:r1", "score", {"submission": "s1", "rescoring": "r1"}),
        ("verify:b1", "verify", {"submission": "b1"}),
        ("run:u1", "run", {"run": "u1"}),
    ]


def test_when_what_goes_with_it_says_no_nothing_is_written(open_contest, engine):
    contest = open_contest()
    before = contest.state.seq
    assert contest.act("ada", submitting_for(open_contest.team), lambda connection, events: False) == []
    assert contest.state.seq == before
    assert same(contest, engine)
    assert jobs.listed(engine) == []
    assert contest.act("ada", submitting_for(open_contest.team))  # and nothing is stuck


@pytest.mark.parametrize("answer", [None, True, [], 0])
def test_any_other_answer_lets_it_be_written(open_contest, engine, answer):
    contest = open_contest()
    assert contest.act("ada", submitting_for(open_contest.team), lambda connection, events: answer)
    assert same(contest, engine)


def test_what_goes_with_it_is_written_with_it_or_not_at_all(open_contest, engine):
    contest = open_contest()

    def also(connection, events):
        jobs.queue(connection, "mine", "score", "{}", START)
        raise RuntimeError("the plug was pulled")

    with pytest.raises(RuntimeError):
        contest.act("ada", submitting_for(open_contest.team), also)
    assert jobs.listed(engine) == []
    assert same(contest, engine)
    assert same(open_contest(), engine)
    assert contest.act("ada", submitting_for(open_contest.team))


def test_a_refusal_leaves_everything_as_it_was(open_contest, engine):
    contest = open_contest()
    contest.act("ada", submitting_for(open_contest.team))
    before = contest.state.seq
    with pytest.raises(PalestraError, match="quota"):
        contest.act("ada", submitting_for(open_contest.team))
    assert contest.state.seq == before
    assert same(contest, engine)


def test_listeners_hear_of_events_once_whoever_wrote_them(open_contest):
    mine, other = open_contest(), open_contest()
    heard = []
    mine.listen(lambda events: heard.extend(event.seq for event in events))
    other.act("ada", submitting_for(open_contest.team))
    mine.act("o", lambda state, now: [e.BoardFrozen("first")])
    other.act("o", lambda state, now: [e.BoardReleased("first")])
    assert [event.seq for event in mine.catch_up()] == [mine.state.seq]
    assert mine.catch_up() == []
    assert heard == [mine.state.seq - 2, mine.state.seq - 1, mine.state.seq]


def test_decisions_are_made_on_what_others_wrote_before(open_contest):
    mine, other = open_contest(), open_contest()
    other.act("ada", submitting_for(open_contest.team))
    with pytest.raises(PalestraError, match="quota"):
        mine.act("ada", submitting_for(open_contest.team))


def test_two_processes_that_submit_at_once_do_not_spend_a_quota_twice(open_contest, engine):
    contests = [open_contest(), open_contest()]
    start = threading.Barrier(6)
    taken, refused = [], []

    def one(contest):
        start.wait()
        try:
            taken.extend(contest.act("ada", submitting_for(open_contest.team)))
        except PalestraError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=one, args=(contests[i % 2],)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(taken), len(refused)) == (1, 5)
    for contest in contests:
        contest.catch_up()
        assert same(contest, engine)


def test_a_clock_that_is_behind_the_log_sees_no_quota_unused(open_contest, clock):
    contest = open_contest()
    clock.advance(DAY)
    contest.act("ada", submitting_for(open_contest.team))
    clock.advance(-DAY)
    with pytest.raises(PalestraError, match="quota"):
        contest.act("ada", submitting_for(open_contest.team))


def test_the_state_knows_the_hash_of_the_log_that_it_comes_from(open_contest, engine):
    contest, other = open_contest(), open_contest()
    contest.act("o", lambda state, now: [e.BoardFrozen("first")])
    other.catch_up()
    with reading(engine) as connection:
        assert contest.state.hash == other.state.hash == chain.head(connection).hash


# Snapshots


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(contest_module, "SNAPSHOT_EVERY", 3)


def kept(engine):
    with reading(engine) as connection:
        return connection.execute(select(snapshots)).all()


def write_some(contest, count=4):
    for _ in range(count):
        contest.act("o", lambda state, now: [e.BoardFrozen("first"), e.BoardReleased("first")])


def test_a_snapshot_and_the_events_after_it_are_the_whole(often, open_contest, engine, monkeypatch):
    contest = open_contest()
    write_some(contest)
    monkeypatch.setattr(contest_module, "SNAPSHOT_EVERY", 1000)
    contest.act("o", lambda state, now: [e.BoardFrozen("first")])
    (row,) = kept(engine)
    assert row.seq < contest.state.seq
    folded = []
    real = contest_module.apply
    monkeypatch.setattr(contest_module, "apply", lambda state, event: folded.append(event.seq) or real(state, event))
    again = open_contest()
    assert folded == list(range(row.seq + 1, contest.state.seq + 1))
    assert again.state == contest.state
    assert same(again, engine)


def test_a_snapshot_that_comes_in_slices_is_whole(often, open_contest, engine, monkeypatch):
    monkeypatch.setattr(snapshot_module, "SLICE", 100)
    contest = open_contest()
    write_some(contest)
    (row,) = kept(engine)
    assert len(row.state) > 300 and len(row.state) % 100
    with reading(engine) as connection:
        assert read_packed(connection, row.seq) == row.state
        assert read_packed(connection, row.seq + 1) == b"", "another one has taken its place"
    assert same(open_contest(), engine)


def test_a_snapshot_that_another_process_kept_is_not_written_again(often, open_contest, engine):
    """A hundred megabytes from each of twenty workers, each while all others wait for the log."""
    contest, worker = open_contest(), open_contest()
    while contest.state.seq < worker.state.seq + 4 or kept(engine)[0].seq < contest.state.seq:
        contest.act("o", lambda state, now: [e.BoardFrozen("first")])
    (row,) = kept(engine)
    worker.act("o", lambda state, now: [e.BoardFrozen("first")])
    assert worker.state.seq == row.seq + 1
    assert [one.seq for one in kept(engine)] == [row.seq]
    write_some(worker)
    assert kept(engine)[0].seq > row.seq, "it keeps one when that is due"


def test_a_snapshot_of_another_version_is_not_used(often, open_contest, engine):
    write_some(open_contest())
    with writing(engine) as connection:
        connection.execute(update(snapshots).values(code="an older one", state=msgspec.msgpack.encode(State(seq=2))))
    assert same(open_contest(), engine)


def test_a_snapshot_of_a_log_that_was_rewritten_is_not_used(often, open_contest, engine):
    write_some(open_contest())
    with reading(engine) as connection:
        rows = list(chain.rows(connection))
    with writing(engine) as connection:
        connection.execute(delete(event_table))
        for row in rows:
            chain.append(connection, [e.decode(row[3])], "mallory", row[1])
    again = open_contest()
    assert same(again, engine)


def test_a_snapshot_of_events_that_are_no_longer_there_is_not_used(often, open_contest, engine):
    write_some(open_contest())
    with writing(engine) as connection:
        connection.execute(delete(event_table).where(event_table.c.seq > 4))
    assert open_contest().state.seq == 4


def test_a_damaged_snapshot_is_not_used(often, open_contest, engine):
    write_some(open_contest())
    with writing(engine) as connection:
        connection.execute(update(snapshots).values(state=b"\xc1 nonsense"))
    assert same(open_contest(), engine)


def test_a_snapshot_that_was_edited_beside_the_log_is_found(often, open_contest, engine):
    write_some(open_contest())
    with reading(engine) as connection:
        assert snapshot_fits(connection)
        row = connection.execute(select(snapshots)).one()
    snapshot = msgspec.msgpack.decode(row.state, type=Snapshot)
    state = msgspec.msgpack.decode(snapshot.state, type=State)
    state.teams[open_contest.team].name = "Somebody else"
    edited = Snapshot(msgspec.Raw(msgspec.msgpack.encode(state)), {})
    with writing(engine) as connection:
        connection.execute(update(snapshots).values(state=msgspec.msgpack.encode(edited)))
    with reading(engine) as connection:
        assert not snapshot_fits(connection)
        assert chain.verify(connection).ok


def test_without_a_snapshot_there_is_nothing_to_find(engine):
    with reading(engine) as connection:
        assert snapshot_fits(connection)


def test_an_older_snapshot_does_not_hide_newer_events(often, open_contest, engine):
    contest = open_contest()
    write_some(contest)
    row = kept(engine)[0]
    write_some(contest)
    with writing(engine) as connection:
        connection.execute(delete(snapshots))
        connection.execute(insert(snapshots).values(dict(row._mapping)))
    assert same(open_contest(), engine)


def test_names_of_new_things_can_be_typed_and_are_never_the_same():
    names = {new_id("s") for _ in range(1000)}
    assert len(names) == 1000
    assert all(name.isascii() and name.isalnum() and name.startswith("s") for name in names)
