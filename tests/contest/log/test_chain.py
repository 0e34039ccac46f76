"""The log: nothing in it can be changed, taken out, put in or moved without being found; writers go one by one."""

import subprocess
import sys
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, delete, insert, text, update

from palestra.contest.log import chain
from palestra.contest.log import events as e
from palestra.contest.log.chain import Head, append, head, parse_head, read, verify, verify_rows
from palestra.contest.storage.database import connect, migrate, reading, writing
from palestra.contest.storage.tables import events as table
from palestra.contest.storage.tables import settings as settings_table
from palestra.errors import PalestraError
from palestra.records import Estimate
from tests.contest.story import START, Story, histories


def written(engine: Engine, story: Story) -> Engine:
    with writing(engine) as connection:
        for event in story.events:
            append(connection, [event.body], event.by, event.at)
    return engine


def a_story() -> Story:
    story = Story()
    team = story.wait(5).team("Nüll & Söhne 队")
    story.wait(5).scored(team, 1.0)
    story.wait(5).scored(team, 2.0)
    return story


@pytest.fixture
def kept(engine: Engine) -> Engine:
    """A database with a short log."""
    return written(engine, a_story())


def verdict(engine: Engine, *known: Head) -> chain.Verdict:
    with reading(engine) as connection:
        return verify(connection, known)


def rows_of(engine: Engine) -> list[chain.Row]:
    with reading(engine) as connection:
        return list(chain.rows(connection))


def test_an_untouched_log_verifies_and_reads_as_it_was_written(kept):
    story = a_story()
    with reading(kept) as connection:
        assert list(read(connection)) == story.events
        assert list(read(connection, after=3, upto=5)) == story.events[3:5]
        assert verify(connection) == chain.Verdict(True, head(connection), [])
        assert chain.last_seq(connection) == head(connection).seq == len(story.events)


def test_an_empty_log_verifies(engine):
    assert verdict(engine) == chain.Verdict(True, Head(), [])


@given(histories(10, 20))
@settings(max_examples=15, deadline=None)
def test_any_history_reads_as_it_was_written(story):
    engine = connect("sqlite://")
    migrate(engine)
    with writing(engine) as connection:
        for event in story.events:
            append(connection, [event.body], event.by, event.at)
        assert list(read(connection)) == story.events
        assert verify(connection).ok


@pytest.fixture(scope="module")
def short_log() -> list[chain.Row]:
    """The rows of a log, to be changed by hand."""
    engine = connect("sqlite://")
    migrate(engine)
    with writing(engine) as connection:
        for event in a_story().events:
            append(connection, [event.body], event.by, event.at)
        return list(chain.rows(connection))


def found_in(rows: list[chain.Row], short_log: list[chain.Row]) -> bool:
    end = short_log[-1]
    return not verify_rows(rows, [Head(end[0], end[4])]).ok


CHANGES = {
    0: st.integers(0, 1000),
    1: st.integers(0, 2 * START),
    2: st.text(max_size=20),
    3: st.text(max_size=40) | st.sampled_from(["{}", '{"kind":"board.frozen","phase":"first"}']),
    4: st.text("0123456789abcdef", min_size=64, max_size=64),
}


@given(st.data())
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_edit_of_any_field_is_found(short_log, data):
    rows = list(short_log)
    place = data.draw(st.integers(0, len(rows) - 1), "row")
    column = data.draw(st.integers(0, 4), "column")
    before = rows[place]
    after = (*before[:column], data.draw(CHANGES[column], "change"), *before[column + 1 :])
    rows[place] = after
    assert found_in(rows, short_log) == (after != before)


@given(st.data())
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_edit_of_one_letter_is_found(short_log, data):
    rows = list(short_log)
    place = data.draw(st.integers(0, len(rows) - 1))
    body = rows[place][3]
    at = data.draw(st.integers(0, len(body) - 1))
    other = data.draw(st.characters(exclude_characters=body[at], exclude_categories=["Cs"]))
    rows[place] = (*rows[place][:3], body[:at] + other + body[at + 1 :], rows[place][4])
    assert found_in(rows, short_log)


@given(st.data())
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_row_taken_out_doubled_swapped_or_put_in_is_found(short_log, data):
    rows = list(short_log)
    place = data.draw(st.integers(0, len(rows) - 1))
    other = data.draw(st.integers(0, len(rows) - 1).filter(lambda one: one != place))
    match data.draw(st.sampled_from(["taken out", "doubled", "swapped", "swapped with their numbers", "put in"])):
        case "taken out":
            del rows[place]
        case "doubled":
            rows.insert(other, rows[place])
        case "swapped":
            rows[place], rows[other] = rows[other], rows[place]
        case "swapped with their numbers":
            one, two = rows[place], rows[other]
            rows[place], rows[other] = (one[0], *two[1:]), (two[0], *one[1:])
        case "put in":
            body = e.encode(e.BoardFrozen("first"))
            before = rows[place]
            made = (before[0], before[1], "x", body, chain.linked(before[4], before[0], before[1], "x", body))
            rows.insert(place, made)
    assert found_in(rows, short_log)


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_deleted_row_is_found_in_the_database(kept, place):
    end = len(rows_of(kept))
    seq = {"first": 1, "middle": end // 2, "last": end}[place]
    with writing(kept) as connection:
        connection.execute(delete(table).where(table.c.seq == seq))
    found = verdict(kept)
    assert not found.ok
    assert "missing" in found.faults[0]


def test_a_log_that_was_emptied_is_found(kept):
    with writing(kept) as connection:
        connection.execute(delete(table))
    assert verdict(kept).faults == [
        f"The log ends with event 0; it had {len(a_story().events)}: the end is missing."
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("column", "change"),
    [("at", START + 3), ("by", "mallory"), ("body", '{"kind":"board.frozen","phase":"first"}'), ("hash", "0" * 64)],
)
@pytest.mark.parametrize("seq", [1, 4, len(a_story().events)])
def test_an_edited_row_is_found_in_the_database(kept, column, change, seq):
    with writing(kept) as connection:
        connection.execute(update(table).where(table.c.seq == seq).values({column: change}))
    assert not verdict(kept).ok


def test_an_event_put_in_at_the_end_with_a_fitting_hash_is_found(kept):
    with writing(kept) as connection:
        end, body = head(connection), e.encode(e.BoardFrozen("first"))
        digest = chain.linked(end.hash, end.seq + 1, end.at, "x", body)
        values = {"seq": end.seq + 1, "at": end.at, "by": "x", "body": body, "hash": digest}
        connection.execute(insert(table).values(values))
    assert "goes on to event" in verdict(kept).faults[0]


@pytest.mark.parametrize("value", ["", "nonsense", f"{10**30}:{'0' * 64}"])
def test_a_note_of_the_end_that_was_made_unreadable_is_found(kept, value):
    with writing(kept) as connection:
        connection.execute(update(settings_table).where(settings_table.c.name == chain.HEAD).values(value=value))
    assert not verdict(kept).ok


def test_a_note_of_the_end_that_was_taken_away_is_found(kept):
    with writing(kept) as connection:
        connection.execute(delete(settings_table).where(settings_table.c.name == chain.HEAD))
    assert not verdict(kept).ok


def rewritten(engine: Engine) -> None:
    """A whole log with one author changed, every hash after it computed again, and the note of the end as well."""
    rows = rows_of(engine)
    with writing(engine) as connection:
        connection.execute(delete(table))
        connection.execute(delete(settings_table))
        for _, at, by, body, _ in rows:
            append(connection, [e.decode(body)], "mallory" if by == "worker:w" else by, at)


def test_a_head_that_was_kept_outside_finds_a_log_that_was_rewritten_from_end_to_end(kept):
    with reading(kept) as connection:
        outside = head(connection)
    rewritten(kept)
    assert verdict(kept).ok  # from within, nothing can tell
    found = verdict(kept, parse_head(str(outside)))
    assert found.faults == [
        f"Event {outside.seq} has another hash than the head that was kept: the log was rewritten before it."
    ]


def test_a_head_that_was_kept_long_ago_still_finds_it(kept):
    row = next(row for row in rows_of(kept) if row[2] == "worker:w")
    outside = Head(row[0], row[4])
    assert verdict(kept, outside).ok
    rewritten(kept)
    assert not verdict(kept, outside).ok


def test_a_head_beyond_the_end_says_that_the_end_is_missing(kept):
    assert "the end is missing" in verdict(kept, Head(1000, "0" * 64)).faults[0]


@pytest.mark.parametrize("text", ["", "12", "12:abc", f"-1:{'0' * 64}", f"x:{'0' * 64}", f"1:{'G' * 64}"])
def test_what_is_no_head_is_refused_in_words(text):
    with pytest.raises(PalestraError, match="expected NUMBER:HASH"):
        parse_head(text)


def test_at_most_some_faults_are_told():
    rows = [(i, 0, "x", "{}", "0" * 64) for i in range(1, 100)]
    assert len(verify_rows(rows).faults) == chain.MOST_FAULTS


def test_a_time_that_is_no_number_is_told_and_not_stumbled_over(tmp_path):
    engine = connect(f"sqlite:///{tmp_path / 'log.db'}")
    migrate(engine)
    written(engine, a_story())
    with writing(engine) as connection:
        connection.execute(text("UPDATE events SET at = 'noon' WHERE seq = 4"))
    assert any("has no time but 'noon'" in fault for fault in verdict(engine).faults)


def test_progress_is_told(kept, monkeypatch):
    monkeypatch.setattr(chain, "AT_ONCE", 4)
    told: list[int] = []
    with reading(kept) as connection:
        assert verify(connection, (), told.append).ok
    assert sum(told) == len(a_story().events) // 4 * 4


def test_times_never_go_back(kept):
    with writing(kept) as connection:
        before = head(connection).at
        made = append(connection, [e.BoardFrozen("first"), e.BoardReleased("first")], "x", before - 1000)
    assert [event.at for event in made] == [before, before]
    assert verdict(kept).ok


def test_what_could_not_be_read_again_is_not_written(kept):
    bad = e.ResultMade("s1", 1, {"pe_deg": Estimate(float("nan"))})
    with pytest.raises(ValueError, match=r"result\.made could not be read again"), writing(kept) as connection:
        append(connection, [e.BoardFrozen("first"), bad], "x", START)
    assert verdict(kept).ok
    assert len(rows_of(kept)) == len(a_story().events)


def test_no_events_are_no_change(kept):
    before = rows_of(kept)
    with writing(kept) as connection:
        assert append(connection, [], "x", START) == []
    assert rows_of(kept) == before


def test_threads_that_append_at_once_leave_no_gap(engine):
    def many() -> None:
        for i in range(10):
            with writing(engine) as connection:
                append(connection, [e.BoardFrozen("a"), e.BoardReleased("a")], threading.current_thread().name, i)

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row[0] for row in rows_of(engine)] == list(range(1, 81))
    assert verdict(engine).ok


APPEND = """
import sys
from palestra.contest.log import events as e
from palestra.contest.storage.database import connect, writing
from palestra.contest.log.chain import append
engine = connect(sys.argv[1])
for i in range(20):
    with writing(engine) as connection:
        append(connection, [e.BoardFrozen(sys.argv[2])], sys.argv[2], i)
"""


def test_processes_that_append_at_once_leave_no_gap(engine, database_url):
    running = [subprocess.Popen([sys.executable, "-c", APPEND, database_url, str(i)]) for i in range(3)]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    rows = rows_of(engine)
    assert [row[0] for row in rows] == list(range(1, 61))
    assert {row[2] for row in rows} == {"0", "1", "2"}
    assert verdict(engine).ok


def test_a_log_that_grows_while_it_is_read_verifies(kept, monkeypatch):
    monkeypatch.setattr(chain, "AT_ONCE", 4)
    told: list[int] = []

    def another(count: int) -> None:
        with writing(kept) as connection:
            append(connection, [e.BoardFrozen("first")], "x", START)
        told.append(count)

    with reading(kept) as connection:
        assert verify(connection, (), another).ok
    assert told
