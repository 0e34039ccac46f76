"""Whole runs of the emotion-EEG track by `palestra play`, each in a process of its own, and recordings to play."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from subprocess import PIPE

import numpy as np
from numpy.typing import NDArray

from benchmarks.stream_bare import be_busy, ending, in_child, sleep_ticks
from palestra import registry
from palestra.datasets import make
from palestra.live import wall_clock
from palestra.live.live_data import sittings_of
from palestra.live.recording import Recording
from palestra.records import Order
from palestra.tracks.emotion_eeg import experiment as material
from palestra.tracks.emotion_eeg.format import open_recording, recordings, write_recording

TRACK = "emotion-eeg-v1"
FIRST = 81  # test people have the numbers from here on
RATE_HZ, BLOCK_S = material.RATE_HZ, 60
EDGE = 50  # samples before the first film and after the last
FILM_S = 30  # and longer where all films together would not fill the time
LOADED = "import pickle, sys; kept = pickle.load(open(sys.argv[1], 'rb')); print(open('/proc/self/status').read())"
# A command, and then what its process held. (What getrusage tells of a child begins with what its parent held.)
MEASURED = """
import sys
from pathlib import Path
from palestra.cli.app import main
told = Path(sys.argv.pop(1))
try:
    main()
finally:
    told.write_text(Path("/proc/self/status").read_text())
"""
Late = NDArray[np.float64]  # in ms, tick by tick


@dataclass(frozen=True)
class Run:
    """What came of a run."""

    recording: Recording
    wall_s: float  # of the whole command
    peak_mb: float  # of its process; the contestant's is another

    @property
    def valid(self) -> bool:
        return self.recording.end is not None and all(result.valid for result in self.recording.end.results)

    @property
    def ticks_ms(self) -> Late:
        return np.array([1e3 * (sent.sent_s - sent.due_s) for sent in self.recording.ticks()])

    @property
    def decisions_ms(self) -> Late:
        (who,) = self.recording.head.entrants
        return np.array([1e3 * one.decision.host_late_s for one in self.recording.decisions(who.name)])

    @property
    def missed(self) -> int:
        (who,) = self.recording.head.entrants
        return sum(bool(one.decision.note) for one in self.recording.decisions(who.name))


def play(bundle: Path, data: Path, pace: str, folder: Path) -> Run:
    """Play a bundle as somebody at a terminal would; the view is drawn, into a file."""
    folder.mkdir()
    told, said = folder / "status.txt", folder / "said.txt"
    words = ["play", TRACK, str(bundle), "--data", str(data), "--pace", pace, "--run", str(folder / "run")]
    with said.open("w") as stream:
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", MEASURED, str(told), *words],
            stdout=stream,
            stderr=stream,
            env=os.environ | {"FORCE_COLOR": "1", "TERM": "xterm"},
        )
        wall_s = time.perf_counter() - started
    if not (folder / "run" / "end.json").is_file():  # it exits with 1 as well where the run does not count
        sys.exit(f"palestra play did not come to its end:\n{said.read_text()[-2000:]}")
    return Run(Recording(folder / "run"), wall_s, _peak_mb(told.read_text()))


def unpickled_mb(file: Path) -> float:
    """The most memory that it takes to load a recording as it is usually done."""
    return _peak_mb(
        subprocess.run([sys.executable, "-c", LOADED, str(file)], check=True, stdout=PIPE, text=True).stdout
    )


def _peak_mb(status: str) -> float:
    return int(status.split("VmHWM:")[1].split()[0]) / 1000


def punctuality(bundle: Path, seconds: float, busy: int, folder: Path) -> tuple[Run, Late, Late]:
    """A run in real time, with so many busy processes beside it, and loops around time.sleep in the same seconds: one
    with the priority that the run has, and one as it is."""
    folder.mkdir()
    write_sitting(folder / "data", seconds)
    with ExitStack() as stack:
        for _ in range(busy):
            stack.enter_context(ending(in_child(be_busy)))
        loops = [
            stack.enter_context(ending(in_child(sleep_ticks, seconds, nice, stdout=PIPE)))
            for nice in (wall_clock.NICE, 0)
        ]
        run = play(bundle, folder / "data", "real", folder / "played")
        raised, plain = (1e3 * np.array(json.loads(loop.communicate()[0])) for loop in loops)
    return run, raised, plain


# --- what is played


def link_people(folder: Path, size: str, people: int) -> None:
    """One made recording, under the names of so many people: links to one file."""
    track = registry.track(TRACK)
    name = f"test/sub{FIRST:03d}"
    (part,) = (part for part in make.plan(track, Order(size)).parts if part.name == name)  # type: ignore[arg-type]
    part.write(folder)
    first = folder / f"{name}.pkl"
    for number in range(FIRST + 1, FIRST + people):
        first.with_stem(f"sub{number:03d}").hardlink_to(first)


def packets_of(data: Path) -> int:
    return sum(sitting.count for sitting in sittings_of(registry.track(TRACK), data))


def dtype_of(data: Path) -> str:
    """What the values of a data set are: those of its first person."""
    return str(open_recording(next(iter(recordings(data, "test").values()))).signal.dtype)


def write_sitting(data: Path, seconds: float) -> Path:
    """A person of noise who sees films all the time, for exactly so long."""
    samples = round(seconds * RATE_HZ)
    triggers = np.zeros(samples)
    triggers[[0, 1, -2, -1]] = [250, 242, 243, 251]
    films = int(np.clip(seconds // FILM_S, 1, len(material.FILMS)))
    starts = np.linspace(EDGE, samples - EDGE, films + 1).astype(int)
    for number, (start, stop) in enumerate(pairwise(starts.tolist()), start=1):
        triggers[[start, start + material.ANNOUNCED, stop - 1]] = [number, material.VIDEO_START, material.VIDEO_END]
    file = data / "test" / f"sub{FIRST:03d}.pkl"
    write_recording(_blocks(triggers), file)
    return file


def _blocks(triggers: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    noise_uv = np.random.default_rng(0).normal(0, 20, (material.ROWS, BLOCK_S * RATE_HZ))
    for at in range(0, len(triggers), BLOCK_S * RATE_HZ):
        block = noise_uv[:, : len(triggers) - at].copy()
        block[-1] = triggers[at : at + block.shape[1]]
        yield block
