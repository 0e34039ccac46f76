"""Simulated heads before a screen, drawn in colour and depth as EYEDIAP has them.

Changes published numbers: another head is another data set. numpy, scipy and OpenCV alone.
"""
