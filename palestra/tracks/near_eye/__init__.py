"""Near-eye gaze: near-eye-gaze-v1 with calibration frames, near-eye-live-v1 without any, live.

Changes published numbers: changed scoring is a new version beside gaze_v1.py or live_v1.py.
"""
