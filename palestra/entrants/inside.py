"""Runs in the sandbox, beside the contestant's own class: takes packets from the socket, gives back what it says.

The class is `MyAlgorithm` in `Algorithm/MyAlgorithm.py`: `get_data(packet)` takes the newest packet, `algorithm()` says
what it is. It is made once and lives through the whole run. Whatever it raises or returns, the run goes on: what is no
whole number is described in words, and never asked for its value, since an object may do anything when it is.
"""

import importlib
import os
import socket
import sys
import traceback
from typing import Any

import numpy as np

from palestra.entrants.frames import Frame, Header, Receiver, send
from palestra.entrants.plan import SOCKET_FD

MODULE, CLASS = "Algorithm.MyAlgorithm", "MyAlgorithm"
METHODS = ("get_data", "algorithm")
NUMBERS = frozenset({np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64})
LONGEST_NOTE = 200


def main() -> None:
    """Make the contestant's object, then answer frame after frame until there are no more."""
    sock = socket.socket(fileno=int(os.environ.get("PALESTRA_FD", SOCKET_FD)))
    try:
        algorithm = make()
    except BaseException as error:
        traceback.print_exc()
        send(sock, Header("refused", data={"note": words(error)}))
        return
    send(sock, Header("ready"))
    receiver = Receiver(sock)
    while True:
        try:
            frame = receiver.receive()
        except EOFError:
            return
        send(sock, Header("done", frame.header.number, answer(algorithm, frame)))


def make() -> Any:
    """The contestant's object. A renamed class or method is told before anything runs."""
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - contestants import and open by names relative to their bundle
    module = importlib.import_module(MODULE)
    found = getattr(module, CLASS, None)
    if not isinstance(found, type):
        raise TypeError(f"{MODULE.replace('.', '/')}.py has no class {CLASS}; the class may not be renamed")
    for name in METHODS:
        if not callable(getattr(found, name, None)):
            raise TypeError(f"{CLASS} has no method {name}; it may not be renamed")
    return found()


def answer(algorithm: Any, frame: Frame) -> dict[str, Any]:
    """What the contestant's object says to a packet: an answer, or a note of why there is none, if it is asked."""
    try:
        algorithm.get_data(frame.arrays[0])
        return told(algorithm.algorithm()) if frame.header.data.get("ask") else {}
    except Exception as error:
        traceback.print_exc()
        return {"note": words(error)}


def told(value: Any) -> dict[str, Any]:
    """A whole number as it is, anything else in words."""
    kind = type(value)
    if kind is int:
        return {"answer": value} if -(1 << 63) <= value < 1 << 63 else {"note": "returned a number without end"}
    if kind in NUMBERS:
        return {"answer": int(value)}
    return {"note": f"returned {kind.__name__[:40]}, and not a whole number"}


def words(error: BaseException) -> str:
    """An error in few words. Its message is the contestant's own text, so it is cut and printable."""
    try:
        text = f"{type(error).__name__}: {error}"
    except BaseException:
        text = type(error).__name__
    return "".join(letter if letter.isprintable() else " " for letter in text)[:LONGEST_NOTE]


if __name__ == "__main__":
    main()
