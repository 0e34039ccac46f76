"""Exit codes, as docs/commands.md says them: of processes that are really started, and really stopped."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from palestra import client
from palestra.cli import app
from tests import ROOT

DOCS = (ROOT / "docs" / "commands.md").read_text()
PATIENCE_S = 60.0
DONE, REFUSED, WRONG, STOPPED = 0, 1, 2, 130


def started(*words: object, module: str = "palestra.cli.app") -> subprocess.Popen[str]:
    line = [sys.executable, "-m", module, *map(str, words)]
    return subprocess.Popen(line, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, err = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in err
    return process.returncode, err


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that takes connections and never says a word: whoever talks to it waits."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.settimeout(PATIENCE_S)
        yield listening


def stopped(process: subprocess.Popen[str], silent: socket.socket, how: signal.Signals) -> tuple[int, str]:
    """End a process once it waits for that server."""
    connection, _ = silent.accept()
    with connection:
        for _ in range(2):  # `timeout` and impatient people tell it twice
            process.send_signal(how)
        return ended(process)


def test_the_table_has_the_codes_that_there_are() -> None:
    assert re.findall(r"^\| (\d+) \|", DOCS, re.M) == [str(code) for code in (DONE, REFUSED, WRONG, STOPPED)]
    assert app.INTERRUPTED == client.INTERRUPTED == STOPPED


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_the_readmes_name_all_of_them_and_lead_to_the_table(readme: str) -> None:
    text = (ROOT / readme).read_text()
    line = next(line for line in text.splitlines() if "docs/commands.md" in line)
    assert re.findall(r"\b(?:0|1|2|130)\b", line.partition("docs/commands.md")[0])[-4:] == ["0", "1", "2", "130"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["tracks"], DONE),
        (["check", "near-eye-gase-v1", "x.csv"], REFUSED),
        (["check", "near-eye-gaze-v1"], WRONG),
        (["chekc"], WRONG),
    ],
    ids=["done", "refused", "without an argument", "no command"],
)
def test_a_command_ends_with_the_code_of_what_came_of_it(words: list[str], code: int) -> None:
    assert ended(started(*words))[0] == code


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
def test_a_command_that_is_stopped_before_it_is_done_says_so(
    silent: socket.socket, tmp_path: Path, how: signal.Signals
) -> None:
    (tmp_path / "a.csv").write_text("x")
    address = f"http://127.0.0.1:{silent.getsockname()[1]}"
    code, err = stopped(started("submit", address, "first", tmp_path / "a.csv", "--token", "plt_x"), silent, how)
    assert code == STOPPED and "Stopped." in err


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
@pytest.mark.parametrize("command", ["serve", "worker"])
def test_what_serves_ends_well_though_it_is_stopped_while_it_starts(
    silent: socket.socket, tmp_path: Path, command: str, how: signal.Signals
) -> None:
    (tmp_path / "contest.toml").write_text("")
    database = f"postgresql://x@127.0.0.1:{silent.getsockname()[1]}/x"
    more = ["--port", "0"] if command == "serve" else []
    process = started("contest", command, tmp_path / "contest.toml", "--database", database, *more)
    assert stopped(process, silent, how) == (DONE, "")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
def test_a_client_of_a_live_run_ends_in_words_when_it_is_stopped(
    silent: socket.socket, tmp_path: Path, how: signal.Signals
) -> None:
    (tmp_path / "program.py").write_text("def answer(trial):\n    return 0\n")
    address, program = f"ws://127.0.0.1:{silent.getsockname()[1]}", f"{tmp_path / 'program.py'}:answer"
    process = started(address, "TOKEN", program, module="palestra.client")
    code, err = stopped(process, silent, how)
    assert code == STOPPED and "stopped" in err
