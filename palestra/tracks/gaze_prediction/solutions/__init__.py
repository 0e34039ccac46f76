"""Reference solutions, listed. Each is named by the module that holds it, which is imported when it is run.

May be touched freely; a changed answer changes the numbers that docs publish.
"""

from palestra.records import Solution

SOLUTIONS = (
    Solution(
        track="gaze-prediction-v1",
        name="baseline",
        title="the paper's network of 206 K weights and linear regression, rebuilt",
        solves=f"{__name__}.baseline",
        parts_by=("sequence",),
        weights="gaze_prediction_baseline.onnx",
    ),
    Solution(
        track="gaze-prediction-v1",
        name="eymazing",
        title="second of 2020 rebuilt: ResNet-18 and an LSTM",
        solves=f"{__name__}.published:EYMAZING",
        parts_by=("sequence",),
        weights="gaze_prediction_eymazing.onnx",
    ),
    Solution(
        track="gaze-prediction-v1",
        name="hold-last",
        title="the gaze stays where it is",
        solves=f"{__name__}.simple:HOLD_LAST",
        parts_by=("sequence",),
        options={"angles": "estimated"},  # or `truth`: forecasting alone, for those who hold the test labels
    ),
    Solution(
        track="gaze-prediction-v1",
        name="konovalov",
        title="third of 2020 rebuilt: EfficientNet-B0 and an LSTM",
        solves=f"{__name__}.published:KONOVALOV",
        parts_by=("sequence",),
        weights="gaze_prediction_konovalov.onnx",
    ),
    Solution(
        track="gaze-prediction-v1",
        name="linear",
        title="a line through 50 angles, as the paper's baseline",
        solves=f"{__name__}.simple:LINEAR",
        parts_by=("sequence",),
        options={"angles": "estimated"},  # or `truth`: forecasting alone, for those who hold the test labels
    ),
    Solution(
        track="gaze-prediction-v1",
        name="palestra",
        title="a small network that corrects itself for each eye, and a forecaster that knows saccades",
        solves=f"{__name__}.palestra",
        parts_by=("sequence",),
        weights="gaze_prediction_palestra.onnx",
    ),
    Solution(
        track="gaze-prediction-v1",
        name="random-b",
        title="the winner of 2020 rebuilt: ResNet-18 and a rule",
        solves=f"{__name__}.published:RANDOM_B",
        parts_by=("sequence",),
        weights="gaze_prediction_random_b.onnx",
    ),
)
