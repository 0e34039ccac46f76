"""Fixtures of contest tests: a fresh database of each sort, and a clock that stands still until it is told."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from palestra.contest.storage.database import connect
from tests.databases import Made, new_database, on_sorts

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


# The parts that speak to the database themselves, and what is moved from one to the other. These tests run on both with
# `make test`; those of the parts that are made of them need not.
ON_BOTH = [f"tests.contest.{name}" for name in (
    "archive.test_backup", "test_contest", "storage.test_database", "queue.test_jobs", "accounts.test_tokens",
    "log.test_chain", "accounts.test_passwords", "accounts.test_rate_limit", "storage.test_uploads",
    "workers.test_worker",
)]  # fmt: skip


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    on_sorts(metafunc, ON_BOTH, scope="function")


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
