"""JHU's third place, rebuilt: see train/segmentation_jhu.py. Its weights are not shipped."""

from palestra.solutions.segment_dense import solution

SOLUTION = solution("jhu", "third of the challenge: U-Nets that teach one another, rebuilt")
