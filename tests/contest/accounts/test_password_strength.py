"""How hard a password is to guess."""

import ast
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import zxcvbn
import zxcvbn.feedback

from palestra.contest.accounts import password_strength
from palestra.contest.accounts.password_strength import ENOUGH, JUDGED, KNOWN, SUGGESTIONS, WARNINGS, faults


def messages() -> set[str]:
    """All that zxcvbn can say: what its feedback marks for translators."""
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(zxcvbn.feedback))) if isinstance(node, ast.Call)]
    marked = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "_"]
    return {ast.literal_eval(call.args[0]) for call in marked}


def test_there_are_words_for_all_that_zxcvbn_can_say_and_for_nothing_else():
    assert messages() == (WARNINGS.keys() | SUGGESTIONS.keys()) - {""}


@pytest.mark.parametrize(
    ("password", "found", "expected"),
    [
        ("password", "one of the ten most common passwords", "another word or two, better uncommon ones"),
        ("Password123!", "much of a common password", "more than a capital letter, which helps little"),
        ("drowssap", "much of a common password", "more than a word backwards, which helps little"),
        ("p@ssword", "much of a common password", "more than @ for a, which helps little"),
        ("aaaaaaaaaaaa", "one character again and again", "no repeated words and characters"),
        ("1990-05-12", "a date", "no dates and years that have to do with you"),
        ("tyuiolkjhgf", "a short pattern on the keyboard", "a longer pattern on the keyboard, with more turns"),
    ],
)
def test_a_fault_says_what_is_weak_and_what_would_help(password, found, expected):
    assert (found, expected) in [(fault.found, fault.expected) for fault in faults(password, [])]


@pytest.mark.parametrize("password", ["Lindqvist.Maria", "lindqvistlindqvist", "Gazebrook99!", "maria gazebrook"])
def test_who_knows_the_names_guesses_them_and_their_words(password):
    found = faults(password, ["maria.lindqvist", "The Gazebrook Challenge"])
    assert [fault.found for fault in found][:1] == [KNOWN.text]


def test_names_of_others_do_not_matter():
    assert faults("Gazebrook-Lindqvist", []) == []


def test_between_a_hundred_million_guesses_and_enough_there_are_reasons_still():
    """zxcvbn itself has none from there on."""
    weak = "Admin@123456"
    judged = zxcvbn.zxcvbn(weak)
    assert 10**8 <= judged["guesses"] < ENOUGH and judged["feedback"]["suggestions"] == []
    assert faults(weak, [])


def test_no_more_is_judged_than_can_be_judged_quickly(monkeypatch):
    given = []

    def noting(password, words):
        given.append((password, words))
        return {"guesses": ENOUGH, "sequence": []}

    monkeypatch.setattr(zxcvbn, "zxcvbn", noting)
    faults("x" * 18_000, ["y" * 18_000])
    [(password, words)] = given
    assert password == "x" * JUDGED and "y" * JUDGED in words


def test_one_account_is_not_judged_by_the_names_of_another(monkeypatch):
    """zxcvbn keeps the names in a global variable, so two at once would mix them up."""
    inside, judge = threading.Semaphore(1), zxcvbn.zxcvbn

    def alone(password, words):
        assert inside.acquire(blocking=False), "two at once"
        try:
            return judge(password, words)
        finally:
            inside.release()

    monkeypatch.setattr(zxcvbn, "zxcvbn", alone)
    names = [f"brontosaurus{number}" for number in range(20)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda name: faults(f"{name}!", [name]), names))
    assert all(one and one[0].found == KNOWN.text for one in found)


def test_nothing_at_all_is_left_to_the_limit_of_length():
    assert password_strength.faults("", ["lin"]) == []
