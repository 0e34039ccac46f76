"""The challenge keeps the contract, and scores a submission. Run it with: python -m pytest"""

from pathlib import Path

from palestra import registry
from palestra.contract import check_track
from palestra.scoring import collect, score

HOME = Path(__file__).resolve().parent.parent
DATA = HOME / "data" / "example"
registry.add_folder(HOME / "tracks")


def test_it_keeps_the_contract():
    check_track(registry.track("example-v1"), DATA)


def test_a_submission_is_scored():
    track = registry.track("example-v1")
    sheet = score.load(track, DATA)
    result = score.score(track, sheet, collect(track, HOME / "answers.csv", sheet.trials), "me").result
    assert result.valid and result.metrics[track.ranks.name].value is not None
