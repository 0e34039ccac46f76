"""The tracks of `palestra new-track` with a slip in them, for tests of what becomes of it elsewhere."""

import itertools
import shutil
from pathlib import Path

from palestra.authoring.new_track import STARTER

NUMBERS = itertools.count()  # modules are imported once under a name


def slipped(folder: Path, old: str, new: str, live: bool = False) -> tuple[str, str]:
    """Writes the track, with data/ and a submission beside it; its id, and file:line of the slip."""
    track_id = f"slipped-{next(NUMBERS)}-v1"
    starter = STARTER / ("live" if live else "file")
    text = (starter / "tracks" / "example_v1.py").read_text().replace("example-v1", track_id)
    assert old in text
    text = text.replace(old, new)
    file = folder / f"{track_id.replace('-', '_')}.py"
    file.write_text(text)
    shutil.copytree(starter / "data" / "example", folder / "data")
    shutil.copytree(starter / "bundle", folder / "bundle") if live else shutil.copy(starter / "answers.csv", folder)
    line = text[: text.index(new)].count("\n") + 1
    return track_id, f"{file}:{line}"
