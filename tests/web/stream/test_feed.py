"""What is sent live: written once for all, the newest to who is slow, all to who comes back, nothing after the end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.web.stream import feed as feed_module
from palestra.web.stream.feed import BEAT, Feed, Said, change, message


class Topic:
    """Says what it was last told to, and counts how often it was asked."""

    def __init__(self, text: str = "") -> None:
        self.text, self.asked, self.number = text, 0, 0

    def __call__(self) -> Said | None:
        self.asked += 1
        self.number += 1
        return Said("board", self.text, str(self.number)) if self.text else None


def run(test: Callable[[Feed], Any], monkeypatch: pytest.MonkeyPatch, beat_s: float = 60.0) -> None:
    """A test beside a feed that runs, without pauses."""
    monkeypatch.setattr(feed_module, "PAUSE_S", 0.0)
    monkeypatch.setattr(feed_module, "BEAT_S", beat_s)

    async def beside() -> None:
        feed = Feed()
        running = asyncio.create_task(feed.run())
        await asyncio.sleep(0)  # the loop comes round once, so that it has begun
        try:
            await asyncio.wait_for(test(feed), 20)
        finally:
            running.cancel()

    asyncio.run(beside())


async def news(messages: AsyncIterator[bytes]) -> str:
    """The next message that says something."""
    async for found in messages:
        if found != BEAT:
            return found.decode()
    return "over"


def data(text: str) -> list[str]:
    return [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]


def test_a_reader_is_told_at_once_and_whenever_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(feed: Feed) -> None:
        topic = Topic("one")
        reader = feed.read({"board:first:": topic})
        assert data(await news(reader)) == ["one"]
        topic.text = "two"
        feed.touch(["board:"])
        assert data(await news(reader)) == ["two"]

    run(test, monkeypatch)


def test_what_changed_is_written_once_for_all_who_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(feed: Feed) -> None:
        topic = Topic("one")
        readers = [feed.read({"board:first:": topic}) for _ in range(50)]
        for reader in readers:
            await news(reader)
        before, topic.text = topic.asked, "two"
        feed.touch(["board:"])
        waiting = await asyncio.gather(*(news(reader) for reader in readers))
        assert len(set(waiting)) == 1
        assert topic.asked == before + 1
        assert feed.readers == 50

    run(test, monkeypatch)


def test_others_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(feed: Feed) -> None:
        mine, other = Topic("mine"), Topic("other")
        reader = feed.read({"submission:s1:t1": mine})
        stranger = feed.read({"submission:s2:t2": other})
        await news(reader)
        await news(stranger)
        mine.text, other.text = "mine again", "other again"
        feed.touch(["submission:s1:"])
        assert data(await news(reader)) == ["mine again"]
        assert other.asked == 1

    run(test, monkeypatch)


def test_who_is_slow_gets_the_newest_and_nothing_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(feed: Feed) -> None:
        topic = Topic("0")
        slow, quick = feed.read({"board:": topic}), feed.read({"board:": topic})
        await news(slow)
        await news(quick)
        for number in range(1, 6):
            topic.text = str(number)
            feed.touch(["board:"])
            assert data(await news(quick)) == [str(number)]
        assert data(await news(slow)) == ["5"]

    run(test, monkeypatch)


def test_a_topic_that_says_the_same_is_not_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(feed: Feed) -> None:
        same, other = Topic("same"), Topic("one")
        reader = feed.read({"board:": same, "home:": other})
        assert data(await news(reader)) == ["same", "one"]
        other.text = "two"
        feed.touch(["board:", "home:"])
        assert data(await news(reader)) == ["two"]

    run(test, monkeypatch)


def test_who_comes_back_is_sent_what_they_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(feed: Feed) -> None:
        topic = Topic("one")
        reader = feed.read({"board:": topic})
        await news(reader)
        await reader.aclose()  # type: ignore[attr-defined]
        assert feed.readers == 0
        topic.text = "three"
        again = feed.read({"board:": topic}, missed=b"id: 7\ndata: two\n\n")
        assert data((await anext(again)).decode()) == ["two", "three"]

    run(test, monkeypatch)


def test_a_topic_rests_between_two_messages_and_another_one_does_not_wait_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A board that changes all the time is sent now and then; a referee's mark is not held up by it."""

    async def test(feed: Feed) -> None:
        monkeypatch.setattr(feed_module, "PAUSE_S", 3600.0)
        monkeypatch.setattr(feed_module, "PAUSES_S", {"match:": 0.0})
        board, match = Topic("one"), Topic("one")
        looks, acts = feed.read({"board:": board}), feed.read({"match:m1:": match})
        await news(looks)
        await news(acts)
        board.text = "two"
        feed.touch(["board:"])
        assert data(await news(looks)) == ["two"]
        for text in ("three", "four"):
            asked, board.text, match.text = board.asked, text, text
            feed.touch(["board:", "match:m1:"])
            assert data(await news(acts)) == [text]
            assert board.asked == asked

    run(test, monkeypatch)


def test_there_is_a_sign_of_life_when_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(feed: Feed) -> None:
        reader = feed.read({"board:": Topic("one")})
        await news(reader)
        assert await anext(reader) == BEAT

    run(test, monkeypatch, beat_s=0.001)


def test_a_topic_with_nothing_to_say_gives_a_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(feed: Feed) -> None:
        topic = Topic()
        reader = feed.read({"run:": topic})
        assert await anext(reader) == BEAT
        topic.text = "it begins"
        feed.touch(["run:"])
        assert data(await news(reader)) == ["it begins"]

    run(test, monkeypatch)


def test_one_who_leaves_takes_nothing_from_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(feed: Feed) -> None:
        topic = Topic("one")
        stays, leaves = feed.read({"board:": topic}), feed.read({"board:": topic})
        await news(stays)
        await news(leaves)
        waiting = asyncio.create_task(anext(leaves))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        topic.text = "two"
        feed.touch(["board:"])
        assert data(await news(stays)) == ["two"]
        assert feed.readers == 1

    run(test, monkeypatch)


def test_a_topic_that_fails_does_not_silence_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(feed: Feed) -> None:
        good, bad = Topic("good"), Topic("bad")
        broken = feed.read({"desk:": bad})
        reader = feed.read({"board:": good})
        await news(broken)
        await news(reader)
        bad.__class__ = type("Broken", (Topic,), {"__call__": lambda self: 1 / 0})
        good.text = "better"
        feed.touch(["board:", "desk:"])
        assert data(await news(reader)) == ["better"]

    run(test, monkeypatch)


def test_the_end_ends_all_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(feed: Feed) -> None:
        readers = [feed.read({"board:": Topic("one")}) for _ in range(3)]
        for reader in readers:
            await news(reader)
        ending = [asyncio.create_task(news(reader)) for reader in readers]
        await asyncio.sleep(0)
        feed.close()
        assert await asyncio.gather(*ending) == ["over"] * 3
        assert feed.readers == 0

    run(test, monkeypatch)


def test_before_it_runs_nothing_is_touched() -> None:
    Feed().touch(["board:"])  # no error, and nobody to be told


# What a message looks like


LINES = st.text(st.characters(codec="utf-8"), max_size=60)


@given(LINES)
def test_no_text_breaks_out_of_its_message(text: str) -> None:
    written = message(Said("board", text, "7-1")).decode()
    assert written.endswith("\n\n")
    head, *rest = written[:-2].split("\n")
    assert (head, rest[0]) == ("id: 7-1", "event: board")
    assert all(line.startswith("data: ") for line in rest[1:])
    assert "\r" not in written
    assert [line[6:] for line in rest[1:]] == (text.splitlines() or [""])


@given(st.lists(st.sampled_from("abcdef"), max_size=30), st.lists(st.sampled_from("abcdefgh"), max_size=30))
def test_a_change_leads_from_one_text_to_the_next(before: list[str], after: list[str]) -> None:
    long = " and many more letters, so that it is worth it" * 4
    first, second = (Said("board", "\n".join(f"{line}{long}" for line in lines), "1") for lines in (before, after))
    told = change(first, second)
    if told:
        parts = msgspec.json.decode("\n".join(data(told.decode())))
        known = first.text.splitlines()
        found = [line for part in parts for line in ([part] if isinstance(part, str) else known[part[0] :][: part[1]])]
        assert found == second.text.splitlines()


def test_much_that_changed_at_once_leaves_half_of_the_time_to_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boards of many teams that each take as long to write as a slice may last: after each, requests have as long."""
    cost_s = 2 * feed_module.SLICE_S
    written: list[tuple[str, float]] = []

    async def test(feed: Feed) -> None:
        loop = asyncio.get_running_loop()
        ahead_s, plain = 0.0, loop.time
        monkeypatch.setattr(loop, "time", lambda: plain() + ahead_s)

        def slow(key: str) -> Callable[[], Said | None]:
            def write() -> Said | None:
                nonlocal ahead_s
                written.append((key, loop.time()))
                ahead_s += cost_s
                return Said("board", str(written[-1]), str(len(written)))

            return write

        keys = ["board:first:red", "board:first:blue", "board:first:green", "match:m1:"]
        readers = [feed.read({key: slow(key)}) for key in keys]
        for reader in readers:
            await news(reader)
        written.clear()
        feed.touch(["board:", "match:"])
        await asyncio.gather(*(news(reader) for reader in readers))

    run(test, monkeypatch)
    assert written[0][0] == "match:m1:", "what people act on is written first"
    boards = [at for key, at in written if key != "match:m1:"]
    assert len(boards) == 3
    between = [later - before for before, later in pairwise(boards)]
    assert min(between) >= (1 + feed_module.REST) * cost_s - 0.001
