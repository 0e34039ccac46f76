"""What the commands do: track a recording, write EYEDIAP's files, and say how it went."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from palestra.errors import PalestraError
from palestra.studio.track.ball_colour import BallColour, Disc, learn
from palestra.studio.track.ball_tracker import BallTracker
from palestra.studio.track.eye_centres import eye_centres
from palestra.studio.track.frames import Pair
from palestra.studio.track.head_fit import fit
from palestra.studio.track.head_start import Reach
from palestra.studio.track.head_template import Template, read_template, write_template
from palestra.studio.track.head_tracker import HeadTracker
from palestra.studio.track.rig import Rig
from palestra.studio.track.set_up import SetUp
from palestra.studio.track.tracking_files import (
    BALL,
    EYES,
    HEAD_POSE,
    Session,
    keep_calibrations,
    read_eyes,
    write_balls,
    write_eyes,
    write_heads,
)
from palestra.text import say

POINTED = re.compile(r"(?P<frame>\d+):(?P<x>\d+(?:\.\d+)?),(?P<y>\d+(?:\.\d+)?)")
SHAPE_FRAMES = 24  # from which a person's shape is learned
ABOUT_PX = 3  # of the pixel that was pointed at: where its depth is looked for

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Outcome:
    """How many frames there were, and in how many it was found."""

    frames: int
    found: int
    folder: Path


@dataclass(frozen=True)
class Pointed:
    """Where somebody says that the ball is: a frame, and a pixel of its colour picture."""

    frame: int
    x: float
    y: float


def pointed_at(texts: Sequence[str]) -> list[Pointed]:
    """FRAME:X,Y, once or twice."""
    found = []
    for text in texts:
        match = POINTED.fullmatch(text)
        if match is None:
            raise PalestraError(
                say("{text!r}: expected FRAME:X,Y, such as 0:312,208: a frame, and the pixel of its colour picture "
                    "where the ball's middle is.", text=text[:60])
            )  # fmt: skip
        found.append(Pointed(int(match["frame"]), float(match["x"]), float(match["y"])))
    return found


def track_ball(
    given: SetUp, session: Session, pointed: Sequence[Pointed], radius_m: float, reach: Reach, advance: Advance
) -> Outcome:
    """Learn the ball's colour where it was pointed at, find it in every frame, and write ball_tracking.txt."""
    if not session.has_ball:
        raise PalestraError(
            say("{name}: nobody looks at a ball in such a session. Those with a ball have FT in their names, as "
                "1_A_FT_M.", name=session.name)
        )  # fmt: skip
    session.require_new(BALL)
    colour = learned(given, pointed, radius_m, reach)
    tracker = BallTracker(colour, given.rig, radius_m, reach)
    centres = []
    for pair in given.frames:
        ball = tracker.find(pair.colour, pair.depth)
        centres.append(None if ball is None else ball.centre)
        advance(1)
    keep_calibrations(session, given.calibrations)
    write_balls(session, given.rig, centres)
    return Outcome(len(centres), sum(centre is not None for centre in centres), session.folder)


def learned(given: SetUp, pointed: Sequence[Pointed], radius_m: float, reach: Reach) -> BallColour:
    """The ball's colour, from frames in which it must then be found where it was pointed at."""
    if not pointed:
        raise PalestraError(say("Say where the ball is in one or two frames: --at FRAME:X,Y."))
    if (last := max(one.frame for one in pointed)) >= given.frames.count:
        raise PalestraError(
            say("There is no frame {frame}: the recording has {count}, counted from 0.",
                frame=last, count=given.frames.count)
        )  # fmt: skip
    pairs = {pair.number: pair for pair in given.frames.chosen(one.frame for one in pointed)}
    discs = [_disc(given.rig, pairs[one.frame], one, radius_m, reach) for one in pointed]
    colour = learn([(pairs[one.frame].colour, disc) for one, disc in zip(pointed, discs, strict=True)])
    for one, disc in zip(pointed, discs, strict=True):
        _require_found(given.rig, pairs[one.frame], one, disc, BallTracker(colour, given.rig, radius_m, reach))
    return colour


def _disc(rig: Rig, pair: Pair, one: Pointed, radius_m: float, reach: Reach) -> Disc:
    whole = slice(0, rig.depth.height), slice(0, rig.depth.width)
    points, far = rig.points(pair.depth, whole)
    points = points[(far > reach.near_m) & (far < reach.far_m)]
    pixels, away = rig.colour_pixels(points)
    here = np.hypot(*(pixels - np.array([one.x, one.y], np.float32)).T) < ABOUT_PX
    if not here.any():
        raise PalestraError(
            say("Frame {frame}: there is no depth between {near:g} and {far:g} m at the pixel {x:g},{y:g}. Point at "
                "the ball's middle, or say --near and --far.", frame=one.frame, near=reach.near_m, far=reach.far_m,
                x=one.x, y=one.y)
        )  # fmt: skip
    return Disc(one.x, one.y, float(rig.colour.intrinsics[0, 0]) * radius_m / float(np.median(away[here])))


def _require_found(rig: Rig, pair: Pair, one: Pointed, disc: Disc, tracker: BallTracker) -> None:
    ball = tracker.find(pair.colour, pair.depth)
    off = np.inf
    if ball is not None:
        seen = rig.colour_pixels(ball.centre[None].astype(np.float32))[0][0]
        off = float(np.hypot(seen[0] - one.x, seen[1] - one.y))
    if off > disc.radius_px:
        raise PalestraError(
            say("Frame {frame}: no ball of {size:g} cm and of a colour of its own is at the pixel {x:g},{y:g}. Point "
                "at its middle in a frame in which nothing hides it, give its --diameter, and use a ball of a colour "
                "that nothing else in the room has.", frame=one.frame, size=200 * tracker.radius_m, x=one.x, y=one.y)
        )  # fmt: skip


def track_head(given: SetUp, session: Session, reach: Reach, advance: Advance) -> Outcome:
    """Fit the person's shape (once), follow the head through every frame, and write poses and eyeballs."""
    session.require_new(HEAD_POSE, EYES)
    template = _template_of(given, session, reach)
    eyes = read_eyes(session.eyes_file)  # õ of Eq. 4
    tracker = HeadTracker(template, given.rig, reach)
    poses = []
    for pair in given.frames:
        found = tracker.find(pair.depth)
        poses.append(None if found is None else found.pose)
        advance(1)
    keep_calibrations(session, given.calibrations)
    write_heads(session, given.rig, poses, eyes)
    return Outcome(len(poses), sum(pose is not None for pose in poses), session.folder)


def _template_of(given: SetUp, session: Session, reach: Reach) -> Template:
    """A person's shape is fitted in their first session: all others have its frame, and so its eyeballs."""
    if session.shape_file.is_file():
        if not session.eyes_file.is_file():
            write_eyes(session.eyes_file, eye_centres(read_template(session.shape_file)))
        return read_template(session.shape_file)
    if session.eyes_file.is_file():
        raise PalestraError(
            say("{eyes} is there without {shape}: it is of another head's frame. Move it away.",
                eyes=session.eyes_file, shape=session.shape_file.name)
        )  # fmt: skip
    numbers = np.unique(np.linspace(0, given.frames.count - 1, SHAPE_FRAMES).astype(int)).tolist()
    template = fit(given.rig, [pair.depth for pair in given.frames.chosen(numbers)], reach)
    if template is None:
        raise PalestraError(
            say("Nobody is before the camera: in none of {count} frames is there a face between {near:g} and "
                "{far:g} m. Say --near and --far, and let people look towards the camera for a moment.",
                count=len(numbers), near=reach.near_m, far=reach.far_m)
        )  # fmt: skip
    session.eyes_file.parent.mkdir(parents=True, exist_ok=True)
    write_template(session.shape_file, template)
    write_eyes(session.eyes_file, eye_centres(template))
    return template
