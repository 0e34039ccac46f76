"""Reference solutions, listed. Each is named by the module that holds it, which is imported when it is run.

May be touched freely; a changed answer changes the numbers that docs publish.
"""

from functools import partial

from palestra.records import Solution

_solution = partial(Solution, "eye-segmentation-v1", parts_by=("sequence",))
SOLUTIONS = (
    _solution("baseline", "the paper's baseline: 40 K parameters at 128 × 128, rebuilt",
              solves=f"{__name__}.published:BASELINE", weights="eye_segmentation_baseline.onnx"),
    _solution("bts-digital", "first of the challenge: a U-Net with pseudo-labels, rebuilt",
              solves=f"{__name__}.published:BTS_DIGITAL", weights="eye_segmentation_bts_digital.onnx"),
    _solution("jhu", "third of the challenge: U-Nets that teach one another, rebuilt",
              solves=f"{__name__}.published:JHU", weights="eye_segmentation_jhu.onnx"),
    _solution("palestra", "ours: a small network, then the sequence's own labels and frames",
              solves=f"{__name__}.palestra", weights="eye_segmentation_palestra.onnx"),
    _solution("tetelias", "second of the challenge: DABNet with GridMask and FMix, rebuilt",
              solves=f"{__name__}.published:TETELIAS", weights="eye_segmentation_tetelias.onnx"),
    _solution("threshold", "thresholds and ellipses, lids from the labelled frames",
              solves=f"{__name__}.threshold", learns=f"{__name__}.lids:Lids"),
)  # fmt: skip
