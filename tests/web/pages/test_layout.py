"""Pages as a browser lays them out, from sample views: what must stand in one row, and times by 24 hours."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.web import shots
from tests.web.browsing import chromium

Open = Callable[[str, str], Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """A sample page on a laptop whose owner reads clocks of twelve hours."""
    contexts = []

    def open_one(name: str, language: str) -> Page:
        context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-US")
        context.route("**/*", lambda route: shots.answer(route, language))
        contexts.append(context)
        page = context.new_page()
        page.goto(f"{shots.HOST}/{name}", wait_until="load")
        return page

    yield open_one
    for context in contexts:
        context.close()


ROWS = """(what) => new Set([...document.querySelectorAll(what)].map((one) => one.getBoundingClientRect().top)).size"""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_parts_of_the_desk_stand_in_one_row_of_a_laptop(open_page: Open, language: str) -> None:
    page = open_page("desk", language)
    assert page.evaluate(ROWS, ".tabs li") == 1
    assert page.evaluate(ROWS, ".top nav li") == 1


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_address_on_a_certificate_is_in_one_line(open_page: Open, language: str) -> None:
    page = open_page("certificate", language)
    address = "https://contest.example.org:8443/certificates/12/t-0123456789abcdef0123456789"
    lines = page.evaluate(
        """(address) => { const box = document.querySelector(".address"); box.textContent = address;
        const range = document.createRange(); range.selectNodeContents(box);
        return [range.getClientRects().length, box.scrollWidth <= box.clientWidth]; }""",
        address,
    )
    assert lines == [1, True]


def test_what_is_said_of_an_update_has_a_time_by_24_hours(open_page: Open) -> None:
    page = open_page("data", "en")
    page.evaluate("htmx.trigger(document.querySelector('[data-say]'), 'htmx:sseMessage', {})")
    said = page.locator("#said").text_content() or ""
    assert any(letter.isdigit() for letter in said)
    assert "AM" not in said
    assert "PM" not in said


def test_times_are_typed_by_24_hours(open_page: Open) -> None:
    page = open_page("desk", "en")
    assert page.locator("input[type=datetime-local], input[type=time]").count() == 0
    assert page.locator("input[name=opens]").first.input_value() == "2022-09-12 12:00"
    wrong = "([field, value]) => { field.value = value; return field.checkValidity(); }"
    opens = page.locator("input[name=opens]").first.element_handle()
    assert page.evaluate(wrong, [opens, "2022-09-12 18:30"]) is True
    assert page.evaluate(wrong, [opens, "tomorrow"]) is False
