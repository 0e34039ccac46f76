"""The table, random: moves at random."""

from palestra.records import Solution

SOLUTION = Solution(
    "tabletop-manip-v1",
    "random",
    "moves at random",
    plays="palestra.solutions.tabletop_simple:Random",
)
