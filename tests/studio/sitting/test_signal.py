"""EEG of a person who watches films: packets as they come from LSL with the page's triggers, and again from files."""

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from palestra import registry
from palestra.live.session import replay_live
from palestra.records import CAPTURES
from palestra.studio.capture.recording import Recording
from palestra.studio.sitting.newest import Piece
from palestra.studio.sitting.signal import Channels, Marks
from palestra.tracks.emotion_eeg import experiment, v1
from palestra.tracks.emotion_eeg import format as eeg
from palestra.tracks.emotion_eeg.experiment import PACKET
from palestra.tracks.emotion_eeg.person import LivePackets, without_cut_showings
from tests.live.hall import require_sandbox
from tests.studio.capture.test_lsl import alone  # noqa: F401 - a fixture
from tests.studio.present.making_films import write_film

FILM_S = 4.6
STIMULI = """
[screen]
width_mm = 531
height_mm = 299
distance_mm = 600
[[blocks]]
kind = "emotion"
blocks = 2
per_block = 1
fixation_s = 0.3
rest_s = 0.02
sums = 1
films = [
  {{ number = 3, length_s = {length}, valence = "negative" }},
  {{ number = 13, length_s = {length}, valence = "neutral" }},
]
sliders = [{{ name = "joy" }}]
"""


@pytest.fixture
def recorded(tiny, tmp_path):
    """A stored person, and the packets that their file gives."""
    file = next(iter(eeg.recordings(tiny("emotion-eeg-v1"), "test").values()))
    recording = eeg.open_recording(file)
    (tmp_path / "captures").mkdir()
    (tmp_path / "captures" / "capture.toml").touch()
    return recording, list(v1._ticks(v1.schedule(file), 1, True, 0.5))


@pytest.mark.parametrize("pieces", [[1000], [7, 50, 13, 260]])
def test_packets_while_they_are_recorded_are_those_that_the_file_gives(recorded, tmp_path, pieces):
    recording, stored = recorded
    packets = LivePackets(tmp_path, recording.name.removesuffix(".pkl"), [recording.name.removesuffix(".pkl")], 0.5)
    live, at, turn = [], 0, 0
    signal = np.pad(recording.signal, ((0, 0), (0, PACKET)))  # an amplifier goes on when all is over
    while not packets.is_over and at < signal.shape[1]:
        size = pieces[turn % len(pieces)]
        block = signal[:, at : at + size]
        live += packets.take(block[:-1].T, block[-1].astype(np.int64))
        at, turn = at + size, turn + 1
    assert len(live) == len(stored)
    assert live[-1].about == stored[-1].about  # whose packet is cut short where the file ends
    for one, other in zip(live[:-1], stored[:-1], strict=True):
        assert (one.due_s, one.deadline_s, one.trial is None) == (other.due_s, other.deadline_s, other.trial is None)
        assert one.about == other.about
        assert np.array_equal(one.payload["packet"], other.payload["packet"])
    packets.finish()
    written = v1.schedule(eeg.test_file(tmp_path, recording.name.removesuffix(".pkl")))
    assert [tick.trial for tick in v1._ticks(written, 1, True, 0.5)] == [tick.trial for tick in live]


def test_a_film_that_was_broken_off_and_shown_again_leaves_one_showing():
    row = np.array([250, 242, 5, 240, 0, 5, 5, 240, 0, 241, 0, 7, 240, 241, 243, 251])
    kept = without_cut_showings(row)
    assert kept.tolist() == [250, 242, 0, 0, 0, 5, 5, 240, 0, 241, 0, 7, 240, 241, 243, 251]
    assert [video.number for video in experiment.videos(experiment.events(kept))] == [5, 7]


def marks_at(*at_ms_and_codes):
    marks = Marks(250)
    marks._waiting.extend((round(at_ms * 1e6), code) for at_ms, code in at_ms_and_codes)
    return marks


def test_triggers_stand_at_the_nearest_sample_and_never_two_on_one():
    at_ns = np.arange(0, 40_000_000, 4_000_000)
    row = marks_at((9.9, 250), (10.1, 242), (30.5, 5)).on(at_ns)
    assert row.tolist() == [0, 0, 250, 242, 0, 0, 0, 0, 5, 0]


def test_a_trigger_after_these_samples_waits_for_the_next():
    marks, first, second = marks_at((41.0, 243)), np.arange(0, 40, 4), np.arange(40, 80, 4)
    assert not marks.on(first * 1_000_000).any()
    assert marks.on(second * 1_000_000).tolist() == [243, *[0] * 9]


def test_triggers_that_crowd_at_the_end_come_on_the_next_samples():
    marks = marks_at((36.0, 1), (36.1, 2))
    first, second = (np.arange(start, start + 40, 4) * 1_000_000 for start in (0, 40))
    assert [*marks.on(first), *marks.on(second)] == [*[0] * 9, 1, 2, *[0] * 9]


def send_and_play():
    """Sends an EEG over LSL, shows two films, and plays it to a program meanwhile."""
    import threading
    import time

    import pylsl

    from palestra.live.live_data import read_live_data
    from palestra.live.run import Play
    from palestra.live.session import Guests, play_live
    from palestra.studio.sitting.capture_file import CaptureFile
    from palestra.studio.sitting.prepare import prepare_data
    from tests.entrants.talking import free_port
    from tests.studio.sitting.page_player import LIMIT_S, PagePlayer

    folder = Path(sys.argv[1])
    track, port = registry.track("emotion-eeg-v1"), free_port()
    prepare_data(track, folder / "final", folder / "films.toml", CaptureFile(["S1"], {"eeg": "lsl:Amp"}, port))
    info = pylsl.StreamInfo("Amp", "EEG", 34, 250, "float32", "amp")
    info.set_channel_labels(["battery", *reversed(experiment.BATCH_2), "counter"])
    outlet, over = pylsl.StreamOutlet(info), threading.Event()

    def send():
        random, count, began = np.random.default_rng(0), 0, time.monotonic()
        while not over.wait(0.02):
            due = int((time.monotonic() - began) * 250)
            block = random.normal(0, 20, (due - count, 34)).astype(np.float32)
            block[:, 0], block[:, -1] = 99.0, np.arange(count, due)
            if len(block):
                outlet.push_chunk(block)
            count = due

    threading.Thread(target=send, daemon=True).start()
    page = PagePlayer(port, people=1)
    page.start()
    data = read_live_data(track, folder / "final")
    played = play_live(data, Guests(["entropy"]), Play(watched=False), folder / "run")
    over.set()
    page.join(LIMIT_S)
    assert page.failure is None, page.failure
    result = played.scored["entropy"].result
    print(json.dumps([result.valid, [str(one) for one in result.reasons], len(played.heard["entropy"])]))


def test_a_person_is_played_while_their_eeg_comes_and_again_from_the_file_to_the_same_bytes(alone, tmp_path):  # noqa: F811
    import subprocess

    from tests import ROOT

    require_sandbox()
    pytest.importorskip("pylsl")
    (tmp_path / "videos").mkdir()
    for number in (3, 13):
        write_film(tmp_path / "videos" / f"{number:02d}.mp4", FILM_S)
    (tmp_path / "films.toml").write_text(STIMULI.format(length=FILM_S))
    code = f"from {__name__} import send_and_play; send_and_play()"
    command = [sys.executable, "-c", code, tmp_path]
    done = subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    valid, reasons, decided = json.loads(done.stdout.splitlines()[-1])
    assert valid, reasons
    data = tmp_path / "final"
    plan = v1.schedule(data / "test" / "S1.pkl")
    assert decided == len(plan.asks) >= 8
    assert sorted(video.number for video in plan.videos) == [3, 13]
    for video in plan.videos:
        assert (video.stop - video.start) / 250 == pytest.approx(FILM_S, abs=0.1)
    truth = v1.truth(data)
    assert set(truth["video"]) == {3, 13} and set(truth["emotion"]) == {"anger", "neutral"}
    assert replay_live(tmp_path / "run", None).same
    recorded = Recording(data / CAPTURES / "S1-1" / "recorded").samples("eeg")
    signal = eeg.open_recording(data / "test" / "S1.pkl").signal
    first = recorded["Fp1"].to_numpy().tolist().index(signal[0, 0])  # what was sent is what was recorded
    assert np.array_equal(recorded["A1"].to_numpy()[first : first + 5 * PACKET], signal[31, : 5 * PACKET])
    counted = recorded["counter"].to_numpy()[first : first + signal.shape[1]]
    assert np.array_equal(np.diff(counted), np.ones(len(counted) - 1))


def test_a_stream_without_the_electrodes_or_at_another_rate_is_refused():
    from palestra.errors import PalestraError
    from palestra.studio.capture.source import About

    person = v1.person(v1.Settings())
    with pytest.raises(PalestraError, match="no channel Fp1"):
        Channels.of(About("signal", rate_hz=250, channels=list(experiment.BATCH_2[1:])), person, "")
    with pytest.raises(PalestraError, match="has 500 Hz, expected 250 Hz"):
        Channels.of(About("signal", rate_hz=500, channels=list(experiment.BATCH_2)), person, "")
    whole = Channels.of(About("signal", rate_hz=250, channels=[*experiment.BATCH_2, "TRG"]), person, "TRG")
    piece = Piece(np.arange(2), np.arange(66.0).reshape(2, 33))
    assert whole.signal(piece).shape == (2, 32)
    assert whole.triggers(piece, Marks(250)).tolist() == [32, 65]


def test_a_data_set_whose_people_are_all_to_come_has_no_trials_yet(tmp_path):
    (tmp_path / CAPTURES).mkdir()
    (tmp_path / CAPTURES / "capture.toml").touch()
    assert v1.trials(tmp_path).schema == {"trial": pl.String, "person": pl.String, "block": pl.Int64}
    assert v1.truth(tmp_path).is_empty()
