"""Worker processes, with real processes and real signals."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from palestra import parallel


def double(number):
    return 2 * number


def fail(number):
    raise ValueError(number)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_every_item_comes_back_with_its_outcome(workers, monkeypatch):
    monkeypatch.setenv(parallel.WORKERS, workers)
    assert sorted(parallel.in_processes(double, range(5))) == [(i, 2 * i) for i in range(5)]


def test_an_error_in_a_worker_is_the_caller_s(monkeypatch):
    monkeypatch.setenv(parallel.WORKERS, "2")
    with pytest.raises(ValueError, match=r"0|1|2"):
        list(parallel.in_processes(fail, range(3)))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent_and_show_no_traceback(number, tmp_path):
    """A command with two busy workers is ended: none of its processes is left, and nothing is printed but words."""
    (tmp_path / "busy.py").write_text(
        textwrap.dedent("""
        import os, sys, time
        from palestra import parallel
        from palestra.cli import app

        def work(item):
            os.write(1, b"%d\\n" % os.getpid())  # one write: two processes share the pipe
            time.sleep(600 if item else 0.01)

        if __name__ == "__main__":
            app.app = lambda: list(parallel.in_processes(work, [0, 1, 2]))
            try:
                app.main()
            except KeyboardInterrupt:
                os._exit(130)
        """)
    )
    command = [sys.executable, "busy.py"]
    environment = {**os.environ, parallel.WORKERS: "2"}
    running = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    workers = {int(running.stdout.readline()) for _ in range(3)}
    # A worker that sleeps for ten minutes is not waited for: the second signal is the impatient one.
    for _ in range(2):
        os.kill(running.pid, number)
    os.kill(running.pid, signal.SIGKILL)
    errors = running.communicate(timeout=60)[1]
    assert "SpawnProcess" not in errors
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            _wait_until_gone(worker)


def _wait_until_gone(pid):
    for _ in range(2000):
        os.kill(pid, 0)
        if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
            raise ProcessLookupError
        os.sched_yield()
