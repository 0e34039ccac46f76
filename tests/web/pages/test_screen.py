"""The hall's big screen, as it is made and as a browser draws it: nothing comes late, is cut or is too small."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from palestra.contest.visibility import NOBODY
from palestra.web.models import live
from palestra.web.site.rendering import EM_STEPS, STATIC, render
from palestra.web.text.numbers import countdown
from palestra.web.views import live as show_live
from palestra.web.views import public
from tests.web import samples, shots
from tests.web.conftest import World
from tests.web.sample_contest import NOW, frame
from tests.web.sample_live import screen, screen_board

# Names that are cut, and rows that reach beyond their table.
CUT = """() => [...document.querySelectorAll("#screen tbody tr:not([hidden])")].flatMap((row) => {
  const name = row.querySelector(".team bdi"), cell = row.getBoundingClientRect();
  const line = parseFloat(getComputedStyle(name).fontSize);
  const cut = name.scrollWidth > name.clientWidth + 1 || name.scrollHeight > name.clientHeight + line / 2;
  const left = (one) => one.getBoundingClientRect().left;
  const wide = [...row.querySelectorAll(".fit > span")].filter((one) => left(one) < left(one.parentElement) - 1);
  const over = name.getBoundingClientRect().bottom > cell.bottom + 1 || cell.bottom > innerHeight;
  return cut || over || wide.length ? [name.textContent] : [];
})"""
# How high the letters of ranks and scores are, as a share of the screen.
SMALLEST = """() => Math.min(...[...document.querySelectorAll("#screen tbody tr:not([hidden]) :is(.rank, .value span)")]
  .map((one) => parseFloat(getComputedStyle(one).fontSize))) / innerHeight"""


def body(page: live.ScreenPage, language: str = "en") -> str:
    return render("screen_body.html", language, frame=frame("/screen", None), page=page)


# As it is made


@pytest.mark.parametrize(("language", "left"), [("en", "2 d 05:20:34"), ("zh", "2 天 05:20:34")])
def test_the_countdown_is_in_the_page_before_any_script_runs(language: str, left: str) -> None:
    assert f">{left}</strong>" in body(screen_board(3), language)


def test_the_clock_is_in_the_page_before_any_script_runs() -> None:
    html = render("screen.html", "en", frame=frame("/screen", None), page=screen())
    assert 'data-zone="Asia/Shanghai">12:00:00</span>' in html


@pytest.mark.parametrize(("left_ms", "said"), [(1000, "00:00:01"), (86_399_999, "23:59:59"), (0, "now"), (-5, "now")])
def test_a_countdown_ends_at_nothing(left_ms: int, said: str) -> None:
    assert countdown("en", NOW + left_ms, NOW) == said


def test_neighbours_that_cannot_be_told_apart_are_joined_and_it_is_said_what_that_means() -> None:
    html = body(screen_board(5))  # two bands: three teams, then two
    assert [part.split('"')[0] for part in html.split('<td class="band ')[1:]] == [
        "start", "middle", "end", "start", "end",
    ]  # fmt: skip
    assert "too close to tell apart" in html


def test_the_screen_shows_the_bands_of_the_board(world: World) -> None:
    board = public.board(world.site, "first", NOBODY)
    page = show_live.screen(world.site, "first")
    assert board is not None and page is not None
    assert [team.band for team in page.teams] == [row.band for row in board.rows if row.rank is not None] == [1, 2]


def test_where_all_differ_nothing_is_joined_and_nothing_explained() -> None:
    page = screen(3)
    assert "band" not in body(page) and "too close" not in body(page)


@pytest.mark.parametrize(("teams", "pages", "rows"), [(0, 1, 0), (3, 1, 3), (12, 1, 12), (13, 2, 7), (40, 4, 10)])
def test_more_teams_than_can_be_read_are_on_pages_of_one_length(teams: int, pages: int, rows: int) -> None:
    page = screen_board(teams)
    assert (page.pages, page.rows) == (pages, rows)
    html = body(page)
    assert html.count(" hidden>") == teams - rows
    assert (f"Page 1 of {pages}" in html) == (pages > 1)


def test_the_style_knows_every_width_and_every_number_of_rows() -> None:
    style = (STATIC / "screen.css").read_text("utf-8")
    assert {int(step) for step in re.findall(r'\[data-ems="(\d+)"\]', style)} == set(EM_STEPS)
    assert {int(rows) for rows in re.findall(r'\[data-rows="(\d+)"\]', style)} == set(range(1, live.MOST_ROWS + 1))


# As a browser draws it


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(locale="en-GB")
    context.route("**/*", lambda route: shots.answer(route, "en"))
    yield context.new_page()
    context.close()


@pytest.fixture
def shown(page: Page, monkeypatch: pytest.MonkeyPatch) -> Page:
    """The screen with boards and runs of many sizes, by names like run-40."""
    made = {f"run-{count}": screen(count) for count in (3, 8, 40)}
    made |= {f"board-{count}": screen_board(count) for count in (3, 12, 40)}
    pages = {name: ("screen.html", frame("/screen", None), view) for name, view in made.items()}
    monkeypatch.setattr(samples, "pages", lambda: pages)
    return page


@pytest.mark.parametrize("name", ["run-3", "run-8", "run-40", "board-3", "board-12", "board-40"])
def test_names_and_scores_are_whole_and_large_on_every_screen(shown: Page, name: str) -> None:
    shown.goto(f"{shots.HOST}/{name}")
    for width, height in ((1280, 720), (1920, 1080), (3840, 2160)):
        shown.set_viewport_size({"width": width, "height": height})
        assert shown.evaluate(CUT) == [], (width, height)
        assert shown.evaluate(SMALLEST) >= 0.037, (width, height)  # 7 cm of a screen that is 2 m high
        assert not shots.scrolls(shown)


def test_pages_take_turns_until_every_team_was_seen(shown: Page) -> None:
    shown.clock.install()
    shown.goto(f"{shots.HOST}/board-40")
    seen = []
    for number in (1, 2, 3, 4, 1):
        assert shown.locator(".foot .page").text_content() == f"Page {number} of 4"
        seen.append(shown.locator("#screen tbody tr:not([hidden]) .rank").all_text_contents())
        shown.clock.run_for(12_000)
    assert [int(rank) for ranks in seen[:4] for rank in ranks] == list(range(1, 41))
    assert seen[4] == seen[0]
