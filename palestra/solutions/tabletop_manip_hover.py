"""The table, hover: holds things over their goals and lets go of none."""

from palestra.records import Solution

SOLUTION = Solution(
    "tabletop-manip-v1",
    "hover",
    "holds things over their goals and lets go of none",
    plays="palestra.solutions.tabletop_simple:Hover",
)
