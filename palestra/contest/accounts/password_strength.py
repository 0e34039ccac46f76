"""How hard a password is to guess: zxcvbn counts the guesses, and says why they are few."""

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from palestra.errors import Fault
from palestra.text import Message, Text, message, say

ENOUGH = 10**9  # guesses; three trifles in a row, such as 7, the name and !!, count as 10⁸ already
JUDGED = 32  # characters from the start: that takes 3 to 20 ms, and 0.5 s where all are chosen to take long
SHORTEST_WORD = 3  # letters of a word of a name; shorter ones are no help to who guesses

# What zxcvbn says, as it stands after "found" and "expected".
WARNINGS = {
    "": message("one that is easy to guess"),
    "This is a top-10 common password.": message("one of the ten most common passwords"),
    "This is a top-100 common password.": message("one of the hundred most common passwords"),
    "This is a very common password.": message("a very common password"),
    "This is similar to a commonly used password.": message("much of a common password"),
    "A word by itself is easy to guess.": message("a word by itself"),
    "Names and surnames by themselves are easy to guess.": message("a name by itself"),
    "Common names and surnames are easy to guess.": message("a common name"),
    "Straight rows of keys are easy to guess.": message("a straight row of keys"),
    "Short keyboard patterns are easy to guess.": message("a short pattern on the keyboard"),
    'Repeats like "aaa" are easy to guess.': message("one character again and again"),
    'Repeats like "abcabcabc" are only slightly harder to guess than "abc".': message(
        "the same few characters again and again"
    ),
    'Sequences like "abc" or "6543" are easy to guess.': message("a sequence such as abc or 6543"),
    "Recent years are easy to guess.": message("a recent year"),
    "Dates are often easy to guess.": message("a date"),
}
SUGGESTIONS = {
    "Use a few words, avoid common phrases.": message("a few words that are no common phrase"),
    "No need for symbols, digits, or uppercase letters.": message("words; symbols, digits and capitals are not needed"),
    "Add another word or two. Uncommon words are better.": message("another word or two, better uncommon ones"),
    "Use a longer keyboard pattern with more turns.": message("a longer pattern on the keyboard, with more turns"),
    "Avoid repeated words and characters.": message("no repeated words and characters"),
    "Avoid sequences.": message("no sequences"),
    "Avoid recent years.": message("no recent years"),
    "Avoid years that are associated with you.": message("no years that have to do with you"),
    "Avoid dates and years that are associated with you.": message("no dates and years that have to do with you"),
    "Capitalization doesn't help very much.": message("more than a capital letter, which helps little"),
    "All-uppercase is almost as easy to guess as all-lowercase.": message(
        "more than capital letters, which help little"
    ),
    "Reversed words aren't much harder to guess.": message("more than a word backwards, which helps little"),
    "Predictable substitutions like '@' instead of 'a' don't help very much.": message(
        "more than @ for a, which helps little"
    ),
}
KNOWN = message("little more than the name of the account or of the contest")  # zxcvbn has no words for that

_ONE_AT_A_TIME = threading.Lock()  # zxcvbn keeps the known words in a global variable


def faults(password: str, known: Iterable[str]) -> list[Fault]:
    """Why a password is easy to guess for somebody who knows these names; nothing where it is not."""
    from zxcvbn import zxcvbn  # type: ignore[import-untyped]
    from zxcvbn.feedback import get_feedback  # type: ignore[import-untyped]

    if not password:
        return []  # zxcvbn cannot count it, and its length says enough
    with _ONE_AT_A_TIME:
        judged = zxcvbn(password[:JUDGED], _words(known))
    if judged["guesses"] >= ENOUGH:
        return []
    said = get_feedback(0, judged["sequence"])  # which it keeps to itself from 10⁸ on
    longest = max(judged["sequence"], key=lambda match: len(match["token"]))  # of which the warning speaks
    found = say(KNOWN) if _is_known(longest) else _told(WARNINGS, said["warning"])
    return [Fault.of(say("password"), found, _told(SUGGESTIONS, advice)) for advice in said["suggestions"]]


def _told(known: Mapping[str, Message], text: str) -> Text:
    """What zxcvbn says; one of its texts that is new to us stays as it is."""
    return say(known[text]) if text in known else text


def _words(known: Iterable[str]) -> list[str]:
    """Names, and the words that they are made of."""
    found: list[str] = []
    for name in known:
        parts = "".join(letter if letter.isalnum() else " " for letter in name).split()
        found += [name[:JUDGED], *(part for part in parts if len(part) >= SHORTEST_WORD)]
    return list(dict.fromkeys(filter(None, found)))


def _is_known(match: Mapping[str, Any]) -> bool:
    """Whether a part of a password is one of the known words, or one of them again and again."""
    return match.get("dictionary_name") == "user_inputs" or any(map(_is_known, match.get("base_matches", ())))
