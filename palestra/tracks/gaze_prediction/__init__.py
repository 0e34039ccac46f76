"""Gaze prediction on OpenEDS 2020: gaze-prediction-v1.

Changes published numbers: changed scoring is a new version beside v1.py.
"""
