"""Matches in the contest's log: folded into the state, kept in snapshots, named in exports."""

import typing
from pathlib import Path

import msgspec

from palestra.contest.archive.referenced_files import files_named
from palestra.contest.contest import Contest
from palestra.contest.log import events as e
from palestra.contest.log.reducer import fold
from palestra.contest.log.state import State, unpacked
from palestra.contest.match import events as m
from palestra.contest.match.reducer import fold as fold_match
from palestra.contest.storage.database import open_database, sqlite_address
from palestra.contest.storage.file_store import Files
from tests.contest.match.table import ANNA, Table
from tests.contest.story import Story


def a_match_in_a_log() -> tuple[Story, Table]:
    """A contest whose log has the events of a match among its own."""
    story, table = Story(), Table("seed")
    case = table.begun().started()
    table.ask(ANNA, m.GoalMarked, case=case, attempt=1, goal="s1", on=True, key="k1")
    table.wait(30_000).ask(ANNA, m.CaseStopped, case=case)
    table.signed(case, ("s1",))
    for entry in table.log:
        if entry.seq % 5 == 0:
            story.team()
        story.add(entry.body, by=entry.by)
    return story, table


def test_every_event_of_a_match_is_an_event_of_the_contest() -> None:
    assert set(typing.get_args(m.MatchBody)) <= set(typing.get_args(e.Body))


def test_an_event_of_a_match_is_read_from_the_log_as_it_was_written() -> None:
    table = Table("english")
    table.begun().played()
    for entry in table.log:
        assert e.decode(e.encode(entry.body)) == entry.body


def test_a_match_among_other_events_comes_to_what_it_comes_to_alone() -> None:
    story, _ = a_match_in_a_log()
    found = story.state.matches["m"]
    entries = [m.Entry(one.seq, one.at, one.by, one.body) for one in story.events if isinstance(one.body, m.MatchBody)]
    assert found == fold_match(entries)
    assert found.turns["red"].cases


def test_a_state_with_a_match_survives_being_packed_at_any_event() -> None:
    story, _ = a_match_in_a_log()
    for cut in range(0, len(story.events), 3):
        packed = msgspec.msgpack.encode(fold(story.events[:cut]))
        assert fold(story.events[cut:], unpacked(packed)) == story.state
        assert msgspec.msgpack.decode(packed, type=State) == fold(story.events[:cut])


def test_a_running_clock_is_the_same_after_a_restart_from_a_snapshot(tmp_path: Path) -> None:
    story, table = a_match_in_a_log()
    files, address = Files.open(str(tmp_path / "files")), sqlite_address(tmp_path / "contest.db")
    now = [story.events[0].at]
    contest = Contest(open_database(address), files, lambda: now[0])
    for event in story.events:
        now[0] = event.at
        contest.act(event.by, lambda state, at, body=event.body: [body])
    running = table.match.turns["red"].clock
    before = contest.state.matches["m"].turns["red"].clock
    contest.close()  # leaves a snapshot
    again = Contest(open_database(address), files, lambda: now[0])
    assert again.since_kept == []
    after = again.state.matches["m"].turns["red"].clock
    assert (after.since, after.ran_ms) == (before.since, before.ran_ms)
    assert running.running and after.elapsed(now[0] + 12_345) == before.elapsed(now[0]) + 12_345
    again.close()


def test_files_of_a_match_are_named_and_what_is_no_file_is_not() -> None:
    digest = "a" * 64
    ids = {"match": "m", "team": "red", "case": "c"}
    assert list(files_named(m.SceneChecked(**ids, things=(), layout="", photo=digest))) == [(digest, "recordings")]
    assert list(files_named(m.SceneChecked(**ids, things=(), layout="", photo="simulated"))) == []
    assert list(files_named(Table("seed").body)) == []
    assert list(files_named(m.ImageTaken(match="m", team="red", image=digest))) == []
