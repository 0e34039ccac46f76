import av
import numpy as np
import pytest

from palestra import registry
from palestra.datasets.view import draw
from palestra.errors import PalestraError, UnknownName
from palestra.records import Film
from palestra.report.video import write_film


def watched(file):
    """Every picture of a film, and how many make a second."""
    with av.open(str(file)) as container:
        rate = container.streams.video[0].average_rate
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)], rate


def test_a_film_has_all_its_pictures_in_order(tmp_path):
    shades = range(0, 250, 25)
    count = write_film(Film((np.full((101, 203, 3), shade, np.uint8) for shade in shades), 50), tmp_path / "x.mp4")
    pictures, rate = watched(tmp_path / "x.mp4")
    assert (count, rate) == (10, 50)
    assert [round(picture.mean()) for picture in pictures] == pytest.approx(list(shades), abs=3)
    assert pictures[0].shape == (100, 202, 3)


def test_a_film_of_nothing_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(PalestraError, match="no pictures"):
        write_film(Film([], 50), tmp_path / "x.mp4")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("track_id", "what", "count", "rate"),
    [("gaze-prediction-v1", "train/0000", 100, 100), ("gaze-prediction-v1", "test/0001", 50, 100),
     ("eye-segmentation-v1", "S_0", None, 5)],
)  # fmt: skip
def test_a_sequence_is_shown_as_a_film(track_id, what, count, rate, tiny, tmp_path):
    draw(registry.track(track_id), what, tiny(track_id), tmp_path / "x.mp4")
    pictures, found = watched(tmp_path / "x.mp4")
    assert found == rate
    assert len(pictures) == count or (count is None and len(pictures) >= 18)
    assert pictures[0].shape[1] > 1000


@pytest.mark.parametrize(("track_id", "what"), [("gaze-prediction-v1", "train/9999"), ("eye-segmentation-v1", "S_99")])
def test_an_unknown_sequence_gets_a_hint(track_id, what, tiny, tmp_path):
    with pytest.raises(UnknownName, match=r"Did you mean|Known"):
        draw(registry.track(track_id), what, tiny(track_id), tmp_path / "x.mp4")


def test_a_track_without_sequences_says_so(tiny, tmp_path):
    with pytest.raises(PalestraError, match="stand alone"):
        draw(registry.track("near-eye-gaze-v1"), "x", tiny("near-eye-gaze-v1"), tmp_path / "x.mp4")
