"""How long a submission can be at most: the rules have a limit, and so has a file with answers to a phase's trials."""

import logging
from functools import lru_cache
from pathlib import Path

from palestra import registry
from palestra.contest.rules import Phase
from palestra.errors import PalestraError

log = logging.getLogger("palestra.web")


def most_bytes(home: Path, phase: Phase) -> int | None:
    """The longest file that a check of this phase reads; null where its track has no such limit, or its data is not on
    this machine. The first time takes as long as reading the trials: ask in a thread where others would wait."""
    folder = home / phase.data
    if not phase.data or not folder.is_dir():
        return None
    return _most_bytes(phase.track, tuple(sorted(phase.settings.items())), folder, folder.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _most_bytes(track_id: str, settings: tuple[tuple[str, str], ...], folder: Path, _: int) -> int | None:
    track = registry.track(track_id, dict(settings))
    if track.files is None or track.files.most_bytes is None:
        return None
    try:
        return track.files.most_bytes(track.trials(folder))
    except (PalestraError, OSError) as error:  # the organiser's data is not complete yet: a check would say so too
        log.warning("no limit for %s, as its trials cannot be read: %s", folder.name, error)
        return None
