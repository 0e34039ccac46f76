"""The door: who somebody is taken for, which forms are ours, how often one may knock, what every answer carries."""

import asyncio
import hashlib
from typing import Any
from urllib.parse import quote

import pytest
from litestar.testing import TestClient
from sqlalchemy.exc import OperationalError

from palestra.contest.accounts import passwords, tokens
from palestra.contest.log import events as e
from palestra.contest.storage.database import writing
from palestra.contest.visibility import NOBODY, Viewer
from palestra.web.actions.registry import ACTIONS
from palestra.web.app import house
from palestra.web.auth.middleware import BROWSER, HEADERS, SESSION, Caller
from palestra.web.site.rendering import static
from palestra.web.site.setup import Setup
from palestra.web.site.site import Site
from tests.contest.story import DAY
from tests.web.asking import Answer, ask
from tests.web.conftest import As, World

PASSWORD = "correct horse battery staple"


def asked(world: World, method: str, path: str, headers: Any = None, body: bytes = b"", **more: Any) -> Answer:
    return asyncio.run(ask(world.app, method, path, headers, body, **more))


def cookies_of(answer: Answer) -> dict[str, str]:
    """Each cookie that an answer sets, with what is said of it."""
    found = [value for name, value in answer.headers if name == "set-cookie"]
    return {one.partition("=")[0]: one for one in found}


def rebuilt(world: World, **setup: Any) -> None:
    """The same contest, set up in another way."""
    home = world.site.setup
    world.site = Site(world.contest, Setup(home.home, home.spool, **{"requests_per_s": 1e6, "burst": 10**6, **setup}))
    house(world.app, world.site)


# Who


def test_who_has_no_key_is_nobody_and_gets_a_number_of_their_own(world: World) -> None:
    answer = asked(world, "GET", "/")
    assert answer.status == 200
    assert set(cookies_of(answer)) == {BROWSER}
    again = asked(world, "GET", "/", {"cookie": f"{BROWSER}=mine"})
    assert cookies_of(again) == {}


def test_a_session_that_is_over_is_nobodys(world: World) -> None:
    session = world.session("ann")
    assert asked(world, "GET", "/account", {"cookie": f"{SESSION}={session}"}).status == 200
    world.clock.advance(tokens.SESSION_IDLE_MS + 1)
    assert asked(world, "GET", "/account", {"cookie": f"{SESSION}={session}"}).status == 401


def test_a_token_counts_and_a_cookie_beside_it_does_not(world: World) -> None:
    with writing(world.contest.engine) as connection:
        token, _ = tokens.make(connection, "token", "cleo", world.clock(), DAY, ["read"])
    headers = {"cookie": f"{SESSION}={world.session('olga')}", "authorization": f"Bearer {token}"}
    assert asked(world, "GET", "/api/me", headers).json["account"] == "cleo"


@pytest.mark.parametrize(
    "cookie", ["", "=", ";;;", "palestra_session", "palestra_session=", "a=b; palestra_session=\xff\xfe", "x" * 9000]
)
def test_cookies_that_nobody_made_are_passed_over(world: World, cookie: str) -> None:
    assert asked(world, "GET", "/", {"cookie": cookie}).status == 200


def test_with_a_token_that_is_not_for_reading_one_looks_as_everybody_does() -> None:
    member = Viewer("ann", "ann", "member", "t1", frozenset({"submit"}))
    assert Caller(member).reader is NOBODY
    assert Caller(Viewer("ann", "ann", "member", "t1", frozenset({"read"}))).reader.team == "t1"
    assert Caller(Viewer("ann", "ann", "member", "t1")).reader.team == "t1"
    assert Caller(Viewer("olga", "olga", "organiser", "", frozenset({"organise"}))).reader.is_organiser
    assert Caller(Viewer("olga", "olga", "organiser", "", frozenset({"metrics"}))).reader is NOBODY


@pytest.mark.parametrize("role", ["captain", "viewer", "referee"])
def test_a_session_reaches_no_further_than_its_role(people: dict[str, As], role: str) -> None:
    answer = people[role].get("/metrics")
    assert answer.status_code == 403
    assert "Your account may not" in answer.text
    assert people["organiser"].get("/metrics").status_code == 200


# Forms of ours


UNSAFE = [f"/do/{name}" for name in ("sign-in", "make-team", "announce")]
UNSAFE += ["/api/actions/sign-in", "/api/actions/make-team", "/api/actions/announce", "/api/uploads", "/desk/rules"]


@pytest.mark.parametrize("path", UNSAFE)
@pytest.mark.parametrize("sign", ["none", "wrong", "another's", "empty", "of the empty secret"])
def test_what_comes_without_the_sign_of_this_browser_is_refused(world: World, path: str, sign: str) -> None:
    other = hashlib.sha256(f"csrf:{world.session('ann')}".encode()).hexdigest()
    nothing = hashlib.sha256(b"csrf:").hexdigest()
    given = {"none": None, "wrong": "x", "another's": other, "empty": "", "of the empty secret": nothing}[sign]
    before = world.state.seq
    for headers in ({"cookie": f"{SESSION}={world.session('olga')}"}, {"cookie": f"{BROWSER}=mine"}, {}):
        refused = (403,) if SESSION in headers.get("cookie", "") else (401, 403)
        sent = {**headers, "content-type": "application/x-www-form-urlencoded"}
        answer = asked(world, "POST", path, sent, b"" if given is None else f"csrf={given}&title_en=x".encode())
        assert answer.status in refused, sign
        by_header = {
            **headers,
            "content-type": "application/json",
            **({} if given is None else {"x-csrf-token": given}),
        }
        assert asked(world, "POST", path, by_header, b"{}").status in refused
    assert world.state.seq == before


def test_every_action_asks_for_the_sign(world: World) -> None:
    session = world.session("olga")
    for name in ACTIONS:
        for path in (f"/do/{name}", f"/api/actions/{name}"):
            answer = asked(
                world, "POST", path, {"cookie": f"{SESSION}={session}", "content-type": "application/json"}, b"{}"
            )
            assert answer.status == 403, path


def test_what_another_site_sends_is_refused_even_with_the_sign(world: World, people: dict[str, As]) -> None:
    organiser = people["organiser"]
    headers = {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}
    assert organiser.post("/do/freeze", {"phase": "first"}, **headers).status_code == 403
    assert world.state.frozen == {}
    assert organiser.post("/do/freeze", {"phase": "first"}, **{"sec-fetch-site": "same-origin"}).status_code == 303


def test_no_other_site_may_read_answers(world: World) -> None:
    answer = asked(
        world, "OPTIONS", "/api/me", {"origin": "https://evil.example", "access-control-request-method": "GET"}
    )
    assert not [name for name, _ in answer.headers if name.startswith("access-control-allow")]
    answer = asked(world, "GET", "/api/contest", {"origin": "https://evil.example"})
    assert answer.header("access-control-allow-origin") == ""


def test_who_signs_in_gets_another_sign(world: World, client: TestClient[Any]) -> None:
    """Else somebody who planted a cookie before would know it."""
    with writing(world.contest.engine) as connection:
        passwords.set_password(connection, "ann", passwords.hashed(PASSWORD, "ann"), world.clock())
    stranger = As(world, client, "")
    answer = stranger.do("sign-in", name="ann", password=PASSWORD, next="/team")
    assert (answer.status_code, answer.headers["location"]) == (303, "/team")
    session = answer.cookies[SESSION]
    assert session.startswith("pls_")
    sent = {"cookie": f"{SESSION}={session}", "x-csrf-token": stranger.csrf}
    assert (
        asked(world, "POST", "/api/actions/sign-out", {**sent, "content-type": "application/json"}, b"{}").status == 403
    )


# Cookies and headers


@pytest.mark.parametrize("secure", [False, True])
def test_cookies_are_for_the_server_alone(world: World, client: TestClient[Any], secure: bool) -> None:
    with writing(world.contest.engine) as connection:
        passwords.set_password(connection, "ann", passwords.hashed(PASSWORD, "ann"), world.clock())
    rebuilt(world, secure=secure, address="https://contest.example" if secure else "")
    sign = hashlib.sha256(b"csrf:mine").hexdigest()
    form = {"content-type": "application/x-www-form-urlencoded", "cookie": f"{BROWSER}=mine"}
    body = f"csrf={sign}&name=ann&password={PASSWORD.replace(' ', '+')}".encode()
    answers = [asked(world, "GET", "/"), asked(world, "POST", "/do/sign-in", form, body)]
    found = {name: text for answer in answers for name, text in cookies_of(answer).items()}
    assert set(found) == {BROWSER, SESSION}
    for name, text in found.items():
        said = {part.strip().lower().partition("=")[0] for part in text.split(";")[1:]}
        assert {"httponly", "samesite", "path"} <= said, name
        assert ("secure" in said) == secure, name
        assert "samesite=lax" in text.lower()
    assert (answers[0].header("strict-transport-security") != "") == secure


@pytest.mark.parametrize(
    "path", ["/", "/nothing-here", "/api/nothing", "/api/contest", "/boards/first", "/health", "/%00"]
)
def test_every_answer_says_what_browsers_may_do_with_it(world: World, path: str) -> None:
    answer = asked(world, "GET", path)
    for name, value in HEADERS.items():
        assert answer.header(name) == value
    assert "no-store" in answer.header("cache-control")
    assert [name for name, _ in answer.headers].count("content-security-policy") == 1


def test_pages_of_one_s_own_are_kept_by_no_proxy(people: dict[str, As]) -> None:
    for path in ("/team", "/account", "/submissions/s1", "/api/submissions/s1", "/api/me", "/desk"):
        person = people["organiser" if path == "/desk" else "captain"]
        assert "no-store" in person.get(path).headers["cache-control"]
    assert people["captain"].get("/api/submissions/s1/file").headers["cache-control"].startswith("private")


def test_browsers_keep_a_static_file_under_the_address_that_changes_with_it(world: World) -> None:
    kept, plain, gone = (
        asked(world, "GET", path) for path in (static("base.css"), "/static/base.css", "/static/no?v=1")
    )
    assert kept.header("cache-control") == "public, max-age=31536000, immutable"
    assert [answer.status for answer in (kept, plain, gone)] == [200, 200, 404]
    assert all("cache-control" not in dict(answer.headers) for answer in (plain, gone))


# How often


def test_who_asks_too_often_is_told_to_wait(world: World) -> None:
    rebuilt(world, requests_per_s=1.0, burst=3)
    statuses = [asked(world, "GET", path).status for path in ("/", "/nothing", "/api/contest")]
    assert statuses == [200, 404, 200]
    answer = asked(world, "GET", "/")
    assert answer.status == 429
    assert int(answer.header("retry-after")) >= 1
    assert "Too many requests from this address. Try again in 2 s." in answer.text
    assert answer.header("content-type") == "text/html; charset=utf-8"
    assert int(answer.header("content-length")) == len(answer.body)
    program = asked(world, "GET", "/api/contest")
    assert program.json == {"status": 429, "error": "Too many requests from this address. Try again in 2 s."}
    assert asked(world, "POST", "/do/freeze", {"hx-request": "true"}).json["status"] == 429
    assert asked(world, "GET", "/", address="10.0.0.9").status == 200  # others are not held up
    assert asked(world, "GET", "/health").status == 200
    world.clock.advance(2000)
    assert asked(world, "GET", "/").status == 200


def test_a_balancer_may_ask_with_head_whether_the_server_is_well(world: World) -> None:
    answer = asked(world, "HEAD", "/health")
    assert (answer.status, answer.body) == (200, b"")


@pytest.mark.parametrize("asks", [{"accept-language": "zh-CN"}, {"cookie": "palestra_language=zh"}, {}])
def test_who_is_turned_away_is_told_so_in_their_language(world: World, asks: dict[str, str]) -> None:
    rebuilt(world, requests_per_s=1.0, burst=0)
    path = "/" if asks else "/?lang=zh"
    page = asked(world, "GET", path, asks)
    assert page.status == 429
    assert '<html lang="zh-CN">' in page.text
    assert "请求过于频繁，请在 2 秒后重试。" in page.text
    assert "Too many" not in page.text
    record = asked(world, "GET", f"/api/contest{path[1:]}", asks)
    assert record.json["error"] == "请求过于频繁，请在 2 秒后重试。"
    assert asked(world, "HEAD", path, asks).body == b""


def test_passwords_are_not_tried_without_end(world: World, client: TestClient[Any], monkeypatch: Any) -> None:
    monkeypatch.setattr(passwords, "check", lambda *_: False)
    stranger = As(world, client, "")
    answers = [stranger.call("sign-in", name="ann", password=f"guess number {i}") for i in range(8)]
    assert answers[0].json()["error"] == "This name and this password do not belong together."
    assert answers[-1].status_code == 429
    assert "Too many tries" in answers[-1].text
    unknown = As(world, client, "").call("sign-in", name="nobody-of-this-name", password="guess")
    assert unknown.json() == answers[0].json()


# What cannot be read


@pytest.mark.parametrize("path", ["/%00", "/boards/first%00", "/audit?by=%00", "/?lang=%00", "/live?board=%00"])
def test_an_address_with_a_letter_that_no_database_takes_is_refused(world: World, path: str) -> None:
    answer = asked(world, "GET", path)
    assert answer.status == 400
    assert "letter" in answer.text


def test_when_the_database_is_away_it_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise OperationalError("SELECT", {}, Exception("gone"))

    monkeypatch.setattr(tokens, "find", away)
    answer = asked(world, "GET", "/", {"cookie": f"{SESSION}={'pls_' + 'a' * 40}"})
    assert answer.status == 503
    assert "The database does not answer. Try again soon." in answer.text
    assert answer.header("retry-after") == "1"
    key = {"cookie": f"{SESSION}={'pls_' + 'a' * 40}"}
    told = asked(world, "GET", "/api/me?lang=zh", key)
    assert told.json == {"status": 503, "error": "数据库没有响应，请稍后再试。"}
    assert "数据库没有响应，请稍后再试。" in asked(world, "GET", "/?lang=zh", key).text


@pytest.mark.parametrize("host", ["evil.example/path", "a b", "[", ""])
def test_an_odd_host_makes_nothing_fail(world: World, host: str) -> None:
    assert asked(world, "GET", "/team", [("host", host)]).status < 500


# Where one is sent on to


@pytest.mark.parametrize(
    "wanted",
    ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/\t/evil.example", "\\/evil",
     "", "/\r\nSet-Cookie: a=b", "http:evil.example", " /x", "///evil.example"],
)  # fmt: skip
def test_nobody_is_sent_on_to_another_site(world: World, people: dict[str, As], wanted: str) -> None:
    answer = people["captain"].get(f"/sign-in?next={quote(wanted)}")
    assert answer.headers["location"] == "/"
    done = people["organiser"].do("announce", title_en="x", next=wanted)
    assert (done.status_code, done.headers["location"]) == (303, "/")
    page = people["nobody"].get(f"/sign-in?next={quote(wanted)}").text
    assert "evil" not in page.replace(quote(wanted), "").replace(quote(quote(wanted)), "") or wanted not in page


def test_one_is_sent_on_to_a_page_of_ours(people: dict[str, As]) -> None:
    assert people["captain"].get("/sign-in?next=/team%3Fa%3D1").headers["location"] == "/team?a=1"


@pytest.mark.parametrize("path", ["../app.py", "%2e%2e/app.py", "..%2fapp.py", "....//app.py", "%252e%252e/app.py",
                                  "/etc/passwd", "..%5capp.py", "vendor/../../app.py", "."])  # fmt: skip
def test_static_files_are_those_of_their_folder(world: World, path: str) -> None:
    answer = asked(world, "GET", f"/static/{path}")
    assert answer.status in (400, 404)
    assert b"create_app" not in answer.body
    assert asked(world, "GET", "/static/base.css").status == 200


def test_an_account_that_is_closed_while_it_is_signed_in_is_out(world: World, people: dict[str, As]) -> None:
    assert people["rival"].get("/account").status_code == 200
    world.add(e.AccountClosed("cleo", "it was lent"))
    assert people["rival"].get("/account").status_code == 401
