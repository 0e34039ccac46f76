"""The organiser's film files: found by their numbers and checked before anybody sits down."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from palestra.errors import Faults, PalestraError, brief
from palestra.studio.present.plans.films import Film
from palestra.studio.present.plans.stimuli import Emotion
from palestra.text import say

ENDINGS = (".mp4", ".m4v", ".webm")  # what browsers play


class FilmFile(msgspec.Struct, frozen=True):
    """A film's file, and its subtitles where it has some."""

    film: Film
    video: Path
    subtitles: Path | None


def find_films(block: Emotion, home: Path) -> dict[int, FilmFile]:
    """The files of all films. Whatever is missing or has another length is told at once."""
    folder = home / block.videos
    if not folder.is_dir():
        raise PalestraError(
            say(
                "{folder} is not a folder. The emotion paradigm needs its films there: 01.mp4, 02.mp4, …", folder=folder
            )
        )
    faults = Faults()
    found = dict(_looked_at(block, folder, faults))
    faults.finish()
    return found


def _looked_at(block: Emotion, folder: Path, faults: Faults) -> Iterator[tuple[int, FilmFile]]:
    files = sorted(folder.iterdir())
    for film in block.films:
        videos = [file for file in files if number_of(file) == film.number and file.suffix.lower() in ENDINGS]
        subtitles = [file for file in files if number_of(file) == film.number and file.suffix.lower() == ".vtt"]
        where = say("{folder}: film {number}", folder=folder, number=film.number)
        if len(videos) != 1 or len(subtitles) > 1:
            names = ", ".join(file.name for file in [*videos, *subtitles])
            faults.add(
                where,
                names or say("no file"),
                say("one of {number:02}.mp4, .m4v or .webm, and at most one .vtt", number=film.number),
            )
            continue
        length_s = _length_of(videos[0], faults)
        if length_s is not None and abs(length_s - film.length_s) > block.tolerance_s:
            found = say("{length_s:.1f} s in {name}", length_s=length_s, name=videos[0].name)
            faults.add(
                where,
                found,
                say("{length_s:g} s ± {tolerance_s:g} s", length_s=film.length_s, tolerance_s=block.tolerance_s),
            )
        if subtitles and not subtitles[0].read_bytes()[:16].lstrip(b"\xef\xbb\xbf").startswith(b"WEBVTT"):
            faults.add(subtitles[0].name, say("no WEBVTT at its beginning"), say("subtitles in WebVTT"))
        yield film.number, FilmFile(film, videos[0], subtitles[0] if subtitles else None)


def number_of(file: Path) -> int | None:
    """The number that a file's name begins with: 3 for `03.mp4`, `3 anger.mp4` and `03.vtt`."""
    found = re.match(r"\d{1,6}", file.name)
    return int(found[0]) if found else None


def _length_of(file: Path, faults: Faults) -> float | None:
    import av

    try:
        with av.open(str(file)) as source:
            if not source.streams.video:
                faults.add(file.name, say("no picture"), say("a film"))
            elif source.duration is None:
                faults.add(file.name, say("no length"), say("a film whose header says how long it is"))
            else:
                return float(source.duration / av.time_base)
    except (av.error.FFmpegError, OSError) as error:
        faults.add(file.name, brief(error), say("a film that can be played"))
    return None
