"""Brings recordings of several clocks onto one: videos by LEDs that run a Gray code, anything else by shared events.

May be touched freely; what it writes (tables, resampled videos) only compatibly.
"""
