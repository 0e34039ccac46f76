"""A contest as one server process holds it: its log and boards, what is sent live, how it was set up."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from palestra.contest import Contest, Decide, Viewer
from palestra.contest.accounts import Buckets
from palestra.contest.boards import Boards
from palestra.contest.log import Event, State
from palestra.contest.storage import Uploads
from palestra.web.auth import Settings as Oidc
from palestra.web.board_cache import Pictured
from palestra.web.stream import Feed, Note, Runs

T = TypeVar("T")
REQUESTS_PER_S, BURST = 200.0, 1_000  # from one address, which may be that of a whole hall


@dataclass(frozen=True)
class Setup:
    """How the server is set up."""

    home: Path  # the folder of contest.toml
    spool: Path  # where uploads lie until they are complete
    address: str = ""  # that people reach it at; empty: whatever they asked for
    secure: bool = False  # whether it is reached by https alone
    oidc: Oidc | None = None
    requests_per_s: float = REQUESTS_PER_S
    burst: int = BURST


@dataclass
class Site:
    """What routes are given."""

    contest: Contest
    setup: Setup
    feed: Feed = field(default_factory=Feed)
    boards: Boards = field(init=False)
    buckets: Buckets = field(init=False)
    pictured: Pictured = field(init=False)
    uploads: Uploads = field(init=False)
    doing: dict[str, asyncio.Future[Any]] = field(
        default_factory=dict
    )  # what is to be done once: see actions/idempotency.py
    runs: Runs = field(init=False)

    def __post_init__(self) -> None:
        self.boards = Boards(self.contest)
        self.buckets = Buckets(self.setup.requests_per_s, self.setup.burst, self.contest.now)
        self.pictured = Pictured(self)
        self.uploads = Uploads(self.contest.engine, self.setup.spool, self.contest.files, self.contest.now)
        self.runs = Runs(self.contest.engine)

    @property
    def state(self) -> State:
        return self.contest.state

    @property
    def now(self) -> int:
        return self.contest.now()

    def tell(self, notes: Sequence[Note]) -> None:
        """Pass on what live runs said."""
        if notes:
            self.feed.touch({"screen:", *(f"run:{note.run}:" for note in notes)})

    async def act(self, viewer: Viewer, decide: Decide) -> list[Event]:
        """Decide and write down, in a thread: the disk is waited for."""
        return await asyncio.to_thread(self.contest.act, viewer.account or "system", decide)


async def in_thread(work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work)
