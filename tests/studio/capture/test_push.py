"""Frames that a device pushes: by a program over the WebSocket, and from the page in a real browser."""

import json
import ssl
import struct
import time
import urllib.error
import urllib.request
from contextlib import ExitStack

import cv2
import numpy as np
import pytest
from playwright.sync_api import sync_playwright
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from palestra.studio.capture.capture import Capture
from palestra.studio.capture.recording import Recording
from palestra.studio.capture.sources import picture_bytes
from palestra.studio.capture.sources.push import MOST_WAITING, Push
from palestra.studio.capture.sources.push_meeting import MOST_NONSENSE, NONSENSE, Pushed
from palestra.studio.capture.sources.push_server import REPLACED
from palestra.studio.capture.writer import How
from tests.studio.capture.conftest import LIMIT_S
from tests.web.browsing import ARGUMENTS, CHROMIUM, require_browser

FAR_MS = 123_456.0  # the device's clock is so far ahead


class Session:
    """A recording of what is pushed."""

    def __init__(self, folder, spec="127.0.0.1:0"):
        self.heard, self.folder, self.devices = [], folder, ExitStack()
        self.source = Push(spec)
        self.capture = Capture(folder, {"phone": self.source}, How(), lambda name, text: self.heard.append(str(text)))
        self.capture.start()

    def finish(self):
        self.capture.finish()
        return Recording(self.folder)

    def wait_until(self, what):
        end = time.monotonic() + LIMIT_S
        while not what():
            assert time.monotonic() < end, self.heard
            self.capture.wait(0.02)

    @property
    def state(self):
        return self.capture.states()[0]


class Device:
    """What a headset's program does."""

    def __init__(self, session):
        address = session.source.address
        opening = connect(address.replace("http", "ws", 1) + "/push", open_timeout=LIMIT_S)
        self.socket = session.devices.enter_context(opening)

    def now_ms(self):
        return time.monotonic() * 1e3 + FAR_MS

    def answer_until(self, is_enough):
        """Answer asks until a message is one that was waited for."""
        while True:
            said = json.loads(self.socket.recv(LIMIT_S))
            if "ask" in said:
                self.socket.send(json.dumps({"answer": said["ask"], "at_ms": self.now_ms()}))
            if is_enough(said):
                return said

    def push(self, picture, taken_ms=None, left_out=0):
        head = struct.pack("<dI", self.now_ms() if taken_ms is None else taken_ms, left_out)
        self.socket.send(head + picture)


@pytest.fixture
def session(tmp_path):
    session = Session(tmp_path / "r")
    yield session
    session.devices.close()
    if not session.capture.is_over:
        session.capture.finish()


def png(number):
    return cv2.imencode(".png", np.full((30, 40), number, np.uint8))[1].tobytes()


def test_a_program_pushes_pictures_and_its_clock_is_measured_by_round_trips(session):
    device = Device(session)
    device.answer_until(lambda said: "go" in said)
    pushed_ns = []
    for number in range(10):
        pushed_ns.append(time.monotonic_ns())
        device.push(png(number), left_out=2 if number == 5 else 0)
        session.wait_until(lambda number=number: session.state.count > number)
    device.socket.close()
    recording = session.finish()
    frames = list(recording.frames("phone"))
    assert [int(frame.images[0][0, 0]) for frame in frames] == list(range(10))
    assert [frame.dropped for frame in frames] == [0] * 5 + [2] + [0] * 4
    np.testing.assert_allclose([frame.at_ns for frame in frames], pushed_ns, atol=1e9)  # on a busy machine
    (offset, *_) = recording.offsets("phone")
    assert offset.offset_ns == pytest.approx(-FAR_MS * 1e6, abs=offset.spread_ns + 1e6)
    assert recording.head.sources[0].about.measures_offset


def test_who_has_no_token_gets_nothing(session):
    place = session.source.address.rpartition("/")[0]
    for path in ("/", "/wrong", "/wrong/push"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(place + path, timeout=LIMIT_S)
    with pytest.raises(InvalidStatus), connect(place.replace("http", "ws", 1) + "/wrong/push", open_timeout=LIMIT_S):
        pass


def test_a_message_that_is_too_large_ends_the_connection(session):
    device = Device(session)
    device.answer_until(lambda said: "go" in said)
    with pytest.raises(ConnectionClosed):
        device.push(bytes(picture_bytes.MOST_BYTES))
        device.answer_until(lambda said: False)
    assert device.socket.close_code == 1009
    session.wait_until(lambda: any("1009" in one for one in session.heard))


def test_what_is_no_picture_is_counted_and_much_of_it_ends_the_connection(session):
    device = Device(session)
    device.answer_until(lambda said: "go" in said)
    device.push(png(1))
    session.wait_until(lambda: session.state.count == 1)
    with pytest.raises(ConnectionClosed):
        for _ in range(MOST_NONSENSE + 1):
            device.push(b"GIF89a nonsense")
        device.answer_until(lambda said: False)
    assert device.socket.close_code == NONSENSE
    other = Device(session)
    other.answer_until(lambda said: "go" in said)
    other.push(png(2))
    session.wait_until(lambda: session.state.count == 2)
    recording = session.finish()
    assert recording.times("phone")["dropped"].to_list() == [0, MOST_NONSENSE + 1]


@pytest.mark.parametrize("text", ["", "{", '{"answer": 99, "at_ms": 1}', '{"answer": 1, "at_ms": 1e300}', "x" * 2000])
def test_words_that_answer_nothing_are_nonsense(session, text):
    device = Device(session)
    with pytest.raises(ConnectionClosed):
        for _ in range(MOST_NONSENSE + 1):
            device.socket.send(text)
        while True:
            device.socket.recv(LIMIT_S)
    assert device.socket.close_code == NONSENSE


def test_a_few_bytes_that_claim_to_be_a_huge_picture_are_not_decoded():
    bomb = bytearray(png(1))
    bomb[16:24] = struct.pack(">II", 60_000, 60_000)
    assert picture_bytes.decoded(bytes(bomb)) is None
    jpeg = bytearray(cv2.imencode(".jpg", np.zeros((8, 16, 3), np.uint8))[1].tobytes())
    assert picture_bytes.size_of(bytes(jpeg)) == (16, 8)
    at = jpeg.index(b"\xff\xc0")
    jpeg[at + 5 : at + 9] = struct.pack(">HH", 65_000, 65_000)
    assert picture_bytes.decoded(bytes(jpeg)) is None
    for rest in (b"", b"\xff\xd8", b"\xff\xd8\xff", picture_bytes.PNG, b"\xff\xd8\xff\xe0\x00\x00" * 9):
        assert picture_bytes.decoded(rest) is None


def test_a_picture_that_is_cut_short_is_counted_as_lost(session):
    device = Device(session)
    device.answer_until(lambda said: "go" in said)
    device.push(png(1)[:40])
    device.push(png(2))
    session.wait_until(lambda: session.state.count == 1)
    assert session.finish().times("phone")["dropped"].to_list() == [1]


def test_of_two_devices_the_newer_one_counts(session):
    first = Device(session)
    first.answer_until(lambda said: "go" in said)
    second = Device(session)
    with pytest.raises(ConnectionClosed):
        first.answer_until(lambda said: False)
    assert first.socket.close_code == REPLACED
    second.answer_until(lambda said: "go" in said)
    second.push(png(7))
    session.wait_until(lambda: session.state.count == 1)


def test_a_port_that_is_taken_is_said(session, tmp_path):
    with pytest.raises(Exception, match="Nothing can be pushed to"):
        Session(tmp_path / "other", f"127.0.0.1:{session.source.address.split(':')[2].split('/')[0]}")


def test_devices_elsewhere_are_met_with_encryption(tmp_path):
    session = Session(tmp_path / "r", "0.0.0.0:0")
    try:
        assert session.source.address.startswith("https://")
        port = session.source.address.split(":")[2].split("/")[0]
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        token = session.source.address.rpartition("/")[2]
        page = urllib.request.urlopen(f"https://127.0.0.1:{port}/{token}", timeout=LIMIT_S, context=context)
        assert b"getUserMedia" in page.read() and "default-src 'none'" in page.headers["Content-Security-Policy"]
        assert "fingerprint" in session.heard[0]
    finally:
        session.finish()


@pytest.mark.parametrize(("taken_ms", "left_out"), [(1e300, 0), (float("nan"), 0), (5e12, 0), (0.0, 2**32 - 1)])
def test_times_and_counts_that_no_device_has_are_nonsense(session, taken_ms, left_out):
    device = Device(session)
    device.answer_until(lambda said: "go" in said)
    device.push(png(1), taken_ms, left_out)
    device.push(png(2))
    session.wait_until(lambda: session.state.count == 1)
    assert session.finish().times("phone")["dropped"].to_list() == [1]


def test_a_flood_of_sizes_makes_no_flood_of_files(session):
    device = Device(session)
    device.answer_until(lambda said: "go" in said)
    for number in range(100):
        device.push(cv2.imencode(".png", np.zeros((10 + number % 2, 10), np.uint8))[1].tobytes())
    session.wait_until(lambda: session.state.count + session.state.dropped == 100)
    recording = session.finish()
    assert recording.times("phone")["segment"].max() < 20 and recording.head.sources[0].dropped > 0


def test_more_frames_than_can_be_decoded_are_refused_and_not_kept_in_memory():
    source = Push("0")
    pushed = Pushed(b"", 0, 0, 0)
    assert [source._take(pushed) for _ in range(MOST_WAITING + 3)] == [True] * MOST_WAITING + [False] * 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["image/jpeg", "image/png"])
def test_a_browsers_camera_is_recorded(session, kind):
    require_browser()
    fake = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    complaints = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, *fake])
        page = browser.new_page(locale="en-GB")
        page.on("console", lambda said: complaints.append(said.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(session.source.address)
        page.get_by_label("Pictures are sent as").select_option(kind)
        page.get_by_role("button", name="Start").click()
        session.wait_until(lambda: session.state.count >= 20)
        page.get_by_text("the recording has").wait_for()
        page.get_by_role("button", name="Stop").click()
        browser.close()
    recording = session.finish()
    assert [said for said in complaints if "favicon" not in said] == []
    times = recording.times("phone")
    frame = list(recording.frames("phone"))[-1]  # the first may be black, as a camera that warms up
    assert frame.images[0].shape == (480, 640, 3) and frame.images[0].std() > 10
    steps = np.diff(times["taken_ns"].to_numpy())
    assert (steps > 0).all() and (times["at_ns"] <= times["arrived_ns"]).all()
    assert recording.offsets("phone")[0].spread_ns < 5e8
