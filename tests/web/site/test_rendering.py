import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.contest.rules.model import Quota
from palestra.records import Estimate
from palestra.text import LANGUAGES
from palestra.web.actions.registry import ACTIONS
from palestra.web.api.routes import READS
from palestra.web.api.transfers import TRANSFERS
from palestra.web.match.pages import MATCHES
from palestra.web.match.public_pages import HALL
from palestra.web.models import live, public
from palestra.web.pages.desk import DESK
from palestra.web.pages.public import PAGES as PAGES_SERVED
from palestra.web.pages.sign_in import OUTSIDE
from palestra.web.site.rendering import STATIC, brackets, render, static
from palestra.web.text import numbers
from tests.web import samples
from tests.web.sample_contest import NOW, frame
from tests.web.sample_desk import desk_overview
from tests.web.sample_live import screen

PAGES = sorted(samples.pages())
EMPTY = {
    "area",
    "base",
    "br",
    "col",
    "hr",
    "img",
    "input",
    "link",
    "meta",
    "source",
    "wbr",
    "circle",
    "line",
    "polyline",
}


def html_of(name: str, language: str = "en") -> str:
    template, around, page = samples.pages()[name]
    return render(template, language, frame=around, page=page)


class Outline(HTMLParser):
    """Elements, ids and what refers to them; complains of tags that do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.named: list[tuple[str, dict[str, str]]] = []
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.named.append((tag, values))
        if "id" in values:
            self.ids.append(values["id"])
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.named.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")


def outline(html: str) -> Outline:
    parser = Outline()
    parser.feed(html)
    return parser


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_well_formed(name: str, language: str) -> None:
    page = outline(html_of(name, language))
    assert page.faults == []
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)


@pytest.mark.parametrize("name", PAGES)
def test_every_field_has_a_label_and_every_reference_a_target(name: str) -> None:
    page = outline(html_of(name))
    labelled = {values["for"] for tag, values in page.named if tag == "label" and "for" in values}
    for tag, values in page.named:
        hidden = values.get("type") in ("hidden", "checkbox")  # checkboxes stand inside their labels
        if tag in ("input", "select", "textarea") and not hidden and "aria-label" not in values:
            assert values.get("id") in labelled, values
        for reference in ("aria-labelledby", "aria-describedby", "for"):
            assert reference not in values or values[reference] in page.ids, values


@pytest.mark.parametrize("name", PAGES)
def test_no_page_needs_a_loose_content_policy(name: str) -> None:
    """No script or style inside, no handler attribute, nothing from another host."""
    page = outline(html_of(name))
    for tag, values in page.named:
        assert tag != "style"
        assert "style" not in values
        assert not [key for key in values if key.startswith(("on", "hx-on"))]
        assert tag != "script" or values["src"].startswith("/static/")
        assert tag != "link" or values["href"].startswith("/static/")


@pytest.mark.parametrize("name", PAGES)
def test_every_form_that_changes_something_carries_the_token(name: str) -> None:
    html = html_of(name)
    for form in re.findall(r'<form[^>]*method="post".*?</form>', html, flags=re.DOTALL):
        assert 'name="csrf" value="csrf-sample"' in form


class Forms(HTMLParser):
    """The fields of each form that does something, by the action's name."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, set[str]]] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._inside = values.get("action", "").startswith("/do/")
            if self._inside:
                self.found.append((values["action"].removeprefix("/do/"), set()))
        elif self._inside and tag in ("input", "select", "textarea") and "name" in values:
            self.found[-1][1].add(values["name"].partition(".")[0])


@pytest.mark.parametrize("name", PAGES)
def test_every_form_sends_what_its_action_takes(name: str) -> None:
    parser = Forms()
    parser.feed(html_of(name))
    for action, fields in parser.found:
        takes = ACTIONS[action].takes
        needed = {field.name for field in msgspec.structs.fields(takes) if field.required}
        ours = {"csrf", "next", "once", "page", "again", "username"}  # of the page, or for the browser's own memory
        assert needed <= fields, action
        assert fields - ours <= set(takes.__struct_fields__), action


def test_every_link_leads_to_a_page() -> None:
    """Of those that the templates make; addresses in a view come from whoever fills it."""
    handlers = [*PAGES_SERVED, *DESK, *MATCHES, *HALL, *OUTSIDE, *READS, *TRANSFERS]
    paths = {path for handler in handlers for path in handler.paths}
    known = [re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)) for path in paths]
    from_views = re.compile(r"/(static/|api/)")
    for name in PAGES:
        for tag, values in outline(html_of(name)).named:
            address = values.get("href", "").partition("?")[0].partition("#")[0]
            if tag == "a" and address.startswith("/") and not from_views.match(address):
                assert any(one.fullmatch(address) for one in known), (name, address)


@pytest.mark.parametrize("name", PAGES)
def test_names_of_strangers_are_made_harmless(name: str) -> None:
    assert "<script>alert" not in html_of(name)


@pytest.mark.parametrize("name", ["board", "screen", "desk-teams", "desk-copies"])
def test_a_hostile_name_is_shown_as_it_was_written(name: str) -> None:
    assert "<bdi>&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;</bdi>" in html_of(name)


@pytest.mark.parametrize("name", ["desk", "desk-teams", "desk-verification", "desk-rescoring", "desk-accounts"])
def test_a_dangerous_button_asks_first(name: str) -> None:
    """What it does and, but where nothing is judged, a reason, stand between the first button and the one that acts."""
    html = html_of(name)
    found = re.findall(r'<details class="confirm danger">(.*?)</details>', html, flags=re.DOTALL)
    assert found
    for one in found:
        assert '<p class="what">' in one
        assert "<textarea" in one or "release" in one or "apply" in one


def test_pages_link_to_the_other_language_and_keep_their_address() -> None:
    template, _, page = samples.pages()["audit"]
    html = render(template, "en", frame=frame("/audit?kind=result.made"), page=page)
    assert 'href="/audit?kind=result.made&amp;lang=zh"' in html
    assert '<html lang="en">' in html
    assert '<html lang="zh-CN">' in html_of("audit", "zh")


def test_a_frozen_board_says_as_of_when() -> None:
    html = html_of("board-frozen")
    assert "The board is frozen." in html
    assert "6 Oct 2022, 12:00" in html
    assert "30 % of the people" in html


def test_a_baseline_stands_unranked_in_its_place() -> None:
    html = html_of("board")
    rows = re.findall(r"<tr class=.*?</tr>", html, flags=re.DOTALL)
    names = [re.findall(r"<bdi>(.*?)</bdi>", row)[0] for row in rows if "<bdi>" in row]
    assert names.index("ResNet-18, as published") == 3
    assert "Unranked" in rows[3]


def test_my_team_is_marked_once() -> None:
    html = html_of("board")
    assert html.count('class="mine') == 1
    assert html.count("My team") == 1


def row(rank: int | None, band: int | None) -> public.BoardRow:
    return public.BoardRow(name="x", team="t", rank=rank, band=band)


def test_brackets_join_a_band_and_run_past_a_baseline_within_it() -> None:
    rows = [row(1, 1), row(None, None), row(2, 1), row(3, 2), row(None, None), row(4, 3), row(5, 3)]
    assert brackets(rows) == ["start", "middle", "end", "alone", "none", "start", "end"]


@given(st.lists(st.one_of(st.none(), st.integers(0, 2)), max_size=12))
def test_every_bracket_that_starts_also_ends(steps: list[int | None]) -> None:
    band, rows = 1, []
    for rank, step in enumerate(steps):
        band += step or 0
        rows.append(row(None, None) if step is None else row(rank + 1, band))
    signs = "".join({"start": "(", "end": ")"}.get(name, "") for name in brackets(rows))
    assert signs == "()" * (len(signs) // 2)


@pytest.mark.parametrize("name", ["submission-platform", "submission-refused"])
def test_our_fault_and_theirs_are_told_apart(name: str) -> None:
    html = html_of(name)
    assert ("This was our fault" in html) == (name == "submission-platform")
    assert ("faults to mend" in html) == (name == "submission-refused")


def test_the_name_rule_and_the_limits_stand_before_the_upload() -> None:
    html = html_of("submissions")
    before = html[: html.index('<form class="uploader"')]
    assert "清华眼动小队_20221012.csv" in before
    assert "200 MB" in before
    assert "5 submissions per day" in before


def test_an_error_page_shows_no_traceback() -> None:
    html = html_of("error-500")
    assert "not your fault" in html
    assert "7c1f-09aa" in html


@pytest.mark.parametrize("count", [3, 8, 16])
def test_the_screen_shows_every_team_once(count: int) -> None:
    html = render("screen_body.html", "en", frame=frame("/screen"), page=screen(count))
    assert html.count("<tr data-team=") == count


def test_a_fragment_stands_alone() -> None:
    """Parts that are sent live are given the same views, without the page around them."""
    parts = {"board_rows.html": samples.board(), "submission_state.html": samples.submission(),
             "submission_rows.html": samples.submissions(), "screen_body.html": screen(),
             "announcements.html": samples.home(), "desk/now.html": desk_overview()}  # fmt: skip
    for template, page in parts.items():
        html = render(template, "zh", frame=frame("/"), page=page)
        assert "<html" not in html
        assert outline(html).faults == []


def test_static_addresses_change_with_the_file() -> None:
    assert re.fullmatch(r"/static/base\.css\?v=[0-9a-f]{10}", static("base.css"))


@pytest.mark.parametrize("file", ["htmx.min.js", "sse.min.js", "uPlot.iife.min.js"])
def test_vendored_scripts_come_with_their_licence(file: str) -> None:
    licence = file.split(".")[0] + ".LICENSE"
    assert (STATIC / "vendor" / file).stat().st_size > 1000
    assert len((STATIC / "vendor" / licence).read_text("utf-8")) > 200


def test_our_files_reach_for_no_outside_address() -> None:
    own = [file for file in STATIC.iterdir() if file.suffix in (".css", ".js")]
    assert own
    for file in own:
        assert not re.search(r"(https?:)?//[a-z]+\.[a-z]", file.read_text("utf-8")), file.name


def test_scripts_neither_evaluate_text_nor_write_html() -> None:
    for file in [file for file in STATIC.iterdir() if file.suffix == ".js"]:
        assert not re.search(r"\beval\(|new Function|\.innerHTML|document\.write", file.read_text("utf-8")), file.name


def test_a_live_point_is_what_the_script_reads() -> None:
    text = (Path(STATIC) / "live_run.js").read_text("utf-8")
    fields = {*live.LivePoint.__struct_fields__} - {"at_s"}
    assert {name for name in fields if f"point.{name}" not in text} == set()


# Numbers and times


@pytest.mark.parametrize(
    ("value", "unit", "written"),
    [
        (3.0781, "deg", "3.078°"),
        (0.95123, "", "0.9512"),
        (7.0, "points", "7"),
        (None, "deg", "–"),
        (float("nan"), "", "–"),
    ],
)
def test_numbers_are_written_as_boards_need_them(value: float | None, unit: str, written: str) -> None:
    assert numbers.number(value, unit) == written


def test_an_interval_is_left_out_where_there_is_none() -> None:
    assert numbers.interval(Estimate(1.0)) == ""
    assert numbers.interval(Estimate(3.0, 2.91, 3.24), "deg") == "2.910° – 3.240°"


@pytest.mark.parametrize(
    ("count", "written"),
    [(0, "0 B"), (999, "999 B"), (1_000, "1 kB"), (7_812_345, "7.81 MB"), (200_000_000, "200 MB"), (999_600, "1 MB")],
)
def test_sizes_are_written_short(count: int, written: str) -> None:
    assert numbers.size(count) == written


@given(st.integers(0, 10**15))
def test_a_size_never_has_more_than_three_digits_before_its_unit(count: int) -> None:
    assert re.fullmatch(r"\d{1,4}(\.\d{1,2})? ([kMGT]?B)", numbers.size(count))


def test_durations_name_their_two_largest_units() -> None:
    assert numbers.duration("en", 2 * 86_400_000 + 5 * 3_600_000 + 20 * 60_000) == "2 d 5 h"
    assert numbers.duration("zh", 65_000) == "1 分钟 5 秒"
    assert numbers.duration("en", 86_400_000 + 60_000) == "1 d"
    assert numbers.duration("en", 0) == "0 s"


def test_quotas_are_told_in_words() -> None:
    assert numbers.quota("en", Quota(1, "day")) == "1 submission per day"
    assert numbers.quota("en", Quota(3, "window", 7 * 86_400_000)) == "3 submissions in any 7 d"
    assert numbers.quota("zh", Quota(5, "week")) == "每周 5 次"


def test_a_time_is_shown_in_the_contests_zone_and_told_exactly() -> None:
    tag = numbers.time_tag("en", NOW, "Asia/Shanghai")
    assert 'datetime="2022-10-12T04:00:00Z"' in tag
    assert 'data-offset="480"' in tag
    assert "12 Oct 2022, 12:00" in tag
    assert "UTC+8" in tag
    assert "2022年10月12日 12:00" in numbers.time_tag("zh", NOW, "Asia/Shanghai")


def test_the_label_of_a_zone_follows_summer_time() -> None:
    july, january = 1_657_000_000_000, 1_641_500_000_000
    assert "UTC+2" in numbers.time_tag("en", july, "Europe/Berlin")
    assert "UTC+1" in numbers.time_tag("en", january, "Europe/Berlin")
    assert numbers.zone_label(-210) == "UTC−3:30"
