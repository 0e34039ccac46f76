import zipfile

import pytest

from palestra import registry
from palestra.datasets import make
from palestra.datasets.redact import pack, shown
from palestra.errors import PalestraError
from palestra.records import Order


@pytest.mark.parametrize("track_id", sorted(registry.tracks()))
def test_contestants_get_everything_but_the_truth(track_id, tiny, tmp_path):
    track, data = registry.track(track_id), tiny(track_id)
    pack(track, data, tmp_path / "view.zip", lambda count: None)
    with zipfile.ZipFile(tmp_path / "view.zip") as view:
        names = view.namelist()
        assert names == sorted(names)
        view.extractall(tmp_path / "view")
    assert not any((tmp_path / "view" / name).exists() for name in track.dataset.hidden)
    if not track.live:  # what is sent live, nobody has before
        assert track.trials(tmp_path / "view").equals(track.trials(data))
    hidden = [path for name in track.dataset.hidden for path in (data / name).rglob("*") if path.is_file()]
    assert len(names) == sum(path.is_file() for path in data.rglob("*")) - len(hidden)


def test_sequences_without_pictures_are_in_the_pack(tmp_path):
    track, order = registry.track("gaze-prediction-v1"), Order(without=("images",))
    make.run(track, order, make.plan(track, order), tmp_path / "data", lambda weight: None)
    pack(track, tmp_path / "data", tmp_path / "data" / "view.zip", lambda count: None)
    with zipfile.ZipFile(tmp_path / "data" / "view.zip") as view:
        assert "view.zip" not in " ".join(view.namelist())
        view.extractall(tmp_path / "view")
    assert track.trials(tmp_path / "view").equals(track.trials(tmp_path / "data"))


def test_the_labels_of_a_real_release_stay_hidden(tmp_path):
    for place in ("test/labels", "openEDS2020-GazePrediction/test/labels", "test/sequences/0001"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "x.txt").write_text("x")
    names = [str(path.relative_to(tmp_path)) for path in shown(registry.track("gaze-prediction-v1"), tmp_path)]
    assert names == ["test/sequences/0001/x.txt"]


def test_a_pack_has_the_same_bytes_every_time(tiny, tmp_path):
    track, data = registry.track("eye-segmentation-v1"), tiny("eye-segmentation-v1")
    for name in ("a.zip", "b.zip"):
        pack(track, data, tmp_path / name, lambda count: None)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_a_pack_that_is_no_zip_is_refused(tiny, tmp_path):
    with pytest.raises(PalestraError, match=r"\.zip"):
        pack(registry.track("eye-segmentation-v1"), tiny("eye-segmentation-v1"), tmp_path / "x.rar", lambda count: None)
    assert not list(tmp_path.iterdir())
