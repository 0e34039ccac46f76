import dataclasses

import polars as pl
import pytest

from palestra.entrants import LONGEST_TEXT
from palestra.errors import PalestraError
from palestra.live.answers import answers_of, hear
from palestra.records import StreamAnswers
from palestra.scoring import score
from palestra.text import Words
from tests.changed import changed
from tests.live.test_standings import decision, heard, live_track
from tests.outside.blink_count_v1 import TRACK as BLINKS

TRACK = live_track(trials=4)
TRIALS = TRACK.trials(None)
NAMES = TRIALS["trial"].to_list()


def test_answers_stand_in_the_order_of_the_trials_however_they_were_decided():
    table = answers_of(TRACK, TRIALS, [heard("a", name, i) for i, name in reversed(list(enumerate(NAMES)))])
    assert table["trial"].to_list() == NAMES
    assert table["label"].to_list() == [0, 1, 2, 3]


def test_an_answer_has_the_columns_of_the_template_its_latency_and_a_note():
    table = answers_of(TRACK, TRIALS, [heard("a", NAMES[0], 7, latency_s=0.25)])
    assert table.schema == {
        "trial": pl.String, "label": pl.Int64, "latency_s": pl.Float64, "note": pl.String, "note_zh": pl.String
    }  # fmt: skip
    assert table.row(0) == (NAMES[0], 7, pytest.approx(0.25), "", "")


def test_no_answer_is_null_with_its_reason():
    table = answers_of(TRACK, TRIALS, [heard("a", NAMES[0], None, note="it crashed")])
    assert table.row(0) == (NAMES[0], None, None, "it crashed", "it crashed")


def test_an_answer_that_is_not_understood_is_null_with_what_was_wrong():
    table = answers_of(TRACK, TRIALS, [heard("a", NAMES[0], [1, 2], latency_s=0.25)])
    expected = "returned [1, 2], expected a whole number from 0 to 8", "返回了 [1, 2]，应为 0 至 8 的整数"
    assert table.row(0) == (NAMES[0], None, pytest.approx(0.25), *expected)


def test_a_note_of_the_line_outweighs_what_came_with_it():
    told = hear(TRACK, decision("a", NAMES[0], 3, note="returned a list, and not a number"))
    assert told.said is None and told.note == "returned a list, and not a number"


def test_a_text_has_a_length_however_it_came():
    texts = changed(TRACK, stream=StreamAnswers(TRACK.stream.sittings, lambda answer: {"label": answer}))
    assert hear(texts, decision("a", NAMES[0], "x" * LONGEST_TEXT)).note == ""
    told = hear(texts, decision("a", NAMES[0], "x" * 70_000))
    assert told.said is None and str(told.note) == "returned a text of 70,000 letters, expected 1,000 at most"


def test_what_was_never_asked_has_no_row_and_is_charged_all_the_same():
    table = answers_of(TRACK, TRIALS, [heard("a", NAMES[0], 0)])
    assert table.height == 1
    rows = score.score_trials(TRACK, score.load(TRACK, None), table)
    assert rows["answered"].to_list() == [True, False, False, False]
    assert rows["error_deg"].to_list() == [0.0, 180.0, 180.0, 180.0]


def test_nothing_said_is_an_empty_table_of_the_same_kind():
    assert answers_of(TRACK, TRIALS, []).schema == answers_of(TRACK, TRIALS, [heard("a", NAMES[0], 1)]).schema


def test_a_decision_on_no_trial_is_left_out():
    assert answers_of(TRACK, TRIALS, [heard("a", "P9/99999", 1)]).is_empty()


def test_other_errors_of_a_track_are_not_taken_for_a_wrong_answer():
    def broken(answer):
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        hear(changed(TRACK, hear=broken), decision("a", NAMES[0], 1))


def test_a_track_outside_of_the_package_is_heard_as_well(tmp_path):
    (tmp_path / "truth").mkdir()
    pl.DataFrame({"trial": ["c1", "c2"], "unit": ["P1", "P2"]}).write_csv(tmp_path / "clips.csv")
    pl.DataFrame({"trial": ["c1", "c2"], "truth_blinks": [3, 4]}).write_csv(tmp_path / "truth/clips.csv")
    live = dataclasses.replace(BLINKS, stream=StreamAnswers(lambda data: [], lambda answer: {"blinks": int(answer)}))
    sheet = score.load(live, tmp_path)
    table = answers_of(
        live, sheet.trials, [hear(live, decision("a", "c1", "5")), hear(live, decision("a", "c2", "many"))]
    )
    assert score.score_trials(live, sheet, table)["error"].to_list() == [2, 60]


def test_a_track_that_is_not_live_says_so():
    with pytest.raises(PalestraError, match="blink-count-v1 is not played live"):
        hear(BLINKS, decision("a", "c1", 1))


def test_a_live_track_without_a_template_says_so():
    with pytest.raises(PalestraError, match="which-v1 does not say what columns"):
        answers_of(dataclasses.replace(TRACK, blank=None), TRIALS, [])


@pytest.mark.parametrize("said", [float("nan"), [0.5, float("inf")]])
def test_a_number_that_cannot_be_scored_is_not_an_answer_though_the_track_lets_it_through(said):
    careless = changed(TRACK, stream=StreamAnswers(sittings=lambda data: [], hear=lambda answer: {"label": answer}))
    told = hear(careless, decision("a", NAMES[0], said))
    assert told.said is None and str(told.note) == f"returned label = {said!r}, expected finite numbers"


def test_why_there_is_no_answer_stands_in_both_languages():
    ours = Words("no answer in time", "未按时回答")
    table = answers_of(TRACK, TRIALS, [heard("a", NAMES[0], None, note=ours)])
    assert table.select("note", "note_zh").row(0) == (ours.en, ours.zh)


def test_what_a_track_says_of_an_answer_is_kept_in_both_languages():
    def hear_nothing(answer):
        raise ValueError(Words("expected a number", "应为数字"))

    strict = changed(TRACK, stream=StreamAnswers(sittings=lambda data: [], hear=hear_nothing))
    assert hear(strict, decision("a", NAMES[0], 3)).note == Words("expected a number", "应为数字")
