"""Runs a command with a PostgreSQL that is thrown away after it: `python -m tests.postgres [--hasty] COMMAND …`.

The command finds its address in PALESTRA_TEST_POSTGRES. Where there is no PostgreSQL, it runs without. With `--hasty`
nothing waits for the disk: what tests write need not outlive a power cut. What is measured does without.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from palestra.parallel import end_with_parent

ADDRESS = "PALESTRA_TEST_POSTGRES"
HASTY = {"fsync": "off", "full_page_writes": "off"}
START_S = 60.0  # how long it may take until the cluster answers


def main(command: list[str]) -> int:
    hasty = command[:1] == ["--hasty"]
    command = command[1:] if hasty else command
    if not command:
        sys.exit("usage: python -m tests.postgres [--hasty] COMMAND …")
    signal.signal(signal.SIGTERM, _leave)
    programs = installed()
    if programs is None:
        print(
            "PostgreSQL is not installed, so its tests are left out. To get it: apt-get install postgresql",
            file=sys.stderr,
        )
        return _run(command, dict(os.environ))
    with cluster(programs, HASTY if hasty else {}) as address:
        return _run(command, {**os.environ, ADDRESS: address})


@contextmanager
def fresh_database(original: str = "") -> Iterator[str]:
    """The address of a new database in the cluster that this test run has; it is dropped after. It is empty, or a copy
    of another one that nobody is connected to."""
    import sqlalchemy as sa

    home = sa.make_url(os.environ[ADDRESS]).set(drivername="postgresql+psycopg")
    name = f"test_{uuid.uuid4().hex}"
    engine = sa.create_engine(home, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        template = f" TEMPLATE {sa.make_url(original).database}" if original else ""
        connection.execute(sa.text(f"CREATE DATABASE {name}{template}"))
    try:
        yield home.set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))


def installed() -> Path | None:
    """Where PostgreSQL's own programs lie: on the path, or where Debian puts them, the newest version first."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    homes = [file.parent for file in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(homes, key=lambda home: float(home.parent.name), default=None)


@contextmanager
def cluster(programs: Path, more: dict[str, str]) -> Iterator[str]:
    """The address of a running cluster, which is gone after."""
    with Cluster(programs, more) as running:
        yield running.address


class Cluster:
    """A running PostgreSQL that listens on a socket in a folder of its own; both are gone after."""

    def __init__(self, programs: Path, more: dict[str, str]) -> None:
        self._programs, self._more = programs, more
        self._folder = Path(tempfile.mkdtemp(prefix="palestra-pg-", dir="/tmp"))  # a socket's path: 107 bytes at most
        self._server: subprocess.Popen[bytes] | None = None
        self._who: dict[str, Any] = {"cwd": self._folder, "start_new_session": True}  # Ctrl-C is for the command alone
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(self._folder, "postgres")
            self._who |= {"user": "postgres", "group": "postgres", "extra_groups": []}

    @property
    def address(self) -> str:
        return f"postgresql://palestra@/postgres?host={self._folder}"

    @property
    def process(self) -> int:
        """The first of its processes, which starts the others."""
        assert self._server is not None
        return self._server.pid

    def __enter__(self) -> "Cluster":
        try:
            self._make()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)  # "fast": clients are cut off, everything is written
            self._server.wait()
        shutil.rmtree(self._folder)

    def crash(self) -> None:
        """End it as a power cut would, all processes at once; what it had said was written must be there again."""
        assert self._server is not None
        first = self._server.pid
        others = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        for process in (first, *map(int, others)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._server.wait()
        while any(Path(f"/proc/{other}").exists() for other in others):  # until then, it would not start
            time.sleep(0.01)

    def _make(self) -> None:
        words = ["-D", self._folder / "data", "-U", "palestra", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8"]
        done = subprocess.run(
            [self._programs / "initdb", *words, "--no-sync"], **self._who, capture_output=True, text=True
        )
        if done.returncode:
            sys.exit(f"initdb failed:\n{done.stdout}{done.stderr}")

    def start(self) -> None:
        """Start it, also after a crash, and wait until it answers."""
        settings = {"listen_addresses": "", "unix_socket_directories": self._folder, "max_connections": 300}
        words = [word for name, value in (settings | self._more).items() for word in ("-c", f"{name}={value}")]
        log = self._folder / "log"
        # If even we are killed, the kernel tells the cluster to stop at once.
        bound = partial(end_with_parent, os.getpid(), signal.SIGQUIT)
        with log.open("ab") as output:
            self._server = subprocess.Popen(
                [self._programs / "postgres", "-D", self._folder / "data", *words],
                **self._who, stdin=subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=bound,
            )  # fmt: skip
        asked = [self._programs / "pg_isready", "-q", "-h", self._folder]
        deadline = time.monotonic() + START_S
        while subprocess.run(asked).returncode:
            if self._server.poll() is not None or time.monotonic() > deadline:
                self._server.kill()
                sys.exit(f"PostgreSQL did not start:\n{log.read_text()}")
            time.sleep(0.02)


def _run(command: list[str], environment: dict[str, str]) -> int:
    """The command's exit code; as a shell would have it, when a signal ended it."""
    running = subprocess.Popen(command, env=environment)
    try:
        code = _wait(running)
    except SystemExit:
        running.terminate()
        _wait(running)
        raise
    return code if code >= 0 else 128 - code


def _wait(running: "subprocess.Popen[bytes]") -> int:
    while True:
        try:
            return running.wait()
        except KeyboardInterrupt:  # the command got it as well, and decides when it has ended
            continue


def _leave(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
