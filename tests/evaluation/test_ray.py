"""A benchmark on Ray: one machine, and a cluster of two of which one is lost in the middle."""

import contextlib
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from palestra.errors import PalestraError
from palestra.evaluation.fold_job import ONE_THREAD
from palestra.executors.processes import ProcessExecutor
from palestra.executors.ray_cluster import RayExecutor
from palestra.registry import OUTSIDE
from tests.evaluation.benches import SESSIONS, answered, bench_on, learner, noted, write_data

LIMIT_S = 300
ENVIRONMENT = {**ONE_THREAD, OUTSIDE: os.environ.get(OUTSIDE, "")}


@pytest.fixture
def data(tmp_path) -> Path:
    return write_data(tmp_path / "eyediap")


@pytest.fixture
def notes(tmp_path) -> Path:
    (tmp_path / "notes").mkdir()
    return tmp_path / "notes"


@pytest.fixture
def expected(data, tmp_path):
    """What processes of this machine answer."""
    executor = ProcessExecutor(1)
    yield answered(bench_on(data), learner("HeadPose"), executor, tmp_path / "by processes")
    executor.close()


def test_ray_on_one_machine_answers_the_same_to_the_last_bit(data, expected, notes, tmp_path):
    executor = RayExecutor(capacity=2, environment=ENVIRONMENT)
    try:
        assert answered(bench_on(data), learner("HeadPose"), executor, tmp_path / "kept").equals(expected)
        watched = learner("Watched", notes=notes)
        assert answered(bench_on(data), watched, executor, tmp_path / "kept").equals(expected)
        assert noted(notes, "threads") == {"1 1": len(SESSIONS)} and set(noted(notes, "polars")) == {"1"}
        with pytest.raises(PalestraError, match="no sunshine today"):
            answered(bench_on(data), learner("Raises"), executor, tmp_path / "kept")
    finally:
        executor.close()


@pytest.fixture
def cluster():
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "num_gpus": 1, "include_dashboard": False})
    yield made
    made.shutdown()


def lose(cluster, node, pids):
    """End a machine of the cluster at once, with those of the processes that work on it."""
    (own,) = (process.process.pid for process in node.all_processes["raylet"])
    there = [int(pid) for pid in pids if f"PPid:\t{own}\n" in Path(f"/proc/{pid}/status").read_text()]
    assert len(there) == 1
    cluster.remove_node(node, allow_graceful=False)
    with contextlib.suppress(ProcessLookupError):  # it may have noticed by itself
        os.kill(there[0], signal.SIGKILL)


def test_a_machine_that_is_lost_costs_its_folds_another_try_and_changes_no_number(
    cluster, data, expected, notes, tmp_path
):
    second = cluster.add_node(num_cpus=1, num_gpus=1)
    cluster.wait_for_nodes()
    hold, go = tmp_path / "hold", tmp_path / "go"
    os.mkfifo(hold)
    os.mkfifo(go)
    who = learner("Watched", notes=notes, hold=hold, holds="all", go=go)
    executor = RayExecutor(cluster.address, environment=ENVIRONMENT)
    try:
        assert executor.capacity == 2
        with ThreadPoolExecutor(1) as aside:
            running = aside.submit(answered, bench_on(data), who, executor, tmp_path / "kept")
            working: set[str] = set()
            while len(working) < 2:  # each machine has a fold in hand
                working.update(hold.read_text().split())
            hold.unlink()  # those that come later do not wait
            lose(cluster, second, working)
            open_end = os.open(go, os.O_RDWR)
            os.write(open_end, b"go go")  # lets go whoever is left
            found = running.result(LIMIT_S)
            os.close(open_end)
        assert found.equals(expected)
    finally:
        executor.close()
    assert noted(notes, "fit").total() == len(SESSIONS) + 1, "one fold was lost, and done again"
    assert set(noted(notes, "cards")) == {"0"}, "each fold had a card for itself"
    assert set(noted(notes, "threads")) == {"1 1"}


def test_a_cluster_that_is_not_there_is_told_by_its_address():
    with pytest.raises(PalestraError, match=r"127\.0\.0\.1:9"):
        RayExecutor("127.0.0.1:9")
