"""Reference solutions, listed. Each is named by the module that holds it, which is imported when it is run.

May be touched freely; a changed answer changes the numbers that docs publish.
"""

from functools import partial

from palestra.records import Solution

_gaze = partial(Solution, "near-eye-gaze-v1", parts_by=("person", "group"))
_live = partial(Solution, "near-eye-live-v1")
SOLUTIONS = (
    _gaze("palestra", "the pupil by a network, and what five frames tell of an eye",
          solves=f"{__name__}.gaze_palestra", weights="near_eye_palestra.onnx"),
    _gaze("pupil", "pupils, quadratic ridge, five-frame correction", solves=f"{__name__}.gaze_pupil"),
    _live("palestra", "a network's gaze of both eyes, corrected by where people look as a whole",
          plays=f"{__name__}.live_palestra:Palestra", weights="near_eye_palestra.onnx"),
    _live("pupil", "pupils against glints, quadratic ridge across people and devices",
          plays=f"{__name__}.live_pupil:Pupil", weights="near_eye_live_pupil.npz"),
)  # fmt: skip
