"""The tiny table's cases, which several of these tests read."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from palestra.tracks.tabletop import format as on_disk


@pytest.fixture(scope="module")
def table_data(tiny: Callable[[str], Path]) -> Path:
    return tiny("tabletop-manip-v1")


@pytest.fixture(scope="module")
def cases(table_data: Path) -> list[on_disk.Case]:
    """Those to practise on."""
    return on_disk.read_cases(table_data, hidden=False)


@pytest.fixture(scope="module")
def hidden(table_data: Path) -> list[on_disk.Case]:
    """With their sub-goals."""
    unknown = on_disk.read_cases(table_data, hidden=True)
    goals = on_disk.read_goals(table_data, unknown)
    return [replace(case, goals=goals[case.id]) for case in unknown]
