"""BTS Digital's first place, rebuilt: see train/segmentation_bts_digital.py. Its weights are not shipped."""

from palestra.solutions.segment_dense import solution

SOLUTION = solution("bts-digital", "first of the challenge: a U-Net with pseudo-labels, rebuilt", mirrored=True)
