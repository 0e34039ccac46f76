"""What a program gets, how its end is told, and which sandbox is chosen."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import pytest

from palestra.entrants import socket_frames
from palestra.errors import PalestraError
from palestra.sandbox import backends, launch
from palestra.sandbox.launch import Limits
from palestra.sandbox.running_program import Running
from tests import ROOT
from tests.entrants.programs import DAEMONS, TRIES, until
from tests.sandbox.ground import SHORT


def test_a_program_runs_in_its_bundle_and_what_it_prints_is_kept(ground):
    ended = ground.run("import os, sys; print(os.listdir('.')); print('to stderr', file=sys.stderr); sys.exit(3)")
    assert "['main.py']" in ended.output and "to stderr" in ended.output
    assert ended.why == "ended by itself with exit code 3"
    assert ended.report.clean


def test_a_program_speaks_frames_over_its_socket(ground):
    if ground.python != launch.PYTHON:
        pytest.skip("another Python, without our libraries")
    program = """
import os, socket
from palestra.entrants import socket_frames as frames
sock = socket.socket(fileno=int(os.environ["PALESTRA_FD"]))
frame = frames.Receiver(sock).receive()
frames.send(sock, frames.Header("answer", frame.header.number), [frame.arrays[0] * 2])
"""
    import numpy as np

    ours, theirs = socket.socketpair()
    with ours, ground.start(program, sock=theirs, memory_bytes=1 << 30, pids=64) as running:
        theirs.close()
        socket_frames.send(ours, socket_frames.Header("packet", 7), [np.arange(6, dtype=np.float32).reshape(2, 3)])
        receiver = socket_frames.Receiver(ours)
        answer = receiver.receive(time.monotonic() + 10)
        assert answer.header.number == 7
        assert answer.arrays[0].tolist() == [[0, 2, 4], [6, 8, 10]]
        with pytest.raises(EOFError):  # its end is seen at once: nobody else holds the socket
            receiver.receive(time.monotonic() + 10)
        assert running.wait(10)


def test_a_program_gets_its_own_descriptors_though_we_have_many_open(ground):
    """What is passed to the keeper then has high numbers, and must not go on to the program."""
    ours = [os.open(os.devnull, os.O_RDONLY) for _ in range(150)]
    try:
        ended = ground.run("import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))")
    finally:
        for number in ours:
            os.close(number)
    assert ended.output.strip() == "[0, 1, 2, 3]"  # the last is the folder that is listed


def test_common_libraries_work(ground):
    if ground.python != launch.PYTHON:
        pytest.skip("another Python, without our libraries")
    program = """
import asyncio, ctypes, getpass, multiprocessing, os, ssl, sqlite3, subprocess, tempfile, threading
import numpy as np, scipy.linalg, cv2, polars
print(np.ones((300, 300)) @ np.ones((300, 300)) is not None, getpass.getuser(), multiprocessing.cpu_count() > 0)
asyncio.run(asyncio.sleep(0))
with tempfile.TemporaryFile() as file: file.write(b"x")
try:
    with multiprocessing.get_context("fork").Pool(2) as pool: print(pool.map(abs, [-1, -2]))
except PermissionError as error:
    print(error)
print(subprocess.run(["echo", "child"], capture_output=True).stdout)
print("all of it")
"""
    ended = ground.run(program, memory_bytes=4 << 30, pids=128, wall_s=20, cpu_s=20)
    if ground.backend.namespaces:  # without them there is no /dev/shm of its own, where semaphores are
        assert "[1, 2]" in ended.output
    assert "all of it" in ended.output, ended.output + ended.why


def test_it_cannot_kill_its_parents(ground):
    program = f"""{TRIES}
import os, signal
for pid in (os.getppid(), {os.getpid()}, 1, -1):
    try: os.kill(pid, signal.SIGKILL); print("sent", pid)
    except OSError as error: print("refused", pid)
print("still here")
"""
    ended = ground.run(program)
    # A stand-in of the same user may be killed: then all of it ends, which is its own affair. We are still here.
    assert ended.report.clean
    assert f"sent {os.getpid()}\n" not in ended.output


def test_ignoring_signals_does_not_help(ground, gone):
    word = secrets.token_hex(8)
    program = """
import signal, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
print("ready")
time.sleep(1000)
"""
    with ground.start(program, words=[word], wall_s=20) as running:
        until(lambda: "ready" in running.output)
        assert running.alive and str(running.why()) == "it is running" and not gone(word)
        running.kill()
        assert not running.alive and str(running.why()) == "killed by us" and gone(word)
        running.kill()  # once more does no harm


def test_daemons_end_with_the_program(ground, gone):
    word = secrets.token_hex(8)
    ended = ground.run(DAEMONS, words=[word])
    assert "ready" in ended.output
    assert ended.why == "ended by itself with exit code 0"
    assert ended.report.clean and gone(word)


def test_daemons_end_when_it_is_killed(ground, gone):
    word = secrets.token_hex(8)
    with ground.start(f"{DAEMONS}\ntime.sleep(1000)", words=[word]) as running:
        until(lambda: "ready" in running.output)
        assert not gone(word)
        running.kill()
        assert gone(word)


def test_everything_ends_when_we_are_killed(ground, gone, folder):
    """The runner gets SIGKILL, which nobody can act upon: its keepers do."""
    word = secrets.token_hex(8)
    (ground.bundle / "main.py").write_text(f"{DAEMONS}\nprint('ready', flush=True)\ntime.sleep(1000)")
    code = f"""
import sys, time, msgspec
from pathlib import Path
from palestra.sandbox import launch, visible_files
backend = launch.Backend({ground.backend.name!r}, True, True, "", namespaces={ground.backend.namespaces})
if {ground.python != launch.PYTHON}: visible_files.interpreter = lambda: []
running = launch.start(backend, [{ground.python!r}, "main.py", {word!r}], Path({str(ground.bundle)!r}))
while "ready" not in running.output: time.sleep(0.01)
print("started", flush=True)
time.sleep(1000)
"""
    runner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT)
    assert runner.stdout is not None and runner.stdout.readline() == b"started\n"
    runner.send_signal(signal.SIGKILL)
    runner.communicate()
    until(lambda: gone(word), 3)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("raise SystemExit(0)", "ended by itself with exit code 0"),
        ("import os; os._exit(77)", "ended by itself with exit code 77"),
        ("raise ValueError('no')", "ended by itself with exit code 1"),
        ("import ctypes; ctypes.string_at(0)", "ended by signal 11 (SIGSEGV: a bad memory access)"),
        ("import os; os.abort()", "ended by signal 6 (SIGABRT: it gave up)"),
        ("import os; os.kill(os.getpid(), 15)", "ended by signal 15 (SIGTERM)"),
    ],
)
def test_how_a_program_ended_is_told(ground, program, why):
    assert ground.run(program).why == why


def test_a_program_that_is_not_there_is_told(ground):
    (ground.bundle / "x").touch()
    with launch.start(ground.backend, ["/usr/bin/not-there"], ground.bundle) as running:
        assert running.wait(10)
        assert "never started" in str(running.why()) or "exit code 127" in str(running.why())


def test_a_bundle_that_the_program_could_not_read_is_told(ground):
    if os.getuid() != 0:
        pytest.skip("it runs as the user that we are")
    (ground.bundle / "main.py").touch(0o600)
    with pytest.raises(PalestraError, match=r"main\.py is closed to other users"):
        launch.start(ground.backend, ["x"], ground.bundle)


def test_a_bundle_that_is_not_there_is_told(ground):
    with pytest.raises(PalestraError, match="is no folder"):
        launch.start(ground.backend, ["x"], ground.bundle / "nothing")


def test_nothing_is_left_on_the_host(ground):
    with ground.start("import time; time.sleep(100)", wall_s=0.2) as running:
        keeper = running._keeper.pid
        assert running.wait(10)
    assert not list(Path(tempfile.gettempdir()).glob(f"palestra-{keeper}-*"))
    assert not list(Path("/sys/fs/cgroup").rglob(f"palestra-{keeper}"))
    assert not Path("/proc", str(keeper)).exists()


def test_untrusted_programs_need_a_sandbox_that_contains(monkeypatch):
    nothing = [
        launch.Backend("bubblewrap", False, True, "bwrap is not installed.", "apt-get install -y bubblewrap"),
        launch.Backend("rlimits", True, False, "limits only"),
    ]
    monkeypatch.setattr(backends, "probe", lambda: nothing)
    with pytest.raises(PalestraError, match="apt-get install -y bubblewrap"):
        backends.choose()
    assert backends.choose(trusted=True).name == "rlimits"


def test_trusted_programs_can_run_with_limits_alone(folder):
    rlimits = backends.probe()[-1]
    (folder / "main.py").write_text("print('here'); import time; time.sleep(100)")
    limits = Limits(wall_s=0.3)
    with launch.start(rlimits, [launch.PYTHON, "main.py"], folder, limits) as running:
        assert running.wait(10)
        assert "here" in running.output and str(running.why()) == "killed: it ran longer than 0.3 s"


# --- data to read, and a file to write


SEES_DATA = """
import os, sys
data, answer = sys.argv[1:]
assert (data, answer) == (os.environ["PALESTRA_DATA"], os.environ["PALESTRA_ANSWER"])
print(sorted(os.listdir(data)), open(f"{data}/given.txt").read())
open(answer, "w").write("first words, which are long")
open(answer, "w").write("an answer")
print("done")
"""


@pytest.fixture
def predict(ground, folder):
    """Runs a program that sees a folder of data, beside which a secret lies, and is to write a file."""
    data, answer = folder / "open" / "data", folder / "open" / "answer.csv"
    data.mkdir(parents=True)
    (data / "given.txt").write_text("what is given")
    (folder / "secret.txt").write_text("what is true")
    answer.touch()

    def run(program, limits=SHORT, **changes):
        (ground.bundle / "main.py").write_text(program)
        sees = launch.Sees(ground.bundle, data=data, answer=answer)
        order = launch.plan(ground.backend, (), sees, msgspec.structs.replace(limits, **changes))
        words = [order.environment[name] for name in ("PALESTRA_DATA", "PALESTRA_ANSWER")]
        with Running(order._replace(command=[ground.python, "main.py", *words]), None) as running:
            assert running.wait(20)
            return running.output, answer.read_bytes()

    return run


def test_a_program_reads_its_data_and_writes_its_answer(predict):
    output, answer = predict(SEES_DATA)
    assert "['given.txt'] what is given" in output and "done" in output
    assert answer == b"an answer"


def test_nothing_can_be_changed_in_the_data_or_put_beside_the_answer(predict):
    output, answer = predict(f"""{TRIES}
import os, sys
data, answer = sys.argv[1:]
tries(lambda: open(data + "/given.txt", "w"))
tries(lambda: open(data + "/more.txt", "w"))
tries(lambda: os.remove(data + "/given.txt"))
tries(lambda: os.chmod(data + "/given.txt", 0o777))
tries(lambda: open(answer + ".tmp", "w"))
tries(lambda: os.mkdir(os.path.dirname(answer) + "/folder"))
tries(lambda: os.remove(answer))
tries(lambda: os.rename(answer, data + "/answer"))
tries(lambda: os.symlink("/etc/passwd", answer))
""")
    assert output.count("refused:") == 9, output
    assert answer == b""


def test_what_lies_beside_the_data_is_out_of_reach(predict, folder):
    output, _ = predict(f"""{TRIES}
import os, sys
data = sys.argv[1]
for place in ("{folder}/secret.txt", data + "/../secret.txt", data + "/../../secret.txt"):
    tries(lambda: open(place).read())
for root, folders, files in os.walk("/"):
    folders[:] = [name for name in folders if name not in ("proc", "sys", "usr", "lib")]
    if "secret.txt" in files:
        tries(lambda: open(root + "/secret.txt").read())
print("searched")
""")
    assert "searched" in output and "what is true" not in output and "did it" not in output


def test_an_answer_cannot_grow_beyond_its_limit(predict):
    program = """
import sys
file = open(sys.argv[2], "wb")
try:
    for _ in range(100): file.write(bytes(100_000)); file.flush()
    print("wrote it all")
except OSError as error: print("refused:", error)
"""
    output, answer = predict(program, tmp_bytes=300_000)
    assert "wrote it all" not in output
    assert len(answer) <= 300_000
    output, answer = predict("import os, sys; os.truncate(sys.argv[2], 10 ** 12); print('wrote it all')")
    assert "File too large" in output and len(answer) <= SHORT.tmp_bytes


def test_an_answer_that_is_no_file_is_told(ground, folder):
    with pytest.raises(PalestraError, match="is no file"):
        launch.plan(ground.backend, (), launch.Sees(ground.bundle, answer=folder / "nothing"), SHORT)


def test_programs_run_on_the_cores_that_a_pinned_host_leaves_them(ground, monkeypatch):
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("there is one core alone")
    monkeypatch.setenv(launch.FREE_CORES, str(cores[0]))
    assert f"[{cores[0]}]" in ground.run("import os; print(sorted(os.sched_getaffinity(0)))").output
    monkeypatch.setenv(launch.FREE_CORES, "")
    assert str(cores) in ground.run("import os; print(sorted(os.sched_getaffinity(0)))").output
