"""The site in a real browser, against a real server with a worker."""

import hashlib
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from palestra.contest.log import events as e
from palestra.contest.setup.location import Place
from palestra.text import Words
from palestra.web.site.rendering import STATIC
from tests.web.browsing import (
    LICENCE,
    ORGANISER,
    PASSWORD,
    SIZES,
    WAIT_MS,
    Hall,
    hall_in,
    write_live_bundle,
)

expect.set_options(timeout=WAIT_MS)
pytestmark = pytest.mark.usefixtures("calm")
PACKED_MS = 180_000.0  # data are packed beside the server, on a machine that may be busy
STATES = ("Received", "Checking", "Queued", "Running", "Scored")


@pytest.fixture(scope="module")
def hall(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory, tiny: Callable[[str], Path], database_sort: str
) -> Iterator[Hall]:
    yield from hall_in(tmp_path_factory.mktemp("hall"), browser, tiny("near-eye-gaze-v1"), database_sort)


def mark(*pages: Page) -> None:
    """So that a page which was loaded again is found out."""
    for page in pages:
        page.evaluate("window.neverReloaded = true")


def was_never_reloaded(*pages: Page) -> bool:
    return all(page.evaluate("window.neverReloaded === true") for page in pages)


def row_of(page: Page, team: str) -> Locator:
    return page.locator("tr[data-team]", has_text=team)


# Coming in


def test_the_printed_link_makes_one_organiser_and_works_once(hall: Hall) -> None:
    stranger = hall.window()
    stranger.page.goto(hall.served.first_link)
    expect(stranger.page.get_by_text("This link was used already")).to_be_visible()
    organiser = hall.window(ORGANISER)
    expect(organiser.open("/desk").get_by_role("heading", level=1, name="Organiser's desk")).to_be_visible()


def test_a_newcomer_registers_makes_a_team_and_gets_the_data_once_it_is_granted(hall: Hall) -> None:
    newcomer = hall.window()
    newcomer.register("nora")
    newcomer.make_team("Newcomers")
    page = newcomer.open("/data")
    phase = page.get_by_role("region", name=re.compile("^Preliminary"))
    expect(phase.get_by_text(LICENCE)).to_be_visible()
    assert phase.get_by_role("link", name="first-view.zip").count() == 0
    phase.get_by_role("button", name="Ask for access").click()  # the browser itself wants the box ticked first
    expect(page.get_by_role("status").filter(has_text="Done.")).to_have_count(0)
    phase.get_by_label("I accept this licence").check()
    phase.get_by_role("button", name="Ask for access").click()
    expect(phase.get_by_text("the organiser has not answered yet")).to_be_visible()
    mark(page)

    organiser = hall.window(ORGANISER)
    asked = organiser.open("/desk/access").get_by_role("row", name=re.compile("Newcomers"))
    asked.get_by_role("button", name="Grant").click()
    expect(organiser.page.get_by_role("row", name=re.compile("Newcomers.*Granted"))).to_be_visible()

    # Data are packed beside the server, which takes its time; the page follows by itself.
    link = phase.get_by_role("link", name="first-view.zip")
    with page.expect_download(timeout=PACKED_MS) as got:
        link.click(timeout=PACKED_MS)
    digest = hashlib.sha256(got.value.path().read_bytes()).hexdigest()
    expect(phase.get_by_text(digest)).to_be_visible()
    assert was_never_reloaded(page)


def test_a_form_that_is_refused_comes_back_filled_in_with_why_in_focus(hall: Hall) -> None:
    page = hall.window().open("/register")
    page.get_by_label("Name", exact=True).fill(ORGANISER)
    page.get_by_label("E-mail").fill("o@example.org")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Make an account").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("There is an account")
    expect(alert).to_be_focused()
    expect(page.get_by_label("Name", exact=True)).to_have_value(ORGANISER)
    expect(page.get_by_label("E-mail")).to_have_value("o@example.org")
    expect(page.get_by_label("Password")).to_have_value("")
    hall.forgive()


# Submitting


def test_a_submission_is_watched_until_its_score_and_other_screens_follow_without_reload(hall: Hall) -> None:
    captain = "ann"
    viewer, captain_window = hall.window(), hall.window(captain)
    board, screen = viewer.open("/boards/first"), viewer.tab("/screen?phase=first")
    mine = captain_window.tab("/phases/first")
    mark(board, screen, mine)
    team = f"Team {captain}"
    expect(row_of(board, team)).to_have_count(0)
    page = captain_window.submit("first", hall.answers(f"{captain}.csv", 0.4))
    mark(page)
    seen = page.locator(".way [aria-current=step]")
    expect(seen).to_have_text(re.compile("|".join(STATES)))
    expect(seen).to_have_text("Scored")
    expect(page.locator(".headline strong")).to_have_text(re.compile(r"^\d+(\.\d+)?°$"))
    expect(page.get_by_text("On the board", exact=True)).to_be_visible()
    value = page.locator(".headline strong").inner_text()
    expect(row_of(board, team)).to_contain_text(value)
    expect(row_of(screen, team)).to_contain_text(value)
    expect(mine.get_by_role("row", name=re.compile(rf"{captain}\.csv.*Scored"))).to_contain_text(value)
    assert was_never_reloaded(board, screen, mine, page)
    expect(page.get_by_text("Scores are rounded")).to_be_visible()
    expect(page.locator("iframe")).to_have_count(0)
    theirs = hall.window(ORGANISER).open(urlsplit(page.url).path)
    # The page may be told anew meanwhile: it is scrolled, and not the frame that is there now.
    theirs.evaluate("() => scrollTo(0, document.body.scrollHeight)")
    expect(theirs.frame_locator("iframe").locator("h1")).to_be_visible()


def test_ranks_that_change_are_marked_on_the_board_and_on_the_screen(hall: Hall) -> None:
    viewer = hall.window()
    hall.window("dora").submit("first", hall.answers("dora.csv", 200.0))
    board, screen = viewer.open("/boards/first"), viewer.tab("/screen?phase=first")
    for page in (board, screen):
        expect(row_of(page, "Team dora")).to_be_visible()
    mark(board, screen)
    before = int(row_of(board, "Team dora").get_attribute("data-rank"))
    hall.window("eva").submit("first", hall.answers("eva.csv", 0.0))
    for page in (board, screen):
        expect(row_of(page, "Team dora")).to_have_attribute("data-rank", str(before + 1))
        expect(row_of(page, "Team dora").locator(".down")).to_have_text(re.compile("▼1"))
    assert was_never_reloaded(board, screen)


def test_a_refused_file_shows_its_faults_in_words(hall: Hall) -> None:
    file = hall.folder / "half.csv"
    file.write_bytes(b"".join(hall.answers("whole.csv", 0.0).read_bytes().splitlines(keepends=True)[:-3]))
    page = hall.window("ben").submit("first", file)
    expect(page.get_by_role("heading", name="The file was refused")).to_be_visible()
    expect(page.locator(".faults li").first).to_contain_text("expected")
    expect(page.get_by_text("It does not count against your quota")).to_be_visible()


def test_a_file_of_the_wrong_sort_is_told_before_it_is_sent(hall: Hall) -> None:
    page = hall.window("ben").open("/phases/first")
    page.get_by_label("Choose a file").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"x"})
    expect(page.get_by_text("The file must end in .csv")).to_be_visible()
    expect(page.get_by_role("button", name="Upload and submit")).to_be_disabled()


# The organiser


def test_the_organiser_scores_again_and_promotes_each_after_a_preview(hall: Hall) -> None:
    for number, captain in enumerate(("cleo", "dora"), 1):
        page = hall.window(captain).submit("heat", hall.answers(f"{captain}-heat.csv", 4.0 * number))
        expect(page.locator(".headline strong")).to_be_visible()
    organiser = hall.window(ORGANISER)
    page = organiser.open("/desk/rescorings")
    page.get_by_label("Phase").select_option("heat")
    page.get_by_label("Reason").fill("A check of the scorer.")
    page.get_by_role("button", name="Score everything again").click()
    expect(page.locator("main .lead .state")).to_have_text("Ready to look at")  # the page follows
    organiser.confirm("Apply")
    expect(page.locator("main .lead .state")).to_have_text("Applied")

    handing_in = hall.window("cleo").open("/phases/heat")
    expect(handing_in.get_by_label("Choose a file")).to_be_visible()
    mark(handing_in)
    heat = organiser.open("/desk").get_by_role("article").filter(has_text="Heat")
    heat.locator("summary", has_text="Close now").click()
    heat.locator("details[open]").get_by_label("Reason").fill("All have run.")
    heat.locator("details[open]").get_by_role("button", name="Close now").click()
    expect(handing_in.get_by_text("This phase is closed.")).to_be_visible()
    expect(handing_in.get_by_label("Choose a file")).to_be_hidden()
    expect(handing_in.get_by_text("Left now")).to_have_count(0)
    assert was_never_reloaded(handing_in)
    page = organiser.open("/desk/promotion/heat")
    first = page.locator("tr.goes")
    expect(first.locator("th")).to_have_text("Team cleo")
    first.get_by_role("textbox").fill("It withdrew.")
    page.get_by_role("button", name="Preview").click()
    expect(first.locator("th")).to_have_text("Team dora")
    organiser.open("/desk/promotion/heat")  # that was a preview and no more
    organiser.confirm("Confirm the promotion", "By the board.")
    expect(page.locator("main .lead .tag")).to_have_text("Confirmed")
    expect(row_of(organiser.open("/boards/heat"), "Team cleo")).to_contain_text("Promoted")
    expect(row_of(page, "Team dora")).not_to_contain_text("Promoted")


# Looks


def test_the_language_changes_and_comes_back_on_the_same_page(hall: Hall) -> None:
    window = hall.window()
    page = window.open("/audit?kind=account.made")
    page.get_by_role("link", name="中文").click()
    expect(page.get_by_role("heading", level=1, name="日志")).to_be_visible()
    assert page.locator("html").get_attribute("lang") == "zh-CN"
    assert "kind=account.made" in page.url
    expect(page.locator("#kind")).to_have_value("account.made")
    window.open("/boards/first")
    expect(page.get_by_role("heading", level=1, name="排行榜")).to_be_visible()  # it stays chosen
    page.get_by_role("link", name="English").click()
    expect(page.get_by_role("heading", level=1, name="Board")).to_be_visible()
    assert "/boards/first" in page.url


def test_dark_mode_is_switched_kept_and_follows_the_system_until_then(hall: Hall) -> None:
    window = hall.window(color_scheme="dark")
    page = window.open("/")
    dark, paper = "rgb(20, 23, 27)", "rgb(255, 255, 255)"
    expect(page.locator("body")).to_have_css("background-color", dark)
    page.get_by_role("button", name="Light").click()
    expect(page.locator("body")).to_have_css("background-color", paper)
    page.reload()
    expect(page.locator("body")).to_have_css("background-color", paper)
    expect(page.get_by_role("button", name="Dark")).to_be_visible()


def test_errors_are_told_in_the_viewers_language(hall: Hall) -> None:
    window = hall.window(locale="zh-CN")
    for path, words in (("/boards/none", "页面不存在"), ("/account", "请先登录"), ("/nowhere", "页面不存在")):
        page = window.open(path)
        expect(page.get_by_role("heading", level=1)).to_have_text(words)
        assert not re.search("[a-z]{7,}", page.locator("main .error").inner_text().lower())
    hall.forgive()


PUBLIC = ("/", "/boards/first", "/boards/first/print", "/data", "/audit", "/sign-in", "/register", "/screen")
OWN = ("/", "/boards/first", "/phases/first", "/phases/stage", "/data", "/team", "/account")
DESK = tuple(
    f"/desk{part}" for part in
    ("", "/access", "/promotion/heat", "/verifications", "/rescorings", "/awards", "/announcements", "/rules",
     "/teams", "/copies", "/accounts", "/exports", "/runs/stage")
)  # fmt: skip


@pytest.mark.parametrize(("who", "paths"), [("", PUBLIC), ("finn", OWN), (ORGANISER, DESK)], ids=["all", "own", "desk"])
def test_every_page_has_its_heading_labels_and_room_on_a_phone_and_a_laptop(
    hall: Hall, who: str, paths: tuple[str, ...]
) -> None:
    faults = []
    window = hall.window(who)
    for path in paths:
        for size, language in (("phone", "zh"), ("laptop", "en")):
            window.page.set_viewport_size(SIZES[size])
            window.open(f"{path}?lang={language}")
            faults += window.faults()
    assert faults == []


def test_signing_in_and_submitting_need_no_mouse(hall: Hall) -> None:
    window = hall.window()
    page = window.open("/phases/first")
    tab_to(page, "Sign in")
    page.keyboard.press("Enter")
    page.wait_for_url("**/sign-in**")
    tab_to(page, "Name")
    page.keyboard.type("finn")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{hall.served.address}/phases/first")  # back where they wanted to go
    page.wait_for_function("document.readyState === 'complete'")  # on a busy machine keys may come before the scripts
    # The browser is told early that choosers are ours: with the key itself, a busy one may come to it too late.
    page.on("filechooser", lambda _: None)
    tab_to(page, "Choose a file")
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files(hall.answers("finn.csv", 0.3))
    tab_to(page, "Upload and submit")
    page.keyboard.press("Enter")
    page.wait_for_url("**/submissions/*")
    expect(page.get_by_role("heading", level=1, name="finn.csv")).to_be_visible()


FOCUSED = "() => { const one = document.activeElement; return one.labels?.[0]?.innerText ?? one.innerText ?? ''; }"


def tab_to(page: Page, name: str) -> None:
    """Press Tab until what has this name is reached; what is reached must be seen to be."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if name in page.evaluate(FOCUSED):
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    raise AssertionError(f"{name} was not reached by Tab")


# What goes wrong


FORM = '<form action="/do/retry-job"><input name="csrf" value=""><input name="once" value=""><button>Go</button></form>'
ON_A_PAGE = """<!doctype html><meta name="csrf-token" content="sign"><meta name="once" content="number">
<div id="live"></div><form id="own"><input name="csrf" value="own sign"><input name="once" value="own number">
<button>Own</button></form>"""
NOTE = """addEventListener("submit", (event) => {
  event.preventDefault();
  sent.push([...new FormData(event.target).values()].join(", "));
}); const sent = [];"""


def test_forms_that_come_live_are_sent_with_the_sign_and_the_number_of_their_page(browser: Browser) -> None:
    """Also where another one has come in the place of the first between two clicks."""
    page = browser.new_page()
    page.set_content(ON_A_PAGE)
    page.add_script_tag(path=STATIC / "live.js")
    page.add_script_tag(content=NOTE)
    for _ in range(2):
        page.evaluate("form => { document.getElementById('live').innerHTML = form; }", FORM)
        page.get_by_role("button", name="Go").click()
    page.get_by_role("button", name="Own").click()
    assert page.evaluate("sent") == ["sign, number", "sign, number", "own sign, own number"]
    page.close()


LICENCE_FORM = """<form action="/do/request-access"><input type="hidden" name="phase" value="{phase}">
<label>Accept {phase} <input type="checkbox"></label><label>Why {phase} <input name="why" value="{why}"></label>
<button>Ask {phase}</button></form><details><summary>More on {phase}</summary>text</details>"""
FOLLOWED = """<div id="connection"></div>
<div hx-ext="sse" sse-connect="/live"><div sse-swap="data,data-change">{body}</div></div>"""
TELLS = """const source = new EventTarget(); htmx.createEventSource = () => source;
const follow = (body) => { document.body.innerHTML = body; htmx.process(document.body); };
const tell = (type, data) => source.dispatchEvent(new MessageEvent(type, { data }));
let clicks = 0; addEventListener("submit", (event) => { event.preventDefault(); clicks += 1; });"""


def licences(*phases: str, why: str = "") -> str:
    return "\n".join(LICENCE_FORM.format(phase=phase, why=why) for phase in phases)


@pytest.fixture
def followed(browser: Browser) -> Iterator[Page]:
    """A page with two forms that is drawn anew by what `tell` says."""
    page = browser.new_page()
    page.set_content("<!doctype html><title>Live</title>")
    for script in ("vendor/htmx.min.js", "vendor/sse.min.js", "live.js"):
        page.add_script_tag(path=STATIC / script)
    page.add_script_tag(content=TELLS)
    page.evaluate("body => follow(body)", FOLLOWED.format(body=licences("first", "second")))
    yield page
    page.close()


def test_what_was_typed_ticked_and_opened_stays_when_the_part_that_it_is_in_is_drawn_anew(followed: Page) -> None:
    followed.get_by_label("Accept second").check()
    followed.get_by_label("Why second").fill("to learn")
    followed.get_by_text("More on second").click()
    followed.get_by_label("Why second").focus()
    followed.evaluate("body => tell('data', body)", licences("zeroth", "first", "second", why="as told"))
    for name, ticked, why in (("zeroth", False, "as told"), ("first", False, "as told"), ("second", True, "to learn")):
        assert followed.get_by_label(f"Accept {name}").is_checked() == ticked, name
        assert followed.get_by_label(f"Why {name}").input_value() == why, name
        assert followed.locator("details", has_text=name).evaluate("one => one.open") == ticked, name
    expect(followed.get_by_label("Why second")).to_be_focused()
    followed.evaluate("tell('data-change', JSON.stringify([[0, 100], '<p>one more line</p>']))")
    expect(followed.get_by_text("one more line")).to_be_visible()
    expect(followed.get_by_label("Why second")).to_have_value("to learn")


def test_a_part_is_not_drawn_anew_between_press_and_release(followed: Page) -> None:
    box = followed.get_by_role("button", name="Ask first").bounding_box()
    assert box
    followed.mouse.move(box["x"] + 5, box["y"] + 5)
    followed.mouse.down()
    followed.evaluate("body => tell('data', body)", licences("zeroth", "first"))
    expect(followed.get_by_text("Accept zeroth")).to_have_count(0)
    followed.mouse.up()
    expect(followed.get_by_text("Accept zeroth")).to_be_visible()
    assert followed.evaluate("clicks") == 1


def test_a_page_tells_of_a_lost_connection_and_shows_what_happened_meanwhile(hall: Hall) -> None:
    window = hall.window()
    home, board = window.open("/"), window.tab("/boards/first")
    page = hall.window("ben").submit("first", hall.answers("ben.csv", 1.0))
    expect(page.locator(".headline strong")).to_be_visible()
    expect(row_of(board, "Team ben")).to_be_visible()
    mark(home, board)
    hall.served.stop()
    try:
        for page in (home, board):
            expect(page.get_by_text("Connection lost.")).to_be_visible()
        meanwhile(hall.place)
    finally:
        hall.served.start()
    for page in (home, board):
        expect(page.get_by_text("Connection lost.")).to_have_count(0)
    expect(home.get_by_role("heading", name="We were away")).to_be_visible()
    expect(row_of(board, "Team Benjamin")).to_be_visible()
    assert was_never_reloaded(home, board)
    hall.forgive()


def meanwhile(place: Place) -> None:
    contest = place.open()
    ben = contest.state.accounts[contest.state.names["ben"]].team
    news = e.AnnouncementMade("n1", Words("We were away", "我们刚才离线"), Words("And are back."))
    contest.act("system", lambda state, now: [news, e.TeamRenamed(ben, "Team Benjamin")])
    contest.engine.dispose()


def test_an_upload_that_is_cut_off_goes_on_where_it_stopped(hall: Hall) -> None:
    window = hall.window("eva")
    page = window.open("/phases/stage")  # where a file may be as long as the rules say
    content = os.urandom(11 << 20)
    pieces: list[int] = []  # where each began

    def answer(route: Route) -> None:
        if route.request.method == "PATCH":
            pieces.append(int(route.request.headers["upload-offset"]))
            if len(pieces) == 2:  # the server dies under it
                hall.served.stop(signal.SIGKILL)
                route.abort()
                return
        route.continue_()

    page.route("**/api/uploads/*", answer)
    file = {"name": "large.zip", "mimeType": "application/zip", "buffer": content}
    page.get_by_label("Choose a file").set_input_files(file)  # type: ignore[arg-type]
    page.get_by_role("button", name="Upload and submit").click()
    try:
        expect(page.get_by_text("The upload goes on by itself.")).to_be_visible()
        expect(page.locator("progress")).to_have_attribute("value", re.compile(r"^3[0-9]\."))
    finally:
        hall.served.start()
    page.wait_for_url("**/submissions/*")
    expect(page.get_by_text(hashlib.sha256(content).hexdigest())).to_be_visible()
    assert pieces == [0, 4 << 20, 4 << 20, 8 << 20]  # what was there already was not sent again
    hall.forgive()


# Live


@pytest.mark.slow
def test_a_run_on_the_stage_shows_its_numbers_on_its_page_and_on_the_screen(
    hall: Hall, tiny: Callable[[str], Path]
) -> None:
    (hall.folder / "near-eye-live-v1").symlink_to(tiny("near-eye-live-v1"))
    for captain in ("ann", "ben"):
        page = hall.window(captain).submit("stage", write_live_bundle(hall.folder / f"{captain}.zip"))
        expect(page.locator(".headline strong")).to_be_visible(timeout=4 * WAIT_MS)
    organiser, viewer = hall.window(ORGANISER), hall.window()
    screen = viewer.open("/screen")
    organiser.open("/desk/runs/stage")
    organiser.confirm("Start a run")
    page = organiser.page
    page.wait_for_url("**/runs/*")
    mark(page, screen)
    expect(page.locator("#run-state")).to_have_text("Running", timeout=2 * WAIT_MS)
    expect(page.locator("[data-value]").first).to_have_text(re.compile(r"^\d+(\.\d+)?°$"), timeout=2 * WAIT_MS)
    expect(screen.locator(".point strong")).to_have_text(re.compile(r"^[1-9]"))
    expect(screen.locator("tr[data-team] .value").first).to_have_text(re.compile(r"^\d+(\.\d+)?°$"))
    expect(page.locator("#run-state")).to_have_text("Finished", timeout=4 * WAIT_MS)
    expect(page.locator("#live-where")).to_contain_text("point 30 of 30")
    expect(page.locator("#plot-score canvas")).to_be_visible()
    expect(screen.get_by_text("Finished")).to_be_visible()
    assert was_never_reloaded(page, screen)
    assert organiser.faults() == []
