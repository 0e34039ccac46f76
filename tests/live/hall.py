"""Whole live runs for tests: a small track, bundles that are written on the spot, and what came of them."""

import socket
import textwrap
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from palestra import registry
from palestra.entrants import open
from palestra.entrants.bundle import Bundle
from palestra.entrants.open import Called, Entry, Terms
from palestra.entrants.program import Program
from palestra.entrants.socket_frames import Frame, Header, Receiver, send
from palestra.errors import PalestraError
from palestra.live import run, session
from palestra.live.live_data import read_live_data
from palestra.live.run import Play, Played
from palestra.live.stream import Decision
from palestra.records import Track
from palestra.sandbox import backends, launch
from palestra.sandbox.freezer import Freezer
from palestra.sandbox.launch import Limits
from palestra.sandbox.processor_time import ProcessorTime
from tests import OUTSIDE

TRACKS = OUTSIDE / "live"
SMALL = Limits(memory_bytes=1 << 29, pids=32, wall_s=120, cpu_s=60, tmp_bytes=1 << 20, output_bytes=4096)

# Its parts can be told to do something else at one packet: `deeds` are lines of Python by the place they go to.
PROGRAM = """
import os, socket, struct, sys, time
import numpy as np
{top}
class MyAlgorithm:
    def __init__(self):
        self.number = self.label = -1
{make}
    def get_data(self, x):
        self.number, self.label = int(x[0, 0]), int(x[1, 0])
{take}
    def algorithm(self):
        answer = self.label
{answer}
        return answer
"""


def prepare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the small track known, to this test and the processes that it starts; skip it where no sandbox works."""
    require_sandbox()
    monkeypatch.setenv(registry.OUTSIDE, str(TRACKS))
    ticking()  # from now on its module can be imported


def ticking() -> Track:
    return registry.track("ticking-v1")


def write_bundle(folder: Path, text: str) -> Path:
    file = folder / "Algorithm" / "MyAlgorithm.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return folder


def program(**deeds: str) -> str:
    """A program that is right, but for what it does besides: at `top`, in `make`, `take` or `answer`."""
    depth = {"top": 0, "make": 2, "take": 2, "answer": 2}
    lines = {place: textwrap.indent(textwrap.dedent(deeds.pop(place, "")), "    " * d) for place, d in depth.items()}
    assert not deeds, f"no such places: {deeds}"
    return PROGRAM.format(**lines)


def at(number: int, deed: str) -> str:
    """Do something at this packet alone: whoever dies of it is right again afterwards."""
    return f"if self.number == {number}:\n" + textwrap.indent(textwrap.dedent(deed), "    ")


def require_sandbox() -> None:
    try:
        backends.choose()
    except PalestraError as error:
        pytest.skip(str(error))


@dataclass
class Ran:
    """A run that is over, by entrant."""

    played: Played
    folder: Path

    def decisions(self, name: str) -> list[Decision]:
        return [record.decision for record in self.played.recording.decisions(name)]

    def unanswered(self, name: str) -> dict[str, str]:
        """What was missed, and why: by trial, as the scored rows have it."""
        rows = self.played.scored[name].rows.filter(~self.played.scored[name].rows["answered"])
        return dict(zip(rows["trial"], rows["note"], strict=True))

    def accuracy(self, name: str) -> float:
        return self.played.scored[name].result.metrics["accuracy"].value

    def deaths(self, name: str) -> list[str]:
        assert self.played.recording.end is not None
        return [str(death) for death in self.played.recording.end.deaths[name]]

    def output(self, name: str) -> str:
        assert self.played.recording.end is not None
        return self.played.recording.end.outputs[name]

    def strays(self, name: str) -> list[str]:
        return [record.trial for record in self.played.recording.strays(name)]

    def require_same_again(self) -> None:
        """What was recorded gives the same results, byte by byte."""
        assert session.replay_live(self.folder, None).same


def play(
    data: Path,
    folder: Path,
    bundles: dict[str, Path],
    pace: str = "fast",
    more: Sequence[Entry] = (),
    limits: Limits = SMALL,
    patience_s: float = 60.0,
) -> Ran:
    """A whole run with each bundle's program in its sandbox."""
    order = Play(pace, patience_s, watched=False)  # type: ignore[arg-type]
    terms = Terms(limits, patience_s)
    with ExitStack() as stack:
        entries = [open.open_entry(Called(name, str(path)), {}, terms, stack) for name, path in bundles.items()]
        return Ran(run.play(read_live_data(ticking(), data), [*entries, *more], order, folder), folder)


class _Light:
    """In the place of a sandbox: a thread of ours at the other end of the socket."""

    report, output = None, ""
    freezer, processor_time = Freezer({}), ProcessorTime({}, -1)

    def __init__(self, sock: socket.socket, talk: Callable[[socket.socket], None]) -> None:
        self._sock = sock.dup()
        threading.Thread(target=talk, args=(self._sock,), daemon=True).start()

    def wait(self, timeout_s: float | None = None) -> bool:
        return True

    def why(self) -> str:
        return "it went away"

    def kill(self) -> None:
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.kill()


class _LightProgram(Program):
    """A program as others are, to whoever plays to it; it takes no time to start."""

    def __init__(self, name: str, talk: Callable[[socket.socket], None]) -> None:
        self._talk = talk
        super().__init__(name, Bundle(Path(), None, ""), launch.Backend("light", True, True, ""))

    def _start(self) -> Any:
        with mock.patch.object(launch, "start", lambda *words, **more: _Light(words[4], self._talk)):
            return super()._start()


def light(name: str, talk: Callable[[socket.socket], None]) -> Entry:
    """An entrant without a process of its own, for runs with many of them."""
    line = _LightProgram(name, talk)
    return Entry(name, "a thread", None, line, line.ask)


def good(sock: socket.socket) -> None:
    """Is always right."""
    _talk(sock, lambda frame: {"answer": int(frame.arrays[0][1, 0])})


def worried(sock: socket.socket) -> None:
    """Has no answer, but a reason."""
    _talk(sock, lambda frame: {"note": "cannot see a thing"})


def silent(sock: socket.socket) -> None:
    """Says that it is ready, and takes nothing ever after."""
    send(sock, Header("ready"))


def flooding(sock: socket.socket) -> None:
    """Says more than it is asked, without end, and never about a packet that is sent: it must not be right by luck."""
    send(sock, Header("ready"))
    with suppress(OSError):
        while True:
            send(sock, Header("done", 1_000_000, {"answer": 1}))


def _talk(sock: socket.socket, answer: Callable[[Frame], dict[str, Any]]) -> None:
    receiver = Receiver(sock)
    with suppress(EOFError, OSError):
        send(sock, Header("ready"))
        while True:
            frame = receiver.receive()
            send(sock, Header("done", frame.header.number, answer(frame) if frame.header.data["ask"] else {}))


def gone(word: str) -> bool:
    """Whether no process of the host has this word in its command line."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (place / "cmdline").read_bytes():
                return False
        except OSError:
            continue
    return True
