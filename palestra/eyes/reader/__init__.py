"""A small network that reads an eye: which pixels are what, where the pupil is, where it looks.

Changes published numbers: its weights are beside it.
"""
