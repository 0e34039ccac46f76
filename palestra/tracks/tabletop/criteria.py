"""When the conditions of sub-goals hold, in words. simulator/goals.py decides it, and runs without texts."""

from collections.abc import Sequence

from palestra.text import Message, Text, Words, joined, message, say, words_of
from palestra.tracks.tabletop.simulator.language import sentence

# Of each rule: {first}, {second} and {all} are the things that it is said of.
CRITERIA: dict[str, Message] = {
    "on": message("{first} lies on {second}, which carries at least half of its weight"),
    "inside": message(
        "the middle of {first} is within the walls of {second}, and {first} touches it or what lies in it"
    ),
    "stacked": message("each carries the next, from the lowest up: {all}"),
    "inserted": message(
        "{first} stands in the hole of {second}, to at least half of its depth and at most 8° from upright"
    ),
    "upright": message("{first} stands upright, to within 15°"),
    "left_of": message(
        "{first} is on the table to the left of {second} as seen from the arm, within 25 cm "
        "and at most 8 cm out of line"
    ),
    "right_of": message(
        "{first} is on the table to the right of {second} as seen from the arm, within 25 cm "
        "and at most 8 cm out of line"
    ),
    "behind": message(
        "{first} is on the table behind {second} as seen from the arm, within 25 cm and at most 8 cm out of line"
    ),
    "in_front_of": message(
        "{first} is on the table in front of {second} as seen from the arm, within 25 cm and at most 8 cm out of line"
    ),
    "apart": message("{first} is on the table, at least 20 cm from {second} (from middle to middle)"),
    "closed": message("{first} is open by at most 1 cm"),
    "opened": message("{first} is open by at least 9 cm"),
}
LETTERS = ("A", "B", "C")


def always() -> Words:
    """What holds for every sub-goal beside its own conditions."""
    return say(
        "For every sub-goal: Everything named has been let go of, is at rest for 0.25 s, and stands on the table or on "
        "what does. It is judged at the end."
    )


def condition_text(rule: str, things: Sequence[Text]) -> Words:
    """When a condition holds of these things."""
    first, second = [*map(words_of, things), Words()][:2]
    return say(CRITERIA[rule], first=first, second=second, all=joined(things))


def general(rule: str) -> Words:
    """The same about things that have no names: A, B, C."""
    found = condition_text(rule, LETTERS)
    return Words(sentence(found.en, "en"), sentence(found.zh, "zh"))
