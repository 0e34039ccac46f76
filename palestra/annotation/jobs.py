"""What there is to annotate and where it goes. A folder is only written to where it is new, empty, or one of ours."""

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from palestra import model_cards
from palestra.annotation import videos
from palestra.annotation.sources import Source, output_names, sources_in
from palestra.annotation.table import TABLE, is_our_table
from palestra.errors import PalestraError
from palestra.eyes.reader.network import NAME, require_reader
from palestra.text import say

SHEET, MASKS = "contact.png", "masks"
RESERVED = frozenset({Path(SHEET).stem, MASKS})
OURS = b"Software\0palestra annotate"  # a note in every PNG that this writes


@dataclass(frozen=True)
class Job:
    """A picture, or one frame of a video, and where what is read of it goes."""

    source: Path
    name: str  # as the table has it
    group: str  # what was taken by one device held one way
    overlay: Path
    mask: Path
    frame: int | None = None
    weights: Path | None = None
    unreadable: str = ""  # why a whole video is

    @property
    def is_done(self) -> bool:
        """Whether both are there, and newer than the picture and the network that read it."""
        network = self.weights or model_cards.path(NAME)
        changed = max(file.stat().st_mtime_ns for file in (self.source, network))
        return all(file.is_file() and file.stat().st_mtime_ns > changed for file in (self.overlay, self.mask))


def out_for(folder: Path) -> Path:
    """Where annotations go if nobody says: beside the folder."""
    home = folder.resolve()
    return home.with_name(f"{home.name}-annotated")


def jobs_of(folder: Path, out: Path, every: int = 1, weights: Path | None = None) -> list[Job]:
    """Everything that there is to do, or why nothing can be done."""
    sources = sources_in(folder)
    _require_out(folder, out)
    # Better to hear now that weights are missing or changed.
    if weights is None:
        model_cards.weights(NAME)
    else:
        require_reader(weights)
    jobs = _all_jobs(sources, out, every, weights)
    for file in [out / SHEET, *(file for job in jobs for file in (job.overlay, job.mask))]:
        if file.exists() and not is_ours(file):
            raise PalestraError(
                say("{file} is there and was not written by `palestra annotate`. Name another --out.", file=file)
            )
    return jobs


def pictures_of(folder: Path, every: int = 1) -> list[Job]:
    """The same, for those that read pictures and write no annotations."""
    return _all_jobs(sources_in(folder), out_for(folder), every, None)


def _all_jobs(sources: Sequence[Source], out: Path, every: int, weights: Path | None) -> list[Job]:
    names = output_names(sources, RESERVED)
    return [job for source in sources for job in _jobs(source, names[source.name], out, every, weights)]


def _jobs(source: Source, name: str, out: Path, every: int, weights: Path | None) -> Iterator[Job]:
    if not source.is_video:
        files = out / f"{name}.png", out / MASKS / f"{name}.png"
        yield Job(source.file, source.name, source.group, *files, weights=weights)
        return
    try:
        count = videos.frame_count(source.file)
        unreadable = "" if count else videos.DAMAGED
    except videos.Unreadable as error:
        count, unreadable = 0, str(error)
    if unreadable:
        files = out / f"{name}.png", out / MASKS / f"{name}.png"
        yield Job(source.file, source.name, source.group, *files, weights=weights, unreadable=unreadable)
    for frame in range(0, count, every):
        place = f"{name}/{frame:06}"
        files = out / f"{place}.png", out / MASKS / f"{place}.png"
        yield Job(source.file, f"{source.name}/{frame:06}", source.group, *files, frame, weights)


def _require_out(folder: Path, out: Path) -> None:
    """Refuse to write among the pictures, or into what others wrote."""
    if out.resolve().is_relative_to(folder.resolve()):
        raise PalestraError(
            say(
                "{out} lies in {folder}, among the pictures themselves. Name an --out elsewhere.",
                out=out,
                folder=folder,
            )
        )
    if out.exists() and not out.is_dir():
        raise PalestraError(say("{out} is a file. Name a folder, or a new name for one, as --out.", out=out))
    if out.is_dir() and any(out.iterdir()) and not is_our_table(out / TABLE):
        raise PalestraError(say("{out} holds something else already. Name a new or empty folder as --out.", out=out))


def by_group(jobs: Sequence[Job]) -> dict[str, list[Job]]:
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.group, []).append(job)
    return groups


def signed(data: bytes) -> bytes:
    """A PNG that says who wrote it, right after its header."""
    body = b"tEXt" + OURS
    return data[:33] + struct.pack(">I", len(OURS)) + body + struct.pack(">I", zlib.crc32(body)) + data[33:]


def is_ours(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return stream.read(41 + len(OURS))[41:] == OURS
