"""Clients that load a server: plain sockets on uvloop, so that they cost little beside what they measure."""

import asyncio
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import uvloop


@dataclass(frozen=True)
class Address:
    host: str
    port: int
    path: str


async def _request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes) -> int:
    """One request on a connection that is kept; the bytes of the answer's body."""
    writer.write(sent)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    await reader.readexactly(length)
    return length


async def hammer(address: Address, connections: int, seconds: float) -> float:
    """Requests per second over so many connections."""
    sent = f"GET {address.path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    ends = time.perf_counter() + seconds
    counts = [0] * connections

    async def go(i: int) -> None:
        reader, writer = await asyncio.open_connection(address.host, address.port)
        while time.perf_counter() < ends:
            await _request(reader, writer, sent)
            counts[i] += 1
        writer.close()

    started = time.perf_counter()
    await asyncio.gather(*(go(i) for i in range(connections)))
    return sum(counts) / (time.perf_counter() - started)


class Viewer(asyncio.Protocol):
    """One who looks at an event stream, and notes when each message was there whole."""

    def __init__(self, sent: bytes) -> None:
        self.sent, self.rest, self.opened = sent, b"", False
        self.seen: list[float] = []
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self.sent)

    def data_received(self, data: bytes) -> None:
        *whole, self.rest = (self.rest + data).split(b"\n\n")
        for message in whole:
            if b"event: " not in message:
                continue
            if self.opened:
                self.seen.append(time.time())
            self.opened = True  # the first is what the page shows when it is opened

    def connection_lost(self, error: Exception | None) -> None:
        self.lost.set_result(None)


async def watch(address: Address, viewers: int, seconds: float, ready: Path) -> list[list[float]]:
    """When each viewer of an event stream got each message, by the machine's clock. It fails when one is cut off."""
    sent = f"GET {address.path} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n".encode()
    loop = asyncio.get_running_loop()
    all_of_them = [Viewer(sent) for _ in range(viewers)]
    for i, viewer in enumerate(all_of_them):
        await loop.create_connection(lambda viewer=viewer: viewer, address.host, address.port)  # type: ignore[misc]
        if i % 50 == 49:
            await asyncio.sleep(0.05)
    while not all(viewer.opened for viewer in all_of_them):
        await asyncio.sleep(0.05)
    ready.write_text("ready")
    cut_off, _ = await asyncio.wait([viewer.lost for viewer in all_of_them], timeout=seconds)
    if cut_off:
        sys.exit(f"{sum(viewer.lost.done() for viewer in all_of_them)} of {viewers} viewers were cut off")
    for viewer in all_of_them:
        viewer.transport.close()
    return [viewer.seen for viewer in all_of_them]


class HalfOpen(asyncio.Protocol):
    """One who begins a request and never ends it, a letter a second; cut off, they begin again."""

    def __init__(self, address: Address) -> None:
        self.address, self.loop = address, asyncio.get_running_loop()

    async def dial(self) -> None:
        while True:
            try:
                await self.loop.create_connection(lambda: self, self.address.host, self.address.port)
                return
            except OSError:
                await asyncio.sleep(0.1)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(f"GET {self.address.path} HTTP/1.1\r\nHost: x\r\nX: ".encode())

    def connection_lost(self, error: Exception | None) -> None:
        self.again = self.loop.create_task(self.dial())


async def attack(address: Address, half_open: int, ready: Path) -> None:
    """Half-open requests, and now and then a header of 64 MiB, until ended."""
    slow = [HalfOpen(address) for _ in range(half_open)]
    await asyncio.gather(*(one.dial() for one in slow))
    ready.write_text("ready")
    while True:
        for one in slow:
            one.transport.write(b"a")
        await asyncio.gather(asyncio.sleep(1), _endless(address))


async def _endless(address: Address) -> None:
    try:
        _, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nX: ")
        for _ in range(1024):
            writer.write(b"a" * 65_536)
            await writer.drain()
        writer.close()
    except OSError:
        return


async def ask(address: Address, seconds: float) -> list[float]:
    """How long each of twenty requests a second took, each on a connection of its own."""
    sent = f"GET {address.path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    ends, took = time.perf_counter() + seconds, []
    while (started := time.perf_counter()) < ends:
        reader, writer = await asyncio.open_connection(address.host, address.port)
        await _request(reader, writer, sent)
        writer.close()
        took.append(time.perf_counter() - started)
        await asyncio.sleep(max(0.05 - took[-1], 0))
    return took


def main() -> None:
    what, host, port, path, count, seconds, out = sys.argv[1:8]
    address = Address(host, int(port), path)
    if what == "hammer":
        told: object = uvloop.run(hammer(address, int(count), float(seconds)))
    elif what == "attack":
        told = uvloop.run(attack(address, int(count), Path(out + ".ready")))
    elif what == "ask":
        told = uvloop.run(ask(address, float(seconds)))
    else:
        told = uvloop.run(watch(address, int(count), float(seconds), Path(out + ".ready")))
    Path(out).write_text(json.dumps(told))


if __name__ == "__main__":
    main()
