"""Reference solutions, listed. Each is named by the module that holds it, which is imported when it is run.

May be touched freely; a changed answer changes the numbers that docs publish.
"""

from palestra.records import Solution

SOLUTIONS = (
    Solution(
        track="eye-segmentation-v1",
        name="baseline",
        title="the paper's baseline: 40 K parameters at 128 × 128, rebuilt",
        solves=f"{__name__}.published:BASELINE",
        parts_by=("sequence",),
        weights="eye_segmentation_baseline.onnx",
    ),
    Solution(
        track="eye-segmentation-v1",
        name="bts-digital",
        title="first of the challenge: a U-Net with pseudo-labels, rebuilt",
        solves=f"{__name__}.published:BTS_DIGITAL",
        parts_by=("sequence",),
        weights="eye_segmentation_bts_digital.onnx",
    ),
    Solution(
        track="eye-segmentation-v1",
        name="jhu",
        title="third of the challenge: U-Nets that teach one another, rebuilt",
        solves=f"{__name__}.published:JHU",
        parts_by=("sequence",),
        weights="eye_segmentation_jhu.onnx",
    ),
    Solution(
        track="eye-segmentation-v1",
        name="palestra",
        title="ours: a small network, then the sequence's own labels and frames",
        solves=f"{__name__}.palestra",
        parts_by=("sequence",),
        weights="eye_segmentation_palestra.onnx",
    ),
    Solution(
        track="eye-segmentation-v1",
        name="tetelias",
        title="second of the challenge: DABNet with GridMask and FMix, rebuilt",
        solves=f"{__name__}.published:TETELIAS",
        parts_by=("sequence",),
        weights="eye_segmentation_tetelias.onnx",
    ),
    Solution(
        track="eye-segmentation-v1",
        name="threshold",
        title="thresholds and ellipses, lids from the labelled frames",
        solves=f"{__name__}.threshold",
        parts_by=("sequence",),
        learns=f"{__name__}.lids:Lids",
    ),
)
