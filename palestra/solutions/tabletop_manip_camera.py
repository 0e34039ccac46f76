"""The table, camera: sees the cameras and the instruction alone."""

from palestra.records import Solution

SOLUTION = Solution(
    "tabletop-manip-v1",
    "camera",
    "sees the cameras and the instruction alone",
    plays="palestra.solutions.tabletop_camera:Camera",
)
