"""What is said with one device that pushes frames: clocks are compared, frames taken, nonsense counted."""

import asyncio
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import msgspec
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from palestra.studio.capture.source import Notice, Offset, now_ns
from palestra.studio.capture.sources.picture_bytes import size_of

HEAD = struct.Struct("<dI")
ROUNDS, ANSWER_S = 5, 5.0  # asks of one measurement, of which the quickest counts
TOLD_S, EVERY_TOLD = 1.0, 5  # between two counts that a device is told, of which clocks are compared at every fifth
MOST_NONSENSE = 20  # messages of a connection that are nothing, before it is closed
MOST_TEXT = 1000
MOST_MS = 4e12  # of a time: in nanoseconds it and its offset have room in 64 bits
MOST_LEFT_OUT = 1_000_000
NONSENSE = 4003  # the code that we close with


class Answer(msgspec.Struct):
    """What a page says to an ask."""

    answer: int
    at_ms: float


@dataclass(frozen=True)
class Pushed:
    """A frame as it came, not yet decoded."""

    data: bytes
    taken_ns: int
    arrived_ns: int
    left_out: int  # by the page, just before it


Take = Callable[[Pushed | Offset | Notice], bool]  # whether there was room for it
ANSWER = msgspec.json.Decoder(Answer)


class Inbox:
    """Hands on what devices push, and counts it."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self.kept = self.lost = 0
        self._untold = 0  # lost, and not yet told with a frame
        self._counting = threading.Lock()  # the server's thread counts, and the one that reads the source

    def frame(self, pushed: Pushed) -> None:
        """A frame for whoever takes them; one for which there is no room is counted."""
        if self._take(pushed):
            self.kept += 1
        else:
            self.lose(1 + pushed.left_out)

    def tell(self, told: Offset | Notice) -> None:
        """What is known of a device's clock, or happened to it."""
        self._take(told)

    def lose(self, count: int) -> None:
        with self._counting:
            self.lost += count
            self._untold += count

    def lost_until_now(self) -> int:
        """Frames lost since this was last asked."""
        with self._counting:
            count, self._untold = self._untold, 0
        return count


class Meeting:
    """One connected device."""

    def __init__(self, inbox: Inbox, connection: ServerConnection) -> None:
        self._inbox, self._connection = inbox, connection
        self._asked: dict[int, int] = {}  # number of an ask → when it was sent
        self._answers: asyncio.Queue[tuple[int, int, float]] = asyncio.Queue(ROUNDS)
        self._goes = False
        self._nonsense = 0

    async def run(self) -> None:
        comparing = asyncio.create_task(self._compare_clocks())
        try:
            async for message in self._connection:
                await self._heard(message, now_ns())
        except ConnectionClosed:
            pass  # how it ended is told by whoever called
        finally:
            comparing.cancel()

    async def _heard(self, message: str | bytes, at_ns: int) -> None:
        if not (self._frame(message, at_ns) if isinstance(message, bytes) else self._answer(message, at_ns)):
            self._nonsense += 1
            if self._nonsense > MOST_NONSENSE:
                await self._connection.close(NONSENSE, "too many messages that are no pictures")

    def _frame(self, message: bytes, at_ns: int) -> bool:
        """Take a frame; whether it is one."""
        if not self._goes or len(message) <= HEAD.size or size_of(message[HEAD.size :]) is None:
            self._inbox.lose(1)
            return False
        taken_ms, left_out = HEAD.unpack_from(message)
        if not abs(taken_ms) < MOST_MS or left_out > MOST_LEFT_OUT:  # also a time that is no number
            self._inbox.lose(1)
            return False
        self._inbox.frame(Pushed(message[HEAD.size :], round(taken_ms * 1e6), at_ns, left_out))
        return True

    def _answer(self, message: str, at_ns: int) -> bool:
        if len(message) > MOST_TEXT:
            return False
        try:
            said = ANSWER.decode(message)
        except (msgspec.DecodeError, UnicodeEncodeError):
            return False
        sent_ns = self._asked.pop(said.answer, None)
        if sent_ns is None or not abs(said.at_ms) < MOST_MS or self._answers.full():
            return False
        self._answers.put_nowait((sent_ns, at_ns, said.at_ms))
        return True

    async def _compare_clocks(self) -> None:
        """Ask for the device's time, again and again; of each few round trips the quickest counts."""
        with suppress(ConnectionClosed):  # then there is nobody to ask
            await self._compare_for_ever()

    async def _compare_for_ever(self) -> None:
        number = 0
        while True:
            self._asked.clear()
            trips: list[tuple[int, int, float]] = []
            for _ in range(ROUNDS):
                number += 1
                self._asked[number] = now_ns()
                await self._connection.send(msgspec.json.encode({"ask": number}).decode())
                try:
                    trips.append(await asyncio.wait_for(self._answers.get(), ANSWER_S))
                except TimeoutError:
                    break
            if trips:
                self._inbox.tell(_offset(trips))
                if not self._goes:
                    self._goes = True
                    await self._connection.send('{"go":true}')
            for _ in range(EVERY_TOLD if self._goes else 1):
                told = {"kept": self._inbox.kept, "lost": self._inbox.lost}
                await self._connection.send(msgspec.json.encode(told).decode())
                await asyncio.sleep(TOLD_S)


def _offset(trips: list[tuple[int, int, float]]) -> Offset:
    sent_ns, heard_ns, at_ms = min(trips, key=lambda trip: trip[1] - trip[0])
    half_ns = (heard_ns - sent_ns) // 2
    return Offset(heard_ns, sent_ns + half_ns - round(at_ms * 1e6), half_ns)
