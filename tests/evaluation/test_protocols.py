"""Protocols give exactly the trainings and tests that their documents ask for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.errors import PalestraError
from palestra.evaluation.protocols import CROSS_DATA, Fold, Stretch, folds, half_of, k_fold, leave_one_out
from palestra.records import Protocol
from palestra.registry import track
from palestra.tracks.remote_gaze import eyediap

STUDY = track("remote-gaze-v1").study
WHOLE = [
    {"piece": str(name), "person": str(name.person), "condition": name.condition, "target": name.target,
     "head": name.head}
    for name in eyediap.ALL
]  # fmt: skip


def protocol(name: str) -> Protocol:
    return next(one for one in STUDY.protocols if one.name == name)


def stretches_of(found: list[Fold], experiment: str) -> list[Stretch]:
    return [stretch for fold in found for name, stretch in fold.tests if name == experiment]


@pytest.mark.parametrize(("target", "sessions"), [("DS", 14), ("CS", 14), ("FT", 19)])
def test_benchmark_1_has_the_sessions_with_a_still_head(target, sessions):
    found = folds(protocol(f"1-{target}"), WHOLE)
    assert len(found) == sessions
    for fold in found:
        ((piece, half),) = [(s.piece, s.half) for s in fold.train]
        assert half == "first"
        assert fold.tests == (("own", Stretch(piece, "second")),)
        assert piece.endswith(f"{target}_S")


@pytest.mark.parametrize(("target", "pairs"), [("DS", 14), ("CS", 14), ("FT", 19)])
def test_benchmark_2_trains_on_the_still_half_and_tests_all_of_the_moving_session(target, pairs):
    found = folds(protocol(f"2-{target}"), WHOLE)
    assert len(found) == pairs
    for fold in found:
        (learnt,) = fold.train
        moving = learnt.piece[:-1] + "M"
        assert fold.train == (Stretch(learnt.piece, "first"),)
        assert set(fold.tests) == {("still", Stretch(learnt.piece, "second")), ("moving", Stretch(moving, "all"))}


@pytest.mark.parametrize("target", ["DS", "CS", "FT"])
def test_benchmark_3_learns_from_all_others_and_leaves_condition_b_out(target):
    found = folds(protocol(f"3-{target}"), WHOLE)
    assert len(stretches_of(found, "own")) == len(stretches_of(found, "others")) == 14
    for fold in found:
        assert not any("_B_" in stretch.piece for stretch in fold.train)
        for experiment, tested in fold.tests:
            people = {stretch.piece.split("_")[0] for stretch in fold.train}
            me = tested.piece.split("_")[0]
            assert (people == {me}) if experiment == "own" else (me not in people and len(people) == 13)
            assert tested.half == "second"
            assert all(stretch.half == "first" for stretch in fold.train)


def test_benchmark_4_crosses_the_conditions_of_14_to_16():
    found = folds(protocol("4-FT"), WHOLE)
    told = {(name, s.piece, fold.train[0].piece) for fold in found for name, s in fold.tests}
    assert len(found) == 6
    assert told == {
        (name, f"{person}_{tested}_FT_S", f"{person}_{learnt}_FT_S")
        for person in (14, 15, 16)
        for name, tested, learnt in (("A", "A", "A"), ("B-by-A", "B", "A"), ("B", "B", "B"), ("A-by-B", "A", "B"))
    }


def test_leaving_one_person_out_tests_everybody_by_all_others():
    found = folds(leave_one_out("person"), WHOLE)
    assert len(found) == 16
    assert sum(len(fold.tests) for fold in found) == 94
    for fold in found:
        tested = {stretch.piece.split("_")[0] for _, stretch in fold.tests}
        assert len(tested) == 1
        assert not tested & {stretch.piece.split("_")[0] for stretch in fold.train}


@given(st.integers(2, 8), st.integers(2, 16))
def test_folds_by_person_part_people_whatever_their_number(count, people):
    pieces = [piece for piece in WHOLE if int(piece["person"]) <= people]
    found = folds(k_fold(count, "person"), pieces)
    assert len(found) == min(count, people)
    assert sorted(s.piece for fold in found for _, s in fold.tests) == sorted(piece["piece"] for piece in pieces)
    for fold in found:
        tested = {stretch.piece.split("_")[0] for _, stretch in fold.tests}
        assert not tested & {stretch.piece.split("_")[0] for stretch in fold.train}


def test_another_data_set_is_one_training_for_all():
    (fold,) = folds(CROSS_DATA, WHOLE)
    assert fold.train == ()
    assert len(fold.tests) == 94


@given(st.integers(0, 10_000))
def test_halves_are_disjoint_and_whole(rows):
    first, second = half_of(rows, "first"), half_of(rows, "second")
    assert first.stop == second.start == rows // 2
    assert (first.start, second.stop) == (0, rows)


def test_data_without_the_sessions_of_a_protocol_is_refused_by_name():
    with pytest.raises(PalestraError, match="4-FT"):
        folds(protocol("4-FT"), [piece for piece in WHOLE if piece["person"] == "1"])
