"""Reference solutions, listed. Each is named by the module that holds it, which is imported when it is run.

May be touched freely; a changed answer changes the numbers that docs publish.
"""

from functools import partial

from palestra.records import Solution

_solution = partial(Solution, "tabletop-manip-v1")
SOLUTIONS = (
    _solution("camera", "sees the cameras and the instruction alone", plays=f"{__name__}.camera_policy:Camera"),
    _solution("do-nothing", "does nothing", plays=f"{__name__}.simple_policies:DoNothing"),
    _solution("hover", "holds things over their goals and lets go of none", plays=f"{__name__}.simple_policies:Hover"),
    _solution("random", "moves at random", plays=f"{__name__}.simple_policies:Random"),
    _solution("scripted", "told where everything is: shows that the cases can be solved",
              knows=f"{__name__}.scripted_policy:Knowing"),
)  # fmt: skip
