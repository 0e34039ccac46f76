"""Fixtures that tests in several folders share."""

import fcntl
import gc
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import settings

from palestra import registry
from palestra.cli.app import main as cli_main
from palestra.datasets import make
from palestra.datasets.tiny import tiny_data
from palestra.evaluation import solve
from palestra.records import Order
from tests.databases import Databases, Made, copy_of

# pytest-xdist keeps the cores busy: threads beside them would wait for each other by spinning. Numpy takes notice where
# it is not there yet, which is in the processes of pytest-xdist and in all that tests start.
os.environ["PALESTRA_WORKERS"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENCV_FOR_THREADS_NUM", "1")


def pytest_collection_finish() -> None:
    """What is there now stays: to look for garbage among a million objects of libraries and tests would take long."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """One cache for the whole run, shared by all of its processes."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "cache"
    folder.mkdir(exist_ok=True)
    os.environ["PALESTRA_CACHE"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(cache: Path) -> Callable[[str], Path]:
    """The tiny data set of a track, made once however many processes ask. It is shared: copy it before changing it."""

    def get(track_id: str) -> Path:
        with (cache / f"{track_id}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return tiny_data(registry.track(track_id))

    return get


@pytest.fixture(scope="session")
def unpictured(cache: Path) -> Callable[..., Path]:
    """A data set without its pictures, made once however many processes ask, and apart from `tiny`."""

    def get(track_id: str, size: Literal["tiny", "small"] = "tiny") -> Path:
        track, order = registry.track(track_id), Order(size, 0, ("images",))
        folder = cache / "unpictured" / f"{track_id}-{size}"
        folder.parent.mkdir(exist_ok=True)
        with (cache / f"unpictured {folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                aside = folder.with_suffix(".new")
                make.run(track, order, make.plan(track, order), aside, lambda weight: None)
                aside.rename(folder)
        return folder

    return get


@pytest.fixture(scope="session")
def solved(cache: Path, tiny: Callable[[str], Path]) -> Callable[[str, str], Path]:
    """A solution's answers to a track's tiny data, in a folder of their own, made once however many processes ask."""

    def get(track_id: str, name: str) -> Path:
        track, folder = registry.track(track_id), cache / "solved" / track_id / name
        folder.mkdir(parents=True, exist_ok=True)
        with (cache / f"{track_id} {name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            file = folder / f"a{track.suffix}"
            if not file.is_file():
                solve.solve(track, registry.solution(track_id, name), tiny(track_id), {}, file)
        return file

    return get


@pytest.fixture(scope="session")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    with ExitStack() as until:
        yield Databases(tmp_path_factory.mktemp("databases"), until)


@pytest.fixture(scope="module")
def database_sort(request: pytest.FixtureRequest) -> str:
    """On what a test's database lies: on SQLite, unless tests are run on several sorts (see the folders' conftests)."""
    return str(getattr(request, "param", "sqlite"))


@pytest.fixture
def blank(databases: Databases, database_sort: str, tmp_path: Path) -> Iterator[Made]:
    """A database with its tables, nothing in them, and this test's alone."""
    with copy_of(databases.made(database_sort, "blank"), tmp_path / "contest") as made:
        yield made


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def cli(cache: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs a command in this process, as `palestra …` would."""

    def run(*words: object) -> Ran:
        monkeypatch.setattr("sys.argv", ["palestra", *map(str, words)])
        monkeypatch.setattr("sys.unraisablehook", sys.unraisablehook)
        capfd.readouterr()
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        with pytest.raises(SystemExit) as stopped:
            cli_main()
        for number, handler in before.items():  # a command leaves them as suits a process that ends; this one goes on
            signal.signal(number, handler)
        out, err = capfd.readouterr()
        return Ran(int(stopped.value.code or 0), out, err)

    return run


# A busy machine is no fault of what is tested. The same examples every time, so that a run tells of the change that it
# tests; `make test-all` looks for new ones.
settings.register_profile("ours", deadline=None, derandomize="EXPLORE" not in os.environ)
settings.load_profile("ours")
