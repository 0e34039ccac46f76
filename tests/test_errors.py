import difflib
import pickle

import pytest

from palestra.errors import SHOWN, Fault, Faults, Forbidden, PalestraError, Refused, UnknownName, clip, refuse
from palestra.text import Words


def test_an_unknown_name_gets_the_nearest_known_one():
    assert "Did you mean 'near-eye-gaze-v1'?" in str(UnknownName("track", "near-eye-gaze", ["near-eye-gaze-v1", "b"]))


def test_an_unknown_name_far_from_all_lists_them():
    assert "Known: aa, bb." in str(UnknownName("track", "zzzzzz", ["bb", "aa"]))


def test_a_name_of_any_length_is_compared_and_shown_in_part(monkeypatch):
    seen = []
    nearest = difflib.get_close_matches

    def noted(word, names, **how):
        seen.extend([word, *names])
        return nearest(word, names, **how)

    monkeypatch.setattr(difflib, "get_close_matches", noted)
    text = str(UnknownName("track", "x" * 1_000_000, ["y" * 5_000, "near"]))
    assert len(text) < 1_000
    assert max(map(len, seen)) <= 60
    assert text.startswith(f"There is no track '{'x' * 59}…'. ")
    assert "'near'?" in str(UnknownName("track", "nea" + "r" * 3, ["near"]))


def test_the_first_faults_are_shown_and_all_are_counted():
    faults = Faults()
    for row in range(SHOWN + 15):
        faults.add(f"row {row}", "x", "a number")
    with pytest.raises(Refused) as caught:
        faults.finish()
    assert len(caught.value.faults) == SHOWN
    assert caught.value.count == SHOWN + 15
    assert str(caught.value).endswith("… and 15 more")


def test_gaps_alone_leave_the_usable_answers():
    faults = Faults()
    faults.gap("row 1", "NaN", "a number")
    with pytest.raises(Refused) as caught:
        faults.finish(usable="the rest")
    assert caught.value.usable == "the rest"


def test_one_hard_fault_leaves_nothing_usable():
    faults = Faults()
    faults.gap("row 1", "NaN", "a number")
    faults.add("row 2", "text", "a number")
    with pytest.raises(Refused) as caught:
        faults.finish(usable="the rest")
    assert caught.value.usable is None


def test_absorbing_keeps_counts_and_hardness():
    faults = Faults()
    for _ in range(3):
        try:
            refuse("file", "a", "b")
        except Refused as refusal:
            faults.absorb(refusal)
    assert (faults.count, faults.only_gaps, len(faults.shown)) == (3, False, 3)


def test_what_a_stranger_wrote_is_cut_and_quoted():
    assert clip("a\nb") == r"'a\nb'"
    assert len(clip("x" * 1000)) == 60


@pytest.mark.parametrize("error", [UnknownName("track", "a", ["b"]), Refused([Fault("a", "b", "c")], 7)])
def test_errors_come_back_from_worker_processes(error):
    back = pickle.loads(pickle.dumps(error))
    assert isinstance(back, PalestraError)
    assert str(back) == str(error)


def test_a_long_list_of_names_is_cut():
    assert str(UnknownName("trial", "?", (f"t{i}" for i in range(1000)))).endswith("and 980 more.")


def test_what_is_told_in_two_languages_prints_as_english():
    error = PalestraError(Words("The team is full.", "队伍已满。"))
    assert (str(error), error.in_language("en"), error.in_language("zh")) == (
        "The team is full.", "The team is full.", "队伍已满。"
    )  # fmt: skip


@pytest.mark.parametrize("kind", [PalestraError, Forbidden])
def test_both_languages_come_back_from_worker_processes(kind):
    back = pickle.loads(pickle.dumps(kind(Words("no", "不"))))
    assert isinstance(back, kind)
    assert (str(back), back.in_language("zh")) == ("no", "不")
