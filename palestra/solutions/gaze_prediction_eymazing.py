"""EyMazing, second of the challenge, rebuilt: see train/gaze_eymazing.py. Its weights are not shipped."""

from palestra.solutions.gaze_forecast import solution

SOLUTION = solution("eymazing", "second of 2020 rebuilt: ResNet-18 and an LSTM")
