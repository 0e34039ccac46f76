"""A short form of benchmarks/faults.py: kills under load, then everything is counted."""

import os

import pytest

from benchmarks import faults


def test_a_server_that_is_killed_again_and_again_loses_nothing(tmp_path, capsys):
    faults.run(tmp_path, kills=2, seed=5, database="", names=["server"])
    assert "nothing counts twice" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("where", ["sqlite", "postgresql"])
def test_servers_workers_and_connections_that_are_killed_lose_nothing(tmp_path, where):
    url = os.environ.get("PALESTRA_TEST_POSTGRES", "")
    if where == "postgresql" and not url:
        pytest.skip("PostgreSQL is not there; make test starts one")
    faults.run(tmp_path, kills=12, seed=7, database=faults.fresh(url) if where == "postgresql" else "")
