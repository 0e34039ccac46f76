"""What users hand in of their own: masks, pupil points, known gaze. What does not fit is refused with its place."""

import cv2
import numpy as np
import pytest

from palestra.annotation.gaze_points import read_points
from palestra.annotation.jobs import MASKS, jobs_of
from palestra.annotation.labels import overlap_counts, pooled_miou, read_labels
from palestra.errors import PalestraError
from tests.eye_networks import drawn_eye, standing_in


@pytest.fixture(scope="module", autouse=True)
def network(tmp_path_factory):
    with standing_in(tmp_path_factory.mktemp("weights")):
        yield


@pytest.fixture
def jobs(tmp_path):
    for name in ("a.png", "left/b.png", "left/c.png"):
        (tmp_path / "eyes" / name).parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(tmp_path / "eyes" / name), drawn_eye(320, 200))
    (tmp_path / "labels" / "left").mkdir(parents=True)
    return jobs_of(tmp_path / "eyes", tmp_path / "out")


def mask(value=3):
    found = np.zeros((200, 320), np.uint8)
    found[80:120, 140:180] = value
    return found


def test_masks_are_called_as_those_that_are_written(jobs, tmp_path):
    for job in jobs[::2]:
        cv2.imwrite(str(tmp_path / "labels" / job.mask.relative_to(tmp_path / "out" / MASKS)), mask())
    found = read_labels(tmp_path / "labels", jobs, tmp_path / "out")
    assert [label.name for label in found] == ["a.png", "left/c.png"]
    assert all((label.mask == mask()).all() and label.image.shape == (200, 320) for label in found)
    assert found[0].pupil_point() is None  # a pupil without an iris around it has no outline


def test_points_and_masks_may_lie_together(jobs, tmp_path):
    cv2.imwrite(str(tmp_path / "labels" / "a.png"), mask())
    (tmp_path / "labels" / "points.csv").write_text("file,x,y,diameter\nleft/b.png,160.5,99,20\nleft/c.png,1,2,\n")
    found = {label.name: label for label in read_labels(tmp_path / "labels", jobs, tmp_path / "out")}
    assert found["left/b.png"].pupil == (160.5, 99, 20) and found["left/c.png"].pupil == (1, 2, None)
    assert found["a.png"].pupil is None and found["left/b.png"].mask is None
    alone = read_labels(tmp_path / "labels" / "points.csv", jobs, tmp_path / "out")
    assert [label.name for label in alone] == ["left/b.png", "left/c.png"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("z.png", mask(), "no picture of that name"),
        ("a.png", mask(4), "the value 4"),
        ("a.png", mask(0), "no eye"),
        ("a.png", mask()[:100], "100 × 320 pixels"),
        ("a.png", np.dstack([mask()] * 3), "200 × 320 × 3 pixels"),
        ("a.png", b"no picture", "not a picture"),
        ("p.csv", b"name,x,y\n", "no column file"),
        ("p.csv", b"file,x,y\nz.png,1,2\n", "no picture of that name"),
        ("p.csv", b"file,x,y\na.png,1,2\na.png,1,2\n", "a second time"),
        ("p.csv", b"file,x,y\na.png,one,2\n", "x is 'one'"),
        ("p.csv", b"file,x,y\na.png,nan,2\n", "x is 'nan'"),
        ("p.csv", b"file,x,y,diameter\na.png,1,2,-3\n", "diameter -3"),
        ("p.csv", b"file,x,y\na.png,1000,2\n", "outside the picture"),
        ("p.csv", b"\xff\xfe", "UTF-16"),
        ("notes.txt", b"", "holds no labels"),
    ],
)
def test_labels_that_do_not_fit_are_refused(jobs, tmp_path, name, content, words):
    file = tmp_path / "labels" / name
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        cv2.imwrite(str(file), content)
    with pytest.raises(PalestraError, match=words):
        read_labels(tmp_path / "labels", jobs, tmp_path / "out")


def test_points_on_a_screen_are_angles(jobs, tmp_path):
    file = tmp_path / "points.csv"
    file.write_text("file,x,y,distance\na.png,0,0,600\nleft/b.png,600,0,600\nleft/c.png,0,-600,600\n")
    assert read_points(file, jobs) == {
        "a.png": (0, 0),
        "left/b.png": pytest.approx((45, 0)),
        "left/c.png": pytest.approx((0, -45)),
    }
    file.write_text("file,yaw,pitch\na.png,1,2\nleft/b.png,3,4\nleft/c.png,5,-6\n")
    assert read_points(file, jobs)["left/c.png"] == (5, -6)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("file,yaw,pitch\na.png,1,2\n", "at least 3"),
        ("file,x,y\na.png,1,2\n", "x, y and distance"),
        ("file,x,y,distance\na.png,1,2,0\n", "distance 0"),
        ("file,yaw,pitch\na.png,80,0\n", "80°"),
        ("file,yaw,pitch\nz.png,8,0\n", "no picture of that name"),
        ("yaw,pitch\n1,2\n", "no column file"),
    ],
)
def test_points_that_do_not_fit_are_refused(jobs, tmp_path, content, words):
    file = tmp_path / "points.csv"
    file.write_text(content)
    with pytest.raises(PalestraError, match=words):
        read_points(file, jobs)


def test_overlap_pools_the_pixels_of_all_masks():
    true, found = mask(), mask()
    found[80:120, 140:160] = 2
    assert pooled_miou([overlap_counts(true, true)]) == 1
    assert pooled_miou([overlap_counts(true, true), overlap_counts(true, found)]) == pytest.approx((1 + 0 + 0.75) / 3)
