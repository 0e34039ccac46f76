import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.i18n.phrasebook import Phrasebook

SENTENCES = {
    "All is well.": "一切正常。",
    "{Who} ended {n} times: {Why}": "{Who}退出了 {n} 次：{Why}",
    "{name} is gone": "{name} 已离开",
    "a }} at the end": "末尾的 }}",
}
BOOK = Phrasebook(SENTENCES, {**SENTENCES, "the program": "程序", "it gave up": "主动中止"})


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("All is well.", "一切正常。"),
        ("the program ended 1,024 times: it gave up", "程序退出了 1,024 次：主动中止"),
        ("the program ended 3 times: a private reason", "程序退出了 3 次：a private reason"),
        ("'the program' ended 3 times: x", "'the program'退出了 3 次：x"),
        ("the program is gone", "the program 已离开"),
        ("All is well.\nxyz\nAll is well.", "一切正常。\nxyz\n一切正常。"),
        ("a } at the end", "末尾的 }"),
        ("the program", "the program"),
    ],
)
def test_templates_are_filled_in(english, chinese):
    assert BOOK.sentence(english) == chinese


def test_parts_of_sentences_are_phrases():
    assert BOOK.phrase("the program") == "程序"
    assert BOOK.phrase('"a", "b" or "c"') == '"a"、"b" 或 "c"'


@given(st.text(max_size=60))
def test_any_text_has_an_answer(text):
    assert isinstance(BOOK.sentence(text), str) and isinstance(BOOK.phrase(text), str)
