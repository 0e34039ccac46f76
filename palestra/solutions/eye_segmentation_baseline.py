"""The paper's baseline of sparse segmentation, rebuilt: see train/segmentation_baseline.py."""

from palestra.solutions.segment_dense import solution

SOLUTION = solution("baseline", "the paper's baseline: 40 K parameters at 128 × 128, rebuilt")
