"""Capture at real pace for as long as it takes: 640 × 400 grey at 100 Hz, no frame lost, in constant memory.

python -m benchmarks.studio_capture --minutes 60 [--folder DIR] [--rate 100] [--keep]

The recording runs in a process of its own, by the command. Each segment that it closes is verified here, frame by
frame, and then removed, so that an hour fits on a small disk. Pictures are drawn by the simulated eye, with a camera's
noise. Exit code 0 if no frame was lost, every frame was as it was played, and memory stayed as it was.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np

from palestra.eyes.cohort import SEGMENTATION_PEOPLE
from palestra.eyes.simulator.people import draw_profiles
from palestra.eyes.simulator.renderer import Renderer
from palestra.eyes.simulator.scene import Look, draw_camera, draw_person
from palestra.studio.capture import layout
from palestra.studio.capture.check import check_segment

PICTURES = 500
TIMES_MEMORY = 1.2  # of what it had after a minute: what counts as constant
TICKS = 100  # of the kernel's clock, in a second
LOOK_S = 1.0


@dataclass
class Seen:
    """What was measured."""

    rss_mb: list[tuple[float, float]] = field(default_factory=list)  # after how many seconds, how much
    cpu_s: float = 0.0
    segments: int = 0
    frames: int = 0
    dropped: int = 0
    bytes: int = 0
    most_disk: int = 0
    faults: list[str] = field(default_factory=list)


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        pictures = draw(Path(place) / "pictures")
        recording = Path(place) / "recording"
        started = time.monotonic()
        seen = watch(start(pictures, recording, options.rate, options.minutes), recording, options.keep)
        took_s = time.monotonic() - started
        head = layout.read_head(recording)
    expected = head.sources[0].frames or 0
    sys.exit(report(seen, took_s, expected, head.sources[0].dropped or 0, options.rate))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--folder", type=Path, help="where to record; by default the system's folder for such things")
    parser.add_argument("--keep", action="store_true", help="do not remove segments that were verified")
    return parser.parse_args()


def draw(folder: Path) -> Path:
    """An eye that looks around, with a camera's noise; files without compression, which cost little to read."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    person = draw_profiles(SEGMENTATION_PEOPLE, rng)[0]
    renderer = Renderer(draw_person(person, rng), draw_camera(rng))
    for number in range(PICTURES):
        yaw, pitch = 0.25 * np.sin(number / 25), 0.15 * np.cos(number / 40)
        gaze = np.array([np.sin(yaw) * np.cos(pitch), np.sin(pitch), np.cos(yaw) * np.cos(pitch)])
        image = renderer.render(Look(gaze, 3.5, 1.0), rng).image
        cv2.imwrite(str(folder / f"{number:04d}.pgm"), image)
    return folder


def start(pictures: Path, recording: Path, rate: float, minutes: float) -> subprocess.Popen[bytes]:
    spec = f"eye=played:{pictures}@{rate:g},loop"
    words = ["studio", "capture", spec, "--out", str(recording), "--seconds", f"{60 * minutes:g}"]
    return subprocess.Popen([sys.executable, "-m", "palestra", *words])


def watch(running: subprocess.Popen[bytes], recording: Path, keep: bool) -> Seen:
    """Look at the process, and verify and remove what it closes, until it ends."""
    seen, started = Seen(), time.monotonic()
    while running.poll() is None:
        _look(running.pid, seen, time.monotonic() - started)
        if (recording / layout.HEAD).exists():
            seen.most_disk = max(seen.most_disk, _size(recording))
            _verify_closed(recording, seen, keep)
        time.sleep(LOOK_S)
    _verify_closed(recording, seen, keep)
    return seen


def _look(pid: int, seen: Seen, at_s: float) -> None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):  # it ended meanwhile
        return
    seen.cpu_s = (int(fields[11]) + int(fields[12])) / TICKS
    seen.rss_mb.append((at_s, pages * 4096 / 1e6))


def _size(folder: Path) -> int:
    sizes = []
    for file in folder.rglob("*"):
        try:
            sizes.append(file.stat().st_size)
        except OSError:  # closed and renamed just now
            continue
    return sum(sizes)


def _verify_closed(recording: Path, seen: Seen, keep: bool) -> None:
    (one,) = layout.read_head(recording).sources
    folder = recording / one.name
    for segment in layout.read_lines(folder / layout.SEGMENTS, layout.Segment)[seen.segments :]:
        seen.faults += [str(fault) for fault in check_segment(folder, one, segment)]
        if segment.first != seen.frames:
            seen.faults.append(f"segment {segment.number} begins at {segment.first}, expected {seen.frames}")
        seen.segments, seen.frames = seen.segments + 1, seen.frames + segment.count
        seen.dropped += segment.dropped
        for file in folder.glob(f"{segment.number:06d}*"):
            seen.bytes += file.stat().st_size
            if not keep:
                file.unlink()


def report(seen: Seen, took_s: float, expected: int, dropped: int, rate: float) -> int:
    """Print what was measured; the exit code."""
    first = max((mb for at_s, mb in seen.rss_mb if at_s <= 60), default=0.0)
    last = max((mb for at_s, mb in seen.rss_mb if at_s >= seen.rss_mb[-1][0] - 60), default=0.0)
    peak = max((mb for _, mb in seen.rss_mb), default=0.0)
    whole = not seen.faults and seen.frames == expected and not dropped and not seen.dropped
    constant = last <= TIMES_MEMORY * first
    print(f"{took_s:.0f} s, {seen.frames:,} frames in {seen.segments} segments of a source of {rate:g} Hz")
    print(f"lost: {dropped + seen.dropped:,}; not as played or missing: {len(seen.faults)}")
    print(f"processor: {100 * seen.cpu_s / seen.rss_mb[-1][0]:.1f} % of a core, reading and writing together")
    print(f"memory: {first:.0f} MB in the first minute, {last:.0f} MB in the last, {peak:.0f} MB at most")
    print(f"{seen.bytes / max(seen.frames, 1):,.0f} bytes a frame, {seen.bytes / 1e9:.2f} GB in all, ", end="")
    print(f"{seen.most_disk / 1e9:.2f} GB on disk at most")
    for fault in seen.faults[:20]:
        print(fault)
    print("met" if whole and constant else "NOT met")
    return 0 if whole and constant else 1


if __name__ == "__main__":
    main()
