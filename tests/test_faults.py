"""A short form of benchmarks/faults.py: kills under load, then everything is counted."""

import pytest

from benchmarks import faults
from tests import postgres


def test_a_server_that_is_killed_again_and_again_loses_nothing(tmp_path, capsys):
    faults.run(tmp_path, kills=2, seed=5, names=["server"])
    assert "nothing counts twice" in capsys.readouterr().out


@pytest.mark.slow
def test_servers_and_workers_that_are_killed_lose_nothing(tmp_path):
    faults.run(tmp_path, kills=12, seed=7)


@pytest.mark.slow
@pytest.mark.skipif(postgres.installed() is None, reason="PostgreSQL is not installed")
def test_postgresql_and_its_connections_that_are_killed_lose_nothing(tmp_path):
    with postgres.Cluster(postgres.installed(), {}) as cluster:
        faults.run(tmp_path, kills=12, seed=7, cluster=cluster)
