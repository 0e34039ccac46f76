"""A run that the command shows, and a browser that looks at it."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from palestra.studio.present.run import LOG
from palestra.studio.present.run_log import Record, read_log
from tests import ROOT

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--mute-audio"]
LIMIT_S = 120.0  # a busy machine takes its time
expect.set_options(timeout=LIMIT_S * 1000)
WIDTH, HEIGHT = 1280, 720
SCREEN = "seed = 5\n[screen]\nwidth_mm = 640\nheight_mm = 360\ndistance_mm = 600\n"


def require_browser() -> None:
    if not CHROMIUM.exists():
        pytest.skip("needs Debian's Chromium: apt-get install chromium")


@contextlib.contextmanager
def chromium(*arguments: str, headless: bool = True, **how: Any) -> Iterator[Browser]:
    require_browser()
    with sync_playwright() as play:
        words = [*ARGUMENTS, *arguments]
        browser = play.chromium.launch(executable_path=CHROMIUM, args=words, headless=headless, **how)
        yield browser
        browser.close()


def stimuli(folder: Path, blocks: str, head: str = "") -> Path:
    file = folder / "stimuli.toml"
    file.write_text(f"{head}{SCREEN}{blocks}", encoding="utf-8")
    return file


class Shown:
    """The command in a process of its own, and its page's address."""

    def __init__(self, file: Path, run: Path, *options: str) -> None:
        self.run, self.said = run, ""
        words = [sys.executable, "-m", "palestra", "studio", "present", file, "--out", run, "--no-browser", *options]
        self.process = subprocess.Popen(
            list(map(str, words)), cwd=ROOT, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "400"}
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.address = self._find_address()

    def _read(self) -> None:
        for line in self.process.stderr or ():
            self.said += line
            self._lines.put(line)
        self._lines.put("")

    def _find_address(self) -> str:
        while line := self._lines.get(timeout=LIMIT_S):
            if "Open http://" in line:
                return line.split()[1]
        raise AssertionError(self.said)

    def wait(self) -> int:
        """Until the command has ended by itself."""
        code = self.process.wait(LIMIT_S)
        self._reader.join()
        return code

    def end(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.wait()

    @property
    def log(self) -> list[Record]:
        return read_log(self.run / LOG)

    def of(self, kind: str) -> list[Record]:
        return [record for record in self.log if record["kind"] == kind]

    def shown(self) -> list[int]:
        """The events that were shown, in their order."""
        return [record["event"] for record in self.of("onset")]

    def until(self, page: Page, holds: Callable[[], bool]) -> None:
        """Let the page go on until something holds."""
        for _ in range(int(LIMIT_S / 0.02)):
            if holds():
                return
            page.wait_for_timeout(20)
        raise AssertionError(f"it never held: {self.log[-5:]}")


@contextlib.contextmanager
def shown(file: Path, run: Path, *options: str) -> Iterator[Shown]:
    one = Shown(file, run, *options)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        one._reader.join()


@contextlib.contextmanager
def window(browser: Browser, address: str, **context: Any) -> Iterator[Page]:
    """A page that has been loaded; its console may not have complained."""
    made = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, **context)
    page = made.new_page()
    page.set_default_timeout(LIMIT_S * 1000)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.goto(address)
    try:
        yield page
    finally:
        made.close()
    # A server that is away and a film that is broken are the test's own doing.
    assert [one for one in complaints if "WebSocket" not in one and "ERR_" not in one] == []


def begin(page: Page) -> None:
    """From the first page into the first block."""
    page.get_by_role("button", name="Full screen").click()
    page.get_by_role("button", name="Begin").click()
