"""EYEDIAP's videos: frame by frame in any order, the same as bare libraries, and what is refused by name."""

import shutil
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from palestra.errors import Refused
from palestra.tracks.remote_gaze import eyediap
from palestra.tracks.remote_gaze.eyediap.video import CODECS, Video
from tests.tracks.remote_gaze.eyediap import sample

NAME = eyediap.name_of("1_A_FT_M")
FRAMES = 40  # more than two groups of pictures
ORDERS = {
    "forwards": range(FRAMES),
    "backwards": range(FRAMES - 1, -1, -1),
    "jumps": (0, 39, 15, 14, 16, 3, 3, 38, 29, 30, 1, 20, 22, 21),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("videos")
    sample.write(data, sample.recording(str(NAME), FRAMES))
    return data


@pytest.fixture
def data(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "data"))


def file_of(data: Path, which: str) -> Path:
    return data / "Data" / str(NAME) / f"{which}.mov"


def bare(file: Path) -> list[np.ndarray]:
    with av.open(str(file)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def encode(file: Path, pictures: list[np.ndarray], codec: str, format: str, **options: str) -> None:
    with av.open(str(file), "w", format=format) as container:
        stream = container.add_stream(codec, rate=30, options=options)
        stream.height, stream.width = pictures[0].shape[:2]
        stream.pix_fmt = "bgr24" if codec == "zlib" else "yuvj420p" if codec == "mjpeg" else "yuv420p"
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())


def refusal(data: Path, which: str) -> str:
    """What is said when a video is opened and looked through."""
    with pytest.raises(Refused) as caught, eyediap.video(data, NAME, which) as opened:
        list(opened)
    return str(caught.value)


@pytest.mark.parametrize("which", eyediap.VIDEOS)
@pytest.mark.parametrize("order", ORDERS)
def test_picture_n_is_frame_n_in_any_order(made, which, order):
    pictures = bare(file_of(made, which))
    with eyediap.video(made, NAME, which) as opened:
        assert len(opened) == FRAMES
        for index in ORDERS[order]:
            assert np.array_equal(opened[index], pictures[index])


@pytest.mark.parametrize("which", eyediap.VIDEOS)
def test_opencv_sees_the_same_pictures_and_numbers(made, which):
    capture = cv2.VideoCapture(str(file_of(made, which)))
    with eyediap.video(made, NAME, which) as opened:
        for index, picture in enumerate(opened):
            ok, theirs = capture.read()
            assert ok and eyediap.drawn_index(theirs[..., ::-1]) == index
            assert np.abs(theirs[..., ::-1].astype(int) - picture).max() <= (0 if which == "depth" else 3)
    assert not capture.read()[0]


def test_depth_loses_nothing_on_the_way(made):
    recorded = sample.recording(str(NAME), FRAMES)
    with eyediap.video(made, NAME, "depth") as opened:
        for picture, written in zip(opened, sample.disparities(recorded), strict=True):
            drawn = picture[..., 0] != 0
            assert np.array_equal(eyediap.disparity_of(picture)[~drawn], written[~drawn])


def test_colours_lose_little(made):
    recorded = sample.recording(str(NAME), FRAMES)
    with eyediap.video(made, NAME, "rgb_hd") as opened:
        for picture, written in zip(opened, sample.colours(recorded, "rgb_hd"), strict=True):
            below = slice(40, None)  # the corner with the number aside
            assert np.abs(picture[below].astype(int) - written[below]).mean() < 2


@pytest.mark.parametrize("which", eyediap.VIDEOS)
def test_the_numbers_in_the_corners_agree_with_the_frames(made, which):
    with eyediap.video(made, NAME, which) as opened:
        eyediap.verify_index(opened)
        eyediap.verify_index(opened, every=7)


def test_a_video_that_is_one_frame_late_is_found_out(data):
    pictures = bare(file_of(data, "rgb_vga"))
    encode(file_of(data, "rgb_vga"), [pictures[0], *pictures[:-1]], "mpeg4", "mov", qmin="2", qmax="2")
    with eyediap.video(data, NAME, "rgb_vga") as opened, pytest.raises(Refused, match="frame 1: found the number 0"):
        eyediap.verify_index(opened)


def test_pictures_stay_as_they_are_while_others_are_read(made):
    with eyediap.video(made, NAME, "rgb_vga") as opened:
        first = opened[0]
        kept = first.copy()
        for index in range(1, FRAMES):
            _ = opened[index]
    assert np.array_equal(first, kept)


@pytest.mark.parametrize("index", [-1, FRAMES])
def test_a_frame_that_is_not_there_is_an_index_error(made, index):
    with eyediap.video(made, NAME, "depth") as opened, pytest.raises(IndexError):
        _ = opened[index]


def test_a_recording_without_hd_is_nothing_unusual(data):
    file_of(data, "rgb_hd").unlink()
    assert not eyediap.has_video(data, NAME, "rgb_hd")
    assert eyediap.has_video(data, NAME, "rgb_vga")
    with pytest.raises(Refused, match=r"no rgb_hd\.mov"):
        eyediap.video(data, NAME, "rgb_hd")


@pytest.mark.parametrize("bidirectional", ["0", "2"])
@pytest.mark.parametrize("codec", ["mpeg4", "libx264"])
def test_pictures_that_are_stored_in_another_order_are_found_too(data, codec, bidirectional):
    pictures = bare(file_of(data, "rgb_vga"))
    encode(file_of(data, "rgb_vga"), pictures, codec, "mov", bf=bidirectional, g="12", crf="10")
    shown = bare(file_of(data, "rgb_vga"))
    with eyediap.video(data, NAME, "rgb_vga") as opened:
        assert len(opened) == len(shown) == FRAMES
        for index in ORDERS["jumps"]:
            assert np.array_equal(opened[index], shown[index])


# --- refused


@pytest.mark.parametrize("codec", ["mpeg4", "libx264", "ffv1"])
def test_depth_that_was_encoded_anew_is_refused_by_its_codec(data, codec):
    encode(file_of(data, "depth"), bare(file_of(data, "depth")), codec, "matroska")
    message = refusal(data, "depth")
    assert "depth.mov" in message and codec.removeprefix("lib").replace("x264", "h264") in message
    assert "zlib" in message and "lost bits of depth" in message


def test_colours_that_were_encoded_anew_are_refused_by_their_codec(data):
    encode(file_of(data, "rgb_vga"), bare(file_of(data, "rgb_vga")), "mjpeg", "mov")
    assert "encoded anew as mjpeg" in refusal(data, "rgb_vga")


def test_a_video_of_another_size_is_refused(data):
    smaller = [picture[:60, :80].copy() for picture in bare(file_of(data, "rgb_vga"))]
    encode(file_of(data, "rgb_vga"), smaller, "mpeg4", "mov")
    message = refusal(data, "rgb_vga")
    assert "pictures of 80 × 60" in message and "160 × 120, as calibrated" in message


def test_a_video_with_another_number_of_frames_is_refused(data):
    encode(file_of(data, "depth"), bare(file_of(data, "depth"))[:-1], "zlib", "avi")
    message = refusal(data, "depth")
    assert "39 frames" in message and "40, as in head_pose.txt" in message


@pytest.mark.parametrize("which", eyediap.VIDEOS)
@pytest.mark.parametrize("share", [0.02, 0.3, 0.7, 0.95, 0.999])
def test_a_truncated_video_is_refused_wherever_it_was_cut(data, which, share):
    file = file_of(data, which)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    assert f"{which}.mov" in refusal(data, which)


def test_a_truncated_video_with_its_index_at_the_front_is_refused(data):
    file = file_of(data, "rgb_vga")
    encode(file.with_suffix(".first"), bare(file), "mpeg4", "mov")
    with (
        av.open(str(file.with_suffix(".first"))) as source,
        av.open(str(file), "w", format="mov", options={"movflags": "faststart"}) as target,
    ):
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    file.write_bytes(file.read_bytes()[:-500])
    assert "it was cut off" in refusal(data, "rgb_vga")


@pytest.mark.parametrize("content", [b"", b"no video at all", b"\0" * 4096])
def test_what_is_no_video_is_refused(data, content):
    file_of(data, "rgb_vga").write_bytes(content)
    assert "rgb_vga.mov" in refusal(data, "rgb_vga")


def test_noise_in_the_middle_of_depth_is_refused_or_shows_in_no_other_frame(data):
    file = file_of(data, "depth")
    shown, whole = bare(file), bytearray(file.read_bytes())
    middle = len(whole) // 2
    whole[middle : middle + 64] = bytes(64)
    file.write_bytes(whole)
    wrong = 0
    with Video(file, CODECS["depth"]) as opened:
        for index in range(FRAMES):
            try:
                wrong += not np.array_equal(opened[index], shown[index])
            except Refused as refused:
                wrong += 1
                assert f"frame {index}" in str(refused)
    assert 1 <= wrong <= 2
