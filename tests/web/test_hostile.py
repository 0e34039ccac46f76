"""What bad people send, through the server as it is: refused in words, or made harmless."""

import asyncio
import csv
import hashlib
import io
import os
import pickle
import re
import tarfile
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient

from palestra.contest.accounts import tokens
from palestra.contest.log import events as e
from palestra.contest.rules.model import Quota
from palestra.contest.rules.model import encode as encode_rules
from palestra.contest.storage.database import writing
from palestra.text import Words
from palestra.web.actions import idempotency
from tests.contest.story import DAY, START, a_phase, some_rules
from tests.web.asking import ask
from tests.web.conftest import As, World
from tests.web.html_forms import forms_in
from tests.web.uploading import append, begin, complete, submitted, with_data, work_off

# Files


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), data)
    return out.getvalue()


def zip_that_leads_elsewhere() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("../../../etc/answers.csv", "trial\n1\n")
    return out.getvalue()


def zip_bomb() -> bytes:
    """Small, and large when it is unpacked."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("answers.csv", "w") as to,
    ):
        for _ in range(100):
            to.write(bytes(1 << 20))
    return out.getvalue()


def zip_that_declares_too_much() -> bytes:
    """Its directory says that a member of a few bytes has four gigabytes."""
    data = bytearray(zipped(answers_dot_csv=b"trial\n" * 20))
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = (0xFFFF_FFF0).to_bytes(4, "little")
    return bytes(data)


def tar_with_link(kind: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        link = tarfile.TarInfo("Algorithm/MyAlgorithm.py")
        link.type, link.linkname = kind, "/etc/passwd"
        archive.addfile(link)
    return out.getvalue()


class _Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("/tmp/was-run-by-a-pickle",)


# Each by the name of a table: by any other it is not taken at all.
ANSWERS: dict[str, Callable[[], bytes]] = {
    "a zip that leads elsewhere": zip_that_leads_elsewhere,
    "a zip bomb": zip_bomb,
    "a zip that declares too much": zip_that_declares_too_much,
    "a zip of nothing": lambda: zipped(),
    "a zip in a zip": lambda: zipped(answers_dot_zip=zipped(answers_dot_csv=b"trial\n")),
    "a pickle": lambda: pickle.dumps(_Evil()),
    "noise": lambda: bytes(range(256)) * 40,
    "a table of nothing": lambda: b"\n" * 100,
    "one line without an end": lambda: b"a," * 200_000,
    "quotes that never close": lambda: b'trial,x\n"' + b"a" * 1000,
    "no letters": lambda: b"\0" * 1000,
    "half of a letter": lambda: b"\xff\xfe\xd8\x00trial",
    "a program": lambda: b"#!/bin/sh\ntouch /tmp/was-run\n",
}
BUNDLES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a zip that leads elsewhere": ("bundle.zip", zip_that_leads_elsewhere),
    "a symbolic link": ("bundle.tar.gz", lambda: tar_with_link(tarfile.SYMTYPE)),
    "a hard link": ("bundle.tar.gz", lambda: tar_with_link(tarfile.LNKTYPE)),
    "a device": ("bundle.tar.gz", lambda: tar_with_link(tarfile.CHRTYPE)),
    "no program": ("bundle.zip", lambda: zipped(README_dot_md=b"hello")),
    "noise": ("bundle.zip", lambda: bytes(range(256)) * 40),
}


def told_of(world: World, somebody: As, submission: str) -> str:
    """What the team reads of its submission."""
    page = somebody.get(f"/submissions/{submission}")
    assert page.status_code == 200
    answer = somebody.get(f"/api/submissions/{submission}").json()
    assert answer["state"] == "refused", answer
    text = "\n".join(answer["faults"])
    assert text
    assert "Traceback" not in page.text
    assert str(world.site.setup.home) not in text + page.text
    assert ".py" not in text.replace("MyAlgorithm.py", "")
    return text


@pytest.mark.parametrize("what", ANSWERS)
def test_hostile_answers_are_refused_in_words(
    world: World, people: dict[str, As], tiny: Callable[[str], Path], what: str
) -> None:
    with_data(world, "first", tiny("near-eye-gaze-v1"))
    sent = submitted(people["captain"], ANSWERS[what](), name="answers.csv")
    work_off(world, "check", "score")
    assert told_of(world, people["captain"], sent)
    assert not Path("/tmp/was-run-by-a-pickle").exists()


@pytest.mark.parametrize("what", BUNDLES)
def test_hostile_bundles_are_refused_in_words(world: World, people: dict[str, As], what: str) -> None:
    world.add(e.AttemptCancelled("live1", "out of the way"))
    name, make = BUNDLES[what]
    sent = submitted(people["captain"], make(), "stage", name)
    work_off(world, "check")
    assert told_of(world, people["captain"], sent)


def test_a_name_that_leads_elsewhere_stays_a_name(world: World, people: dict[str, As]) -> None:
    sent = submitted(people["captain"], b"x" * 10, name="../../\\..\\evil\r\nX: 1\u202eexe.csv")
    assert world.state.submissions[sent].name == "evil X: 1exe.csv"


# When and whether something is taken


def test_what_is_too_large_is_refused_before_it_is_sent_and_while_it_grows(world: World, people: dict[str, As]) -> None:
    limit = world.state.phase("first").limit_bytes
    refused = begin(people["captain"], size=limit + 1)
    assert refused.status_code == 422
    assert f"at most {limit:,}" in refused.text
    assert begin(people["captain"], size=1 << 62).status_code == 422
    assert begin(people["captain"], size=0).status_code == 422
    assert begin(people["captain"], size=-5).status_code == 422
    upload = begin(people["captain"], size=10).json()["upload"]
    assert append(people["captain"], upload, 0, b"x" * 8).status_code == 200
    more = append(people["captain"], upload, 8, b"x" * 8)
    assert more.status_code == 422
    assert "more than the 10 bytes" in more.text
    assert people["captain"].get(f"/api/uploads/{upload}").json()["received"] == 8


def test_nothing_is_handed_in_before_all_of_it_is_there(world: World, people: dict[str, As]) -> None:
    upload = begin(people["captain"]).json()["upload"]
    append(people["captain"], upload, 0, b"123")
    early = complete(people["captain"], upload)
    assert early.status_code == 409
    assert "3 of 10 bytes" in early.text


@pytest.mark.parametrize(
    ("phase", "at", "status", "words"),
    [
        ("nowhere", START + DAY, 404, "There is no phase"),
        ("first", START - DAY, 409, "not open yet"),
        ("first", START + 10 * DAY, 409, "takes no more submissions"),
        ("second", START + 13 * DAY, 409, "Only promoted teams"),
        ("first", START + DAY, 409, "asks for no verification bundle|Only teams that were promoted"),
    ],
)  # fmt: skip
def test_the_wrong_phase_and_the_wrong_time_are_refused(
    world: World, people: dict[str, As], phase: str, at: int, status: int, words: str
) -> None:
    world.clock.at = at
    purpose = {"purpose": "bundle"} if "bundle" in words else {}
    answer = begin(people["captain"], phase, **purpose)
    assert answer.status_code == status
    assert re.search(words, answer.json()["error"])


def test_what_was_begun_in_time_and_ended_too_late_is_refused(world: World, people: dict[str, As]) -> None:
    upload = begin(people["captain"]).json()["upload"]
    append(people["captain"], upload, 0, b"x" * 10)
    world.clock.at = START + 10 * DAY
    late = complete(people["captain"], upload)
    assert late.status_code == 409
    assert "takes no more submissions" in late.text


def test_who_is_disqualified_or_in_no_team_submits_nothing(world: World, people: dict[str, As], client: Any) -> None:
    world.add(e.TeamDisqualified("t2", "two accounts"))
    refused = begin(people["rival"])
    assert refused.status_code == 409
    assert "two accounts" in refused.text
    alone = begin(As(world, client, "dan"))
    assert alone.status_code == 409
    assert "Only members of a team" in alone.text
    assert begin(people["viewer"]).status_code == 403
    assert begin(people["nobody"]).status_code == 401


def test_a_quota_holds_for_what_is_begun_at_the_same_time(world: World, people: dict[str, As]) -> None:
    rules = some_rules(a_phase(quota=Quota(3, "day")), *world.state.rules().phases[1:])  # two are used
    world.clock.advance(1)
    world.add(e.RulesAmended(encode_rules(rules), world.clock(), "fewer"))
    uploads = [begin(people["captain"]).json()["upload"] for _ in range(3)]
    for upload in uploads:
        append(people["captain"], upload, 0, b"x" * 10)
    done = [complete(people["captain"], upload) for upload in uploads]
    assert [answer.status_code for answer in done] == [200, 409, 409]
    assert "The quota is" in done[1].text
    assert begin(people["captain"]).status_code == 409


def test_an_account_begins_only_so_many_uploads(people: dict[str, As]) -> None:
    answers = [begin(people["captain"]) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [201] * 5 + [409]


# Who comes with whose key


def bearer(client: TestClient[Any], token: str, path: str = "/api/me") -> Any:
    answer = client.get(path, headers={b"authorization": f"Bearer {token}".encode()})
    client.cookies.clear()
    return answer


def make_token(world: World, account: str, *scopes: str, days: int = 1) -> tuple[str, tokens.Key]:
    with writing(world.contest.engine) as connection:
        return tokens.make(connection, "token", account, world.clock(), days * DAY, scopes)


def test_forged_expired_and_revoked_tokens_are_nobodys(world: World, client: TestClient[Any]) -> None:
    token, key = make_token(world, "ann", "read")
    assert bearer(client, token).json()["account"] == "ann"
    forged = token[:-1] + ("a" if token[-1] != "a" else "b")
    sorts = [forged, token.upper(), token + "a", f"{token}\0", "plt_" + "A" * 40, "", "x", "é", world.session("ann")]
    for other in sorts:
        assert bearer(client, other).status_code == 401, other
    basic = client.get("/api/me", headers={"authorization": f"Basic {token}"})
    assert basic.status_code == 401
    world.clock.advance(DAY + 1)
    assert bearer(client, token).status_code == 401
    token, key = make_token(world, "ann", "read")
    with writing(world.contest.engine) as connection:
        tokens.revoke(connection, "ann", key.id)
    assert bearer(client, token).status_code == 401


def test_a_token_in_the_place_of_a_session_is_nobodys(world: World, client: TestClient[Any]) -> None:
    token, _ = make_token(world, "ann", "read")
    answer = client.get("/api/me", headers={"cookie": f"palestra_session={token}"})
    assert answer.status_code == 401


def test_a_token_falls_with_the_role_of_its_account(world: World, client: TestClient[Any]) -> None:
    token, _ = make_token(world, "olga", "organise", "read")
    assert bearer(client, token, "/api/log").status_code == 200
    world.add(e.AccountMade("otto", "otto", "organiser"), e.RoleChanged("olga", "viewer", "another one does it"))
    assert bearer(client, token, "/api/log").status_code == 403
    world.add(e.AccountClosed("olga", "gone"))
    assert bearer(client, token).status_code == 401


def test_a_token_makes_and_ends_no_tokens(world: World, client: TestClient[Any]) -> None:
    token, key = make_token(world, "ann", "read", "team", "submit")
    for action, given in (("make-token", {"label": "x", "scopes": ["read"]}), ("revoke-token", {"id": key.id}),
                          ("change-password", {"old": "a", "new": "b"})):  # fmt: skip
        answer = client.post(f"/api/actions/{action}", json=given, headers={"authorization": f"Bearer {token}"})
        assert answer.status_code == 409, action
    assert bearer(client, token).status_code == 200


def test_nobody_revokes_the_token_of_somebody_else(world: World, people: dict[str, As], client: Any) -> None:
    token, key = make_token(world, "ann", "read")
    assert people["rival"].call("revoke-token", id=key.id).status_code == 409
    assert people["organiser"].call("revoke-token", id=key.id).status_code == 409
    assert bearer(client, token).status_code == 200


def test_the_upload_of_somebody_else_is_not_there(world: World, people: dict[str, As]) -> None:
    upload = begin(people["captain"]).json()["upload"]
    unknown = people["rival"].get(f"/api/uploads/{'0' * 32}")
    for other in ("rival", "member"):  # uploads are an account's, also within a team
        found = people[other].get(f"/api/uploads/{upload}")
        assert (found.status_code, found.text) == (404, unknown.text.replace("0" * 32, upload))
        assert append(people[other], upload, 0, b"x").status_code == 404
        assert complete(people[other], upload).status_code == 404
    assert people["captain"].get(f"/api/uploads/{upload}").json()["received"] == 0


def test_who_left_a_team_hands_nothing_in_for_it(world: World, people: dict[str, As]) -> None:
    upload = begin(people["member"]).json()["upload"]
    append(people["member"], upload, 0, b"x" * 10)
    world.add(e.MemberLeft("t1", "bob", "by mistake"))
    answer = complete(people["member"], upload)
    assert answer.status_code == 409
    assert "not in the team any more" in answer.text


# What comes twice


def test_an_upload_that_is_completed_twice_is_one_submission(world: World, people: dict[str, As]) -> None:
    before = len(world.state.submissions)
    upload = begin(people["captain"]).json()["upload"]
    append(people["captain"], upload, 0, b"x" * 10)
    first, second = complete(people["captain"], upload), complete(people["captain"], upload)
    assert first.json() == second.json()
    assert len(world.state.submissions) == before + 1
    late = append(people["captain"], upload, 10, b"more")
    assert late.status_code == 422


def test_a_form_that_is_sent_twice_is_done_once(world: World, people: dict[str, As]) -> None:
    organiser = people["organiser"]
    before = len(world.state.announcements)
    page = organiser.get("/desk/announcements").text
    form = next(form for form in forms_in(page) if form.action == "/do/announce")
    assert len(form.fields["once"]) >= 16
    given = {**form.fields, "title_en": "Lunch", "text_en": "At noon."}
    first, second = organiser.do("announce", **given), organiser.do("announce", **given)
    assert (first.status_code, second.status_code) == (303, 303)
    assert len(world.state.announcements) == before + 1
    changed = organiser.do("announce", **{**given, "title_en": "Dinner"})
    assert changed.status_code == 303
    assert world.state.announcements[-1].title == Words("Dinner")


def test_each_form_has_a_number_of_its_own(people: dict[str, As]) -> None:
    pages = [people["organiser"].get("/desk/access").text for _ in range(2)]
    numbers = [form.fields["once"] for page in pages for form in forms_in(page) if "once" in form.fields]
    assert numbers
    assert len(set(numbers)) == len(numbers)


def test_a_request_with_the_same_key_is_done_once_and_only_for_its_sender(world: World, people: dict[str, As]) -> None:
    organiser = people["organiser"]
    headers = organiser._headers({"x-csrf-token": organiser.csrf, "idempotency-key": "one"})

    def announce(title: str) -> Any:
        return organiser.client.post("/api/actions/announce", json={"title_en": title}, headers=headers)

    before = len(world.state.announcements)
    assert announce("Lunch").json() == announce("Lunch").json()
    assert len(world.state.announcements) == before + 1
    invited = [
        person.client.post(
            "/api/actions/invite",
            json={},
            headers=person._headers({"x-csrf-token": person.csrf, "idempotency-key": "two"}),
        ).json()
        for person in (people["captain"], people["rival"])
    ]
    assert [one["id"] for one in invited] == ["t1", "t2"]
    assert invited[0]["secret"] != invited[1]["secret"]


def test_a_form_that_was_refused_may_be_sent_again(world: World, people: dict[str, As]) -> None:
    organiser = people["organiser"]
    given = {"once": "a-number", "team": "t2", "phase": "first"}
    assert organiser.do("refuse-access", **given, reason="").status_code in (409, 422)
    assert organiser.do("refuse-access", **given, reason="no signature").status_code == 303


def test_two_clicks_at_the_same_moment_make_one_token(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is done once all have come: on a busy machine it would be over before the last one is looked at."""
    key_of, first, came = idempotency.key_of, idempotency._first, list[Any]()
    all_came = asyncio.Event()

    def counted(*asked: Any) -> str:
        came.append(asked)
        if len(came) == 3:
            all_came.set()
        return key_of(*asked)

    async def after_all(*asked: Any) -> Any:
        await all_came.wait()
        return await first(*asked)

    monkeypatch.setattr(idempotency, "key_of", counted)
    monkeypatch.setattr(idempotency, "_first", after_all)
    session = world.session("ann")
    headers = {
        "cookie": f"palestra_session={session}", "content-type": "application/json", "idempotency-key": "clicks",
        "x-csrf-token": hashlib.sha256(f"csrf:{session}".encode()).hexdigest(),
    }  # fmt: skip

    async def click() -> list[Any]:
        body = b'{"label": "twice", "scopes": ["read"]}'
        return await asyncio.gather(
            *(ask(world.app, "POST", "/api/actions/make-token", headers, body) for _ in range(3))
        )

    answers = asyncio.run(click())
    assert [answer.status for answer in answers] == [200] * 3
    assert len({answer.json["secret"] for answer in answers}) == 1  # who clicks twice sees what the first click made
    assert len(tokens.of(world.contest.engine, "ann", "token", world.clock())) == 1


# What people write


EVIL = "\"'><img src=x onerror=alert(1)><x-evil></script><script>alert(2)</script>\u202e"


class _Elements(HTMLParser):
    """Elements and attributes that none of our pages has."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "x-evil" or (tag == "img" and values.get("src") == "x") or (tag == "script" and "src" not in values):
            self.wrong.append(f"<{tag} {attrs}>")
        self.wrong += [f"{tag} {name}" for name in values if name.startswith("on")]
        addresses = [values.get(name) or "" for name in ("href", "src", "action")]
        self.wrong += [one for one in addresses if one.lower().lstrip().startswith(("javascript:", "data:text", "//"))]


def written_by_strangers(world: World) -> None:
    """Everything that somebody may write, written badly."""
    world.clock.at = START + DAY
    world.add(e.AccountMade("mal", f"mal {EVIL}"[:64], "member", f"{EVIL}@evil.example"))
    world.add(e.TeamMade("t9", EVIL[:64], "mal", "d" * 64), by="mal")
    world.add(e.SubmissionMade("s9", "t9", "first", world.put("x"), f"{EVIL}.csv", 1), by="mal")
    world.add(e.SubmissionRefused("s9", (EVIL, f"line 3: found {EVIL}, expected a number"), 2), by="worker:w")
    world.add(e.SubmissionMade("s10", "t9", "first", world.put("x"), "a.csv", 1), by="mal")
    world.add(e.AttemptFailed("s10", 1, "contestant", EVIL, world.put(EVIL), last=True), by="worker:w")
    world.add(e.AnnouncementMade("n9", Words(EVIL, EVIL), Words(EVIL * 200, EVIL)))
    world.add(e.AccessRequested("t9", "first", "0" * 64), by="mal")
    world.add(e.AccessRefused("t9", "first", EVIL))
    world.add(e.SubmissionMade("s11", "t9", "first", world.put("x"), "a.csv", 1), by="mal")
    world.add(e.SubmissionAccepted("s11"), by="worker:w")
    world.score("s11", 1.0)
    world.add(e.PhaseMoved("first", START, START + 10 * DAY, EVIL))
    world.add(e.TeamDisqualified("t9", EVIL, "stage"))
    world.add(e.RescoringProposed("r9", "first", ("s1",), EVIL))
    world.add(e.RescoringFailed("r9", "s1", EVIL))
    world.add(e.CopyFound("s11", "s1", 0.9), by="worker:w")
    world.add(e.RunStarted("u9", "stage", ("live1",)))
    world.add(e.RunEnded("u9", "failed", message=EVIL))


PAGES = [
    "/", "/?lang=zh", "/boards/first", "/boards/first/print", "/screen", "/runs/u9", "/phases/first", "/submissions/s9",
    "/submissions/s10", "/data", "/team", "/account", "/audit", "/desk", "/desk/access", "/desk/runs/stage",
    "/desk/teams", "/desk/accounts", "/desk/copies", "/desk/announcements", "/desk/rules", "/desk/promotion/first",
    "/desk/rescorings", "/desk/rescorings/r9", "/desk/verifications", "/desk/awards", "/desk/exports",
    "/sign-in?next=/%22%3E%3Cx-evil%3E",
    "/register?next=/%22%3E%3Cx-evil%3E", "/join/%22%3E%3Cx-evil%3E", "/link/%3Cx-evil%3E", "/no/%3Cx-evil%3E/page",
    "/boards/%3Cx-evil%3E", "/audit?by=%3Cx-evil%3E&kind=%3Cx-evil%3E", "/desk/promotion/first?without.t9=%3Cx-evil%3E",
]  # fmt: skip


@pytest.mark.parametrize("account", ["", "mal", "olga"], ids=["nobody", "stranger", "organiser"])
def test_what_strangers_write_is_text_on_every_page(world: World, client: TestClient[Any], account: str) -> None:
    written_by_strangers(world)
    somebody, seen = As(world, client, account), 0
    for path in PAGES:
        answer = somebody.get(path)
        assert answer.status_code < 500, path
        if answer.headers["content-type"].startswith("text/html"):
            elements = _Elements()
            elements.feed(answer.text)
            assert elements.wrong == [], path
            seen += "x-evil" in answer.text
    assert seen >= 5  # it is there, and does nothing


def test_what_strangers_write_is_text_in_what_is_sent_live(world: World) -> None:
    written_by_strangers(world)
    for topic in ("board=first", "home=1", "screen=1"):
        answer = asyncio.run(ask(world.app, "GET", f"/live?{topic}"))
        html = "\n".join(line[6:] for line in answer.text.splitlines() if line.startswith("data: "))
        elements = _Elements()
        elements.feed(html)
        assert elements.wrong == []
        assert all(line.partition(":")[0] in ("id", "event", "data", "") for line in answer.text.splitlines())


def test_a_traceback_is_shown_as_text(world: World, people: dict[str, As]) -> None:
    written_by_strangers(world)
    trace = world.state.submissions["s10"].mishaps[0].trace
    answer = people["organiser"].get(f"/desk/traces/{trace}")
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_report_runs_nothing(world: World, people: dict[str, As]) -> None:
    answer = people["captain"].get("/submissions/s1/report")
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert "script-src" not in answer.headers["content-security-policy"]


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\t=1+1", "＝1+1"])
def test_a_formula_in_an_export_is_text(world: World, people: dict[str, As], name: str) -> None:
    world.add(e.AccountMade("mal", "mal", "member"), e.TeamMade("t9", name, "mal", "d" * 64))
    for table in ("teams.csv", "events.csv"):
        text = people["organiser"].get(f"/desk/exports/{table}").content.decode("utf-8-sig")
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        assert [cell for cell in cells if re.match(r"[\s]*[=+@＝]|-\D", cell)] == []
        assert table == "events.csv" or f"'{name}" in cells
