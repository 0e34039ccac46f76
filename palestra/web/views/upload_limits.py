"""How long a submission can be at most: the rules have a limit, and so has a file with answers to a phase's trials."""

import logging
from functools import lru_cache
from pathlib import Path

from palestra import registry
from palestra.contest.rules import Phase
from palestra.errors import PalestraError
from palestra.scoring import most_bytes as longest_submission

log = logging.getLogger("palestra.web")


def most_bytes(home: Path, phase: Phase) -> int | None:
    """The longest file that a check of this phase reads; null where its track takes no files, or its data is not on
    this machine. The first time takes as long as reading the trials: ask in a thread where others would wait."""
    folder = home / phase.data
    if not phase.data or not folder.is_dir():
        return None
    return _most_bytes(phase.track, tuple(sorted(phase.settings.items())), folder, folder.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _most_bytes(track_id: str, settings: tuple[tuple[str, str], ...], folder: Path, _: int) -> int | None:
    track = registry.track(track_id, dict(settings))
    if track.files is None:
        return None
    try:
        return longest_submission(track.files, track.trials(folder))
    except Exception as error:  # the organiser's data is not complete yet, or the track has a slip: a check says so too
        slip = registry.slip_of(error)
        if not slip and not isinstance(error, PalestraError | OSError):
            raise
        log.warning("no limit for %s, as its trials cannot be read: %s", folder.name, slip or error)
        return None
