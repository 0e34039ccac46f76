"""Masks, pupils and gaze on a user's own pictures of eyes, and weights for a device: `palestra annotate`, `adapt`.

May be touched freely. Hostile input: pictures come from strangers, and are measured before they are decoded.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.annotation import adapt, correct, gaze_points, jobs, labels, orientation, run, table
else:
    __getattr__ = lazy_exports(__name__)
