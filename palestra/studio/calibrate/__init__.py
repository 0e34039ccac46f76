"""Finds where cameras and the screen stand, what depth means, and how a person's eyes differ, from what was recorded.

May be touched freely, but for the files that it writes: data sets are read by them.
"""
