"""Signals: chunks as they come, Parquet when a segment closes, XDF at the end."""

import os

import numpy as np
import pytest
import pyxdf

from palestra.studio.capture import layout
from palestra.studio.capture.capture import Capture
from palestra.studio.capture.check import check
from palestra.studio.capture.recording import Recording
from palestra.studio.capture.source import About, Offset, Samples, now_ns
from palestra.studio.capture.writer import How
from tests.studio.capture.conftest import LIMIT_S
from tests.studio.capture.test_capture import Given

EEG = About("signal", [], 100.0, None, "another clock", True, ["Fz", "Cz", "Cz"], "float32")
MARKS = About("signal", [], None, None, "another clock", True, ["mark"], "string")
FAR_NS = 7_000_000_000  # our clock is so far ahead


def samples(count, at_ns, first=0):
    taken = at_ns - FAR_NS + np.arange(first, first + count, dtype=np.int64) * 10_000_000
    values = np.arange(first * 3, (first + count) * 3, dtype=np.float32).reshape(count, 3)
    return Samples(values, taken, at_ns + (first + count) * 10_000_000)


@pytest.fixture
def recorded(tmp_path):
    at_ns = now_ns()
    offset = Offset(at_ns, FAR_NS, 1000)
    words = [["go"], ["停 <&>"]]
    marks = Samples(words, np.array([at_ns - FAR_NS, at_ns - FAR_NS + 25_000_000]), at_ns + 60_000_000)
    items = [offset, *(samples(10, at_ns, first) for first in range(0, 300, 10))]
    sources = {"eeg": Given(items, EEG), "marks": Given([offset, marks], MARKS)}
    capture = Capture(tmp_path / "r", sources, How(1.0), lambda name, text: None)
    capture.start()
    capture.wait(LIMIT_S)
    capture.finish()
    return tmp_path / "r", at_ns


def test_samples_come_back_with_their_times_on_our_clock(recorded):
    folder, at_ns = recorded
    recording = Recording(folder)
    table = recording.samples("eeg")
    assert table["number"].to_list() == list(range(300))
    assert table.columns[4:7] == ["Fz", "Cz", "channel 3"]
    assert table["Cz"].to_list() == [3 * i + 1 for i in range(300)]
    assert table["at_ns"].to_list() == [at_ns + i * 10_000_000 for i in range(300)]
    assert recording.samples("marks")["mark"].to_list() == ["go", "停 <&>"]
    assert len(layout.read_lines(folder / "eeg" / layout.SEGMENTS, layout.Segment)) == 3
    assert all(not one.faults for one in check(recording))


def test_the_published_reader_finds_the_same_in_the_xdf_file(recorded):
    folder, at_ns = recorded
    (eeg, marks), _ = pyxdf.load_xdf(folder / layout.XDF, synchronize_clocks=False, dejitter_timestamps=False)
    assert [one["info"]["name"] for one in (eeg, marks)] == [["eeg"], ["marks"]]
    np.testing.assert_array_equal(eeg["time_series"][:, 1], 3 * np.arange(300) + 1)
    assert marks["time_series"] == [["go"], ["停 <&>"]]
    assert eeg["clock_values"] == [FAR_NS / 1e9]
    assert eeg["clock_times"] == [pytest.approx((at_ns - FAR_NS) / 1e9)]
    ours = eeg["time_stamps"] + FAR_NS / 1e9
    np.testing.assert_allclose(ours, (at_ns + np.arange(300) * 10_000_000) / 1e9, atol=1e-6)
    assert eeg["footer"]["info"]["sample_count"] == ["300"]


def test_chunks_that_were_cut_short_are_repaired_and_the_xdf_written(recorded):
    folder, _ = recorded
    chunks = _reopen(folder / "marks", Recording(folder).head.sources[1], recorded)
    os.truncate(chunks, chunks.stat().st_size - 3)
    (folder / layout.XDF).unlink()
    recording = Recording(folder)
    assert len(recording.repairs) == 1
    assert recording.samples("marks")["mark"].to_list() == ["go", "停 <&>"]
    assert (folder / layout.XDF).exists()


def _reopen(folder, captured, recorded):
    """As if the recording had been cut off while another chunk was written."""
    from palestra.studio.capture.signal_segment import SignalSegment

    (folder / "000000.parquet").unlink()
    (folder / layout.SEGMENTS).unlink()
    at_ns = recorded[1]
    segment = SignalSegment(folder, 0, captured.about, at_ns)
    segment.write(Samples([["go"], ["停 <&>"]], np.array([1, 2]), at_ns), 0)
    segment.write(Samples([["lost"]], np.array([3]), at_ns), 2)
    segment.abandon()
    return folder / "000000.chunks"
