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
from contextlib import contextmanager
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
    programs = _programs()
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


def _programs() -> Path | None:
    """Where PostgreSQL's own programs lie: on the path, or where Debian puts them, the newest version first."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    homes = [file.parent for file in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(homes, key=lambda home: float(home.parent.name), default=None)


@contextmanager
def cluster(programs: Path, more: dict[str, str]) -> Iterator[str]:
    """A running cluster that listens on a socket in a folder of its own; both are gone after."""
    folder = Path(tempfile.mkdtemp(prefix="palestra-pg-", dir="/tmp"))  # a socket's path may have 107 bytes only
    server = None
    try:
        who: dict[str, Any] = {"cwd": folder, "start_new_session": True}  # Ctrl-C is for the command, not for it
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(folder, "postgres")
            who |= {"user": "postgres", "group": "postgres", "extra_groups": []}
        _make(programs, folder, who)
        server = _start(programs, folder, who, more)
        yield f"postgresql://palestra@/postgres?host={folder}"
    finally:
        if server is not None:
            server.send_signal(signal.SIGINT)  # "fast": clients are cut off, everything is written
            server.wait()
        shutil.rmtree(folder)


def _make(programs: Path, folder: Path, who: dict[str, Any]) -> None:
    words = ["-D", folder / "data", "-U", "palestra", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
    made = subprocess.run([programs / "initdb", *words], **who, capture_output=True, text=True)
    if made.returncode:
        sys.exit(f"initdb failed:\n{made.stdout}{made.stderr}")


def _start(programs: Path, folder: Path, who: dict[str, Any], more: dict[str, str]) -> "subprocess.Popen[bytes]":
    settings = {"listen_addresses": "", "unix_socket_directories": folder, "max_connections": 300, **more}
    words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    log = folder / "log"
    # If even we are killed, the kernel tells the cluster to stop at once.
    bound = partial(end_with_parent, os.getpid(), signal.SIGQUIT)
    with log.open("wb") as output:
        server = subprocess.Popen(
            [programs / "postgres", "-D", folder / "data", *words],
            **who, stdin=subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=bound,
        )  # fmt: skip
    asked = [programs / "pg_isready", "-q", "-h", folder]
    deadline = time.monotonic() + START_S
    while subprocess.run(asked).returncode:
        if server.poll() is not None or time.monotonic() > deadline:
            server.kill()
            sys.exit(f"PostgreSQL did not start:\n{log.read_text()}")
        time.sleep(0.02)
    return server


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
