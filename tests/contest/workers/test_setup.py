"""A worker, put together."""

import os
import tempfile
from concurrent.futures import Future
from pathlib import Path

import pytest

from palestra.contest.contest import Contest
from palestra.contest.log import events as e
from palestra.contest.rules.model import encode
from palestra.contest.setup.location import Place
from palestra.contest.storage.file_store import Files
from palestra.contest.workers import jobs, predict, setup
from palestra.contest.workers.lanes import Lanes
from palestra.entrants import bundle
from palestra.executors import Ended, fingerprint
from tests.contest.story import a_phase, some_rules


def test_a_worker_sweeps_up_after_killed_ones_at_its_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, temporary = tmp_path / "contest", tmp_path / "tmp"
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    left = [home / f"{predict.PREFIX}x", temporary / f"{bundle.PREFIX}y"]
    kept = [home / "data", temporary / f"{predict.PREFIX}z"]
    for folder in (*left, *kept):
        folder.mkdir(parents=True)
        os.utime(folder, (0, 0))
    setup.sweep(Place(home / "contest.toml"))
    assert [folder for folder in (*left, *kept) if folder.exists()] == kept


class Noting:
    """An executor that only notes what it is given."""

    name = "noting"

    def __init__(self, capacity: int) -> None:
        self.capacity, self.given = capacity, []

    def submit(self, work, argument) -> Future:
        self.given.append((work, argument))
        self.last: Future = Future()
        return self.last


def lanes_of(check: Noting, main: Noting) -> Lanes:
    return Lanes(check, main, (Future(), Future()))


def test_a_second_process_gets_ready_only_when_the_first_is() -> None:
    check, main = Noting(1), Noting(4)
    lanes = lanes_of(check, main)
    setup._make_ready(lanes, ["a look"])
    assert check.given == main.given == []  # what they look with is still being loaded
    for loading in lanes.loading:
        loading.set_result(None)
    assert check.given == main.given == [(jobs.warm_up, ["a look"])]
    main.last.set_result(None)
    assert main.given == 3 * [(jobs.warm_up, ["a look"])]  # the first may take one of two


@pytest.mark.parametrize("ended", [Future.cancel, lambda one: one.set_exception(Ended())])
def test_what_is_closed_while_it_gets_ready_is_given_nothing_more(ended) -> None:
    main = Noting(4)
    lanes = lanes_of(Noting(1), main)
    setup._make_ready(lanes, [])
    ended(lanes.loading[1])
    assert main.given == []
    lanes = lanes_of(Noting(1), main)
    setup._make_ready(lanes, [])
    lanes.loading[1].set_result(None)
    ended(main.last)
    assert len(main.given) == 1


def test_one_process_gets_ready_once() -> None:
    main = Noting(1)
    lanes = lanes_of(Noting(1), main)
    setup._make_ready(lanes, [])
    for loading in lanes.loading:
        loading.set_result(None)
    main.last.set_result(None)
    assert len(main.given) == 1


@pytest.mark.parametrize(("held", "told"), [("online", 0), ("on-stage", 1)])
def test_a_worker_tells_of_its_machine_where_something_is_held_on_stage(engine, tmp_path, clock, held, told) -> None:
    contest = Contest(engine, Files.open(str(tmp_path / "files")), clock)
    rules = some_rules(a_phase(track="near-eye-live-v1", held=held))
    contest.act("organiser", lambda state, now: [e.ContestOpened(encode(rules))])
    setup.tell_machine(contest, "w1")
    assert list(contest.state.machines.values()) == [fingerprint()] * told
