"""Gaze of an eye before a headset's camera, from its pupil and the reflections of the headset's lights.

May be touched freely: what it writes says by which model it was made.
"""
