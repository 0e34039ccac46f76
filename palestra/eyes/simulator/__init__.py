"""A simulated eye: how it looks, by OpenCV or in batches by torch, and how it moves.

Changes published numbers: another eye is another data set. numpy, scipy, OpenCV and torch alone.
"""
