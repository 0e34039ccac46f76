"""One person in the studio: the page shows their stimuli, the sources record them, and both tell what came."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from palestra import console
from palestra.errors import NotCaptured, PalestraError
from palestra.records import CAPTURES
from palestra.studio.capture.capture import Capture, Taps
from palestra.studio.capture.specs import sources_of
from palestra.studio.capture.writer import How
from palestra.studio.present.film_files import FilmFile
from palestra.studio.present.onsets import write_onsets
from palestra.studio.present.plans.plan import Plan
from palestra.studio.present.plans.planning import plan_of
from palestra.studio.present.reports import Report
from palestra.studio.present.run import Run
from palestra.studio.present.server import Presenter
from palestra.studio.present.show import films_of, listening, server_of
from palestra.studio.sitting.capture_file import STIMULI, CaptureFile, read_capture_file, stimuli_of
from palestra.text import Text, say

PRESENTED, RECORDED = "presented", "recorded"  # folders of one person
ENDED_S = 10.0  # that the page's server may take


@dataclass
class Session:
    """What goes on with a person, for whoever plays it."""

    plan: Plan
    run: Run
    capture: Capture
    failures: list[BaseException] = field(default_factory=list)  # of the page's server

    @property
    def is_over(self) -> bool:
        return self.run.is_finished or self.run.is_aborted

    def require_going(self, person: str) -> None:
        """See that nothing ended before it should have."""
        if self.failures:
            raise self.failures[0]
        if self.run.is_aborted:
            raise PalestraError(say("The sitting of {person} was ended on the page.", person=person))
        for line in self.capture.lines:
            if line.is_over:
                raise PalestraError(
                    say("The source {name} ended during the sitting of {person}. What was recorded is kept.",
                        name=line.name, person=person)
                )  # fmt: skip


@contextmanager
def session(data: Path, person: str, on_onset: Callable[[Run, Report], None], taps: Taps) -> Iterator[Session]:
    """Show and record one person, until the block ends. What was recorded stays, however it ends."""
    try:
        with _opened(data, person, on_onset, taps) as one:
            yield one
    except NotCaptured:
        raise
    except PalestraError as error:
        raise NotCaptured(error.text) from error
    except OSError as error:
        raise NotCaptured(
            say("{data} cannot be written: {why}. What was recorded is whole. Mend that, then play again: {person} "
                "begins anew.", data=data, why=error.strerror or str(error), person=person)
        ) from error  # fmt: skip


@contextmanager
def _opened(data: Path, person: str, on_onset: Callable[[Run, Report], None], taps: Taps) -> Iterator[Session]:
    file = read_capture_file(data)
    folder = _fresh(data / CAPTURES, person)
    shown = stimuli_of(data, file.people.index(person))
    films = films_of(shown, data / CAPTURES / STIMULI)
    with ExitStack() as stack:
        listener = stack.enter_context(closing(listening(file.port)))
        capture = Capture(folder / RECORDED, sources_of(file.specs()), How(), _tell(person), taps)
        capture.start()
        stack.callback(capture.finish)
        text = (data / CAPTURES / STIMULI).read_text(encoding="utf-8")
        run = Run.open(folder / PRESENTED, plan_of(shown), text)
        stack.callback(_close, run)
        run.on_onset = lambda report: on_onset(run, report)
        one = Session(run.plan, run, capture)
        _serve(one, films, listener, file, stack)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        console.say(f"{person}: open {address} on the screen that they look at, and begin there.")
        yield one


def _serve(
    one: Session, films: dict[int, FilmFile], listener: socket.socket, file: CaptureFile, stack: ExitStack
) -> None:
    """The page's server, in a thread of its own until the session ends."""
    server = server_of(Presenter(one.run, films, file.language, lambda: None))

    def serve() -> None:
        try:
            server.run(sockets=[listener])
        except BaseException as error:
            one.failures.append(error)

    thread = threading.Thread(target=serve, daemon=True, name="presenter")
    thread.start()
    stack.callback(_end, server, thread)


def _end(server: uvicorn.Server, thread: threading.Thread) -> None:
    server.should_exit = True
    thread.join(ENDED_S)


def _close(run: Run) -> None:
    write_onsets(run.folder, run.plan, run.close())


def _tell(person: str) -> Callable[[str, Text], None]:
    return lambda name, text: console.say(f"{person}, {name}: {text}" if name else f"{person}: {text}")


def _fresh(captures: Path, person: str) -> Path:
    """A folder for this time: what an earlier one left is never touched."""
    number = 1
    while (folder := captures / f"{person}-{number}").exists():
        number += 1
    return folder
