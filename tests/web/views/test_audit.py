"""The log as a page: all of it for organisers, its skeleton for everybody, and never more of it read than is shown."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

from palestra.contest.log import events as e
from palestra.contest.storage.database import writing
from palestra.contest.visibility import NOBODY
from palestra.text import Words
from palestra.web.text import CHOICES
from palestra.web.views import audit
from palestra.web.views.audit import Asked
from palestra.web.views.desk import ORGANISER
from tests.web.conftest import As, World
from tests.web.html_forms import links_in

WAYS = (("", "before"), ("&after=0", "after"))


@pytest.fixture(autouse=True)
def looked_at_afresh() -> Iterator[None]:
    """What one test found out about its log is not kept for the next."""
    audit.checked.cache_clear()
    yield


def seqs(world: World, asked: Asked) -> list[int]:
    return [row.seq for row in audit.audit(world.site, ORGANISER, asked).rows]


def test_organisers_see_who_did_what(world: World, organiser: As) -> None:
    page = audit.audit(world.site, ORGANISER, Asked())
    assert page.count == page.rows[0].seq == world.state.seq
    assert page.verified
    made = next(row for row in page.rows if row.kind == "team.made")
    assert made.by == "cleo"
    assert '"captain":"cleo"' in made.body
    assert "cleo" in organiser.get("/audit").text


@pytest.mark.parametrize("role", ["nobody", "captain", "viewer", "referee"])
def test_everybody_else_sees_that_there_is_an_event_and_its_hash(
    world: World, people: dict[str, As], role: str
) -> None:
    html = people[role].get("/audit").text
    assert "team.made" in html
    assert world_hash(world)[:10] in html
    body = html[html.index("<main") : html.index("</main")]
    for hidden in ("olga", "cleo", "Team &lt;", "our fault", "example.org", "s3.csv"):
        assert hidden not in body, hidden


def world_hash(world: World) -> str:
    with world.contest.engine.connect() as connection:
        return str(connection.execute(text("select hash from events order by seq desc limit 1")).scalar())


def test_who_may_not_see_people_cannot_ask_for_them_either(world: World, people: dict[str, As]) -> None:
    everything = audit.audit(world.site, NOBODY, Asked())
    assert audit.audit(world.site, NOBODY, Asked(by="ann")) == everything
    assert everything.people == ()
    assert people["nobody"].get("/audit?by=ann").status_code == 200


def test_events_are_chosen_by_kind_and_by_person(world: World) -> None:
    page = audit.audit(world.site, ORGANISER, Asked(kind="result.made"))
    assert {row.kind for row in page.rows} == {"result.made"}
    assert len(page.rows) == 3
    page = audit.audit(world.site, ORGANISER, Asked(by="ann", kind="submission.made"))
    assert {row.by for row in page.rows} == {"ann"}
    assert len(page.rows) == 3
    workers = audit.audit(world.site, ORGANISER, Asked(by="worker"))
    assert {row.by for row in workers.rows} == {"worker:w"}
    for strange in ("%", "result.made%", '"', "_esult.made"):
        assert audit.audit(world.site, ORGANISER, Asked(kind=strange)).rows == ()


def walk(who: As, path: str, name: str) -> list[int]:
    """The numbers of all events, as one finds them by going from page to page."""
    found: list[int] = []
    for _ in range(50):
        html = who.get(path).text
        found += map(int, re.findall(r'<tr id="e(\d+)">', html))
        onward = [link for link in links_in(html) if link.startswith("/audit?") and f"{name}=" in link]
        onward = [link for link in onward if "lang=" not in link]
        if not onward:
            return found
        path = onward[0].replace("&amp;", "&")
    raise AssertionError("the pages have no end")


def test_pages_lead_through_the_whole_log_and_back(
    world: World, organiser: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "ROWS", 7)
    last = world.state.seq
    assert walk(organiser, "/audit", "before") == list(range(last, 0, -1))
    there = walk(organiser, "/audit?after=0", "after")
    assert sorted(there) == list(range(1, last + 1))


def test_a_kind_is_found_however_far_it_lies(world: World, organiser: As, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page looks through a stretch and no further; an empty one still leads on."""
    monkeypatch.setattr(audit, "LOOKED_THROUGH", 5)
    assert walk(organiser, "/audit?kind=contest.opened", "before") == [1]
    there, back = (walk(organiser, f"/audit?kind=account.made{place}", name) for place, name in WAYS)
    assert sorted(there) == sorted(back)
    assert len(there) == len(world.state.accounts)


def test_only_a_stretch_of_a_long_log_is_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "CHECKED", 20)
    monkeypatch.setattr(audit, "LOOKED_THROUGH", 30)
    world.add(*(e.AnnouncementMade(f"x{i}", Words(f"{i}"), Words()) for i in range(500)))
    read = rows_read(world.contest.engine)
    audit.audit(world.site, ORGANISER, Asked(kind="account.made"))
    assert sum(read) < 60


def rows_read(engine: Engine) -> list[int]:
    """How many rows each query has read, by its limits on the number of an event."""
    counts: list[int] = []

    @event.listens_for(engine, "before_cursor_execute")
    def note(_: object, __: object, statement: str, given: Any, *___: object) -> None:
        if "FROM events" in statement and "seq >" in statement:
            values = given.values() if isinstance(given, dict) else given  # by name on PostgreSQL
            numbers = [value for value in values if isinstance(value, int)]
            counts.append(min(abs(numbers[1] - numbers[0]) + 1, *numbers[2:], 10**9))

    return counts


def edit(world: World, statement: str) -> None:
    with writing(world.contest.engine) as connection:
        connection.execute(text(statement))


def test_an_edited_event_is_told(world: World, organiser: As) -> None:
    edit(world, "update events set by = 'olga' where seq = 20")
    page = audit.audit(world.site, ORGANISER, Asked())
    assert page.verified is False
    assert "Event 20 does not fit its hash" in page.fault
    assert "Event 20 does not fit its hash" in organiser.get("/audit").text


def test_a_missing_event_is_told(world: World) -> None:
    edit(world, "delete from events where seq = 20")
    assert "After event 19 comes event 21" in audit.audit(world.site, NOBODY, Asked()).fault


@pytest.mark.parametrize("checked", [1, 2, 10, 1000])
def test_a_sound_log_is_sound_however_much_of_it_is_looked_at(
    world: World, monkeypatch: pytest.MonkeyPatch, checked: int
) -> None:
    monkeypatch.setattr(audit, "CHECKED", checked)
    page = audit.audit(world.site, NOBODY, Asked())
    assert (page.verified, page.fault) == (True, "")
    assert page.verified_from == max(world.state.seq - checked, 0) + 1


def test_strange_places_in_the_log_are_no_error(world: World, people: dict[str, As]) -> None:
    for query in ("before=0", "before=999999999", "after=999999999", "kind=no.such"):
        assert people["nobody"].get(f"/audit?{query}").status_code == 200, query
    for query in ("before=x", "before=-5", "after=-5"):
        assert people["nobody"].get(f"/audit?{query}").status_code == 400, query
    assert people["nobody"].get(f"/audit?before={10**30}").status_code in (200, 400)


def test_filters_are_kept_from_page_to_page(world: World) -> None:
    page = audit.audit(world.site, ORGANISER, Asked(kind="result.made", by="worker", before=30))
    assert page.newer.startswith("/audit?kind=result.made&by=worker&after=")
    assert seqs(world, Asked(before=5)) == [4, 3, 2, 1]
    assert seqs(world, Asked(after=world.state.seq - 2)) == [world.state.seq, world.state.seq - 1]


def test_every_kind_of_event_has_words() -> None:
    assert [kind for kind in audit.KINDS if kind not in CHOICES["event"]] == []


def test_the_log_says_what_happened_in_words_with_the_kind_beside_it(people: dict[str, As]) -> None:
    english, chinese = (people["organiser"].get(f"/audit?lang={language}").text for language in ("en", "zh"))
    assert 'Announcement published<br><code class="soft small">announcement.made</code>' in english
    assert 'value="announcement.made">Announcement published</option>' in english
    assert '发布公告<br><code class="soft small">announcement.made</code>' in chinese
