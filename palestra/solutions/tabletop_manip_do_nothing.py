"""The table, do-nothing: does nothing."""

from palestra.records import Solution

SOLUTION = Solution(
    "tabletop-manip-v1",
    "do-nothing",
    "does nothing",
    plays="palestra.solutions.tabletop_simple:DoNothing",
)
