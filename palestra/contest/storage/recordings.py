"""Recordings of live runs in the file store: as one archive each, from which they can be replayed.

They hold the truth, and of runs on the stage what every team said: they are for organisers."""

import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from palestra.contest.storage.file_store import DamagedFile, Files
from palestra.live import Recording
from palestra.text import say

TEAMS = "teams.json"  # in the archive: under which name each submission played


def keep(files: Files, folder: Path, teams: Mapping[str, str]) -> str:
    """Put a recording into the store; its digest. `teams` are the names by submission."""
    with files.aside() as aside:
        with zipfile.ZipFile(aside / "recording.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(path for path in folder.rglob("*") if path.is_file()):
                archive.write(file, file.relative_to(folder).as_posix())
            archive.writestr(TEAMS, msgspec.json.encode(teams))
        return files.put_file(aside / "recording.zip")


@contextmanager
def recorded(files: Files, digest: str, submission: str) -> Iterator[tuple[Recording, str]]:
    """A recording from the store, and the name that this submission played under."""
    with files.local(digest) as file, tempfile.TemporaryDirectory(prefix="palestra-run-") as folder:
        try:
            with zipfile.ZipFile(file) as archive:
                archive.extractall(folder)  # we wrote it ourselves
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise DamagedFile(
                say(
                    "The recording {digest} of the store is damaged ({error}). Restore a backup.",
                    digest=digest,
                    error=error,
                )
            ) from None
        teams = msgspec.json.decode(Path(folder, TEAMS).read_bytes(), type=dict[str, str])
        yield Recording(Path(folder)), teams[submission]
