"""The class that a benchmark trains: found by its name, loaded, and the files that it is made of."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from palestra.errors import PalestraError
from palestra.text import say


def load(learner: str) -> Any:
    """The class that is named, from the package or from a file of the user's."""
    place, _, name = learner.rpartition(":")
    if not place:
        raise PalestraError(
            say("{learner}: expected the name of a solution, or FILE.py:Class for one of your own.", learner=learner)
        )
    found = getattr(_module(place), name, None)
    if found is None or not callable(getattr(found, "fit", None)) or not callable(getattr(found, "predict", None)):
        raise PalestraError(
            say("{learner}: expected a class {name} with fit(training) and predict(test).", learner=learner, name=name)
        )
    return found


def absolute(learner: str) -> str:
    """The same for a process that may run in another folder."""
    place, _, name = learner.rpartition(":")
    return f"{Path(place).resolve()}:{name}" if place.endswith(".py") else learner


def gpus_of(learner: str) -> int:
    """Cards that a fold of it has for itself, where there are any: what its class says as `num_gpus`."""
    return int(getattr(load(learner), "num_gpus", 0))


def digest(learner: str) -> str:
    """Of a file of the user's and what it imports from beside it; what is in the package is in the code's digest."""
    place = learner.rpartition(":")[0]
    if not place.endswith(".py"):
        return learner
    sha, folder = hashlib.sha256(learner.rpartition(":")[2].encode()), Path(place).parent
    for file in sorted(_files(Path(place), set())):
        sha.update(f"\n{file.relative_to(folder).as_posix()}\n".encode() + file.read_bytes())
    return sha.hexdigest()


def _module(place: str) -> Any:
    if not place.endswith(".py"):
        return importlib.import_module(place)
    file = Path(place)
    if not file.is_file():
        raise PalestraError(say("{place}: there is no such file.", place=place))
    name = f"palestra_outside_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise PalestraError(say("{place}: this is no Python file.", place=place))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(file.parent.resolve()) not in sys.path:
        sys.path.append(str(file.parent.resolve()))  # what lies beside it can be imported by it
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise PalestraError(
            say(
                "{place}: fails when it is loaded: {name}: {error}", place=place, name=type(error).__name__, error=error
            )
        ) from error
    return module


def _files(file: Path, seen: set[Path]) -> set[Path]:
    """A file with all files beside it that it imports, at its top or later."""
    if file in seen:
        return seen
    seen.add(file)
    for name in _imported(file):
        beside = file.parent / name
        for other in [beside.with_suffix(".py"), *sorted(beside.rglob("*.py"))]:
            if other.is_file():
                _files(other, seen)
    return seen


def _imported(file: Path) -> Iterator[str]:
    """The first parts of the names of imported modules."""
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError as error:
        raise PalestraError(
            say("{file}, line {lineno}: this is no Python: {msg}.", file=file, lineno=error.lineno, msg=error.msg)
        ) from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
