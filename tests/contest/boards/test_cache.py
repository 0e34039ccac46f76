"""Boards that are kept up to date: always what the pure function says, and seen only by whom they may be."""

import shutil
from pathlib import Path

import msgspec
import pytest
from hypothesis import Phase, given, settings
from sqlalchemy.event import listen

from palestra.contest.boards import ranking
from palestra.contest.boards.cache import AS_OF, Boards
from palestra.contest.contest import Contest
from palestra.contest.log import events as e
from palestra.contest.storage.database import connect, open_database, sqlite_address
from palestra.contest.storage.file_store import Files
from palestra.contest.visibility import NOBODY, Part, Viewer
from tests.contest.conftest import Clock
from tests.contest.story import START, Story, a_phase, histories, numbers, ranks, some_rules

OLGA = Viewer("organiser", "Olga", "organiser")


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with its tables and nothing in them, to be copied: making the tables takes a while."""
    file = tmp_path_factory.mktemp("empty") / "contest.db"
    open_database(sqlite_address(file)).dispose()
    return file


class Stage:
    """A contest that a story is told to, event by event, as if others wrote it."""

    def __init__(self, folder: Path, empty: Path, story: Story) -> None:
        file = Path(shutil.copy(empty, folder / "contest.db"))
        self.clock = Clock(START)
        self.engine = connect(sqlite_address(file))
        listen(self.engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF"))  # no fsync
        files = Files.open(str(folder / "files"))
        for packed in story.draws.values():
            files.put(packed)
        self.contest = Contest(self.engine, files, self.clock)
        self.boards = Boards(self.contest)

    def tell(self, event: e.Event) -> None:
        self.clock.at = event.at
        self.contest.act(event.by, lambda state, now: [event.body])

    def tell_all(self, story: Story) -> "Stage":
        for event in story.events:
            self.tell(event)
        self.clock.at = story.now
        return self

    def pure(self, phase: str, part: Part, as_of: int | None) -> list[ranking.Row]:
        at = self.clock() if as_of is None else as_of
        return ranking.board(self.contest.state, phase, at, part, self.contest.files.read)


@pytest.fixture
def staged(tmp_path, empty):
    return lambda story: Stage(tmp_path, empty, story).tell_all(story)


@given(story=histories(15, 30))
@settings(max_examples=10, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))  # shrinking is slow
def test_kept_boards_are_what_the_pure_function_says_after_every_event(tmp_path_factory, empty, story):
    stage = Stage(tmp_path_factory.mktemp("contest"), empty, story)
    keys = [
        (phase, part, as_of)
        for phase in ("first", "second")
        for part in ("whole", "shown")
        for as_of in (None, START + 3)
    ]
    seen = {}
    for event in story.events:
        stage.tell(event)
        coming = stage.contest.state.versions[-1].counts_from - stage.clock()
        for wait in (0, coming) if coming > 0 else (0,):  # rules come into force between events, too
            stage.clock.advance(wait)
            for key in keys:
                rows = stage.boards.rows(*key)
                assert rows == stage.pure(*key)
                version = stage.boards.version(key[0])
                before = seen.get(key, (None, []))
                assert before[0] != version or before[1] == rows  # the same number, the same board
                if not wait:  # the next event may come before that time
                    seen[key] = version, rows
    stage.engine.dispose()


def test_a_board_is_computed_again_for_one_team_alone(staged, monkeypatch):
    story = Story()
    teams = [story.team() for _ in range(5)]
    for team in teams:
        story.scored(team, 2.0)
    stage = staged(story)
    assert len(stage.boards.rows("first")) == 5
    asked = []
    real = ranking.entry_of
    monkeypatch.setattr(ranking, "entry_of", lambda *words: asked.append(words[2]) or real(*words))
    sent = story.submit(teams[2])
    story.score(sent, 1.0)
    stage.contest.files.put(story.draws[story.drawn(1.0)])
    for event in story.events[-2:]:
        stage.tell(event)
    assert stage.boards.rows("first")[0].entry.team == teams[2]
    assert asked == [teams[2]]
    stage.boards.rows("first")
    assert asked == [teams[2]]


def test_a_board_whose_resamples_are_lost_has_no_bands_but_is_a_board(staged):
    story = Story()
    for value in (1.0, 2.0):
        story.scored(story.team(), value)
    stage = staged(story)
    lost = stage.pure("first", "whole", None)[0].entry.draws
    assert [row.band for row in stage.boards.rows("first")] != [None, None]
    (Path(stage.contest.files.where) / lost[:2] / lost).unlink()
    assert [(row.rank, row.band) for row in Boards(stage.contest).rows("first")] == [(1, None), (2, None)]


def test_what_another_process_wrote_is_on_the_board_once_it_is_taken_in(staged, tmp_path):
    story = Story()
    story.scored(story.team(), 2.0)
    stage = staged(story)
    assert len(stage.boards.rows("first")) == 1
    other = Contest(connect(stage.engine.url.render_as_string()), stage.contest.files, stage.clock)
    story.scored(story.team(), 1.0)
    stage.contest.files.put(story.draws[story.drawn(1.0)])
    for event in story.events[other.state.seq :]:
        other.act(event.by, lambda state, now, body=event.body: [body])
    stage.contest.catch_up()
    assert len(stage.boards.rows("first")) == 2


def test_rules_that_come_into_force_change_the_board_without_an_event(staged):
    story = Story()
    team = story.team()
    story.scored(team, 1.0)
    story.scored(team, 2.0)
    phase = msgspec.structs.replace(story.state.phase("first"), board="last")
    story.add(e.RulesAmended(msgspec.json.encode(some_rules(phase)).decode(), START + 50, "fairer"))
    stage = staged(story)
    version = stage.boards.version("first")
    assert stage.boards.rows("first")[0].entry.metrics["pe_deg"].value == 1.0
    stage.clock.advance(50)
    assert stage.boards.version("first") != version
    assert stage.boards.rows("first")[0].entry.metrics["pe_deg"].value == 2.0


def test_boards_of_many_times_do_not_fill_the_memory(staged):
    story = Story()
    story.scored(story.team(), 2.0)
    stage = staged(story)
    for i in range(3 * AS_OF):
        assert len(stage.boards.rows("first", "whole", START + i)) == 1
    stage.boards.rows("first")
    assert len(stage.boards._rows) <= AS_OF + 1
    assert set(stage.boards._entries) == set(stage.boards._rows)


def test_the_public_sees_the_frozen_board_and_the_organiser_the_new_one(staged):
    story = Story(some_rules(a_phase(freeze=START + 100)))
    first, second = story.team(), story.team()
    story.scored(first, 2.0)
    story.wait(200).scored(second, 1.0)
    stage = staged(story)
    sight, rows = stage.boards.seen("first", NOBODY)
    assert ranks(rows) == [(1, first)]
    assert sight.frozen_at == START + 100
    assert ranks(stage.boards.seen("first", OLGA)[1]) == [(1, second), (2, first)]
    stage.contest.act("organiser", lambda state, now: [e.BoardReleased("first")])
    assert ranks(stage.boards.seen("first", NOBODY)[1]) == [(1, second), (2, first)]


def test_a_board_that_is_not_for_someone_is_nothing_to_them(staged):
    stage = staged(Story(some_rules(a_phase(board_for="organisers"))))
    assert stage.boards.seen("first", NOBODY) is None
    assert stage.boards.seen("first", OLGA) is not None


def final_story(**changes):
    phases = [a_phase("one", track="eye-segmentation-v1"), a_phase("two", track="eye-segmentation-v1", **changes)]
    story = Story(some_rules(*phases, weights={"one": 0.5, "two": 0.5}))
    team = story.team()
    for phase in ("one", "two"):
        names = [metric.name for metric in ranking.track_of(story.state.phase(phase)).metrics]
        story.scored(team, 0.5, phase, metrics={name: numbers(0.5)["pe_deg"] for name in names})
    return story


def test_the_final_standing_is_shown_once_all_of_its_boards_are(staged):
    assert [row.rank for row in staged(final_story()).boards.final(NOBODY)] == [1]


@pytest.mark.parametrize("hidden", [{"board_for": "organisers"}, {"freeze": START}, {"split": 0.5}])
def test_the_final_standing_is_not_shown_while_one_of_its_boards_is_not(staged, hidden):
    stage = staged(final_story(**hidden))
    assert stage.boards.final(NOBODY) == []
    assert [row.rank for row in stage.boards.final(OLGA)] == [1]
