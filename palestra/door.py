"""Doors: a package's `__init__.py` names what others may import from it, and each name is imported on first use.

    from palestra.door import TYPE_CHECKING, lazy_exports

    if TYPE_CHECKING:
        from palestra.scoring.score import load, score
    else:
        __getattr__ = lazy_exports(__name__)

Whoever reads sees plain imports, type checkers too; at run time nothing is loaded that nobody asked for.
"""

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING as TYPE_CHECKING
from typing import Any


def lazy_exports(package: str) -> Callable[[str], Any]:
    """A `__getattr__` for a package, which finds what stands under its TYPE_CHECKING."""
    known: dict[str, tuple[str, str]] = {}

    def find(name: str) -> Any:
        module = sys.modules[package]
        if not known:
            known.update(exports(Path(module.__file__ or "").read_text(encoding="utf-8")))
        if name not in known:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        place, original = known[name]
        if place == package:  # one of its own modules
            return importlib.import_module(f"{package}.{original}")
        value = getattr(importlib.import_module(place), original)
        setattr(module, name, value)
        return value

    return find


def exports(source: str) -> dict[str, tuple[str, str]]:
    """What a door names, with the module that it comes from and what it is called there."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return {
                alias.asname or alias.name: (line.module or "", alias.name)
                for line in node.body
                if isinstance(line, ast.ImportFrom)
                for alias in line.names
            }
    return {}
