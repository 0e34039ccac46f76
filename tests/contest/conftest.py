"""Fixtures of contest tests: a fresh database of each sort, and a clock that stands still until it is told."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from palestra.contest.database import open_database, sqlite_address
from tests import postgres

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


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database that is empty, and this test's alone."""
    if request.param == "sqlite":
        yield sqlite_address(tmp_path / "contest.db")
        return
    if postgres.ADDRESS not in os.environ:
        pytest.skip("needs PostgreSQL: python -m tests.postgres pytest …")
    with postgres.fresh_database() as address:
        yield address


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """A contest's database with its tables."""
    engine = open_database(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def clock() -> Clock:
    return Clock()
