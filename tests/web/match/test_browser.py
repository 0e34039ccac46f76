"""The referees' table in real browsers against a real server: two tablets, the head referee's page, a team's."""

import itertools
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from palestra.contest.match import events as m
from tests.web import shots
from tests.web.browsing import WAIT_MS
from tests.web.match.hall import PHOTO, TABLETS, MatchHall, Table, match_hall_in

expect.set_options(timeout=WAIT_MS)
pytestmark = pytest.mark.usefixtures("calm")
OFFLINE = "OFFLINE. Go on"
NUMBERS = itertools.count(1)
SMALL = """() => {
  const places = "#stage button, #stage a, #stage label, dialog[open] button, .table-bar a";
  const found = [...document.querySelectorAll(places)].map((one) => [one.getBoundingClientRect(), one.outerHTML]);
  const small = found.filter(([box]) => box.width && (box.width < 47.5 || box.height < 47.5));
  return small.map(([box, text]) => `${box.width} by ${box.height}: ${text.slice(0, 90)}`);
}"""


ESTIMATE_MS = 100


@pytest.fixture(scope="module")
def match_hall(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory, tiny: Callable[[str], Path], database_sort: str
) -> Iterator[MatchHall]:
    yield from match_hall_in(tmp_path_factory.mktemp("hall"), browser, tiny("tabletop-manip-v1"), database_sort)


@pytest.fixture
def table(match_hall: MatchHall) -> Iterator[Table]:
    """A match of its own for each test."""
    match_hall.match = f"m{next(NUMBERS)}"
    table = Table(match_hall.place, match_hall.match)
    table.open(match_hall.data)
    yield table
    table.contest.engine.dispose()


def goals(page: Page) -> Any:
    return page.get_by_role("switch")


def ran_ms(page: Page) -> tuple[int, int]:
    """What the big clock has run, and at which time of the server's clock it says so."""
    found: dict[str, str] = page.evaluate("({ ...document.getElementById('case-clock').dataset })")
    return int(found["ranMs"]), int(found["at"])


def delivered(page: Page) -> None:
    """Until the server has all that the page said."""
    page.evaluate("""async () => {
      while (palestraMatch.outbox.read().length) await new Promise((go) => setTimeout(go, 10));
    }""")


# A whole case


def test_a_case_is_played_on_a_tablet_from_its_scene_to_the_signature(match_hall: MatchHall, table: Table) -> None:
    table.begin()
    page = match_hall.referee("rolf")
    window = match_hall.window_of(page)
    expect(page.get_by_role("heading", name="Team ann")).to_be_visible()
    sign, start = page.locator("#scene-sign"), page.locator("#start")
    expect(sign).to_be_disabled()
    expect(start).to_be_disabled()
    assert window.faults() == []
    for box in page.locator(".catalogue input").all():
        box.check()
    page.locator("#photo").set_input_files({"name": "scene.jpg", "mimeType": "image/jpeg", "buffer": PHOTO})
    expect(page.locator("figure.over .photo")).to_be_visible()
    assert page.evaluate(SMALL) == []
    sign.click()
    expect(page.locator(".checklist .done")).to_have_count(1)
    expect(page.locator("#enter-en")).to_be_disabled()  # the team has not said yet that its system is up
    page.locator("#confirm").click()
    page.locator("#enter-en").click()
    page.locator("#signal").click()
    expect(start).to_be_enabled()
    start.click()
    expect(page.locator("#case-clock.ticks")).to_be_visible()
    switch = goals(page).first
    expect(switch).to_have_attribute("aria-checked", "false")
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "true")
    assert page.evaluate(SMALL) == []
    page.locator("#stop").click()
    expect(page.get_by_text("Stopped", exact=False).first).to_be_visible()
    page.locator("#sign").click()
    expect(page.get_by_role("heading", name="Case 2 of 5")).to_be_visible()
    delivered(page)
    signed = table.events("marks.signed")[-1]
    started, stopped = table.events("case.started")[-1], table.events("case.stopped")[-1]
    assert signed.body.met and signed.by == table.account("rolf")
    # A page says it by its estimate of the server's clock, which may be a little ahead.
    assert all(one.body.said_at <= one.at + ESTIMATE_MS for one in (started, stopped))
    assert window.faults() == []


def test_what_it_will_cost_is_said_before_it_is_confirmed(match_hall: MatchHall, table: Table) -> None:
    table.begin()
    case = table.start()
    page = match_hall.referee("rolf", "portrait")
    page.locator("#abandon").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("The case scores 0")).to_be_visible()
    assert page.evaluate(SMALL) == []
    dialog.get_by_role("button", name="Back").click()
    expect(dialog).to_be_hidden()
    assert table.match.turns[table.team("ann")].cases[case].running
    page.locator("#retry").click()
    expect(dialog.get_by_text("Retry 1 of 2. The clock runs on")).to_be_visible()
    dialog.get_by_text("The program hangs").click()
    dialog.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("attempt 2 of 3")).to_be_visible()
    expect(page.get_by_text("1 retry left for this case.")).to_be_visible()
    page.locator("#restart").click()
    expect(dialog.get_by_text("It is not a retry")).to_be_visible()
    dialog.get_by_label("Reason").fill("no answer for a minute")
    dialog.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("0 restarts of the program left.")).to_be_visible()
    expect(page.locator("#restart")).to_be_disabled()


# Two referees and the head


def test_two_referees_differ_the_head_rules_and_the_team_reads_the_result(match_hall: MatchHall, table: Table) -> None:
    table.begin()
    table.start()
    rolf, rita = match_hall.referee("rolf"), match_hall.referee("rita")
    head, team = match_hall.page("hugo", "head"), match_hall.page("ann", "team")
    for page in (rolf, rita, head, team):
        page.evaluate("window.neverReloaded = true")
    goals(rolf).first.click()
    expect(rita.locator("[data-other=rolf]")).to_have_text("rolf: has marked 1")
    expect(goals(rita).first).to_have_attribute("aria-checked", "false")  # each marks on their own
    expect(head.locator(".marks .on")).to_have_count(1)
    expect(team.locator(".goal-list .on")).to_have_count(0)  # it counts when both say so
    rolf.locator("#stop").click()
    for page in (rolf, rita):
        page.locator("#sign").click()
    card = head.locator(".case-card.differs")
    expect(card.get_by_text("The referees differ: publication waits for a ruling.")).to_be_visible()
    expect(head.get_by_role("button", name="Publish results")).to_have_count(0)
    card.get_by_role("button", name="Rule on a difference").click()
    dialog = head.get_by_role("dialog")
    for box in dialog.get_by_role("checkbox").all():
        box.check()
    dialog.get_by_label("Reason").fill("seen on the film")
    dialog.get_by_role("button", name="Confirm").click()
    expect(head.get_by_text("Ruling: seen on the film")).to_be_visible()
    head.get_by_role("button", name="Publish results").click()
    expect(dialog.get_by_text("Appeals are open for 30 minutes")).to_be_visible()
    dialog.get_by_role("button", name="Confirm").click()
    expect(team.get_by_text("1 of 5 cases are published.")).to_be_visible()
    team.get_by_role("button", name="Appeal").click()
    asked = team.get_by_role("dialog")
    asked.get_by_label("Reason").fill("it was inside")
    asked.get_by_role("button", name="Confirm").click()
    expect(head.get_by_text("it was inside")).to_be_visible()
    head.get_by_role("button", name="Decide an appeal").click()
    dialog.get_by_text("Rejected").click()
    dialog.get_by_label("Reason").fill("the film shows it")
    dialog.get_by_role("button", name="Confirm").click()
    expect(team.get_by_text("the film shows it")).to_be_visible()
    for page in (rolf, rita, head, team):
        assert page.evaluate("window.neverReloaded")
        assert match_hall.window_of(page).faults() == []


def test_a_deduction_takes_two_referees(match_hall: MatchHall, table: Table) -> None:
    table.begin()
    table.start()
    rolf, rita = match_hall.referee("rolf"), match_hall.referee("rita")
    rolf.locator("#penalty").click()
    dialog = rolf.get_by_role("dialog")
    dialog.get_by_label("Rule that was broken").fill("12.3")
    dialog.get_by_label("Reason").fill("touched the robot")
    dialog.get_by_role("button", name="Confirm").click()
    expect(rolf.get_by_text("another referee must confirm it")).to_be_visible()
    expect(rolf.get_by_role("button", name="Confirm a penalty")).to_have_count(0)
    rita.get_by_role("button", name="Confirm a penalty").click()
    rita.get_by_role("dialog").get_by_role("button", name="Confirm", exact=True).click()
    expect(rolf.get_by_text("confirmed by rita")).to_be_visible()
    assert next(iter(table.match.turns[table.team("ann")].penalties.values())).counts


# Without a server


def test_a_server_that_is_killed_in_a_case_changes_neither_clock_nor_marks(match_hall: MatchHall, table: Table) -> None:
    table.begin()
    page, other = match_hall.referee("rolf"), match_hall.referee("rita")
    hall = match_hall.page("", "screen", viewport={"width": 1920, "height": 1080})
    case = table.start()
    began = table.events("case.started")[-1].at
    expect(page.locator("#case-clock.ticks")).to_be_visible()
    expect(hall.locator(".goals li")).not_to_have_count(0)
    for one in (page, other, hall):
        one.evaluate("window.neverReloaded = true")
    match_hall.served.stop(signal.SIGKILL)
    try:
        goals(page).first.click()
        expect(page.get_by_text(OFFLINE)).to_be_visible()
        expect(page.get_by_text("1 message waits")).to_be_visible()
        expect(goals(page).first).to_have_attribute("aria-checked", "true")
        expect(other.get_by_text(OFFLINE)).to_be_visible()
        ran, at = ran_ms(page)
        assert ran == at - began  # it goes on without the server
    finally:
        match_hall.served.start(workers=0)
    expect(page.get_by_text("Online")).to_be_visible()
    expect(page.get_by_text("1 message waits")).to_have_count(0)
    expect(other.locator("[data-other=rolf]")).to_have_text("rolf: has marked 1")
    ran, at = ran_ms(page)
    assert ran == at - began
    clock = page.evaluate("async () => (await fetch(palestraMatch.api)).json()")
    dial = next(one["dial"] for one in clock["turn"]["cases"] if one["id"] == case)
    assert dial["ran_ms"] + clock["now"] - dial["since"] == clock["now"] - began  # to the millisecond
    goals(other).first.click()  # now both have it, and the hall is told by the server that came back
    expect(hall.locator(".goals .met")).to_have_count(1)
    expect(hall.locator(".dial.case")).to_have_attribute("data-since", str(began))
    expect(hall.locator(".dial.case")).to_have_attribute("data-ran", "0")
    assert all(one.evaluate("window.neverReloaded") for one in (page, other, hall))
    match_hall.forgive()


CUT = """() => [...document.querySelectorAll("#screen .goals, #screen aside")]
  .filter((one) => one.scrollHeight > one.clientHeight + 1).map((one) => one.className || one.tagName)"""


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("size", ["laptop", "wall", "huge"])
def test_nothing_on_the_halls_screen_is_cut_off_however_much_there_is(
    browser: Browser, size: str, language: str
) -> None:
    """Twelve long sub-goals, eight teams with long names."""
    width, height = shots.SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height})
    context.route("**/*", lambda route: shots.answer(route, language))
    page = context.new_page()
    for name in ("hall", "hall-many"):
        page.goto(f"{shots.HOST}/{name}")
        assert page.evaluate(CUT) == [], name
    context.close()


def cut_off(page: Page) -> None:
    """Chromium says that it is done before its network service has heard of it: a request may still get through."""
    page.context.set_offline(True)
    page.wait_for_function("fetch('/health').then(() => false, () => true)")


def test_a_page_that_is_cut_off_goes_on_and_delivers_in_order_once_each(match_hall: MatchHall, table: Table) -> None:
    table.begin()
    table.prepare()
    page = match_hall.referee("rolf")
    expect(page.locator("#start")).to_be_enabled()
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.post_data or "") if one.url.endswith("/events") else None)
    cut_off(page)
    page.locator("#start").click()
    expect(page.get_by_text(OFFLINE)).to_be_visible()
    switch = goals(page).first
    for on in ("true", "false", "true"):
        switch.click()
        expect(switch).to_have_attribute("aria-checked", on)
    page.locator("#stop").click()
    page.locator("#sign").click()
    expect(page.get_by_text("6 messages wait")).to_be_visible()
    expect(page.get_by_role("heading", name="Case 2 of 5")).to_be_visible()
    assert table.events("case.started") == []
    page.context.set_offline(False)
    expect(page.get_by_text("messages wait")).to_have_count(0)
    expect(page.get_by_text("Online")).to_be_visible()
    delivered(page)
    kinds = ["case.started", "goal.marked", "goal.marked", "goal.marked", "case.stopped", "marks.signed"]
    found = sorted((one for kind in set(kinds) for one in table.events(kind)), key=lambda one: one.seq)
    assert [type(one.body).__struct_config__.tag for one in found] == kinds
    assert len({one.body.key for one in found}) == 6
    assert all(one.body.queued for one in found[1:])
    said = [one.body.said_at for one in found]
    assert said == sorted(said)
    case = next(iter(table.match.turns[table.team("ann")].cases.values()))
    assert case.ran_ms(0) == said[4] - said[0]  # as it was said, and not as it arrived
    assert table.match.turn_logs[table.team("ann")].strays == {}
    match_hall.forgive()


def test_a_message_whose_answer_was_lost_is_sent_again_and_counts_once(match_hall: MatchHall, table: Table) -> None:
    table.begin()
    table.start()
    page = match_hall.referee("rolf")
    lost: list[str] = []

    def lose_first(route: Route) -> None:
        if not lost:
            lost.append(route.request.post_data or "")
            route.fetch()  # the server has it
            route.abort()  # the page never hears of it
            return
        route.continue_()

    page.route("**/events", lose_first)
    goals(page).first.click()
    expect(page.get_by_text("message waits")).to_have_count(0)
    expect(page.locator("#link .up")).to_be_visible()
    expect(goals(page).first).to_have_attribute("aria-checked", "true")
    delivered(page)
    assert lost and len(table.events("goal.marked")) == 1
    match_hall.forgive()


def test_what_waits_outlives_the_page(match_hall: MatchHall, table: Table) -> None:
    table.begin()
    table.start()
    page = match_hall.referee("rolf")
    page.route("**/events", lambda route: route.abort())
    goals(page).first.click()
    expect(page.get_by_text("1 message waits")).to_be_visible()
    page.unroute("**/events")
    page.evaluate("() => { window.palestraMatch.outbox.deliver = () => {}; }")
    page.reload()
    expect(goals(page).first).to_have_attribute("aria-checked", "true")
    delivered(page)
    assert len(table.events("goal.marked")) == 1
    match_hall.forgive()


def test_what_the_server_refuses_is_said_and_not_sent_for_ever(match_hall: MatchHall, table: Table) -> None:
    table.begin()
    page = match_hall.referee("rolf")
    team = table.team("ann")
    page.evaluate(f"palestraMatch.outbox.add({{kind: 'case.started', team: '{team}', case: 'pick-h1'}})")
    expect(page.get_by_role("alert")).to_contain_text("Not taken:")
    expect(page.get_by_role("alert")).to_contain_text("Possible now:")
    page.get_by_role("button", name="Understood").click()
    expect(page.get_by_role("alert")).to_be_hidden()
    assert page.evaluate("palestraMatch.outbox.read().length") == 0
    match_hall.forgive()


DRIFT = """async () => {
  const { clock } = palestraMatch, seen = [];
  document.dispatchEvent(new Event("visibilitychange"));
  while (Math.abs(clock.behind()) < 60) await new Promise((go) => setTimeout(go, 5));
  const gap = clock.behind();
  while (Math.abs(clock.behind()) > 1) { seen.push(clock.now()); await new Promise((go) => setTimeout(go, 5)); }
  return { gap, steady: seen.every((at, i) => !i || at >= seen[i - 1]), steps: seen.length };
}"""


def test_a_clock_that_drifts_is_corrected_gradually_and_it_is_shown(match_hall: MatchHall, table: Table) -> None:
    table.begin()
    page = match_hall.referee("rolf")
    expect(page.get_by_text(re.compile(r"clock ±\d+ ms"))).to_be_visible()

    def ahead(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={"now": answer.json()["now"] - 200})

    page.route("**/clock", ahead)
    found = page.evaluate(DRIFT)
    assert -500 < found["gap"] < -60
    assert found["steady"] and found["steps"] > 3  # no second is shown twice
    expect(page.get_by_text(re.compile(r"corrected by -\d+ ms"))).to_be_visible()


# Looks


def test_pages_fit_tablets_and_laptops_in_both_languages(match_hall: MatchHall, table: Table) -> None:
    table.begin()
    case = table.start()
    table.say("rolf", m.GoalMarked, team=table.team("ann"), case=case, attempt=1, goal="g1", on=True)
    for what, name in {"referee": "rolf", "head": "hugo", "team": "ann"}.items():
        window = match_hall.window(name)
        for (size, viewport), language in itertools.product(TABLETS.items(), ("en", "zh")):
            window.page.set_viewport_size(viewport)
            page = window.open(f"/matches/{match_hall.match}/{what}?lang={language}")
            expect(page.locator("#link .up")).to_be_visible()
            assert window.faults() == [], size
            if what == "referee":
                page.wait_for_function(f"() => ({SMALL})().length === 0")  # once it is laid out
                within = "() => document.querySelector('#stop')?.getBoundingClientRect().bottom < innerHeight"
                page.wait_for_function(within)  # without scrolling
