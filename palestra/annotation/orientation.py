"""Which side of the pictures of a device is up: its pictures vote, and all of them are read that way."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from palestra.annotation.items import Item, Items
from palestra.annotation.jobs import Job
from palestra.executors import in_processes
from palestra.eyes.reader.read_eye import uprightness
from palestra.eyes.reader.settings import Settings

VOTES = 12  # pictures that are asked
FIRST_FRAMES = 600  # of a video, those that are asked are among these: it is decoded from its beginning
CLEAR = -0.05  # the mean vote below which a device holds its camera upside down
Orientation = Literal["auto", "upright", "upside-down"]


def is_upside_down(jobs: Sequence[Job], asked: Orientation, settings: Settings) -> bool:
    """The vote of the pictures of one device, unless somebody knows."""
    if asked != "auto":
        return asked == "upside-down"
    some = [job for job in jobs if job.frame is None or job.frame < FIRST_FRAMES] or list(jobs[:1])
    voters = [some[at * len(some) // VOTES] for at in range(VOTES)] if len(some) > VOTES else some
    votes = [vote for _, vote in in_processes(partial(_vote, settings), Items(voters))]
    return sum(votes) < CLEAR * len(votes)


def _vote(settings: Settings, item: Item) -> float:
    picture = item.picture()
    return 0.0 if isinstance(picture, str) else uprightness(picture, replace(settings, upside_down=None))
