"""Executors: real processes, real crashes, a real local Ray."""

import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import CancelledError, wait
from pathlib import Path

import pytest

from palestra.executors.processes import FREE_CORES, Crashed, Ended, PinnedExecutor, ProcessExecutor, Raised
from palestra.executors.ray_cluster import RayExecutor
from tests import ROOT

LIMIT_S = 120


def fail(word):
    raise ValueError(f"no {word}")


def own_pid(_):
    return os.getpid()


def kill_itself(number):
    os.kill(os.getpid(), number)


def cores(_):
    return sorted(os.sched_getaffinity(0)), os.environ.get(FREE_CORES)


def unpicklable(_):
    return lambda: None


def hang(pipe):
    """Say who works, then never end."""
    with open(pipe, "w") as file:  # noqa: PTH123
        file.write(str(os.getpid()))
    while True:
        signal.pause()


def tells_group(pipe):
    """Start a process of its own, say which, and hang."""
    child = subprocess.Popen(["sleep", "600"])
    with open(pipe, "w") as file:  # noqa: PTH123
        file.write(str(child.pid))
    signal.pause()


@pytest.fixture
def processes():
    executor = ProcessExecutor(2)
    yield executor
    executor.close()


@pytest.fixture
def one():
    """An executor with one process, so that one can tell whether it is still the same."""
    executor = ProcessExecutor(1)
    yield executor
    executor.close()


@pytest.fixture
def pipe(tmp_path):
    """A named pipe: who reads it waits until a job has written."""
    os.mkfifo(tmp_path / "pipe")
    return str(tmp_path / "pipe")


def gone(pid):
    """Whether a process is gone, or will never run again."""
    for _ in range(100_000):
        try:
            os.kill(pid, 0)
            if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        os.sched_yield()
    return False


def test_work_is_done_in_other_processes_that_are_used_again(processes):
    pids = {processes.submit(own_pid, None).result(LIMIT_S) for _ in range(6)}
    assert os.getpid() not in pids
    assert len(pids) <= 2
    assert [processes.submit(math.sqrt, number).result(LIMIT_S) for number in (4, 9)] == [2, 3]


def test_jobs_run_at_the_same_time_up_to_the_capacity(processes, tmp_path):
    """Two jobs that wait for each other can only end when both run."""
    there, back = str(tmp_path / "there"), str(tmp_path / "back")
    os.mkfifo(there)
    os.mkfifo(back)
    futures = [processes.submit(meet, (there, back)), processes.submit(meet, (back, there))]
    assert sorted(future.result(LIMIT_S) for future in futures) == ["met", "met"]


def meet(pipes):
    """Opening a named pipe waits for the other side."""
    first, second = sorted(pipes)
    if pipes[0] == first:
        with open(first, "w"), open(second):  # noqa: PTH123
            return "met"
    with open(first), open(second, "w"):  # noqa: PTH123
        return "met"


def test_an_error_comes_back_in_words_with_its_traceback(processes):
    with pytest.raises(Raised, match=r"(?s)Traceback.*in fail.*ValueError: no luck"):
        processes.submit(fail, "luck").result(LIMIT_S)
    assert processes.submit(math.sqrt, 4).result(LIMIT_S) == 2


def test_what_cannot_be_sent_is_an_error_and_no_crash(one):
    before = one.submit(own_pid, None).result(LIMIT_S)
    with pytest.raises(Raised, match="pickle"):
        one.submit(unpicklable, None).result(LIMIT_S)
    with pytest.raises(Raised, match="pickle"):
        one.submit(lambda _: None, None).result(LIMIT_S)
    assert one.submit(own_pid, None).result(LIMIT_S) == before


@pytest.mark.parametrize(
    ("work", "argument", "words"),
    [(os._exit, 7, "exit code 7"), (kill_itself, signal.SIGKILL, "SIGKILL"), (kill_itself, signal.SIGSEGV, "SIGSEGV")],
    ids=["exits", "killed", "segfault"],
)
def test_a_crash_fails_its_own_job_alone(processes, work, argument, words):
    futures = [processes.submit(math.sqrt, 4), processes.submit(work, argument), processes.submit(math.sqrt, 9)]
    assert futures[0].result(LIMIT_S) == 2
    with pytest.raises(Crashed, match=words):
        futures[1].result(LIMIT_S)
    assert futures[2].result(LIMIT_S) == 3
    assert [processes.submit(math.sqrt, number * number).result(LIMIT_S) for number in range(4)] == [0, 1, 2, 3]


def test_a_process_that_dies_while_idle_costs_no_job(one):
    pid = one.submit(own_pid, None).result(LIMIT_S)
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)
    assert one.submit(own_pid, None).result(LIMIT_S) != pid


def test_ending_a_job_ends_its_process_and_what_it_started(processes, pipe):
    future = processes.submit(tells_group, pipe)
    started = int(Path(pipe).read_text())
    processes.end(future)
    with pytest.raises(Ended):
        future.result(LIMIT_S)
    assert gone(started)
    assert [processes.submit(math.sqrt, 4).result(LIMIT_S) for _ in range(4)] == [2] * 4


def test_a_job_that_waits_can_be_ended_before_it_runs(one, pipe):
    running, waiting = one.submit(hang, pipe), one.submit(own_pid, None)
    Path(pipe).read_text()
    one.end(waiting)
    one.end(running)
    with pytest.raises(CancelledError):
        waiting.result(LIMIT_S)
    with pytest.raises(Ended):
        running.result(LIMIT_S)
    assert one.submit(math.sqrt, 4).result(LIMIT_S) == 2


def test_a_job_can_be_ended_while_its_process_is_being_started(one, pipe):
    future = one.submit(hang, pipe)
    while not future.running():
        os.sched_yield()
    one.end(future)
    with pytest.raises(Ended):
        future.result(LIMIT_S)


def test_the_job_after_an_ended_one_gets_a_living_process(one):
    """Ended at whatever moment, also when its answer is on the way: the next job does not notice."""
    for _ in range(10):
        one.submit(own_pid, None).result(LIMIT_S)
        first, second = one.submit(own_pid, None), one.submit(math.sqrt, 4)
        while not first.running() and not first.done():
            os.sched_yield()
        one.end(first)
        assert second.result(LIMIT_S) == 2


def test_ending_what_is_done_harms_nobody(one):
    done = one.submit(own_pid, None)
    pid = done.result(LIMIT_S)
    one.submit(math.sqrt, 4).result(LIMIT_S)  # by now it knows that the first is done
    one.end(done)
    assert one.submit(own_pid, None).result(LIMIT_S) == pid


def test_closing_ends_all_that_runs_and_waits(pipe):
    executor = ProcessExecutor(1)
    running, waiting = executor.submit(hang, pipe), executor.submit(own_pid, None)
    pid = int(Path(pipe).read_text())
    executor.close()
    assert gone(pid)
    assert not wait([running, waiting], LIMIT_S).not_done
    with pytest.raises(Ended):
        running.result()
    with pytest.raises(CancelledError):
        waiting.result()


@pytest.mark.parametrize("number", [None, signal.SIGKILL, signal.SIGTERM], ids=["exit", "killed", "terminated"])
def test_processes_end_with_their_parent(number, tmp_path, pipe):
    """A parent that ends, in order or not, while its job hangs and nobody closed anything."""
    (tmp_path / "parent.py").write_text(
        textwrap.dedent("""
        import signal, sys
        from palestra.executors.processes import ProcessExecutor
        from tests.executors.test_processes import hang

        if __name__ == "__main__":
            executor = ProcessExecutor(1)
            executor.submit(hang, sys.argv[1])
            if sys.stdin.readline() == "exit\\n":
                sys.exit(0)
        """)
    )
    root = str(ROOT)
    words = [sys.executable, str(tmp_path / "parent.py"), pipe]
    environment = {**os.environ, "PYTHONPATH": root}
    parent = subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
    pid = int(Path(pipe).read_text())
    if number is not None:
        parent.send_signal(number)
    errors = parent.communicate("exit\n" if number is None else "", timeout=LIMIT_S)[1]
    assert gone(pid)
    assert errors == ""


def test_a_live_run_has_a_core_and_a_process_of_its_own():
    granted = sorted(os.sched_getaffinity(0))
    executor = PinnedExecutor()
    assert executor.capacity == 1
    mine, free = executor.submit(cores, None).result(LIMIT_S)
    executor.close()
    assert sorted(os.sched_getaffinity(0)) == granted, "the parent keeps what it had"
    if len(granted) == 1:
        assert (mine, free) == (granted, None)
    else:
        assert mine == granted[-1:]
        assert free == ",".join(map(str, granted[:-1]))


@pytest.fixture(scope="module")
def ray():
    executor = RayExecutor(capacity=1)
    yield executor
    executor.close()


def test_ray_does_the_work_in_its_own_processes(ray):
    assert ray.capacity == 1
    assert ray.submit(math.sqrt, 4).result(LIMIT_S) == 2
    assert ray.submit(own_pid, None).result(LIMIT_S) != os.getpid()


def test_ray_tells_an_error_from_a_crash_and_tries_neither_again(ray, tmp_path):
    with pytest.raises(Raised, match=r"(?s)Traceback.*ValueError"):
        ray.submit(math.sqrt, -1).result(LIMIT_S)
    with pytest.raises(Crashed):
        ray.submit(note_and_crash, str(tmp_path / "tries")).result(LIMIT_S)
    assert (tmp_path / "tries").read_text() == "x"
    with pytest.raises(Raised, match="pickle"):
        ray.submit(math.sqrt, sys.stdout).result(LIMIT_S)
    assert ray.submit(math.sqrt, 9).result(LIMIT_S) == 3


def note_and_crash(file):
    with open(file, "a") as notes:  # noqa: PTH123
        notes.write("x")
    os._exit(7)


def test_ray_ends_the_process_of_a_job_that_is_ended(ray, pipe):
    future = ray.submit(hang, pipe)
    pid = int(Path(pipe).read_text())
    ray.end(future)
    with pytest.raises(Ended):
        future.result(LIMIT_S)
    assert gone(pid)
    assert ray.submit(math.sqrt, 16).result(LIMIT_S) == 4


def gather(folder):
    """Wait until two processes are here; who this one is."""
    (Path(folder) / str(os.getpid())).touch()
    for _ in range(LIMIT_S * 100):
        if len(list(Path(folder).iterdir())) == 2:
            return os.getpid()
        threading.Event().wait(0.01)
    raise TimeoutError


def test_the_process_that_was_used_last_gets_the_next_job(tmp_path):
    """It has loaded what the job needs; another one is started only while it is at work."""
    executor = ProcessExecutor(3)
    try:
        first = executor.submit(own_pid, None).result(LIMIT_S)
        assert {executor.submit(own_pid, None).result(LIMIT_S) for _ in range(20)} == {first}
        both = [executor.submit(gather, str(tmp_path)) for _ in range(2)]
        assert len({one.result(LIMIT_S) for one in both} - {first}) == 1
    finally:
        executor.close()
