"""A run of inputs through a reader: what came out wrong, how far it has come, and how to go on where it was stopped."""

import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import msgspec

from palestra.errors import PalestraError, Refused
from tests.formats.strangers import fit
from tests.fuzz.mutations import mutated
from tests.fuzz.readers import Sample, made

MOST_CPU_S = 10.0  # for one input of at most a megabyte
MOST_MORE_KB = 512 << 10  # that one input may add to what the process takes at its worst
KEPT_EVERY = 2_000  # inputs after which it is noted how far a run has come
TOLD_EVERY_S = 10.0
SEED = 17


class TooLong(BaseException):
    """A reader that does not come to its end. No reader catches it."""


class Fault(msgspec.Struct):
    number: int
    file: str
    what: str


class Progress(msgspec.Struct):
    """How far a run has come. It is kept, so that one that was stopped goes on there."""

    reader: str
    seed: int = SEED
    done: int = 0
    read: int = 0  # of them: read as if nothing were wrong
    faults: list[Fault] = []

    def __str__(self) -> str:
        return f"{self.reader}: {self.done:,} inputs, {self.read:,} read, {len(self.faults)} faults"


def input_of(sample: Sample, random: Random, others: list[bytes]) -> bytes:
    """Changed before it is packed, or after, or both."""
    if sample.before is None:
        return mutated(sample.data, random, others)
    kind = random.random()
    packed = sample.before(sample.data if kind < 0.2 else mutated(sample.data, random), random)
    return packed if kind < 0.6 else mutated(packed, random, others)


def run(
    name: str, inputs: int, home: Path, keep: Path | None = None, told: Callable[[str], None] = lambda line: None
) -> Progress:
    """So many inputs, from where an earlier run was stopped that kept its progress in the same place."""
    samples = made(name, home)
    progress = _kept(keep) or Progress(name)
    began, from_, last = time.monotonic(), progress.done, time.monotonic()
    with _bounded():
        for number in range(progress.done, inputs):
            try_one(samples, number, home, progress)
            progress.done = number + 1
            if keep and progress.done % KEPT_EVERY == 0:
                keep.write_bytes(msgspec.json.encode(progress))
            if time.monotonic() - last > TOLD_EVERY_S:
                last = time.monotonic()
                rate = (progress.done - from_) / (last - began)
                told(f"{progress} of {inputs:,}; {rate:,.0f}/s, {(inputs - progress.done) / rate / 60:.0f} min left")
    if keep:
        keep.write_bytes(msgspec.json.encode(progress))
    return progress


def _kept(keep: Path | None) -> Progress | None:
    if keep is None or not keep.is_file():
        return None
    found = msgspec.json.decode(keep.read_bytes(), type=Progress)
    return found if found.seed == SEED else None


def try_one(samples: Any, number: int, home: Path, progress: Progress) -> None:
    """The input with this number, read: it comes from the number alone."""
    random = Random(f"{progress.reader} {SEED} {number}")
    sample = random.choice(samples)
    data = input_of(sample, random, [one.data for one in samples])
    file = home / sample.file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.setitimer(signal.ITIMER_PROF, MOST_CPU_S)
    try:
        sample.read(file)
        progress.read += 1
    except PalestraError as error:
        _require_shown(progress, number, sample, error)
    except (Exception, TooLong) as error:
        progress.faults.append(
            Fault(number, sample.file, f"{type(error).__module__}.{type(error).__name__}: {error!s:.300}")
        )
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        file.write_bytes(sample.data)
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if more > MOST_MORE_KB:
        progress.faults.append(Fault(number, sample.file, f"{more >> 10} MB more"))


def _require_shown(progress: Progress, number: int, sample: Sample, error: PalestraError) -> None:
    """What is said in words must be fit to be shown."""
    try:
        fit(error) if isinstance(error, Refused) else str(error).encode()
    except (AssertionError, UnicodeError) as unfit:
        progress.faults.append(Fault(number, sample.file, f"a refusal that cannot be shown: {unfit!s:.300}"))


@contextmanager
def _bounded() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong(f"{MOST_CPU_S} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGPROF, before)
