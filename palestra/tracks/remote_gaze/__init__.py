"""Gaze before a screen on EYEDIAP: remote-gaze-v1.

Changes published numbers: changed scoring is a new version beside v1.py.
"""
