"""A starter kit: a page to read, tiny data, a template or a bundle, a scorer and a first solution to change."""

import re
import shutil
from pathlib import Path

from palestra import registry
from palestra.datasets.tiny import tiny_data
from palestra.entrants import PROGRAM
from palestra.errors import PalestraError
from palestra.records import Track


def write_kit(track: Track, folder: Path) -> None:
    """Write the kit into a new folder. A track without a starter folder gets data, what to begin with and a page."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PalestraError(f"{folder} exists and is not an empty folder. Nothing was written; choose another.")
    data = tiny_data(track)
    shutil.copytree(data, folder / "data", dirs_exist_ok=True)
    if track.writes and track.blank:
        track.writes(track.blank(track.trials(data)), folder / f"template{track.suffix}")
    scripts = starter_of(track.id)
    if scripts.is_dir():
        shutil.copytree(scripts, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        return
    if track.live:
        _write_plain_bundle(track, data, folder / "bundle")
    (folder / "README.md").write_text(_plain_page(track))


def starter_of(track_id: str) -> Path:
    """The folder beside a track with what its kit brings: `starter` for `v1.py`, `live_starter` for `live_v1.py`."""
    file = registry.file_of(track_id)
    return file.with_name(re.sub(r"v\d+$", "starter", file.stem))


def _write_plain_bundle(track: Track, data: Path, bundle: Path) -> None:
    """A program that answers everything as the template would."""
    blank = track.blank(track.trials(data)).drop("trial").row(0) if track.blank else (0,)
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


def _plain_page(track: Track) -> str:
    template = f"template{track.suffix}"
    began = f"`{template}` a submission to fill in" if track.files else f"`bundle/{PROGRAM}` a program to change"
    tried = (
        f"palestra check {track.id} {template} --data data\npalestra score {track.id} {template} --data data"
        if track.files
        else f"palestra play {track.id} bundle --data data --pace fast"
    )
    return (
        f"# {track.title} (`{track.id}`)\n\n"
        f"`data/` is a tiny practice set, {began}.\n\n"
        f"```\n{tried}\n```\n\n"
        f"What ranks: `{track.ranks.name}` ({track.ranks.better} is better).\n"
    )
