"""Cases drawn from a seed: well laid, said in two languages, unmet at the start, new where they are hidden."""

import math

import numpy as np
import pytest

from palestra.tracks.tabletop.simulator import arm
from palestra.tracks.tabletop.simulator.case_generator import GROUPS, SIZES, draw_case, draw_cases
from palestra.tracks.tabletop.simulator.goals import RULES, Progress
from palestra.tracks.tabletop.simulator.language import (
    CLAUSES,
    COLOUR_WORDS,
    GOALS,
    KIND_WORDS,
    LANGUAGES,
    WORDINGS,
    name_of,
)
from palestra.tracks.tabletop.simulator.objects import COLOURS, KINDS, height_of, on_the_table, overlap
from palestra.tracks.tabletop.simulator.table import Table
from palestra.tracks.tabletop.simulator.task_templates import HELD_OUT_COLOURS, HELD_OUT_KINDS


@pytest.fixture(scope="module")
def practice():
    return draw_cases("paper", 11, hidden=False)


@pytest.fixture(scope="module")
def hidden():
    return draw_cases("paper", 11, hidden=True)


@pytest.fixture(scope="module")
def cases(practice, hidden):
    return practice + hidden


def test_there_are_five_groups_with_at_least_five_cases_each(practice, hidden):
    for some in (practice, hidden):
        assert {case.group for case in some} == set(GROUPS) and len(GROUPS) == 5
        assert all(sum(case.group == group for case in some) >= 5 for group in GROUPS)
    assert SIZES["tiny"] == 1 and SIZES["small"] == 2


def test_the_same_seed_gives_the_same_cases_and_another_gives_others(hidden):
    assert draw_case(11, True, "long", 2) == next(case for case in hidden if case.id == "long-h2")
    assert draw_case(12, True, "long", 2).scene != draw_case(11, True, "long", 2).scene


def test_a_larger_set_begins_with_a_smaller_one(practice):
    names = {case.id: case for case in practice}
    assert all(names[case.id] == case for case in draw_cases("tiny", 11, hidden=False))


def test_nothing_is_met_before_anything_is_done(cases):
    for case in cases:
        progress = Progress(case.goals)
        table = Table(case.scene)
        for _ in range(3):
            table.step(table.target)
        progress.note(table.facts(), 0.0)
        assert progress.share == 0, case.id


def test_things_lie_apart_on_the_table_and_within_reach(cases):
    for case in cases:
        things = case.scene.things
        for i, thing in enumerate(things):
            assert on_the_table(thing)
            assert not any(overlap(thing, other) for other in things[:i]), case.id
            place = np.array([*thing.position, height_of(thing) / 2])
            facing = math.atan2(thing.position[1], thing.position[0] - arm.BASE[0]) + math.pi
            if thing.kind != "drawer":
                assert arm.reach(arm.pointing_down(place, facing), np.array(arm.HOME)).good, (case.id, thing)


def test_every_thing_can_be_told_from_the_others_by_its_name(cases):
    for case in cases:
        for language in LANGUAGES:
            names = [name_of(thing, language) for thing in case.scene.things]
            assert len(set(names)) == len(names), case.id


def test_instructions_have_several_wordings_in_both_languages(cases):
    for case in cases:
        for language in LANGUAGES:
            wordings = case.instruction[language]
            assert len(set(wordings)) == WORDINGS >= 3
            assert all(text[-1] in ".。" and "{" not in text for text in wordings)
        assert all(goal.en.endswith(".") and goal.zh.endswith("。") for goal in case.goals)


def test_an_instruction_names_what_its_sub_goals_are_about(cases):
    for case in cases:
        things = {thing.id: thing for thing in case.scene.things}
        for goal in case.goals:
            moved = {name for way in goal.any_of for condition in way for name in condition.of[:1]}
            for name in moved:
                assert all(name_of(things[name], "en") in text.lower() for text in case.instruction["en"]), case.id
                assert all(name_of(things[name], "zh") in text for text in case.instruction["zh"]), case.id


def test_sub_goals_are_said_of_what_their_rules_allow(cases):
    for case in cases:
        kinds = {thing.id: thing.kind for thing in case.scene.things}
        for condition in (each for goal in case.goals for way in goal.any_of for each in way):
            allowed = RULES[condition.rule].kinds
            assert all(kinds[name] in allowed[min(i, len(allowed) - 1)] for i, name in enumerate(condition.of))


def test_long_cases_have_several_sub_goals(cases):
    assert all(len(case.goals) >= 3 for case in cases if case.group == "long")


def test_what_is_held_out_is_in_every_hidden_case_and_in_no_other(practice, hidden):
    for case in practice:
        assert not {thing.kind for thing in case.scene.things} & set(HELD_OUT_KINDS)
        assert not {thing.colour for thing in case.scene.things} & set(HELD_OUT_COLOURS)
    for case in hidden:
        assert {thing.kind for thing in case.scene.things} & set(HELD_OUT_KINDS), case.id
        assert {thing.colour for thing in case.scene.things} & set(HELD_OUT_COLOURS), case.id


def test_there_are_words_for_all_that_can_be_said():
    assert set(COLOUR_WORDS) == set(COLOURS) and set(KIND_WORDS) == set(KINDS)
    assert all(len(wordings) == WORDINGS for clause in CLAUSES.values() for wordings in clause.values())
    assert set(GOALS) >= set(RULES) - {"stacked"}
