"""Annotating a folder: what is written, what is left alone, and what happens when things go wrong."""

import csv
import os
import struct
import zlib
from dataclasses import replace

import av
import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palestra.annotation import orientation, run, videos
from palestra.annotation.image_size import size_of
from palestra.annotation.items import Items
from palestra.annotation.jobs import jobs_of, pictures_of
from palestra.annotation.overlay import overlay
from palestra.annotation.table import COLUMNS
from palestra.errors import PalestraError
from palestra.eyes.reader import read_eye
from palestra.eyes.reader.certainty import QUANTITIES
from palestra.eyes.reader.read_eye import read
from tests.eye_networks import drawn_eye, standing_in


@pytest.fixture(scope="module", autouse=True)
def network(tmp_path_factory):
    with standing_in(tmp_path_factory.mktemp("weights")):
        yield


@pytest.fixture
def eyes(tmp_path):
    """A folder with one picture in it."""
    folder = tmp_path / "eyes"
    folder.mkdir()
    cv2.imwrite(str(folder / "a.png"), drawn_eye())
    return folder


def done(folder, out, **how):
    counts = []
    rows = run.annotate(jobs_of(folder, out), out, run.How(**how), counts.append)
    return rows, sum(counts)


def table(out):
    with (out / "annotations.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_picture_gets_an_overlay_a_mask_and_a_row(eyes, tmp_path):
    out = tmp_path / "out"
    rows, count = done(eyes, out)
    assert count == 1 and table(out) == rows and list(rows[0]) == list(COLUMNS)
    row = rows[0]
    assert row["sure"] == "true" and row["why"] == ""
    assert [float(row[f"pupil_{part}"]) for part in ("x", "y")] == pytest.approx([320, 200], abs=1)
    assert float(row["iris_long"]) == pytest.approx(2 * 0.14 * 640, rel=0.03)
    mask = cv2.imread(str(out / "masks" / "a.png"), cv2.IMREAD_UNCHANGED)
    assert mask.shape == (400, 640) and set(np.unique(mask)) == {0, 1, 2, 3}
    assert int(row["pupil_pixels"]) == (mask == 3).sum()
    assert cv2.imread(str(out / "a.png")).shape[:2] == (432, 640)
    assert cv2.imread(str(out / "contact.png")) is not None


def test_every_kind_of_file_is_read(tmp_path):
    folder = tmp_path / "eyes"
    folder.mkdir()
    for number, kind in enumerate(("png", "jpg", "bmp", "tif", "pgm", "JPEG", "TIFF")):
        cv2.imwrite(str(folder / f"{number}.{kind}"), drawn_eye())
    deep = drawn_eye().astype(np.uint16) * 16
    cv2.imwrite(str(folder / "deep.png"), deep)
    cv2.imwrite(str(folder / "deep.tif"), deep)
    cv2.imwrite(str(folder / "clear.png"), np.dstack([drawn_eye()] * 3 + [np.full((400, 640), 255, np.uint8)]))
    (folder / "notes.txt").write_text("no picture")
    rows, _ = done(folder, tmp_path / "out")
    assert len(rows) == 10
    assert {row["file"]: row["why"] for row in rows if row["sure"] == "false"} == {}
    assert (tmp_path / "out" / "deep.tif.png").is_file() and (tmp_path / "out" / "deep.png.png").is_file()


def test_a_large_picture_is_annotated_in_its_own_pixels(tmp_path):
    folder = tmp_path / "eyes"
    folder.mkdir()
    cv2.imwrite(str(folder / "a.png"), cv2.resize(drawn_eye(x=0.45), (3200, 2000)))
    (row,), _ = done(folder, tmp_path / "out")
    assert [float(row[f"pupil_{part}"]) for part in ("x", "y")] == pytest.approx([1440, 1000], abs=4)
    assert cv2.imread(str(tmp_path / "out" / "masks" / "a.png"), cv2.IMREAD_UNCHANGED).shape == (2000, 3200)


def test_pictures_come_in_natural_order(tmp_path):
    folder = tmp_path / "eyes"
    folder.mkdir()
    for name in ("10.png", "9.png", "b2.png", "a10.png", "a9.png"):
        cv2.imwrite(str(folder / name), drawn_eye(200, 125))
    rows, _ = done(folder, tmp_path / "out")
    assert [row["file"] for row in rows] == ["9.png", "10.png", "a9.png", "a10.png", "b2.png"]


def test_what_cannot_be_read_is_a_row_and_no_stop(eyes, tmp_path):
    whole = (eyes / "a.png").read_bytes()
    (eyes / "b-empty.png").write_bytes(b"")
    (eyes / "c-words.png").write_text("no picture")
    (eyes / "d-half.png").write_bytes(whole[: len(whole) // 2])
    (eyes / "e-huge.png").write_bytes(with_size(whole, 100_000, 100_000))
    os.mkfifo(eyes / "f-pipe.png")
    cv2.imwrite(str(eyes / "g-line.png"), np.zeros((10, 900), np.uint8))
    (eyes / "h-lost.png").symlink_to(eyes / "nowhere.png")
    cv2.imwrite(str(eyes / "i.png"), drawn_eye())
    rows, _ = done(eyes, tmp_path / "out")
    assert [row["sure"] for row in rows] == ["true", *["false"] * 7, "true"]
    why = [row["why"] for row in rows[1:-1]]
    for found, words in zip(
        why, ("empty", "not a pic", "damaged", "too large", "cannot", "too narrow", "cannot"), strict=True
    ):
        assert found.startswith(words), found
    assert not (tmp_path / "out" / "d-half.png").exists()
    assert all(row["pupil_x"] == "" for row in rows[1:-1])


def with_size(png, width, height):
    """The same file, which says that it holds a picture of another size."""
    header = b"IHDR" + struct.pack(">II", width, height) + png[24:29]
    return png[:12] + header + struct.pack(">I", zlib.crc32(header)) + png[33:]


def test_no_numbers_are_told_of_what_is_not_sure(tmp_path):
    folder = tmp_path / "eyes"
    folder.mkdir()
    cv2.imwrite(str(folder / "grey.png"), np.full((400, 640), 128, np.uint8))
    cv2.imwrite(str(folder / "two.png"), np.hstack([drawn_eye(320, 400), drawn_eye(320, 400)]))
    rows, _ = done(folder, tmp_path / "out")
    assert [row["why"] for row in rows] == ["no contrast", "two eyes"]
    numbers = ("_x", "_y", "_long", "_short", "_deg")
    told = [name for name in COLUMNS if name.startswith(("pupil_", "iris_", "gaze_")) and name.endswith(numbers)]
    assert len(told) == 12 and all(row[name] == "" for row in rows for name in told)
    assert all(row[f"{quantity}_certainty"] == "0.000" for row in rows for quantity in QUANTITIES)


def test_a_second_call_does_only_what_is_new_or_changed(eyes, tmp_path, monkeypatch):
    out, asked = tmp_path / "out", []
    annotated = run._annotated
    monkeypatch.setattr(
        run, "_annotated", lambda how, turned, item: asked.append(item.job.name) or annotated(how, turned, item)
    )
    cv2.imwrite(str(eyes / "b.png"), drawn_eye())
    first, _ = done(eyes, out)
    assert done(eyes, out) == (first, 2) and asked == ["a.png", "b.png"]
    os.utime(eyes / "b.png")
    (out / "masks" / "a.png").unlink()
    cv2.imwrite(str(eyes / "c.png"), drawn_eye())
    rows, count = done(eyes, out)
    assert asked[2:] == ["a.png", "b.png", "c.png"] and count == len(rows) == 3
    done(eyes, out, again=True)
    assert len(asked) == 8


def test_what_an_older_network_read_is_read_again(eyes, tmp_path):
    out = tmp_path / "out"
    (row,), _ = done(eyes, out)
    (job,) = jobs_of(eyes, out)
    assert job.is_done
    for file, when_s in ((job.source, 1), (job.overlay, 2), (job.mask, 2)):
        os.utime(file, (when_s, when_s))
    assert not job.is_done and done(eyes, out) == ([row], 1)
    assert job.is_done


def test_stopped_it_keeps_what_was_done_and_goes_on_from_there(eyes, tmp_path, monkeypatch):
    out, asked = tmp_path / "out", []
    annotated = run._annotated
    for name in ("b.png", "c.png"):
        cv2.imwrite(str(eyes / name), drawn_eye())

    def stopped_at_c(how, turned, item):
        if item.job.name == "c.png":
            asked.append("c.png" if asked else "stop")
            if asked == ["stop"]:
                raise KeyboardInterrupt
        return annotated(how, turned, item)

    monkeypatch.setattr(run, "_annotated", stopped_at_c)
    with pytest.raises(KeyboardInterrupt):
        done(eyes, out)
    assert [row["file"] for row in table(out)] == ["a.png", "b.png"]
    with (out / "annotations.csv").open("a") as stream:
        stream.write("c.png,true,0.9")  # half a line, as a kill leaves it
    rows, _ = done(eyes, out)
    assert asked == ["stop", "c.png"] and [row["file"] for row in rows] == ["a.png", "b.png", "c.png"] == [
        row["file"] for row in table(out)
    ]


def test_nothing_is_written_over_that_is_not_ours(eyes, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(PalestraError, match="holds something else"):
        done(eyes, out)
    (out / "thesis.txt").unlink()
    done(eyes, out)
    cv2.imwrite(str(eyes / "b.png"), drawn_eye())
    cv2.imwrite(str(out / "b.png"), drawn_eye())
    with pytest.raises(PalestraError, match=r"b\.png is there and was not written by"):
        done(eyes, out)


@pytest.mark.parametrize(
    ("folder", "out", "words"),
    [
        ("nowhere", "out", "no such folder"),
        ("eyes/a.png", "out", "is a file"),
        ("empty", "out", "has no pictures"),
        ("eyes", "eyes", "lies in"),
        ("eyes", "eyes/out", "lies in"),
        ("eyes", "eyes/../eyes/out", "lies in"),
        ("eyes", "eyes/a.png", "lies in"),
        ("eyes", "file", "is a file"),
    ],
)
def test_folders_that_do_not_fit_are_refused_before_anything_is_written(eyes, tmp_path, folder, out, words):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(PalestraError, match=words):
        jobs_of(tmp_path / folder, tmp_path / out)
    assert sorted(tmp_path.rglob("*")) == before


def test_pictures_called_like_the_sheet_or_alike_keep_their_endings(tmp_path):
    folder = tmp_path / "eyes"
    folder.mkdir()
    for name in ("contact.png", "a.png", "A.bmp", "b.png"):
        cv2.imwrite(str(folder / name), drawn_eye(200, 125))
    names = {job.name: job.overlay.name for job in jobs_of(folder, tmp_path / "out")}
    assert names == {"contact.png": "contact.png.png", "a.png": "a.png.png", "A.bmp": "A.bmp.png", "b.png": "b.png"}


@pytest.mark.parametrize("shape", [(400, 640), (640, 400), (120, 200), (1500, 2400)])
def test_an_overlay_is_large_enough_to_be_read_and_not_too_large(shape):
    image = drawn_eye(shape[1], shape[0])
    shown = overlay(image, read(image))
    assert 640 <= shown.shape[1] <= 1280
    picture = shown[: -round(0.05 * shown.shape[1])]
    assert picture.shape[0] / picture.shape[1] == pytest.approx(shape[0] / shape[1], rel=0.01)
    assert (picture.max(axis=2) - picture.min(axis=2)).max() > 60, "something is drawn in colour on a grey picture"


@given(st.integers(1, 70), st.integers(1, 70), st.sampled_from([".png", ".jpg", ".bmp", ".tif", ".pgm"]), st.booleans())
def test_sizes_are_told_by_headers_as_they_are(width, height, kind, coloured):
    shape = (height, width, 3) if coloured and kind != ".pgm" else (height, width)
    data = cv2.imencode(kind, np.zeros(shape, np.uint8))[1].tobytes()
    assert size_of(data) == (width, height)


@given(
    st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"BM", b"II*\0", b"MM\0*", b"II+\0", b"P5 "]),
    st.binary(),
)
def test_no_bytes_whatever_break_the_reading_of_headers(start, rest):
    found = size_of(start + rest)
    assert found is None or min(found) > 0


def test_photographs_with_a_thumbnail_tell_their_own_size():
    data = cv2.imencode(".jpg", np.zeros((30, 50), np.uint8))[1].tobytes()
    inner = cv2.imencode(".jpg", np.zeros((8, 8), np.uint8))[1].tobytes()
    part = b"\xff\xe1" + struct.pack(">H", 2 + len(inner)) + inner
    assert size_of(data[:2] + part + data[2:]) == (50, 30)


# --- folders within folders, and videos


def test_folders_are_read_however_deep_and_outputs_mirror_them(eyes, tmp_path):
    for name in ("left/a.png", "left/deep/2.png", "left/deep/10.png", "masks/a.png", ".hidden/a.png"):
        (eyes / name).parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(eyes / name), drawn_eye(200, 125))
    (eyes / "left" / "round").symlink_to(eyes / "left")
    out = tmp_path / "out"
    rows, _ = done(eyes, out)
    assert [row["file"] for row in rows] == [
        "a.png",
        "left/a.png",
        "left/deep/2.png",
        "left/deep/10.png",
        "masks/a.png",
    ]
    for name in ("a", "left/a", "left/deep/2", "left/deep/10", "masks_/a"):
        assert (out / f"{name}.png").is_file() and (out / "masks" / f"{name}.png").is_file()


def test_annotations_below_the_folder_are_not_annotated(eyes, tmp_path):
    done(eyes, tmp_path / "first")
    (tmp_path / "first").rename(eyes / "done")
    assert [job.name for job in jobs_of(eyes, tmp_path / "out")] == ["a.png"]


def write_video(file, images, rate=30):
    with av.open(str(file), "w") as container:
        stream = container.add_stream("mpeg4", rate=rate)
        stream.height, stream.width = images[0].shape
        stream.pix_fmt, stream.bit_rate = "yuv420p", 8_000_000
        for image in images:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="gray")))
        container.mux(stream.encode(None))


@pytest.mark.parametrize("kind", ["mp4", "avi", "mkv"])
def test_a_video_is_read_frame_by_frame(eyes, tmp_path, kind):
    write_video(eyes / f"clip.{kind}", [drawn_eye(320, 200, x=x) for x in np.linspace(0.4, 0.6, 7)])
    out = tmp_path / "out"
    counts = []
    rows = run.annotate(jobs_of(eyes, out, every=3), out, run.How(), counts.append)
    assert [row["file"] for row in rows] == ["a.png", *(f"clip.{kind}/{frame:06}" for frame in (0, 3, 6))]
    assert [row["frame"] for row in rows] == ["", "0", "3", "6"]
    assert [float(row["time_s"]) for row in rows[1:]] == pytest.approx([0, 0.1, 0.2], abs=0.002)
    assert [float(row["pupil_x"]) for row in rows[1:]] == pytest.approx([128, 160, 192], abs=2)
    assert (out / f"clip.{kind}" / "000003.png").is_file()
    assert cv2.imread(str(out / "masks" / f"clip.{kind}" / "000006.png"), cv2.IMREAD_UNCHANGED).shape == (200, 320)


def test_frames_are_decoded_when_they_are_asked_for(eyes, monkeypatch):
    write_video(eyes / "clip.mp4", [drawn_eye(320, 200)] * 40)
    decoded = []
    frames = videos.frames

    def counted(file, wanted):
        for frame in frames(file, wanted):
            decoded.append(frame.number)
            yield frame

    monkeypatch.setattr(videos, "frames", counted)
    waiting = iter(Items([job for job in pictures_of(eyes) if job.frame is not None]))
    for _ in range(3):
        next(waiting)
    assert decoded == [0, 1, 2]


def test_videos_that_cannot_be_read_are_rows_and_no_stop(eyes, tmp_path):
    write_video(eyes / "whole.avi", [drawn_eye(320, 200)] * 4)
    whole = (eyes / "whole.avi").read_bytes()
    (eyes / "b-empty.mp4").write_bytes(b"")
    (eyes / "c-words.mkv").write_text("no video")
    (eyes / "d-list.mp4").write_text("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n")
    (eyes / "e-concat.mp4").write_text(f"ffconcat version 1.0\nfile {eyes / 'whole.avi'}\n")
    (eyes / "f-half.avi").write_bytes(whole[: len(whole) // 3])
    write_video(eyes / "g-narrow.mp4", [np.zeros((16, 640), np.uint8)] * 2)
    os.mkfifo(eyes / "h-pipe.mp4")
    rows, _ = done(eyes, tmp_path / "out")
    why = {row["file"]: row["why"] for row in rows}
    assert why["b-empty.mp4"] == "empty file"
    assert {why[name] for name in ("c-words.mkv", "d-list.mp4", "e-concat.mp4")} == {"damaged file"}
    assert why["g-narrow.mp4"].startswith("too narrow") and why["h-pipe.mp4"].startswith("cannot be read")
    assert [why[f"whole.avi/{frame:06}"] for frame in range(4)] == [""] * 4
    assert why["a.png"] == ""


@given(st.binary(max_size=300), st.sampled_from([".mp4", ".avi", ".mkv"]), st.integers(0, 3000))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_whatever_break_the_reading_of_videos(tmp_path, rest, kind, cut):
    file = tmp_path / f"whole{kind}"
    if not file.exists():
        write_video(file, [drawn_eye(64, 40)] * 3)
    odd = tmp_path / f"odd{kind}"
    odd.write_bytes(file.read_bytes()[:cut] + rest)
    try:
        count = videos.frame_count(odd)
        assert sum(1 for _ in videos.frames(odd, set(range(10)))) <= max(count, 10)
    except videos.Unreadable as error:
        assert str(error)


# --- which way up


def votes(monkeypatch, of):
    """Pictures vote by name, as the network made by hand knows no up and down."""
    monkeypatch.setattr(orientation, "_vote", lambda settings, item: of[item.job.name])


def test_a_folder_is_read_the_way_up_that_its_pictures_vote_for(tmp_path, monkeypatch):
    folder, out = tmp_path / "eyes", tmp_path / "out"
    for name, x in (("up/1.png", 0.45), ("up/2.png", 0.45), ("down/1.png", 0.55), ("down/2.png", 0.55)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(folder / name), drawn_eye(x=x))
    of = {"up/1.png": 0.9, "up/2.png": -0.5, "down/1.png": -0.9, "down/2.png": 0.3}
    votes(monkeypatch, of)
    rows, _ = done(folder, out)
    assert {row["file"]: row["upside_down"] for row in rows} == {
        "up/1.png": "false", "up/2.png": "false", "down/1.png": "true", "down/2.png": "true",
    }  # fmt: skip
    assert all(row["sure"] == "true" for row in rows)
    for row in rows:  # the numbers are the picture's own, whichever way up it was read
        x = 0.45 if row["file"].startswith("up") else 0.55
        assert float(row["pupil_x"]) == pytest.approx(640 * x, abs=1)
        mask = cv2.imread(str(out / "masks" / row["file"]), cv2.IMREAD_UNCHANGED)
        assert np.nonzero(mask == 3)[1].mean() == pytest.approx(640 * x, abs=1)
        assert np.sign(float(row["gaze_yaw_deg"])) == np.sign(x - 0.5)


def test_a_folder_goes_on_as_it_began_and_a_user_may_know_better(eyes, tmp_path, monkeypatch):
    out = tmp_path / "out"
    votes(monkeypatch, {"a.png": -1.0, "b.png": 1.0})
    done(eyes, out)
    cv2.imwrite(str(eyes / "b.png"), drawn_eye())
    assert [row["upside_down"] for row in done(eyes, out)[0]] == ["true", "true"]
    assert [row["upside_down"] for row in done(eyes, out, orientation="upright")[0]] == ["false", "false"]
    assert [row["upside_down"] for row in done(eyes, out)[0]] == ["false", "false"]


# --- each quantity for itself


def test_a_gaze_that_is_uncertain_takes_nothing_else_away(eyes, tmp_path, monkeypatch):
    of_agreement = read_eye.of_agreement

    def doubtful(maps, looks, mask):
        yield from of_agreement(maps, [replace(look, spread=0.5) for look in looks], mask)

    monkeypatch.setattr(read_eye, "of_agreement", doubtful)
    (row,), _ = done(eyes, tmp_path / "out")
    assert row["sure"] == row["pupil_sure"] == row["iris_sure"] == row["mask_sure"] == "true"
    assert row["gaze_sure"] == "false" and row["gaze_yaw_deg"] == "" and row["why"] == "gaze uncertain"
    assert float(row["pupil_x"]) == pytest.approx(320, abs=1)
