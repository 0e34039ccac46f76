"""A camera by OpenCV: a video file, and a stream over the network that is cut in the middle."""

import time

import numpy as np
import pytest

from palestra.errors import PalestraError
from palestra.studio.capture.capture import Capture
from palestra.studio.capture.recording import Recording
from palestra.studio.capture.specs import sources_of
from palestra.studio.capture.writer import How
from tests.studio.capture.conftest import LIMIT_S, picture
from tests.studio.capture.mjpeg import MjpegCamera


@pytest.fixture
def camera():
    camera = MjpegCamera()
    yield camera
    camera.close()


def wait_until(what, capture):
    end = time.monotonic() + LIMIT_S
    while not what():
        assert time.monotonic() < end
        capture.wait(0.02)


def test_a_video_file_is_read_whole(pictures, record):
    video = record(f"played:{pictures}@fast") / "played" / "000000.mkv"
    frames = list(Recording(record(f"camera:{video}", out="again")).frames("camera"))
    assert len(frames) == 60
    for number, frame in enumerate(frames):
        assert np.abs(frame.images[0][:, :, 1].astype(int) - picture(pictures, number)).max() <= 1  # as OpenCV has it


def test_a_stream_that_is_cut_is_told_and_found_again_while_others_go_on(camera, pictures, tmp_path):
    heard = []
    sources = sources_of([f"camera:{camera.address}", f"played:{pictures}@50,loop"])
    capture = Capture(tmp_path / "r", sources, How(), lambda name, text: heard.append(f"{name}: {text}"))
    capture.start()
    try:
        wait_until(lambda: capture.states()[0].count >= 5, capture)
        camera.plugged.clear()
        wait_until(lambda: heard, capture)
        assert "camera: The camera gives no more pictures" in heard[0]
        before, other = (state.count for state in capture.states())
        wait_until(lambda: capture.states()[1].count > other + 5, capture)
        camera.plugged.set()
        wait_until(lambda: capture.states()[0].count > before + 5, capture)
        assert "is there again" in heard[1]
    finally:
        capture.finish()
    recording = Recording(tmp_path / "r")
    assert len(recording.times("camera")) > before + 5
    assert [event.source for event in recording.events()] == ["camera", "camera"]


def test_an_address_where_no_camera_is_is_refused_in_words(camera, tmp_path):
    camera.plugged.clear()
    (source,) = sources_of([f"camera:{camera.address}"]).values()
    with pytest.raises(PalestraError, match="no camera or video answers there"):
        source.open()
    source.close()
