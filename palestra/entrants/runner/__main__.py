"""Runs in the sandbox, beside the contestant's own class: takes packets from the socket, gives back what it says.

The class is `MyAlgorithm` in `Algorithm/MyAlgorithm.py`. It is made once and lives through the whole run. Either it is
given what comes: `get_data(packet)` takes the newest packet, `algorithm()` says what it is. Or it fetches what comes
(pull.py): `set_task(task)`, then `run()`. Or it acts in a world (act.py): `reset(about)`, then `act(observation)`
again and again. Whatever it raises or returns, the run goes on: what is no number is
described in words, and never asked for its value, since an object may do anything when it is.
"""

import importlib
import os
import socket
import sys
import traceback
from contextlib import suppress
from typing import Any

from palestra.entrants import SPIN_S, Frame, Header, Receiver, send
from palestra.entrants.runner.act import acted
from palestra.entrants.runner.answers import told
from palestra.entrants.runner.pull import Task
from palestra.errors import brief
from palestra.sandbox.plan import SOCKET_FD

MODULE, CLASS = "Algorithm.MyAlgorithm", "MyAlgorithm"
GIVEN, FETCHED, ACTING = ("get_data", "algorithm"), ("set_task", "run"), ("reset", "act")


def main() -> None:
    """Make the contestant's object, then let it answer frame after frame until there are no more."""
    sock = socket.socket(fileno=int(os.environ.get("PALESTRA_FD", SOCKET_FD)))
    try:
        algorithm = make()
    except BaseException as error:
        _refuse(sock, error)
        return
    send(sock, Header("ready"))
    receiver = Receiver(sock, spin_s=SPIN_S)
    if _has(type(algorithm), ACTING):
        answers = acted
    elif _has(type(algorithm), GIVEN):
        answers = answer
    else:
        _fetch(algorithm, sock, receiver)
        return
    while True:
        try:
            frame = receiver.receive()
        except EOFError:
            return
        send(sock, Header("done", frame.header.number, answers(algorithm, frame)))


def _fetch(algorithm: Any, sock: socket.socket, receiver: Receiver) -> None:
    """Let it fetch what comes, until it has enough."""
    try:
        algorithm.set_task(Task(sock, receiver))
        algorithm.run()
    except Exception as error:
        _refuse(sock, error)


def _refuse(sock: socket.socket, error: BaseException) -> None:
    """Say why the object is of no further use."""
    traceback.print_exc()
    with suppress(OSError):  # nobody may be there any longer
        send(sock, Header("refused", data={"note": f"{brief(error)}{_where(error)}{_hint(error)}"}))


def make() -> Any:
    """The contestant's object. A renamed class or method is told before anything runs."""
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - contestants import and open by names relative to their bundle
    module = importlib.import_module(MODULE)
    found = getattr(module, CLASS, None)
    if not isinstance(found, type):
        raise TypeError(f"{MODULE.replace('.', '/')}.py has no class {CLASS}; the class may not be renamed")
    if not any(_has(found, methods) for methods in (GIVEN, FETCHED, ACTING)):
        missing = [name for name in GIVEN if not _has(found, (name,))]
        raise TypeError(f"{CLASS} has no method {' and no method '.join(missing)}; methods may not be renamed")
    return found()


def _where(error: BaseException) -> str:
    """The line of the bundle that failed."""
    here = os.getcwd()  # noqa: PTH109 - as above
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(here)]
    return f" ({os.path.relpath(lines[-1].filename, here)}, line {lines[-1].lineno})" if lines else ""


def _hint(error: BaseException) -> str:
    """What beginners need to know of a sandbox."""
    if isinstance(error, ModuleNotFoundError):
        return ". What a program needs beyond numpy and its like, the bundle brings in wheels/"
    if isinstance(error, FileNotFoundError):
        return ". A program sees its bundle alone, and opens files by names relative to it"
    return ""


def _has(kind: type, methods: tuple[str, ...]) -> bool:
    return all(callable(getattr(kind, name, None)) for name in methods)


def answer(algorithm: Any, frame: Frame) -> dict[str, Any]:
    """What the contestant's object says to a packet: an answer, or a note of why there is none, if it is asked."""
    try:
        algorithm.get_data(*frame.arrays)
        return told(algorithm.algorithm()) if frame.header.data.get("ask") else {}
    except Exception as error:
        traceback.print_exc()
        return {"note": brief(error)}


if __name__ == "__main__":
    main()
