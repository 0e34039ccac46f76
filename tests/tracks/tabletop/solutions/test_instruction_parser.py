"""The grammar reads every wording that cases have, other words of the same meaning, and falls over nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.tracks.tabletop.simulator.language import CLAUSES, LANGUAGES, WORDINGS, instruction
from palestra.tracks.tabletop.simulator.objects import COLOURS, KINDS, Thing
from palestra.tracks.tabletop.simulator.task_templates import PLANS
from palestra.tracks.tabletop.solutions.instruction_parser import ANY, Named, Wish, understand

RED, BLUE, GREEN = Named("red", "block"), Named("blue", "can"), Named("green", "brick")
BOWL, DRAWER = Named(ANY, "bowl"), Named("blue", "drawer")
THINGS = [Thing("a", "block", "red", (0.04,), (0, 0)), Thing("b", "can", "blue", (0.02, 0.05), (0, 0)),
          Thing("c", "brick", "green", (0.06, 0.04, 0.04), (0, 0))]  # fmt: skip
PAIRS = ("on", "inside", "left_of", "right_of", "behind", "in_front_of", "apart", "inserted")
MEANT = {
    **{rule: (Wish(rule, (RED, BLUE)),) for rule in PAIRS},
    "inside_any": (Wish("inside", (RED, BOWL)),),
    "stack_2": (Wish("on", (BLUE, RED)),),
    "stack_3": (Wish("on", (BLUE, RED)), Wish("on", (GREEN, BLUE))),
    "stack_any": (Wish("either_on", (RED, BLUE)),),
    "put_away": (Wish("inside", (RED, BLUE)), Wish("closed", (BLUE,))),
    "closed": (Wish("closed", (RED,)),),
    "opened": (Wish("opened", (RED,)),),
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("clause", sorted(CLAUSES))
def test_every_wording_of_a_clause_means_the_same(clause, language):
    for wording in range(WORDINGS):
        said = instruction([(clause, THINGS)], language)[wording]
        assert understand(said) == MEANT[clause], said


@pytest.mark.parametrize("language", LANGUAGES)
def test_steps_are_wished_for_in_their_order(language):
    clauses = ["stack_3", "put_away", "in_front_of", "inserted"]
    for said in instruction([(clause, THINGS) for clause in clauses], language):
        assert understand(said) == sum((MEANT[clause] for clause in clauses), ()), said


@pytest.mark.parametrize("group", sorted(PLANS))
def test_all_wordings_of_what_plans_ask_for_agree(group):
    import numpy as np

    for number, plan in enumerate(PLANS[group]):
        drawn = plan(np.random.default_rng(number), True)
        by_id = {thing.id: thing for thing in drawn.things}
        steps = [(step.clause, [by_id[each] for each in step.of]) for step in drawn.steps]
        meant = {understand(said) for language in LANGUAGES for said in instruction(steps, language)}
        assert len(meant) == 1
        assert len(next(iter(meant))) >= len(drawn.steps)


def test_words_around_and_other_words_do_not_matter():
    assert understand("Could you put a red block onto the blue can, please?") == (Wish("on", (RED, BLUE)),)
    assert understand("PUT THE  RED\nBLOCK in the blue can") == (Wish("inside", (RED, BLUE)),)
    assert understand("麻烦把红色的方块放进蓝罐子里，谢谢") == (Wish("inside", (RED, BLUE)),)
    assert understand("Shut the blue drawer!") == (Wish("closed", (DRAWER,)),)


@pytest.mark.parametrize(
    "text", ["", "Dance.", "put it there", "<0> on <1>", "把它放好", "the red block", "<b>the red block</b>"]
)
def test_what_is_not_understood_is_no_wish(text):
    assert understand(text) == ()


_WORDS = [
    "put",
    "the",
    "red",
    "block",
    "on",
    "in",
    "and",
    "then",
    "blue",
    "drawer",
    "close",
    "it",
    "<0>",
    "把",
    "红色方块",
    "放到",
    "上",
]


@given(st.one_of(st.text(max_size=200), st.lists(st.sampled_from(_WORDS), max_size=30).map(" ".join)))
def test_whatever_is_said_only_known_things_are_wished_for(text):
    for wish in understand(text):
        assert wish.rule in {wish.rule for wishes in MEANT.values() for wish in wishes}
        assert all(name.kind in KINDS and (name.colour in COLOURS or name.colour == ANY) for name in wish.of)
