"""tetelias's second place, rebuilt: see train/segmentation_tetelias.py. Its weights are not shipped."""

from palestra.solutions.segment_dense import solution

SOLUTION = solution("tetelias", "second of the challenge: DABNet with GridMask and FMix, rebuilt")
