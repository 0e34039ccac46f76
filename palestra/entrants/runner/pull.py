"""The pull contract of the same family of contests, inside the sandbox: the program fetches packets when it likes.

    def set_task(self, task): ...
    def run(self):
        while True:
            packet = task.get_data()      # .data, .start_pos, .subject_id, .finish_flag
            task.report(answer)           # an object with .result
            if packet.finish_flag: return

A report answers the newest packet on which a decision was asked. Fetching the next packet says that the one before is
dealt with, so that time can be charged; its answer may still come until its deadline. Where there is none, that is to
say that there is no answer: everybody else waits for it.
"""

import socket
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from palestra.entrants import Header, Receiver, send
from palestra.entrants.runner.answers import told


@dataclass
class Packet:
    """What the program gets, under the names that such programs use."""

    data: NDArray[Any]  # channels and the trigger × samples; the last one may be shorter
    start_pos: int  # of its first sample, since the start of this person's recording
    subject_id: int  # people are numbered as they come
    finish_flag: bool  # whether it is the last one of all


class Task:
    """What the program talks to."""

    def __init__(self, sock: socket.socket, receiver: Receiver) -> None:
        self._sock, self._receiver = sock, receiver
        self._under_way: int | None = None  # the packet that it has and has not answered
        self._asked: int | None = None  # the newest one on which a decision was asked

    def get_data(self) -> Packet:
        """The next packet, when there is one."""
        if self._under_way is not None:
            send(self._sock, Header("taken", self._under_way))
        try:
            frame = self._receiver.receive()
        except EOFError:  # all is over: whoever fetches on leaves quietly, though it catch every Exception
            raise SystemExit from None
        self._under_way = frame.header.number
        if frame.header.data.get("ask"):
            self._asked = frame.header.number
        about = frame.header.data.get("about", {})
        return Packet(frame.arrays[0], about.get("start", 0), about.get("person", 0), bool(about.get("last")))

    def report(self, answer: Any) -> None:
        """Say what the newest second is. Where nothing is asked, nothing is said."""
        if self._asked is not None:
            send(self._sock, Header("done", self._asked, told(getattr(answer, "result", None))))
            if self._under_way == self._asked:
                self._under_way = None
            self._asked = None
