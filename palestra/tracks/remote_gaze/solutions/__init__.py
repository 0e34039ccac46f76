"""Reference solutions, listed. Each is named by the module that holds it, which is imported when it is run.

May be touched freely; a changed answer changes the numbers that docs publish.
"""

from palestra.records import Solution

SOLUTIONS = (
    Solution(
        track="remote-gaze-v1",
        name="appearance",
        title="edges of head-normalised eyes, kernel ridge",
        learns=f"{__name__}.appearance:Appearance",
    ),
    Solution(
        track="remote-gaze-v1",
        name="eye-model",
        title="irises on eyeballs that are fitted to each person",
        learns=f"{__name__}.eye_model:EyeModel",
        options={"camera": "vga"},
    ),
    Solution(
        track="remote-gaze-v1",
        name="head-pose",
        title="the head alone, ridge on its turn and place",
        learns=f"{__name__}.head_pose:HeadPose",
    ),
    Solution(
        track="remote-gaze-v1",
        name="network",
        title="a small network that learnt from drawn heads, corrected for each eye",
        learns=f"{__name__}.network:Network",
        weights="remote_gaze_network.onnx",
    ),
)
