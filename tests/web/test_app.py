"""The event loop and those who write: changes are made on it while it runs, and none waits for one that does not."""

import asyncio
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from palestra.web import app
from palestra.web.app import _make, _onto
from tests import ROOT

PATIENCE_S = 20.0


class Noting(asyncio.SelectorEventLoop):
    """A loop that says when a change was put onto it."""

    def __init__(self) -> None:
        super().__init__()
        self.given = threading.Event()

    def call_soon_threadsafe(self, callback, *args, context=None):  # type: ignore[no-untyped-def]
        handle = super().call_soon_threadsafe(callback, *args, context=context)
        if callback.__module__ == app.__name__:
            self.given.set()
        return handle


@pytest.fixture
def loop() -> Iterator[Noting]:
    loop = Noting()
    yield loop
    loop.close()


def started(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)  # one that hangs is not to keep the tests from ending
    thread.start()
    return thread


def test_a_change_is_made_on_the_loop_while_it_runs(loop: Noting) -> None:
    running = started(loop.run_forever)
    _until_it_runs(loop)
    where: list[int | None] = []
    _onto(loop)(lambda: where.append(threading.current_thread().ident))
    loop.call_soon_threadsafe(loop.stop)
    running.join(PATIENCE_S)
    assert where == [running.ident]


def _until_it_runs(loop: Noting) -> None:
    ready = threading.Event()
    loop.call_soon_threadsafe(ready.set)
    assert ready.wait(PATIENCE_S)


def test_a_loop_that_stops_before_it_comes_to_a_change_holds_nobody_up(
    loop: Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "LOOP_S", 0.001)
    made: list[str] = []
    begun = threading.Event()

    def stop_once_given() -> None:
        begun.set()
        loop.given.wait(PATIENCE_S)
        loop.stop()  # what was put onto it meanwhile is for its next turn, which does not come

    running = started(loop.run_forever)
    loop.call_soon_threadsafe(stop_once_given)
    assert begun.wait(PATIENCE_S)
    waiting = started(lambda: _onto(loop)(lambda: made.append("once")))
    waiting.join(PATIENCE_S)
    running.join(PATIENCE_S)
    assert not waiting.is_alive()
    loop.call_soon(loop.stop)
    loop.run_forever()  # should it run again, it makes no change a second time
    assert made == ["once"]


def test_a_loop_that_does_not_run_any_more_is_not_asked(loop: Noting) -> None:
    made: list[str] = []
    _onto(loop)(lambda: made.append("once"))
    assert made == ["once"]


def test_what_a_change_raises_reaches_whoever_made_it(loop: Noting) -> None:
    def fail() -> None:
        raise TimeoutError("the disk")

    running = started(loop.run_forever)
    _until_it_runs(loop)
    with pytest.raises(TimeoutError, match="the disk"):
        _onto(loop)(fail)
    loop.call_soon_threadsafe(loop.stop)
    running.join(PATIENCE_S)


def test_a_change_that_was_made_elsewhere_is_not_made_again() -> None:
    done = app.Future[None]()
    assert done.cancel()
    made: list[str] = []
    _make(lambda: made.append("twice"), done)
    assert made == []


def test_the_server_has_every_action_that_is_declared() -> None:
    """In a process of its own: here other tests may have imported what declares them."""
    takes = re.compile(r"^from palestra\.web\.actions(\.registry)? import .*\baction\b", re.M)
    declaring = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for file in (ROOT / "palestra" / "web").rglob("*.py")
        if takes.search(file.read_text()) and file.name != "__init__.py"
    }
    code = "import sys, palestra.web.app; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert {"palestra.web.actions.desk", "palestra.web.match.opening"} <= declaring <= set(found.stdout.split())


ROUTED = """
import sys
import palestra.web.server
from palestra.web.app import routed
routed()
print(*sys.modules)
"""


def test_a_server_starts_without_the_libraries_that_most_contests_never_use() -> None:
    loaded = subprocess.run([sys.executable, "-c", ROUTED], capture_output=True, text=True, check=True).stdout.split()
    assert "litestar" in loaded
    assert not {"pydantic", "psycopg", "authlib", "joserfc", "httpx", "alembic", "cv2"} & {*loaded}
