"""Cases: an instruction with its scene and its sub-goals, drawn from a seed.

Hidden cases have layouts of their own and, each of them, at least one colour and one kind of thing that no practice
case has (table_plans.HELD_OUT_COLOURS and HELD_OUT_KINDS).
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from palestra.tracks.tabletop.simulator import arm
from palestra.tracks.tabletop.simulator.case import GROUPS, Case
from palestra.tracks.tabletop.simulator.goals import Condition, SubGoal
from palestra.tracks.tabletop.simulator.language import AND, LANGUAGES, OR, goal_text, instruction, sentence
from palestra.tracks.tabletop.simulator.layout import NoRoom, lay
from palestra.tracks.tabletop.simulator.objects import Scene, Thing
from palestra.tracks.tabletop.simulator.table import Table, settle
from palestra.tracks.tabletop.simulator.task_templates import PLANS, Step

SIZES = {"tiny": 1, "small": 2, "paper": 5}  # cases in each group, practice and hidden alike
TRIES = 40


def draw_cases(size: str, seed: int, hidden: bool) -> list[Case]:
    """All practice cases or all hidden ones of a data set; a larger set begins with the cases of a smaller one."""
    return [draw_case(seed, hidden, group, number) for group in GROUPS for number in range(1, SIZES[size] + 1)]


def case_id(group: str, hidden: bool, number: int) -> str:
    return f"{group}-{'h' if hidden else 'p'}{number}"


def draw_case(seed: int, hidden: bool, group: str, number: int) -> Case:
    """One case; it depends on nothing but these four."""
    name = case_id(group, hidden, number)
    rng = np.random.default_rng(np.frombuffer(hashlib.sha256(f"{seed}/table/{name}".encode()).digest(), np.uint32))
    plans = PLANS[group]
    for _ in range(TRIES):
        plan = plans[(number - 1) % len(plans)](rng, hidden)
        try:
            things = lay(plan.things, plan.beside, rng)
        except NoRoom:
            continue
        case = _case(name, group, hidden, plan.steps, things)
        if _begins_unmet(case):
            return case
    raise NoRoom(f"no layout for case {name} of seed {seed}")


def _case(name: str, group: str, hidden: bool, steps: Sequence[Step], things: Sequence[Thing]) -> Case:
    by_id = {thing.id: thing for thing in things}
    scene = settle(Scene(tuple(things), arm.HOME))
    said = [(step.clause, [by_id[each] for each in step.of]) for step in steps]
    words = {language: instruction(said, language) for language in LANGUAGES}
    ways = [way for step in steps for way in step.goals]
    goals = tuple(_goal(f"g{i}", any_of, by_id) for i, any_of in enumerate(ways, 1))
    return Case(name, group, hidden, words, scene, goals)


def _goal(name: str, any_of: tuple[tuple[Condition, ...], ...], by_id: dict[str, Thing]) -> SubGoal:
    def text(language: str) -> str:
        ways = [
            AND[language].join(goal_text(each.rule, [by_id[name] for name in each.of], language) for each in way)
            for way in any_of
        ]
        return sentence(OR[language].join(ways), language)

    return SubGoal(name, text("en"), text("zh"), any_of)


def _begins_unmet(case: Case) -> bool:
    """Whether nothing is met before anything is done, and every thing stands where it was put."""
    facts = Table(case.scene).facts()
    return not any(goal.holds(facts) for goal in case.goals) and all(
        float(np.abs(facts.poses[thing.id][:2, 3] - thing.position).max()) < 0.005
        for thing in case.scene.things
        if thing.kind != "drawer"
    )
