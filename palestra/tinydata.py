"""The tiny data set of a track, made once in the user's cache, for whoever names no data."""

import os
import shutil
from pathlib import Path

from palestra import making
from palestra.errors import PalestraError
from palestra.records import Order, Track
from palestra.scoring import code_digest

CACHE = "PALESTRA_CACHE"


def cache_folder() -> Path:
    base = os.environ.get(CACHE) or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "palestra"
    return Path(base)


def tiny_data(track: Track) -> Path:
    """Where the tiny data set is; it is made anew when the code that makes it has changed."""
    if track.make is None:
        raise PalestraError(f"{track.id} makes no synthetic data: name a data set with --data DIR.")
    folder = cache_folder() / "tiny" / f"{track.id}-{code_digest().removeprefix('sha256:')}"
    if not folder.is_dir():
        # Made aside and moved into place: two commands at once never see half a data set.
        aside = folder.with_name(f"{folder.name}.{os.getpid()}")
        order = Order()
        making.run(track, order, making.plan(track, order), aside, lambda weight: None)
        try:
            aside.rename(folder)
        except OSError:
            shutil.rmtree(aside)
            if not folder.is_dir():
                raise
    return folder
