"""Clients that load a server: plain sockets on asyncio, so that they cost little beside what they measure."""

import asyncio
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path


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


async def watch(address: Address, viewers: int, seconds: float, ready: Path) -> list[list[float]]:
    """When each viewer of an event stream got each message, by the machine's clock."""
    sent = f"GET {address.path} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n".encode()
    seen: list[list[float]] = [[] for _ in range(viewers)]
    here = 0

    async def go(i: int) -> None:
        nonlocal here
        reader, writer = await asyncio.open_connection(address.host, address.port, limit=1 << 22)
        writer.write(sent)
        await reader.readuntil(b"\n\n")  # what the page shows when it is opened
        here += 1
        while True:
            told = await reader.readuntil(b"\n\n")
            if b"event: " in told:
                seen[i].append(time.time())

    tasks = []
    for i in range(viewers):
        tasks.append(asyncio.create_task(go(i)))
        if i % 50 == 49:
            await asyncio.sleep(0.05)
    while here < viewers:
        await asyncio.sleep(0.05)
    ready.write_text("ready")
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return seen


def main() -> None:
    what, host, port, path, count, seconds, out = sys.argv[1:8]
    address = Address(host, int(port), path)
    if what == "hammer":
        told: object = asyncio.run(hammer(address, int(count), float(seconds)))
    else:
        told = asyncio.run(watch(address, int(count), float(seconds), Path(out + ".ready")))
    Path(out).write_text(json.dumps(told))


if __name__ == "__main__":
    main()
