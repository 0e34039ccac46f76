"""Emotion from EEG, live: emotion-eeg-v1.

Changes published numbers: changed scoring is a new version beside v1.py.
"""
