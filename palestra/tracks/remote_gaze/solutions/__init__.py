"""Reference solutions, listed. Each is named by the module that holds it, which is imported when it is run.

May be touched freely; a changed answer changes the numbers that docs publish.
"""

from functools import partial

from palestra.records import Solution

_solution = partial(Solution, "remote-gaze-v1")
SOLUTIONS = (
    _solution("appearance", "edges of head-normalised eyes, kernel ridge", learns=f"{__name__}.appearance:Appearance"),
    _solution("eye-model", "irises on eyeballs that are fitted to each person",
              learns=f"{__name__}.eye_model:EyeModel", options={"camera": "vga"}),
    _solution("head-pose", "the head alone, ridge on its turn and place", learns=f"{__name__}.head_pose:HeadPose"),
    _solution("network", "a small network that learnt from drawn heads, corrected for each eye",
              learns=f"{__name__}.network:Network", weights="remote_gaze_network.onnx"),
)  # fmt: skip
