"""Whether this server can write: tried now and then, however often somebody asks."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from palestra.contest import Contest
from palestra.contest.log import for_writing
from palestra.contest.storage import settings, try_file, why_not, writing
from palestra.errors import PalestraError
from palestra.text import Words

EVERY_S = 5.0  # a try waits for the disk: who asks a thousand times a second must not have it done as often
TRIED = "written_at"  # the setting that a try writes


class NotWell(PalestraError):
    """What keeps the server from its work."""


class Writes:
    """The newest try, for whoever asks until the next."""

    def __init__(self) -> None:
        self._why = Words()
        self._tried_at: float | None = None
        self._lock = threading.Lock()

    def why_not(self, contest: Contest, folders: Sequence[Path]) -> Words:
        """Why nothing can be written; nothing where it can."""
        with self._lock:
            if self._tried_at is None or time.monotonic() - self._tried_at >= EVERY_S:
                self._why = _try(contest, folders)
                self._tried_at = time.monotonic()
            return self._why


def _try(contest: Contest, folders: Sequence[Path]) -> Words:
    """What a submission needs: a clock that may be written by, the database, the places of files."""
    try:
        now = str(for_writing(contest.now))
        with writing(contest.engine) as connection:
            if not connection.execute(settings.update().where(settings.c.name == TRIED).values(value=now)).rowcount:
                connection.execute(settings.insert().values(name=TRIED, value=now))
        for folder in folders:
            try_file(folder)
    except (DBAPIError, OSError, PalestraError) as error:
        return why_not(error)
    return Words()
