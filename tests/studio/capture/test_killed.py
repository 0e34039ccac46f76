"""A recording whose process is killed loses at most the last second, and says so when it is opened."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from palestra.studio.capture import layout, picture_reader
from palestra.studio.capture.check import check
from palestra.studio.capture.recording import Recording
from palestra.studio.capture.rows import row_type
from tests import ROOT
from tests.studio.capture.conftest import LIMIT_S, picture

ROW_BYTES = row_type(["picture"]).itemsize


def start(out, *words):
    command = [sys.executable, "-m", "palestra", "studio", "capture", *words, "--out", str(out)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)


def wait_for_rows(out, bytes_at_least):
    """Until so much of the segment's rows is there."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        if any(file.stat().st_size >= bytes_at_least for file in out.glob("*/*.rows") if file.exists()):
            return
        time.sleep(0.01)
    raise AssertionError("no rows")


@pytest.mark.parametrize("kind", [[], ["--png"]])
def test_a_kill_in_the_middle_loses_at_most_the_last_second(pictures, tmp_path, kind):
    out = tmp_path / "recording"
    running = start(out, f"played:{pictures}@100,loop", *kind, "--segment-s", "300")
    try:
        wait_for_rows(out, ROW_BYTES * 50)
        os.kill(running.pid, signal.SIGKILL)
        killed_ns = time.monotonic_ns()
    finally:
        running.kill()
        running.communicate()
    recording = Recording(out)
    assert len(recording.repairs) == 1 and "was open when the recording was cut off" in str(recording.repairs[0])
    frames = list(recording.frames("played"))
    assert len(frames) >= 50 and [frame.number for frame in frames] == list(range(len(frames)))
    assert killed_ns - frames[-1].arrived_ns < 1e9
    for frame in frames:
        np.testing.assert_array_equal(frame.images[0], picture(pictures, frame.number % 60))
    (found,) = check(recording)
    assert not found.faults and found.count == len(frames)
    assert recording.head.ended_at is None
    assert not Recording(out).repairs  # it is in order now


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_being_told_to_stop_is_a_good_end(pictures, tmp_path, number):
    out = tmp_path / "recording"
    running = start(out, f"played:{pictures}@100,loop")
    try:
        wait_for_rows(out, ROW_BYTES * 5)
        running.send_signal(number)
        said = running.communicate(timeout=LIMIT_S)[1].decode()
    finally:
        running.kill()
    assert running.returncode == 0, said
    assert "0 dropped" in said and "palestra studio check" in said
    recording = Recording(out)
    assert not recording.repairs and recording.head.ended_at
    assert recording.head.sources[0].frames == len(list(recording.frames("played")))


def test_half_a_row_and_half_a_frame_are_cut_off(pictures, record):
    folder = record(f"played:{pictures}@fast") / "played"
    _reopen(folder)
    rows = folder / "000000.rows"
    os.truncate(rows, rows.stat().st_size - 7)
    recording = Recording(folder.parent)
    assert len(list(recording.frames("played"))) == 59
    assert not check(recording)[0].faults


def test_rows_that_reached_the_disk_before_their_pictures_are_dropped(pictures, record):
    """As a power cut may leave them."""
    folder = record(f"played:{pictures}@fast") / "played"
    _reopen(folder)
    video = folder / "000000.mkv"
    size = video.stat().st_size
    os.truncate(video, size // 2)
    os.truncate(video, size)  # the rest is zeros
    recording = Recording(folder.parent)
    assert 0 < len(list(recording.frames("played"))) < 60
    assert not check(recording)[0].faults


def test_a_segment_without_a_whole_frame_is_removed(pictures, record):
    folder = record(f"played:{pictures}@fast") / "played"
    _reopen(folder)
    os.truncate(folder / "000000.rows", 3)
    recording = Recording(folder.parent)
    assert not list(recording.frames("played")) and not (folder / "000000.mkv").exists()


def _reopen(folder):
    """Undo the closing of a recording's only segment."""
    rows = picture_reader.rows_of(folder, 0, ["picture"])
    (folder / "000000.rows").write_bytes(rows.tobytes())
    (folder / "000000.parquet").unlink()
    (folder / layout.SEGMENTS).unlink()
