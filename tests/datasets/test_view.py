import cv2
import pytest

from palestra import registry
from palestra.datasets.view import draw


@pytest.mark.parametrize("track_id", sorted(registry.tracks()))
def test_a_trial_and_a_sheet_are_drawn(track_id, tiny, tmp_path):
    track, data = registry.track(track_id), tiny(track_id)
    trial = track.truth(data)["trial"][0]
    for what in (trial, "sheet"):
        draw(track, what, data, tmp_path / "x.png")
        image = cv2.imread(str(tmp_path / "x.png"))
        assert image.shape[1] >= 800
        assert image.std() > 10, "there is something to see"


@pytest.mark.parametrize("track_id", sorted(registry.tracks()))
def test_the_data_set_s_page_has_people_and_figures(track_id, tiny, tmp_path):
    draw(registry.track(track_id), "data", tiny(track_id), tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text()
    people = ("Female", "Glasses", "41+", "<svg")
    special = {"emotion-eeg-v1": ("sub", "Batch", "<svg"), "tabletop-manip-v1": ("pick", "insert", "指令", "<img"),
               "remote-gaze-v1": ("14_B_FT_S", "Head tracked", "VGA + D", "<img")}  # fmt: skip
    for word in special.get(track_id, people):
        assert word in page
