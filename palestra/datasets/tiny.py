"""The tiny data set of a track, made once in the user's cache, for whoever names no data."""

import os
import shutil
import time
from pathlib import Path

from palestra.datasets import make
from palestra.errors import PalestraError
from palestra.records import Order, Track
from palestra.scoring import code_digest
from palestra.text import say

CACHE = "PALESTRA_CACHE"
KEPT_S = 86_400.0


def cache_folder() -> Path:
    base = os.environ.get(CACHE) or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "palestra"
    return Path(base)


def _folder(track: Track) -> Path:
    return cache_folder() / "tiny" / f"{track.id}-{code_digest(track).removeprefix('sha256:')}"


def is_there(track: Track) -> bool:
    return _folder(track).is_dir()


def tiny_data(track: Track) -> Path:
    """Where the tiny data set is; it is made anew when the code that makes it has changed."""
    if track.dataset.make is None:
        raise PalestraError(say("{id} makes no synthetic data: name a data set with --data DIR.", id=track.id))
    folder = _folder(track)
    if not folder.is_dir():
        # Made aside and moved into place: two commands at once never see half a data set.
        aside = folder.with_name(f"{folder.name}.{os.getpid()}")
        order = Order()
        try:
            make.run(track, order, make.plan(track, order), aside, lambda weight: None)
        except BaseException:  # nobody goes on from here: another process has another name for it
            shutil.rmtree(aside, ignore_errors=True)
            raise
        _remove_old(folder)
        try:
            aside.rename(folder)
        except OSError:
            shutil.rmtree(aside)
            if not folder.is_dir():
                raise
    return folder


def _remove_old(folder: Path) -> None:
    """Remove what other code made of the same track, unless somebody may be using it."""
    track_id = folder.name.rpartition("-")[0]
    for other in folder.parent.glob(f"{track_id}-*"):
        if time.time() - other.stat().st_mtime > KEPT_S:
            shutil.rmtree(other, ignore_errors=True)
