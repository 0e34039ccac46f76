"""Reference solutions, listed. Each is named by the module that holds it, which is imported when it is run.

May be touched freely; a changed answer changes the numbers that docs publish.
"""

from palestra.records import Solution

SOLUTIONS = (
    Solution(
        track="tabletop-manip-v1",
        name="camera",
        title="sees the cameras and the instruction alone",
        plays=f"{__name__}.camera_policy:Camera",
    ),
    Solution(
        track="tabletop-manip-v1",
        name="do-nothing",
        title="does nothing",
        plays=f"{__name__}.simple_policies:DoNothing",
    ),
    Solution(
        track="tabletop-manip-v1",
        name="hover",
        title="holds things over their goals and lets go of none",
        plays=f"{__name__}.simple_policies:Hover",
    ),
    Solution(
        track="tabletop-manip-v1",
        name="random",
        title="moves at random",
        plays=f"{__name__}.simple_policies:Random",
    ),
    Solution(
        track="tabletop-manip-v1",
        name="scripted",
        title="told where everything is: shows that the cases can be solved",
        knows=f"{__name__}.scripted_policy:Knowing",
    ),
)
