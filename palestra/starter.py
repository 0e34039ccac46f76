"""A starter kit: a page to read, tiny data, a template, a stand-alone scorer and a first solution to change."""

import shutil
from importlib.resources import as_file, files
from pathlib import Path

from palestra.errors import PalestraError
from palestra.records import Track
from palestra.tinydata import tiny_data


def write_kit(track: Track, folder: Path) -> None:
    """Write the kit into a new folder. Tracks outside the package get data and a template, and no scripts."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PalestraError(f"{folder} exists and is not an empty folder. Nothing was written; choose another.")
    data = tiny_data(track)
    shutil.copytree(data, folder / "data", dirs_exist_ok=True)
    if track.write and track.blank:
        track.write(track.blank(track.trials(data)), folder / f"template{track.suffix}")
    scripts = files("palestra") / "starters" / track.id
    if scripts.is_dir():
        with as_file(scripts) as source:
            shutil.copytree(source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        (folder / "README.md").write_text(_plain_page(track))


def _plain_page(track: Track) -> str:
    return (
        f"# {track.title} (`{track.id}`)\n\n"
        f"`data/` is a tiny practice set, `template{track.suffix}` a submission to fill in.\n\n"
        f"```\npalestra check {track.id} template{track.suffix} --data data\n"
        f"palestra score {track.id} template{track.suffix} --data data\n```\n\n"
        f"What ranks: `{track.ranks.name}` ({track.ranks.better} is better).\n"
    )
