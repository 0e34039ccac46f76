"""Jobs with what a worker needs for them: frames of videos are decoded here, one after the other, when asked for.

However long a video is, no more of its frames are in memory than there are workers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import overload

from palestra.annotation import videos
from palestra.annotation.jobs import Job
from palestra.annotation.pictures import Picture, decoded


@dataclass(frozen=True, eq=False)
class Item:
    job: Job
    image: Picture | str | None = None  # of a frame, or why there is none; a picture is opened by its worker
    time_s: float | None = None

    def picture(self) -> Picture | str:
        if self.job.unreadable:
            return self.job.unreadable
        return decoded(self.job.source) if self.image is None else self.image


class Items(Sequence[Item]):
    """To be gone through once, in order."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs

    def __len__(self) -> int:
        return len(self._jobs)

    @overload
    def __getitem__(self, at: int) -> Item: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Item]: ...
    def __getitem__(self, at: int | slice) -> Item | Sequence[Item]:
        return Items(self._jobs[at]) if isinstance(at, slice) else next(iter(Items([self._jobs[at]])))

    def __iter__(self) -> Iterator[Item]:
        for video, some in groupby(self._jobs, key=lambda job: None if job.frame is None else job.source):
            jobs = list(some)
            yield from _frames(jobs) if video else map(Item, jobs)


def _frames(jobs: list[Job]) -> Iterator[Item]:
    """Of one video; where it breaks off, the rest are rows that say so."""
    waiting = {job.frame: job for job in jobs if job.frame is not None}
    why = videos.DAMAGED
    try:
        for frame in videos.frames(jobs[0].source, set(waiting)):
            yield Item(waiting.pop(frame.number), frame.image, frame.time_s)
    except videos.Unreadable as error:
        why = str(error)
    yield from (Item(job, why) for job in waiting.values())
