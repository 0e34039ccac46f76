"""Sparse eye segmentation on OpenEDS 2020: eye-segmentation-v1.

Changes published numbers: changed scoring is a new version beside v1.py.
"""

from typing import TYPE_CHECKING

from palestra.door import lazy_exports

if TYPE_CHECKING:
    from palestra.tracks.eye_segmentation.format import open_mask
else:
    __getattr__ = lazy_exports(__name__)
