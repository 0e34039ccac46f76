"""A starter kit: a page to read, tiny data, a template or a bundle, a scorer and a first solution to change."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from palestra import registry
from palestra.datasets.kit_code import FOLDER as CODE
from palestra.datasets.kit_code import SCORER, write_code
from palestra.datasets.tiny import tiny_data
from palestra.entrants import PROGRAM
from palestra.errors import PalestraError
from palestra.records import Track
from palestra.text import say


def write_kit(track: Track, folder: Path, data: Path | None = None) -> None:
    """Write the kit into a new folder, with `data`, or with tiny data where the track makes some. A track without a
    starter folder gets what to begin with and a page; one from outside brings its code along."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PalestraError(
            say("{folder} exists and is not an empty folder. Nothing was written; choose another.", folder=folder)
        )
    data = data or (tiny_data(track) if track.dataset.make else None)
    folder.mkdir(parents=True, exist_ok=True)
    if data:
        shutil.copytree(data, folder / "data", dirs_exist_ok=True)
        if track.writes and track.blank:
            track.writes(track.blank(track.trials(data)), folder / f"template{track.suffix}")
    scripts, outside = starter_of(track.id), registry.source_of(track.id).is_outside
    if scripts.is_dir():
        shutil.copytree(scripts, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    if outside:
        write_code(track, folder)
    if scripts.is_dir():
        return
    if track.live:
        _write_plain_bundle(track, data, folder / "bundle")
    (folder / "README.md").write_text(_plain_page(track, folder))


def starter_of(track_id: str) -> Path:
    """The folder beside a track with what its kit brings: `starter` for `v1.py`, `live_starter` for `live_v1.py`."""
    file = registry.file_of(track_id)
    return file.with_name(re.sub(r"v\d+$", "starter", file.stem))


def _write_plain_bundle(track: Track, data: Path | None, bundle: Path) -> None:
    """A program that answers everything as the template would."""
    blank = track.blank(track.trials(data)).drop("trial").row(0) if track.blank and data else (0,)
    file = bundle / PROGRAM
    file.parent.mkdir(parents=True)
    file.write_text(
        f"class MyAlgorithm:\n"
        f"    def get_data(self, *arrays):\n"
        f'        """What comes, each time that something comes."""\n'
        f"        self.arrays = arrays\n\n"
        f"    def algorithm(self):\n"
        f'        """The answer, each time that one is due."""\n'
        f"        return {blank[0] if len(blank) == 1 else list(blank)!r}\n"
    )


def _plain_page(track: Track, folder: Path) -> str:
    """What is in the kit, and commands that work in its folder."""
    rows = "".join(f"| `{name}` | {what} |\n" for name, what in _contents(track, folder))
    commands = "".join(f"{line}\n" for line in _commands(track, folder))
    return (
        f"# {track.title} (`{track.id}`)\n\n"
        f"| in this kit | what it is |\n|---|---|\n{rows}\n"
        f"Run these in the folder of the kit:\n\n"
        f"```\n{commands}```\n\n"
        f"What ranks: `{track.ranks.name}` ({track.ranks.better} is better).\n"
    )


def _contents(track: Track, folder: Path) -> Iterator[tuple[str, str]]:
    template = f"template{track.suffix}"
    known = {
        "data": "a small practice set, with the answers in `data/truth/`",
        template: "a submission to fill in",
        f"bundle/{PROGRAM}": "a program to change",
        CODE: "the track itself: how answers are read and scored",
        SCORER: f"computes your score with it: `python {SCORER} answers{track.suffix}`",
    }
    found = [(name, what) for name, what in known.items() if (folder / name).exists()]
    yield from ((f"{name}/" if (folder / name).is_dir() else name, what) for name, what in found)
    if not (folder / "data").exists():
        yield "data/", "is not here: put the practice data of the challenge into this folder"


def _commands(track: Track, folder: Path) -> Iterator[str]:
    """With the track of the kit, unless a package brings it, which is installed first."""
    source = registry.source_of(track.id)
    palestra = f"palestra --tracks-dir {CODE}" if source.folder else "palestra"
    if source.package:
        yield f"pip install {source.package}"
    if track.files:
        template = f"template{track.suffix}"
        yield f"{palestra} check {track.id} {template} --data data"
        yield f"{palestra} score {track.id} {template} --data data"
        if (folder / SCORER).exists():
            yield f"python {SCORER} {template}"
    if track.live:
        yield f"{palestra} play {track.id} bundle --data data --pace fast"
