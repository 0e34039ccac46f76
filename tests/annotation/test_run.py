"""Annotating a folder: what is written, what is left alone, and what happens when things go wrong."""

import csv
import os
import struct
import zlib

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.annotation import run
from palestra.annotation.image_size import size_of
from palestra.annotation.overlay import overlay
from palestra.errors import PalestraError
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


def done(folder, out, again=False):
    counts = []
    rows = run.annotate(run.jobs_of(folder, out), out, again, counts.append)
    return rows, sum(counts)


def table(out):
    with (out / "annotations.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_picture_gets_an_overlay_a_mask_and_a_row(eyes, tmp_path):
    out = tmp_path / "out"
    rows, count = done(eyes, out)
    assert count == 1 and table(out) == rows and list(rows[0]) == list(run.COLUMNS)
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
    told = [name for name in run.COLUMNS if name.startswith(("pupil_", "iris_", "gaze")) and "pixels" not in name]
    assert all(row[name] == "" for row in rows for name in told)


def test_a_second_call_does_only_what_is_new_or_changed(eyes, tmp_path, monkeypatch):
    out, asked = tmp_path / "out", []
    annotated = run._annotated
    monkeypatch.setattr(run, "_annotated", lambda how, job: asked.append(job.picture.name) or annotated(how, job))
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
    (job,) = run.jobs_of(eyes, out)
    assert job.is_done
    for file, when_s in ((job.picture, 1), (job.overlay, 2), (job.mask, 2)):
        os.utime(file, (when_s, when_s))
    assert not job.is_done and done(eyes, out) == ([row], 1)
    assert job.is_done


def test_stopped_it_keeps_what_was_done_and_goes_on_from_there(eyes, tmp_path, monkeypatch):
    out, asked = tmp_path / "out", []
    annotated = run._annotated
    for name in ("b.png", "c.png"):
        cv2.imwrite(str(eyes / name), drawn_eye())

    def stopped_at_c(how, job):
        if job.picture.name == "c.png" and not asked:
            asked.append("stop")
            raise KeyboardInterrupt
        asked.append(job.picture.name)
        return annotated(how, job)

    monkeypatch.setattr(
        run,
        "_annotated",
        lambda how, job: stopped_at_c(how, job) if job.picture.name == "c.png" else annotated(how, job),
    )
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
        run.jobs_of(tmp_path / folder, tmp_path / out)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_of_folders_says_where_to_look(eyes):
    with pytest.raises(PalestraError, match=r"not looked into: name one, such as .*eyes"):
        run.jobs_of(eyes.parent, eyes.parent.parent / "out")


def test_pictures_called_like_the_sheet_or_alike_keep_their_endings(tmp_path):
    folder = tmp_path / "eyes"
    folder.mkdir()
    for name in ("contact.png", "a.png", "A.bmp", "b.png"):
        cv2.imwrite(str(folder / name), drawn_eye(200, 125))
    names = {job.picture.name: job.overlay.name for job in run.jobs_of(folder, tmp_path / "out")}
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
