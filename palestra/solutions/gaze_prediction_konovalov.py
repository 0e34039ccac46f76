"""Konovalov, third of the challenge, rebuilt: see train/gaze_konovalov.py. Its weights are not shipped."""

from palestra.solutions.gaze_forecast import solution

SOLUTION = solution("konovalov", "third of 2020 rebuilt: EfficientNet-B0 and an LSTM")
