"""Reports are stored in both languages and served in the one of the page."""

from pathlib import Path

import pytest

from palestra.contest.log import events as e
from palestra.records import Table
from palestra.report.page import Page, write_page
from palestra.text import Words
from tests.contest.story import numbers
from tests.web.conftest import As, World


@pytest.fixture
def stored(world: World, tmp_path: Path) -> str:
    """A page in both languages; its digest."""
    lead = Words("x · 12 trials", "x · 12 个试次")
    page = Page(Words("Summary", "总览"), lead, [Table("Totals", ["Metric"], [[1]])])
    write_page(page, tmp_path / "r.html", "both")
    return world.put((tmp_path / "r.html").read_text("utf-8"))


def assert_follows_the_language(reader: As, address: str) -> None:
    english, chinese = (reader.get(address, cookie=f"palestra_language={name}").text for name in ("en", "zh"))
    assert '<html lang="en">' in english and "12 trials" in english and "总览</h1>" not in english
    assert '<html lang="zh-CN">' in chinese and "12 个试次" in chinese and "12 trials" not in chinese
    assert reader.get(f"{address}?lang=zh").text == chinese


def test_the_report_of_a_result_is_in_the_language_of_the_page(
    world: World, people: dict[str, As], stored: str
) -> None:
    world.submit("s9", "t1")
    world.add(e.SubmissionAccepted("s9"), e.ResultMade("s9", 1, numbers(1.0), world.put("{}"), report=stored), by="w")
    for role in ("captain", "organiser"):
        assert_follows_the_language(people[role], "/submissions/s9/report")


def test_until_there_is_a_report_of_a_new_result_its_frame_says_so(
    world: World, people: dict[str, As], stored: str
) -> None:
    world.submit("s9", "t1")
    world.add(e.SubmissionAccepted("s9"), e.ResultMade("s9", 1, numbers(1.0), world.put("{}")), by="w")
    found = people["captain"].get("/submissions/s9/report?lang=en")
    assert found.status_code == 200 and "There is no report of this result yet." in found.text
    assert "frame-ancestors" not in found.headers["content-security-policy"]
    assert "尚未生成" in people["organiser"].get("/submissions/s9/report?lang=zh").text
    assert people["rival"].get("/submissions/s9/report").status_code == 404


def test_an_organiser_without_a_report_of_their_own_reads_the_team_s(
    world: World, people: dict[str, As], stored: str
) -> None:
    scores = world.put("{}")
    world.submit("s9", "t1")
    made = e.ResultMade("s9", 1, numbers(1.0), world.put("{}"), files={"scores": scores})
    world.add(e.SubmissionAccepted("s9"), made, e.ReportMade("s9", scores, stored), by="w")
    assert_follows_the_language(people["organiser"], "/submissions/s9/report")


def test_the_report_of_a_verification_is_in_the_language_of_the_page(
    world: World, people: dict[str, As], stored: str
) -> None:
    world.close_first()
    world.add(e.VerificationMade("b1", "s3", "reproduced", "All the same.", stored, 10, 0, 0.0), by="w")
    assert_follows_the_language(people["organiser"], f"/desk/reports/{stored}")


def test_what_a_verification_left_as_text_stays_text(world: World, people: dict[str, As]) -> None:
    world.close_first()
    left = world.put('<span class="en">a</span><span class="zh">b</span>')
    world.add(e.VerificationMade("b1", "s3", "failed", "It failed.", left, 10, 0, 0.0), by="w")
    found = people["organiser"].get(f"/desk/reports/{left}")
    assert found.headers["content-type"].startswith("text/plain") and found.text.startswith("<span")
