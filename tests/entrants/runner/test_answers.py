"""What a contestant's class may return: numbers, texts and booleans, alone or in a list, of a bounded length."""

import numpy as np
import pytest

from palestra.entrants import LONGEST_TEXT
from palestra.entrants.runner.answers import MOST_VALUES, told

LARGEST = 1 << 16  # bytes of a reply, which program.py takes


class Bites(str):
    """A text that does something when it is asked."""

    def __str__(self):
        raise AssertionError("it was asked")


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (3, 3),
        (np.float32(0.5), 0.5),
        ("yes", "yes"),
        ("", ""),
        (np.str_("no"), "no"),
        (True, True),
        (np.bool_(False), False),
        ([1, "left", True], [1, "left", True]),
        (np.array([True, False]), [True, False]),
        (np.array(["a", "bc"]), ["a", "bc"]),
        ((np.int8(2), 0.5), [2, 0.5]),
    ],
)
def test_numbers_texts_and_booleans_are_answers(value, answer):
    said = told(value)["answer"]
    assert said == answer and type(said) is type(answer)
    items = said if isinstance(said, list) else [said]
    assert {type(item) for item in items} <= {int, float, str, bool}


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (None, "NoneType"),
        ({"a": 1}, "dict"),
        (b"x", "bytes"),
        (Bites("x"), "Bites"),
        ([Bites("x")], "list"),
        ([[1]], "list"),
        (1 << 70, "a number without end"),
        ("\ud800", "a text that is not Unicode"),
        (["\ud800"], "list"),
        (np.zeros((2, 2)), "an array of float64 with the shape (2, 2)"),
        ([0] * (MOST_VALUES + 1), f"a list of {MOST_VALUES + 1:,}"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_anything_else_is_told_in_words_and_never_asked(value, what):
    assert told(value) == {"returned": ["no answer", what]}


def test_the_texts_of_an_answer_have_a_length_that_fits_in_a_reply():
    half = "語" * (LONGEST_TEXT // 2)
    assert told([half, half])["answer"] == [half, half]
    assert told([half, half, "x"]) == {"returned": ["too long", f"{LONGEST_TEXT + 1:,}"]}
    assert told("x" * 10_000_000) == {"returned": ["too long", "10,000,000"]}
    assert LONGEST_TEXT * 4 + MOST_VALUES * 16 < LARGEST
