"""Which passwords are taken, and how they are kept."""

import argon2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from palestra.contest.accounts import passwords, tokens
from palestra.contest.accounts.passwords import LONGEST, check, hashed, set_password, weaknesses
from palestra.contest.storage.database import reading, writing
from palestra.errors import Refused

GOOD = "correct horse 电池"
OTHER = "another horse 电池"


class Watched(argon2.PasswordHasher):
    """The hasher, noting which hashes it is asked to check."""

    seen: list[str]

    def verify(self, hash, password):
        self.seen.append(hash)
        return super().verify(hash, password)


@pytest.fixture
def watched(monkeypatch):
    hasher = Watched(time_cost=1, memory_cost=64, parallelism=1)
    hasher.seen = []
    monkeypatch.setattr(passwords, "HASHER", hasher)
    return hasher


def give(engine: Engine, account: str, password: str, now: int) -> None:
    ready = hashed(password, "lin")
    with writing(engine) as connection:
        set_password(connection, account, ready, now)


def kept(engine: Engine, account: str) -> tuple[str, int]:
    with reading(engine) as connection:
        asked = select(passwords.passwords.c.hash, passwords.passwords.c.changed_at)
        return tuple(connection.execute(asked.where(passwords.passwords.c.account == account)).one())


def test_the_right_password_is_right_and_others_are_not(engine, clock):
    give(engine, "a1", GOOD, clock())
    assert check(engine, "a1", GOOD)
    assert not check(engine, "a1", OTHER)
    assert not check(engine, "a1", "")
    assert not check(engine, "a2", GOOD)


def test_a_password_is_kept_as_argon2id_with_the_stated_parameters(engine, clock):
    give(engine, "a1", GOOD, clock())
    text, changed_at = kept(engine, "a1")
    assert text.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert len(text) <= 200  # the column's
    assert changed_at == clock()
    assert GOOD not in text


def test_two_people_with_one_password_have_two_hashes(watched):
    assert hashed(GOOD, "lin") != hashed(GOOD, "lin")


def test_a_new_password_takes_the_place_of_the_old(engine, clock, watched):
    give(engine, "a1", GOOD, clock())
    give(engine, "a1", OTHER, clock.advance(5))
    assert check(engine, "a1", OTHER) and not check(engine, "a1", GOOD)
    assert kept(engine, "a1")[1] == clock()


def test_a_new_password_ends_sessions_tokens_and_reset_links_and_leaves_the_rest(engine, clock, watched):
    with writing(engine) as connection:
        session, _ = tokens.start_session(connection, "a1", clock())
        others, _ = tokens.start_session(connection, "a2", clock())
        token, _ = tokens.make(connection, "token", "a1", clock(), 1_000, ["read"])
        reset, _ = tokens.make(connection, "link", "a1", clock(), 1_000, ["reset"])
        join, _ = tokens.make(connection, "link", "a1", clock(), 1_000, ["join"])
    give(engine, "a1", GOOD, clock())
    assert tokens.find(engine, "session", session, clock()) is None
    assert tokens.find(engine, "session", others, clock()) is not None
    assert tokens.find(engine, "token", token, clock()) is None
    with writing(engine) as connection:
        assert tokens.use_once(connection, reset, clock(), "reset") is None
        assert tokens.use_once(connection, join, clock(), "join") is not None


def test_an_account_that_is_not_there_costs_the_same_work(engine, clock, watched):
    give(engine, "a1", GOOD, clock())
    assert not check(engine, "a1", OTHER)
    assert not check(engine, "nobody", OTHER)
    real, nobodys = map(argon2.extract_parameters, watched.seen)
    assert real == nobodys


def test_an_old_hash_is_made_anew_at_the_next_right_password(engine, clock, watched, monkeypatch):
    give(engine, "a1", GOOD, clock())
    before = kept(engine, "a1")
    monkeypatch.setattr(passwords, "HASHER", argon2.PasswordHasher(time_cost=2, memory_cost=64, parallelism=1))
    assert not check(engine, "a1", OTHER)
    assert kept(engine, "a1") == before
    assert check(engine, "a1", GOOD)
    after = kept(engine, "a1")
    assert "t=2" in after[0] and after[1] == before[1]  # the password did not change
    assert check(engine, "a1", GOOD) and kept(engine, "a1") == after


def test_a_password_changed_while_it_was_checked_stays(engine, clock, watched):
    give(engine, "a1", GOOD, clock())
    passwords._keep_anew(engine, "a1", "the hash before", hashed(OTHER, "lin"))
    assert check(engine, "a1", GOOD)


def test_letters_typed_in_another_way_are_the_same_password(engine, clock, watched):
    give(engine, "a1", "caf\u00e9 du nord １２", clock())
    assert check(engine, "a1", "cafe\u0301 du nord 12")


def test_a_password_too_long_is_not_even_checked(engine, clock, watched):
    assert not check(engine, "a1", "x" * (LONGEST + 1))
    assert watched.seen == []


@pytest.mark.parametrize(
    ("password", "words"),
    [
        ("", "0 characters; at least 10"),
        ("nine char", "9 characters; at least 10"),
        ("x" * 1_001, "1,001 characters; at most 1,000"),
        ("abababababab", "the same few characters"),
        ("Wang.Fang.7", "little more than the name"),
        ("7wang.fangwang.fang!!", "little more than the name"),
        ("Password123!", "much of a common password"),
        ("１２３４５６７８９０", "hundred most common"),
        ("qwertyuiop", "hundred most common"),
        ("poiuytrewq1", "much of a common password"),
        ("1qaz2wsx3edc", "very common"),
        ("woaini1314520", "easy to guess"),
        ("Robotics-2026", "little more than the name"),
    ],
)
def test_a_weak_password_is_refused_in_words(password, words):
    with pytest.raises(Refused, match=words):
        hashed(password, "wang.fang", ["The Robotics Contest"])


@pytest.mark.parametrize(
    "password", ["x" * 6 + "mas-trees", "wang.fang likes tea", "我们的队伍一定会赢得比赛", "zq8#Lm2!vT", GOOD]
)
def test_a_good_password_is_taken(password):
    assert weaknesses(password, "wang.fang", ["The Robotics Contest"]) == []


def test_a_longest_password_is_taken():
    assert weaknesses("many words " * 90 + "0123456789", "lin") == []
    assert len("many words " * 90 + "0123456789") == LONGEST


@given(st.text(st.characters(), max_size=40), st.text(st.characters(), max_size=20))
def test_no_text_breaks_the_rules_or_the_hash(password, name):
    passwords._bytes(password)
    for fault in weaknesses(password, name):
        assert fault.found and fault.expected
