"""What the machine itself can do: a bare socket, a bare sleep, and processors that are busy with something else."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
REPLY = b"\4\0\0\0\0\0\0\0"
EVERY_S = 0.2  # between two ticks
ENDING_S = 10.0


def in_child(function: Callable[..., object], *words: object, **options: Any) -> subprocess.Popen[str]:
    """A function of ours in a plain Python process; it gets its words as text."""
    code = f"import sys; from {function.__module__} import {function.__name__} as go; go(*sys.argv[1:])"
    nothing = subprocess.DEVNULL
    options = {"stdin": nothing, "stdout": nothing, "cwd": ROOT, "text": True, **options}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, words)], **options)


@contextmanager
def ending(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Ends a process that we started, and only that one, when it is needed no more."""
    try:
        yield process
    finally:
        process.kill()
        process.wait(ENDING_S)
        for stream in (process.stdin, process.stdout):
            if stream:
                stream.close()


@contextmanager
def ponging(size: int, packets: int) -> Iterator[socket.socket]:
    """Our end of a socket, whose other end sends one reply to so many packets of this size."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, ending(in_child(pong, theirs.fileno(), size, packets, pass_fds=[theirs.fileno()])):
        theirs.close()
        yield ours


def ping(sock: socket.socket, packet: memoryview, packets: int) -> None:
    for _ in range(packets):
        sock.sendall(packet)
    sock.recv(len(REPLY))


def pong(number: str, size: str, packets: str) -> None:
    sock, buffer = socket.socket(fileno=int(number)), bytearray(int(size))
    while True:
        for _ in range(int(packets)):
            if sock.recv_into(buffer, 0, socket.MSG_WAITALL) < len(buffer):
                return
        sock.sendall(REPLY)


def sleep_ticks(seconds: str, nice: str) -> None:
    """Tell how late each tick of a loop around time.sleep is."""
    with suppress(PermissionError):  # ours is not raised either then
        os.setpriority(os.PRIO_PROCESS, 0, int(nice))
    start, late_s = time.monotonic(), []
    for tick in range(1, round(float(seconds) / EVERY_S) + 1):
        due = start + tick * EVERY_S
        time.sleep(max(due - time.monotonic(), 0.0))
        late_s.append(time.monotonic() - due)
    print(json.dumps(late_s))


def be_busy() -> None:
    """Use a processor for as long as whoever asked for it lives."""
    parent = os.getppid()
    while os.getppid() == parent:
        for _ in range(1_000_000):
            pass
