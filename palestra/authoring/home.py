"""Where the code of a track lies: which files are its author's, and on which line something of it stands."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import palestra

PALESTRA = Path(palestra.__path__[0]).resolve()
REMOTE = re.compile(r'^ *File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<function>\S+)', re.M)
MAKERS = ("Track", "replace")  # calls whose keywords are fields of a track


@dataclass(frozen=True)
class Place:
    """A line of a file, written as editors and terminals find it."""

    file: Path
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Home:
    """The file that ends in TRACK = Track(...), and what is its author's beside it: a folder, or the file alone."""

    file: Path
    root: Path

    @classmethod
    def of_folder(cls, file: Path) -> Home:
        """Of a file in a folder with tracks; what it imports from there is its author's, too."""
        return cls(file.resolve(), file.resolve().parent)

    @classmethod
    def of_module(cls, file: Path) -> Home:
        """Of a module that is installed: with all of its package, or alone."""
        root = file.resolve()
        while (root.parent / "__init__.py").is_file():
            root = root.parent
        return cls(file.resolve(), root)

    def owns(self, file: str | Path) -> bool:
        path = Path(file).resolve()
        if not path.is_relative_to(self.root) or "site-packages" in path.relative_to(self.root).parts:
            return False
        return self.root.is_relative_to(PALESTRA) or not path.is_relative_to(PALESTRA)

    def of_error(self, error: BaseException) -> Place | None:
        """The deepest line of the author's that an error came from, in this process or in one that worked for it."""
        if isinstance(error, SyntaxError) and error.filename and self.owns(error.filename):
            return Place(Path(error.filename), error.lineno or 1)
        frames = [*_frames(error)]
        return next((place for place in reversed(frames) if self.owns(place.file)), None)

    def of_function(self, function: Any) -> Place | None:
        """Where a function of the author's begins; None where it comes from elsewhere."""
        while isinstance(function, functools.partial):
            function = function.func
        function = inspect.unwrap(function) if callable(function) else function
        written = function if hasattr(function, "__code__") else vars(type(function)).get("__call__")
        code = getattr(written, "__code__", None)
        if code is None or not self.owns(code.co_filename):
            return None
        return Place(Path(code.co_filename), code.co_firstlineno, code.co_name)

    def of_field(self, field: str, name: str = "") -> Place:
        """The line that gives a field of the track, as `metrics=`; within it, the line that says this name."""
        tree = _parsed(self.file)
        places = [word.value for word in _keywords(tree) if word.arg == field.partition(".")[0]]
        if not places:
            return Place(self.file, _assigned(tree, "TRACK") or 1)
        inside = [node.lineno for node in ast.walk(places[-1]) if isinstance(node, ast.Constant) and node.value == name]
        return Place(self.file, inside[0] if name and inside else places[-1].lineno)

    def misnamed(self) -> tuple[str, Place] | None:
        """What a Track(...) is called that should be called TRACK."""
        for node in _parsed(self.file).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _called(node.value) == "Track":
                return ast.unparse(node.targets[0]), Place(self.file, node.lineno)
        return None


def _frames(error: BaseException) -> Iterator[Place]:
    for frame, line in traceback.walk_tb(error.__traceback__):
        yield Place(Path(frame.f_code.co_filename), line, frame.f_code.co_name)
    # What another process raised comes with its traceback as text, as its cause.
    text = getattr(error.__cause__, "tb", None)
    for found in REMOTE.finditer(text) if isinstance(text, str) else ():
        yield Place(Path(found["file"]), int(found["line"]), found["function"])


def _parsed(file: Path) -> ast.Module:
    try:
        return ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, OSError):  # it was loaded from somewhere else, or changed since
        return ast.Module([], [])


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _keywords(tree: ast.Module) -> Iterator[ast.keyword]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in MAKERS:
            yield from node.keywords


def _assigned(tree: ast.Module, name: str) -> int:
    """The last line that gives something this name; 0 where none does."""
    lines = [0]
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            lines += [node.lineno for target in targets if isinstance(target, ast.Name) and target.id == name]
        elif isinstance(node, ast.ImportFrom | ast.Import):
            lines += [node.lineno for alias in node.names if name in (alias.asname, alias.name)]
    return lines[-1]


Function = Callable[..., Any]
