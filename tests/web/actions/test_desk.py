"""Every action of the organiser's desk through the real server, as its form sends it; and nobody else's hand."""

from collections.abc import Callable

import pytest

from palestra.contest.log import events as e
from palestra.contest.match.cases import Entrant
from palestra.contest.match.events import MatchOpened
from palestra.contest.match.rules import PRESETS
from palestra.contest.queue import jobs
from palestra.contest.rules.reader import parse
from palestra.contest.storage.database import writing
from palestra.text import Words
from palestra.web.actions.registry import ACTIONS
from tests.contest.story import DAY, START
from tests.web.conftest import OUTSIDERS, As, World
from tests.web.html_forms import forms_in, links_in

# Each brings an action about, and looks at what came of it.
Try = Callable[[World, As], None]
TRIES: dict[str, Try] = {}


def of_action(name: str) -> Callable[[Try], Try]:
    def keep(attempt: Try) -> Try:
        TRIES[name] = attempt
        return attempt

    return keep


@of_action("grant-access")
def _grant(world: World, organiser: As) -> None:
    assert organiser.done("grant-access", team="t2", phase="first", next="/desk/access") == "/desk/access"
    assert world.state.teams["t2"].access["first"].granted


@of_action("refuse-access")
def _refuse(world: World, organiser: As) -> None:
    organiser.done("refuse-access", team="t2", phase="first", reason="no signature")
    assert world.state.teams["t2"].access["first"].refused == "no signature"


@of_action("release-truth")
def _release_truth(world: World, organiser: As) -> None:
    world.close_first()
    organiser.done("release-truth", phase="first", reason="for the final")
    assert list(world.state.truth["first"]) == ["t1"]


@of_action("disqualify")
def _disqualify(world: World, organiser: As) -> None:
    organiser.done("disqualify", team="t1", phase="", reason="two accounts")
    assert world.state.out("t1", "first").reason == "two accounts"
    assert "two accounts" in organiser.get("/desk/teams").text


@of_action("reinstate")
def _reinstate(world: World, organiser: As) -> None:
    world.add(e.TeamDisqualified("t1", "two accounts", "first"))
    form = next(form for form in forms_in(organiser.get("/desk/teams").text) if form.action == "/do/reinstate")
    organiser.done("reinstate", **{**form.fields, "reason": "they were brothers"})
    assert world.state.out("t1", "first") is None


@of_action("move-phase")
def _move(world: World, organiser: As) -> None:
    organiser.done("move-phase", phase="first", opens="2022-11-09T21:20", closes="2022-11-25T12:00", reason="power cut")
    moved = world.state.phase("first", world.clock())
    assert (moved.opens, moved.closes) == (START, 1_669_348_800_000)  # 25 November 2022, 12:00 in Shanghai


@of_action("close-phase")
def _close_phase(world: World, organiser: As) -> None:
    forms = [form for form in forms_in(organiser.get("/desk").text) if form.action == "/do/close-phase"]
    form = next(form for form in forms if form.fields["phase"] == "first")
    opened = world.state.phase("first").opens
    world.clock.advance(3_600_000)  # the page lay open for an hour
    organiser.done("close-phase", **{**form.fields, "reason": "all have handed in"})
    closed = world.state.phase("first", world.clock())
    assert (closed.opens, closed.closes) == (opened, world.clock())
    world.clock.advance(1000)
    again = organiser.do("close-phase", phase="first", reason="once more")
    assert (again.status_code, "not open" in again.text) == (409, True)
    assert world.state.phase("first", world.clock()).closes == closed.closes
    assert organiser.do("close-phase", phase="second", reason="before it opens").status_code == 409


@of_action("announce")
def _announce(world: World, organiser: As) -> None:
    organiser.done("announce", title_en="Lunch", title_zh="午饭", text_en="At noon.", text_zh="中午。")
    assert world.state.announcements[-1].title == Words("Lunch", "午饭")
    assert "午饭" in organiser.get("/desk/announcements?lang=zh").text


@of_action("amend-rules")
def _amend(world: World, organiser: As) -> None:
    text = contest_toml(world)
    given = {"text": text, "counts_from": "2022-12-01T00:00", "reason": "clearer words"}
    shown = organiser.post("/desk/rules", given)
    assert shown.status_code == 200
    assert "Test, amended" in shown.text
    assert len(world.state.versions) == 1
    form = next(form for form in forms_in(shown.text) if form.action == "/do/amend-rules")
    organiser.done("amend-rules", **form.fields)
    assert world.state.versions[-1].rules == parse(text, "here")
    assert world.state.versions[-1].counts_from == 1_669_824_000_000


def contest_toml(world: World) -> str:
    """Rules for the same phases, with another name."""
    lines = ["[contest]", 'id = "test"', 'name = "Test, amended"', 'zone = "Asia/Shanghai"']
    for phase in world.state.rules().phases:
        lines += ["[[phase]]", f'id = "{phase.id}"', f'title = "{phase.id}"', f'track = "{phase.track}"']
        lines += ["opens = 2022-11-09T21:20:00", "closes = 2022-12-09T21:20:00"]
    return "\n".join(lines)


@of_action("freeze")
def _freeze(world: World, organiser: As) -> None:
    organiser.done("freeze", phase="first")
    assert world.state.frozen == {"first": world.clock()}


@of_action("release-board")
def _release_board(world: World, organiser: As) -> None:
    world.add(e.BoardFrozen("first"))
    organiser.done("release-board", phase="first")
    assert "first" not in world.state.frozen


@of_action("propose-rescoring")
def _propose(world: World, organiser: As) -> None:
    location = organiser.done("propose-rescoring", phase="first", reason="a better scorer")
    (one,) = world.state.rescorings.values()
    assert location == f"/desk/rescorings/{one.id}"
    assert set(one.submissions) == {"s1", "s2", "s3"}
    assert organiser.get(location).status_code == 200


@of_action("apply-rescoring")
def _apply(world: World, organiser: As) -> None:
    world.add(e.RescoringProposed("r1", "first", ("s2",), "a better scorer"))
    world.score("s2", 1.0, "r1")
    organiser.done("apply-rescoring", id="r1", reason="")
    assert world.state.rescorings["r1"].state == "applied"
    assert [row.entry.team for row in world.site.boards.rows("first")] == ["t2", "t1"]


@of_action("cancel-rescoring")
def _cancel_set(world: World, organiser: As) -> None:
    world.add(e.RescoringProposed("r1", "first", ("s2",), "a better scorer"))
    organiser.done("cancel-rescoring", id="r1", reason="a worse one")
    assert world.state.rescorings["r1"].state == "cancelled"


@of_action("promote")
def _promote(world: World, organiser: As) -> None:
    world.add(e.AttemptCancelled("live1", "for later"))
    world.clock.at = START + 11 * DAY
    form = next(form for form in forms_in(organiser.get("/desk/promotion/first").text) if form.action == "/do/promote")
    organiser.done("promote", **{**form.fields, "reason": "by rank"})
    assert [one.team for one in world.state.promotions["first"].teams] == ["t1"]


@of_action("judge-compliance")
def _judge(world: World, organiser: As) -> None:
    world.close_first()
    forms = [one for one in forms_in(organiser.get("/desk/verifications/b1").text) if "judge" in one.action]
    yes, no = sorted(forms, key=lambda form: form.fields["ok"] == "no")
    organiser.done("judge-compliance", **{**no.fields, "reasons": "trained on the test set"})
    assert not world.state.compliance["first"]["t1"].ok
    organiser.done("judge-compliance", **{**yes.fields, "reasons": "it was another set"})
    assert world.state.compliance["first"]["t1"].ok


@of_action("give-awards")
def _give(world: World, organiser: As) -> None:
    world.close_first()
    form = next(form for form in forms_in(organiser.get("/desk/awards").text) if form.action == "/do/give-awards")
    organiser.done("give-awards", **{**form.fields, "reason": "as the board stands"})
    assert {award: list(teams) for award, teams in world.state.awards.items()} == {"0": ["t1"], "1": ["t2"]}
    assert "/certificates/0/t1" in links_in(organiser.get("/desk/awards").text)


@of_action("cancel-submission")
def _cancel(world: World, organiser: As) -> None:
    world.submit("s9", "t1")
    organiser.done("cancel-submission", id="s9", reason="sent twice")
    assert world.state.submissions["s9"].stage == "cancelled"
    assert job_state(world, "check:s9") == "cancelled"


def job_state(world: World, key: str) -> str:
    found = {one.key: one.state for one in jobs.listed(world.contest.engine)}
    return found[key]


@of_action("retry-job")
def _retry(world: World, organiser: As) -> None:
    with writing(world.contest.engine) as connection:
        jobs.cancel(connection, "check:s4", world.clock())
    organiser.done("retry-job", id="check:s4", reason="")
    assert job_state(world, "check:s4") == "queued"


@of_action("withdraw-submission")
def _withdraw(world: World, organiser: As) -> None:
    organiser.done("withdraw-submission", id="s3", reason="the wrong file")
    assert world.state.submissions["s3"].stage == "withdrawn"


@of_action("start-run")
def _start(world: World, organiser: As) -> None:
    form = next(form for form in forms_in(organiser.get("/desk/runs/stage").text) if form.action == "/do/start-run")
    location = organiser.done("start-run", **form.fields)
    (run,) = world.state.runs.values()
    assert run.submissions == ["live1"]
    assert location == f"/runs/{run.id}"


@of_action("add-baseline")
def _baseline(world: World, organiser: As) -> None:
    forms = [form for form in forms_in(organiser.get("/desk").text) if form.action == "/do/add-baseline"]
    first = next(form for form in forms if form.fields["phase"] == "first")
    organiser.done("add-baseline", **first.fields)
    assert job_state(world, f"baseline:first:{first.fields['solution']}") == "queued"
    assert organiser.get("/desk").status_code == 200


@of_action("stop-run")
def _stop(world: World, organiser: As) -> None:
    world.add(e.RunStarted("u1", "stage", ("live1",)))
    organiser.done("stop-run", id="u1", reason="the wrong bundle")
    assert world.state.runs["u1"].outcome == "stopped"
    assert job_state(world, "run:u1") == "cancelled"


@of_action("make-account")
def _make_account(world: World, organiser: As) -> None:
    made = organiser.do("make-account", name="rita", role="referee", email="", next="/desk/accounts")
    notice = made.headers["set-cookie"].split(";")[0]
    assert world.state.accounts[world.state.names["rita"]].role == "referee"
    page = organiser.get("/desk/accounts", cookie=notice)
    assert "/link/pll_" in page.text
    assert "/link/pll_" not in organiser.get("/desk/accounts").text


@of_action("reset-password")
def _reset(world: World, organiser: As) -> None:
    made = organiser.do("reset-password", id="ann", next="/desk/accounts")
    page = organiser.get("/desk/accounts", cookie=made.headers["set-cookie"].split(";")[0])
    link = page.text.split("/link/")[1].split("<")[0]
    assert organiser.get(f"/link/{link}").status_code == 200


@of_action("change-role")
def _role(world: World, organiser: As) -> None:
    organiser.done("change-role", account="vera", role="referee", reason="she helps")
    assert world.state.accounts["vera"].role == "referee"


@of_action("close-account")
def _close(world: World, organiser: As) -> None:
    organiser.done("close-account", id="vera", reason="has left")
    assert world.state.accounts["vera"].closed


@pytest.mark.parametrize("name", sorted(TRIES))
def test_the_organiser_can(world: World, organiser: As, name: str) -> None:
    before = world.state.seq
    TRIES[name](world, organiser)
    if name not in ("retry-job", "reset-password", "add-baseline"):
        assert world.state.seq > before


def test_what_came_of_a_decision_is_told_by_what_it_is_about(world: World, organiser: As) -> None:
    assert organiser.call("grant-access", team="t2", phase="first").json() == {"id": "t2"}
    assert organiser.call("freeze", phase="first").json() == {"id": "first"}
    assert organiser.call("withdraw-submission", id="s3", reason="the wrong file").json() == {"id": "s3"}


def _with_match(world: World) -> None:
    teams = (Entrant("t1", "Team <t1>"), Entrant("t2", "Team <t2>"))
    world.add(MatchOpened(match="m1", phase="first", rules=PRESETS["seed"], groups=(), teams=teams, head="referee"))


def _planned(world: World, organiser: As) -> list[tuple[str, int]]:
    """Two slots of 20 minutes, from 9 o'clock in Shanghai on; what the page then has of them."""
    _with_match(world)
    form = next(one for one in forms_in(organiser.get("/desk/matches").text) if one.action == "/do/plan-slots")
    organiser.done("plan-slots", **{**form.fields, "opens": "2022-11-20T09:00", "minutes": "20", "gap_minutes": "5"})
    return [(slot.team, slot.opens) for slot in world.state.match("m1").setup.slots]


NINE = 1_668_906_000_000  # 20 November 2022, 9:00 in Shanghai


@of_action("plan-slots")
def _plan_slots(world: World, organiser: As) -> None:
    assert _planned(world, organiser) == [("t1", NINE), ("t2", NINE + 25 * 60_000)]


@of_action("move-slot")
def _move_slot(world: World, organiser: As) -> None:
    _planned(world, organiser)
    forms = [one for one in forms_in(organiser.get("/desk/matches").text) if one.action == "/do/move-slot"]
    form = next(one for one in forms if one.fields["team"] == "t1")
    organiser.done("move-slot", **{**form.fields, "to": "2022-11-20T11:00", "reason": "a late train"})
    assert [slot.team for slot in world.state.match("m1").setup.slots] == ["t2", "t1"]


@of_action("cancel-slot")
def _cancel_slot(world: World, organiser: As) -> None:
    _planned(world, organiser)
    forms = [one for one in forms_in(organiser.get("/desk/matches").text) if one.action == "/do/cancel-slot"]
    organiser.done("cancel-slot", **{**forms[0].fields, "reason": "they do not need it"})
    assert [slot.team for slot in world.state.match("m1").setup.slots] == ["t2"]
    organiser.done("cancel-slot", **{**forms[-1].fields, "reason": "the hall is closed"})
    assert world.state.match("m1").setup.slots == ()


def test_every_desk_action_is_tried() -> None:
    elsewhere = {"open-match"}  # in tests/web/match/test_opening.py
    assert set(TRIES) | elsewhere == {name for name, action in ACTIONS.items() if action.desk}


def test_nobody_else_can(world: World, people: dict[str, As]) -> None:
    before = world.state.seq
    for name in TRIES:
        for role, status in OUTSIDERS.items():
            assert people[role].do(name).status_code == status, (name, role)
            assert people[role].call(name).status_code == status, (name, role)
    assert world.state.seq == before


def test_no_other_site_can_do_it_in_the_organisers_name(world: World, organiser: As) -> None:
    before = world.state.seq
    for name in TRIES:
        for sign in ("", "0" * 64):
            assert organiser.do(name, csrf=sign).status_code == 403, name
            assert organiser.call(name, sign).status_code == 403, name
    assert world.state.seq == before


def test_a_form_leads_to_no_other_site(organiser: As) -> None:
    for wanted in ("https://example.org/", "//example.org", "/\\example.org", "javascript:alert(1)"):
        assert organiser.done("grant-access", team="t2", phase="first", next=wanted) == "/"


def test_a_preview_needs_the_forms_sign_as_well(world: World, people: dict[str, As]) -> None:
    given = {"text": contest_toml(world), "counts_from": "2022-12-01T00:00", "reason": "clearer words"}
    assert people["organiser"].post("/desk/rules", {**given, "csrf": ""}).status_code == 403
    assert people["captain"].post("/desk/rules", given).status_code == 403
    wrong = people["organiser"].post("/desk/rules", {**given, "text": "name = "})
    assert wrong.status_code == 422
    assert "line 1" in wrong.text
