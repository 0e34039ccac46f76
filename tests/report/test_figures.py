import re
import xml.etree.ElementTree as ET

import numpy as np
import polars as pl
import pytest

from palestra.records import Metric
from palestra.report.figures import (
    Drawn,
    cumulative,
    direction_map,
    gaze_distribution,
    label_ratio,
    people_table,
    per_unit,
    svg,
)
from palestra.text import Words
from tests.english import english

PE = Metric("pe_deg", "deg", "lower", None, "PE")
SVG = "{http://www.w3.org/2000/svg}"


def told_people(*of):
    return english(people_table(*of))


def check(chart):
    """Well-formed, light, and nothing from outside."""
    root = ET.fromstring(chart.svg)
    assert root.tag == f"{SVG}svg"
    assert len(chart.svg) < 300_000
    for element in root.iter():
        for name, value in element.attrib.items():
            if name.endswith(("href", "src")):
                assert value.startswith(("#", "data:image/png;base64,"))
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", chart.svg)
    return root


def gaze(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 10, n), rng.normal(0, 8, n), rng.gamma(2, 1, n)


def test_a_large_run_gives_small_figures():
    yaw, pitch, error = gaze(50_000)
    check(cumulative({"a": error, "b": error * 2}, "error (°)"))
    check(direction_map(yaw, pitch, error))


@pytest.mark.parametrize("values", [[], [2.5], [0.0, 0.0], [3.0] * 50, [np.nan, 1.0], [1.0] * 500 + [180.0]])
def test_odd_errors_still_make_curves(values):
    check(cumulative({"a": np.array(values)}, "error (°)"))


def test_charged_trials_do_not_squeeze_the_curve():
    chart = cumulative({"a": [1.0] * 995 + [180.0] * 5}, "error (°)")
    assert "0.5\u00a0% of the trials lie beyond" in str(chart.note)


@pytest.mark.parametrize("n", [0, 1, 2, 40])
def test_a_map_of_few_points_works(n):
    check(direction_map(*gaze(n)))


def test_a_map_hides_cells_with_fewer_than_three_trials():
    cells = f"{SVG}g[@id='QuadMesh_1']"
    assert check(direction_map([0.0], [0.0], [1.0])).find(f".//{cells}") is None
    shown = check(direction_map([0.0] * 3 + [30.0], [0.0] * 4, [1.0] * 4)).find(f".//{cells}")
    assert sum("fill: none" not in path.attrib["style"] for path in shown.findall(f"{SVG}path")) == 1


def test_a_map_of_equal_errors_works():
    yaw, pitch, _ = gaze(500)
    check(direction_map(yaw, pitch, np.full(500, 2.0)))
    check(direction_map(yaw, pitch, np.zeros(500)))


@pytest.mark.parametrize("n", [0, 1, 12, 200])
def test_units_are_shown_however_many(n):
    rows = [{"person": f"P{i}", "trials": 5, "pe_deg": 1.0 + i % 7} for i in range(n)]
    check(per_unit(rows, PE, 2.0))


def test_units_without_a_number_are_left_out():
    check(per_unit([{"person": None, "pe_deg": 1.0}, {"person": "b", "pe_deg": float("nan")}], PE))


@pytest.mark.parametrize("name", ["$\\frac{", "<script>alert(1)</script>", "--><b>", "张伟", "a" * 200])
def test_names_of_people_are_only_text(name):
    chart = per_unit([{"person": name, "pe_deg": 1.0}], PE)
    check(chart)
    assert "<script" not in chart.svg and "<b>" not in chart.svg


@pytest.mark.parametrize("name", ["P1", "张伟"])
def test_words_stay_words_in_fonts_that_browsers_have(name):
    root = check(per_unit([{"person": name, "pe_deg": 1.0}], PE))
    assert name in [text.text for text in root.iter(f"{SVG}text")]
    assert "Noto Sans CJK SC" in root.attrib["font-family"] and root.attrib["font-family"].endswith("sans-serif")


def test_figures_follow_the_colours_of_the_page_and_are_reproducible():
    first, second = (cumulative({"a": [1.0, 2.0]}, "error (°)").svg for _ in range(2))
    assert first == second
    assert "var(--ink, #1d2127)" in first and "var(--accent, #0072b2)" in first


def test_any_figure_becomes_an_svg_element():
    from matplotlib.figure import Figure

    text = svg(Figure())
    assert text.startswith("<svg") and "<!--" not in text and "matplotlib" not in text


@pytest.mark.parametrize("sizes", [(), (0,), (1,), (1000, 0), (50_000, 400, 3000)])
def test_gaze_distributions_of_any_splits(sizes):
    tables = {f"split {n}": pl.DataFrame(dict(zip(("yaw_deg", "pitch_deg"), gaze(n)[:2], strict=True))) for n in sizes}
    check(gaze_distribution(tables))


def test_the_label_ratio_tells_its_ranges():
    frames = pl.DataFrame(
        {"sequence": ["a"] * 10 + ["b"] * 20, "frame": [*range(10), *range(20)], "labelled": [True] * 3 + [False] * 27}
    )
    chart = label_ratio(frames)
    check(chart)
    assert str(chart.note) == (
        "2 sequences with 0–3 labels and 10–20 frames each; 3 of 30 frames are labelled (10.0\u00a0%)."
    )
    check(label_ratio(frames.clear()))


PEOPLE = pl.DataFrame(
    {
        "person": ["a", "b", "c"],
        "sex": ["female", "male", "male"],
        "age": [22, 35, 60],
        "ethnicity": ["asian", "caucasian", "other"],
        "glasses": [True, False, False],
        "makeup": [False, False, True],
        "eye_colour": ["brown"] * 3,
    }
)


def test_people_are_counted_as_in_the_paper():
    splits = {"train": pl.Series(["a", "b"]), "test": pl.Series(["c"])}
    table = told_people(PEOPLE, splits, {"images": {"train": 100, "test": 50}})
    assert [column.lower() for column in table.columns] == [
        "split", "people", "female", "male", "asian", "caucasian", "other", "21–25", "26–30", "31–40", "41+", "glasses",
        "makeup", "images",
    ]  # fmt: skip
    assert table.rows[0] == ["train", 2, 1, 1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 100]
    assert table.rows[-1] == ["total", 3, 1, 2, 1, 1, 1, 1, 0, 1, 1, 1, 1, 150]
    assert table.total


def test_people_in_two_splits_have_no_total():
    splits = {"train": pl.Series(["a", "b"]), "test": pl.Series(["b"])}
    table = told_people(PEOPLE, splits, {})
    assert not table.total and [row[0] for row in table.rows] == ["train", "test"]
    assert "more than one split" in table.note


def test_unknown_people_leave_the_counts():
    table = told_people(None, {}, {"images": {"train": 100, "test": 50}, "sequences": {"train": 3}})
    assert table.columns == ["Split", "Images", "Sequences"]
    assert table.rows == [["train", 100, 3], ["test", 50, None], ["total", 150, 3]]
    assert told_people(None, {"all": pl.Series(["a"])}, {}).rows == [["all", 1]]


def test_counts_stay_last_where_only_a_later_split_tells_its_people():
    table = told_people(PEOPLE.select("person", "sex"), {"test": pl.Series(["a"])}, {"images": {"train": 9, "test": 1}})
    assert table.columns == ["Split", "People", "Female", "Male", "Images"]
    assert table.rows[0] == ["train", None, None, None, 9]


def test_minors_get_a_column_only_where_there_are_any():
    young = PEOPLE.with_columns(age=pl.Series([12, 22, 22]))
    assert "Under 21" in told_people(young, {"all": young["person"]}, {}).columns


def test_a_figure_knows_the_chinese_of_what_is_drawn_into_it():
    text = Drawn()
    assert [text(Words("time", "时间")), text("red"), text(Words("red", "红色")), text(Words("mean", ""))] == [
        "time", "red", "red", "mean",
    ]  # fmt: skip
    assert text.chinese == {"time": "时间", "red": "red", "mean": "mean"}, "a name is no word of ours"
    chart = cumulative({"share of trials": [1.0, 2.0], "b": [1.0]}, Words("error (°)", "误差 (°)"))
    assert chart.words["error (°)"] == "误差 (°)" and chart.words["share of trials"] == "share of trials"
