"""What a stimulus file may say. Every number has the value of the published recordings unless the file changes it."""

from typing import Annotated, Any

import msgspec

from palestra.studio.present.plans.films import FILMS, Film
from palestra.studio.present.plans.geometry import Screen

Count = Annotated[int, msgspec.Meta(ge=1, le=10_000)]
Few = Annotated[int, msgspec.Meta(ge=1, le=100)]
Seconds = Annotated[float, msgspec.Meta(ge=0.02, le=3600)]
Share = Annotated[float, msgspec.Meta(ge=0.01, le=1)]
Margin = Annotated[float, msgspec.Meta(ge=0, le=0.45)]
Degrees = Annotated[float, msgspec.Meta(ge=0.1, le=60)]
Code = Annotated[int, msgspec.Meta(ge=1, le=255)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=60)]
Seed = Annotated[int, msgspec.Meta(ge=0, le=2**53)]  # the largest that the page's numbers hold exactly


class Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """What all kinds have."""

    title: Annotated[str, msgspec.Meta(max_length=200)] = ""  # what the page says before it; by default its kind


class Gaze(Block, frozen=True):
    """What the kinds with a target have."""

    trigger: Code | None = None  # sent at each onset


class Targets(Gaze, frozen=True, tag="targets"):
    """Discrete targets, uniform on the screen: two and a half minutes."""

    count: Count = 136
    every_s: Seconds = 1.1
    margin: Margin = 0.03  # share of the screen at each edge where no target comes


class Curve(Gaze, frozen=True, tag="curve"):
    """A target that moves along quadratic Bézier curves, each within a window of the screen."""

    count: Count = 75
    every_s: Seconds = 2.0
    window: Share = 0.4  # its width and height, as a share of the screen's
    margin: Margin = 0.03


class Pursuit(Gaze, frozen=True, tag="pursuit"):
    """Fixations on a ring, joined by smooth pursuit along it; the same for everybody."""

    fixations: Annotated[int, msgspec.Meta(ge=2, le=1000)] = 17
    fixation_s: Seconds = 1.0
    pursuit_s: Seconds = 1.0
    radius_deg: Degrees = 8.0


class Saccades(Gaze, frozen=True, tag="saccades"):
    """Fixations at random places, with a quick jump from each to the next."""

    fixations: Annotated[int, msgspec.Meta(ge=2, le=1000)] = 20
    fixation_s: Seconds = 1.0
    jump_s: Seconds = 0.1
    margin: Margin = 0.03


class Points(Gaze, frozen=True, tag="points"):
    """The live test: the points of a grid in random order, with a moment of capture for each."""

    columns: Few = 6
    rows: Few = 5
    every_s: Seconds = 2.0
    shown_s: Seconds = 1.0
    capture_s: Seconds = 0.5  # after the onset
    capture_trigger: Code | None = None
    margin: Margin = 0.05


class Slider(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One question of the self-report, from 0 to 10."""

    name: Name
    title: Annotated[str, msgspec.Meta(max_length=120)] = ""  # by default the page's words for the name


SLIDERS = tuple(
    Slider(name)
    for name in (
        *("anger", "disgust", "fear", "sadness", "amusement", "inspiration", "joy", "tenderness"),
        *("valence", "arousal", "liking", "familiarity"),
    )
)


class Emotion(Block, frozen=True, tag="emotion"):
    """Films in blocks of one valence, each after a fixation cross and before a self-report and a rest."""

    videos: str = "videos"  # folder of 01.mp4, 02.mp4, …, with subtitles in 01.vtt; from where the file lies
    blocks: Annotated[int, msgspec.Meta(ge=1, le=60)] = 7
    per_block: Annotated[int, msgspec.Meta(ge=1, le=60)] = 4
    fixation_s: Seconds = 5.0
    rest_s: Seconds = 30.0  # at least
    sums: Annotated[int, msgspec.Meta(ge=0, le=200)] = 20  # between two blocks
    tolerance_s: Annotated[float, msgspec.Meta(ge=0, le=60)] = 1.0  # of the films' lengths
    marker_gap_s: Seconds = 0.1  # between two triggers that follow each other
    run_start: Code = 250
    block_start: Code = 242
    video_start: Code = 240
    video_end: Code = 241
    block_end: Code = 243
    run_end: Code = 251
    films: Annotated[tuple[Film, ...], msgspec.Meta(min_length=1, max_length=239)] = FILMS
    sliders: Annotated[tuple[Slider, ...], msgspec.Meta(min_length=1, max_length=40)] = SLIDERS


AnyBlock = Targets | Curve | Pursuit | Saccades | Points | Emotion


class Stimuli(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole stimulus file."""

    screen: Screen
    blocks: Annotated[tuple[AnyBlock, ...], msgspec.Meta(min_length=1, max_length=100)]
    seed: Seed = 0
    target_mm: Annotated[float, msgspec.Meta(ge=0.5, le=200)] = 8.0  # a target's diameter
    patch_mm: Annotated[float, msgspec.Meta(ge=0, le=200)] = 15.0  # the photodiode's patch; 0 shows none


def kind_of(block: Any) -> str:
    return str(type(block).__struct_config__.tag)
