import dataclasses
from html.parser import HTMLParser

import cv2
import msgspec
import numpy as np
import polars as pl
import pytest

from palestra.records import Chart, Dataset, Display, Estimate, Gallery, Metric, Table, Track
from palestra.reduce import mean_of, mean_over
from palestra.report.labels import as_text
from palestra.report.page import Page, write_data_page, write_page, write_result
from palestra.scoring import score as scoring
from palestra.scoring.score import Scored
from palestra.text import Words, number
from tests.changed import changed

HOSTILE = '<script>alert("x")</script>\'"><img src=http://evil.example/a.png onerror=alert(1)>眼'
VOID = {"meta", "img", "br", "hr", "link", "input"}


class Parsed(HTMLParser):
    """The elements and the text of a page; it must be balanced."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.open, self.text = [], [], ""
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text += data


def read(file):
    html = file.read_text("utf-8")
    page = Parsed(html)
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids)), "ids are unique"
    for tag, attrs in page.elements:
        assert tag not in ("script", "link", "iframe", "object", "embed", "base", "form")
        for name, value in attrs.items():
            assert not name.startswith("on")
            if name in ("src", "href", "xlink:href", "srcset", "action", "data"):
                assert value.startswith(("data:image/png;base64,", "#"))
    assert "@import" not in html and "url(http" not in html
    return page


def picture(data, row):
    if row["x"] is None:
        raise TypeError("no answer to picture")
    return np.full((40, 100, 3), row["truth_x"], np.uint8)


def rows_of(people=6, steps=3):
    names = [f"P{i}" for i in range(people) for _ in range(steps)]
    return pl.DataFrame(
        {
            "trial": [f"t{i}" for i in range(len(names))],
            "person": names,
            "step": list(range(1, steps + 1)) * people,
            "glasses": [i % 2 == 0 for i in range(people) for _ in range(steps)],
            "truth_x": [float(i) for i in range(len(names))],
        }
    )


def make_track(rows):
    def score(joined):
        error = (pl.col("x") - pl.col("truth_x")).abs()
        return joined.with_columns(error_deg=error, yaw_deg=pl.col("truth_x"), pitch_deg=pl.col("truth_x") / 2)

    def missed(gaps):
        return gaps.with_columns(error_deg=pl.lit(180.0), yaw_deg=pl.col("truth_x"), pitch_deg=pl.col("truth_x") / 2)

    return Track(
id="fake-gaze-v1",
title="Fake gaze",
trials=lambda data: rows.select("trial"),
truth=lambda data: rows,
score=score,
missing=missed,
units=("person",),
metrics=(
            Metric("pe_deg", "deg", "lower", mean_over("step", mean_of("error_deg")), "PE"),
            Metric("hit", "", "higher", lambda rows, draws: np.full(len(draws.weights), 0.5)),
        ),
display=Display(
error="error_deg",
groups=("step", "glasses"),
published={"winner": {"pe_deg": 3.078}, "elsewhere": {"other": 1.0}},
direction=("yaw_deg", "pitch_deg"),
picture=picture,
),
)  # fmt: skip


@pytest.fixture
def track():
    return make_track(rows_of())


def answers_of(track, error=1.0, without=()):
    truth = track.truth(None)
    answers = truth.select("trial", x=pl.col("truth_x") + error)
    return answers.filter(~pl.col("trial").is_in(list(without)))


def page_of(track, tmp_path, answers=None, entrant="us", **changes):
    scored = scoring.score(
        track, scoring.load(track, tmp_path), answers_of(track) if answers is None else answers, entrant
    )
    scored = Scored(msgspec.structs.replace(scored.result, **changes), scored.rows)
    write_result(track, scored, tmp_path, tmp_path / "report.html")
    return read(tmp_path / "report.html")


def test_a_result_page_says_what_it_is(track, tmp_path):
    page = page_of(track, tmp_path)
    numbers = ("1.000°", "0.5000", "lower", "higher", "winner †", "3.078°", "this data set is another one", "Average")
    for words in ("Fake gaze", "fake-gaze-v1", "us", "✓ Valid", *numbers, "By person", "By glasses", "sha256:"):
        assert words in page.text, words
    assert "elsewhere" not in page.text
    assert ("html", {"lang": "en"}) in page.elements


def test_the_page_stands_alone(track, tmp_path):
    page = page_of(track, tmp_path)
    pictures = [attrs for tag, attrs in page.elements if tag == "img"]
    assert len(pictures) == 12 + 4
    assert sum(tag == "svg" for tag, _ in page.elements) == 3


def test_hostile_names_are_only_text(tmp_path):
    rows = rows_of().with_columns(person=pl.col("person") + HOSTILE, trial=pl.col("trial") + HOSTILE)
    page = page_of(make_track(rows), tmp_path, entrant=HOSTILE)
    assert HOSTILE in page.text


def test_trials_without_an_answer_are_counted_and_not_pictured(track, tmp_path):
    page = page_of(track, tmp_path, answers_of(track, without=("t0", "t7")))
    assert "2 more trials had no answer" in page.text
    assert "· error 180.000°" not in page.text, "no caption of a charged trial"


def test_a_run_without_any_answer_has_a_page(track, tmp_path):
    page = page_of(track, tmp_path, answers_of(track).clear())
    assert "no answer" in page.text and "180.000°" in page.text


def test_unknown_groups_and_notes_do_not_count_as_missing_answers(tmp_path):
    rows = rows_of().with_columns(glasses=pl.lit(None, pl.Boolean))
    track = make_track(rows)
    answers = answers_of(track).with_columns(note=pl.lit(None, pl.String))
    page = page_of(track, tmp_path, answers)
    assert "no answer" not in page.text
    assert sum(tag == "img" for tag, _ in page.elements) == 16


def test_a_picture_that_fails_leaves_its_caption(track, tmp_path):
    def broken(data, row):
        raise KeyError("truth_y")

    page = page_of(changed(track, picture=broken), tmp_path)
    assert "no picture" in page.text and not any(tag == "img" for tag, _ in page.elements)


def test_trials_without_an_error_are_not_called_the_worst(track, tmp_path):
    perfect = page_of(track, tmp_path, answers_of(track, error=0.0))
    assert "Some trials" in perfect.text and "No trial has an error." in perfect.text
    assert "Worst trials" not in perfect.text and "Median trials" not in perfect.text
    wrong = answers_of(track, error=0.0).with_columns(
        x=pl.col("x") + pl.when(pl.col("trial") == "t3").then(2.0).otherwise(0.0)
    )
    page = page_of(track, tmp_path, wrong)
    worst = page.text[page.text.index("Worst trials") : page.text.index("Median trials")]
    assert "t3 · error 2.000°" in worst and "error 0.000°" not in worst


def test_where_a_track_says_what_a_trial_came_to_its_error_is_not_shown(track, tmp_path):
    told = changed(track, caption=lambda row: Words("1 of 3 met", "达成 1/3"))
    page = page_of(told, tmp_path)
    assert "t0 · 1 of 3 met" in page.text and "Cumulative error" not in page.text and "t0 · error" not in page.text
    assert "Cumulative error" in page_of(track, tmp_path).text


def test_units_of_one_trial_each_have_no_table_of_their_own(tmp_path):
    assert "By person" not in page_of(make_track(rows_of(6, 1)), tmp_path).text


def test_one_trial_and_equal_errors_work(tmp_path):
    page_of(make_track(rows_of(1, 1)), tmp_path)
    track = make_track(rows_of())
    page_of(track, tmp_path, answers_of(track, error=0.0))


def test_empty_groups_are_left_out(track, tmp_path):
    page = page_of(track, tmp_path, by={"person": [], "step": []})
    assert "By person" not in page.text and "By step" not in page.text


def test_an_invalid_result_says_why(track, tmp_path):
    reasons = ["the sandbox <b>was</b> left"]
    page = page_of(track, tmp_path, valid=False, invalid_because=reasons, metrics={}, by={})
    assert "✗ Not valid" in page.text and reasons[0] in page.text


def test_few_units_have_no_interval(track, tmp_path):
    page = page_of(track, tmp_path, metrics={"pe_deg": Estimate(1.5)})
    assert "Too few of the unit “person”" in page.text


def test_the_last_row_is_an_average_only_where_it_is_one(tmp_path):
    rows = rows_of().filter(pl.col("trial") != "t0", pl.col("person") != "P2")
    track = make_track(rows)
    error = pl.when(pl.col("person") == "P0").then(5.0).otherwise(1.0)
    answers = rows.select("trial", x=pl.col("truth_x") + error)
    text = page_of(track, tmp_path, answers).text
    assert text.count("Average") == 1, "of the steps"
    assert text.count("All") == 2, "of the people and the glasses"


def test_long_tables_are_folded(tmp_path):
    page = page_of(make_track(rows_of(people=60)), tmp_path)
    assert [tag for tag, _ in page.elements].count("details") == 1
    assert "61 rows" in page.text


def test_a_data_page_pictures_files_where_trials_need_the_truth(track, tmp_path):
    (tmp_path / "test" / "labels").mkdir(parents=True)
    for name in ("test/a", "test/b", "truth/a"):
        (tmp_path / name).mkdir(parents=True)
        for i in range(20):
            cv2.imwrite(str(tmp_path / name / f"{i:02d}.png"), np.zeros((4, 6), np.uint8))
    dataset = Dataset(describe=lambda data: [Table("What it holds", ["kind", "n"], [["eyes", 1200]])])
    described = dataclasses.replace(track, dataset=dataset)
    write_data_page(described, tmp_path, tmp_path / "data.html")
    page = read(tmp_path / "data.html")
    assert "What it holds" in page.text and "1,200" in page.text
    assert sum(tag == "img" for tag, _ in page.elements) == 12
    assert "a/01" in page.text and "b/18" in page.text, "names without what they share"
    assert "truth" not in page.text


def test_a_data_page_pictures_trials_that_are_public(track, tmp_path):
    public = changed(track, picture=lambda data, row: np.zeros((4, 6, 3), np.uint8))
    write_data_page(public, tmp_path, tmp_path / "data.html")
    assert sum(tag == "img" for tag, _ in read(tmp_path / "data.html").elements) == 12


def test_a_data_set_without_pictures_has_a_page(track, tmp_path):
    write_data_page(track, tmp_path, tmp_path / "data.html")
    assert "Samples" not in read(tmp_path / "data.html").text


def test_numbers_stand_to_the_right_and_words_to_the_left(tmp_path):
    cells = [["1a", 0.5, "1", "7 s", "7 s – 9 s"], ["b", None, "x", "1,062 s", "–"]]
    table = Table("t", ["name", "share", "mixed", "time", "interval"], cells)
    write_page(Page("t", "", [table]), tmp_path / "p.html")
    page = read(tmp_path / "p.html")
    right = [attrs.get("class", "").startswith("n") for tag, attrs in page.elements if attrs.get("scope") == "col"]
    assert right == [False, True, False, True, True]


def test_blocks_of_every_kind_may_be_empty(tmp_path):
    blocks = [Table("t", ["a"], []), Chart("c", "<svg></svg>"), Gallery("g", []), Gallery("h", [("only words", b"")])]
    write_page(Page("t", "lead", blocks), tmp_path / "p.html")
    assert "only words" in read(tmp_path / "p.html").text


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path):
    file = tmp_path / "p.html"
    file.write_text("old")
    with pytest.raises(TypeError):
        write_page(Page("t", "", [Gallery("g", [("a", 7)])]), file)
    assert file.read_text() == "old" and [path.name for path in tmp_path.iterdir()] == ["p.html"]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(3.0784, "deg", "3.078°"), (0.95124, "", "0.9512"), (12345.6, "", "12,345.600"), (1.5, "s", "1.500 s"),
     (1062.0, "s", "1,062 s"), (None, "deg", "–"), (float("nan"), "", "–")],
)  # fmt: skip
def test_numbers_are_written_as_papers_do(value, unit, text):
    assert number(value, unit) == text


@pytest.mark.parametrize(("cell", "text"), [(True, "yes"), (1200, "1,200"), (0.5, "0.5000"), (None, "–"), ("a", "a")])
def test_cells_are_written_in_words(cell, text):
    assert as_text(cell) == text
