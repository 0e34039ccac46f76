"""The leaderboard as a page shows it: of a long one, its beginning and one's own team."""

import pytest

from palestra.contest.visibility import NOBODY, Viewer
from palestra.web.views import public
from tests.web.conftest import As, World

ANN = Viewer("ann", "ann", "member", "t1")
CLEO = Viewer("cleo", "cleo", "member", "t2")  # her team is the second of two


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "SHOWN_ROWS", 1)


@pytest.mark.usefixtures("short")
def test_a_long_board_shows_its_beginning_and_ones_own_team(world: World) -> None:
    teams = {}
    for viewer in (NOBODY, ANN, CLEO):
        page = public.board_page(world.site, "first", viewer)
        assert page is not None
        teams[viewer.team] = [row.team for row in page.rows], page.further
    assert teams == {"": (["t1"], 1), "t1": (["t1"], 1), "t2": (["t1", "t2"], 0)}


@pytest.mark.usefixtures("short")
def test_a_long_board_leads_to_the_whole_table(world: World, people: dict[str, As]) -> None:
    page = people["nobody"].get("/boards/first").text
    assert "2 teams" in page and "1 more team is not shown here." in page
    assert "Team &lt;t2&gt;" not in page and 'href="/boards/first/print"' in page
    assert "Team &lt;t2&gt;" in people["nobody"].get("/boards/first/print").text
    assert "Team &lt;t2&gt;" in people["rival"].get("/boards/first").text


@pytest.mark.usefixtures("short")
def test_the_api_has_all_of_a_long_board(world: World, people: dict[str, As]) -> None:
    assert [row["team"] for row in people["nobody"].get("/api/boards/first").json()["rows"]] == ["t1", "t2"]


def test_a_board_of_usual_length_is_shown_whole(world: World, people: dict[str, As]) -> None:
    assert "not shown here" not in people["nobody"].get("/boards/first").text
