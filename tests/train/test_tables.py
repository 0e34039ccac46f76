"""The tables of docs/eye.md: numbers come from scored files, and go where their marks are."""

import shutil

import numpy as np
import pytest

from palestra import model_cards, registry
from tests.eye_networks import cards_like, weights_in

torch = pytest.importorskip("torch")

from train import tables_gaze, tables_segmentation  # noqa: E402
from train.segmentation_common import write_masks  # noqa: E402
from train.tables_page import markdown, placed  # noqa: E402
from train.tables_scored import made  # noqa: E402


@pytest.fixture
def own_cards(tmp_path):
    """Cards that may be written on."""
    folder = tmp_path / "cards"
    folder.mkdir()
    for file in cards_like("*.toml"):
        shutil.copy(file, folder)
    with weights_in(folder):
        yield folder


def test_a_table_takes_the_place_between_its_marks_and_no_other():
    page = "a\n<!-- table: one -->\nold\n<!-- end -->\nb\n<!-- table: two -->\nkept\n<!-- end -->\n"
    fresh = placed(page, "one", markdown(["x", "y"], [["1", "2"]]))
    expected = "| x | y |\n| --- | ---: |\n| 1 | 2 |"
    assert fresh == page.replace("old", expected)
    with pytest.raises(SystemExit, match="found 0 places for the table three"):
        placed(page, "three", "")


def test_gaze_tables_show_published_numbers_beside_what_answers_score(tmp_path, own_cards):
    track = registry.track("gaze-prediction-v1")
    data = made(track, "tiny", tmp_path)
    straight = track.blank(track.trials(data))
    true = track.truth(data)
    near = straight.with_columns(*(true[f"truth_{axis}"].alias(axis) for axis in "xyz"))
    answers = tmp_path / "answers"
    answers.mkdir()
    track.writes(straight, answers / "gaze_baseline.json")
    track.writes(near, answers / "gaze_palestra.json")
    found = tables_gaze.tables(tmp_path, "tiny", answers)
    lines = {line.split(" | ")[0].strip("| "): line for line in found["gaze winners"].splitlines()}
    assert "5.368" in lines["baseline"] and lines["ours"].split(" | ")[2].startswith("0.000")
    assert lines["baseline"].split(" | ")[3].startswith("+") and "random_b" not in lines
    assert model_cards.card("gaze_prediction_palestra").scores["pe_deg"] == pytest.approx(0, abs=1e-3)
    assert "4.58" in found["gaze estimators"] and "5.28 / 4.56 / 6.73 / 11.89" in found["gaze steps"]
    kinds = found["gaze movements"].splitlines()[0]
    assert "fixation" in kinds and "pursuit" in kinds


def test_segmentation_tables_and_pairs_come_from_masks(tmp_path, own_cards):
    track = registry.track("eye-segmentation-v1")
    data = made(track, "tiny", tmp_path)
    answers = tmp_path / "answers"
    answers.mkdir()
    names = [trial.removesuffix(".npy") for trial in track.truth(data)["trial"]]
    write_masks(answers / "segmentation_baseline.zip", names, torch.zeros(len(names), 400, 640, dtype=torch.uint8))
    found = tables_segmentation.tables(tmp_path, "tiny", answers)
    assert "0.8410" in found["segmentation winners"] and "0.000 | 0.000 | 0.000" in found["segmentation classes"]
    scores = model_cards.card("eye_segmentation_baseline").scores
    assert (
        scores["iou_pupil"] == 0
        and 0 < scores["miou"] < 0.3
        and np.isclose(scores["miou"] * 4, scores["iou_background"], atol=1e-3)
    )
    assert (tmp_path / tables_segmentation.PAIRS.name).stat().st_size > 10_000


def test_without_answers_the_page_says_so(tmp_path, own_cards):
    found = tables_gaze.tables(tmp_path, "tiny", tmp_path)
    assert set(found.values()) == {tables_gaze.NOTHING}
