"""Gaze prediction on OpenEDS 2020: gaze-prediction-v1; and `forecast`, for any tracker's gaze.

Changes published numbers: changed scoring is a new version beside v1.py.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.tracks.gaze_prediction.forecaster import forecast
else:
    __getattr__ = lazy_exports(__name__)
