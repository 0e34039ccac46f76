"""An LSL stream, through the real library, whose settings are read once in a process: scenes have one of their own."""

import json
import os
import subprocess
import sys
import uuid

import numpy as np
import pytest
import pyxdf

from palestra.studio.capture.recording import Recording
from tests import ROOT
from tests.entrants.test_lsl import CONFIG
from tests.studio.capture.conftest import LIMIT_S

pytest.importorskip("pylsl")
SAMPLES, CHANNELS = 400, 3


@pytest.fixture
def alone(tmp_path):
    """The environment of a process whose LSL sees this machine alone, and of it this test."""
    chosen = uuid.uuid4()
    port = 30_000 + chosen.int % 1_000 * 2  # below the ports that the system gives out
    file = tmp_path / "lsl_api.cfg"
    file.write_text(CONFIG.format(port=port, beside=port - 1, session=chosen.hex))
    return os.environ | {"LSLAPICFG": str(file)}


def scene(code, alone, *words):
    command = [sys.executable, "-c", f"from {__name__} import {code}; {code}()", *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True, timeout=2 * LIMIT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def send_and_record():
    """Publishes an EEG and marks, records both, and prints what was sent."""
    import time
    from pathlib import Path

    import pylsl

    from palestra.studio.capture.capture import Capture
    from palestra.studio.capture.specs import sources_of
    from palestra.studio.capture.writer import How

    info = pylsl.StreamInfo("TestAmp", "EEG", CHANNELS, 200, "float32", "amp")
    info.set_channel_labels(["Fz", "Cz", "Oz"])
    eeg = pylsl.StreamOutlet(info)
    marks = pylsl.StreamOutlet(pylsl.StreamInfo("TestMarks", "Markers", 1, pylsl.IRREGULAR_RATE, "string", "marks"))
    capture = Capture(
        Path(sys.argv[1]), sources_of(["eeg=lsl:TestAmp", "lsl:TestMarks"]), How(1.0), lambda name, text: print(text)
    )
    capture.start()
    sent = []
    for number in range(SAMPLES):
        at = pylsl.local_clock()
        eeg.push_sample([number, 2 * number, -number], at)
        sent.append((at, time.monotonic()))
        if number % 100 == 0:
            marks.push_sample([f"mark {number}"], at)
        time.sleep(0.002)
    end = time.monotonic() + LIMIT_S
    while [state.count for state in capture.states()] != [SAMPLES, SAMPLES // 100] and time.monotonic() < end:
        capture.wait(0.05)
    capture.finish()
    print(json.dumps(sent))


def test_samples_and_marks_are_recorded_whole_with_times_on_our_clock(alone, tmp_path):
    folder = tmp_path / "r"
    sent = np.array(json.loads(scene("send_and_record", alone, folder).splitlines()[-1]))
    recording = Recording(folder)
    table = recording.samples("eeg")
    assert table["Fz"].to_list() == list(range(SAMPLES)) and table["Oz"].to_list() == [-i for i in range(SAMPLES)]
    np.testing.assert_allclose(table["taken_ns"].to_numpy() / 1e9, sent[:, 0], atol=1e-8)
    assert np.median(np.abs(table["at_ns"].to_numpy() / 1e9 - sent[:, 1])) < 0.05
    assert recording.samples("lsl")["channel 1"].to_list() == [f"mark {i}" for i in range(0, SAMPLES, 100)]
    offsets = recording.offsets("eeg")
    assert offsets and all(abs(one.offset_ns) < 5e7 and 0 <= one.spread_ns < 5e7 for one in offsets)
    (eeg, marks), _ = pyxdf.load_xdf(folder / "signals.xdf")
    labels = [one["label"] for one in eeg["info"]["desc"][0]["channels"][0]["channel"]]
    assert eeg["info"]["name"] == ["TestAmp"] and labels == [["Fz"], ["Cz"], ["Oz"]]
    assert eeg["time_series"].shape == (SAMPLES, CHANNELS) and len(marks["time_series"]) == SAMPLES // 100


def fall_silent():
    import time
    from pathlib import Path

    import pylsl

    from palestra.studio.capture.capture import Capture
    from palestra.studio.capture.sources import lsl
    from palestra.studio.capture.specs import sources_of
    from palestra.studio.capture.writer import How

    lsl.SILENT_NS = 200_000_000
    heard = []
    outlet = pylsl.StreamOutlet(pylsl.StreamInfo("Quiet", "EEG", 1, 100, "int16", "quiet"))
    capture = Capture(Path(sys.argv[1]), sources_of(["lsl:Quiet"]), How(), lambda name, text: heard.append(str(text)))
    capture.start()
    end = time.monotonic() + LIMIT_S
    for words in ("No samples come", "Samples come again"):
        while not any(words in one for one in heard) and time.monotonic() < end:
            if words.startswith("Samples"):
                outlet.push_sample([7])
            capture.wait(0.05)
    capture.finish()
    print("\n".join(heard))


def test_an_amplifier_that_falls_silent_is_told_and_told_again_when_it_is_back(alone, tmp_path):
    said = scene("fall_silent", alone, tmp_path / "r").splitlines()
    assert "No samples come" in said[0] and "Samples come again" in said[1]


def look_for_nobody():
    from palestra.errors import PalestraError
    from palestra.studio.capture.sources import lsl

    lsl.FIND_S = 0.2
    try:
        lsl.source_of("Nobody").open()
    except PalestraError as error:
        print(error)


def test_a_stream_that_is_not_there_is_said(alone):
    assert "0 LSL streams are named 'Nobody'" in scene("look_for_nobody", alone)
