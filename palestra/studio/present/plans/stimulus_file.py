"""Reads a stimulus file: what is wrong with it is told with its line and key, before anything is shown or written."""

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from palestra.errors import Faults, PalestraError, clip, known_names, refuse
from palestra.studio.present.plans.films import Film
from palestra.studio.present.plans.geometry import Screen
from palestra.studio.present.plans.stimuli import (
    AnyBlock,
    Curve,
    Emotion,
    Points,
    Pursuit,
    Saccades,
    Slider,
    Stimuli,
    Targets,
)
from palestra.studio.present.plans.stimulus_checks import problems
from palestra.studio.present.plans.toml_places import Key, key_of, line_of
from palestra.text import Text, say, sentences

LARGEST = 200_000  # bytes
KINDS: dict[str, type[AnyBlock]] = {
    "targets": Targets,
    "curve": Curve,
    "pursuit": Pursuit,
    "saccades": Saccades,
    "points": Points,
    "emotion": Emotion,
}


def read_stimuli(file: Path) -> Stimuli:
    """The stimuli that a file declares, or a refusal in words."""
    text = text_of(file)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        refuse(
            file.name,
            clip(str(error), 200),
            say("a TOML file, such as the examples that `palestra studio present` lists"),
        )
    try:
        stimuli = msgspec.convert(values, Stimuli)
    except msgspec.ValidationError as error:
        where, found, expected = _explained(str(error), values)
        refuse(_place(file, text, where), found, expected)
    faults = Faults()
    for where, found, expected in problems(stimuli):
        faults.add(_place(file, text, where), found, expected)
    faults.finish()
    return stimuli


def text_of(file: Path) -> str:
    try:
        with file.open("rb") as source:
            data = source.read(LARGEST + 1)
    except OSError as error:
        raise PalestraError(
            say("{file}: cannot be read ({why}). Expected a stimulus file.", file=file, why=error.strerror)
        ) from None
    if len(data) > LARGEST:
        most = f"{LARGEST:,}"
        refuse(
            file.name,
            say("more than {most} bytes", most=most),
            say("a stimulus file of {most} bytes at most", most=most),
        )
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        refuse(file.name, say("bytes that are not UTF-8"), say("a text file, saved as UTF-8"))


_AT = re.compile(r" - at `\$\.?(.*)`$")
_BOUNDS = {">=": "≥", "<=": "≤", ">": ">", "<": "<"}


def _explained(message: str, values: dict[str, Any]) -> tuple[Key, Text, Text]:
    """What msgspec found wrong: where, what is there, and what is expected."""
    at = _AT.search(message)
    where = key_of(at[1]) if at else ()
    said = message[: at.start()] if at else message
    if unknown := re.match(r"Object contains unknown field `(.*)`", said):
        return (
            (*where, unknown[1]),
            say("an unknown key {key!r}", key=unknown[1]),
            sentences(say("a key that is known here."), known_names(unknown[1], _keys_at(where, values))),
        )
    if missing := re.match(r"Object missing required field `(.*)`", said):
        return where, say("no {key}", key=missing[1]), _needed(where, missing[1])
    if re.match(r"Invalid value", said) and where[-1:] == ("kind",):
        return where, clip(_value_at(where, values)), say("one of {names}", names=", ".join(KINDS))
    return where, clip(_value_at(where, values)), _expected(said)


def _needed(where: Key, key: str) -> Text:
    if key == "kind":
        return say("kind = one of {names}", names=", ".join(KINDS))
    if not where:
        return say("[screen] and at least one [[blocks]]")
    return say("{key} = …", key=key)


def _expected(said: str) -> Text:
    """`Expected `float` >= 0.02` as a person says it."""
    found = re.match(r"Expected `(\w+)(?: \| null)?`(?: of length)?(?: (>=|<=|>|<) ([\d.e+]+))?", said)
    if not found:
        return say("negative, neutral or positive") if said.startswith("Invalid enum") else said
    bound = f" {_BOUNDS[found[2]]} {float(found[3]):g}" if found[2] else ""
    if found[1] == "int":
        return say("a whole number{bound}", bound=bound)
    if found[1] == "float":
        return say("a number{bound}", bound=bound)
    if found[1] == "str":
        return say("a text in quotes{bound}", bound=say(" of a length{bound}", bound=bound) if bound else "")
    if found[1] == "array":
        return say("a list{bound}", bound=say(" of a length{bound}", bound=bound) if bound else "")
    return say("a table") if found[1] == "object" else said


def _value_at(where: Key, values: Any) -> Any:
    for part in where:
        values = values[part]
    return values


def _keys_at(where: Key, values: dict[str, Any]) -> tuple[str, ...]:
    """The keys that a table may have."""
    if where == ():
        return Stimuli.__struct_fields__
    if where == ("screen",):
        return Screen.__struct_fields__
    if where[-2:-1] == ("films",):
        return Film.__struct_fields__
    if where[-2:-1] == ("sliders",):
        return Slider.__struct_fields__
    return "kind", *KINDS[_value_at(where, values)["kind"]].__struct_fields__


def _place(file: Path, text: str, where: Key) -> Text:
    """File, line and key."""
    key = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in where).lstrip(".")
    line = line_of(text, where)
    if not key:
        return file.name
    if line is None:
        return say("{file}: {key}", file=file.name, key=key)
    return say("{file}: line {line:,}: {key}", file=file.name, line=line, key=key)
