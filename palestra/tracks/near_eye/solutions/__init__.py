"""Reference solutions, listed. Each is named by the module that holds it, which is imported when it is run.

May be touched freely; a changed answer changes the numbers that docs publish.
"""

from palestra.records import Solution

SOLUTIONS = (
    Solution(
        track="near-eye-gaze-v1",
        name="palestra",
        title="the pupil by a network, and what five frames tell of an eye",
        solves=f"{__name__}.gaze_palestra",
        parts_by=("person", "group"),
        weights="near_eye_palestra.onnx",
    ),
    Solution(
        track="near-eye-gaze-v1",
        name="pupil",
        title="pupils, quadratic ridge, five-frame correction",
        solves=f"{__name__}.gaze_pupil",
        parts_by=("person", "group"),
    ),
    Solution(
        track="near-eye-live-v1",
        name="palestra",
        title="a network's gaze of both eyes, corrected by where people look as a whole",
        plays=f"{__name__}.live_palestra:Palestra",
        weights="near_eye_palestra.onnx",
    ),
    Solution(
        track="near-eye-live-v1",
        name="pupil",
        title="pupils against glints, quadratic ridge across people and devices",
        plays=f"{__name__}.live_pupil:Pupil",
        weights="near_eye_live_pupil.npz",
    ),
)
