"""Tokens, sessions and links: shown once, kept as digests."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from palestra.contest.accounts import tokens
from palestra.contest.accounts.tokens import (
    DAY_MS,
    LONGEST_MS,
    MINUTE_MS,
    MOST,
    POWERS,
    PREFIXES,
    SCOPES,
    SESSION_IDLE_MS,
    Key,
    digest_of,
    find,
    make,
    powers,
    require_power,
    start_session,
    use_once,
)
from palestra.contest.storage import tables
from palestra.contest.storage.database import reading, writing
from palestra.errors import PalestraError, Refused, UnknownName


@pytest.fixture
def new(engine, clock):
    """Makes a key, by default a token that may read."""

    def made(kind="token", account="a1", lifetime_ms=DAY_MS, scopes=("read",), **more):
        with writing(engine) as connection:
            return make(connection, kind, account, clock(), lifetime_ms, scopes, **more)

    return made


def rows(engine):
    with reading(engine) as connection:
        return [row._asdict() for row in connection.execute(select(tables.keys))]


def test_a_secret_finds_its_key(engine, clock, new):
    secret, key = new(scopes=["read", "submit"], label="my laptop", data="x")
    assert find(engine, "token", secret, clock()) == key
    assert key.scopes == ("read", "submit") and key.label == "my laptop" and key.data == "x"
    assert key.expires_at == clock() + DAY_MS


def test_only_a_digest_is_kept(engine, new):
    secret, _ = new()
    (row,) = rows(engine)
    assert row["digest"] == digest_of(secret)
    assert not any(secret in str(value) or secret[4:] in str(value) for value in row.values())


@pytest.mark.parametrize(("kind", "scopes"), [("token", ["read"]), ("session", []), ("link", ["join"])])
def test_a_secret_says_what_it_is_and_is_long(new, kind, scopes):
    secrets = {new(kind, scopes=scopes)[0] for _ in range(20)}
    assert len(secrets) == 20
    for secret in secrets:
        prefix, _, rest = secret.partition("_")
        assert prefix + "_" == PREFIXES[kind]
        assert rest.isalnum() and rest.isascii() and len(rest) * 5.95 >= 192  # bits


def test_a_secret_of_one_kind_is_none_of_another(engine, clock, new):
    secret, _ = new("session", scopes=[])
    assert find(engine, "token", secret, clock()) is None
    assert find(engine, "token", "plt_" + secret[4:], clock()) is None
    assert find(engine, "session", secret, clock()) is not None


def test_a_forged_secret_finds_nothing(engine, clock, new):
    secret, key = new()
    for forged in (
        "",
        "plt_",
        secret[:-1],
        secret + "x",
        secret.swapcase(),
        key.id,
        digest_of(secret),
        "\x00",
        "é\ud800",
    ):
        assert find(engine, "token", forged, clock()) is None


def test_a_key_ends_at_its_time(engine, clock, new):
    secret, _ = new(lifetime_ms=1_000)
    assert find(engine, "token", secret, clock() + 999) is not None
    assert find(engine, "token", secret, clock() + 1_000) is None


def test_use_is_noted_once_a_minute(engine, clock, new):
    secret, _ = new()
    seen = []
    for ms in (1, MINUTE_MS - 2, 1, 1, MINUTE_MS - 2, 1):
        assert find(engine, "token", secret, clock.advance(ms)) is not None
        seen.append(rows(engine)[0]["used_at"])
    first, second = clock() - MINUTE_MS + 0, clock()
    assert seen == [0, 0, first, first, first, second]


def test_use_does_not_lengthen_a_token(engine, clock, new):
    secret, key = new()
    assert find(engine, "token", secret, clock.advance(MINUTE_MS)).expires_at == key.expires_at


def test_a_session_lives_while_it_is_used_up_to_its_longest_time(engine, clock):
    with writing(engine) as connection:
        secret, key = start_session(connection, "a1", clock())
    while clock.advance(SESSION_IDLE_MS - 1) < key.made_at + LONGEST_MS["session"]:
        found = find(engine, "session", secret, clock())
        assert found is not None
        assert found.expires_at == min(clock() + SESSION_IDLE_MS, key.made_at + LONGEST_MS["session"])
    assert clock() > key.made_at + 2 * SESSION_IDLE_MS
    assert find(engine, "session", secret, clock()) is None


def test_a_session_that_is_not_used_ends(engine, clock):
    with writing(engine) as connection:
        secret, _ = start_session(connection, "a1", clock())
    assert find(engine, "session", secret, clock.advance(SESSION_IDLE_MS)) is None


def test_signing_in_ends_the_session_that_the_browser_brought(engine, clock):
    with writing(engine) as connection:
        planted, _ = start_session(connection, "attacker", clock())
        elsewhere, _ = start_session(connection, "a1", clock())
        secret, _ = start_session(connection, "a1", clock(), before=planted)
    assert secret != planted
    assert find(engine, "session", planted, clock()) is None
    assert find(engine, "session", elsewhere, clock()).account == "a1"
    assert find(engine, "session", secret, clock()).account == "a1"


def test_a_token_brought_as_a_session_is_not_ended(engine, clock, new):
    token, _ = new()
    with writing(engine) as connection:
        start_session(connection, "a1", clock(), before=token)
    assert find(engine, "token", token, clock()) is not None


def test_a_link_is_good_once_for_its_purpose(engine, clock, new):
    secret, key = new("link", scopes=["reset"], data="for you")
    with writing(engine) as connection:
        assert use_once(connection, secret, clock(), "join") is None
        assert use_once(connection, secret, clock(), "reset") == key
        assert use_once(connection, secret, clock(), "reset") is None


def test_a_link_that_is_over_is_not_good(engine, clock, new):
    secret, _ = new("link", scopes=["reset"], lifetime_ms=1_000)
    with writing(engine) as connection:
        assert use_once(connection, secret, clock.advance(1_000), "reset") is None


def test_a_link_is_back_when_what_it_was_used_for_failed(engine, clock, new):
    secret, _ = new("link", scopes=["join"])
    with pytest.raises(PalestraError, match="full"), writing(engine) as connection:
        assert use_once(connection, secret, clock(), "join") is not None
        raise PalestraError("the team is full")
    with writing(engine) as connection:
        assert use_once(connection, secret, clock(), "join") is not None


def test_of_many_who_use_a_link_at_once_one_gets_it(engine, clock, new):
    secret, _ = new("link", scopes=["join"])

    def one(_):
        with (
            engine.connect().execution_options(writes=True) as connection,
            connection.begin(),
        ):  # not `writing`: no lock
            return use_once(connection, secret, clock(), "join")

    with ThreadPoolExecutor(8) as pool:
        assert sum(key is not None for key in pool.map(one, range(16))) == 1


def test_a_token_or_session_cannot_be_used_as_a_link(engine, clock, new):
    secret, _ = new()
    with writing(engine) as connection:
        assert use_once(connection, secret, clock(), "read") is None


def test_a_key_is_revoked_by_its_owner_alone(engine, clock, new):
    secret, key = new()
    with writing(engine) as connection:
        assert not tokens.revoke(connection, "a2", key.id)
        assert tokens.revoke(connection, "a1", key.id)
        assert not tokens.revoke(connection, "a1", key.id)
    assert find(engine, "token", secret, clock()) is None


def test_all_keys_of_a_kind_are_revoked_at_once(engine, clock, new):
    gone = [new()[0] for _ in range(3)]
    other, _ = new(account="a2")
    session, _ = new("session", scopes=[])
    with writing(engine) as connection:
        assert tokens.revoke_all(connection, "a1", "token") == 3
    assert [find(engine, "token", secret, clock()) for secret in gone] == [None] * 3
    assert find(engine, "token", other, clock()) and find(engine, "session", session, clock())


def test_keys_are_listed_newest_first_without_those_that_are_over(engine, clock, new):
    new(label="over", lifetime_ms=1_000)
    clock.advance(1_000)
    new(label="old")
    clock.advance(1)
    new(label="new")
    new(account="a2", label="another's")
    assert [key.label for key in tokens.of(engine, "a1", "token", clock())] == ["new", "old"]


def test_sweeping_removes_what_is_over_and_nothing_else(engine, clock, new):
    new(lifetime_ms=1_000)
    secret, _ = new(lifetime_ms=1_001)
    with writing(engine) as connection:
        assert tokens.sweep(connection, clock.advance(1_000)) == 1
    assert find(engine, "token", secret, clock()) is not None


def test_an_account_has_so_many_tokens_and_is_told(engine, clock, new, monkeypatch):
    monkeypatch.setitem(MOST, "token", 3)
    first = new(lifetime_ms=1_000)[0]
    new()
    new()
    with pytest.raises(PalestraError, match=r"3 tokens.*Revoke one"):
        new()
    assert find(engine, "token", first, clock()) is not None
    new(account="a2")
    clock.advance(1_000)
    new()  # the first is over


def test_the_oldest_session_gives_way_to_one_too_many(engine, clock, new, monkeypatch):
    monkeypatch.setitem(MOST, "session", 3)
    secrets = []
    for _ in range(5):
        clock.advance(1)
        secrets.append(new("session", scopes=[])[0])
    assert [find(engine, "session", secret, clock()) is not None for secret in secrets] == [False] * 2 + [True] * 3


def test_many_reset_links_push_out_no_invitation(engine, clock, new, monkeypatch):
    monkeypatch.setitem(MOST, "link", 2)
    invitation, _ = new("link", scopes=["join"])
    for _ in range(5):
        clock.advance(1)
        new("link", scopes=["reset"])
    with writing(engine) as connection:
        assert use_once(connection, invitation, clock(), "join") is not None
    assert len(tokens.of(engine, "a1", "link", clock())) == 2


@pytest.mark.parametrize(
    ("kind", "scopes", "error"),
    [
        ("token", ["raed"], r"no scope of a token 'raed'. Did you mean 'read'"),
        ("token", ["join"], "no scope of a token"),
        ("token", [], "found none"),
        ("session", ["read"], "no scope of a session"),
        ("link", ["read"], "no purpose of a link"),
        ("link", [], "0 purposes"),
        ("link", ["join", "reset"], "2 purposes"),
    ],
    ids=["misspelt", "of-a-link", "none", "session", "of-a-token", "no-purpose", "two-purposes"],
)
def test_scopes_that_make_no_sense_are_refused(new, kind, scopes, error):
    with pytest.raises((UnknownName, Refused), match=error):
        new(kind, scopes=scopes)


@pytest.mark.parametrize("lifetime_ms", [0, -1, LONGEST_MS["token"] + 1])
def test_a_lifetime_that_makes_no_sense_is_refused(new, lifetime_ms):
    with pytest.raises(Refused, match="at most 400 days"):
        new(lifetime_ms=lifetime_ms)


def test_a_label_is_one_line_that_fits(new):
    _, key = new(label="two\nlines\x00" + "x" * 1_000)
    assert key.label.startswith("two lines xxx") and len(key.label) == 80


# Powers


def key_with(kind, scopes):
    return Key("k", kind, "a1", tuple(scopes), "", 0, 1, 0, "")


@given(
    st.sampled_from(["token", "session", "link"]),
    st.sets(st.sampled_from(sorted(SCOPES))),
    st.sampled_from(sorted(POWERS)),
)
def test_a_key_never_has_more_power_than_its_account_or_its_scopes(kind, scopes, role):
    found = powers(key_with(kind, scopes), role)
    assert found <= POWERS[role]
    assert kind == "session" or found <= scopes


def test_a_token_of_somebody_who_was_an_organiser_loses_that_power():
    token = key_with("token", ["read", "organise"])
    assert powers(token, "organiser") == {"read", "organise"}
    assert powers(token, "member") == {"read"}


def test_a_session_has_the_powers_of_the_role():
    assert powers(key_with("session", []), "member") == {"read", "submit", "team"}


def test_more_than_the_role_allows_is_refused_in_words():
    require_power("member", ["read", "submit"])
    with pytest.raises(Refused, match="found organise, expected some of what a member may do: read, submit, team"):
        require_power("member", ["read", "organise"])


def test_every_scope_is_explained_in_both_languages_and_held_by_the_organiser():
    assert all(words.en and words.zh for words in SCOPES.values())
    assert POWERS["organiser"] == set(SCOPES)
    assert len(" ".join(SCOPES)) <= 200  # the column's
