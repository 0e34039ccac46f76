"""Sparse eye segmentation on OpenEDS 2020: eye-segmentation-v1.

Changes published numbers: changed scoring is a new version beside v1.py.
"""
