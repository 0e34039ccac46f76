"""Fixtures of contest tests: a fresh database of each sort, and a clock that stands still until it is told."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from palestra.contest.database import connect
from tests.databases import SORTS, Made, new_database

START_MS = 1_668_000_000_000  # some day in November 2022


class Clock:
    """Says the same time, in ms, until it is moved on."""

    def __init__(self, at: int = START_MS) -> None:
        self.at = at

    def __call__(self) -> int:
        return self.at

    def advance(self, ms: int) -> int:
        self.at += ms
        return self.at


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Whatever needs a database is tested on each sort."""
    if "database_sort" in metafunc.fixturenames:
        metafunc.parametrize("database_sort", SORTS, indirect=True, scope="function")


@pytest.fixture
def empty_database(database_sort: str, tmp_path: Path) -> Iterator[str]:
    """The address of a database without tables."""
    with new_database(database_sort, tmp_path) as address:
        yield address


@pytest.fixture
def database_url(blank: Made) -> str:
    """The address of a database with its tables, nothing in them, and this test's alone."""
    return blank.address


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """A contest's database with its tables."""
    engine = connect(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def clock() -> Clock:
    return Clock()
