"""The organiser's desk through the real server: its pages, forms and links, and what is shown before a decision."""

import io
import typing

import httpx
import msgspec
import polars as pl
import pytest

from palestra.contest.log import events as e
from palestra.contest.queue import jobs
from palestra.contest.queue.jobs import Seen
from palestra.contest.storage.database import writing
from palestra.executors import Machine
from palestra.text import Words
from palestra.web.actions.registry import ACTIONS
from palestra.web.site.rendering import render
from palestra.web.views import judging
from tests.contest.story import DAY, HOUR, START
from tests.web import samples
from tests.web.conftest import OUTSIDERS, As, World
from tests.web.html_forms import Form, forms_in, links_in

DESK = (
    "/desk", "/desk/access", "/desk/promotion", "/desk/promotion/first", "/desk/verifications",
    "/desk/verifications/b1", "/desk/rescorings", "/desk/rescorings/r1", "/desk/awards", "/desk/announcements",
    "/desk/rules", "/desk/teams", "/desk/copies", "/desk/accounts", "/desk/exports", "/desk/runs/stage",
    "/desk/exports/board-first.csv", "/desk/exports/events.csv",
)  # fmt: skip
OTHERS = ("/", "/boards/first", "/phases/first", "/phases/stage", "/submissions/s3", "/submissions/s4",
          "/submissions/live1", "/data", "/team", "/account", "/audit", "/sign-in", "/register", "/screen")  # fmt: skip
SHOWS_ONLY = ("/desk/rules",)  # a form that shows what would change, and does nothing


def tell_more(world: World) -> None:
    """Whatever makes a desk's page longer: an open set of scores, a promotion, a bundle, an award, a failed job."""
    world.add(e.RescoringProposed("r1", "first", ("s1", "s3"), "a better scorer"))
    world.score("s1", 1.0, "r1")
    world.close_first()
    world.add(e.AwardGiven(0, "t1", "by rank"))
    job = jobs.lease(world.contest.engine, "w", ["check"], world.clock())
    with writing(world.contest.engine) as connection:
        assert job is not None
        jobs.give_up(connection, job, Words.same("it broke"), world.clock(), None)


# Pages


def test_every_desk_page_is_for_organisers_alone(world: World, people: dict[str, As]) -> None:
    tell_more(world)
    for path in DESK:
        assert people["organiser"].get(path).status_code in (200, 302), path
        for role, status in OUTSIDERS.items():
            assert people[role].get(path).status_code == status, (path, role)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page_is_shown_before_and_after_things_happen(world: World, organiser: As, language: str) -> None:
    before = ("/desk/verifications/b1", "/desk/rescorings/r1")
    for path in DESK:
        wanted = (404,) if path in before else (200, 302)
        assert organiser.get(f"{path}?lang={language}").status_code in wanted, path
    tell_more(world)
    for path in DESK + OTHERS:
        assert organiser.get(f"{path}?lang={language}").status_code in (200, 302), path


def test_a_desk_is_also_shown_while_a_run_is_under_way(world: World, organiser: As) -> None:
    world.add(e.RunStarted("u1", "stage", ("live1",)))
    assert organiser.get("/desk").status_code == 200
    page = organiser.get("/desk/runs/stage")
    assert "/do/stop-run" in page.text
    assert "/do/start-run" not in page.text


def test_names_of_teams_come_to_the_desk_as_text(world: World, organiser: As) -> None:
    tell_more(world)
    for path in ("/desk", "/desk/access", "/desk/teams", "/desk/promotion/first", "/desk/copies", "/desk/awards"):
        html = organiser.get(path).text
        assert "Team &lt;t1&gt;" in html, path
        assert "Team <t1>" not in html, path


def test_the_overview_tells_what_waits_for_the_organiser(world: World, organiser: As) -> None:
    from palestra.web.views import desk

    tell_more(world)
    page = desk.overview(world.site)
    assert (page.requests, page.copies, page.verifications, page.rescorings) == (1, 1, 1, 1)
    assert page.log_seq == world.state.seq
    assert [fault.submission for fault in page.faults] == ["s4"]
    assert {job.kind for job in page.jobs} >= {"check", "score", "live"}


# Files


def test_a_traceback_is_text_and_only_a_traceback(world: World, people: dict[str, As]) -> None:
    trace = world.state.submissions["s4"].mishaps[0].trace
    found = people["organiser"].get(f"/desk/traces/{trace}")
    assert found.text == "Traceback: <b>it</b> broke"
    assert found.headers["content-type"].startswith("text/plain")
    assert people["organiser"].get(f"/desk/traces/{world.state.submissions['s1'].file}").status_code == 404
    for role, status in OUTSIDERS.items():
        assert people[role].get(f"/desk/traces/{trace}").status_code == status


def test_a_verification_report_runs_no_script_and_no_other_file_passes_for_one(world: World, organiser: As) -> None:
    world.close_first()
    found = organiser.get(f"/desk/reports/{world.state.bundles['b1'].report}")
    assert found.headers["content-type"].startswith("text/html")
    assert found.headers["content-security-policy"].startswith("sandbox;")
    assert organiser.get(f"/desk/reports/{world.state.bundles['b1'].file}").status_code == 404


def test_tables_are_downloaded_as_csv_and_parquet(world: World, organiser: As) -> None:
    tell_more(world)
    names = [link.rpartition("/")[2] for link in links_in(organiser.get("/desk/exports").text) if "/exports/" in link]
    assert {"board-first.csv", "board-first.parquet", "teams.csv", "submissions.csv", "events.csv"} <= set(names)
    for name in names:
        found = organiser.get(f"/desk/exports/{name}")
        assert found.status_code == 200, name
        assert found.headers["content-disposition"] == f'attachment; filename="{name}"'
        if name.endswith(".parquet"):
            pl.read_parquet(io.BytesIO(found.content))
    board = pl.read_parquet(io.BytesIO(organiser.get("/desk/exports/board-first.parquet").content))
    assert board["team_id"].to_list() == ["t1", "t2"]
    events = pl.read_csv(io.BytesIO(organiser.get("/desk/exports/events.csv").content))
    assert events["seq"].to_list() == list(range(1, world.state.seq + 1))
    assert organiser.get("/desk/exports/passwords.csv").status_code == 404


# Forms and links


def every_page(world: World, people: dict[str, As]) -> dict[str, str]:
    """All pages, as they come from the server and as the samples have them."""
    tell_more(world)
    world.add(e.AccountMade("eve", "eve", "member"), by="eve")
    found = {"a run under way": run_under_way(world, people["organiser"])}
    for role, who in {**people, "alone": As(world, people["nobody"].client, "eve")}.items():
        for path in DESK + OTHERS:
            answer = who.get(path)
            if is_html(answer):
                found[f"{path} as {role}"] = answer.text
    for name, (template, frame, page) in samples.pages().items():
        found[f"sample {name}"] = render(template, "en", frame=frame, page=page)
    return found


def is_html(answer: httpx.Response) -> bool:
    return answer.headers["content-type"].startswith("text/html")


def run_under_way(world: World, organiser: As) -> str:
    world.add(e.RunStarted("u1", "stage", ("live1",)))
    html = organiser.get("/desk/runs/stage").text
    world.add(e.RunEnded("u1", "done"))
    return html


def faults_of(form: Form) -> list[str]:
    """What is wrong with a form that changes something."""
    if form.method != "post" or form.action in SHOWS_ONLY:
        return []
    action = ACTIONS.get(form.action.removeprefix("/do/"))
    if action is None or not form.action.startswith("/do/"):
        return [f"{form.action} is no action"]
    hints = typing.get_type_hints(action.takes)
    mappings = tuple(f"{name}." for name, hint in hints.items() if typing.get_origin(hint) is dict)
    sent = {name for name in form.fields if not (mappings and name.startswith(mappings))}
    needed = {one.name for one in msgspec.structs.fields(action.takes) if one.required and hints[one.name] is not bool}
    extra, missing = sent - set(hints) - {"csrf", "next", "once", "page", "again"}, (needed | {"csrf"}) - sent
    return [f"{form.action}: {name} is no field" for name in sorted(extra)] + [
        f"{form.action}: {name} is missing" for name in sorted(missing)
    ]


def test_every_form_sends_what_an_action_takes(world: World, people: dict[str, As]) -> None:
    pages = every_page(world, people)
    wrong = {name: [fault for form in forms_in(html) for fault in faults_of(form)] for name, html in pages.items()}
    assert {name: faults for name, faults in wrong.items() if faults} == {}
    reached = {form.action.removeprefix("/do/") for html in pages.values() for form in forms_in(html)}
    assert set(ACTIONS) - reached == set()


def test_a_wrong_form_would_be_found() -> None:
    assert faults_of(Form("post", "/do/freeze", {"csrf": "", "phase": "", "sure": ""})) == [
        "/do/freeze: sure is no field"
    ]
    assert faults_of(Form("post", "/do/freeze", {"csrf": ""})) == ["/do/freeze: phase is missing"]
    assert faults_of(Form("post", "/desk/freeze", {})) == ["/desk/freeze is no action"]


def test_every_link_leads_somewhere(world: World, people: dict[str, As]) -> None:
    tell_more(world)
    for role in ("organiser", "captain", "nobody"):
        who = people[role]
        pages = {path: who.get(path) for path in DESK + OTHERS}
        html = {path: one.text for path, one in pages.items() if one.status_code == 200 and is_html(one)}
        links = {link: path for path, text in html.items() for link in links_in(text) if link.startswith("/")}
        lost = {link: path for link, path in links.items() if who.get(link).status_code in (404, 405, 500)}
        assert lost == {}, role


# What the organiser is shown before a decision


def test_a_team_that_is_left_out_makes_room_and_the_preview_is_what_is_confirmed(world: World, organiser: As) -> None:
    world.clock.at = START + 11 * DAY
    page = judging.promotion(world.site, "first", {"t1": "two accounts"})
    assert [(row.team, row.goes_on, row.reason) for row in page.rows] == [
        ("t1", False, "two accounts"), ("t2", True, ""),
    ]  # fmt: skip
    shown = organiser.get("/desk/promotion/first?without.t1=two+accounts").text
    form = next(form for form in forms_in(shown) if form.action == "/do/promote")
    assert form.fields["preview"] == page.preview
    organiser.done("promote", **{**form.fields, "reason": "one broke the rules"})
    held = world.state.promotions["first"]
    assert [one.team for one in held.teams] == ["t2"]
    assert [(one.team, one.reason) for one in held.left_out] == [("t1", "two accounts")]


def test_a_promotion_is_refused_when_the_board_has_changed_since(world: World, organiser: As) -> None:
    world.clock.at = START + 11 * DAY
    form = next(form for form in forms_in(organiser.get("/desk/promotion/first").text) if form.action == "/do/promote")
    world.score("s2", 0.5)
    answer = organiser.do("promote", **{**form.fields, "reason": "by rank"})
    assert answer.status_code == 409
    assert "changed since" in answer.text
    assert world.state.promotions == {}


def test_a_failed_teams_place_goes_to_the_next_who_is_named_before(world: World) -> None:
    world.close_first()
    page = judging.verification(world.site, "b1")
    assert page is not None
    assert page.next_team == "Team <t2>"
    assert page.verification.outcome == "reproduced"
    assert (page.of, page.can_retry) == ("s3", False)


def test_a_set_of_scores_shows_ranks_before_and_after(world: World) -> None:
    world.add(e.RescoringProposed("r1", "first", ("s2", "s3"), "a better scorer"))
    world.score("s2", 1.0, "r1")
    world.add(e.RescoringFailed("r1", "s3", "its file is gone"), by="worker:w")
    page = judging.rescoring_page(world.site, "r1")
    assert page is not None
    assert (page.rescoring.state, page.new_first) == ("ready", "Team <t2>")
    by_name = {change.submission: change for change in page.changes}
    assert (by_name["s2"].rank_before, by_name["s2"].rank_after) == (2, 1)
    assert (by_name["s2"].before.value, by_name["s2"].after.value) == (3.0, 1.0)  # type: ignore[union-attr]
    assert by_name["s3"].failed == "its file is gone"


def test_an_applied_set_shows_what_it_did_and_a_cancelled_one_what_it_would_have_done(world: World) -> None:
    world.add(e.RescoringProposed("r1", "first", ("s2",), "a better scorer"))
    world.score("s2", 1.0, "r1")
    world.add(e.RescoringApplied("r1"))
    applied = judging.rescoring_page(world.site, "r1")
    world.add(e.RescoringProposed("r2", "first", ("s2",), "a worse scorer"))
    world.score("s2", 9.0, "r2")
    world.add(e.RescoringCancelled("r2", "no"))
    cancelled = judging.rescoring_page(world.site, "r2")
    assert applied is not None
    assert cancelled is not None
    (change,) = [change for change in applied.changes if change.submission == "s2"]
    assert (change.before.value, change.after.value) == (3.0, 1.0)  # type: ignore[union-attr]
    assert (change.rank_before, change.rank_after, applied.rescoring.state) == (2, 1, "applied")
    (change,) = cancelled.changes
    assert (change.before.value, change.after.value, change.rank_after) == (1.0, 9.0, None)  # type: ignore[union-attr]


def test_a_bundle_that_is_late_or_missing_is_told(world: World) -> None:
    world.close_first()
    assert [(row.team, row.outcome) for row in judging.verifications(world.site).rows] == [("t1", "reproduced")]
    world.add(e.PromotionConfirmed("first", "second", (e.Promoted("t2", 2),), (e.Promoted("t1", 1, "out"),), "next"))
    rows = judging.verifications(world.site).rows
    assert [(row.team, row.outcome) for row in rows] == [("t2", "missing"), ("t1", "reproduced")]
    assert rows[0].due > world.clock() + 4 * 24 * HOUR


def test_the_desk_is_told_in_words_where_machines_that_may_play_a_run_differ(world: World, organiser: As) -> None:
    one = Machine("hall-1", "Xeon", 8, 64, ("H200",), "6.1", "3.11.2", {"numpy": "2.0"})
    other = msgspec.structs.replace(one, name="hall-2", cores=4)
    for worker, machine, kinds in (("w1", one, "check,run"), ("w2", other, "run"), ("w3", other, "check")):
        jobs.seen(world.contest.engine, Seen(worker, kinds, "processes", world.clock(), world.clock(), 0))
        world.add(e.MachineSeen(worker, machine), by=f"worker:{worker}")
    page = organiser.get("/desk/runs/stage").text
    assert "hall-1: Xeon, 8 cores, 64 GiB of memory, graphics card H200; kernel 6.1" in page
    assert "The machines differ" in page
    assert "cores: 8 on hall-1; 4 on hall-2" in page
    world.add(e.MachineSeen("w2", msgspec.structs.replace(one, name="hall-2")), by="worker:w2")
    page = organiser.get("/desk/runs/stage").text
    assert "They are alike." in page and "The machines differ" not in page
