"""Commands that are stopped in the middle: real processes, real signals, and nothing that is left of them."""

import os
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from palestra.parallel import WORKERS
from tests import OUTSIDE
from tests.live import hall

PATIENCE_S = 120.0
WHOLE_DEMO_S = 900.0
ENDING_S = 20.0  # that processes get to notice that the one that started them is gone
MARK = "PALESTRA_TEST_MARK"  # every process that a command starts inherits it, unless it clears its environment
TICKS = 1000.0  # that a live run takes, in seconds


def tell_as_timeout(process: subprocess.Popen[str]) -> None:
    """`timeout` tells the process, then its group: it hears of it twice."""
    process.send_signal(signal.SIGTERM)
    os.killpg(process.pid, signal.SIGTERM)


def tell_as_terminal(process: subprocess.Popen[str]) -> None:
    """Ctrl-C goes to everybody in the terminal's group; here it is pressed twice."""
    for _ in range(2):
        os.killpg(process.pid, signal.SIGINT)


TERMINAL_IS_SLOW = pytest.mark.parametrize(
    "tell",
    [tell_as_timeout, pytest.param(tell_as_terminal, marks=pytest.mark.slow)],
    ids=["timeout", "terminal"],
)
WAYS = pytest.mark.parametrize("tell", [tell_as_timeout, tell_as_terminal], ids=["timeout", "terminal"])
AS_TIMEOUT = pytest.mark.parametrize("tell", [tell_as_timeout], ids=["timeout"])


class Command:
    """A command in a session of its own, and what of it still runs."""

    def __init__(self, folder: Path, words: tuple[object, ...], program: Path | None = None, **environment: str):
        self.mark = f"{folder}-{time.monotonic_ns()}"
        self.process = subprocess.Popen(
            [sys.executable, *([program] if program else ["-m", "palestra.cli.app"]), *map(str, words)],
            cwd=folder,
            env={**os.environ, WORKERS: "2", MARK: self.mark, **environment},
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.known: dict[int, str] = {}

    def until(self, came: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
        deadline = time.monotonic() + patience_s
        while not came():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline, "it does not come to what is waited for"
            time.sleep(0.01)

    def stopped(self, tell: Callable[[subprocess.Popen[str]], None]) -> tuple[int, str]:
        """Stop it; its exit code and what it said. Its output ends when the last process that has it is gone."""
        self.known = {pid: born(pid) for pid in descendants(self.process.pid)}
        tell(self.process)
        _, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, err

    def left(self) -> list[str]:
        """Processes that it had when it was stopped, or that it started afterwards, and that do not end.

        The tracker of multiprocessing ends when it sees that its parent has: a moment later."""
        deadline = time.monotonic() + ENDING_S
        while (still := self._running()) and time.monotonic() < deadline:
            time.sleep(0.01)
        return [command_of(pid) for pid in still]

    def _running(self) -> list[int]:
        had = [pid for pid, since in self.known.items() if born(pid) == since]
        return [pid for pid in {*had, *marked(self.mark)} if runs(pid)]


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208


def fields(pid: int) -> list[str]:
    """Of /proc/PID/stat, from the state on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def runs(pid: int) -> bool:
    return bool(found := fields(pid)) and found[0] not in "ZX"


def born(pid: int) -> str:
    return found[19] if (found := fields(pid)) else ""


def descendants(pid: int) -> set[int]:
    parents = {one: int(found[1]) for one in pids() if (found := fields(one))}
    known, more = set(), {pid}
    while more:
        more = {one for one, parent in parents.items() if parent in more} - known
        known |= more
    return known


def marked(mark: str) -> list[int]:
    found = []
    for pid in pids():
        try:
            if mark.encode() in Path(f"/proc/{pid}/environ").read_bytes():
                found.append(pid)
        except OSError:  # it has ended, or is not ours
            continue
    return found


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode() if runs(pid) else ""


@pytest.fixture
def command(tmp_path: Path, cache: Path) -> Iterator[Callable[..., Command]]:
    """Starts commands in a new folder; whatever of them still runs is ended."""
    begun: list[Command] = []

    def start(*words: object, program: Path | None = None, **environment: str) -> Command:
        begun.append(Command(tmp_path, words, program, **environment))
        return begun[-1]

    yield start
    for one in begun:
        for pid in {*marked(one.mark), *(pid for pid, since in one.known.items() if born(pid) == since)}:
            os.kill(pid, signal.SIGKILL)
        one.process.wait()


@pytest.fixture
def holding(command: Callable[..., Command], tmp_path: Path) -> Iterator[Callable[..., Command]]:
    """Starts a command on a track of which a part never ends, and waits until so many processes are at that part."""
    os.mkfifo(tmp_path / "hold")
    pipe = os.open(tmp_path / "hold", os.O_RDWR)  # both ways: so nobody waits to open it

    def start(stage: str, processes: int, *words: object) -> Command:
        tracks = ("--tracks-dir", OUTSIDE / "holding")
        one = command(*tracks, *words, HOLD=str(tmp_path / "hold"), HOLD_AT=stage)
        said = b""

        def holds() -> bool:
            nonlocal said
            if select.select([pipe], [], [], 0)[0]:
                said += os.read(pipe, 1 << 10)
            return said.count(b"\n") >= processes

        one.until(holds)
        return one

    yield start
    os.close(pipe)


def require_stopped(one: Command, tell: Callable[[subprocess.Popen[str]], None], code: int = 130) -> None:
    assert (one.process.poll(), runs(one.process.pid)) == (None, True)
    ended, err = one.stopped(tell)
    assert "Traceback" not in err and "leaked" not in err and "broke" not in err, err
    assert ended == code, err
    assert err.count("Stopped.") == (code == 130), err
    assert one.left() == []


@WAYS
def test_making_data_ends_with_its_workers_and_leaves_no_half_of_a_file(holding, tmp_path, tell):
    one = holding("make", 2, "make", "holding-v1", "data")
    assert len(list((tmp_path / "data").glob(".*.new"))) == 2
    require_stopped(one, tell)
    assert [file.name for file in (tmp_path / "data").iterdir()] == [".making.json"]


@AS_TIMEOUT
def test_solving_ends_with_its_workers_and_leaves_nothing_of_what_it_did_not_finish(holding, tmp_path, tell):
    (tmp_path / "data").mkdir()
    one = holding("predict", 2, "solve", "holding-v1", "slow", "--data", "data", "--out", "a.csv")
    require_stopped(one, tell)
    assert {file.name for file in tmp_path.iterdir()} == {"data", "hold"}


@AS_TIMEOUT
def test_scoring_ends(holding, tmp_path, tell):
    (tmp_path / "data").mkdir()
    (tmp_path / "a.csv").write_text("trial,number\na,1\nb,1\nc,1\n")
    words = ("score", "holding-v1", "a.csv", "--data", "data", "--scores-out", "s.parquet")
    require_stopped(holding("score", 1, *words), tell)
    assert not (tmp_path / "s.parquet").exists()


@AS_TIMEOUT
def test_drawing_ends(holding, tmp_path, tell):
    (tmp_path / "data").mkdir()
    require_stopped(holding("draw", 1, "view", "holding-v1", "sheet", "--data", "data", "--out", "s.png"), tell)
    assert not (tmp_path / "s.png").exists()


@AS_TIMEOUT
def test_a_benchmark_ends_with_the_processes_of_its_folds(holding, tmp_path, tell):
    (tmp_path / "data").mkdir()
    words = ("bench", "holding-v1", "learner", "--protocol", "leave-one-piece-out", "--data", "data")
    require_stopped(holding("fit", 2, *words, "--scores-out", "s.parquet"), tell)
    assert {file.name for file in tmp_path.iterdir()} == {"data", "hold"}


@AS_TIMEOUT
def test_a_rehearsal_ends(holding, tmp_path, tell):
    (tmp_path / "data").mkdir()
    (tmp_path / "contest.toml").write_text(
        '[contest]\nid = "c"\nzone = "UTC"\nname = { en = "C", zh = "C" }\n\n'
        '[[phase]]\nid = "onsite"\ntrack = "holding-v1"\ntitle = { en = "On site", zh = "C" }\ndata = "data"\n'
        'opens = 2026-01-01T00:00:00Z\ncloses = 2027-01-01T00:00:00Z\n\n[phase.match]\nslot = "20 min"\n'
    )
    require_stopped(holding("rehearse", 1, "contest", "rehearse", "contest.toml", "onsite", "us=nobody"), tell)
    assert {file.name for file in tmp_path.iterdir()} == {"contest.toml", "data", "hold"}


def write_ticking(folder: Path) -> None:
    sys.path.append(str(hall.TRACKS))
    try:
        from ticking_v1 import write_data
    finally:
        sys.path.remove(str(hall.TRACKS))
    write_data(folder, every_s=TICKS)


@WAYS
def test_a_live_run_ends_with_the_programs_in_their_sandboxes(command, tmp_path, tell):
    hall.require_sandbox()
    write_ticking(tmp_path / "data")
    hall.write_bundle(tmp_path / "mine", hall.program())
    one = command("--tracks-dir", hall.TRACKS, "play", "ticking-v1", "mine", "--data", "data", "--run", "run")
    one.until((tmp_path / "run" / "run.json").exists)  # it is written once everybody is ready
    assert len(descendants(one.process.pid)) > 1
    require_stopped(one, tell)


@AS_TIMEOUT
def test_a_live_run_in_virtual_time_ends_while_a_program_thinks(command, tmp_path, tell):
    hall.require_sandbox()
    write_ticking(tmp_path / "data")
    hall.write_bundle(tmp_path / "mine", hall.program(take=f"time.sleep({TICKS})"))
    words = ("play", "ticking-v1", "mine", "--data", "data", "--pace", "fast", "--run", "run")
    one = command("--tracks-dir", hall.TRACKS, *words)
    one.until((tmp_path / "run" / "run.json").exists)
    assert len(descendants(one.process.pid)) > 1
    require_stopped(one, tell)


@AS_TIMEOUT
def test_a_submission_ends_though_the_server_does_not_answer(command, tmp_path, tell):
    (tmp_path / "a.csv").write_text("trial,number\na,1\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        one = command("submit", address, "first", "a.csv", "--token", "pat_x")
        one.until(lambda: select.select([server], [], [], 0)[0])
        require_stopped(one, tell)


@TERMINAL_IS_SLOW
def test_the_demo_ends_while_it_makes_data(command, tmp_path, tell):
    one = command("demo", "--size", "tiny", "--out", "demo", "--no-serve")
    one.until(lambda: list(tmp_path.glob("demo/*/data-tiny/.making.json")))
    require_stopped(one, tell)


@pytest.mark.slow
@WAYS
def test_the_demo_ends_with_its_server(command, tmp_path, tell):
    one = command("demo", "--size", "tiny", "--out", "demo")
    log = tmp_path / "demo" / "contest.contest" / "serve.log"
    one.until(lambda: log.is_file() and "Open http" in log.read_text(), WHOLE_DEMO_S)
    require_stopped(one, tell)


@pytest.mark.slow
@AS_TIMEOUT
def test_annotating_ends_with_its_workers_and_goes_on_where_it_was(command, tmp_path, tiny, tell):
    picture = next((tiny("near-eye-gaze-v1") / "test").rglob("*.png"))
    (tmp_path / "eyes").mkdir()
    for number in range(2000):
        shutil.copyfile(picture, tmp_path / "eyes" / f"{number}.png")
    table = tmp_path / "eyes-annotated" / "annotations.csv"
    one = command("annotate", "eyes")
    one.until(lambda: table.is_file() and table.read_text().count("\n") > 2)
    require_stopped(one, tell)
    assert not list(table.parent.rglob(".*"))


@pytest.fixture
def contest(tmp_path: Path) -> Path:
    """A contest without data: there is nothing to score, and nothing to pack."""
    (tmp_path / "contest.toml").write_text(
        '[contest]\nid = "c"\nzone = "UTC"\nname = { en = "C", zh = "C" }\n\n'
        '[[phase]]\nid = "first"\ntrack = "near-eye-gaze-v1"\ntitle = { en = "First", zh = "First" }\n'
        'data = "nowhere"\nopens = 2026-01-01T00:00:00Z\ncloses = 2027-01-01T00:00:00Z\naccess = "open"\n'
    )
    return tmp_path / "contest.toml"


def has_worker(contest: Path) -> bool:
    file = contest.with_suffix(".contest") / "contest.db"
    if not file.is_file():
        return False
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
        try:
            return bool(database.execute("SELECT count(*) FROM workers").fetchone()[0])
        except sqlite3.OperationalError:  # the table is yet to come
            return False


@AS_TIMEOUT
def test_a_worker_ends_in_good_order_though_it_is_told_twice(command, contest, tell):
    one = command("contest", "worker", contest)
    one.until(lambda: has_worker(contest))
    require_stopped(one, tell, code=0)
    assert not has_worker(contest), "it said goodbye"


@TERMINAL_IS_SLOW
def test_a_server_ends_in_good_order_with_its_worker_though_it_is_told_twice(command, contest, tell):
    one = command("contest", "serve", contest, "--port", "0")
    one.until(lambda: has_worker(contest))
    require_stopped(one, tell, code=0)
    assert not has_worker(contest), "it said goodbye"


@pytest.mark.slow
def test_the_server_of_the_demo_ends_though_the_demo_is_killed(command, contest, tmp_path):
    """The demo cannot do anything about it any more: the kernel tells its server."""
    file = tmp_path / "demo.py"
    file.write_text(
        "from pathlib import Path\nfrom palestra.contest.setup import Place\nfrom palestra.demo import contest\n"
        "place = Place(Path('contest.toml'))\nplace.open().close()\n"
        "with contest._serving(place, contest._free_port()):\n    Path('served').touch()\n    input()\n"
    )
    one = command(program=file)
    one.until((tmp_path / "served").exists)
    one.until(lambda: has_worker(contest))
    one.stopped(subprocess.Popen.kill)
    assert one.left() == []
