"""Texts in both languages."""

import pytest

from palestra.text import Message, Words, in_language, joined, said, say, say_as, say_count, sentences, words_of


def test_a_text_is_said_in_both_languages():
    assert say("Rank") == Words("Rank", "名次")


def test_values_that_are_texts_are_told_in_each_language():
    found = say("{rule}; this team's turn has begun.", rule=say("A turn begins once"))
    assert found.en == "A turn begins once; this team's turn has begun."
    assert found.zh == "每队只上场一次；该队已经上场。"


def test_the_same_english_in_two_contexts_has_two_kinds_of_chinese():
    assert say_as("phase", "Open").zh != say_as("access", "Open").zh
    assert said("zh", Message("Open", "phase")) == say_as("phase", "Open").zh


def test_one_and_many_are_told_apart():
    assert say_count("{count} team", "{count} teams", 1).en == "1 team"
    assert say_count("{count} team", "{count} teams", 1_200) == Words("1,200 teams", "1,200 支队伍")


def test_what_no_catalogue_has_stays_english():
    assert say("Nobody ever said this {so}.", so="before") == Words(*["Nobody ever said this before."] * 2)


def test_a_place_that_is_not_filled_is_an_error():
    with pytest.raises(KeyError, match="name"):
        say("There is a team {name!r} already. Choose another name.")


def test_braces_of_a_value_are_left_alone():
    assert say("Your team is disqualified: {reason}", reason="{reason}").en == "Your team is disqualified: {reason}"


def test_lists_are_written_as_each_language_writes_them():
    assert joined(["a", say("Rank"), "b"]) == Words("a, Rank, b", "a、名次、b")
    assert not joined([])


def test_what_is_no_text_of_ours_is_the_same_in_every_language():
    assert words_of("Ada") == Words("Ada", "Ada")
    assert in_language("Ada", "zh") == "Ada"
    assert str(Words(zh="仅中文")) == "仅中文"


def test_sentences_follow_each_other_as_each_language_writes_them():
    said = sentences(Words("One.", "一。"), "", Words("Two.", "二。"))
    assert (said.en, said.zh) == ("One. Two.", "一。二。")
    assert not sentences("", Words())
