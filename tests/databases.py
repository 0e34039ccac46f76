"""A database for each test, on SQLite or PostgreSQL: empty, or a copy of one that was made once in this process."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from palestra.contest.storage.database import open_database, sqlite_address
from tests import ROOT, postgres


@contextmanager
def new_database(sort: str, folder: Path) -> Iterator[str]:
    """The address of one that is empty, without tables. One on SQLite lies in the folder."""
    if sort == "sqlite":
        yield sqlite_address(folder / "contest.db")
        return
    require_postgres()
    with postgres.fresh_database() as address:
        yield address


class Made(NamedTuple):
    """A contest's database, and the folder with the rest of it: one on SQLite lies there too."""

    address: str
    folder: Path


@contextmanager
def copy_of(made: Made, folder: Path) -> Iterator[Made]:
    """The same once more. Nobody may be connected to the original."""
    shutil.copytree(made.folder, folder, dirs_exist_ok=True)
    if made.address.startswith("sqlite"):
        yield Made(sqlite_address(folder / "contest.db"), folder)
        return
    with postgres.fresh_database(made.address) as address:
        yield Made(address, folder)


class Databases:
    """What is made once in this process, for each test to take a copy: that is much faster than to make it again."""

    def __init__(self, folder: Path, until: ExitStack) -> None:
        self._folder, self._until = folder, until  # when all of them are dropped
        self._made: dict[tuple[str, str], Made] = {}

    def made(self, sort: str, name: str, make: Callable[[Made], None] = lambda blank: None) -> Made:
        """The one with this name; where it is not there yet, it is made of one that has tables and nothing in them."""
        if (sort, name) not in self._made:
            folder = self._folder / f"{name}-{sort}"
            folder.mkdir(exist_ok=True)  # where PostgreSQL is not there, every test comes this far
            made = Made(self._until.enter_context(new_database(sort, folder)), folder)
            open_database(made.address).dispose()
            make(made)
            self._made[sort, name] = made
        return self._made[sort, name]

    def kept(self, made: Made, name: str) -> Made:
        """A copy as it is now, for others to take copies of."""
        return self._until.enter_context(copy_of(made, self._folder / f"{name}-{made.folder.name}"))


def on_sorts(metafunc: pytest.Metafunc, on_both: Sequence[str], scope: Literal["module", "function"]) -> None:
    """Test on each sort whatever needs a database: on PostgreSQL with `make test-all`, and with `make test` too in
    modules of these names."""
    gone = [name for name in on_both if not (ROOT / f"{name.replace('.', '/')}.py").is_file()]
    assert not gone, f"{gone} are to be tested on both databases, and are not there"
    if "database_sort" in metafunc.fixturenames:
        seldom = metafunc.module.__name__ not in on_both
        grown = pytest.param("postgresql", marks=[pytest.mark.slow] if seldom else [])
        metafunc.parametrize("database_sort", ["sqlite", grown], indirect=True, scope=scope)


def require_postgres() -> None:
    if postgres.ADDRESS not in os.environ:
        pytest.skip("needs PostgreSQL: python -m tests.postgres pytest …")
