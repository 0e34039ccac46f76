"""A challenge is deletable, and so is the studio: without its folder, all that is not of it still works."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from palestra import registry
from tests import ROOT

PACKAGE = ROOT / "palestra"
FOLDERS = sorted(path.parent.name for path in (PACKAGE / "tracks").glob("*/__init__.py"))
# The cheapest first: what is left of each kind is tried.
FILES = ("eye-segmentation-v1", "near-eye-gaze-v1")
LIVE = {"tabletop-manip-v1": "do-nothing", "emotion-eeg-v1": "entropy"}
PATIENCE_S = 300


@pytest.mark.parametrize("folder", [*(f"tracks/{name}" for name in FOLDERS), "studio"])
def test_without_a_folder_all_else_imports_lists_scores_plays_and_serves(
    folder: str, tmp_path: Path, tiny: Callable[[str], Path]
) -> None:
    left = [name for name in registry.tracks() if registry.file_of(name).parent != PACKAGE / folder]
    file = next(name for name in FILES if name in left)
    live = next(name for name in LIVE if name in left)
    copy_without(folder, tmp_path / "palestra")
    asked = {
        "copy": str(tmp_path),
        "tracks": left,
        "file": [file, str(tiny(file))],
        "live": [live, LIVE[live], str(tiny(live))],
    }
    ran = subprocess.run(
        [sys.executable, "-P", ROOT / "tests" / "deletion_smoke.py", json.dumps(asked)],
        env={**os.environ, "PYTHONPATH": str(tmp_path), registry.OUTSIDE: ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert ran.returncode == 0, ran.stderr


def copy_without(folder: str, place: Path) -> None:
    """The package but for a folder. Compiled modules come along: to compile all would take longest."""

    def gone(inside: str, names: list[str]) -> list[str]:
        return [name for name in names if Path(inside) / name == PACKAGE / folder]

    shutil.copytree(PACKAGE, place, ignore=gone, copy_function=link_or_copy)
    assert not (place / folder).exists()


def link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


# What makes it so


@lru_cache(None)
def trees(folder: str = "") -> dict[str, ast.Module]:
    """The modules of a challenge, or those that belong to none."""
    files = sorted((PACKAGE / "tracks" / folder if folder else PACKAGE).rglob("*.py"))
    mine = [file for file in files if folder or PACKAGE / "tracks" not in file.parents]
    return {str(file.relative_to(PACKAGE)): ast.parse(file.read_text(encoding="utf-8")) for file in mine}


def imported(tree: ast.Module) -> Iterator[str]:
    """All that a module imports, inside functions and for type checkers as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_nothing_outside_a_challenge_imports_from_one() -> None:
    assert [(name, what) for name, tree in trees().items() for what in imported(tree) if is_in_tracks(what)] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_challenge_imports_from_another(folder: str) -> None:
    """What several share lies in eyes/ or formats/."""
    found = {what for tree in trees(folder).values() for what in imported(tree) if is_in_tracks(what)}
    assert {what for what in found if not f"{what}.".startswith(f"palestra.tracks.{folder}.")} == set()


def is_in_tracks(name: str) -> bool:
    return f"{name}.".startswith("palestra.tracks.")


def texts(tree: ast.Module) -> Iterator[str]:
    """String constants that are not docstrings."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def test_nothing_outside_a_challenge_knows_one_by_name() -> None:
    """Neither its id or the beginning of one, nor a module of it as text. Examples begin with a command's name."""
    ids = "|".join(name.replace("_", "[-_]") for name in FOLDERS)
    known = re.compile(rf"({ids})|palestra\.tracks\.\w")
    assert [(name, text) for name, tree in trees().items() for text in texts(tree) if known.match(text)] == []
