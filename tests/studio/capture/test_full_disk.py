"""A disk that is full: said in words, what is recorded stays whole, and it goes on when there is room."""

import os
import resource
import subprocess
import sys
import time

import numpy as np
import pytest

from palestra.studio.capture import layout, writer
from palestra.studio.capture.check import check
from palestra.studio.capture.recording import Recording
from palestra.studio.capture.source import About, Frame
from palestra.studio.capture.writer import How, SourceWriter
from tests import ROOT
from tests.studio.capture.conftest import LIMIT_S, write_pictures


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 1 MB, where this user may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True)
    if done.returncode:
        pytest.skip("this user may not mount a disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def frames(count, at_ns):
    rng = np.random.default_rng(0)
    for number in range(count):
        yield Frame((rng.integers(0, 255, (100, 200), dtype=np.uint8),), at_ns + number * 10_000_000)


def test_frames_that_a_full_disk_does_not_take_are_counted_and_it_goes_on_when_there_is_room(small_disk, monkeypatch):
    monkeypatch.setattr(writer, "AGAIN_NS", 0)
    told = []
    captured = layout.Captured("eye", "given", About("pictures"))
    written = SourceWriter(small_disk / "eye", captured, How(), told.append, lambda: None)
    filling = small_disk / "filling"
    filling.write_bytes(bytes(500_000))
    given = list(frames(60, time.monotonic_ns()))
    for frame in given[:40]:
        written.take(frame)
    kept_before = written.count
    assert 0 < kept_before < 40 and written.dropped == 40 - kept_before
    assert "No space left on device" in str(told[0].text)
    filling.unlink()
    for frame in given[40:]:
        written.take(frame)
    written.finish()
    assert written.count > kept_before and any("written again" in str(one.text) for one in told)
    layout.write_head(small_disk, layout.Head("", 0, [captured], ""))
    recording = Recording(small_disk)
    assert not check(recording)[0].faults
    kept = list(recording.frames("eye"))
    assert len(kept) == written.count
    by_time = {frame.arrived_ns: frame for frame in given}
    for frame in kept:
        np.testing.assert_array_equal(frame.images[0], by_time[frame.arrived_ns].images[0])
    dropped_between = sum(frame.dropped for frame in kept)
    assert len(kept) + dropped_between == 1 + next(
        i for i, frame in enumerate(given) if frame.arrived_ns == kept[-1].arrived_ns
    )


def test_a_file_that_may_not_grow_is_followed_by_another(tmp_path):
    """The command itself, under a limit on the size of files; a limit stands for what else a system may refuse."""
    pictures = write_pictures(tmp_path / "pictures", 30, (100, 200))
    out = tmp_path / "recording"
    words = ["studio", "capture", f"played:{pictures}@50,loop", "--out", str(out), "--seconds", "4"]
    done = subprocess.run(
        [sys.executable, "-m", "palestra", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000)),
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    assert "cannot be written: File too large" in done.stderr and "Traceback" not in done.stderr
    recording = Recording(out)
    (found,) = check(recording)
    assert not found.faults and found.segments > 1 and found.dropped > 0
    assert found.count == len(list(recording.frames("played")))
