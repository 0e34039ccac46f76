"""What names a source: `camera:0`, `left=camera:1`, `played:FOLDER@100`, `lsl:NAME`, `push:8443`, `depth:FOLDER@30`."""

import importlib
import re
from collections.abc import Callable, Sequence
from typing import cast

from palestra.errors import PalestraError, UnknownName
from palestra.studio.capture.source import Source
from palestra.text import say

NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]{0,39})=(.*)", re.DOTALL)
KINDS = {
    "camera": "palestra.studio.capture.sources.camera",
    "depth": "palestra.studio.capture.sources.depth",
    "played": "palestra.studio.capture.sources.played",
    "lsl": "palestra.studio.capture.sources.lsl",
    "push": "palestra.studio.capture.sources.push",
}


def sources_of(specs: Sequence[str]) -> dict[str, Source]:
    """Sources by their names: those that were given, else what kind it is, with a number from the second on."""
    found: dict[str, Source] = {}
    for spec in specs:
        named = NAME.fullmatch(spec)
        name, what = named.groups() if named else ("", spec)
        kind, colon, rest = what.partition(":")
        if kind not in KINDS:
            raise UnknownName(say("source"), kind, KINDS)
        if not colon or not rest:
            raise PalestraError(
                say("{spec!r} names no source; expected for example {kind}:{example}.", spec=spec, kind=kind,
                    example={"camera": "0", "push": "8443", "lsl": "NAME"}.get(kind, "FOLDER@100"))
            )  # fmt: skip
        name = name or _free_name(kind, found)
        if name in found:
            raise PalestraError(say("Two sources are called {name!r}. Give each its own name.", name=name))
        found[name] = _make(kind, rest)
    return found


def _free_name(kind: str, taken: dict[str, Source]) -> str:
    number = 1
    while (name := kind if number == 1 else f"{kind}-{number}") in taken:
        number += 1
    return name


def _make(kind: str, rest: str) -> Source:
    make = cast(Callable[[str], Source], importlib.import_module(KINDS[kind]).source_of)
    return make(rest)
