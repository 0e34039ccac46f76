"""Worker processes, with real processes and real signals."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from palestra import parallel
from palestra.errors import PalestraError
from palestra.executors.worker_pool import CannotSend, in_processes

PATIENCE_S = 60.0


def double(number):
    return 2 * number


def fail(number):
    raise ValueError(number)


def make_lambda(number):
    return lambda: number


def make_unreadable(number):
    return Unreadable()


def fail_unsendably(number):
    error = ValueError(f"no {number}")
    error.cause = lambda: None
    raise error


def fail_unreadably(number):
    raise OddError("a", "b")


def die(number):
    os.kill(os.getpid(), signal.SIGKILL)


class OddError(Exception):
    """Pickled without complaint; read back, it lacks an argument."""

    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")


class Unreadable:
    """Pickled without complaint, and refused wherever it is read."""

    def __reduce__(self):
        return int, ("not a number",)


@pytest.fixture
def two(monkeypatch):
    monkeypatch.setenv(parallel.WORKERS, "2")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_every_item_comes_back_with_its_outcome(workers, monkeypatch):
    monkeypatch.setenv(parallel.WORKERS, workers)
    assert sorted(in_processes(double, range(5))) == [(i, 2 * i) for i in range(5)]


def test_an_error_in_a_worker_is_the_caller_s_and_tells_where_it_was_raised(two):
    with pytest.raises(ValueError, match=r"0|1|2") as raised:
        list(in_processes(fail, range(3)))
    assert "in fail" in str(raised.value.__cause__)


@pytest.mark.parametrize(
    ("work", "items", "error", "told"),
    [
        (lambda item: item, [1, 2], CannotSend, r"function that worker processes .* cannot be sent .* top level"),
        (double, [lambda: 1, 2], CannotSend, r"to work on cannot be sent .*Can't pickle"),
        (double, [1, 2, 3, lambda: 4], CannotSend, r"to work on cannot be sent .*Can't pickle"),
        (double, [Unreadable(), 2], CannotSend, r"to work on cannot be sent .*not a number"),
        (make_lambda, [1, 2], CannotSend, r"result of a worker process cannot be sent .*pickle"),
        (make_unreadable, [1, 2], CannotSend, r"result of a worker process cannot be sent .*not a number"),
        (fail_unsendably, [1, 2], RuntimeError, r"^ValueError: no \d$"),
        (fail_unreadably, [1, 2], RuntimeError, r"OddError: a and b$"),
        (die, [1, 2], PalestraError, r"A worker process ended by itself \(signal SIGKILL"),
    ],
    ids=[
        "function", "argument", "last argument", "unreadable argument", "result", "unreadable result", "error",
        "unreadable error", "dies",
    ],
)  # fmt: skip
def test_what_cannot_go_from_process_to_process_is_told_and_holds_up_nobody(two, work, items, error, told):
    with pytest.raises(error, match=told):
        list(in_processes(work, items))


def test_what_cannot_be_sent_is_named_by_its_item(two):
    with pytest.raises(CannotSend) as raised:
        list(in_processes(double, [7, item := Unreadable()]))
    assert type(raised.value.item) is type(item)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent_and_show_no_traceback(number, tmp_path):
    """A command with two busy workers is told twice to end: none of its processes is left, and nothing is printed."""
    (tmp_path / "busy.py").write_text(
        textwrap.dedent("""
        import os, time
        from palestra.cli import app
        from palestra.executors import in_processes

        def work(item):
            os.write(1, b"%d\\n" % os.getpid())  # one write: two processes share the pipe
            time.sleep(600 if item else 0.01)

        if __name__ == "__main__":
            app.app = lambda: list(in_processes(work, [0, 1, 2]))
            app.main()
        """)
    )
    running = subprocess.Popen(
        [sys.executable, "busy.py"], cwd=tmp_path, env={**os.environ, parallel.WORKERS: "2"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    workers = {int(running.stdout.readline()) for _ in range(3)}
    for _ in range(2):
        os.killpg(running.pid, number)
    errors = running.communicate(timeout=PATIENCE_S)[1]  # it ends when the last process that has the pipe is gone
    assert (running.returncode, errors) == (-number if number == signal.SIGKILL else 130, "")
    deadline = time.monotonic() + PATIENCE_S
    while any(map(still_runs, workers)):  # what is ending closes its pipes first
        assert time.monotonic() < deadline
        os.sched_yield()


def still_runs(pid):
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
