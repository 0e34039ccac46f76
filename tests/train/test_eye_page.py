"""docs/eye.md tells what the committed weights and answers come to, and nothing else."""

import hashlib
import re

import pytest

from palestra import model_cards, registry
from tests import ROOT

torch = pytest.importorskip("torch")

from train import tables_gaze, tables_segmentation, tables_small  # noqa: E402
from train.tables_scored import made  # noqa: E402

PAGE = (ROOT / "docs" / "eye.md").read_text(encoding="utf-8")
WINNERS = [("gaze winners", entry, "pe_deg", 3) for entry in tables_gaze.ENTRIES] + [
    ("segmentation winners", entry, "miou", 4) for entry in tables_segmentation.ENTRIES
]


def table(name):
    """First cell → the others."""
    (text,) = re.findall(rf"<!-- table: {name} -->\n(.*?)\n?<!-- end -->", PAGE, re.DOTALL)
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {line[0]: line[1:] for line in lines[2:]}


@pytest.mark.parametrize(("name", "entry", "metric", "digits"), WINNERS, ids=[one[1].weights for one in WINNERS])
def test_a_row_of_winners_is_what_its_card_says(name, entry, metric, digits):
    scores, row = model_cards.card(entry.weights).scores, table(name).get(entry.title)
    assert (row is None) == (not scores), "scored answers are on the page and on the card, or on neither"
    if row:
        assert row[1].split(" ")[0] == f"{scores[metric]:.{digits}f}"
        answers = (ROOT / "docs" / "predictions" / entry.file).read_bytes()
        assert hashlib.sha256(answers).hexdigest() == model_cards.card(entry.weights).predictions


SMALL = table("small")


def test_every_solution_whose_weights_are_shipped_has_its_row():
    shipped = [f"{track} `{name}`" for track, name in tables_small.SOLUTIONS if tables_small.ready(track, name)]
    assert list(SMALL) == shipped


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Where data is made once for all solutions of a track."""
    return tmp_path_factory.mktemp("small")


def require_ready(track, name):
    if not tables_small.ready(track, name):
        pytest.skip(f"no weights of {name} for {track} are here")


def is_told(value, told):
    """Processors round differently, and a pixel or a frame may fall to the other side."""
    return value == pytest.approx(float(told), rel=0.01, abs=0.002)


@pytest.mark.parametrize(("track", "name"), tables_small.SOLUTIONS)
def test_the_committed_weights_give_the_numbers_of_the_page(track, name, tiny, tmp_path):
    require_ready(track, name)
    _, told, _ = SMALL[f"{track} `{name}`"]
    assert is_told(tables_small.value_of(track, name, tiny(track), tmp_path), told)


@pytest.mark.slow
@pytest.mark.parametrize(("track", "name"), tables_small.SOLUTIONS)
def test_so_they_do_on_another_headset(track, name, work):
    require_ready(track, name)
    *_, told = SMALL[f"{track} `{name}`"]
    data = made(registry.track(track), "tiny", work, tables_small.SEEDS[1], pictures=True)
    assert is_told(tables_small.value_of(track, name, data, work), told)


@pytest.mark.slow
@pytest.mark.parametrize("module", [tables_gaze, tables_segmentation], ids=["gaze", "segmentation"])
def test_scored_again_answers_give_the_same_tables(module, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(module, "note_scores", lambda *_: None)
    if module is tables_segmentation:
        monkeypatch.setattr(module, "draw_pairs", lambda *_: None)
    for name, text in module.tables(tmp_path, "paper").items():
        assert f"<!-- table: {name} -->\n{text}\n<!-- end -->" in PAGE
