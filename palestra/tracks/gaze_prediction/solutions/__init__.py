"""Reference solutions, listed. Each is named by the module that holds it, which is imported when it is run.

May be touched freely; a changed answer changes the numbers that docs publish.
"""

from functools import partial

from palestra.records import Solution

_solution = partial(Solution, "gaze-prediction-v1", parts_by=("sequence",))
_ANGLES = {"angles": "estimated"}  # or `truth`: forecasting alone, for those who hold the test labels
SOLUTIONS = (
    _solution("baseline", "the paper's network of 206 K weights and linear regression, rebuilt",
              solves=f"{__name__}.baseline", weights="gaze_prediction_baseline.onnx"),
    _solution("eymazing", "second of 2020 rebuilt: ResNet-18 and an LSTM",
              solves=f"{__name__}.published:EYMAZING", weights="gaze_prediction_eymazing.onnx"),
    _solution("hold-last", "the gaze stays where it is", solves=f"{__name__}.simple:HOLD_LAST", options=_ANGLES),
    _solution("konovalov", "third of 2020 rebuilt: EfficientNet-B0 and an LSTM",
              solves=f"{__name__}.published:KONOVALOV", weights="gaze_prediction_konovalov.onnx"),
    _solution("linear", "a line through 50 angles, as the paper's baseline",
              solves=f"{__name__}.simple:LINEAR", options=_ANGLES),
    _solution("palestra", "a small network that corrects itself for each eye, and a forecaster that knows saccades",
              solves=f"{__name__}.palestra", weights="gaze_prediction_palestra.onnx"),
    _solution("random-b", "the winner of 2020 rebuilt: ResNet-18 and a rule",
              solves=f"{__name__}.published:RANDOM_B", weights="gaze_prediction_random_b.onnx"),
)  # fmt: skip
