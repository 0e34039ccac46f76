"""A contest as one server process holds it: its log and boards, what is sent live, how it was set up."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from palestra.contest import Also, Contest, Decide, Viewer
from palestra.contest.accounts import AtOnce, Buckets
from palestra.contest.boards import Boards
from palestra.contest.log import Event, State
from palestra.contest.storage import Uploads
from palestra.web.site.setup import Setup
from palestra.web.site.writes import Writes
from palestra.web.stream import Feed, Note, Runs

T = TypeVar("T")


@dataclass
class Site:
    """What routes are given."""

    contest: Contest
    setup: Setup
    feed: Feed = field(default_factory=Feed)
    boards: Boards = field(init=False)
    buckets: Buckets = field(init=False)
    under_way: AtOnce = field(init=False)  # requests that are answered now, live pages among them
    boards_sent: dict[tuple[object, ...], tuple[str, bytes]] = field(default_factory=dict)  # see views/board_cache.py
    uploads: Uploads = field(init=False)
    doing: dict[str, asyncio.Future[Any]] = field(default_factory=dict)  # see actions/idempotency.py
    runs: Runs = field(init=False)
    writes: Writes = field(default_factory=Writes)

    def __post_init__(self) -> None:
        self.boards = Boards(self.contest)
        self.buckets = Buckets(self.setup.requests_per_s, self.setup.burst, self.contest.now)
        self.under_way = AtOnce(self.setup.per_address)
        self.uploads = Uploads(self.contest.engine, self.setup.spool, self.contest.files, self.contest.now)
        self.runs = Runs(self.contest.engine)

    @property
    def state(self) -> State:
        return self.contest.state

    @property
    def now(self) -> int:
        return self.contest.now()

    @property
    def folders(self) -> list[Path]:
        """Where it keeps files on this machine."""
        files = self.contest.files.where
        return [self.setup.spool, *([] if "://" in files else [Path(files)])]

    def tell(self, notes: Sequence[Note]) -> None:
        """Pass on what live runs said."""
        if notes:
            self.feed.touch({"screen:", *(f"run:{note.run}:" for note in notes)})

    async def act(self, viewer: Viewer, decide: Decide, also: Also | None = None) -> list[Event]:
        """Decide and write down, in a thread: the disk is waited for. `also` writes in the same transaction."""
        return await asyncio.to_thread(self.contest.act, viewer.account or "system", decide, also)


async def in_thread(work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work)
