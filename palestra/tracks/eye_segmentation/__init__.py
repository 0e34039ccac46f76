"""Sparse eye segmentation on OpenEDS 2020: eye-segmentation-v1; and `segment`, for any device's pictures.

Changes published numbers: changed scoring is a new version beside v1.py.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.tracks.eye_segmentation.segmenter import segment
else:
    __getattr__ = lazy_exports(__name__)
