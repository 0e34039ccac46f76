"""Every file and every frame of a recording is looked at."""

import json

import pytest

from palestra.errors import PalestraError
from palestra.studio.capture.check import check
from palestra.studio.capture.recording import Recording
from palestra.studio.capture.writer import How


@pytest.fixture
def folder(pictures, record):
    return record(f"played:{pictures}@100", how=How(0.5))


def faults(folder):
    return [str(fault) for one in check(Recording(folder)) for fault in one.faults]


def test_a_whole_recording_has_no_faults(folder, cli):
    assert faults(folder) == []
    said = cli("studio", "check", folder, "--json").out
    assert json.loads(said)[0]["recorded"] == 60


def test_a_changed_frame_is_found(folder):
    video = folder / "played" / "000000.mkv"
    data = bytearray(video.read_bytes())
    data[len(data) // 2] ^= 1
    video.write_bytes(data)
    found = faults(folder)
    assert len(found) == 2 and "is not what was taken" in found[0] and "000000.mkv is not what was written" in found[1]


def test_a_missing_segment_and_a_missing_table_are_found(folder):
    (folder / "played" / "000000.mkv").unlink()
    (folder / "played" / "000001.parquet").unlink()
    found = " ".join(faults(folder))
    assert "segment 0" in found and "000001.parquet is missing" in found


def test_a_missing_line_of_a_segment_is_found(folder):
    lines = folder / "played" / "segments.jsonl"
    lines.write_text("".join(lines.read_text().splitlines(True)[1:]))
    assert any("expected 0" in fault for fault in faults(folder))


def test_what_is_no_recording_is_said(tmp_path):
    with pytest.raises(PalestraError, match=r"is no recording: it has no recording\.json"):
        Recording(tmp_path)


def test_a_source_that_is_not_there_is_said(folder):
    with pytest.raises(PalestraError, match="Did you mean 'played'"):
        list(Recording(folder).frames("plaid"))
