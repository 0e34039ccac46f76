"""A recording is what was played, frame by frame, with its times."""

import itertools
import re
import threading

import av
import cv2
import numpy as np
import pytest

from palestra.errors import PalestraError
from palestra.studio.capture import layout
from palestra.studio.capture.capture import Capture
from palestra.studio.capture.recording import Recording
from palestra.studio.capture.source import About, Frame, Samples, notice, now_ns
from palestra.studio.capture.specs import sources_of
from palestra.studio.capture.writer import How
from tests import ROOT
from tests.studio.capture.conftest import LIMIT_S, picture, write_pictures


class Given:
    """A source that hands on what a test gives it."""

    waits = False

    def __init__(self, items, about=None, fault=None, opens=False):
        self.spec, self._items, self._about, self._fault = "given", items, about or About("pictures"), fault
        self.is_closed, self._opens = False, opens

    def open(self):
        if isinstance(self._fault, PalestraError) and not self._opens:
            raise self._fault
        return self._about

    def items(self, stop):
        yield from self._items
        if self._fault:
            raise self._fault

    def close(self):
        self.is_closed = True


def capture_of(folder, heard=None, **sources):
    told = [] if heard is None else heard
    capture = Capture(folder, sources, How(), lambda name, text: told.append(f"{name}: {text}"))
    capture.start()
    capture.wait(LIMIT_S)
    capture.finish()
    return Recording(folder)


@pytest.mark.parametrize("png", [False, True])
def test_every_frame_comes_back_as_it_was_played(pictures, record, png):
    recording = Recording(record(f"played:{pictures}@fast", how=How(0.5, png)))
    frames = list(recording.frames("played"))
    assert [frame.number for frame in frames] == list(range(60))
    for number, frame in enumerate(frames):
        np.testing.assert_array_equal(frame.images[0], picture(pictures, number))
    assert not recording.repairs and recording.head.ended_at
    assert recording.head.sources[0].sizes == ["gray8 64×40"]
    assert (recording.head.sources[0].frames, recording.head.sources[0].dropped) == (60, 0)


def test_segments_are_closed_as_time_goes_by_and_any_player_reads_them(pictures, record):
    folder = record(f"played:{pictures}@50", how=How(0.5)) / "played"
    segments = layout.read_lines(folder / layout.SEGMENTS, layout.Segment)
    assert sum(one.count for one in segments) == 60 and len(segments) > 1
    assert not list(folder.glob("*.rows"))
    number = 0
    for segment in segments:
        with av.open(str(folder / f"{segment.number:06d}.mkv")) as video:
            for frame in video.decode(video=0):
                np.testing.assert_array_equal(frame.to_ndarray(format="gray"), picture(pictures, number))
                number += 1
    assert number == 60


def test_frames_have_the_time_of_their_own_clock_on_ours(pictures, record):
    times = Recording(record(f"played:{pictures}@100")).times("played")
    assert times["taken_ns"].to_list() == [number * 10_000_000 for number in range(60)]
    np.testing.assert_allclose(np.diff(times["at_ns"].to_numpy()), 10_000_000, atol=9_000_000)  # on a busy machine
    assert (times["at_ns"] <= times["arrived_ns"]).all()


def test_the_frame_nearest_to_a_moment_is_found(pictures, record):
    recording = Recording(record(f"played:{pictures}@100", how=How(0.5)))
    at_ns = recording.times("played")["at_ns"].to_list()
    assert recording.nearest("played", (6 * at_ns[20] + 4 * at_ns[21]) // 10).number == 20
    assert recording.nearest("played", (4 * at_ns[20] + 6 * at_ns[21]) // 10).number == 21
    assert recording.nearest("played", 0).number == 0
    np.testing.assert_array_equal(recording.nearest("played", 1 << 62).images[0], picture(pictures, 59))


def test_colour_and_sixteen_bits_are_kept_without_loss(tmp_path):
    rng = np.random.default_rng(1)
    colour = rng.integers(0, 255, (31, 47, 3), dtype=np.uint8)
    deep = rng.integers(0, 65535, (31, 47)).astype(np.uint16)
    both = About("pictures", ["colour", "depth"])
    recording = capture_of(tmp_path / "r", rgbd=Given([Frame((colour, deep), now_ns())], both))
    (frame,) = recording.frames("rgbd")
    np.testing.assert_array_equal(frame.images[0], colour)
    np.testing.assert_array_equal(frame.images[1], deep)
    assert frame.taken_ns is None and frame.at_ns == frame.arrived_ns
    for part, form, image in (("colour", "bgr24", colour), ("depth", "gray16le", deep)):
        with av.open(str(tmp_path / "r" / "rgbd" / f"000000-{part}.mkv")) as video:
            np.testing.assert_array_equal(next(video.decode(video=0)).to_ndarray(format=form), image)


def test_a_picture_of_another_size_begins_a_new_segment_and_is_told(tmp_path):
    small, large = np.zeros((8, 16), np.uint8), np.ones((16, 16), np.uint8)
    heard = []
    recording = capture_of(
        tmp_path / "r", heard, eye=Given([Frame((one,), now_ns()) for one in (small, small, large, small)])
    )
    assert [frame.images[0].shape for frame in recording.frames("eye")] == [(8, 16), (8, 16), (16, 16), (8, 16)]
    assert recording.times("eye")["segment"].to_list() == [0, 0, 1, 2]
    assert "changed from gray8 16×8 to gray8 16×16" in heard[0]
    assert recording.head.sources[0].sizes == ["gray8 16×8", "gray8 16×16"]
    assert recording.events()[0].source == "eye"


def test_what_a_source_lost_itself_is_in_the_row_of_the_next_frame(tmp_path):
    image = np.zeros((8, 16), np.uint8)
    frames = [Frame((image,), now_ns()), Frame((image,), now_ns(), lost=3), Frame((image,), now_ns())]
    recording = capture_of(tmp_path / "r", eye=Given(frames))
    assert recording.times("eye")["dropped"].to_list() == [0, 3, 0]
    assert recording.head.sources[0].dropped == 3


def test_frames_that_come_faster_than_they_are_written_are_dropped_and_every_gap_is_in_the_table(tmp_path):
    images = [np.full((64, 64), number % 256, np.uint8) for number in range(256)]
    frames = [Frame((images[number % 256],), 1000 + number) for number in range(4000)]
    recording = capture_of(tmp_path / "r", eye=Given(frames))
    head, times = recording.head.sources[0], recording.times("eye")
    assert head.dropped > 0 and head.frames + head.dropped == 4000
    played = times["arrived_ns"].to_numpy() - 1000
    assert times["dropped"].to_list() == [int(gap) for gap in np.diff(played, prepend=-1) - 1]
    assert head.dropped == times["dropped"].sum() + 3999 - played[-1]


def test_a_clock_that_jumps_is_told_and_recorded_with_both_of_its_offsets(tmp_path):
    image, heard, s = np.zeros((8, 8), np.uint8), [], 1_000_000_000
    about = About("pictures", own_clock="a headset's")
    arrived = [100 * s + number * s // 10 for number in range(40)]
    taken = [at_ns - (60 if number < 20 else 30) * s for number, at_ns in enumerate(arrived)]
    frames = [Frame((image,), *times) for times in zip(arrived, taken, strict=True)]
    recording = capture_of(tmp_path / "r", heard, eye=Given(frames, about))
    assert len(heard) == 1 and "Its clock jumped by +30.000 s" in heard[0]
    assert [event.at_ns for event in recording.events()] == [arrived[20]]
    assert recording.times("eye")["at_ns"].to_list() == arrived


def test_several_sources_are_recorded_at_once_and_one_that_fails_does_not_end_the_others(pictures, tmp_path):
    heard = []
    broken = Given([notice("hello")], fault=PalestraError("the wire broke"), opens=True)
    capture_of(tmp_path / "r", heard, **sources_of([f"a=played:{pictures}@fast"]), b=broken)
    recording = Recording(tmp_path / "r")
    assert len(list(recording.frames("a"))) == 60
    assert heard == ["b: hello", "b: the wire broke"]
    assert recording.head.sources[1].ended == "the wire broke" and broken.is_closed


def test_a_picture_that_cannot_be_kept_ends_its_source_alone(pictures, tmp_path):
    heard = []
    odd = Given([Frame((np.zeros((8, 8), np.float32),), now_ns())])
    capture_of(tmp_path / "r", heard, odd=odd, **sources_of([f"a=played:{pictures}@100"]))
    recording = Recording(tmp_path / "r")
    assert "A picture of float32 with the shape 8×8 cannot be recorded" in heard[0]
    assert [one.frames for one in recording.head.sources] == [0, 60]


def test_the_example_of_the_docs_runs(pictures, tmp_path, monkeypatch, capsys):
    at_ns = now_ns()
    samples = Samples(np.zeros((5, 1), np.float32), np.arange(5) + at_ns, at_ns)
    eeg = Given([samples], About("signal", [], channels=["Fz"], number_kind="float32"))
    capture_of(tmp_path / "session-1", **sources_of([f"left=played:{pictures}@100"]), eeg=eeg)
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "studio-capture.md").read_text(), re.DOTALL)
    exec(compile(code, "docs/studio-capture.md", "exec"), {})
    assert "59 " in capsys.readouterr().out


def test_where_a_source_cannot_be_opened_nothing_is_written_and_others_are_let_go(tmp_path):
    good, bad = Given([]), Given([], fault=PalestraError("no such camera"))
    capture = Capture(tmp_path / "r", {"good": good, "bad": bad}, How(), lambda name, text: None)
    with pytest.raises(PalestraError, match="no such camera"):
        capture.start()
    assert good.is_closed and bad.is_closed and not (tmp_path / "r").exists()


def test_a_recording_is_never_written_over(pictures, record, tmp_path):
    record(f"played:{pictures}@fast")
    with pytest.raises(PalestraError, match="is there already"):
        record(f"played:{pictures}@fast")


def test_a_recording_can_be_read_while_it_goes_on(pictures, tmp_path):
    sources = sources_of([f"played:{pictures}@50,loop"])
    capture = Capture(tmp_path / "r", sources, How(), lambda name, text: None)
    capture.start()
    deadline_ns = now_ns() + int(LIMIT_S * 1e9)
    while capture.states()[0].count < 5 and now_ns() < deadline_ns:
        capture.wait(0.02)
    recording = Recording(tmp_path / "r")
    frames = list(itertools.islice(recording.frames("played"), 5))
    capture.finish()
    assert [frame.number for frame in frames] == [0, 1, 2, 3, 4] and not recording.repairs
    np.testing.assert_array_equal(frames[4].images[0], picture(pictures, 4))
    recording.refresh()
    assert len(recording.times("played")) >= 5


def test_a_fault_of_our_own_is_told_and_not_swallowed(tmp_path):
    with pytest.raises(ZeroDivisionError):
        capture_of(tmp_path / "r", eye=Given([], fault=ZeroDivisionError()))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("camra:0", "Did you mean 'camera'"),
        ("camera", "expected for example camera:0"),
        ("played:/nowhere@100", "no such folder or video"),
        ("played:{pictures}", "say how fast"),
        ("played:{pictures}@0", "more than 0"),
        ("camera:987", "There is no camera 987"),
        ("depth:{pictures}@30", "colour pictures"),
        ("push:nowhere", "names no port"),
    ],
)
def test_a_source_that_is_not_there_is_refused_in_words(pictures, record, spec, said, tmp_path):
    with pytest.raises(PalestraError, match=said):
        record(spec.format(pictures=pictures))
    assert not (tmp_path / "recording").exists()


def test_sources_of_one_kind_get_names_of_their_own(pictures):
    spec = f"played:{pictures}@10"
    assert list(sources_of([spec, f"left={spec}", spec])) == ["played", "left", "played-2"]
    with pytest.raises(PalestraError, match="Two sources are called"):
        sources_of([f"left={spec}", f"left={spec}"])


def test_a_video_is_played_at_its_own_rate(pictures, record, tmp_path):
    first = record(f"played:{pictures}@100", how=How(60))
    video = first / "played" / "000000.mkv"
    again = Recording(record(f"played:{video}@fast", out="again"))
    frames = list(again.frames("played"))
    assert len(frames) == 60
    np.testing.assert_array_equal(frames[7].images[0], picture(pictures, 7))


def test_pairs_of_colour_and_depth_are_kept_together(tmp_path, record):
    folder = tmp_path / "pairs"
    colour, depth = write_pictures(folder / "rgb", 5, (20, 30, 3)), folder / "depth"
    depth.mkdir()
    for number in range(5):
        cv2.imwrite(str(depth / f"{number}.png"), np.full((20, 30), 1000 * number + 7, np.uint16))
    recording = Recording(record(f"depth:{folder}@100"))
    frames = list(recording.frames("depth"))
    assert len(frames) == 5 and recording.head.sources[0].sizes == ["bgr8 30×20, gray16 30×20"]
    for number, frame in enumerate(frames):
        np.testing.assert_array_equal(frame.images[0], picture(colour, number))
        assert frame.images[1].dtype == np.uint16 and (frame.images[1] == 1000 * number + 7).all()
    (depth / "4.png").unlink()
    with pytest.raises(PalestraError, match="1 pictures have no other half"):
        record(f"depth:{folder}@100", out="other")


def test_stopping_ends_sources_that_would_go_on_for_ever(pictures, tmp_path):
    capture = Capture(tmp_path / "r", sources_of([f"played:{pictures}@30,loop"]), How(), lambda name, text: None)
    capture.start()
    assert not capture.is_over
    capture.finish()
    assert capture.is_over and threading.active_count() < 20
    assert Recording(tmp_path / "r").head.ended_at
