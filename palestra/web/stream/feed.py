"""What pages are sent as it changes, by server-sent events.

A topic is something that can be shown, with a way to write it down. When it changes it is written once, however many
look at it, and the same bytes go to all: what changed, to those who have the version before, else the whole. Who is
slow gets the newest, not everything in between. Every message has an
id, so that whoever comes back after a lost connection is sent what they missed.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from math import inf
from typing import NamedTuple

import msgspec

log = logging.getLogger("palestra.web")
BEAT_S = 10.0  # half of the longest silence; proxies and browsers take a longer one for a lost connection
PAUSE_S = 0.1  # least time between two messages on a topic
PAUSES_S = {"match:": 0.02}  # on those that people act on: two referees may mark at the same moment
SLICE_S = 0.02  # of writing, until requests have their turn
REST = 1.0  # times as long as a slice took: writing has half of the event loop's time at most, however much there is
BEAT = b": still here\n\n"


class Said(NamedTuple):
    """What a topic says: under which name of an event, and its id."""

    event: str
    text: str
    ident: str


Write = Callable[[], Said | None]  # what a topic says now, if anything


def message(said: Said) -> bytes:
    """One server-sent event. Line ends inside the text are kept by giving each line a field of its own."""
    lines = "".join(f"data: {line}\n" for line in said.text.splitlines() or [""])
    return f"id: {said.ident}\nevent: {said.event}\n{lines}\n".encode()


def change(before: Said, after: Said) -> bytes:
    """The way from one text to the next, for who has the first: lines of it by their numbers, and lines that are new.

    A board of fifty teams is sixty thousand letters, of which a new score changes some hundred. `[3, 10]` stands for
    ten lines from the third on, counted from 0; a text for itself. Nothing where it would not be much shorter.
    """
    known = {line: number for number, line in enumerate(before.text.splitlines())}
    parts: list[list[int] | str] = []
    for line in after.text.splitlines():
        number = known.get(line)
        if number is None:
            parts.append(line)
        elif parts and isinstance(last := parts[-1], list) and last[0] + last[1] == number:
            last[1] += 1
        else:
            parts.append([number, 1])
    told = message(Said(f"{after.event}-change", msgspec.json.encode(parts).decode(), after.ident))
    return told if 2 * len(told) < len(after.text) else b""


def _is_urgent(key: str) -> bool:
    """Whether people act on what it says."""
    return key.startswith(tuple(PAUSES_S))


def _pause_s(key: str) -> float:
    """The least time between two messages on a topic."""
    return min(next((pause_s for start, pause_s in PAUSES_S.items() if key.startswith(start)), PAUSE_S), PAUSE_S)


class _Topic:
    def __init__(self, write: Write) -> None:
        self.write = write
        self.version = 0
        self.said: Said | None = None
        self.latest = b""
        self.change = b""  # from the version before to the latest
        self.rests_until = 0.0  # by the loop's clock
        self.readers: set[_Reader] = set()


class _Reader:
    """Who reads topics: what they have seen of each, and whether they wait for more."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}
        self.quiet = True  # since the last time that signs of life were sent
        self._news: asyncio.Future[None] | None = None

    async def wait(self) -> None:
        self._news = asyncio.get_running_loop().create_future()
        await self._news

    def wake(self) -> None:
        self.quiet = False
        if self._news and not self._news.done():
            self._news.set_result(None)


class Feed:
    """All topics of one server process. It lives on the event loop; `touch` alone may be called from other threads."""

    def __init__(self) -> None:
        self._topics: dict[str, _Topic] = {}
        self._dirty: dict[str, None] = {}  # in the order that they changed
        self._rests_until = 0.0  # before that nothing is written that is not urgent
        self._wake = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @property
    def readers(self) -> int:
        return sum(len(topic.readers) for topic in self._topics.values())

    def touch(self, prefixes: Collection[str]) -> None:
        """Say that topics whose names begin so have changed; whoever reads them is sent what they say now."""
        if self._loop and prefixes:
            self._loop.call_soon_threadsafe(self._mark, tuple(prefixes))

    def _mark(self, prefixes: tuple[str, ...]) -> None:
        found = {key for key in self._topics if key.startswith(prefixes)}
        if found:
            self._dirty |= dict.fromkeys(found)
            self._wake.set()

    async def run(self) -> None:
        """Write topics that changed and pass them on, until cancelled."""
        self._loop = asyncio.get_running_loop()
        beaten = self._loop.time()
        while True:
            # `wait_for` may swallow a cancellation that comes with what it waits for; `timeout` does not.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(min(beaten + BEAT_S, *(self._rests(key) for key in self._dirty), inf)):
                    await self._wake.wait()
            self._wake.clear()
            now = self._loop.time()
            if now >= beaten + BEAT_S:
                beaten = now
                self._beat()
            self._pass_on([key for key in self._dirty if self._rests(key) <= now])

    def _rests(self, key: str) -> float:
        """Until when a topic is not written again."""
        topic = self._topics.get(key)
        return max(topic.rests_until if topic else 0.0, 0.0 if _is_urgent(key) else self._rests_until)

    def _pass_on(self, changed: list[str]) -> None:
        """Write topics for as long as a slice; those that are left are next, when all have rested."""
        assert self._loop
        began = now = self._loop.time()
        for key in sorted(changed, key=_is_urgent, reverse=True):
            if now > began + SLICE_S and not _is_urgent(key):
                break
            del self._dirty[key]
            if self._tried(key):
                self._wake_readers([key])
                self._topics[key].rests_until = now + _pause_s(key)
            now = self._loop.time()
        self._rests_until = max(self._rests_until, now + REST * (now - began))

    def _beat(self) -> None:
        """A sign of life, to those only who have had nothing for a while: it costs as much as news."""
        readers = {reader for topic in self._topics.values() for reader in topic.readers}
        for reader in readers:
            if reader.quiet:
                reader.wake()
            reader.quiet = True

    def _tried(self, key: str) -> bool:
        try:
            return self._renew(key)
        except Exception:  # one topic that cannot be written must not silence the others
            log.exception("what changed in %s could not be written", key)
            return False

    def _renew(self, key: str) -> bool:
        """Whether the topic says something else now."""
        topic = self._topics.get(key)
        if topic is None:
            return False
        before, said = topic.said, topic.write()
        if said is None or (before and before.text == said.text):
            return False
        topic.said, topic.version = said, topic.version + 1
        topic.latest, topic.change = message(said), change(before, said) if before else b""
        return True

    def close(self) -> None:
        """End all readers, so that the server can stop."""
        self._closed = True
        self._wake_readers(self._topics)

    def _wake_readers(self, keys: Iterable[str]) -> None:
        for key in keys:
            for reader in self._topics[key].readers:
                reader.wake()

    async def read(self, topics: Mapping[str, Write], missed: bytes = b"") -> AsyncIterator[bytes]:
        """What topics say, now and whenever it changes. `missed` is what a reader who came back is sent first."""
        reader = _Reader()
        for key, write in topics.items():
            self._topics.setdefault(key, _Topic(write)).readers.add(reader)
            if self._renew(key):
                self._wake_readers([key])
        try:
            yield missed + b"".join(self._news(topics, reader.seen)) or BEAT
            while not self._closed:
                news = b"".join(self._news(topics, reader.seen))  # while we were busy sending
                if not news:
                    await reader.wait()
                    news = b"".join(self._news(topics, reader.seen))
                if news or not self._closed:
                    yield news or BEAT
        finally:
            for key in topics:
                self._leave(key, reader)

    def _news(self, topics: Iterable[str], seen: dict[str, int]) -> Iterable[bytes]:
        for key in topics:
            topic = self._topics[key]
            if topic.version != seen.get(key) and topic.latest:
                yield topic.change if topic.change and seen.get(key) == topic.version - 1 else topic.latest
            seen[key] = topic.version

    def _leave(self, key: str, reader: _Reader) -> None:
        topic = self._topics[key]
        topic.readers.discard(reader)
        if not topic.readers:
            del self._topics[key]
