import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from palestra.records import Estimate
from palestra.web.text.sparklines import EDGE, HEIGHT, MOST_POINTS, WIDTH, Scale, scale_of, sparkline, whisker

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)


def points_of(svg: str) -> list[tuple[float, float]]:
    line = ElementTree.fromstring(svg).find("polyline")
    assert line is not None
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in line.attrib["points"].split())]


@given(st.lists(NUMBERS, min_size=1, max_size=400), st.sampled_from(["lower", "higher"]))
def test_a_sparkline_stays_inside_its_box(values: list[float], better: str) -> None:
    points = points_of(sparkline(values, better, "history"))
    assert len(points) <= MOST_POINTS
    assert all(0 <= x <= WIDTH and EDGE - 0.1 <= y <= HEIGHT - EDGE + 0.1 for x, y in points)


@given(st.lists(NUMBERS, min_size=2, max_size=50))
def test_better_is_up_in_both_directions(values: list[float]) -> None:
    lower, higher = (points_of(sparkline(values, better, "")) for better in ("lower", "higher"))
    for (_, down), (_, up) in zip(lower, higher, strict=True):
        assert abs(down + up - HEIGHT) <= 0.11  # the one is the other, upside down


def test_an_improving_error_rises() -> None:
    heights = [y for _, y in points_of(sparkline([5.0, 4.0, 3.0], "lower", ""))]
    assert heights == sorted(heights, reverse=True)  # y grows downwards


def test_thinning_keeps_the_newest_value() -> None:
    values = [1.0] * 990 + [0.0] * 9 + [9.0]
    assert points_of(sparkline(values, "higher", ""))[-1][1] == EDGE


def test_no_values_draw_nothing() -> None:
    assert sparkline([], "lower", "x") == ""
    assert sparkline([float("nan")], "lower", "x") == ""


def test_a_label_is_escaped() -> None:
    label = '"><script>'
    for drawn in (sparkline([1, 2], "lower", label), whisker(Estimate(1), scale_of([Estimate(1)], "lower"), label)):
        assert "<script>" not in drawn
        assert ElementTree.fromstring(drawn).attrib["aria-label"] == label


@given(st.lists(NUMBERS, min_size=1, max_size=30), st.sampled_from(["lower", "higher"]))
def test_the_best_is_always_on_the_scale(values: list[float], better: str) -> None:
    scale = scale_of([Estimate(value) for value in values], better)
    assert scale is not None
    assert scale.low < scale.high
    assert scale.holds(min(values) if better == "lower" else max(values))


def test_one_hopeless_entry_does_not_press_the_others_together() -> None:
    near = [Estimate(2.0 + 0.1 * i) for i in range(8)]
    scale = scale_of([*near, Estimate(90.0)], "lower")
    assert scale is not None
    assert scale.high < 3.5
    assert "››" in whisker(Estimate(90.0), scale, "")


def test_whiskers_end_where_the_interval_does() -> None:
    scale = scale_of([Estimate(0.0), Estimate(10.0)], "lower")
    drawn = whisker(Estimate(5.0, 2.5, 7.5), scale, "")
    ends = [float(x) for x in re.findall(r'class="bar" x1="([\d.]+)%" x2="\1%"', drawn)]
    assert scale is not None
    assert ends == [round(scale.share(2.5), 2), round(scale.share(7.5), 2)]


def test_a_number_without_an_interval_has_no_whiskers() -> None:
    drawn = whisker(Estimate(5.0), scale_of([Estimate(0.0), Estimate(10.0)], "lower"), "")
    assert "bar" not in drawn
    assert "<circle" in drawn


def test_another_scale_changes_one_line_of_a_whisker_and_leaves_the_label_and_what_follows() -> None:
    one = Estimate(2.0, 1.5, 2.5)
    before, after = (whisker(one, Scale(low, 4.0), "2.0").splitlines() for low in (1.0, 0.5))
    assert len(before) == len(after) == 3
    assert [i for i in range(3) if before[i] != after[i]] == [1]
