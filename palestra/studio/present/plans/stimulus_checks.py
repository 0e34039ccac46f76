"""What is wrong with a stimulus file although each of its values alone is right."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from palestra.studio.present.plans import patterns
from palestra.studio.present.plans.geometry import Screen, radius_of
from palestra.studio.present.plans.patch import covers
from palestra.studio.present.plans.stimuli import AnyBlock, Emotion, Points, Pursuit, Stimuli
from palestra.studio.present.plans.toml_places import Key
from palestra.text import Text, say


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


def _fits(block: Pursuit, screen: Screen) -> bool:
    return radius_of(screen, block.radius_deg) <= min(screen.middle_mm)


def _is_covered(block: Points | Pursuit, stimuli: Stimuli) -> bool:
    if isinstance(block, Pursuit) and not _fits(block, stimuli.screen):
        return False  # which is told by itself
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
        if not _fits(block, screen):
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
