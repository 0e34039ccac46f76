"""Reads a stimulus file: what is wrong with it is told with its line and key, before anything is shown or written."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from palestra.errors import Faults, PalestraError, clip, known_names, refuse
from palestra.studio.present import patterns
from palestra.studio.present.films import Film
from palestra.studio.present.geometry import Screen, radius_of
from palestra.studio.present.patch import covers
from palestra.studio.present.stimuli import (
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
Key = tuple[str | int, ...]  # ("blocks", 0, "every_s")


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


def problems(stimuli: Stimuli) -> Iterator[tuple[Key, Text, Text]]:
    """What each value alone does not show."""
    for index, block in enumerate(stimuli.blocks):
        for key, found, expected in _problems_of(block, stimuli.screen):
            yield ("blocks", index, key), found, expected
    yield from _problems_of_patch(stimuli)
    emotions = [index for index, block in enumerate(stimuli.blocks) if isinstance(block, Emotion)]
    if len(emotions) > 1:
        yield (
            ("blocks", emotions[1], "kind"),
            say("a second block of the kind emotion"),
            say("one in a run, as each has the triggers of a whole run"),
        )


def _problems_of_patch(stimuli: Stimuli) -> Iterator[tuple[Key, Text, Text]]:
    """What is drawn at random is drawn beside the patch; what stands fast must not lie under it."""
    screen, patch_mm = stimuli.screen, stimuli.patch_mm
    if patch_mm + stimuli.target_mm / 2 > min(screen.middle_mm):
        found = say("patch_mm = {patch:g} and target_mm = {target:g}", patch=patch_mm, target=stimuli.target_mm)
        yield ("patch_mm",), found, say("a patch and half a target that take less than half of the screen")
        return
    for index, block in enumerate(stimuli.blocks):
        if isinstance(block, Points | Pursuit) and _is_covered(block, stimuli):
            found = say("a target under the photodiode's patch of {patch:g} mm", patch=patch_mm)
            yield ("blocks", index, "kind"), found, say("a larger margin, a smaller ring or a smaller patch_mm")


def _is_covered(block: Points | Pursuit, stimuli: Stimuli) -> bool:
    pattern: Any = patterns.points if isinstance(block, Points) else patterns.pursuit
    steps = pattern(block, stimuli, np.random.default_rng(0))
    return any(path and covers(stimuli.screen, stimuli.patch_mm, stimuli.target_mm, path) for _, _, path, _ in steps)


def _problems_of(block: AnyBlock, screen: Screen) -> Iterator[tuple[str, Text, Text]]:
    if isinstance(block, Points):
        if block.shown_s > block.every_s:
            yield "shown_s", f"{block.shown_s:g}", say("at most every_s = {most:g}", most=block.every_s)
        if block.capture_s >= block.shown_s:
            yield "capture_s", f"{block.capture_s:g}", say("less than shown_s = {most:g}", most=block.shown_s)
    if isinstance(block, Pursuit):
        radius, most = radius_of(screen, block.radius_deg), min(screen.middle_mm)
        if radius > most:
            found = say("{angle:g}°, a ring of {radius:.0f} mm", angle=block.radius_deg, radius=radius)
            yield "radius_deg", found, say("a ring that fits on the screen: {most:.0f} mm at most", most=most)
    if isinstance(block, Emotion):
        yield from _problems_of_films(block)


def _problems_of_films(block: Emotion) -> Iterator[tuple[str, Text, Text]]:
    numbers = [film.number for film in block.films]
    if doubled := sorted({number for number in numbers if numbers.count(number) > 1}):
        yield "films", say("film {number} twice", number=doubled[0]), say("each number once")
    markers = (block.run_start, block.block_start, block.video_start, block.video_end, block.block_end, block.run_end)
    if len(set(markers)) < len(markers) or set(markers) & set(numbers):
        yield (
            "run_start",
            say("a trigger that means two things"),
            say("six triggers that differ from each other and from the films' numbers"),
        )
    for valence in ("negative", "neutral", "positive"):
        count = sum(film.valence == valence for film in block.films)
        if count % block.per_block:
            found = say("{count} {valence} films", count=count, valence=valence)
            yield "films", found, say("a multiple of per_block = {each}", each=block.per_block)
    if len(block.films) != block.blocks * block.per_block:
        found = say("{count} films", count=len(block.films))
        yield "films", found, say("blocks × per_block = {count}", count=block.blocks * block.per_block)
    if block.fixation_s <= block.marker_gap_s:
        yield "fixation_s", f"{block.fixation_s:g}", say("more than marker_gap_s = {least:g}", least=block.marker_gap_s)


_AT = re.compile(r" - at `\$\.?(.*)`$")
_BOUNDS = {">=": "≥", "<=": "≤", ">": ">", "<": "<"}


def _explained(message: str, values: dict[str, Any]) -> tuple[Key, Text, Text]:
    """What msgspec found wrong: where, what is there, and what is expected."""
    at = _AT.search(message)
    where = _key(at[1]) if at else ()
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


def _key(path: str) -> Key:
    """`blocks[2].every_s` as a key."""
    return tuple(int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", path))


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


def line_of(text: str, where: Key) -> int | None:
    """The line of a key as these files are usually written; of a table or a key that is not there, its header."""
    header: int | None = None
    lines = text.split("\n")
    start = 0
    names: list[str] = []
    for depth, part in enumerate(where):
        if isinstance(part, int):
            continue
        names.append(part)
        index = where[depth + 1] if depth + 1 < len(where) else None
        brackets = (
            rf"\[\[\s*{re.escape('.'.join(names))}\s*\]\]"
            if isinstance(index, int)
            else rf"\[\s*{re.escape('.'.join(names))}\s*\]"
        )
        heads = [i for i in range(start, len(lines)) if re.match(rf"\s*{brackets}", lines[i])]
        wanted = index if isinstance(index, int) else 0
        if len(heads) > wanted:
            start = header = heads[wanted]
    for i in range(start + (header is not None), len(lines)):
        if header is not None and lines[i].lstrip().startswith("["):
            break
        if where and re.match(rf"\s*[\"']?{re.escape(str(where[-1]))}[\"']?\s*=", lines[i]):
            return i + 1
    return None if header is None else header + 1
